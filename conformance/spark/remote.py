"""Files on whatever file system the cluster's Hadoop knows: `hdfs://`, `s3a://`, `viewfs://`.

Python on a worker cannot open these; Spark's reader can. It hands over the lines of whole files,
in order, and here they become the blocks of bytes in which a file on a disk is read. That nothing
is missing is counted: as many bytes as the file system says, or one more, for a newline that the
reader puts behind a last line without one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

import numpy as np

from raincheck.conformance.errors import UsageError, first_line
from raincheck.conformance.trace.batches import Problem, Report
from raincheck.conformance.trace.inputs import Uri
from raincheck.conformance.trace.tracefile import CHUNK, MAX_LINE, Blocks, Splitter

from .settings import connects, set_to

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_PATTERN: Final = re.compile(r"([][{}*?\\])")
"""What Spark would take for a pattern of names."""
_LARGE: Final = 1 << 26
"""Bytes from which a file is looked at in a task of its own, which ends behind the first block."""
_ROOM: Final = 8
"""Files of the largest size that one task may have."""


class Listed(NamedTuple):
    """A file on another file system."""

    name: str
    size: int


def listed(
    session: SparkSession, places: Iterable[Uri], suffixes: tuple[str, ...], kind: str
) -> list[Listed]:
    """Return each file given and each such file in each folder given, sorted, once.

    Raise UsageError for a place that cannot be read, and for one without any file.
    """
    found: set[Listed] = set()
    for each in places:
        try:
            inside = {file for file in _files(session, each) if _fits(file, each, suffixes)}
        except Exception as error:
            raise UsageError(f"{each} cannot be read by Spark: {first_line(error)}") from error
        if not inside:
            raise UsageError(f"{each} holds no {kind} ({', '.join(suffixes)}): name another place")
        found |= inside
    if odd := next((each.name for each in sorted(found) if each.name.endswith(".parquet")), None):
        raise UsageError(
            f"{odd} is Parquet, which is read from disks that the workers have mounted only: give "
            "JSON Lines here."
        )
    return sorted(found)


def _fits(file: Listed, given: Uri, suffixes: tuple[str, ...]) -> bool:
    return file.name.endswith(suffixes) or file.name == given.text


def _files(session: SparkSession, place: Uri) -> Iterator[Listed]:
    """Yield the files of a folder and those below it, or the file.

    Spark's own listing leaves out empty files. A Connect session has no other one.
    """
    if connects(session):
        reader = session.read.format("binaryFile").option("recursiveFileLookup", "true")
        for row in reader.load(place.text).select("path", "length").toLocalIterator():
            yield Listed(row.path, row.length)
        return
    jvm = session.sparkContext._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(place.text)
    system = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    statuses = system.listFiles(path, True)
    while statuses.hasNext():
        status = statuses.next()
        yield Listed(status.getPath().toString(), status.getLen())


def left_out(files: Iterable[Listed]) -> list[Listed]:
    """Return the files that Spark does not read, by their names."""
    return [each for each in files if each.size and Path(each.name).name[0] in "_."]


def unread(file: Listed) -> Problem:
    """Say that Spark has left the file out."""
    reason = f"Spark has read nothing of its {file.size} bytes: give it another name"
    return Problem(file.name, 1, reason)


def whole_files(
    session: SparkSession, files: Collection[Listed], *, alone: bool = False
) -> AbstractContextManager[None]:
    """Let no file be split in the block, and if `alone` give each a task of its own."""
    if not files:
        return nullcontext()
    most = max(each.size for each in files) + 1
    settings = {
        # A task may have the smaller of the first and the larger of the second and an even
        # share; the second is also added to the size of each file that a task has.
        "spark.sql.files.maxPartitionBytes": str(most if alone else most * _ROOM),
        "spark.sql.files.openCostInBytes": str(most),
    }
    return set_to(session, settings)


def sizes_apart(files: Iterable[Listed]) -> Iterator[tuple[bool, list[Listed]]]:
    """Yield the large files, and the others: (whether they are large, these)."""
    for large, of_size in groupby(sorted(files, key=_is_large), _is_large):
        yield large, list(of_size)


def _is_large(file: Listed) -> bool:
    return file.size >= _LARGE


def lines_of(session: SparkSession, files: Iterable[Listed]) -> DataFrame:
    """Return the files' lines: (file, its size, the line as bytes), for `chunks`."""
    names = [_PATTERN.sub(r"\\\1", each.name) for each in files]
    reader = session.read.format("text").option("lineSep", "\n")
    return reader.load(names).selectExpr(
        "_metadata.file_path as name",
        "_metadata.file_size as size",
        "cast(concat(value, '\n') as binary) as line",
    )


class Chunk(NamedTuple):
    """Consecutive lines of one file."""

    name: str
    size: int
    lines: pa.Array


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[Chunk]:
    """Yield the rows of a task, as many of one file at a time as come together."""
    import pyarrow.compute as pc

    for batch in batches:
        if not batch.num_rows:
            continue
        names, sizes, lines = batch.columns
        ends = pc.run_end_encode(names)
        first = 0
        for name, end in zip(ends.values.to_pylist(), ends.run_ends.to_pylist(), strict=True):
            yield Chunk(unquote(name), sizes[first].as_py(), lines[first:end])
            first = end


def by_file(found: Iterable[Chunk]) -> Iterator[tuple[str, Iterator[Chunk]]]:
    """Yield each file's name and its chunks."""
    yield from groupby(found, lambda each: each.name)


def blocks_of(name: str, found: Iterable[Chunk], report: Report) -> Blocks:
    """Yield the lines of a file as they stand in it; report if they are not all there."""
    splitter = Splitter(Path(name), report)
    got = size = 0
    held = b""
    for each in found:
        size = each.size
        for part in _bytes(each.lines):
            got += len(part)
            if held and (block := splitter.push(held)):
                yield block
            held = part
    if got == size + 1:
        held = held[:-1]  # the reader's newline, not the file's
    elif got != size:
        reason = f"cannot be read any further ({got} of {size} bytes came)"
        report(Problem(name, splitter.line, reason))
    if held and (block := splitter.push(held)):
        yield block
    if rest := splitter.end():
        yield rest


def _bytes(lines: pa.Array) -> Iterator[bytes]:
    """Yield the lines, which lie one behind the other, in pieces that the processor's cache holds.

    A line that is too long for a record is cut, so that it is refused as it is elsewhere.
    """
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    text = memoryview(data)
    at, last = int(ends[0]), int(ends[-1])
    while at < last:
        cut = int(ends[np.searchsorted(ends, at + CHUNK, side="right") - 1])
        if cut <= at:
            cut = int(ends[np.searchsorted(ends, at, side="right")])
        step = CHUNK if cut - at > MAX_LINE else cut - at
        for start in range(at, cut, step):
            yield bytes(text[start : min(start + step, cut)])
        at = cut


def copied(session: SparkSession, folder: Path, target: str) -> None:
    """Copy a folder's files to a folder of a Hadoop file system; raise UsageError if it fails."""
    jvm = session.sparkContext._jvm
    try:
        assert jvm is not None
        hadoop = jvm.org.apache.hadoop.fs
        there = hadoop.Path(target)
        system = there.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            goal = hadoop.Path(there, file.relative_to(folder).as_posix())
            system.mkdirs(goal.getParent())
            system.copyFromLocalFile(False, True, hadoop.Path(file.absolute().as_uri()), goal)
    except Exception as error:
        raise UsageError(
            f"The evidence cannot be copied to {target}: {first_line(error)}"
        ) from error
