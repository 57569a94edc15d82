"""The rows of a log file that grows, by the reader that its format has for whole files.

A reader asks for the next line when it needs one. It runs in a thread of its own, which stands
still while there is none; so it is the same reader, and nothing is read twice.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import BinaryIO, TypeAlias, cast

from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.inputs import Opens
from raincheck.conformance.trace.live.growing import GrowingFile

from .logs import Row

ReadsRows: TypeAlias = Callable[[Path, Opens], Iterable[Row]]
"""Reads the rows of the file at that path, as it is opened."""


class GrowingLog:
    """Reads the rows of one file as far as its lines are whole."""

    def __init__(self, path: Path, reads: ReadsRows) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self._growing = GrowingFile(path, self.problems.append)
        self._rows: list[Row] = []
        self._fed = _Fed()
        self._failure: BaseException | None = None
        self._over = False
        self._thread = Thread(target=self._run, args=(reads,), daemon=True)
        self._thread.start()
        self._fed.hungry.acquire()

    def upto(self, end: int) -> None:
        """Let no more be read than so many bytes, which only grow."""
        self._growing.limit = end

    def rest(self) -> None:
        """Close the file until there is more to read."""
        self._growing.rest()

    def read(self) -> list[Row] | None:
        """Return the rows that the next piece of the file has; None if nothing of it is new."""
        pieces = self._growing.read()
        if pieces is None:
            return None
        for _, block in pieces:
            if not self._over:
                self._feed(block)
        rows, self._rows = self._rows, []
        return rows

    def close(self) -> None:
        """Read no more of it."""
        self._growing.rest()
        if not self._over:
            self._feed(b"")
        self._thread.join()

    def _feed(self, block: bytes) -> None:
        """Let the reader take the block; it has its rows when this returns."""
        self._fed.pieces.put(block)
        self._fed.hungry.acquire()
        if self._failure is not None:
            raise self._failure

    def _run(self, reads: ReadsRows) -> None:
        try:
            for row in reads(self.path, self._opens):
                self._rows.append(row)
        except BaseException as failure:  # noqa: BLE001 (raised where the rows are asked for)
            self._failure = failure
        finally:
            self._over = True
            self._fed.hungry.release()

    def _opens(self, _: Path) -> BinaryIO:
        return cast("BinaryIO", io.BufferedReader(self._fed))


class _Fed(io.RawIOBase):
    """A file whose next piece is waited for; an empty one is its end."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: SimpleQueue[bytes] = SimpleQueue()
        self.hungry = Semaphore(0)
        """Released when all pieces are taken, and when nobody asks for more."""
        self._left: memoryview = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        """It is only read."""
        return True

    def readinto(self, into: memoryview) -> int:  # type: ignore[override]
        """Take what is there; wait if there is nothing."""
        if not self._left and not self._ended:
            self.hungry.release()
            self._left = memoryview(self.pieces.get())
            self._ended = not self._left
        count = min(len(into), len(self._left))
        into[:count], self._left = self._left[:count], self._left[count:]
        return count
