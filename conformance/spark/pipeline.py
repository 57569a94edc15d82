"""Traces on Spark: files, then channels, then runs.

The workers run the same code as the local engine; raw records never leave them. A process's file
is checked where it is read, and emits a report and the rows of its channels. The rows of both ends
of a channel meet in one group, those of many datagrams in several, by their contents, and those of
a long stream by their numbers. What the channels of a run say, and its reports, meet in one group,
which judges them; promises that can be evaluated in a second way are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import numpy as np

from raincheck.conformance.errors import UsageError
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.channels_compared import Bad, Compared, compare, joined
from raincheck.conformance.trace.collector import no_collector
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
from raincheck.conformance.trace.following.files import follow_file
from raincheck.conformance.trace.following.shared import Shared
from raincheck.conformance.trace.inputs import Uri
from raincheck.conformance.trace.judged import RunVerdict, judge, layers_of, promised_of
from raincheck.conformance.trace.layers.judged import LAYERS, slim
from raincheck.conformance.trace.promised import Followed, Run
from raincheck.conformance.trace.run import (
    Found,
    check_process,
    second_file,
    several,
    sort,
    with_strays,
)
from raincheck.conformance.trace.streams import compare_stream
from raincheck.conformance.trace.tracefile import SUFFIXES, trace_files

from .finding import located
from .looking import Seen, look_at, look_into, parallelism, tasks_for
from .packing import packed, unpacked
from .recount import compared as both_evaluations
from .remote import Chunk, blocks_of, by_file, chunks, lines_of, listed, whole_files
from .settings import set_to
from .shipping import at_workers, function

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ROW: Final = "run string, protocol string, channel string, block long, kind string, payload binary"
ANSWER: Final = "run string, protocol string, verdict binary"
PIECE: Final = 1 << 18
"""Rows of a channel's end per piece."""
MEETING: Final = 1 << 28
"""Bytes of a run whose channels may meet in one group each; more have several for a channel."""
SHUFFLES: Final = "spark.sql.shuffle.partitions"
UNSAID: Final = "200"
"""What it is where nobody has set it."""
MOST_PARTITIONS: Final = 20_000
WHOLE: Final = 1 << 24
"""Bytes of a report per piece."""

Piece: TypeAlias = tuple[str, str, str, int, str, bytes]
"""Run, protocol, channel (none: about the run), block, kind, and what it says."""


class Task(msgspec.Struct, array_like=True):
    """The files of one process, which the workers can open."""

    run: str
    protocol: str
    names: dict[str, str]
    """As the user named them, by their paths."""


class Read(msgspec.Struct, array_like=True):
    """A file that Spark reads."""

    run: str
    protocol: str
    used: str = ""
    """The file that is used instead, if its process has another one."""


class Work(msgspec.Struct, array_like=True):
    """What the workers are to do with the files that were found."""

    tasks: list[Task]
    read: dict[str, Read]
    """By the files' names."""
    layered: set[str]
    """The runs that have files of several protocols."""
    blocks: int
    most: tuple[int, int]
    """PIECE and WHOLE."""


