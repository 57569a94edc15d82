"""Traces in folders: which file is of which run and protocol, and what all of them say.

A file belongs to a run and a protocol by its first record. The files of a run are read side by
side, always going on with the one whose clock is lowest, so that of streams no more is kept than is
under way between the nodes; without clocks they are read one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush, heapreplace
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from raincheck.conformance.trace.following.files import follow_file
from raincheck.conformance.trace.following.shared import Shared
from raincheck.conformance.trace.layers.judged import slim

from .batches import Batch, Problem, Report
from .channels_compared import compare_all
from .collector import no_collector
from .columns import Columns, Digest
from .events import NEVER_CAME, Absent, Crash
from .findings import INCONCLUSIVE, FileReport
from .judged import RunVerdict, judge, layers_of
from .promised import Followed
from .records import Address
from .streams import Streams
from .tracefile import Blocks, decode_block, read_blocks, trace_files

OPEN = 200
"""Files that are read side by side; a process may not hold many more open."""
SETTLE = 64
"""After how many blocks of lines, and one more per file, the streams' ends are compared."""
NO_RUN: Final = "(no run)"
Progress: TypeAlias = Callable[[int, str], None]
Processes: TypeAlias = dict[str, list[Path]]
"""The files of a run and protocol, by process: it should have one."""
Keep: TypeAlias = Callable[[FileReport], None]
"""Takes the reports that are compared with other layers'."""
Check: TypeAlias = Callable[[tuple[str, str], Processes, set[Address], Keep | None], RunVerdict]
"""Checks one protocol of one run: (run and protocol, files, whom the harness killed, keep)."""


class Found(NamedTuple):
    """The files of a folder."""

    runs: dict[tuple[str, str], Processes]
    """By run and protocol."""
    crashed: dict[str, set[Address]]
    """Whom the harness killed, and with the life NEVER_CAME what never came, by run."""
    problems: list[Problem]
    """Of files that belong to no run: nobody may take them for checked."""


class Look(NamedTuple):
    """What decides where a file belongs."""

    path: Path
    record: object
    """Its first record; None if its first line is none."""
    problems: list[Problem]
    gone: list[tuple[int, Crash | Absent]]
    """Of a file of crash records: all of them, with their lines."""


class First(msgspec.Struct, tag_field="kind", tag="header"):
    """What a header says of where its file belongs."""

    run: str
    protocol: str
    node: Any = None
    incarnation: Any = None
    traced: tuple[str, ...] | None = None


class OtherEvent(msgspec.Struct, tag_field="kind", tag="event"):
    """Of an event as the first record."""


class OtherFooter(msgspec.Struct, tag_field="kind", tag="footer"):
    """Of a footer as the first record."""


FIRST: Final = msgspec.json.Decoder(First | OtherEvent | OtherFooter | Crash | Absent)


def sorted_out(paths: Iterable[Path]) -> Found:
    """Look at each file's first record, and sort the files by it."""
    return sort(map(looked, paths))


def looked(path: Path, blocks: Callable[[Report], Blocks] | None = None) -> Look:
    """Look at a file's first record, and in a file of crash records at all of them.

    `blocks` reads it, where it is no file of this machine's.
    """
    look = Look(path, None, [], [])
    report = look.problems.append
    lines = read_blocks(path, report) if blocks is None else blocks(report)
    first = next(lines, None)
    look = look._replace(record=None if first is None else _first(path, *first, report))
    if first is not None and isinstance(look.record, Crash | Absent):
        batches = (decode_block(path, *each, report, FIRST) for each in chain([first], lines))
        look.gone.extend(gone_in(chain.from_iterable(batches), look))
    return look


def sort(looks: Iterable[Look]) -> Found:
    """Sort the files, in the order of their paths, by what was seen of them."""
    found = Found({}, {}, [])
    left: list[tuple[Path, int, Crash]] = []
    headers: dict[str, list[tuple[Path, First]]] = {}
    for path, record, problems, gone in looks:
        if isinstance(record, First):
            of_run = found.runs.setdefault((record.run, record.protocol), {})
            headers.setdefault(record.run, []).append((path, record))
            of_run.setdefault(f"{record.node}.{record.incarnation}", []).append(path)
        elif isinstance(record, Crash | Absent):
            found.problems.extend(problems)
            for line, each in gone:
                if isinstance(each, Crash):
                    left.append((path, line, each))
                life = each.incarnation if isinstance(each, Crash) else NEVER_CAME
                found.crashed.setdefault(each.run, set()).add((each.node, life))
        elif record is not None:
            reason = "the first record is not a header: nothing in this file can be checked"
            found.problems.append(Problem(str(path), 1, reason))
        elif problems:
            found.problems.append(problems[0])
        else:
            reason = "no header: the file is empty or does not begin with one"
            found.problems.append(Problem(str(path), 1, reason))
    for path, line, crash in left:
        who = f"{crash.node}.{crash.incarnation}"
        for protocol in crash.traced:
            if who not in found.runs.get((crash.run, protocol), {who}):
                reason = f"there is no file of {protocol} of {who}, which left one"
                found.problems.append(Problem(str(path), line, reason))
    killed = {(crash.run, crash.node, crash.incarnation): crash.traced for _, _, crash in left}
    for run, of_all in headers.items():
        found.problems.extend(_untraced(run, of_all, killed))
    return found


