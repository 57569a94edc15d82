"""The service of STABLE and PBCAST: its steps, and the promises that break with a rule undone."""

from __future__ import annotations

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.explore import explore
from raincheck.model.machine.runs import Address
from raincheck.model.stability.promises import INVARIANTS
from raincheck.model.stability.state import Process, State, Told, View
from raincheck.model.stability.system import machine

CASES = {case.name: case for case in load_cases() if case.protocol == "stability"}
A, B, C = Address("a", 0), Address("b", 0), Address("c", 0)
NONE, ONE = (0, 0, 0), (1, 0, 0)


def member(node: str, delivered: tuple[int, ...]) -> Process:
    return Process(node, delivered, NONE, NONE, "member", view=1, sent=int(node == "a"))


def can(state: State, case: str = "stability-join") -> set[tuple[str, tuple[object, ...]]]:
    return {(step.action, step.args) for step in machine(CASES[case].constants).steps(state)}


def test_a_member_keeps_what_another_one_lacks() -> None:
    outside = Process("c", NONE, NONE, NONE)
    views = (View(frozenset({A, B})),)
    state = State((member("a", ONE), member("b", NONE), outside), views)

    assert ("Purge", ("a",)) not in can(state)
    state = State((member("a", ONE), member("b", ONE), outside), views)
    assert {("Purge", ("a",)), ("Purge", ("b",))} <= can(state)


def test_a_member_keeps_what_a_joiner_on_its_way_will_need() -> None:
    views = (View(frozenset({A, B})), View(frozenset({A, B, C}), frozenset({C})))

    def told(digest: tuple[int, ...]) -> State:
        joiner = Process("c", NONE, NONE, NONE, entering=(Told(2, digest),))
        return State((member("a", ONE), member("b", ONE), joiner), views)

    assert ("Purge", ("a",)) not in can(told(NONE))
    assert ("Purge", ("a",)) in can(told(ONE))


@pytest.mark.parametrize("case", [name for name, case in CASES.items() if case.expected != "holds"])
def test_a_rule_undone_breaks_what_it_serves(case: str) -> None:
    expected = CASES[case].expected
    found = explore(machine(CASES[case].constants), invariants={expected: INVARIANTS[expected]})

    assert found.violation is not None
    assert found.violation.invariant == expected
