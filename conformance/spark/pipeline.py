"""Traces on Spark: files, then channels, then runs.

The workers run the same code as the local engine; raw records never leave them. A process's file
is checked where it is read, and emits a report and the rows of its channels. The rows of both ends
of a channel meet in one group, those of many datagrams in several, by their contents, and those of
a long stream by their numbers. What the channels of a run say, and its reports, meet in one group,
which judges them; promises that can be evaluated in a second way are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import numpy as np

from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.channels_compared import Bad, Compared, compare, joined
from raincheck.conformance.trace.columns import (
    CLOCK,
    DIGEST,
    NUMBER,
    Channel,
    Columns,
    Stream,
    Table,
    stable_digest,
)
from raincheck.conformance.trace.findings import FileReport
from raincheck.conformance.trace.judged import RunVerdict, judge, layers_of, promised_of
from raincheck.conformance.trace.layers.judged import LAYERS, slim
from raincheck.conformance.trace.promised import Run
from raincheck.conformance.trace.run import check_process, several, sorted_out, with_strays
from raincheck.conformance.trace.streams import compare_stream
from raincheck.conformance.trace.tracefile import trace_files

from .packing import packed, unpacked
from .recount import compared as both_evaluations

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

ROW: Final = "run string, protocol string, channel string, block long, kind string, payload binary"
ANSWER: Final = "run string, protocol string, verdict binary"
TASKS: Final = 32
"""Most tasks per core."""
PIECE: Final = 1 << 18
"""Rows of a channel's end per piece."""
MEETING: Final = 1 << 28
"""Bytes of traces whose channels may meet in one group each; more have several for a channel."""
WHOLE: Final = 1 << 24
"""Bytes of a report per piece."""

Piece: TypeAlias = tuple[str, str, str, int, str, bytes]
"""Run, protocol, channel (none: about the run), block, kind, and what it says."""


