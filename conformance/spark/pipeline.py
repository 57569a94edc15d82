"""Trace checking on Spark: part (a) once per file in the workers, part (b) as a grouped join.

Workers run the same code as the local engine and emit packed rows; a channel's two ends meet in
groups of (channel, block of positions), so one long stream is compared in many tasks. Summaries,
small, come to the driver, where both engines end in the same `judge`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from raincheck.conformance.checker import RunVerdict, judge, with_strays
from raincheck.conformance.events import Address, MessageId
from raincheck.conformance.findings import Promise, Summary
from raincheck.conformance.localrun import check_file
from raincheck.conformance.network import (
    Mismatch,
    channel_finding,
    channel_text,
    compare_channel,
    table,
)
from raincheck.conformance.promises import evaluate
from raincheck.conformance.runfiles import RunFiles, index_runs
from raincheck.conformance.tracefile import Problem, trace_files

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

BLOCK = 1 << 17
"""Positions of a channel per group: 4 MiB of rows."""
PIECE = 1 << 22
"""Bytes of a delivery log per row."""
ROW = "kind string, run string, node string, incarnation long, channel string, block long"
SCHEMA = f"{ROW}, payload binary"
ANSWER = "kind string, run string, text string"
Piece = tuple[str, str, str, int, str, int, bytes]


def check_paths(session: "SparkSession", paths: Iterable[Path]) -> list[RunVerdict]:
    """Check every run that has files among the paths; the verdicts are the local engine's."""
    found = index_runs(trace_files(paths))
    verdicts: list[RunVerdict] = []
    if found.runs:
        pieces = distribute(session, found.runs.values()).persist()
        try:
            verdicts = _judged(found.runs, pieces)
        finally:
            pieces.unpersist()
    return with_strays(verdicts, found)


def distribute(session: "SparkSession", runs: Iterable[RunFiles]) -> "DataFrame":
    """One task per file, the largest first, each checked where it is read."""
    files = [path for run in runs for path in run.files.values()]
    files.sort(key=lambda path: (-path.stat().st_size, str(path)))
    names = session.sparkContext.parallelize(
        [(str(path.absolute()), str(path)) for path in files], max(1, len(files))
    )
    frame = session.createDataFrame(names, "path string, name string")
    return frame.mapInArrow(_check, SCHEMA)


def _check(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    for batch in batches:
        for path, name in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield from (_packed([piece]) for piece in file_pieces(Path(path), name))


def file_pieces(path: Path, name: str) -> Iterator[Piece]:
    """Check one file and cut what it contributes into pieces."""
    problems: list[Problem] = []
    checked = check_file(path, problems.append)
    run = node = ""
    incarnation = 0
    if checked is not None:
        summary, rows = checked
        summary.path = name
        summary.findings = [
            msgspec.structs.replace(finding, path=name) for finding in summary.findings
        ]
        run, node, incarnation = summary.run, summary.node, summary.incarnation
        yield ("summary", run, node, incarnation, "", 0, msgspec.json.encode(summary))
        for kind, ends in (("sent", rows.sent), ("received", rows.received)):
            for channel, packed in ends.items():
                text = msgspec.json.encode(channel).decode()
                for block, payload in _blocks(packed):
                    yield (kind, run, node, incarnation, text, block, payload)
        view = memoryview(rows.delivered).cast("B") if rows.delivered else memoryview(b"")
        for place in range(0, len(view), PIECE):
            part = bytes(view[place : place + PIECE])
            yield ("delivered", run, node, incarnation, "", place, part)
    for problem in problems:
        told = problem._replace(path=name)
        yield ("problem", run, node, incarnation, name, 0, msgspec.json.encode(told._asdict()))


def _blocks(packed: Any) -> Iterator[tuple[int, bytes]]:
    """A channel's rows, cut where the block of positions changes."""
    rows = table(packed)
    blocks = rows[:, 0] // BLOCK
    cuts = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(rows)]
    for low, high in pairwise(cuts):
        if low < high:
            yield int(blocks[low]), rows[low:high].tobytes()


