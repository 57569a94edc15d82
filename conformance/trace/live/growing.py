"""A file that grows: what was appended since it was read last.

A line that has no end yet is waited for. A file that was renamed and begun anew is read to its end
first, and then the new one goes on; so does one that was cut to nothing, whose unread records are
lost: their indices are missing, which every judge sees.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from raincheck.conformance.trace.batches import Problem, Report
from raincheck.conformance.trace.tracefile import CHUNK, Splitter

Lines = tuple[int, bytes]
"""(number of the first line, whole lines)."""


class GrowingFile:
    """Reads one file again and again, from where it stands on."""

    def __init__(self, path: Path, report: Report) -> None:
        self.path = path
        self.limit: int | None = None
        """How many of its bytes may be read, where another decides it; it only grows then."""
        self._report = report
        self._splitter = Splitter(path, report)
        self._file: IO[bytes] | None = None
        self._at = 0
        self._header: bytes | None = None
        """The first line: that of a file that goes on may be the same, and is no record then."""
        self._again = False
        self._failed = False

    def read(self) -> list[Lines] | None:
        """Return the lines that the next piece of it has made whole; None if nothing is new."""
        try:
            return self._read()
        except FileNotFoundError:
            return None  # it was renamed, and is not there anew yet
        except OSError as error:
            if not self._failed:
                self._failed = True
                reason = f"cannot be read any further ({error.strerror or error})"
                self._report(Problem(str(self.path), self._splitter.line, reason))
            return None

    def end(self) -> list[Lines]:
        """Return what stands behind the last newline: nothing comes any more."""
        self.rest()
        return self._taken(self._splitter.end())

    def rest(self) -> None:
        """Close it until there is more to read: it has ended, or others need its place."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self) -> list[Lines] | None:
        if self._file is None:
            if self._at and self.path.stat().st_size == self._at:
                return None
            self._file = self.path.open("rb", buffering=0)
            self._file.seek(self._at)
        most = CHUNK if self.limit is None else max(0, min(CHUNK, self.limit - self._at))
        if chunk := self._file.read(most):
            self._at += len(chunk)
            return self._taken(self._splitter.push(chunk))
        if self.limit is not None:
            return None
        there, mine = self.path.stat(), os.fstat(self._file.fileno())
        same = (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
        if same and there.st_size >= self._at:
            return None
        last = self._taken(self._splitter.end())
        with suppress(OSError):
            self._file.close()
        self._file, self._at, self._again = None, 0, True
        self._splitter = Splitter(self.path, self._report)
        return last

    def _taken(self, lines: Lines | None) -> list[Lines]:
        """Return the lines, without a header that stands there for the second time."""
        if lines is None:
            return []
        number, block = lines
        if self._header is None and number == 1:
            self._header = block.partition(b"\n")[0]
        elif self._again:
            self._again = False
            head, _, rest = block.partition(b"\n")
            if number == 1 and head == self._header:
                return [(2, rest)] if rest else []
        return [(number, block)]
