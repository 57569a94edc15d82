"""The trace checker, local engine: the oracle that every other engine agrees with.

A trace is a behaviour of the specification if (a) each node's events are a run of its local
handlers (`localrun.py`) and (b) the network relation holds between them (`network.py`); the
argument is in docs/trace-checking.md, and `direct.py` is the check that does not rely on it.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from .events import Address, MessageId
from .findings import HOLDS, INCONCLUSIVE, VIOLATED, Finding, Promise, Summary
from .localrun import check_file
from .network import (
    channel_finding,
    check_admissions,
    check_drained,
    check_members,
    check_views,
    compare_channel,
    table,
)
from .promises import evaluate, weakened
from .rows import Rows
from .runfiles import RunFiles, RunIndex, index_runs
from .tracefile import Problem, trace_files

Progress = Callable[[int, str], None]


class RunVerdict(msgspec.Struct, kw_only=True):
    """What was found out about one run."""

    run: str
    protocol: str
    verdict: str
    findings: list[Finding]
    problems: list[Problem]
    promises: list[Promise]
    files: int
    events: int
    conforming: dict[str, int]
    """Per node.incarnation the longest conforming prefix."""
    actions: dict[str, int]

    @property
    def first(self) -> Finding | None:
        """The first bad event, by clock; or what made it inconclusive."""
        return self.findings[0] if self.findings else None


def check_paths(paths: Iterable[Path], progress: Progress | None = None) -> list[RunVerdict]:
    """Check every run that has files among the paths, in this process."""
    found = index_runs(trace_files(paths))
    verdicts = []
    for _, files in sorted(found.runs.items()):
        verdicts.append(check_run(files, progress))
    return with_strays(verdicts, found)


def check_run(files: RunFiles, progress: Progress | None = None) -> RunVerdict:
    """Check one run, file after file; rows are dropped as soon as both ends are compared."""
    problems: list[Problem] = []
    summaries: dict[Address, Summary] = {}
    deliveries: dict[Address, Any] = {}
    network = Channels(set(files.files))
    for who, path in files.files.items():
        checked = check_file(path, problems.append)
        if checked is None:
            network.expected.discard(who)
            continue
        summary, rows = checked
        summaries[who] = summary
        deliveries[who] = rows.delivered
        network.add(who, rows)
        if progress is not None:
            progress(summary.events, path.name)
    promises = evaluate(summaries, deliveries)
    return judge(files, summaries, network.finish(summaries), promises, problems)


class Channels:
    """Compares the two ends of each channel as soon as both are known."""

    def __init__(self, expected: set[Address]) -> None:
        self.expected = expected
        self.known: set[Address] = set()
        self.sent: dict[MessageId, array[int]] = {}
        self.waiting: list[tuple[Address, MessageId, array[int]]] = []
        self.bad: list[tuple[Address, MessageId, Any]] = []

    def add(self, who: Address, rows: Rows) -> None:
        """Take one file's rows and compare what can be compared."""
        self.known.add(who)
        self.sent.update(rows.sent)
        self.waiting += [(who, channel, packed) for channel, packed in rows.received.items()]
        self._compare(lambda sender: sender in self.known)

    def finish(self, summaries: Mapping[Address, Summary]) -> list[Finding]:
        """Compare the rest, and say what does not fit."""
        self._compare(lambda _sender: True)
        found = (channel_finding(summaries, who, name, bad) for who, name, bad in self.bad)
        return [finding for finding in found if finding is not None]

    def _compare(self, ready: Callable[[Address], bool]) -> None:
        later = []
        for who, channel, received in self.waiting:
            if not ready((str(channel[1]), int(channel[2]))):
                later.append((who, channel, received))
                continue
            sent = self.sent.get(channel, array("q"))
            bad = compare_channel(table(sent), table(received))
            if bad is not None:
                self.bad.append((who, channel, bad))
            if channel[0] == "FORWARD":
                self.sent.pop(channel, None)
        self.waiting = later


def judge(
    files: RunFiles,
    summaries: Mapping[Address, Summary],
    channels: list[Finding],
    promises: list[Promise],
    problems: list[Problem],
) -> RunVerdict:
    """Put together what the parts found; both engines end here."""
    problems = [*files.problems, *problems]
    findings = [finding for summary in summaries.values() for finding in summary.findings]
    findings += channels
    if summaries:
        views = check_views(summaries)
        findings += views.findings
        findings += check_members(summaries, views, files.crashed)
        findings += check_admissions(summaries)
        findings += check_drained(summaries)
    # Through JSON and back, so that a finding does not show which engine it came through.
    findings = msgspec.json.decode(msgspec.json.encode(findings), type=list[Finding])
    findings.sort(key=Finding.place)
    verdict = HOLDS
    if any(finding.verdict == VIOLATED for finding in findings):
        verdict = VIOLATED
    elif findings or problems or not any(summary.events for summary in summaries.values()):
        verdict = INCONCLUSIVE
    actions: dict[str, int] = {}
    for summary in summaries.values():
        for action, count in summary.actions.items():
            actions[action] = actions.get(action, 0) + count
    return RunVerdict(
        run=files.run,
        protocol="sequencer",
        verdict=verdict,
        findings=findings,
        problems=sorted(problems),
        promises=promises if verdict == HOLDS else weakened(promises),
        files=len(files.files),
        events=sum(summary.events for summary in summaries.values()),
        conforming={f"{n}.{i}": s.conforming for (n, i), s in sorted(summaries.items())},
        actions=dict(sorted(actions.items())),
    )


def with_strays(verdicts: list[RunVerdict], found: RunIndex) -> list[RunVerdict]:
    """Add the files that belong to no run: nobody may take them for checked."""
    if not found.problems:
        return verdicts
    stray = RunVerdict(
        run="(no run)",
        protocol="sequencer",
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
