"""PRIMARY's model: what each handler does, and that promises break where a rule is taken back."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address
from raincheck.model.primary.events import (
    INPUTS,
    Attempt,
    Decide,
    Form,
    Info,
    InstallView,
    Session,
    Sessions,
    SetVotes,
    ViewId,
)
from raincheck.model.primary.handlers import HANDLERS, Local, Rules
from raincheck.model.primary.state import State
from raincheck.model.primary.system import PrimarySystem, machine

RULES = Rules()
A, B, C, B2 = Address("a", 0), Address("b", 0), Address("c", 0), Address("b", 1)
FIRST, SECOND, THIRD = ViewId(1, A), ViewId(2, A), ViewId(3, B)
ALL = Session(1, FIRST, FIRST, ((A, 1), (B, 1), (C, 1)))
PAIR = Session(2, SECOND, FIRST, ((A, 1), (B, 1)))
NOTHING: Sessions = frozenset()
CASES = {case.name: case for case in load_cases() if case.protocol == "primary"}


def after(me: Local, *events: Any, rules: Rules = RULES) -> tuple[Local, tuple[Any, ...]]:
    """The local state and the outputs of the last event."""
    outputs: tuple[Any, ...] = ()
    for event in events:
        answer = HANDLERS[type(event).__name__](rules, me, event)
        assert isinstance(answer, Accepted), answer
        me, outputs = answer
    return me, outputs


def refused(me: Local, event: Any) -> list[str]:
    answer = HANDLERS[type(event).__name__](RULES, me, event)
    assert isinstance(answer, Refused)
    return [conjunct.text for conjunct in answer.conjuncts]


def info(
    sender: Address,
    last: Session | None = None,
    attempts: Sessions = NOTHING,
    votes: int = 1,
    found: bool = False,
) -> Info:
    return Info(sender, THIRD, votes, found, last, attempts)


def decided(*infos: Info, rules: Rules = RULES) -> Local:
    """The first of these members, once it has all the INFOs."""
    told = infos[0]
    me = Local(told.sender, told.votes, told.found, last=told.last, attempts=told.attempts)
    members = frozenset(each.sender for each in infos)
    return after(me, InstallView(THIRD, members), Decide(tuple(sorted(infos))), rules=rules)[0]


def test_every_input_has_its_handler() -> None:
    assert INPUTS.keys() == HANDLERS.keys()


def test_a_view_becomes_primary_in_two_rounds() -> None:
    me = Local(A)
    me, outputs = after(me, InstallView(FIRST, frozenset((A, B, C))))
    assert outputs == (Info(A, FIRST, 1, False, None, NOTHING),)
    assert refused(me, Decide(())) == ['AllHave(n, "INFO")']
    assert refused(me, Form(frozenset())) == [
        'stage[n] = "attempting"',
        'AllHave(n, "ATTEMPT")',
    ]
    infos = tuple(Info(each, FIRST, 1, False, None, NOTHING) for each in (A, B, C))
    me, outputs = after(me, Decide(infos))
    assert (me.stage, me.last, me.attempts) == ("attempting", None, {ALL})
    assert outputs == (Attempt(A, FIRST),)
    assert refused(me, Form(frozenset((A, B)))) == ['AllHave(n, "ATTEMPT")']
    me, outputs = after(me, Form(frozenset((A, B, C))))
    assert (me.stage, me.last, me.attempts, outputs) == ("primary", ALL, NOTHING, ())


def test_the_first_primary_view_needs_all_votes_or_an_operator() -> None:
    assert decided(info(A), info(B)).stage == "refused"
    assert decided(info(A), info(B), info(C)).stage == "attempting"
    assert decided(info(A, votes=2), info(B)).stage == "attempting"
    assert decided(info(A, votes=3), info(B)).stage == "refused"  # more than there are
    assert decided(info(A), info(B, found=True)).stage == "attempting"
    assert decided(info(A, found=True)).stage == "refused"
    assert decided(info(A), rules=Rules(expected=1)).stage == "attempting"


def test_a_majority_of_the_last_primary_view_goes_on_in_its_history() -> None:
    me = decided(info(A, last=ALL), info(B2), info(C))
    assert (me.stage, me.last) == ("attempting", ALL)
    assert me.attempts == {Session(2, THIRD, FIRST, ((A, 1), (B2, 1), (C, 1)))}
    assert decided(info(A, last=ALL), info(B2)).stage == "refused"  # b has forgotten
    assert decided(info(C, last=ALL), info(B2)).last == ALL


def test_half_is_enough_with_the_smallest_address() -> None:
    assert decided(info(A, last=PAIR)).stage == "attempting"
    assert decided(info(B, last=PAIR)).stage == "refused"


def test_votes_count_as_they_were() -> None:
    assert decided(info(C, last=ALL, votes=3)).stage == "refused"
    me, _ = after(Local(A), SetVotes(3))
    assert me.votes == 3
    assert refused(me, SetVotes(3)) == ["votes[n] # k"]


def test_what_may_have_been_formed_elsewhere_needs_a_majority_too() -> None:
    tried = frozenset((PAIR,))
    me = decided(info(B, last=ALL, attempts=tried), info(C, last=ALL))
    assert (me.stage, me.attempts) == ("refused", tried)
    # a is here, and has not attempted it
    me = decided(info(B, last=ALL, attempts=tried), info(A, last=ALL))
    assert me.stage == "attempting"
    assert PAIR not in me.attempts
    # c has learned that it was formed
    assert decided(info(B, last=ALL, attempts=tried), info(C, last=PAIR)).attempts == NOTHING


def played(system: PrimarySystem, steps: str, first: State | None = None) -> State:
    """The state after these steps, each one of the few that are enabled; upper case is a view."""
    state = first or next(iter(system.initial()))
    for step in steps.split():
        action, nodes = ("NewView", step.lower()) if step.isupper() else step.split(":")
        if action == "NewView":
            members = frozenset(Address(name, 0) for name in nodes)
            moves = [m for m in system.moves(state) if m.target.due.members == members]
            (state,) = (move.target for move in moves)
            action = "InstallView"
        for name in nodes:
            (state,) = (
                move.target
                for move in system.moves(state)
                if (move.action, move.args) == (action, (name,))
            )
    return state


def test_two_sides_go_on_from_what_was_only_attempted() -> None:
    """PRI-F12: d refutes the first attempt for a, which goes on with d; b and c go on from it."""
    system = machine(CASES["primary-from-formed-undone"].constants)
    run = "ABCD Decide:abc AB Decide:a AD Decide:ad Form:ad BC Decide:bc Form:bc"
    state = played(system, run)
    broken = {name for name, holds in system.invariants.items() if not holds(state)}
    assert broken == {"OneChain", "OneActive"}

    system = machine(CASES["primary-from-formed-repaired"].constants)
    state = played(system, "ABCD Decide:abc AB Decide:a AD Decide:ad BC Decide:bc")
    assert [me.stage for me in state.locals] == ["refused"] * 4


def test_a_history_begun_beside_a_known_one_and_left_by_some_gives_two_histories() -> None:
    """PRI-F13: d founds by an operator's word; a alone keeps to that, and b and c forget it."""
    constants = machine(CASES["primary-four"].constants).constants
    views = frozenset(map(frozenset, ("abcd", "acde", "e", "ae", "ce", "ac", "cd", "bc", "ab")))
    changes: dict[str, Any] = {
        **{"nodes": tuple("abcde"), "groups": views, "max_views": 12, "together": False},
        **{"heavy": frozenset("abc"), "heavy_votes": 2, "found_first": frozenset("d")},
        "rules": dataclasses.replace(constants.rules, expected=13),
    }
    system = PrimarySystem(dataclasses.replace(constants, **changes))
    first = next(iter(system.initial()))
    e = first.locals[-1]._replace(votes=6)
    first = first._replace(locals=(*first.locals[:-1], e))
    run = (
        "ABCD Decide:abcd Form:abcd ACDE Decide:acd E Decide:e ABCD Decide:ac AE Decide:ae"
        " CE Decide:ce AC Decide:a CD Decide:cd BC Decide:bc Form:c AB Decide:ab Form:ab"
    )
    state = played(system, run, first)
    broken = {name for name, holds in system.invariants.items() if not holds(state)}
    assert broken == {"OneHistory"}


