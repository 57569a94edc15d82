"""Which files belong to which run: one look at each file's first record, nothing more.

Both engines start here, so that they agree on what is checked and on what is put aside.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from .batches import Problem
from .events import Address, Crash, Header
from .tracefile import read_header, read_records


class RunFiles(msgspec.Struct):
    """The files of one run, the first coordinator's first, and whom its harness killed."""

    run: str
    files: dict[Address, Path]
    crashed: set[Address]
    headers: dict[Address, Header]
    problems: list[Problem] = []
    """Files that say they are of this run and were not checked: it cannot conform then."""


class RunIndex(msgspec.Struct):
    """All runs by name, and the files that belong to none."""

    runs: dict[str, RunFiles]
    problems: list[Problem]


def index_runs(paths: Iterable[Path]) -> RunIndex:
    """Sort the files by run; what cannot be sorted becomes a problem."""
    found = RunIndex({}, [])
    crashes: list[Crash] = []
    for path in paths:
        faults = _faults(path, found.problems.append)
        if faults is not None:
            crashes += faults
            continue
        before = len(found.problems)
        header = read_header(path, found.problems.append)
        if header is None:
            if len(found.problems) == before:
                reason = "no header: the file is empty or does not begin with one"
                found.problems.append(Problem(str(path), 1, reason))
            continue
        # The reader will report the bad lines of this file again, with the rest of them.
        del found.problems[before:]
        run = found.runs.setdefault(header.run, RunFiles(header.run, {}, set(), {}))
        reason = _clash(run, header)
        if reason:
            run.problems.append(Problem(str(path), 1, reason))
        else:
            run.files[header.node, header.incarnation] = path
            run.headers[header.node, header.incarnation] = header
    for crash in crashes:
        if crash.run in found.runs:
            found.runs[crash.run].crashed.add((crash.node, crash.incarnation))
    for run in found.runs.values():
        run.files = dict(sorted(run.files.items(), key=_coordinator_first(run)))
    return found


def _coordinator_first(run: RunFiles) -> Callable[[tuple[Address, Path]], tuple[bool, Address]]:
    """Who multicasts is read first, so that its readers' rows need not be kept."""
    heads = {h.initial.members[0] for h in run.headers.values() if h.initial and h.initial.members}
    return lambda item: (item[0] not in heads, item[0])


def _clash(run: RunFiles, header: Header) -> str:
    """Why the file cannot belong to the run, if it cannot."""
    who = (header.node, header.incarnation)
    if who in run.files:
        return f"a second file for {header.run} {who[0]}.{who[1]}: {run.files[who].name} is one"
    for other in run.headers.values():
        if (other.constants, sorted(other.nodes)) != (header.constants, sorted(header.nodes)):
            return f"other constants or nodes than {run.files[other.node, other.incarnation].name}"
        break
    return ""


def _faults(path: Path, report: Callable[[Problem], None]) -> list[Crash] | None:
    """The crash records of a file of them, or None if it is not one."""
    problems: list[Problem] = []
    crashes: list[Crash] = []
    for batch in read_records(path, problems.append):
        if not crashes and not isinstance(batch.records[0], Crash):
            return None
        for number, record in enumerate(batch.records, batch.line):
            if isinstance(record, Crash):
                crashes.append(record)
            else:
                problems.append(Problem(str(path), number, "only crash records belong here"))
    if not crashes:
        return None
    for problem in problems:
        report(problem)
    return crashes
