"""SEQUENCER's model: the catalog's counts and verdicts, and a run is nothing but its messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.conformance.cases.tables import Case, load_cases
from raincheck.conformance.tlc.tlc import run_tlc
from raincheck.model.machine.explore import Exploration, explore
from raincheck.model.machine.machine import Accepted, Refused
from raincheck.model.machine.runs import Address, Run
from raincheck.model.sequencer import handlers as node
from raincheck.model.sequencer.handlers import Data, Deliver, Forward, Local, Rules
from raincheck.model.sequencer.state import State
from raincheck.model.sequencer.system import machine

CASES = {case.name: case for case in load_cases()}
PINNED = [
    "sequencer-join",
    "sequencer-leave-crash",
    "sequencer-f9-repaired",
    "sequencer-f11-repaired",
]
VIOLATED = {
    "sequencer-f17-seed": "sequencer-f1-repaired",
    "sequencer-f6-seed": "sequencer-f5-repaired",
    "sequencer-f13-undone": "sequencer-f13-repaired",
    "sequencer-f16-uniform-agreement": "sequencer-f16-safe-agreement",
    "sequencer-f16-uniform-order": "sequencer-f16-safe-order",
}
"""Cases in which an invariant fails, and one in which that invariant holds."""


@cache
def explored(name: str, invariant: str = "") -> Exploration[State]:
    """The case's graph, up to the first violation of the invariant if one is named."""
    system = machine(CASES[name].constants)
    asked = {invariant: system.invariants[invariant]} if invariant else {}
    return explore(system, invariants=asked)


def promised(case: Case) -> list[str]:
    """The invariants of the case that the model has; TypeOK is a matter of types in Python."""
    system = machine(case.constants)
    return [name for name in case.properties if name in system.invariants]


# ---------------------------------------------------------------- counts and verdicts


@pytest.mark.parametrize("name", PINNED)
def test_the_graph_is_as_large_and_as_deep_as_the_catalog_says(name: str) -> None:
    case, found = CASES[name], explored(name)
    assert found.complete
    assert (len(found.graph), found.depth) == (case.distinct, case.depth)
    system = machine(case.constants)
    for each in promised(case):
        assert all(map(system.invariants[each], found.graph.states)), each


def test_a_wrong_handler_shows_in_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    case, handled = CASES["sequencer-f5-repaired"], node.receive_forward
    tagless = Rules(view_tag=False)
    monkeypatch.setattr(node, "receive_forward", lambda _, *args: handled(tagless, *args))
    system = machine(case.constants)
    assert len(explore(system, invariants={}, limit=5000).graph) != case.distinct


def test_a_wrong_handler_shows_in_the_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(rules: Rules, me: Local, coordinator: str, data: Data, place: int) -> node.Answer:
        answer = handled(rules, me, coordinator, data, place)
        if isinstance(answer, Refused):
            return answer
        return Accepted(answer.local._replace(received_table=()), answer.outputs)

    handled = node.receive_data
    monkeypatch.setattr(node, "receive_data", forgetful)
    system = machine(CASES["sequencer-weak-views"].constants)
    violation = explore(system, invariants={"Integrity": system.invariants["Integrity"]}).violation
    assert violation is not None
    assert violation.invariant == "Integrity"


@pytest.mark.parametrize("name", VIOLATED)
def test_what_the_catalog_expects_to_fail_fails_and_its_repair_does_not(name: str) -> None:
    invariant = CASES[name].expected
    violation = explored(name, invariant).violation
    assert violation is not None
    system = machine(CASES[name].constants)
    along = [violation.path.start, *(step.target for step in violation.path.steps)]
    holds = list(map(system.invariants[invariant], along))
    assert holds == [True] * (len(holds) - 1) + [False]
    for before, step in pairwise([None, *violation.path.steps]):
        source = violation.path.start if before is None else before.target
        assert step in list(system.steps(source))
    assert explored(VIOLATED[name], invariant).violation is None


@pytest.mark.java
@pytest.mark.slow  # `raincheck mirror` compares each violation's depth in the audit of the same CI
@pytest.mark.parametrize("name", ["sequencer-f17-seed", "sequencer-f16-uniform-agreement"])
def test_tlc_finds_the_violation_at_the_same_depth(name: str) -> None:
    case = CASES[name]
    found = run_tlc(case.module, case.configuration())
    violation = explored(name, case.expected).violation
    assert violation is not None
    assert (found.violated, len(found.trace)) == (case.expected, len(violation.path.steps) + 1)


def test_every_action_of_the_specification_is_reached() -> None:
    names = ["crash", "leave", "demote", "join", "f11-repaired"]
    reached = {a for name in names for a in explored(f"sequencer-{name}").graph.action_counts()}
    assert reached == {
        *("Send", "ReceiveForward", "ReceiveData", "InstallView", "Join", "Resend"),
        *("Leave", "Stop", "Crash", "Restart", "ViewChange", "Demote"),
    }


# ---------------------------------------------------------------- runs

Input: TypeAlias = Callable[[Local, Run], node.Answer]
"""A handler that takes a run, its other arguments given."""

LIVES = Address("b", 0), Address("c", 0), Address("c", 1)


