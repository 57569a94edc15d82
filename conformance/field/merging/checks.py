"""The findings in the traces and delivery logs of a run whose group was cut and merged.

Each member's traces are checked against the specifications of their protocols. Its log has what it
delivered, in views that are numbered by their ids. The promises about those that go on together are
those of any system with virtually synchronous views; what holds across sides is judged by
`sides.py`. Of numbers without gaps nothing is promised: what one side sends while it is apart the
other one never has.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from raincheck.conformance.deliveries.logs import read_rows
from raincheck.conformance.deliveries.properties_local import check_deliveries
from raincheck.conformance.deliveries.sides import (
    compared,
    compared_in_a_view,
    compared_together,
    lives_of,
    two_orders,
    two_sets,
    two_views,
)
from raincheck.conformance.field.judged import TRACE, Judged, over_all
from raincheck.conformance.field.tally import add
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED, Result

from .primaries import (
    FOLDER,
    delivered_elsewhere,
    delivered_twice,
    read_primaries,
    two_primaries,
)
from .run import MergingRecord

ASKED = ("no_duplication", "no_creation", "sender_fifo")
"""The promises that are asked of the logs. Not `state_cut` and `agreement`: a side that takes
another one's state loses what it alone has delivered, and has what was delivered in no view of its.
"""
PRIMARY = ("OnePrimary", "OnlyPrimary", "Once")
"""The properties of a group of which only the primary side goes on. OnePrimary: its primary views
are one chain. OnlyPrimary: nobody delivers in a view that is not primary. Once: nobody delivers
what is in its state; asked if sides take a state, instead of `no_duplication`, which does not know
that a state undoes what a member alone has delivered.
"""
ACROSS = ("OneGroup", "Integrity", "Logs", "Together", "OneOrder", "OneView", "SameState")
FIRM = (TRACE, *ACROSS, *PRIMARY)
"""The properties that must hold. Trace: each member's events, what was sent, and the protocols'
promises. OneGroup: sides that can reach each other became one group each time. Integrity: contents
are those that were sent. Logs: the promises about the delivery logs. Together, OneOrder, OneView:
those across sides. SameState: in the end all applications had the same state; asked if sides take a
state.
"""


@dataclass(slots=True)
class MergingJudged(Judged[MergingRecord]):
    """A run and the findings about it."""

    protocol = "merging"
    takes_state: bool = True
    primary: bool = False
    messages: int = 0

    @property
    def owed(self) -> list[str]:
        """Return the properties that have to hold."""
        found = promised(takes_state=self.takes_state, primary=self.primary)
        if not self.record.merges:  # no cut lasted long enough to part anybody
            found.remove("OneGroup")
        return [name for name in FIRM if name in found or name in self.verdicts]

    @property
    def counts(self) -> dict[str, object]:
        """Return the figures that only such a group has."""
        lives = self.record.lives
        return {
            "messages": self.messages,
            "merges": list(self.record.merges),
            "lives": len(lives),
            "transfers": sum(member.transfers for member in lives),
        }


def promised(*, takes_state: bool, primary: bool) -> list[str]:
    """Return the properties that have to hold in runs of that kind."""
    left_out = set() if takes_state else {"SameState", "Once"}
    left_out |= set() if primary else {*PRIMARY}
    return [name for name in FIRM if name not in left_out]


def judge(
    record: MergingRecord, folder: Path, *, takes_state: bool, primary: bool = False
) -> MergingJudged:
    """Check one run's traces and logs."""
    judged = MergingJudged(record, takes_state=takes_state, primary=primary)
    judged.begin()
    judged.judge_traces(folder)
    wrong = any(member.wrong for member in record.lives)
    add(judged.verdicts, "Integrity", VIOLATED if wrong else HOLDS)
    if record.apart:
        add(judged.verdicts, "OneGroup", VIOLATED)
        judged.reasons.append(f"OneGroup is violated: {record.apart}")
    elif record.merges:
        add(judged.verdicts, "OneGroup", HOLDS)
    _judge_logs(judged, folder)
    if takes_state:
        _judge_states(judged)
    if primary:
        _judge_primaries(judged, folder)
    return judged


