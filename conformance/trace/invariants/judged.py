"""The verdicts on a protocol's own invariants over all files of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED, FileReport, Promise
from raincheck.conformance.trace.promised import Run

from .asked import NEVER, Asked, OfMembers, OfState, OfStep
from .moments import Moments, name

EVALUATED: Final = (OfState, OfStep, OfMembers)


def evaluated(binding: Binding, run: Run) -> list[Promise]:
    """Return a verdict on each invariant that the traces of this run can show.

    It holds if each of its parts was asked. Where records are missing or differ from the model,
    only what one member's own steps have broken is held against it.
    """
    merges = any(report.merges for report in run.reports.values())
    declared = binding.of_traces(real=True, merges=merges).invariants
    if declared is None or not run.reports:
        return []
    lacking = _lacking(binding, run)
    moments = Moments(run.reports, run.compared, run.crashed)
    return [
        _verdict(f"{binding.protocol}.{invariant}", invariant, parts, run, moments, lacking)
        for invariant, parts in declared.of.items()
        if any(isinstance(part, EVALUATED) for part in parts)
    ]


def _lacking(binding: Binding, run: Run) -> str:
    """Return the repairs that the traced system says it lacks."""
    repairs = {name for name, undone in binding.switches.items() if type(undone) is not int}
    given = (name for report in run.reports.values() for name in report.constants)
    return ", ".join(sorted(repairs.intersection(given)))


def _verdict(
    called: str,
    invariant: str,
    parts: tuple[Asked, ...],
    run: Run,
    moments: Moments,
    lacking: str,
) -> Promise:
    judged = {"members": 0, "states": 0, "pairs": 0}
    asked: dict[str, int] = {}
    for number, part in enumerate(parts):
        if not isinstance(part, EVALUATED):
            continue
        witness: dict[str, Any] | None = None
        assumption = lacking
        count = 0
        if isinstance(part, OfMembers):
            if not run.complete:
                continue
            result = part.judge(moments)
            count = result.facts
            judged["pairs"] += count
            witness = result.broken
            if witness is not None and part.rests_on is not None:
                assumption = assumption or part.rests_on(moments)
        else:
            for who, report, tested in _tested(run, f"{invariant} {number}"):
                judged["members"] += 1
                judged["states"] += tested.count
                count += tested.count
                if tested.broken != NEVER and witness is None:
                    witness = {"member": name(who), "event": tested.broken, "file": report.path}
        asked[part.how] = count
        if witness is not None:
            witness = {**witness, "asked": part.how}
            return Promise(
                called, VIOLATED, witness, judged=judged, assumption=assumption, parts=asked
            )
    if not run.complete:
        reason = "not every record was checked"
        return Promise(called, INCONCLUSIVE, reason=reason, judged=judged, parts=asked)
    if unasked := [how for how, count in asked.items() if not count]:
        reason = f"this run asks nothing of: {'; '.join(unasked)}"
        return Promise(called, INCONCLUSIVE, reason=reason, judged=judged, parts=asked, idle=True)
    return Promise(called, HOLDS, judged=judged, parts=asked)


def _tested(run: Run, called: str) -> Iterator[tuple[Any, FileReport, Any]]:
    for who, report in run.reports.items():
        tested = report.tested.get(called)
        if tested is not None:
            yield who, report, tested
