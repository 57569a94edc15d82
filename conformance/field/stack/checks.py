"""The findings in the traces and delivery logs of a cluster's run.

The traces are checked against the specification and its properties. The applications' logs are
judged on their own, by the properties of any system with total order over virtually synchronous
views.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raincheck.conformance.deliveries.logs import read_rows
from raincheck.conformance.deliveries.properties_local import check_deliveries
from raincheck.conformance.field.tally import add, counted, damaged, explained, judged_sum, summed
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED, Result
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.run import check_paths

from .members import Member
from .record import Record

UNIFORM = ("UniformTotalOrder", "UniformAgreement")
"""Properties that cover crashed members too. They need delivery that waits for stability, which
nobody promises: they are shown, and fail no run.
"""
FIRM = (
    "Trace",
    "TotalOrder",
    "Agreement",
    "VirtualSynchrony",
    "Integrity",
    "Fifo",
    "InView",
    "GapFree",
    "Validity",
    "Logs",
    "SameCut",
)
"""The properties that must hold. Trace: each member's events and the network relation. Logs: the
findings in the delivery logs alone. SameCut: every member that was given the state ended with that
of all others.
"""
NEEDS_TRACES = frozenset(
    {"Trace", "TotalOrder", "Agreement", "VirtualSynchrony", "Integrity", "Fifo", "InView", "Logs"}
)
"""Judged only if traces and logs are checked."""
NEEDS_TWO = "SameCut"
"""Judged only if two members came to the end."""
NOT_PROMISED = "not promised"


@dataclass(slots=True)
class Judged:
    """A run and the findings about it."""

    record: Record
    checked: bool = True
    """Whether its traces are checked against the model."""
    verdicts: dict[str, str] = field(default_factory=dict)
    """The verdict on each property."""
    judged: dict[str, dict[str, int]] = field(default_factory=dict)
    """Over how many members, views and messages each property was judged."""
    reasons: list[str] = field(default_factory=list)
    """Why something does not hold or is inconclusive."""
    witnesses: dict[str, Any] = field(default_factory=dict)
    """The witnesses against properties that are only shown."""
    events: int = 0
    messages: int = 0
    """The number of deliveries."""
    views: int = 0

    @property
    def verdict(self) -> str:
        """Return the verdict over all that has to hold."""
        owed = [name for name in FIRM if name != NEEDS_TWO or name in self.verdicts]
        if not self.checked:
            owed = [name for name in owed if name not in NEEDS_TRACES or name in self.verdicts]
        found = {self.verdicts.get(name, INCONCLUSIVE) for name in owed}
        if VIOLATED in found:
            return VIOLATED
        undecided = INCONCLUSIVE in found or self.record.failure or self.record.defects
        return INCONCLUSIVE if undecided else HOLDS

    def result(self, again: str) -> Result:
        """Return the run as one result."""
        record = self.record
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(record.faults().items()))
        figures: dict[str, object] = {
            "seed": record.seed,
            "events": self.events,
            "messages": self.messages,
            "views": self.views,
            "lives": len(record.lives),
            "transfers": sum(member.transfers for member in record.lives),
            "faults": kinds or "none",
            "damaged": damaged(record.lives),
            "seconds": round(record.seconds, 1),
            "properties": dict(self.verdicts),
            "judged": dict(self.judged),
            "plan": record.plan,
        }
        reasons = [*self.reasons]
        if self.verdict != HOLDS:
            reasons.append(f"Again: {again}")
        return Result(record.run, "sequencer", self.verdict, HOLDS, figures, "\n".join(reasons))


def judge(record: Record, folder: Path, check: bool = True) -> Judged:
    """Check one run's traces and logs."""
    judged = Judged(record, check)
    if record.failure:
        judged.reasons.append(f"Incomplete: {record.failure}")
    judged.reasons += record.defects
    judged.views = max((member.view for member in record.lives), default=0)
    if any(member.wrong for member in record.lives):
        judged.verdicts["Integrity"] = VIOLATED
    _judge_logs(judged, folder)
    _judge_states(judged)
    if check:
        _judge_traces(judged, folder)
        _judge_by_logs_alone(judged, folder)
    return judged


def _judge_states(judged: Judged) -> None:
    """Judge whether the survivors' applications have the same state, given to them or not."""
    states = {m.address: m.state for m in judged.record.survivors if m.state}
    if len(set(states.values())) > 1:
        add(judged.verdicts, "SameCut", VIOLATED)
        told = ", ".join(f"{who} {count} {total:08x}" for who, (count, total) in states.items())
        judged.reasons.append(f"SameCut is violated: messages and their checksum: {told}")
    elif len(states) > 1:
        add(judged.verdicts, "SameCut", HOLDS)


def _judge_by_logs_alone(judged: Judged, folder: Path) -> None:
    """Judge the logs as a black box: order, agreement, views, nothing twice, nothing made up."""
    logs = sorted((folder / "deliveries").glob(f"{judged.record.run}.*.jsonl"))
    if not logs:
        add(judged.verdicts, "Logs", INCONCLUSIVE)
        return
    for promise in check_deliveries(logs).properties:
        add(judged.verdicts, "Logs", promise.verdict)
        if promise.verdict != HOLDS:
            why = promise.reason or promise.witness
            judged.reasons.append(f"the delivery logs: {promise.name} {promise.verdict}: {why}")


