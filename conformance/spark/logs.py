"""The rows of delivery logs and of other systems' logs, read by the workers with the local reader.

JSON Lines on a disk are split, since each says all by itself. Beside the rows a worker tells what
could not be read, and what else a log says of itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import islice
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from raincheck.conformance.deliveries.logs import read_rows
from raincheck.conformance.importers.reading import read_imported
from raincheck.conformance.importers.said import Said
from raincheck.conformance.importers.table import DELIVERIES, importer_of
from raincheck.conformance.trace.batches import Problem

from .parts import END, PART, Lines, Part, parts_of, told_of
from .remote import Listed, blocks_of, by_file, chunks, lines_of
from .shipping import at_workers, function

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "member string, position long, view string, sender string, message string, event string, "
    "after long, members array<string>, told string, said string"
)
PLAIN = ("member", "position", "sender", "message", "event", "after")
"""The columns that are as they are in a row."""
ROWS = 65536
MOST_TASKS = 10_000
"""Tasks that read files."""


def load(
    session: "SparkSession",
    files: list[Path],
    log_format: str = DELIVERIES,
    there: list[Listed] | None = None,
) -> "DataFrame":
    """The rows of all files, and beside them what could not be read and what else they say.

    A format of another system is read by its importer, on the worker, which finds it by its name.
    """
    archive = at_workers(session, [log_format.partition(":")[0]] if ":" in log_format else [])
    given = (log_format, "" if archive else str(Path.cwd()))
    frames: list[DataFrame] = []
    if files or not there:
        most = PART if log_format == DELIVERIES else END  # importers read a file from its beginning
        opened = parts_of((path.absolute() for path in files), most)
        tasks = max(1, min(len(opened), MOST_TASKS))
        read = function(archive, read_paths, opened, *given)
        frames.append(session.range(0, len(opened), 1, tasks).mapInArrow(read, SCHEMA))
    if there:
        frames.append(
            lines_of(session, there).mapInArrow(function(archive, read_lines, *given), SCHEMA)
        )
        empty = [each.name for each in there if not each.size]
        if empty:
            read = function(archive, read_empty, empty, *given)
            frames.append(session.range(0, len(empty), 1, 1).mapInArrow(read, SCHEMA))
    return reduce(lambda one, other: one.unionAll(other), frames)


def read_paths(
    batches: "Iterator[pa.RecordBatch]", opened: list[Part], log_format: str, folder: str
) -> "Iterator[pa.RecordBatch]":
    """On a worker: read the parts of files with these numbers."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            part = opened[number]
            yield from _read(Path(part.name), part, log_format, folder)


def read_lines(
    batches: "Iterator[pa.RecordBatch]", log_format: str, folder: str
) -> "Iterator[pa.RecordBatch]":
    """On a worker: read the files whose lines come, from a copy on the worker's own disk."""
    for name, found in by_file(chunks(batches)):
        with TemporaryDirectory(prefix="raincheck-log-") as kept:
            path, problems = Path(kept, Path(name).name), list[Problem]()
            with path.open("wb") as file:
                for _, block in blocks_of(name, found, problems.append):
                    file.write(block)
            yield from _read(path, Part(name), log_format, folder, problems)


def read_empty(
    batches: "Iterator[pa.RecordBatch]", names: list[str], log_format: str, folder: str
) -> "Iterator[pa.RecordBatch]":
    """On a worker: say of files without a line what a reader says of them."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            with TemporaryDirectory(prefix="raincheck-log-") as kept:
                path = Path(kept, Path(names[number]).name)
                path.touch()
                yield from _read(path, Part(names[number]), log_format, folder)


def _read(
    path: Path, part: Part, log_format: str, folder: str, before: Iterable[Problem] = ()
) -> "Iterator[pa.RecordBatch]":
    """Read that part of a file, which lies here, whatever it is called.

    What went wrong before is among the file's problems.
    """
    importer = None if log_format == DELIVERIES else importer_of(log_format, folder)
    problems: list[Problem] = [*before]
    said, opened = Said(), list[Lines]()

    def opens(path: Path) -> Lines:
        opened.append(Lines(path, part))
        return opened[0]

    if importer is not None:
        found = read_imported(path, importer, problems.append, said.note)
    elif part.whole:
        found = read_rows(path, problems.append)
    else:
        found = read_rows(path, problems.append, opens, part=True)
    for rows in iter(lambda: [*islice(found, ROWS)], []):
        columns: dict[str, list[Any]] = {name: [*map(attrgetter(name), rows)] for name in PLAIN}
        columns["view"] = [str(row.view) for row in rows]
        columns["members"] = [row.members or None for row in rows]
        yield _batch(len(rows), columns)
    told = [*told_of(part, sum(each.lines for each in opened), problems)]
    yield _batch(len(told), {"told": told})
    if said != Said():
        yield _batch(1, {"said": [msgspec.json.encode(said).decode()]})


def _batch(count: int, columns: Mapping[str, list[Any]]) -> "pa.RecordBatch":
    """Return so many rows, in which what is not given is null."""
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    fields = [("member", text), ("position", number), ("view", text), ("sender", text)]
    fields += [("message", text), ("event", text), ("after", number)]
    fields += [("members", pa.list_(text)), ("told", text), ("said", text)]
    nothing = [None] * count
    whole = {name: columns.get(name, nothing) for name, _ in fields}
    return pa.RecordBatch.from_pydict(whole, pa.schema(fields))