def _untraced(
    run: str,
    headers: Sequence[tuple[Path, First]],
    killed: Mapping[tuple[str, Any, Any], Collection[str]],
) -> Iterator[Problem]:
    """Yield the protocols that headers say were recorded, and of which the run has no file."""
    first, its = headers[0]
    there = {header.protocol for _, header in headers}
    named: set[str] = set()
    for path, header in headers:
        if set(header.traced or ()) != set(its.traced or ()):
            reason = f"other protocols than {first.name} says are said to be recorded of {run}"
            yield Problem(str(path), 1, reason)
        # Who was killed may have left no file of some; the harness looked which.
        left = killed.get((run, header.node, header.incarnation)) or header.traced or ()
        for protocol in sorted(set(header.traced or ()).intersection(left) - there - named):
            named.add(protocol)
            reason = f"there is no file of {protocol} of {run}, which was recorded"
            yield Problem(str(path), 1, reason)


def _first(path: Path, line: int, block: bytes, report: Report) -> object:
    """The file's first record, if its first line is one."""
    head, newline, _ = block.partition(b"\n")
    for batch in decode_block(path, line, head + newline, report, FIRST):
        return batch.records[0] if line == 1 else None
    return None


def gone_in(batches: Iterable[Batch], look: Look) -> Iterator[tuple[int, Crash | Absent]]:
    """Yield the records of who is gone, with their lines; others do not belong there."""
    for batch in batches:
        for line, record in enumerate(batch.records, batch.line):
            if isinstance(record, Crash | Absent):
                yield line, record
            else:
                look.problems.append(
                    Problem(str(look.path), line, "only crash records belong here")
                )


def check_paths(paths: Iterable[Path], progress: Progress | None = None) -> list[RunVerdict]:
    """Check every run that has files among the paths, in this process."""

    def check(
        of: tuple[str, str], processes: Processes, crashed: set[Address], keep: Keep | None
    ) -> RunVerdict:
        return check_run(*of, processes, crashed, progress, keep)

    return check_all(sorted_out(trace_files(paths)), check)


def check_all(found: Found, check: Check) -> list[RunVerdict]:
    """Check every run that was found, its layers beside each other, and name what is of none."""
    verdicts: list[RunVerdict] = []
    layered = several(run for run, _ in found.runs)
    for run, of_run in groupby(sorted(found.runs.items()), lambda each: each[0][0]):
        crashed, reports = found.crashed.get(run, set()), list[FileReport]()
        keep = reports.append if run in layered else None
        for of, processes in of_run:
            verdicts.append(check(of, processes, crashed, keep))
        verdicts += layers_of(run, reports, crashed)
    return with_strays(verdicts, found)


def several(runs: Iterable[str]) -> set[str]:
    """Return the runs that have files of several protocols, each of which names its run once."""
    return {run for run, protocols in Counter(runs).items() if protocols > 1}


def with_strays(verdicts: list[RunVerdict], found: Found) -> list[RunVerdict]:
    """Add the files that belong to no run."""
    if not found.problems:
        return verdicts
    stray = RunVerdict(
        run=NO_RUN,
        protocol="",
        verdict=INCONCLUSIVE,
        findings=[],
        problems=sorted(found.problems),
        promises=[],
        files=len({problem.path for problem in found.problems}),
        events=0,
        conforming={},
        actions={},
    )
    return [*verdicts, stray]


def check_run(
    run: str,
    protocol: str,
    processes: Processes,
    crashed: set[Address],
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> RunVerdict:
    """Check one protocol of one run: its files side by side, in the order of their clocks.

    The order is for the memory's sake: what one node sends the others receive soon, and then the
    rows of both ends are compared and dropped. `keep` takes what is compared with other layers.
    """
    problems: list[Problem] = []
    checked: list[tuple[FileReport, Columns]] = []
    streams, shared = Streams(processes), Shared()
    unopened = sorted(processes, reverse=True)
    active: list[tuple[int, int, str, Iterator[Followed]]] = []
    files: dict[str, Followed] = {}
    turns = 0
    with no_collector():
        while unopened or active:
            while unopened and len(active) < OPEN:
                who = unopened.pop()
                steps = follow_process(processes[who], problems.append, shared)
                heappush(active, (0, len(unopened), who, steps))
            _, order, who, steps = active[0]
            file = next(steps, None)
            if file is not None:
                if who not in files:
                    files[who] = file
                    streams.follow(who, file)
                heapreplace(active, (file.clock, order, who, steps))
            else:
                heappop(active)
                streams.reading.discard(who)
                if who in files:
                    file = files.pop(who)
                    checked.append((file.done(), file.columns))
                    if progress is not None:
                        progress(checked[-1][0].events, Path(checked[-1][0].path).name)
            turns += 1
            if turns % (SETTLE + len(active)) == 0:
                streams.settle()
        compared = streams.finish() | compare_all(columns for _, columns in checked)
        reports = [report for report, _ in checked]
    if keep is not None:
        for report in reports:
            keep(slim(report))
    return judge(run, protocol, reports, compared, crashed, problems)


def check_process(
    paths: Iterable[Path], report: Report, digest: Digest = hash
) -> tuple[FileReport, Columns] | None:
    """Check the file of one process, as a whole; None if it has none that can be used."""
    file: Followed | None = None
    with no_collector():
        for file in follow_process(paths, report, Shared(digest)):  # noqa: B007 - the last one
            pass
    return None if file is None else (file.done(), file.columns)


def follow_process(paths: Iterable[Path], report: Report, shared: Shared) -> Iterator[Followed]:
    """Check the file of one process, block by block; a second file of it is not used."""
    used: Path | None = None
    for path in sorted(paths, key=str):
        for file in follow_file(path, report, shared):
            if used is not None and used != path:
                second_file(file, path, used, report)
                break
            used = path
            yield file


def second_file(file: Followed, path: Path, used: Path, report: Report) -> None:
    """Report that the file is of a process that has another one, which is used."""
    (node, life), run = file.who, file.run
    reason = f"a second file for {run} {node}.{life}: {used.name} is one"
    report(Problem(str(path), 1, reason))
