"""The findings in the traces and writes of a ring's runs, as implemented or as written.

As implemented, everything has to hold. As written, nobody promises it: violations are then the
flaws of the protocol, counted, with how soon they came; only the traces must be those of the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from raincheck.conformance.field.tally import add, damaged, explained, judged_sum, summed
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED, Result
from raincheck.conformance.trace.ring.promises import NAMES
from raincheck.conformance.trace.run import check_paths

from .fence import judged as judged_writes
from .record import PROTOCOL, RingRecord

TRACE = "Trace"
"""Each member's events follow the model, and every message that arrived was sent."""
FENCED = "Fenced"
"""The resource accepted no smaller fence after a greater one, and refused no other write."""
AGREEMENT = "Agreement"
"""After the last fault all running members agree on one list, their own."""
DELIVERED = "Delivered"
"""In the end the last message of every member has come to all."""
PROMISED = (*NAMES, FENCED, AGREEMENT, DELIVERED)
AS_WRITTEN = "the protocol as written"
NOT_JUDGED = "not judged"
"""As written: no run could have broken that promise."""


@dataclass(slots=True)
class RingJudged:
    """A run and the findings about it."""

    record: RingRecord
    as_written: bool = False
    verdicts: dict[str, str] = field(default_factory=dict)
    """The verdict on each property."""
    reasons: list[str] = field(default_factory=list)
    """Why something does not hold or is inconclusive."""
    soonest: dict[str, float] = field(default_factory=dict)
    """After how many seconds each violated property was violated."""
    witnesses: dict[str, Any] = field(default_factory=dict)
    judged: dict[str, dict[str, int]] = field(default_factory=dict)
    """Over how many members, views and messages each promise of the traces was judged."""
    events: int = 0

    @property
    def verdict(self) -> str:
        """Return the verdict over all that has to hold."""
        owed = (TRACE,) if self.as_written else (TRACE, *PROMISED)
        found = {self.verdicts.get(name, INCONCLUSIVE) for name in owed}
        if VIOLATED in found:
            return VIOLATED
        failed = bool(self.record.failure) and not self.as_written
        undecided = INCONCLUSIVE in found or bool(self.record.defects) or failed
        return INCONCLUSIVE if undecided else HOLDS

    @property
    def violated(self) -> list[str]:
        """Return the broken promises."""
        return [name for name in PROMISED if self.verdicts.get(name) == VIOLATED]

    def violates(self, name: str, at: float | None, witness: Any) -> None:
        """Note that this promise was broken."""
        add(self.verdicts, name, VIOLATED)
        self.witnesses.setdefault(name, witness)
        if at is not None:
            self.soonest[name] = min(at, self.soonest.get(name, at))

    def result(self, again: str) -> Result:
        """Return the run as one result."""
        record = self.record
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(record.faults().items()))
        refused = sum(not write.accepted for write in record.writes)
        figures: dict[str, object] = {
            "seed": record.seed,
            "events": self.events,
            "lives": len(record.lives),
            "locks": sum(member.locks for member in record.lives),
            "writes": len(record.writes),
            "refused": refused,
            "lost": sum(member.lost for member in record.lives),
            "messages": sum(member.delivered for member in record.lives),
            "faults": kinds or "none",
            "damaged": damaged(record.lives),
            "seconds": round(record.seconds, 1),
            "properties": dict(self.verdicts),
            "judged": dict(self.judged),
            "plan": record.plan,
        }
        reasons = list(self.reasons)
        verdict, expected = self.verdict, HOLDS
        if self.as_written:
            figures["holes"] = ", ".join(self.violated) or "none"
            if verdict == HOLDS and self.violated:
                verdict = expected = VIOLATED
        if verdict != expected:
            reasons.append(f"Again: {again}")
        return Result(record.run, PROTOCOL, verdict, expected, figures, "\n".join(reasons))


def judge_ring(
    record: RingRecord, folder: Path, *, as_written: bool = False, check: bool = True
) -> RingJudged:
    """Check one run's traces and writes, and how far it came."""
    judged = RingJudged(record, as_written)
    if record.failure:
        judged.reasons.append(f"Incomplete: {record.failure}")
    judged.reasons += record.defects
    _judge_end(judged)
    _judge_writes(judged)
    if check:
        _judge_traces(judged, folder)
    return judged


