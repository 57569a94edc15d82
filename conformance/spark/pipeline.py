"""Trace checking on Spark: part (a) once per file in the workers, part (b) as one grouped join.

Workers run the same code as the local engine and emit packed rows; raw records never leave them. A
channel's two ends meet in groups of (channel, block of positions), so one long stream is compared
in many tasks; a run's deliveries and summaries meet in one group, which evaluates the properties.
Summaries, small, come to the driver, where both engines end in the same `judge`. What that says of
the promises is compared with a second evaluation in SQL (`recount.py`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.checker import RunVerdict, judge, with_strays
from raincheck.conformance.trace.events import Address, MessageId
from raincheck.conformance.trace.findings import Promise, Summary
from raincheck.conformance.trace.localrun import check_file
from raincheck.conformance.trace.network import (
    Mismatch,
    Table,
    channel_finding,
    channel_text,
    compare_channel,
    table,
)
from raincheck.conformance.trace.promises import evaluate
from raincheck.conformance.trace.runfiles import RunFiles, index_runs
from raincheck.conformance.trace.tracefile import trace_files

from .packing import packed, unpacked
from .recount import compared, recounted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

BLOCK = 1 << 17
"""Positions of a channel per group: at most 4 MiB of rows per reader."""
PIECE = 1 << 18
"""Rows of a delivery log per piece."""
TASKS = 32
"""Most tasks per core: a task costs about as much as checking a thousand events."""
ROW = "kind string, run string, node string, incarnation long, channel string, block long"
SCHEMA = f"{ROW}, payload binary"
ANSWER = "kind string, run string, text string"
Piece = tuple[str, str, str, int, str, int, bytes]
Answers = list[tuple[str, str, str]]


def check_paths(session: "SparkSession", paths: Iterable[Path]) -> list[RunVerdict]:
    """Check every run that has files among the paths; the verdicts are the local engine's."""
    found = index_runs(trace_files(paths))
    verdicts: list[RunVerdict] = []
    if found.runs:
        with _one_plan(session):
            pieces = distribute(session, found.runs.values())
            answers = pieces.groupBy("run", "channel", "block").applyInArrow(_answer, ANSWER)
            verdicts = _judged(found.runs, answers.collect())
    return with_strays(verdicts, found)


@contextmanager
def _one_plan(session: "SparkSession") -> Iterator[None]:
    """Without adaptive planning, which runs each stage as a job of its own: there are two."""
    name = "spark.sql.adaptive.enabled"
    before = session.conf.get(name)
    session.conf.set(name, "false")
    try:
        yield
    finally:
        session.conf.set(name, str(before))


def distribute(session: "SparkSession", runs: Iterable[RunFiles]) -> "DataFrame":
    """One task per file, the largest first, each checked where it is read."""
    files = [path for run in runs for path in run.files.values()]
    files.sort(key=lambda path: (-path.stat().st_size, str(path)))
    tasks = min(len(files), TASKS * session.sparkContext.defaultParallelism)
    # A task takes consecutive ids: give each some large files and some small ones.
    dealt = [path for first in range(tasks) for path in files[first::tasks]]
    names = [(str(path.absolute()), str(path)) for path in dealt]
    sizes = (BLOCK, PIECE)

    def check(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for batch in batches:
            for number in batch.column(0).to_pylist():
                path, name = names[number]
                yield from (_batch([piece]) for piece in file_pieces(Path(path), name, *sizes))

    return session.range(0, len(names), 1, tasks).mapInArrow(check, SCHEMA)


def file_pieces(
    path: Path, name: str, block_size: int = BLOCK, piece_size: int = PIECE
) -> Iterator[Piece]:
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
            for channel, words in ends.items():
                text = msgspec.json.encode(channel).decode()
                for block, payload in _blocks(table(words), block_size):
                    yield (kind, run, node, incarnation, text, block, payload)
        log = np.frombuffer(rows.delivered, dtype=np.int64).reshape(-1, 1)
        for place in range(0, len(log), piece_size):
            part = packed(log[place : place + piece_size])
            yield (f"delivered {place}", run, node, incarnation, "", 0, part)
    for problem in problems:
        told = problem._replace(path=name)
        yield ("problem", run, node, incarnation, "", 0, msgspec.json.encode(told._asdict()))


def _blocks(rows: Table, size: int) -> Iterator[tuple[int, bytes]]:
    """A channel's rows, cut where the block of positions changes."""
    blocks = rows[:, 0] // size
    cuts = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(rows)]
    for low, high in pairwise(cuts):
        if low < high:
            yield int(blocks[low]), packed(rows[low:high])


