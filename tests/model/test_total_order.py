"""The service of SEQUENCER and TOTAL: its steps, and the promises that break with a rule undone."""

from __future__ import annotations

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.explore import explore
from raincheck.model.machine.runs import Address
from raincheck.model.total_order.promises import INVARIANTS
from raincheck.model.total_order.state import Delivery, Message, Process, State, View
from raincheck.model.total_order.system import System, machine

CASES = {case.name: case for case in load_cases() if case.protocol == "total_order"}
A, B = Address("a", 0), Address("b", 0)
M = Delivery(Message(B, 1, 1), 1)


def system(case: str) -> System:
    return machine(CASES[f"total-order-{case}"].constants)


def actions(case: str, state: State) -> set[tuple[str, tuple[object, ...]]]:
    return {(step.action, step.args) for step in system(case).steps(state)}


def two(a: Process, b: Process) -> State:
    """A view of two, and the next one, which is decided and has lost nobody."""
    both = View(frozenset({A, B}))
    return State((a, b), (both, both))


def test_who_goes_on_first_settles_what_the_other_delivers() -> None:
    a = Process("a", "member", view=1, delivered=(M,))
    b = Process("b", "member", view=1, sent=1)
    state = two(a, b)

    (goes,) = [s for s in system("return").steps(state) if s.action == "InstallView"]
    assert goes.args == ("a",)
    assert goes.target.cut == ((M.message,),)
    # b, which has less, goes on when it has delivered that.
    assert ("InstallView", ("b",)) not in actions("return", goes.target)
    (delivers,) = [
        s for s in system("return").steps(goes.target) if s.action == "Deliver" and s.args == ("b",)
    ]
    assert ("InstallView", ("b",)) in actions("return", delivers.target)


def test_nothing_is_ordered_in_a_view_before_the_one_before_is_settled() -> None:
    gone = Process("a", "gone", sent=0)
    state = State(
        (gone._replace(status="member", view=2), Process("b", "member", view=1, sent=1)),
        (View(frozenset({B})), View(frozenset({A, B}), frozenset({A}))),
    )

    assert ("Deliver", ("a",)) not in actions("return", state)
    assert ("Deliver", ("a",)) in actions("return", state._replace(cut=((),)))


@pytest.mark.parametrize("case", [name for name, case in CASES.items() if case.expected != "holds"])
def test_a_rule_undone_breaks_what_it_serves(case: str) -> None:
    expected = CASES[case].expected
    found = explore(
        machine(CASES[case].constants), limit=20_000, invariants={expected: INVARIANTS[expected]}
    )

    assert found.violation is not None
    assert found.violation.invariant == expected


def test_two_things_in_a_step_lead_to_no_other_states() -> None:
    single, double = (explore(system(case), invariants={}).graph for case in ("crash", "leaps"))

    assert set(single.states) == set(double.states)
    assert double.edge_count > single.edge_count
