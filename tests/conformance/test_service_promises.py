"""What `conform` judges of delivery logs is what the service of SEQUENCER and TOTAL promises.

The states of the service, with all rules and with some taken back, are written down as delivery
logs; the judge complains of a log exactly where the promise of that name is false in the state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import Any

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.deliveries.judge import DeliveryLog
from raincheck.conformance.deliveries.properties import NAMES
from raincheck.conformance.trace.findings import VIOLATED
from raincheck.model.machine.explore import explore
from raincheck.model.sequencer import promises as of_sequencer
from raincheck.model.sequencer.state import State as SequencerState
from raincheck.model.sequencer.system import machine as sequencer
from raincheck.model.total import promises as of_total
from raincheck.model.total.state import State as TotalState
from raincheck.model.total.system import machine as total
from raincheck.model.total_order.logs import firm
from raincheck.model.total_order.promises import INVARIANTS, identity
from raincheck.model.total_order.state import (
    Delivery,
    Message,
    Process,
    Rules,
    State,
    View,
    constants_of,
)
from raincheck.model.total_order.system import System

CASES = {case.name: case for case in load_cases()}

JUDGED = {
    "TotalOrder": {"total_order"},
    "UniformTotalOrder": {"uniform_total_order"},
    "Agreement": {"agreement"},
    "UniformAgreement": {"uniform_agreement", "agreement"},
    "Integrity": {"no_duplication"},
    "NoCreation": {"no_creation"},
    "Fifo": {"sender_fifo", "no_duplication"},
    "VirtualSynchrony": {"virtual_synchrony"},
}
"""The judge's properties of which one is violated exactly where the promise is false."""

GAPS = "gap_freeness"
"""A hole between two numbers is one of GapFree's; where a log begins only the service knows."""

BEYOND = {"state_cut", "sending_view"}
"""The judge's properties that are no promises of this service."""


def log_of(state: State) -> DeliveryLog:
    """What the members of the service would write down in that state."""
    log = DeliveryLog()
    log.sent("nobody", 1)  # without any send log the judge does not ask what was sent
    for process in state.processes:
        for number in range(1, process.sent + 1):
            log.sent(process.node, number)
    for process in state.processes:
        for view in stays(state, process):
            log.installed(process.node, view)
            for each in process.delivered:
                if each.view == view:
                    log.delivered(process.node, *identity(each), view)
        if process.status == "gone":
            log.crashed(process.node)
    return log


def stays(state: State, process: Process) -> range:
    """The views that a process has had, as far as anybody can tell if it is gone."""
    joined = [v for v, view in enumerate(state.views, 1) if process.address in view.joiners]
    first = max(joined, default=1)
    last = max((each.view for each in process.delivered), default=0)
    return range(first, max(process.view if process.present else last, last) + 1)


def complaints(state: State) -> set[str]:
    """The properties of which the judge says that the log violates them."""
    verdicts = log_of(state).judge(properties=NAMES)
    return {each.name for each in verdicts.properties if each.verdict == VIOLATED}


def cyclic(logs: list[tuple[Delivery, ...]]) -> bool:
    """Whether three logs or more have no common order although any two of them have."""
    graph: dict[Any, set[Any]] = {}
    for log in logs:
        for first, second in combinations([*dict.fromkeys(map(identity, log))], 2):
            graph.setdefault(second, set()).add(first)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return True
    return False


def systems() -> Iterator[System]:
    """The service with all its rules, and with one or two of them taken back."""
    names = ("follows", "completes", "in_turn", "from_members")
    undone = [*combinations(names, 0), *combinations(names, 1), *combinations(names, 2)]
    for case in ("crash", "join-two"):
        constants = replace(constants_of(CASES[f"total-order-{case}"].constants), max_log=3)
        for off in undone:
            rules = replace(Rules(), **dict.fromkeys(off, False))
            yield System(replace(constants, rules=rules))
    # A hole between two numbers needs three messages.
    quiet = replace(constants, enders=frozenset(), max_views=1, max_log=2)
    yield System(replace(quiet, max_sent=3, rules=Rules(in_turn=False)))


