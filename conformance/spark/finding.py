"""The lines of events that findings name, looked up by the workers, where the files are.

A line comes back for each event that a finding names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.located import Events, Placed, events_among, events_in, with_events
from raincheck.conformance.trace.located import wanted as wanted_by
from raincheck.conformance.trace.tracefile import split_lines

from .remote import Listed, blocks_of, by_file, chunks, lines_of, whole_files
from .shipping import at_workers, function

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

FOUND: Final = "path string, event long, number long, text binary"


def located(
    session: SparkSession, verdicts: Iterable[RunVerdict], there: Iterable[Listed]
) -> list[RunVerdict]:
    """Return the verdicts with the lines of the events that their findings are about.

    `there` are the files that Spark reads; the workers open all others.
    """
    verdicts = list(verdicts)
    wanted = {path: sorted(which) for path, which in wanted_by(verdicts).items()}
    if not wanted:
        return verdicts
    archive = at_workers(session)
    events: Events = {path: {} for path in wanted}
    elsewhere = [each for each in there if each.name in wanted]
    names = {each.name for each in elsewhere}
    here = [(str(Path(path).absolute()), path) for path in wanted if path not in names]
    rows = []
    if here:
        look = function(archive, in_paths, here, wanted)
        frame = session.range(0, len(here), 1, len(here)).mapInArrow(look, FOUND)
        rows += frame.collect()
    if elsewhere:
        look = function(archive, in_lines, wanted)
        with whole_files(session, elsewhere):
            rows += lines_of(session, elsewhere).mapInArrow(look, FOUND).collect()
    for row in rows:
        events[row.path][row.event] = Placed(row.number, bytes(row.text))
    return [with_events(verdict, events) for verdict in verdicts]


def in_paths(
    batches: Iterable[pa.RecordBatch],
    named: list[tuple[str, str]],
    wanted: Mapping[str, list[int]],
) -> Iterator[pa.RecordBatch]:
    """On a worker: look the events up in the files with these numbers."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            opened, name = named[number]
            yield _rows(name, events_in(Path(opened), set(wanted[name])))


def in_lines(
    batches: Iterable[pa.RecordBatch], wanted: Mapping[str, list[int]]
) -> Iterator[pa.RecordBatch]:
    """On a worker: look the events up in the files whose lines come."""
    for name, found in by_file(chunks(batches)):
        blocks = blocks_of(name, found, lambda _: None)  # the check has told the problems
        lines = (each for line, block in blocks for each in enumerate(split_lines(block), line))
        yield _rows(name, events_among(lines, set(wanted[name])))


def _rows(name: str, events: Mapping[int, Placed]) -> pa.RecordBatch:
    import pyarrow as pa

    columns = {
        "path": pa.array([name] * len(events), type=pa.string()),
        "event": pa.array(list(events), type=pa.int64()),
        "number": pa.array([each.line for each in events.values()], type=pa.int64()),
        "text": pa.array([each.text for each in events.values()], type=pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns)
