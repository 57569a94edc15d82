"""RING_START's model: what follows from answers, and that promises break without their rules."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address
from raincheck.model.ring_start.events import INPUTS, Founders, Hear, Info, Start
from raincheck.model.ring_start.handlers import HANDLERS, Local, Rules
from raincheck.model.ring_start.system import RingStartSystem, machine

RULES = Rules()
A, B, C, A2 = Address("a", 0), Address("b", 0), Address("c", 0), Address("a", 1)
ALL: Founders = frozenset((A, B, C))
CASES = {case.name: case for case in load_cases() if case.protocol == "ring_start"}


def after(me: Local, *infos: Info) -> Local:
    """The process once it has started and heard these."""
    return handled(me, Start(), *map(Hear, infos))


def heard(me: Local, *infos: Info) -> Local:
    """The process once it has heard these, too."""
    return handled(me, *map(Hear, infos))


def handled(me: Local, *events: Start | Hear) -> Local:
    for event in events:
        answer = HANDLERS[type(event).__name__](RULES, me, event)
        assert isinstance(answer, Accepted), answer
        me = answer.local
    return me


def asking(who: Address, stage: str = "asking") -> Info:
    return Info(who, stage, frozenset())


def test_every_input_has_its_handler() -> None:
    assert INPUTS.keys() == HANDLERS.keys()


def test_the_first_member_proposes_once_all_have_answered() -> None:
    assert after(Local(A), asking(B)).stage == "asking"
    assert after(Local(B), asking(A), asking(C)).stage == "asking"
    me = after(Local(A), asking(B), asking(C))
    assert (me.stage, me.once, me.heard) == ("asking", ALL, frozenset())
    me = heard(me, asking(B), asking(C))
    assert (me.stage, me.ring, me.once) == ("attempting", ALL, frozenset())


def test_whoever_answers_otherwise_the_second_time_is_asked_once_more() -> None:
    me = after(Local(A), asking(B), asking(C), asking(B), asking(Address("c", 1)))
    assert (me.stage, me.once) == ("asking", {A, B, Address("c", 1)})
    assert heard(me, Info(B, "attempting", ALL)).once == frozenset()


def test_a_lone_member_asks_nobody() -> None:
    answer = HANDLERS["Start"](Rules(members=frozenset("a")), Local(A), Start())
    assert isinstance(answer, Accepted)
    assert (answer.local.stage, answer.local.ring) == ("member", {A})


def test_a_founding_is_complete_when_a_majority_has_recorded_it() -> None:
    tried = Info(A, "attempting", ALL)
    me = after(Local(B), tried)
    assert (me.stage, me.ring, me.heard) == ("member", ALL, frozenset())
    assert after(Local(Address("b", 1)), tried).stage == "asking"  # it is no founder of that


def test_a_majority_founds_only_if_an_operator_says_so() -> None:
    me = after(Local(C, found=True), asking(A))
    assert (me.stage, me.ring) == ("attempting", {A, C})
    assert after(Local(C, found=True), Info(A, "member", ALL)).ring == ALL
    assert after(Local(C, found=True)).stage == "asking"


def test_who_has_left_founds_nothing_by_itself() -> None:
    assert after(Local(A), asking(B, "left"), asking(C)).stage == "asking"
    assert after(Local(A, stage="left"), asking(B), asking(C)).stage == "left"
    word = Local(A, found=True, stage="left")
    assert after(word, asking(B, "left")).stage == "attempting"


def test_a_record_is_given_up_for_a_ring_only() -> None:
    me = Local(A, stage="attempting", ring=frozenset((A, B)))
    assert after(me, Info(C, "attempting", ALL)).ring == {A, B}
    assert after(me, Info(C, "member", ALL)).ring == ALL


def test_what_is_heard_must_be_new_and_of_a_member() -> None:
    me = after(Local(A), asking(B))
    for info, conjunct in [
        (asking(B), "Info(p) \\notin heard[n]"),
        (asking(Address("d", 0)), "p # n /\\ p \\in Members"),
    ]:
        answer = HANDLERS["Hear"](RULES, me, Hear(info))
        assert isinstance(answer, Refused)
        assert [each.text for each in answer.conjuncts] == [conjunct]


@pytest.mark.parametrize(
    ("case", "rule", "value", "broken"),
    [
        ("ring-start-founding-repaired", "found_needs", "majority", "OneFounding"),
        ("ring-start-records-repaired", "records", False, "OneFounding"),
        ("ring-start-stands-repaired", "record_stands", False, "OneFounding"),
        ("ring-start-lives-repaired", "lives", False, "OneSpeaker"),
        ("ring-start-leaver-repaired", "leaver_remembers", False, "OneRing"),
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


WORDS = """
Start a, Start b, Start c, Start d, Start e, Hear a b, Hear e c, Hear a c, Hear b a, Hear e b,
Hear c a, Hear c b, Crash a, Crash b, Start a, Start b, Hear e a, Hear e b, Hear a e, Hear b e,
Hear e a, Hear e b
"""
"""found=True was said to a, and to e, which has c's answer from before c records what a founds."""


@pytest.mark.parametrize("knows", [True, False])
def test_an_operator_speaks_of_those_that_have_answered_too(knows: bool) -> None:
    constants = dataclasses.replace(
        machine(CASES["ring-start-crash"].constants).constants,
        **{"nodes": tuple("abcde"), "files": frozenset(), "max_stops": 2, "max_lost": 2},
        **{"found_first": frozenset("ae"), "operator_knows": knows},
        rules=Rules(members=frozenset("abcde")),
    )
    system = RingStartSystem(constants)
    (state,) = system.initial()
    steps = [tuple(each.split()) for each in WORDS.replace("\n", " ").split(",")]
    done = 0
    for step in steps:
        found = [move for move in system.moves(state) if (move.action, *move.args) == step]
        if not found:
            break
        state, done = found[0].target, done + 1
    assert steps[done:] == (steps[-5:] if knows else [])
    assert system.invariants["OneFounding"](state) == knows