def check_paths(
    session: SparkSession, places: Iterable[Path | Uri], *, lines: bool = False
) -> list[RunVerdict]:
    """Check every run that has files in these places; the verdicts are the local engine's.

    A path is one that the workers can open as well; what is on other file systems, Spark reads.
    With `lines` the findings tell the lines of the events that they are about.
    """
    places = list(places)
    uris = [each for each in places if isinstance(each, Uri)]
    paths = [each for each in places if isinstance(each, Path)]
    archive = at_workers(session)
    files = listed(session, uris, SUFFIXES, "trace file") if uris else []
    seen = look_at(session, trace_files(paths) if paths else [], archive)
    seen += look_into(session, files, archive)
    found = _sorted(seen)
    if not found.runs:
        return with_strays([], found)
    size = sum(each.size for each in seen)
    tasks = tasks_for(session, len(seen), size)
    work = planned(found, seen, {each.name for each in files}, tasks)
    told = msgspec.msgpack.encode(work)
    crashed = {run: sorted(who) for run, who in found.crashed.items()}
    used = [each for each in files if each.name in work.read]
    frames: list[DataFrame] = []
    partitions = partitions_for(parallelism(session), size)
    with _one_plan(session, partitions), whole_files(session, used):
        if work.tasks:
            check = function(archive, check_tasks, told)
            count = len(work.tasks)
            frames.append(session.range(0, count, 1, min(count, tasks)).mapInArrow(check, ROW))
        if used:
            check = function(archive, check_lines, told)
            frames.append(lines_of(session, used).mapInArrow(check, ROW))
        pieces = frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])
        meet, judged = function(archive, meet_ends), function(archive, answer, crashed)
        met = pieces.groupBy("run", "protocol", "channel", "block").applyInArrow(meet, ROW)
        answers = met.groupBy("run", "protocol").applyInArrow(judged, ANSWER).collect()
    verdicts = [msgspec.json.decode(bytes(row.verdict), type=RunVerdict) for row in answers]
    verdicts.sort(key=lambda each: (each.run, each.protocol == LAYERS, each.protocol))
    if lines:
        verdicts = located(session, verdicts, files)
    return with_strays(verdicts, found)


def _sorted(seen: Iterable[Seen]) -> Found:
    """Sort the files as the local engine does; a path cannot have two slashes, a URI has."""
    names = {str(Path(each.name)): each.name for each in seen}
    found = sort(each.look() for each in seen)
    problems = [each._replace(path=names.get(each.path, each.path)) for each in found.problems]
    return found._replace(problems=problems)


def planned(found: Found, seen: Iterable[Seen], elsewhere: Collection[str], tasks: int) -> Work:
    """Return what is to be done; of these names Spark reads the files."""
    by_path = {str(Path(each.name)): each for each in seen}
    sized: list[tuple[int, Task]] = []
    read: dict[str, Read] = {}
    for (run, protocol), processes in sorted(found.runs.items()):
        for who, files in processes.items():
            of_process = [by_path[str(path)] for path in sorted(files, key=str)]
            there = [each.name for each in of_process if each.name in elsewhere]
            here = {str(Path(each.name).absolute()): each.name for each in of_process}
            if there and len(there) < len(of_process):
                raise UsageError(
                    f"{who} of {run} has files on two file systems, one of them {there[0]}: name "
                    "those of one."
                )
            if there:
                read |= _read(run, protocol, of_process)
            else:
                size = sum(each.size for each in of_process)
                sized.append((size, Task(run, protocol, here)))
    # A task takes consecutive numbers: give each some large files and some small ones.
    sized.sort(key=lambda each: -each[0])
    tasks = min(tasks, len(sized))
    dealt = [task for first in range(tasks) for _, task in sized[first::tasks]]
    largest = max(
        sum(by_path[str(path)].size for paths in processes.values() for path in paths)
        for processes in found.runs.values()
    )
    layered = several(run for run, _ in found.runs)
    return Work(dealt, read, layered, blocks_for(largest), (PIECE, WHOLE))


def _read(run: str, protocol: str, files: Iterable[Seen]) -> dict[str, Read]:
    """The files of a process: the first that can be used is."""
    used = ""
    found: dict[str, Read] = {}
    for file in files:
        found[file.name] = Read(run, protocol, used)
        used = used or (file.name if file.usable else "")
    return found


def check_tasks(batches: Iterable[pa.RecordBatch], told: bytes) -> Iterator[pa.RecordBatch]:
    """On a worker: check the processes with these numbers, whose files it opens."""
    work = msgspec.msgpack.decode(told, type=Work)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            task = work.tasks[number]
            layers = task.run in work.layered
            pieces = file_pieces(
                task.run, task.protocol, task.names, work.blocks, *work.most, layers=layers
            )
            for piece in pieces:
                yield from _rows([piece]).to_batches()


