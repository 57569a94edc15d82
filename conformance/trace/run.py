"""Traces in folders where the traces of several protocols are mixed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from raincheck.conformance.trace.following.files import check_file
from raincheck.conformance.trace.following.reports import FileReport
from raincheck.conformance.trace.following.shared import Shared

from .batches import Problem, Report
from .channels_compared import compare_all
from .checker import RunVerdict
from .columns import Columns, Digest
from .events import Crash
from .judged import judge
from .records import Address
from .tracefile import read_blocks, read_records

SEQUENCER = "sequencer"


class Mixed(NamedTuple):
    """A folder's files: SEQUENCER's with all that is nobody's, and those of other protocols."""

    sequencer: list[Path]
    others: dict[tuple[str, str], dict[str, list[Path]]]
    """By run and protocol, and within them by process: it should have one."""
    crashed: dict[str, set[Address]]
    """Whom the harness killed, by run; the files that say so are among SEQUENCER's too."""


class _First(msgspec.Struct, tag_field="kind", tag="header"):
    run: str
    protocol: str
    node: Any = None
    incarnation: Any = None


_FIRST = msgspec.json.Decoder(_First | Crash)


def sorted_out(paths: Iterable[Path]) -> Mixed:
    """Look at each file's first record, and sort the files by it."""
    found = Mixed([], {}, {})
    faults: list[Path] = []
    for path in paths:
        record = _first(path)
        if isinstance(record, _First) and record.protocol != SEQUENCER:
            process = f"{record.node}.{record.incarnation}"
            of_run = found.others.setdefault((record.run, record.protocol), {})
            of_run.setdefault(process, []).append(path)
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
    for line, block in read_blocks(path, lambda _: None):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _FIRST.decode(block.partition(b"\n")[0]) if line == 1 else None
        return None
    return None


def _crashes(path: Path) -> Iterable[Crash]:
    for batch in read_records(path, lambda _: None, _FIRST):
        yield from (record for record in batch.records if isinstance(record, Crash))


def check_others(
    mixed: Mixed, progress: Callable[[int, str], None] | None = None
) -> list[RunVerdict]:
    """Check the files that are not SEQUENCER's, in this process."""
    verdicts = []
    for (run, protocol), processes in sorted(mixed.others.items()):
        paths = [path for each in processes.values() for path in each]
        problems: list[Problem] = []
        checked: list[tuple[FileReport, Columns]] = []
        for each in check_files(paths, problems.append):
            checked.append(each)
            if progress is not None:
                progress(each[0].events, Path(each[0].path).name)
        crashed = mixed.crashed.get(run, set())
        compared = compare_all(columns for _, columns in checked)
        reports = [report for report, _ in checked]
        verdicts.append(judge(run, protocol, reports, compared, crashed, problems))
    return verdicts


def check_files(
    paths: Iterable[Path], report: Report, digest: Digest = hash
) -> Iterator[tuple[FileReport, Columns]]:
    """Check files of one run and protocol; a second file of a process is not used."""
    found: dict[Address, str] = {}
    shared = Shared(digest)
    for path in sorted(paths, key=str):
        checked = check_file(path, report, shared)
        if checked is None:
            continue
        who = checked[0].who
        if who in found:
            reason = f"a second file for {checked[0].run} {who[0]}.{who[1]}: {found[who]} is one"
            report(Problem(str(path), 1, reason))
        else:
            found[who] = path.name
            yield checked