def _packed(pieces: list[Piece]) -> "pa.RecordBatch":
    import pyarrow as pa

    schema = pa.schema(
        [
            ("kind", pa.string()),
            ("run", pa.string()),
            ("node", pa.string()),
            ("incarnation", pa.int64()),
            ("channel", pa.string()),
            ("block", pa.int64()),
            ("payload", pa.binary()),
        ]
    )
    arrays = [
        pa.array(column, type=field.type)
        for column, field in zip(zip(*pieces, strict=True), schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _judged(runs: dict[str, RunFiles], pieces: "DataFrame") -> list[RunVerdict]:
    """Join the pieces, bring the answers home, and judge."""
    summaries: dict[str, dict[Address, Summary]] = defaultdict(dict)
    problems: dict[str, list[Problem]] = defaultdict(list)
    by_path = {str(path): run.run for run in runs.values() for path in run.files.values()}
    # First, and alone: this is what checks the files, once each; all the rest reads what it kept.
    for row in pieces.where("kind in ('summary', 'problem')").collect():
        if row.kind == "problem":
            problem = Problem(**msgspec.json.decode(bytes(row.payload)))
            problems[by_path[problem.path]].append(problem)
        else:
            summary = msgspec.json.decode(bytes(row.payload), type=Summary)
            summaries[row.run][summary.who] = summary
    ends = pieces.where("kind in ('sent', 'received')")
    answers = (
        ends.groupBy("run", "channel", "block")
        .applyInArrow(_compare, ANSWER)
        .unionByName(
            pieces.where("kind in ('summary', 'delivered')")
            .groupBy("run")
            .applyInArrow(_promises, ANSWER)
        )
        .collect()
    )
    bad: dict[str, dict[tuple[Address, MessageId], Mismatch]] = defaultdict(dict)
    promises: dict[str, list[Promise]] = defaultdict(list)
    for row in answers:
        if row.kind == "promise":
            promises[row.run] = msgspec.json.decode(row.text, type=list[Promise])
            continue
        who, channel, mismatch = msgspec.json.decode(
            row.text, type=tuple[Address, MessageId, Mismatch]
        )
        known = bad[row.run].setdefault((who, channel), mismatch)
        if mismatch.position < known.position:
            bad[row.run][who, channel] = mismatch
    verdicts = []
    for name, files in sorted(runs.items()):
        known_summaries = {
            who: summaries[name][who] for who in files.files if who in summaries[name]
        }
        found = [
            channel_finding(known_summaries, who, channel, mismatch)
            for (who, channel), mismatch in sorted(bad[name].items(), key=_by_reader)
        ]
        channels = [finding for finding in found if finding is not None]
        verdicts.append(judge(files, known_summaries, channels, promises[name], problems[name]))
    return verdicts


def _by_reader(item: tuple[tuple[Address, MessageId], Mismatch]) -> tuple[Address, str]:
    (who, channel), _ = item
    return who, channel_text(channel)


def _compare(ends: "pa.Table") -> "pa.Table":
    """Compare each reader's rows of one block of a channel with what was sent in it."""
    sent = table(b"")
    readers: list[tuple[Address, str, Any]] = []
    run = ""
    for row in ends.to_pylist():
        run = row["run"]
        if row["kind"] == "sent":
            sent = table(row["payload"])
        else:
            who = (row["node"], row["incarnation"])
            readers.append((who, row["channel"], table(row["payload"])))
    answers = []
    for who, channel, received in readers:
        bad = compare_channel(sent, received)
        if bad is not None:
            text = msgspec.json.encode((who, msgspec.Raw(channel.encode()), bad)).decode()
            answers.append(("mismatch", run, text))
    return _answers(answers)


def _promises(rows: "pa.Table") -> "pa.Table":
    """Evaluate the properties on one run's deliveries."""
    summaries: dict[Address, Summary] = {}
    parts: dict[Address, list[tuple[int, bytes]]] = defaultdict(list)
    run = ""
    for row in rows.to_pylist():
        run = row["run"]
        who = (row["node"], row["incarnation"])
        if row["kind"] == "summary":
            summaries[who] = msgspec.json.decode(row["payload"], type=Summary)
        else:
            parts[who].append((row["block"], row["payload"]))
    deliveries = {who: b"".join(part for _, part in sorted(parts[who])) for who in summaries}
    promises = evaluate(summaries, deliveries)
    return _answers([("promise", run, msgspec.json.encode(promises).decode())])


def _answers(rows: list[tuple[str, str, str]]) -> "pa.Table":
    import pyarrow as pa

    names = ("kind", "run", "text")
    columns = [[row[place] for row in rows] for place in range(len(names))]
    return pa.table(
        {name: pa.array(c, type=pa.string()) for name, c in zip(names, columns, strict=True)}
    )