def test_the_judge_complains_exactly_where_the_service_breaks_its_promise() -> None:
    false: Counter[str] = Counter()
    kept = 0
    for system in systems():
        states = explore(system, limit=500, invariants={}).graph.states
        for state in states[:: 1 + len(states) // 250]:
            found = complaints(state)
            kept += not found
            for name, names in JUDGED.items():
                broken = not INVARIANTS[name](state)
                if broken == bool(names & found):
                    false[name] += broken
                    continue
                # A common order may be missing where only three logs together show it.
                assert name.endswith("TotalOrder"), (name, found, state)
                assert not broken, (name, found, state)
                logs = [p.delivered if "Uniform" in name else firm(p) for p in state.processes]
                assert cyclic(logs), (name, found, state)
            if GAPS in found:
                assert not INVARIANTS["GapFree"](state), state
                false["GapFree"] += 1

    assert kept > 100
    assert {name for name, count in false.items() if count > 3} == {*JUDGED, "GapFree"}


def test_every_property_of_the_judge_is_a_promise_of_the_service_or_named_here() -> None:
    judged = set().union(*JUDGED.values()) | {GAPS}

    assert judged | BEYOND == set(NAMES)
    assert {*JUDGED, "GapFree"} <= {*INVARIANTS}


# ---------------------------------------------------------------- the protocols' own promises


def service_of_sequencer(state: SequencerState) -> State:
    """The mapping of MCSequencer.tla, but for `cut`, of which no promise speaks."""
    status = {"member": "member", "leaving": "member", "joining": "outside"}
    return State(
        tuple(
            Process(
                *(me.node, status.get(me.status, "gone"), me.incarnation, me.view, me.said),
                me.said - me.seqno,
                tuple(
                    Delivery(Message(run.sender, run.first, run.payload), view)
                    for run, view in delivered
                ),
            )
            for me, delivered in zip(state.locals, state.delivered, strict=True)
        ),
        tuple(View(frozenset(view.members), view.joiners) for view in state.views),
    )


def service_of_total(state: TotalState) -> State:
    """The same of MCTotal.tla."""
    status = {"member": "member", "joining": "outside", "crashed": "gone"}
    return State(
        tuple(
            Process(
                *(me.me.node, status[me.status], 0, me.view, me.seqno),
                0 if me.status == "member" else me.seqno,
                tuple(
                    Delivery(Message(each.message.sender, *2 * (each.message.seqno,)), each.view)
                    for each in delivered
                ),
            )
            for me, delivered in zip(state.locals, state.delivered, strict=True)
        ),
        tuple(View(frozenset(view.members), view.joiners) for view in state.views),
    )


SEQUENCER = (sequencer, service_of_sequencer, of_sequencer.INVARIANTS)
TOTAL = (total, service_of_total, of_total.INVARIANTS)

SAYS: dict[str, set[str]] = {
    **{name: {name} for name in ("TotalOrder", "UniformTotalOrder", "Agreement", "Fifo")},
    **{name: {name} for name in ("UniformAgreement", "GapFree", "InView", "Fresh", "Prefix")},
    "Integrity": {"Integrity", "NoCreation"},
}
"""A promise of the protocols, and what the service says with it in other words."""


@pytest.mark.parametrize(
    ("machine", "mapped", "promises", "case", "broken"),
    [
        (*SEQUENCER, "sequencer-f2-undone", {"Agreement", "TotalOrder"}),
        (*SEQUENCER, "sequencer-f18-undone", {"Integrity", "Fifo", "GapFree"}),
        (*SEQUENCER, "sequencer-f10-table-alone", {"Fresh"}),
        (*TOTAL, "total-f6-undone", {"Agreement", "Integrity"}),
        (*TOTAL, "total-f1-undone", {"Fifo", "GapFree"}),
    ],
)
def test_what_the_service_promises_is_no_less_than_what_the_protocol_does(
    machine: Any, mapped: Any, promises: Any, case: str, broken: set[str]
) -> None:
    false: Counter[str] = Counter()
    for state in explore(machine(CASES[case].constants), limit=6_000, invariants={}).graph.states:
        service = mapped(state)
        for name, says in SAYS.items():
            if name in promises and not promises[name](state):
                false[name] += 1
                assert not all(INVARIANTS[each](service) for each in says), (name, state)

    assert broken <= {*false}
