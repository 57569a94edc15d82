"""The findings in the traces and delivery logs of a cluster's run.

The traces are checked against the specification and its properties. The applications' logs are
judged on their own, by the properties of any system with total order over virtually synchronous
views.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from raincheck.conformance.deliveries.logs import read_rows
from raincheck.conformance.deliveries.properties_local import check_deliveries
from raincheck.conformance.deliveries.states import State
from raincheck.conformance.field.judged import TRACE, Judged, over_all
from raincheck.conformance.field.tally import add, counted, judged_sum
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED, Result
from raincheck.conformance.trace.batches import Problem

from .given import given_by, states_in
from .members import Member
from .record import Record
from .unordered import FOLDER, judge_unordered

UNIFORM = ("UniformTotalOrder", "UniformAgreement")
"""Properties that cover crashed members too. They need safe delivery: without it they are shown,
and fail no run.
"""
SAFE = "safe delivery"
"""The word before the results of runs that have it."""
OF_LOGS: Mapping[str, str] = {
    "total_order": "TotalOrder",
    "agreement": "Agreement",
    "virtual_synchrony": "VirtualSynchrony",
    "no_duplication": "Integrity",
    "no_creation": "Integrity",
    "sender_fifo": "Fifo",
    "uniform_total_order": "UniformTotalOrder",
    "uniform_agreement": "UniformAgreement",
}
"""Where SEQUENCER is not traced the delivery logs answer for what its traces do otherwise. With
safe delivery they answer for the uniform promises beside its traces.
"""
FIRM = (
    TRACE,
    "TotalOrder",
    "Agreement",
    "VirtualSynchrony",
    "Integrity",
    "Fifo",
    "InView",
    "GapFree",
    "Validity",
    "Logs",
    "Unordered",
    "SameCut",
)
"""The properties that must hold. Trace: each member's events and the network relation. Logs: the
findings in the delivery logs alone. Unordered: those in the logs of unordered messages. SameCut:
every member that was given the state ended with that of all others.
"""
NEEDS_TRACES = frozenset(
    {TRACE, "TotalOrder", "Agreement", "VirtualSynchrony", "Integrity", "Fifo", "InView"}
    | {"Logs", "Unordered"}
)
"""Judged only if traces and logs are checked."""
NEEDS_TWO = "SameCut"
"""Judged only if two members came to the end."""
NOT_PROMISED = "not promised"
TALK = ("unicasts", "calls", "answers", "unanswered")
"""The figures of what members say to each other; `talk.py` judges it as it happens."""


@dataclass(slots=True)
class ClusterJudged(Judged[Record]):
    """A run of the stack and the findings about it."""

    protocol = "sequencer"
    checked: bool = True
    """Whether its traces are checked against the model."""
    messages: int = 0
    """The number of deliveries."""
    views: int = 0

    @property
    def owed(self) -> list[str]:
        """Return the properties that have to hold, as far as they are judged."""
        record = self.record
        found = promised(by_logs=record.by_logs, safe=record.safe, checked=self.checked)
        names = (*FIRM, *UNIFORM) if record.safe else FIRM
        return [name for name in names if name in found or name in self.verdicts]

    @property
    def counts(self) -> dict[str, object]:
        """Return the figures that only a stack has."""
        return {
            "messages": self.messages,
            "views": self.views,
            "lives": len(self.record.lives),
            "transfers": sum(member.transfers for member in self.record.lives),
            "unordered": sum(m.unordered.get("sent", 0) for m in self.record.lives),
            **{name: sum(m.talk.get(name, 0) for m in self.record.lives) for name in TALK},
        }


def promised(*, by_logs: bool, safe: bool, checked: bool) -> list[str]:
    """Return the properties that have to hold in every run of that kind."""
    left_out = {NEEDS_TWO} if checked else {NEEDS_TWO, *NEEDS_TRACES, *UNIFORM}
    left_out |= {"InView"} if by_logs else set()
    names = (*FIRM, *UNIFORM) if safe else FIRM
    return [name for name in names if name not in left_out]


def property_name(name: str, *, safe: bool) -> str:
    """Return the name of the result about a property in all runs of that kind."""
    return ": ".join((SAFE, name)) if safe else name


def protocol_of(order: str) -> str:
    """Return the protocol whose results those of such runs are."""
    return (ClusterJudged if order == "sequencer" else TotalJudged).protocol


class TotalJudged(ClusterJudged):
    """A run in which TOTAL orders messages."""

    protocol = "total"


def judge(record: Record, folder: Path, check: bool = True) -> ClusterJudged:
    """Check one run's traces and logs."""
    kind = ClusterJudged if record.order == "sequencer" else TotalJudged
    judged = kind(record, checked=check)
    judged.begin()
    judged.views = max((member.view for member in record.lives), default=0)
    if any(member.wrong for member in record.lives):
        judged.verdicts["Integrity"] = VIOLATED
    _judge_logs(judged, folder)
    _judge_states(judged)
    if check:
        judged.judge_traces(folder, only_shown=() if record.safe else UNIFORM)
        _judge_by_logs_alone(judged, folder)
        verdict, reasons = judge_unordered((folder / FOLDER).glob(f"{record.run}.*.jsonl"))
        add(judged.verdicts, "Unordered", verdict)
        judged.reasons += reasons
    return judged