def test_an_operator_gives_up_a_history_that_cannot_go_on() -> None:
    me = decided(info(C, last=ALL), info(B2, found=True))
    assert me.attempts == {Session(2, THIRD, THIRD, ((B2, 1), (C, 1)))}
    going_on = decided(info(A, last=ALL), info(C, last=ALL, found=True))
    assert {each.history for each in going_on.attempts} == {FIRST}


@pytest.mark.parametrize(
    ("case", "rule", "value", "broken"),
    [
        ("primary-two-rounds-repaired", "two_rounds", False, "OneAtANumber"),
        ("primary-remembers-repaired", "remembers", False, "OneActive"),
        ("primary-last-repaired", "last_primary", False, "GoesOn"),
        ("primary-founding-repaired", "found_needs", "nothing", "OneHistory"),
        ("primary-tie-repaired", "tie", "half", "OneAtANumber"),
        ("primary-tie-repaired", "tie", "none", "GoesOn"),
    ],
)
def test_a_promise_breaks_where_its_rule_is_taken_back(
    case: str, rule: str, value: Any, broken: str
) -> None:
    system = machine(CASES[case].constants)
    found = explore(system, invariants=system.invariants)
    assert found.complete
    assert found.violation is None
    assert (len(found.graph), found.depth) == (CASES[case].distinct, CASES[case].depth)

    system.rules = dataclasses.replace(system.rules, **{rule: value})
    assert explore(system, invariants={broken: system.invariants[broken]}).violation is not None
