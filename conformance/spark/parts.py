"""Files whose lines do not depend on each other, in parts by bytes, each of which is a task.

A part has the lines that begin in it. A worker numbers them from 1; how many each part has is told
to the driver, which numbers what was found in them as they stand in the file.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from raincheck.conformance.trace.batches import Problem

PART: Final = 1 << 25
"""Bytes of a part: seconds of work."""
SPLIT: Final = frozenset({".jsonl", ".ndjson"})
"""Of which files a line says all by itself: CSV has fields with newlines, Parquet no lines."""
END: Final = sys.maxsize
"""The stop of a last part: however far the file goes."""
_TOLD: Final = 1000
"""Problems at most that travel in one row."""
_SKIP: Final = 1 << 16


class Part(NamedTuple):
    """The lines that begin at one of these bytes of a file."""

    name: str
    start: int = 0
    stop: int = END

    @property
    def whole(self) -> bool:
        """Whether it is the file."""
        return not self.start and self.stop == END


class Told(msgspec.Struct, array_like=True):
    """What a worker tells of a part beside its rows."""

    name: str
    start: int
    lines: int
    """How many it has; 0 where more is told of it."""
    problems: list[Problem]
    """With the lines' numbers in the part."""


def parts_of(paths: Iterable[Path], most: int = PART) -> list[Part]:
    """Return the parts of the files, of so many bytes at most but for their last lines."""
    found: list[Part] = []
    for path in paths:
        size = path.stat().st_size if path.suffix in SPLIT else 0
        starts = range(0, size, most) or range(1)
        stops = [*starts[1:], END]
        found += [Part(str(path), *each) for each in zip(starts, stops, strict=True)]
    return found


class Lines(io.BufferedReader):
    """Reads the lines of a part, one after the other, by `readline` alone."""

    def __init__(self, path: Path, part: Part) -> None:
        super().__init__(io.FileIO(path), _SKIP)
        self.lines = 0
        """How many were begun."""
        self._stop, self._at, self._begins = part.stop, part.start, True
        if part.start:  # a line that begins before belongs to the part before
            self.seek(part.start - 1)
            self._at -= 1
            while rest := super().readline(_SKIP):
                self._at += len(rest)
                if rest.endswith(b"\n"):
                    break

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return the next line or its next bytes; nothing where the part ends."""
        if self._begins and self._at >= self._stop:
            return b""
        text = super().readline(size)
        if text:
            self.lines += self._begins
            self._at += len(text)
            self._begins = text.endswith(b"\n")
        return text


def told_of(part: Part, lines: int, problems: list[Problem]) -> Iterator[str]:
    """Yield in a few rows of text what is told of a part."""
    for first in range(0, len(problems), _TOLD):
        some = [each._replace(path=part.name) for each in problems[first : first + _TOLD]]
        yield msgspec.json.encode(Told(part.name, part.start, 0, some)).decode()
    yield msgspec.json.encode(Told(part.name, part.start, lines, [])).decode()


def lines_numbered(texts: Iterable[str]) -> list[Problem]:
    """Return the problems that were told, sorted, with the numbers of the files' lines."""
    found: set[Problem] = set()  # of a file that cannot be opened each part says the same
    told = [msgspec.json.decode(text, type=Told) for text in texts]
    told.sort(key=lambda each: (each.name, each.start, each.lines))
    for _, of_file in groupby(told, lambda each: each.name):
        before = 0
        for _, of_part in groupby(of_file, lambda each: each.start):
            rows = list(of_part)
            found |= {
                problem._replace(line=problem.line + before)
                for each in rows
                for problem in each.problems
            }
            before += sum(each.lines for each in rows)
    return sorted(found)
