"""The files that records of traces are written to, whatever the protocol.

The writer appends JSON lines to one file for each life of a node. When a write fails it stops,
counts what is lost, reports one sentence, and lets the member go on; the file then has no footer,
so it never looks complete.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from raincheck.impl.messages import Address

VERSION = 1
BUFFER = 1 << 16
"""Bytes of records that are kept before they are written."""

Record = dict[str, Any]


class TraceWriter:
    """Appends records to the trace file of one life of a node."""

    def __init__(
        self,
        folder: Path,
        run: str,
        me: Address,
        *,
        buffer: int = BUFFER,
        problem: Callable[[str], None] = lambda _: None,
        open_file: Callable[[Path], IO[bytes]] | None = None,
        protocol: str = "",
    ) -> None:
        """`protocol` is part of the file's name, where it is not SEQUENCER's."""
        parts = (run, me.node, str(me.incarnation), *([protocol] if protocol else []))
        self.path = folder / f"{'.'.join(parts)}.jsonl"
        self.lost = 0
        self._problem = problem
        self._encode = msgspec.json.Encoder().encode
        self._lines: list[bytes] = []
        self._bytes = 0
        self._buffer = buffer
        self._open = open_file or _create
        self._file: IO[bytes] | None = None
        self.failed = False

    def __call__(self, record: Record) -> None:
        """Append one record; after a failure, count it as lost."""
        if self.failed:
            self.lost += 1
            return
        line = self._encode(record) + b"\n"
        self._lines.append(line)
        self._bytes += len(line)
        if self._bytes >= self._buffer:
            self.flush()

    @property
    def pending(self) -> bool:
        """Whether there are records that the operating system does not have yet."""
        return bool(self._lines)

    def flush(self) -> None:
        """Hand everything to the operating system; the first time makes the file."""
        if not self._lines:
            return
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._open(self.path)
            self._file.write(b"".join(self._lines))
            self._file.flush()
        except OSError as error:
            self.lost += len(self._lines)
            self._fail(error)
        self._lines.clear()
        self._bytes = 0

    def close(self) -> None:
        """Write what is left and close the file."""
        self.flush()
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self._fail(error)
            self._file = None

    def _fail(self, error: OSError) -> None:
        self.failed = True
        broken, self._file = self._file, None
        if broken is not None:
            with suppress(OSError):
                broken.close()
        self._problem(
            f"tracing to {self.path} has stopped ({error.strerror or error}); "
            f"the member goes on without it"
        )


def _create(path: Path) -> IO[bytes]:
    # "x": a life has one file, and an earlier one is never overwritten.
    return path.open("xb")
