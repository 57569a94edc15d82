"""The proof of FRAG: it succeeds, fails where a rule is missing, and is about the model."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from random import Random

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.frag.proof.model import began, reading, tables_of
from raincheck.model.frag.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.frag.proof.words import SPEC
from raincheck.model.frag.system import machine
from raincheck.model.machine.explore import explore
from raincheck.model.proof.bounded import Search, breaks
from raincheck.model.proof.induction import Obligation, Theory, attempt, obligations

CASES = {case.name: case for case in load_cases()}
WHOLE = theory()
PROPERTIES = {
    *("Whole", "NoDuplicates", "OneView", "TotalOrder", "SameMessages"),
    *("GivenUpIsGone", "Bounded"),
}


def unproved(subject: Theory, seed: int = 1) -> Iterator[Obligation]:
    """The open obligations one by one: each costs a solver's time."""
    return (each for each in obligations(subject) if not attempt(each, seed).proved)


@pytest.mark.slow  # the audit proves the same with the same seeds
@pytest.mark.parametrize("seed", [1, 2])
def test_the_invariant_begins_is_kept_and_implies_the_promises(seed: int) -> None:
    assert list(unproved(WHOLE, seed)) == []


def test_every_promise_that_is_asked_of_the_protocol_and_every_action_is_spoken_of() -> None:
    mine = [case for case in CASES.values() if case.protocol == "frag" and case.expected == "holds"]
    asked = {name for case in mine for name in case.properties}

    assert asked - PROPERTIES == {"TypeOK", "AllDelivered"}  # the form, and progress
    assert {each.name for each in WHOLE.properties} == PROPERTIES
    assert {each.action for each in WHOLE.transitions} == {
        *("Send", "SendFragment", "GiveUp", "ReceiveFragment", "ReceiveGiveUp", "InstallView"),
        *("Sequence", "ViewChange", "Crash"),
    }


BREAKS = {
    "OneSequence": ("SameKept", "ReceiveFragment: dropped"),
    "VirtualSynchrony": ("SenderIsDone", "InstallView: with joiners"),
    "BeginAnew": ("SameKept", "InstallView: a joiner"),
    "ChecksEpoch": ("CompletedOnce", "Sequence: fragment"),
    "ForgetsDeparted": ("KeptOfMembers", "ViewChange: without joiners"),
}
"""A step that is no longer kept without it."""


@pytest.mark.parametrize("name", BREAKS)
def test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown(name: str) -> None:
    subject = theory(basis_without([name]))
    claim, transition = BREAKS[name]

    asked = [o for o in obligations(subject) if (o.claim, o.transition) == (claim, transition)]
    assert any(not attempt(each, 1).proved for each in asked)

    conjunct = next(each for each in subject.invariant if each.name == claim)
    step = next(each for each in subject.transitions if each.name == transition)
    failure = Search(subject).failure(conjunct, step)
    assert failure is not None
    assert breaks(failure, subject.invariant, failure.before) == failure.after


def test_what_only_progress_needs_is_not_needed_for_safety() -> None:
    assert set(WITHOUT) - set(BREAKS) == {"UntilDelivered"}
    assert list(unproved(theory(basis_without(["UntilDelivered"])))) == []


@pytest.mark.parametrize(
    "dropped", ["OneEpoch", "OnePlace", "KeptFollows", "NotBegunAgain", "SameKept", "AllIsHeard"]
)
def test_without_a_conjunct_the_others_are_not_inductive(dropped: str) -> None:
    left = tuple(each for each in WHOLE.invariant if each.name != dropped)

    assert next(unproved(replace(WHOLE, invariant=left)), None) is not None


# ---------------------------------------------------------------------- the theory and the model


@pytest.mark.parametrize(
    ("case", "taken"),
    [
        ("frag-f1-repaired", {"InstallView: a joiner", "ReceiveFragment: dropped"}),
        ("frag-give-up", {"GiveUp", "Sequence: given up", "ReceiveGiveUp"}),
        ("frag-crash-of-sender", {"Crash", "ViewChange: without joiners"}),
        ("frag-unordered", {"ReceiveFragment: dropped", "ReceiveFragment: delivered"}),
    ],
)
def test_every_edge_is_a_step_of_the_theory_and_damaged_ones_are_not(
    case: str, taken: set[str]
) -> None:
    system = machine(CASES[case].constants)
    graph = explore(system, limit=5_000, invariants={}).graph
    read, random = reading(system, graph.states), Random(1)
    first = graph.states[0]
    known, waiting = {first: began(read, first)}, [first]
    found, damaged, holding = Counter[str](), 0, 0
    for state in islice(waiting, 400):
        before = known[state]
        if random.random() < 0.05:
            world = read.frame.world(before)
            assert [c.name for c in WHOLE.invariant if c.formula(world) is not True] == []
            holding += 1
        for move in system.moves(state):
            target = tables_of(system, move.target)
            admission = read.admitted(move, before, target)
            assert admission is not None, (move.action, move.args, state)
            step, after = admission
            assert step is not None
            found[step.transition] += 1
            if move.target not in known:
                history = {name: after.get(name, {}) for name in read.history}
                known[move.target] = {**target, **history}
                waiting.append(move.target)
            wrong = tables_of(system, random.choice(graph.states))
            if random.random() < 0.1 and read.frame.differs(wrong, target, list(SPEC)):
                assert read.admitted(move, before, wrong) is None
                damaged += 1
    assert len(known) >= min(400, len(graph.states))
    assert taken <= set(found)
    assert damaged > 5
    assert holding > 2


@pytest.mark.parametrize(
    ("case", "rule", "refused"),
    [
        ("frag-f1-undone", "UntilDelivered", {"SendFragment"}),
        ("frag-f2-undone", "BeginAnew", {"InstallView"}),
        ("frag-f3-undone", "ChecksEpoch", {"ReceiveFragment"}),
        ("frag-f4-undone", "ForgetsDeparted", {"InstallView"}),
        ("frag-no-virtual-synchrony", "VirtualSynchrony", {"InstallView"}),
    ],
)
def test_a_step_without_a_rule_is_no_step_of_the_theory(
    case: str, rule: str, refused: set[str]
) -> None:
    values = CASES[case].constants
    assert values[rule] is False
    system = machine(values)
    states = explore(system, limit=400, invariants={}).graph.states
    read = reading(system, states)

    found = {
        move.action
        for state in states
        for move in system.moves(state)
        if read.admitted(move, began(read, state), tables_of(system, move.target)) is None
    }

    assert found == refused