def check_lines(batches: Iterable[pa.RecordBatch], told: bytes) -> Iterator[pa.RecordBatch]:
    """On a worker: check the files whose lines come."""
    work = msgspec.msgpack.decode(told, type=Work)
    for name, found in by_file(chunks(batches)):
        for piece in line_pieces(work, name, found):
            yield from _rows([piece]).to_batches()


def line_pieces(work: Work, name: str, found: Iterable[Chunk]) -> Iterator[Piece]:
    """Check a file that comes in lines, and cut into pieces what it says."""
    read = work.read[name]
    problems: list[Problem] = []
    path = Path(name)
    blocks = blocks_of(name, found, problems.append)
    last: Followed | None = None
    with no_collector():
        for last in follow_file(path, problems.append, Shared(stable_digest), blocks):  # noqa: B007
            if read.used:
                break
    if read.used and last is not None:
        problems.clear()
        second_file(last, path, Path(read.used), problems.append)
    elif last is not None:
        checked = (last.done(), last.columns)
        layers = read.run in work.layered
        yield from _said(
            read.run, read.protocol, checked, name, work.blocks, *work.most, layers=layers
        )
    for problem in problems:
        said = msgspec.json.encode(problem._replace(path=name))
        yield (read.run, read.protocol, "", 0, "problem", said)


def _one_plan(session: SparkSession, partitions: int) -> AbstractContextManager[None]:
    """Without adaptive planning, which runs each stage as a job of its own.

    What is handed on meets in so many partitions, if the user has not said in how many: 200, as
    Spark has it, is 400 tasks for the smallest run, and a few for the largest.
    """
    settings = {"spark.sql.adaptive.enabled": "false"}
    if session.conf.get(SHUFFLES) == UNSAID:
        settings[SHUFFLES] = str(partitions)
    return set_to(session, settings)


def partitions_for(cores: int, size: int) -> int:
    """Return in how many partitions the rows of traces of that many bytes meet."""
    return min(max(2 * cores, size // MEETING), MOST_PARTITIONS)


def blocks_for(size: int) -> int:
    """In how many groups both ends of a channel meet, in a run of that many bytes."""
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
        name = names[checked[0].path]
        yield from _said(run, protocol, checked, name, blocks, most, whole, layers=layers)
    for problem in problems:
        told = problem._replace(path=names[problem.path])
        yield (run, protocol, "", 0, "problem", msgspec.json.encode(told))


def _said(
    run: str,
    protocol: str,
    checked: tuple[FileReport, Columns],
    name: str,
    blocks: int,
    most: int,
    whole: int,
    *,
    layers: bool,
) -> Iterator[Piece]:
    """Cut into pieces what the check of a process's file says; it is called by the user's name."""
    report, columns = checked
    report.findings = [msgspec.structs.replace(each, path=name) for each in report.findings]
    report.path = name
    who = f"{report.node}.{report.incarnation}"
    yield from _report(run, protocol, who, report, whole)
    if layers:
        yield from _report(run, LAYERS, f"{who}.{protocol}", slim(report), whole)
    yield from _ends(run, protocol, columns, blocks, most)


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


def meet_ends(rows: pa.Table) -> pa.Table:
    """On a worker: compare both ends of a channel."""
    return _rows(_met(rows.to_pylist()))


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


def answer(rows: pa.Table, crashed: Mapping[str, list[tuple[str, int]]]) -> pa.Table:
    """On a worker: judge one protocol of one run, or its layers."""
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
    # Of layers that have nothing in common there is none: the types are said all the same.
    names = [pa.array([name] * len(encoded), type=pa.string()) for name in (run, protocol)]
    return pa.table([*names, encoded], names=("run", "protocol", "verdict"))


def _rows(pieces: list[Piece]) -> pa.Table:
    import pyarrow as pa

    kinds = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.string(), pa.binary())
    names = ("run", "protocol", "channel", "block", "kind", "payload")
    columns = zip(*pieces, strict=True) if pieces else [()] * len(names)
    arrays = [pa.array(column, type=kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=names)
