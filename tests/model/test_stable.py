"""STABLE's model: what the repaired protocol promises, and what each hole breaks."""

from typing import Any

import pytest

from raincheck.conformance.cases.tables import Case, load_cases
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address
from raincheck.model.stable.handlers import (
    HANDLERS,
    INPUTS,
    Heard,
    InstallView,
    Local,
    Output,
    Purge,
    ReceiveDigest,
    ReceiveStability,
    Rules,
    SendDigest,
    SendStability,
    covers,
    merged,
)
from raincheck.model.stable.promises import delivered_by_all, lacks, purged
from raincheck.model.stable.system import StableSystem, machine

CASES = {case.name: case for case in load_cases() if case.protocol == "stable"}
A, B, C = (Address(name, 0) for name in "abc")
RULES = Rules()


def instance(case: str) -> StableSystem:
    """The instance of a case."""
    return machine(CASES[f"stable-{case}"].constants)


def vector(**at: int) -> tuple[tuple[Address, int], ...]:
    """A vector of members a, b, c in their first lives."""
    return tuple((Address(name, 0), at[name]) for name in sorted(at))


def handled(local: Local, event: Any, rules: Rules = RULES) -> Accepted[Local, Output]:
    """What comes of an event that is enabled."""
    answer = HANDLERS[type(event).__name__](rules, local, event)
    assert isinstance(answer, Accepted)
    return answer


def member(*members: Address, rules: Rules = RULES) -> Local:
    """The first of the members, in the first view."""
    return handled(Local(members[0]), InstallView(1, members), rules).local


# ---------------------------------------------------------------------- whole instances


QUICK = [
    case
    for case in CASES.values()
    if case.tier == "quick" and "AllPurged" not in case.properties
    # that the protocol refines the service is a property of steps, which TLC asks
    if "RefinesStability" not in (case.expected, *case.properties)
]


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.name)
def test_the_explorer_says_of_each_quick_case_what_the_catalog_expects(case: Case) -> None:
    system = machine(case.constants)
    wanted = {name: system.invariants[name] for name in case.properties}

    found = explore(system, invariants=wanted)

    if case.expected == "holds":
        assert found.violation is None
        assert (len(found.graph), found.depth) == (case.distinct, case.depth)
    else:
        assert found.violation is not None
        assert found.violation.invariant == case.expected


def test_nothing_is_vacuous_in_the_promise_as_implemented() -> None:
    graph = explore(instance("drop")).graph

    assert any(purged(state, n, 0, 1) for state in graph.states for n in (0, 1))
    assert any(delivered_by_all(state, 1, 0, 1) for state in graph.states)
    assert any(lacks(state, 1, 0, 1) for state in graph.states)
    actions = {label.action for label in graph.labels}
    assert {"Drop", "Fetch", "SendDigest", "ReceiveStability", "SendStability"} <= actions


def test_a_member_that_comes_back_under_its_old_address_is_taken_for_the_old_one() -> None:
    system = instance("f1-return")
    only = {"OnlyStablePurged": system.invariants["OnlyStablePurged"]}

    found = explore(system, invariants=only)

    assert found.violation is not None
    actions = [step.action for step in found.violation.path.steps]
    assert actions[-1] == "SendStability"
    # The digest was sent in the view before b left, and is counted in the one it came back to.
    votes = [n for n, step in enumerate(found.violation.path.steps) if step.args == ("b", "a")]
    sent = [n for n, step in enumerate(found.violation.path.steps) if step.args == ("a",)]
    restart = actions.index("Restart")
    assert any(n > restart and actions[n] == "ReceiveDigest" for n in votes)
    assert not any(n > restart and actions[n] == "SendDigest" for n in sent)


# ---------------------------------------------------------------------- single handlers


def test_every_action_of_the_handlers_has_its_input() -> None:
    assert list(INPUTS) == list(HANDLERS)
    assert all(kind.__name__ == name for name, kind in INPUTS.items())


def test_a_refusal_names_the_conjunct_that_is_false() -> None:
    asleep = handled(member(A, B), INPUTS["Suspend"]()).local

    answer = HANDLERS["SendDigest"](RULES, asleep, SendDigest((), ()))

    assert isinstance(answer, Refused)
    assert [conjunct.text for conjunct in answer.conjuncts] == ["~suspended[n]"]


def test_the_last_vote_makes_stability_due() -> None:
    local = member(A, B)

    local = handled(local, SendDigest(vector(a=3, b=1), vector(a=3, b=1))).local
    assert local.pending is None
    assert local.heard_from == {B}
    local, outputs = handled(local, ReceiveDigest(B, 1, vector(a=2, b=2), vector(a=3, b=2)))

    assert outputs == (Heard(B, vector(a=3, b=2)),)
    assert local.pending == vector(a=2, b=1)
    assert Purge(vector(a=2, b=1)) in handled(local, SendStability()).outputs


def test_an_older_stability_leaves_ones_own_pending() -> None:
    local = member(A)
    local = handled(local, SendDigest(vector(a=3), vector(a=3))).local

    older = handled(local, ReceiveStability(A, 1, vector(a=2), ()))
    newer = handled(local, ReceiveStability(A, 1, vector(a=3), ()))

    assert older.local.pending == vector(a=3)
    assert newer.local.pending is None


@pytest.mark.parametrize(
    ("rules", "ours"),
    [
        (Rules(), False),
        (Rules(vote_check="members"), True),
        (Rules(vote_check="any"), True),
    ],
)
def test_the_same_members_in_another_view(rules: Rules, ours: bool) -> None:
    local = member(A, B, rules=rules)

    after = handled(local, ReceiveDigest(B, 7, vector(a=1, b=1), ()), rules).local

    assert (B not in after.heard_from) == ours


def test_vectors() -> None:
    assert merged(vector(a=1, b=5), vector(b=2, c=3), min) == vector(a=1, b=2, c=3)
    assert merged((), vector(a=1), max) == vector(a=1)
    assert covers(vector(a=1, b=2), vector(a=1))
    assert not covers(vector(a=1), vector(a=1, b=1))
