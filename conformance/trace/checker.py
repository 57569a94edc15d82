"""The trace checker, local engine: the oracle that every other engine agrees with.

A trace is a behaviour of the specification if (a) each node's events are a run of its local
handlers (`localrun.py`) and (b) the network relation holds between them (`network.py`); the
argument is in docs/trace-checking.md, and `direct.py` is the check that does not rely on it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heappop, heappush, heapreplace
from pathlib import Path
from typing import Any

import msgspec

from .batches import Problem
from .channels import Channels
from .collector import no_collector
from .cuts import check_cuts
from .events import Address
from .findings import HOLDS, INCONCLUSIVE, VIOLATED, Finding, Promise, Summary
from .localrun import LocalRun, follow_file
from .network import check_admissions, check_drained, check_members, check_views
from .promises import evaluate
from .runfiles import RunFiles, RunIndex, index_runs
from .tracefile import trace_files

OPEN = 200
"""Files that are read side by side; a process may not hold many more open."""
SETTLE = 64
"""After how many batches of lines, and one more per file, the channels' ends are compared."""
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
    synchronous: bool = True
    """Whether the system that wrote the traces claims virtually synchronous views."""

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
    """Check one run: its files side by side, in the order of their clocks.

    The order is for the memory's sake: what one node sends the others receive soon, and then the
    rows of both ends are compared and dropped.
    """
    problems: list[Problem] = []
    summaries: dict[Address, Summary] = {}
    deliveries: dict[Address, Any] = {}
    network = Channels(files.files)
    unopened = list(reversed(files.files.items()))
    active: list[tuple[int, int, Address, Iterator[LocalRun]]] = []
    runs: dict[Address, LocalRun] = {}
    turns = 0
    with no_collector():
        while unopened or active:
            while unopened and len(active) < OPEN:
                who, path = unopened.pop()
                heappush(active, (0, len(unopened), who, follow_file(path, problems.append)))
            _, order, who, steps = active[0]
            run = next(steps, None)
            if run is not None:
                if who not in runs:
                    runs[who] = run
                    network.follow(who, run)
                heapreplace(active, (run.clock, order, who, steps))
            else:
                heappop(active)
                network.reading.discard(who)
                if who in runs:
                    run = runs.pop(who)
                    summaries[who] = run.finish()
                    deliveries[who] = run.rows.delivered
                    if progress is not None:
                        progress(run.summary.events, files.files[who].name)
            turns += 1
            if turns % (SETTLE + len(active)) == 0:
                network.settle()
        channels = network.finish(summaries)
        summaries = {who: summaries[who] for who in files.files if who in summaries}
        promises = evaluate(summaries, deliveries)
    return judge(files, summaries, channels, promises, problems)


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
        findings += check_cuts(summaries)
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
        promises=[_as_far_as_checked(promise, verdict) for promise in promises],
        files=len(files.files),
        events=sum(summary.events for summary in summaries.values()),
        conforming={f"{n}.{i}": s.conforming for (n, i), s in sorted(summaries.items())},
        actions=dict(sorted(actions.items())),
        synchronous=all(summary.synchronous for summary in summaries.values()),
    )


def _as_far_as_checked(promise: Promise, verdict: str) -> Promise:
    """Without all records there and in order nothing holds: what is missing might violate it."""
    if verdict != HOLDS and promise.verdict == HOLDS:
        reason = "not every record was checked"
        return msgspec.structs.replace(promise, verdict=INCONCLUSIVE, reason=reason)
    return promise


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