def _judge_states(judged: ClusterJudged) -> None:
    """Judge whether the survivors' applications have the same state, given to them or not."""
    states = {m.address: m.state for m in judged.record.survivors if m.state}
    if len(set(states.values())) > 1:
        add(judged.verdicts, "SameCut", VIOLATED)
        found = ", ".join(
            f"{who} {count} {' '.join(f'{total:08x}' for total in sums)}"
            for who, (count, *sums) in states.items()
        )
        judged.reasons.append(f"SameCut is violated: messages and their checksums: {found}")
    elif len(states) > 1:
        add(judged.verdicts, "SameCut", HOLDS)


def _answers(record: Record) -> Mapping[str, str]:
    """Return the properties for which the logs of such a run answer, by the logs' words."""
    return {
        word: name
        for word, name in OF_LOGS.items()
        if (record.safe if name in UNIFORM else record.by_logs)
    }


def _judge_by_logs_alone(judged: ClusterJudged, folder: Path) -> None:
    """Judge the logs as a black box: order, agreement, views, nothing twice, nothing made up."""
    logs = sorted((folder / "deliveries").glob(f"{judged.record.run}.*.jsonl"))
    if not logs:
        add(judged.verdicts, "Logs", INCONCLUSIVE)
        return
    found, answers = check_deliveries(logs), _answers(judged.record)
    if judged.record.safe and not found.facts.safe:
        add(judged.verdicts, "Logs", INCONCLUSIVE)
        judged.reasons.append("the delivery logs do not say that the group has safe delivery")
    for promise in found.properties:
        add(judged.verdicts, "Logs", promise.verdict)
        if promise.name in answers:
            add(judged.verdicts, answers[promise.name], promise.verdict)
            judged.judged.setdefault(answers[promise.name], promise.judged)
        if promise.verdict != HOLDS:
            why = promise.reason or promise.witness
            judged.reasons.append(f"the delivery logs: {promise.name} {promise.verdict}: {why}")


@dataclass(slots=True)
class _Heard:
    """The deliveries of one member from one sender."""

    first: int
    last: int


class _Jump(NamedTuple):
    """A delivery that is not of the message after the one that the member had of this sender."""

    member: str
    position: int
    sender: str
    before: int
    number: int


def _explained(jump: _Jump, given: Mapping[State, Mapping[str, int]]) -> bool:
    """Tell whether the messages between are in a state that the member took before."""
    return any(
        state.member == jump.member
        and state.position < jump.position
        and inside.get(jump.sender) == jump.number - 1
        and jump.number > jump.before
        for state, inside in given.items()
    )


def _log_of(folder: Path, record: Record, who: str) -> Path:
    return folder / "deliveries" / f"{record.run}.{who}.jsonl"


def _judge_logs(judged: ClusterJudged, folder: Path) -> None:
    """Judge the applications' deliveries: no gaps, and all messages of survivors."""
    record, problems = judged.record, list[Problem]()
    heard: dict[str, dict[str, _Heard]] = {}
    jumps: list[_Jump] = []
    states: list[State] = []
    lengths: dict[str, int] = {}
    logs = {each.address: _log_of(folder, record, each.address) for each in record.lives}
    for who, path in logs.items():
        mine = heard[who] = {}
        for row in read_rows(path, problems.append) if path.is_file() else ():
            lengths[who] = max(row.position, lengths.get(who, 0))
            if row.event == "state":
                states += states_in([row])
            elif row.event == "deliver":
                judged.messages += 1
                number, known = int(row.message), mine.get(row.sender)
                if known is None:
                    mine[row.sender] = _Heard(number, number)
                    continue
                if number != known.last + 1:
                    jumps.append(_Jump(who, row.position, row.sender, known.last, number))
                known.last = number
    again = {who: read_rows(path, lambda _: None) for who, path in logs.items() if path.is_file()}
    given = given_by(states, lengths, again)
    gaps: list[str] = []
    for jump in jumps:
        if not _explained(jump, given):
            who, _, sender, before, number = jump
            gaps.append(f"{who} delivered {sender} {number} after {before}")
    for state, inside in given.items():
        for sender, number in inside.items():
            known = heard[state.member].setdefault(sender, _Heard(1, number))
            known.last = max(known.last, number)
            if known.first <= number + 1:
                known.first = 1
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


def results(runs: list[ClusterJudged], again: dict[int, str]) -> tuple[Result, ...]:
    """Return one result for each run, and one for each property over all runs."""
    found = [judged.result(again[judged.record.seed]) for judged in runs]
    every = [judged.verdicts for judged in runs]
    safe = any(judged.record.safe for judged in runs)
    protocol = runs[0].protocol if runs else ClusterJudged.protocol
    for name in (*FIRM, *UNIFORM) if safe else FIRM:
        if (worst := over_all(runs, name)) is not None:
            verdict, figures = worst
            found.append(Result(property_name(name, safe=safe), protocol, verdict, HOLDS, figures))
    for name in () if safe else UNIFORM:
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
        found.append(Result(name, protocol, NOT_PROMISED, NOT_PROMISED, figures))
    return tuple(found)