def _judge_end(judged: RingJudged) -> None:
    """Judge whether the run came to its end.

    Liveness can only be waited for, so waiting too long is inconclusive. The exception is a
    property that nobody promises, where it is the finding.
    """
    record = judged.record
    for name, reached in ((AGREEMENT, record.agreed), (DELIVERED, record.heard)):
        if reached:
            add(judged.verdicts, name, HOLDS)
        elif judged.as_written and (name == AGREEMENT or record.agreed):
            judged.violates(name, record.seconds, record.failure)
        else:
            add(judged.verdicts, name, INCONCLUSIVE)


def _judge_writes(judged: RingJudged) -> None:
    """Judge the requests to the resource, and its answers."""
    writes = judged.record.writes
    add(judged.verdicts, FENCED, HOLDS if writes else INCONCLUSIVE)
    if not writes:
        judged.reasons.append("nobody has used the resource")
    for found in judged_writes(writes):
        judged.violates(found.promise, found.at, found.facts)
        judged.reasons.append(f"the resource: {found.promise} is violated: {found.facts}")


def _judge_traces(judged: RingJudged, folder: Path) -> None:
    files = sorted((folder / "traces").glob(f"{judged.record.run}.*.jsonl"))
    verdicts = check_paths(files) if files else []
    if not verdicts:
        add(judged.verdicts, TRACE, INCONCLUSIVE)
        judged.reasons.append("no member has written a trace")
    for verdict in verdicts:
        judged.events += verdict.events
        add(judged.verdicts, TRACE, verdict.verdict)
        judged.reasons += explained(verdict)
        for promise in verdict.promises:
            judged.judged[promise.name] = promise.judged
            if promise.verdict == VIOLATED:
                judged.violates(promise.name, promise.witness.get("at"), promise.witness)
                judged.reasons.append(f"{promise.name} is violated: {promise.witness}")
                continue
            add(judged.verdicts, promise.name, promise.verdict)
            if promise.reason:
                judged.reasons.append(f"{promise.name}: {promise.reason}")


def ring_results(runs: list[RingJudged], again: dict[int, str]) -> tuple[Result, ...]:
    """Return one result for each run, and one for each property over all runs."""
    found = [judged.result(again[judged.record.seed]) for judged in runs]
    as_written = any(judged.as_written for judged in runs)
    for name in (TRACE, *PROMISED):
        over_all = summed((judged.verdicts for judged in runs), name)
        if over_all is None:
            continue
        verdict, figures = over_all
        if any(name in judged.judged for judged in runs):
            figures["judged"] = judged_sum(judged.judged.get(name, {}) for judged in runs)
        figures |= _how_soon(runs, name)
        if as_written and name != TRACE:
            if verdict == INCONCLUSIVE:
                kept = any(judged.verdicts.get(name) == HOLDS for judged in runs)
                verdict = HOLDS if kept else NOT_JUDGED
            found.append(Result(name, PROTOCOL, verdict, verdict, figures))
        else:
            found.append(Result(name, PROTOCOL, verdict, HOLDS, figures))
    if as_written:
        found.append(_holes(runs))
    return tuple(found)


def _how_soon(runs: list[RingJudged], name: str) -> dict[str, object]:
    """Return the run in which a promise was broken first, and after how many seconds."""
    broken = [judged for judged in runs if judged.verdicts.get(name) == VIOLATED]
    if not broken:
        return {}
    number = next(at for at, judged in enumerate(runs, 1) if judged is broken[0])
    times = [judged.soonest[name] for judged in broken if name in judged.soonest]
    figures: dict[str, object] = {"first_run": number}
    if times:
        figures |= {"soonest": round(min(times), 3), "median": round(median(times), 3)}
    return figures | {"witness": broken[0].witnesses.get(name)}


def _holes(runs: list[RingJudged]) -> Result:
    """Return the result that a campaign as written is for: the protocol breaks its promises."""
    holes = [name for name in PROMISED if any(name in judged.violated for judged in runs)]
    figures: dict[str, object] = {
        "runs": len(runs),
        "broken_runs": sum(bool(judged.violated) for judged in runs),
        "holes": ", ".join(holes) or "none",
    }
    return Result(AS_WRITTEN, PROTOCOL, VIOLATED if holes else HOLDS, VIOLATED, figures)
