"""The first look at each file, on the workers: whose it is decides with whom it is checked.

One row comes back for each file, whatever its size: whose it is, how large it is, and, of a
harness's file, who is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from raincheck.conformance.trace.batches import Problem, Report
from raincheck.conformance.trace.events import Absent, Crash
from raincheck.conformance.trace.following.files import Feed
from raincheck.conformance.trace.following.shared import Shared
from raincheck.conformance.trace.run import First, Look, OtherEvent, OtherFooter, looked
from raincheck.conformance.trace.tracefile import Blocks

from .remote import (
    Chunk,
    Listed,
    blocks_of,
    by_file,
    chunks,
    lines_of,
    sizes_apart,
    unread,
    whole_files,
)
from .settings import connects
from .shipping import function

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

SEEN: Final = "seen binary"
TASKS: Final = 32
"""Most tasks per core."""
SHARE: Final = 1 << 24
"""Bytes of traces that are worth a task; a first look is worth one per core, twice."""


class Seen(msgspec.Struct, array_like=True):
    """What was seen of a file."""

    name: str
    size: int
    record: First | OtherEvent | OtherFooter | Crash | Absent | None
    problems: list[Problem]
    gone: list[tuple[int, Crash | Absent]]
    usable: bool = True
    """Whether its header is one with which its events can be checked; asked only of files that
    Spark reads."""

    def look(self) -> Look:
        """The same, as the local engine sorts it."""
        return Look(Path(self.name), self.record, self.problems, self.gone)


def tasks_for(session: SparkSession, files: int, size: int = 0) -> int:
    """Return in how many tasks so many files, of so many bytes together, are dealt with."""
    cores = parallelism(session)
    return max(1, min(files, TASKS * cores, max(2 * cores, size // SHARE)))


def parallelism(session: SparkSession) -> int:
    """Return how many tasks run at once, as far as the session can tell."""
    if connects(session):
        return int(session.conf.get("spark.default.parallelism", "8") or 8)
    return int(session.sparkContext.defaultParallelism)


def look_at(session: SparkSession, paths: list[Path], archive: str) -> list[Seen]:
    """Look at files that the workers can open."""
    if not paths:
        return []
    named = [(str(path.absolute()), str(path)) for path in paths]
    tasks = tasks_for(session, len(named))
    look = function(archive, look_at_paths, named)
    return _seen(session.range(0, len(named), 1, tasks).mapInArrow(look, SEEN).collect())


def look_into(session: SparkSession, files: list[Listed], archive: str) -> list[Seen]:
    """Look at files that Spark reads; an empty one has no line."""
    found: list[Seen] = []
    for large, of_size in sizes_apart(files):
        full = [each for each in of_size if each.size]
        if full:
            look = function(archive, look_at_lines, large)
            with whole_files(session, full, alone=large):
                found += _seen(lines_of(session, full).mapInArrow(look, SEEN).collect())
    there = {each.name for each in found}
    found += [_unread(each) for each in files if each.name not in there]
    return sorted(found, key=lambda each: each.name)


def _unread(file: Listed) -> Seen:
    """An empty file has no line; another one Spark has left out, as it does by some names."""
    problems = [unread(file)] if file.size else []
    return Seen(file.name, file.size, None, problems, [], usable=False)


def _seen(rows: Iterable[object]) -> list[Seen]:
    return [msgspec.msgpack.decode(bytes(row.seen), type=Seen) for row in rows]  # type: ignore[attr-defined]


def look_at_paths(
    batches: Iterable[pa.RecordBatch], named: list[tuple[str, str]]
) -> Iterator[pa.RecordBatch]:
    """On a worker: look at the files with these numbers."""
    for batch in batches:
        rows = []
        for number in batch.column(0).to_pylist():
            opened, name = named[number]
            path = Path(opened)
            look = looked(path)
            size = path.stat().st_size if path.is_file() else 0
            rows.append(_of(look, name, size))
        yield _rows(rows)


def look_at_lines(batches: Iterable[pa.RecordBatch], large: bool) -> Iterator[pa.RecordBatch]:
    """On a worker: look at the files of which lines come.

    A large file has the task to itself, which then ends: what is not asked for is not read.
    """
    for name, found in by_file(chunks(batches)):
        yield _rows([_looked_into(name, found)])
        if large:
            return


def _looked_into(name: str, found: Iterator[Chunk]) -> Seen:
    first = next(found)
    kept: list[tuple[int, bytes]] = []

    def blocks(report: Report) -> Blocks:
        for each in blocks_of(name, chain([first], found), report):
            kept.append(each)
            yield each

    look = looked(Path(name), blocks)
    feed = Feed(Path(name), _unheard, Shared())
    if kept and isinstance(look.record, First):
        line, block = kept[0]
        head, newline, _ = block.partition(b"\n")
        feed.take(line, head + newline)
    return _of(look, name, first.size, usable=feed.follower is not None)


def _unheard(_: Problem) -> None:
    """The check of the file says it again."""


def _of(look: Look, name: str, size: int, *, usable: bool = True) -> Seen:
    problems = [each._replace(path=name) for each in look.problems]
    record = look.record
    assert record is None or isinstance(record, First | OtherEvent | OtherFooter | Crash | Absent)
    return Seen(name, size, record, problems, look.gone, usable)


def _rows(seen: Iterable[Seen]) -> pa.RecordBatch:
    import pyarrow as pa

    encoded = [msgspec.msgpack.encode(each) for each in seen]
    return pa.RecordBatch.from_arrays([pa.array(encoded, type=pa.binary())], names=["seen"])
