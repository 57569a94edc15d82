"""The findings in the traces and writes of a ring's runs, as implemented or as written.

As implemented, everything has to hold. As written, nobody promises it: violations are then the
flaws of the protocol, counted, with how soon they came; only the traces must be those of the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from raincheck.conformance.field.judged import TRACE, Judged, over_all
from raincheck.conformance.field.tally import add
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED, Result
from raincheck.conformance.trace.ring.promises import NAMES

from .fence import judged as judged_writes
from .record import PROTOCOL, RingRecord

FENCED = "Fenced"
"""The resource accepted no smaller fence after a greater one, and refused no other write."""
AGREEMENT = "Agreement"
"""After the last fault all running members agree on one list, their own."""
DELIVERED = "Delivered"
"""In the end the last message of every member has come to all."""
ONE_FOUNDING = "OneFounding"
"""All lives of a run were in one ring, founded once (RING_START)."""
PROMISED = (*NAMES, FENCED, AGREEMENT, DELIVERED, ONE_FOUNDING)
AS_WRITTEN = "the protocol as written"
NOT_JUDGED = "not judged"
"""As written: no run could have broken that promise."""


@dataclass(slots=True)
class RingJudged(Judged[RingRecord]):
    """A run of a ring and the findings about it."""

    protocol = PROTOCOL
    as_written: bool = False

    @property
    def owed(self) -> tuple[str, ...]:
        """Return the properties that have to hold: as written, only the trace's."""
        return (TRACE,) if self.as_written else (TRACE, *PROMISED)

    @property
    def failed(self) -> bool:
        """Tell whether the run should have come to its end, and did not."""
        return bool(self.record.failure) and not self.as_written

    @property
    def violated(self) -> list[str]:
        """Return the broken promises."""
        return [name for name in PROMISED if self.verdicts.get(name) == VIOLATED]

    def outcome(self) -> tuple[str, str]:
        """Return the verdict of the run and the expected one: as written, a promise is broken."""
        if self.as_written and self.verdict == HOLDS and self.violated:
            return VIOLATED, VIOLATED
        return self.verdict, HOLDS

    @property
    def counts(self) -> dict[str, object]:
        """Return the figures that only a ring has."""
        lives, writes = self.record.lives, self.record.writes
        counts: dict[str, object] = {
            "lives": len(lives),
            "locks": sum(member.locks for member in lives),
            "writes": len(writes),
            "refused": sum(not write.accepted for write in writes),
            "lost": sum(member.lost for member in lives),
            "named": sum(member.named for member in lives),
            "named_lost": sum(member.named_lost for member in lives),
            "messages": sum(member.delivered for member in lives),
        }
        if self.as_written:
            counts["holes"] = ", ".join(self.violated) or "none"
        return counts


def judge_ring(
    record: RingRecord, folder: Path, *, as_written: bool = False, check: bool = True
) -> RingJudged:
    """Check one run's traces and writes, and how far it came."""
    judged = RingJudged(record, as_written=as_written)
    judged.begin()
    _judge_end(judged)
    _judge_writes(judged)
    _judge_founding(judged)
    if check:
        judged.judge_traces(folder)
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


def _judge_founding(judged: RingJudged) -> None:
    """Judge which rings the lives were in: after a restart of all, still the first one."""
    rings: dict[str, str] = {}
    for life in judged.record.lives:
        if life.identity:
            rings.setdefault(life.identity, life.address)
    add(judged.verdicts, ONE_FOUNDING, HOLDS if rings else INCONCLUSIVE)
    if len(rings) > 1:
        judged.violates(ONE_FOUNDING, None, {"rings": rings})
        judged.reasons.append(f"{ONE_FOUNDING} is violated: {rings}")


def ring_results(runs: list[RingJudged], again: dict[int, str]) -> tuple[Result, ...]:
    """Return one result for each run, and one for each property over all runs."""
    found = [judged.result(again[judged.record.seed]) for judged in runs]
    as_written = any(judged.as_written for judged in runs)
    for name in (TRACE, *PROMISED):
        worst = over_all(runs, name)
        if worst is None:
            continue
        verdict, figures = worst
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
