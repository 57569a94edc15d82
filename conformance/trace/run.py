"""Traces in folders where the traces of several protocols are mixed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from .batches import Problem
from .channels_compared import judge
from .checker import RunVerdict
from .events import Crash
from .follower import Address, FileReport, check_file
from .tracefile import read_records

SEQUENCER = "sequencer"


class Mixed(NamedTuple):
    """A folder's files: SEQUENCER's with all that is nobody's, and those of other protocols."""

    sequencer: list[Path]
    others: dict[tuple[str, str], list[Path]]
    """By run and protocol."""
    crashed: dict[str, set[Address]]
    """Whom the harness killed, by run; the files that say so are among SEQUENCER's too."""


class _First(msgspec.Struct, tag_field="kind", tag="header"):
    run: str
    protocol: str


_FIRST = msgspec.json.Decoder(_First | Crash)


def sorted_out(paths: Iterable[Path]) -> Mixed:
    """Look at each file's first record, and sort the files by it."""
    found = Mixed([], {}, {})
    faults: list[Path] = []
    for path in paths:
        record = _first(path)
        if isinstance(record, _First) and record.protocol != SEQUENCER:
            found.others.setdefault((record.run, record.protocol), []).append(path)
            continue
        if isinstance(record, Crash):
            faults.append(path)
            for crash in _crashes(path):
                found.crashed.setdefault(crash.run, set()).add((crash.node, crash.incarnation))
            continue
        found.sequencer.append(path)
    if found.sequencer or not found.others:
        found.sequencer.extend(faults)
    return found


def _first(path: Path) -> _First | Crash | None:
    for batch in read_records(path, lambda _: None, _FIRST):
        return batch.records[0] if batch.line == 1 else None  # type: ignore[return-value]
    return None


def _crashes(path: Path) -> Iterable[Crash]:
    for batch in read_records(path, lambda _: None, _FIRST):
        yield from (record for record in batch.records if isinstance(record, Crash))


def check_others(
    mixed: Mixed, progress: Callable[[int, str], None] | None = None
) -> list[RunVerdict]:
    """Check the files that are not SEQUENCER's, in this process."""
    verdicts = []
    for (run, protocol), paths in sorted(mixed.others.items()):
        reports: list[FileReport] = []
        problems: list[Problem] = []
        for path in paths:
            report = check_file(path, problems.append)
            if report is not None:
                reports.append(report)
                if progress is not None:
                    progress(report.events, path.name)
        verdicts.append(together(run, protocol, reports, mixed.crashed.get(run, ()), problems))
    return verdicts


def together(
    run: str,
    protocol: str,
    reports: Iterable[FileReport],
    crashed: Iterable[Address],
    problems: Iterable[Problem],
) -> RunVerdict:
    """Judge the files of one run and protocol; a second file of a process is not used."""
    found: dict[Address, FileReport] = {}
    problems = list(problems)
    for report in sorted(reports, key=lambda each: each.path):
        if report.who in found:
            first = Path(found[report.who].path).name
            reason = f"a second file for {run} {report.node}.{report.incarnation}: {first} is one"
            problems.append(Problem(report.path, 1, reason))
        else:
            found[report.who] = report
    return judge(run, protocol, found.values(), set(crashed), problems)