def _judge_traces(judged: Judged, folder: Path) -> None:
    files = sorted((folder / "traces").glob(f"{judged.record.run}.*.jsonl"))
    if not files:
        judged.verdicts["Trace"] = INCONCLUSIVE
        judged.reasons.append("no member has written a trace")
        return
    for verdict in check_paths(files):
        judged.events += verdict.events
        add(judged.verdicts, "Trace", verdict.verdict)
        judged.reasons += explained(verdict)
        for promise in verdict.promises:
            add(judged.verdicts, promise.name, promise.verdict)
            judged.judged[promise.name] = promise.judged
            if promise.verdict == INCONCLUSIVE:
                judged.reasons.append(f"{promise.name}: {promise.reason}")
            if promise.verdict == VIOLATED:
                judged.witnesses[promise.name] = promise.witness
                if promise.name not in UNIFORM:
                    judged.reasons.append(f"{promise.name} is violated: {promise.witness}")
    if "Trace" not in judged.verdicts:  # only the harness's own records exist
        judged.verdicts["Trace"] = INCONCLUSIVE
        judged.reasons.append("no member has written a trace")


@dataclass(slots=True)
class _Heard:
    """The deliveries of one member from one sender."""

    first: int
    last: int


def _judge_logs(judged: Judged, folder: Path) -> None:
    """Judge the applications' deliveries: no gaps, and all messages of survivors."""
    record, problems = judged.record, list[Problem]()
    heard: dict[str, dict[str, _Heard]] = {}
    gaps: list[str] = []
    for member in record.lives:
        path = folder / "deliveries" / f"{record.run}.{member.address}.jsonl"
        mine = heard[member.address] = {}
        if not path.is_file():
            continue
        for row in read_rows(path, problems.append):
            if row.event != "deliver":
                continue
            judged.messages += 1
            number, known = int(row.message), mine.get(row.sender)
            if known is None:
                mine[row.sender] = _Heard(number, number)
            elif number == known.last + 1:
                known.last = number
            else:
                gaps.append(f"{member.address} delivered {row.sender} {number} after {known.last}")
                known.last = number
    add(judged.verdicts, "GapFree", VIOLATED if gaps else HOLDS)
    judged.reasons += [f"GapFree is violated: {gap}" for gap in gaps[:1]]
    # A log may lack its end if the member was killed before it had written a line.
    kept = {member.address for member in record.lives if member.ending != "crash"}
    bad = [p for p in problems if any(f".{who}.jsonl" in p.path for who in kept)]
    if bad or not judged.messages:
        add(judged.verdicts, "GapFree", INCONCLUSIVE)
        judged.reasons.append(bad[0].reason if bad else "nothing was delivered")
    lost = list(_lost(record.survivors, heard))
    undecided = bool(record.failure) or not record.survivors
    add(judged.verdicts, "Validity", VIOLATED if lost else INCONCLUSIVE if undecided else HOLDS)
    judged.reasons += [f"Validity is violated: {sentence}" for sentence in lost[:1]]


def _lost(survivors: list[Member], heard: dict[str, dict[str, _Heard]]) -> Iterable[str]:
    """Return messages of survivors that a survivor should have delivered and has not."""
    for sender in survivors:
        if not sender.sent:
            continue
        for member in survivors:
            found = heard[member.address].get(sender.address)
            if found is None or found.last < sender.sent:
                last = found.last if found else 0
                yield (
                    f"{member.address} has {sender.address}'s messages up to {last} "
                    f"of {sender.sent}"
                )
            elif found.first > 1 and member.joined_in <= sender.joined_in:
                yield f"{member.address} lacks {sender.address}'s messages before {found.first}"


def results(runs: list[Judged], again: dict[int, str]) -> tuple[Result, ...]:
    """Return one result for each run, and one for each property over all runs."""
    found = [judged.result(again[judged.record.seed]) for judged in runs]
    every = [judged.verdicts for judged in runs]
    for name in FIRM:
        if (over_all := summed(every, name)) is not None:
            verdict, figures = over_all
            if any(name in judged.judged for judged in runs):
                figures["judged"] = judged_sum(judged.judged.get(name, {}) for judged in runs)
            found.append(Result(name, "sequencer", verdict, HOLDS, figures))
    for name in UNIFORM:
        counts = counted(every, name)
        if not counts:
            continue
        seeds = [judged.record.seed for judged in runs if judged.verdicts.get(name) == VIOLATED]
        figures = {
            "seen_kept": counts.get(HOLDS, 0),
            "seen_violated": counts.get(VIOLATED, 0),
            "undecided": counts.get(INCONCLUSIVE, 0),
            "judged": judged_sum(judged.judged.get(name, {}) for judged in runs),
            "seeds_violated": seeds,
            "witness": next((j.witnesses[name] for j in runs if name in j.witnesses), None),
        }
        found.append(Result(name, "sequencer", NOT_PROMISED, NOT_PROMISED, figures))
    return tuple(found)