@cache
def reachable_locals() -> list[Local]:
    """Local states of running members, from graphs in which much happens to them."""
    names = ["sequencer-crash", "sequencer-f11-repaired", "sequencer-f9-repaired"]
    states = (state for name in names for state in explored(name).graph.states)
    return sorted({me for state in states for me in state.locals if node.running(me)})


@st.composite
def locals_(draw: st.DrawFn) -> Local:
    """A reachable local state, with longer tables than a bounded instance can have."""
    me = draw(st.sampled_from(reachable_locals()))
    more = draw(st.integers(0, 4))
    if more and me.status == "member":
        answer = node.send(Rules(hold_sends=False), me, more)
        assert isinstance(answer, Accepted)
        me = answer.local
    return me


@st.composite
def rules_(draw: st.DrawFn) -> Rules:
    """Any choice of repairs."""
    flags = {name: draw(st.booleans()) for name in ("view_tag", "exact_next", "own_table")}
    return Rules(**flags, join_policy=draw(st.sampled_from(["any", "one", "table"])))


def one_by_one(me: Local, run: Run, handle: Input) -> node.Answer:
    """What the handler answers to the messages of the run, one after the other."""
    outputs: list[node.Output] = []
    for single in run.singles():
        answer = handle(me, single)
        if isinstance(answer, Refused):
            assert single.first == run.first, "the first message went through, a later one not"
            return answer
        me = answer.local
        outputs += answer.outputs
    return Accepted(me, tuple(outputs))


def as_singles(answer: node.Answer) -> object:
    """The answer with every run in it taken apart; of a refusal, that it is one."""
    if isinstance(answer, Refused):
        return "refused"
    early = tuple(f._replace(messages=m) for f in answer.local.early for m in f.messages.singles())
    outputs = [
        output._replace(messages=single)
        for output in answer.outputs
        if isinstance(output, Forward | Data | Deliver)
        for single in output.messages.singles()
    ]
    return answer.local._replace(early=early), outputs


def same(me: Local, run: Run, handle: Input) -> bool:
    """Whether the run is handled as its messages are."""
    return as_singles(handle(me, run)) == as_singles(one_by_one(me, run, handle))


runs = st.builds(
    Run, st.sampled_from(LIVES), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5)
)
views = st.integers(0, 4)


@given(rules_(), locals_(), runs, views, st.sampled_from(LIVES))
def test_a_run_of_forwards_is_its_messages(
    rules: Rules, me: Local, run: Run, view: int, sender: Address
) -> None:
    def take(m: Local, r: Run) -> node.Answer:
        return node.receive_forward(rules, m, sender, Forward(r, view, LIVES[0]))

    assert same(me, run, take)


@given(rules_(), locals_(), runs, views, st.sampled_from("abc"))
def test_a_run_of_data_is_its_messages(
    rules: Rules, me: Local, run: Run, view: int, coordinator: str
) -> None:
    assert same(me, run, lambda m, r: node.receive_data(rules, m, coordinator, Data(r, view)))


@given(rules_(), locals_(), st.integers(1, 4))
def test_a_run_that_is_sent_is_its_messages(rules: Rules, me: Local, count: int) -> None:
    run = Run(LIVES[0], 1, count, 1)
    assert same(me, run, lambda m, r: node.send(rules, m, r.size))


@given(rules_(), locals_(), st.data())
def test_a_run_that_is_resent_is_its_messages(rules: Rules, me: Local, data: st.DataObject) -> None:
    me = me._replace(resend=me.forward_table)
    low, high = me.resend[0] if me.resend else (1, 1)
    run = Run(LIVES[0], 1, data.draw(st.integers(1, high - low + 1)), 1)
    assert same(me, run, lambda m, r: node.resend(rules, m, r.size))


@given(locals_(), st.lists(runs, max_size=3))
def test_early_runs_are_sequenced_as_their_messages(me: Local, waiting: list[Run]) -> None:
    mine = node.address(Rules(), me)
    members = (mine, *(who for who in LIVES[:2] if who != mine))
    early = tuple(Forward(run, me.view + 1 + i % 2, mine) for i, run in enumerate(waiting))
    apart = tuple(f._replace(messages=m) for f in early for m in f.messages.singles())
    answers = [
        node.install_view(Rules(), me._replace(early=each), me.view + 1, members)
        for each in (early, apart)
    ]
    assert as_singles(answers[0]) == as_singles(answers[1])


def test_a_handler_that_treats_a_run_wrongly_is_noticed() -> None:
    """It delivers the whole run although part of it is known already."""

    def wrong(me: Local, run: Run) -> node.Answer:
        answer = node.receive_data(Rules(), me, "a", Data(run, me.view))
        if isinstance(answer, Refused) or not answer.outputs:
            return answer
        return Accepted(answer.local, (Deliver(run, me.view),))

    me = node.founder("b", (Address("a", 0), Address("b", 0), Address("c", 0)))
    me = me._replace(received_table=((LIVES[1], 1),))
    run = Run(LIVES[1], 1, 3, 1)
    assert not same(me, run, wrong)
    assert same(me, run, lambda m, r: node.receive_data(Rules(), m, "a", Data(r, m.view)))