def _judge_logs(judged: MergingJudged, folder: Path) -> None:
    run = judged.record.run
    logs = sorted((folder / "deliveries").glob(f"{run}.*.jsonl"))
    if not logs:
        add(judged.verdicts, "Logs", INCONCLUSIVE)
        judged.reasons.append("no member has written a log")
        return
    lives = lives_of(row for path in logs for row in read_rows(path, lambda _: None))
    across = {
        "Together": (two_sets, compared_together),
        "OneOrder": (two_orders, compared_in_a_view),
        "OneView": (two_views, compared),
    }
    for name, (fault_in, counted) in across.items():
        wrong, common = fault_in(lives), counted(lives)
        add(judged.verdicts, name, VIOLATED if wrong else HOLDS if common else INCONCLUSIVE)
        judged.reasons += [f"{name} is violated: {wrong}"] if wrong else []
        judged.judged[name] = {"members": len(lives), "messages": common}
    twice = judged.primary  # of which `Once` is asked
    asked = [name for name in ASKED if not (twice and name == "no_duplication")]
    verdict = check_deliveries(logs, asked)
    judged.messages = verdict.facts.messages
    for promise in verdict.properties:
        add(judged.verdicts, "Logs", promise.verdict)
        if promise.verdict != HOLDS:
            why = promise.reason or promise.witness
            judged.reasons.append(f"the delivery logs: {promise.name} {promise.verdict}: {why}")


def _judge_primaries(judged: MergingJudged, folder: Path) -> None:
    """Judge which views were primary, and that nothing was delivered in others."""
    run = judged.record.run
    formed = read_primaries(sorted((folder / FOLDER).glob(f"{run}.*.jsonl")))
    logs = sorted((folder / "deliveries").glob(f"{run}.*.jsonl"))
    rows = [row for path in logs for row in read_rows(path, lambda _: None)]
    views = len({row.view for row in formed})
    said = sum(row.event == "deliver" for row in rows)
    found = [
        ("OnePrimary", two_primaries(formed), {"views": views}, views > 1),
        ("OnlyPrimary", delivered_elsewhere(formed, rows), {"messages": said}, said > 0),
    ]
    if judged.takes_state:
        found.append(("Once", delivered_twice(rows), {"messages": said}, said > 0))
    for name, wrong, figures, over in found:
        add(judged.verdicts, name, VIOLATED if wrong else HOLDS if over else INCONCLUSIVE)
        judged.reasons += [f"{name} is violated: {wrong}"] if wrong else []
        judged.judged[name] = {"members": len({row.member for row in formed}), **figures}


def _judge_states(judged: MergingJudged) -> None:
    states = {member.address: member.state for member in judged.record.survivors if member.state}
    if len(states) < 2:
        add(judged.verdicts, "SameState", INCONCLUSIVE)
        judged.reasons.append("SameState: fewer than two members came to the end")
    elif len(set(states.values())) > 1:
        add(judged.verdicts, "SameState", VIOLATED)
        judged.reasons.append(f"SameState is violated: messages and their checksums: {states}")
    else:
        add(judged.verdicts, "SameState", HOLDS)


def results(runs: list[MergingJudged], again: dict[int, str]) -> tuple[Result, ...]:
    """Return one result for each run, and one for each property over all runs."""
    found = [judged.result(again[judged.record.seed]) for judged in runs]
    merges = sorted(seconds for judged in runs for seconds in judged.record.merges)
    for name in FIRM:
        if (worst := over_all(runs, name)) is not None:
            verdict, figures = worst
            if name == "OneGroup" and merges:
                figures = {**figures, "merges": len(merges), **_spread(merges)}
            found.append(Result(name, MergingJudged.protocol, verdict, HOLDS, figures))
    if not any("OneGroup" in judged.verdicts for judged in runs):
        why = "no cut lasted long enough to part anybody: make more runs, or longer ones"
        found.append(Result("OneGroup", MergingJudged.protocol, INCONCLUSIVE, HOLDS, {}, why))
    return tuple(found)


def _spread(seconds: list[float]) -> dict[str, float]:
    """Return how long merges took, from the mending of the network to one group."""
    return {
        "seconds_p50": seconds[len(seconds) // 2],
        "seconds_p99": seconds[min(len(seconds) - 1, len(seconds) * 99 // 100)],
        "seconds_most": seconds[-1],
    }