def _batch(pieces: list[Piece]) -> "pa.RecordBatch":
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


def _judged(runs: dict[str, RunFiles], answers: "Iterable[Any]") -> list[RunVerdict]:
    """Bring the answers together, and judge."""
    summaries: dict[str, dict[Address, Summary]] = defaultdict(dict)
    problems: dict[str, list[Problem]] = defaultdict(list)
    bad: dict[str, dict[tuple[Address, MessageId], Mismatch]] = defaultdict(dict)
    promises: dict[str, list[Promise]] = defaultdict(list)
    broken: dict[str, list[str]] = defaultdict(list)
    by_path = {str(path): run.run for run in runs.values() for path in run.files.values()}
    for row in answers:
        if row.kind == "problem":
            problem = Problem(**msgspec.json.decode(row.text))
            problems[by_path[problem.path]].append(problem)
        elif row.kind == "summary":
            summary = msgspec.json.decode(row.text, type=Summary)
            summaries[row.run][summary.who] = summary
        elif row.kind == "broken":
            broken[row.run] = msgspec.json.decode(row.text, type=list[str])
        elif row.kind == "promises":
            promises[row.run] = msgspec.json.decode(row.text, type=list[Promise])
        else:
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
        verdict = judge(files, known_summaries, channels, promises[name], problems[name])
        verdicts.append(compared(verdict, broken[name]))
    return verdicts


def _by_reader(item: tuple[tuple[Address, MessageId], Mismatch]) -> tuple[Address, str]:
    (who, channel), _ = item
    return who, channel_text(channel)


def _answer(rows: "pa.Table") -> "pa.Table":
    """What one group says: a block of a channel, or all that is known of a run as a whole."""
    import pyarrow as pa

    pieces = rows.to_pylist()
    about: Callable[[str, list[dict[str, Any]]], Answers]
    about = _compare if pieces[0]["channel"] else _whole
    answers = about(pieces[0]["run"], pieces)
    names = ("kind", "run", "text")
    columns = [[answer[place] for answer in answers] for place in range(len(names))]
    return pa.table(
        {name: pa.array(c, type=pa.string()) for name, c in zip(names, columns, strict=True)}
    )


def _compare(run: str, pieces: list[dict[str, Any]]) -> Answers:
    """Compare each reader's rows of one block of a channel with what was sent in it."""
    sent = table(b"")
    for piece in pieces:
        if piece["kind"] == "sent":
            sent = unpacked(piece["payload"])
    answers = []
    for piece in pieces:
        if piece["kind"] == "received":
            bad = compare_channel(sent, unpacked(piece["payload"]))
            if bad is not None:
                who = (piece["node"], piece["incarnation"])
                channel = msgspec.Raw(piece["channel"].encode())
                text = msgspec.json.encode((who, channel, bad)).decode()
                answers.append(("mismatch", run, text))
    return answers


def _whole(run: str, pieces: list[dict[str, Any]]) -> Answers:
    """Evaluate the properties on one run's deliveries; hand summaries and problems through."""
    summaries: dict[Address, Summary] = {}
    parts: dict[Address, list[tuple[int, bytes]]] = defaultdict(list)
    answers = []
    for piece in pieces:
        who = (piece["node"], piece["incarnation"])
        kind, _, place = piece["kind"].partition(" ")
        if kind == "delivered":
            parts[who].append((int(place), unpacked(piece["payload"]).tobytes()))
            continue
        answers.append((kind, run, piece["payload"].decode()))
        if kind == "summary":
            summaries[who] = msgspec.json.decode(piece["payload"], type=Summary)
    if summaries:
        deliveries = {who: b"".join(part for _, part in sorted(parts[who])) for who in summaries}
        broken = recounted(summaries, deliveries)
        answers.append(("broken", run, msgspec.json.encode(broken).decode()))
        promises = evaluate(summaries, deliveries)
        answers.append(("promises", run, msgspec.json.encode(promises).decode()))
    return answers