def check_paths(session: SparkSession, paths: Iterable[Path]) -> list[RunVerdict]:
    """Check every run that has files among the paths; the verdicts are the local engine's."""
    found = sorted_out(trace_files(paths))
    files = [
        (run, protocol, [(str(path.absolute()), str(path)) for path in paths])
        for (run, protocol), processes in sorted(found.runs.items())
        for paths in processes.values()
    ]
    if not files:
        return with_strays([], found)
    sizes = [sum(Path(name).stat().st_size for _, name in paths) for _, _, paths in files]
    blocks = blocks_for(sum(sizes))
    crashed = {run: sorted(who) for run, who in found.crashed.items()}
    layered = several(run for run, _ in found.runs)
    tasks = min(len(files), TASKS * session.sparkContext.defaultParallelism)
    # A task takes consecutive ids: give each some large files and some small ones.
    order = sorted(range(len(files)), key=lambda place: (-sizes[place], place))
    dealt = [files[place] for first in range(tasks) for place in order[first::tasks]]

    most = (PIECE, WHOLE)

    def check(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                run, protocol, paths = dealt[number]
                layers = run in layered
                for piece in file_pieces(run, protocol, dict(paths), blocks, *most, layers=layers):
                    yield from _rows([piece]).to_batches()

    def meet(rows: pa.Table) -> pa.Table:
        return _rows(_met(rows.to_pylist()))

    def answer(rows: pa.Table) -> pa.Table:
        return _answer(rows, crashed)

    with _one_plan(session):
        pieces = session.range(0, len(dealt), 1, tasks).mapInArrow(check, ROW)
        met = pieces.groupBy("run", "protocol", "channel", "block").applyInArrow(meet, ROW)
        answers = met.groupBy("run", "protocol").applyInArrow(answer, ANSWER).collect()
    verdicts = [msgspec.json.decode(bytes(row.verdict), type=RunVerdict) for row in answers]
    verdicts.sort(key=lambda each: (each.run, each.protocol == LAYERS, each.protocol))
    return with_strays(verdicts, found)


@contextmanager
def _one_plan(session: SparkSession) -> Iterator[None]:
    """Without adaptive planning, which runs each stage as a job of its own."""
    name = "spark.sql.adaptive.enabled"
    before = session.conf.get(name)
    session.conf.set(name, "false")
    try:
        yield
    finally:
        session.conf.set(name, str(before))


def blocks_for(size: int) -> int:
    """In how many groups both ends of a channel meet, of traces of that many bytes."""
    return 1 << max(0, (size // MEETING).bit_length())


def file_pieces(
    run: str,
    protocol: str,
    names: Mapping[str, str],
    blocks: int,
    most: int = PIECE,
    whole: int = WHOLE,
    *,
    layers: bool = False,
) -> Iterator[Piece]:
    """Check the files of one process, which keep their names, and cut into pieces what they say.

    `layers`: it is compared with other protocols' files of the run.
    """
    problems: list[Problem] = []
    checked = check_process(map(Path, names), problems.append, stable_digest)
    if checked is not None:
        report, columns = checked
        name = names[report.path]
        report.findings = [msgspec.structs.replace(each, path=name) for each in report.findings]
        report.path = name
        who = f"{report.node}.{report.incarnation}"
        yield from _report(run, protocol, who, report, whole)
        if layers:
            yield from _report(run, LAYERS, f"{who}.{protocol}", slim(report), whole)
        yield from _ends(run, protocol, columns, blocks, most)
    for problem in problems:
        told = problem._replace(path=names[problem.path])
        yield (run, protocol, "", 0, "problem", msgspec.json.encode(told))


def _report(run: str, protocol: str, who: str, report: FileReport, whole: int) -> Iterator[Piece]:
    said = msgspec.msgpack.encode(report)
    for place in range(0, len(said), whole):
        yield (run, protocol, "", 0, f"report {who} {place}", said[place : place + whole])


def _ends(run: str, protocol: str, columns: Columns, blocks: int, most: int) -> Iterator[Piece]:
    for kind, ends in (("sent", columns.sent), ("received", columns.received)):
        for text, end in ends.items():
            for block, rows in enumerate(_blocks(end, blocks)):
                for place in range(0, len(rows), most):
                    part = packed(rows[place : place + most])
                    yield (run, protocol, end.sent_as, block, f"{kind} {place} {text}", part)


def _blocks(end: Channel, blocks: int) -> Iterable[Table]:
    """The rows by block: a FIFO channel has one, since its messages are counted as a whole."""
    rows = end.table()
    if blocks == 1 or (end.fifo and not isinstance(end, Stream)):
        return [rows]
    by = rows[:, NUMBER if isinstance(end, Stream) else DIGEST] & (blocks - 1)
    return [rows[by == block] for block in range(blocks)]


def _met(rows: list[dict[str, object]]) -> list[Piece]:
    """Compare both ends of a channel, or of a block of it; other rows are handed through."""
    run, protocol, channel = (str(rows[0][name]) for name in ("run", "protocol", "channel"))
    if not channel:
        return [(run, protocol, "", 0, str(row["kind"]), _bytes(row)) for row in rows]
    ends: dict[str, dict[str, dict[int, Table]]] = {"sent": {}, "received": {}}
    for row in rows:
        kind, place, text = str(row["kind"]).split(" ", 2)
        ends[kind].setdefault(text, {})[int(place)] = unpacked(_bytes(row))
    (sent,) = map(_whole, ends["sent"].values()) if ends["sent"] else (None,)
    pieces: list[Piece] = []
    for text, parts in ends["received"].items():
        received = _whole(parts)
        found = _compared(received[:0] if sent is None else sent, received)
        if found.bad or len(found.origins):
            said = msgspec.msgpack.encode((found.bad, packed(found.origins)))
            pieces.append((run, protocol, text, 0, "compared", said))
    return pieces


def _compared(sent: Table, received: Table) -> Compared:
    if received.shape[1] > CLOCK:
        return compare_stream(sent, received)
    return compare(sent, received, fifo=received.shape[1] > NUMBER)


def _whole(parts: Mapping[int, Table]) -> Table:
    return np.concatenate([part for _, part in sorted(parts.items())])


def _bytes(row: Mapping[str, object]) -> bytes:
    payload = row["payload"]
    assert isinstance(payload, bytes)
    return payload


def _answer(rows: pa.Table, crashed: Mapping[str, list[tuple[str, int]]]) -> pa.Table:
    """Judge one protocol of one run, or its layers."""
    said: dict[str, dict[int, bytes]] = defaultdict(dict)
    problems: list[Problem] = []
    parts: dict[str, list[Compared]] = defaultdict(list)
    for row in rows.to_pylist():
        if row["kind"].startswith("report "):
            _, who, place = row["kind"].split(" ")
            said[who][int(place)] = row["payload"]
        elif row["kind"] == "problem":
            problems.append(msgspec.json.decode(row["payload"], type=Problem))
        else:
            bad, origins = msgspec.msgpack.decode(row["payload"], type=tuple[list[Bad], bytes])
            parts[row["channel"]].append(Compared(unpacked(origins), bad))
    run, protocol = row["run"], row["protocol"]
    killed = set(crashed.get(run, ()))
    promised = promised_of(protocol)
    whole = (b"".join(part for _, part in sorted(parts.items())) for parts in said.values())
    reports = [msgspec.msgpack.decode(each, type=promised.report) for each in whole]
    if protocol == LAYERS:
        return _verdicts(run, protocol, layers_of(run, reports, killed))
    compared = {channel: joined(each) for channel, each in parts.items()}
    by_who = {report.who: report for report in sorted(reports, key=lambda each: each.who)}
    facts = Run(by_who, compared, killed, (), complete=False)
    broken = None if promised.again is None or not by_who else promised.again(facts)
    verdict = judge(run, protocol, reports, compared, killed, problems)
    if broken is not None:
        verdict = both_evaluations(verdict, broken)
    return _verdicts(run, protocol, [verdict])


def _verdicts(run: str, protocol: str, verdicts: Iterable[RunVerdict]) -> pa.Table:
    import pyarrow as pa

    encoded = pa.array(map(msgspec.json.encode, verdicts), type=pa.binary())
    count = len(encoded)
    return pa.table({"run": [run] * count, "protocol": [protocol] * count, "verdict": encoded})


def _rows(pieces: list[Piece]) -> pa.Table:
    import pyarrow as pa

    kinds = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.string(), pa.binary())
    names = ("run", "protocol", "channel", "block", "kind", "payload")
    columns = zip(*pieces, strict=True) if pieces else [()] * len(names)
    arrays = [pa.array(column, type=kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=names)
