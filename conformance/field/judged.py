"""The findings about one run: what its traces say, how it ended, and the verdict over all.

Each kind of group adds what its own records say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic

from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED, Result
from raincheck.conformance.trace.run import check_paths

from .run import AnyRecord
from .tally import add, damaged, explained, judged_sum, summed

TRACE = "Trace"
"""Each member's events follow the model, every message that arrived was sent, and no invariant of a
protocol is broken."""


@dataclass(slots=True)
class Judged(ABC, Generic[AnyRecord]):
    """A run and the findings about it."""

    protocol: ClassVar[str]
    """The protocol whose results these are."""
    record: AnyRecord
    verdicts: dict[str, str] = field(default_factory=dict)
    """The verdict on each property."""
    reasons: list[str] = field(default_factory=list)
    """The reasons for which something does not hold or is inconclusive."""
    witnesses: dict[str, Any] = field(default_factory=dict)
    """The first witness against each violated property."""
    soonest: dict[str, float] = field(default_factory=dict)
    """After how many seconds each violated property was violated, where that is recorded."""
    judged: dict[str, dict[str, int]] = field(default_factory=dict)
    """Over how many members, views and messages each property of the traces was judged."""
    events: int = 0

    @property
    @abstractmethod
    def owed(self) -> Iterable[str]:
        """Return the properties that have to hold."""

    @property
    @abstractmethod
    def counts(self) -> dict[str, object]:
        """Return the figures that only this kind of group has."""

    @property
    def failed(self) -> bool:
        """Tell whether the run should have come to its end, and did not."""
        return bool(self.record.failure)

    def outcome(self) -> tuple[str, str]:
        """Return the verdict of the run as a result, and the one that is no surprise."""
        return self.verdict, HOLDS

    @property
    def verdict(self) -> str:
        """Return the verdict over all that has to hold."""
        found = {self.verdicts.get(name, INCONCLUSIVE) for name in self.owed}
        if VIOLATED in found:
            return VIOLATED
        undecided = INCONCLUSIVE in found or bool(self.record.defects) or self.failed
        return INCONCLUSIVE if undecided else HOLDS

    def begin(self) -> None:
        """Take over what the run itself found."""
        if self.record.failure:
            self.reasons.append(f"Incomplete: {self.record.failure}")
        self.reasons += self.record.defects

    def violates(self, name: str, at: float | None, witness: Any) -> None:
        """Note that this property was violated."""
        add(self.verdicts, name, VIOLATED)
        self.witnesses.setdefault(name, witness)
        if at is not None:
            self.soonest[name] = min(at, self.soonest.get(name, at))

    def judge_traces(self, folder: Path, only_shown: Sequence[str] = ()) -> None:
        """Check the run's traces; a violation of what is only shown is no reason for a verdict."""
        files = sorted((folder / "traces").glob(f"{self.record.run}.*.jsonl"))
        for verdict in check_paths(files):
            self.events += verdict.events
            add(self.verdicts, TRACE, verdict.verdict)
            self.reasons += explained(verdict)
            for promise in verdict.promises:
                self.judged[promise.name] = promise.judged
                if promise.verdict == VIOLATED and promise.assumption:
                    add(self.verdicts, promise.name, INCONCLUSIVE)
                    lacking = f"it rests on what this run does not have: {promise.assumption}"
                    self.reasons.append(f"{promise.name} is violated; {lacking}")
                    continue
                if promise.verdict == VIOLATED:
                    self.violates(promise.name, promise.witness.get("at"), promise.witness)
                    if promise.parts:
                        add(self.verdicts, TRACE, VIOLATED)
                    if promise.name not in only_shown:
                        self.reasons.append(f"{promise.name} is violated: {promise.witness}")
                    continue
                if promise.idle:
                    continue
                add(self.verdicts, promise.name, promise.verdict)
                if promise.reason:
                    self.reasons.append(f"{promise.name}: {promise.reason}")
        if TRACE not in self.verdicts:  # there may be the harness's own records
            add(self.verdicts, TRACE, INCONCLUSIVE)
            self.reasons.append("no member has written a trace")

    def result(self, again: str) -> Result:
        """Return the run as one result; `again` is the command that repeats it."""
        record = self.record
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(record.faults().items()))
        figures: dict[str, object] = {
            "seed": record.seed,
            "events": self.events,
            **self.counts,
            "faults": kinds or "none",
            "damaged": damaged(record.lives),
            "seconds": round(record.seconds, 1),
            "properties": dict(self.verdicts),
            "judged": dict(self.judged),
            "plan": record.plan,
        }
        if record.unsent is not None:
            figures["unsent"] = record.unsent
        reasons = list(self.reasons)
        verdict, expected = self.outcome()
        if verdict != expected:
            reasons.append(f"Again: {again}")
        return Result(record.run, self.protocol, verdict, expected, figures, "\n".join(reasons))


def over_all(runs: Sequence[Judged[Any]], name: str) -> tuple[str, dict[str, object]] | None:
    """Return the worst verdict on a property and its figures, None if no run has one."""
    found = summed((judged.verdicts for judged in runs), name)
    if found is not None and any(name in judged.judged for judged in runs):
        found[1]["judged"] = judged_sum(judged.judged.get(name, {}) for judged in runs)
    return found
