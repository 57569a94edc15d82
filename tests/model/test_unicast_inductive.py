"""The proof of UNICAST: it succeeds, fails where a repair is missing, and is about the model."""

from dataclasses import replace
from random import Random

import pytest

from raincheck.model.proof.bounded import Search, breaks
from raincheck.model.proof.induction import attempt, obligations
from raincheck.model.unicast.proof.model import HISTORY, instance, reading, tables_of
from raincheck.model.unicast.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.unicast.proof.words import SPEC

WHOLE = theory()
PROPERTIES = {
    *("ReliableFifoUnicast", "NothingStale", "BoundedBuffers", "WindowKept", "KeptUntilArrived"),
}


def unproved(subject, seed=1, transition=None):
    """The open obligations one by one: each costs a solver's time."""
    for each in obligations(subject, transitions=transition and {transition}):
        wanted = transition in (None, each.transition)
        if wanted and not attempt(each, seed, 20_000).proved:
            yield each


@pytest.mark.slow  # the audit proves the same with seeds 1 and 2
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_invariant_begins_is_kept_and_implies_the_promises(seed):
    assert list(unproved(WHOLE, seed)) == []


def test_every_promise_and_every_action_is_spoken_of():
    found_ = obligations(WHOLE)

    assert {o.claim for o in found_ if o.kind == "implied"} == PROPERTIES
    assert {t.action for t in WHOLE.transitions} == {
        *("Send", "Receive", "Consume", "Acknowledge", "ReceiveAck", "Retransmit", "Forget"),
    }


@pytest.mark.slow  # the audit asks the same of the same theory
def test_every_transition_can_happen_where_the_invariant_holds():
    search = Search(WHOLE)

    assert [t.name for t in WHOLE.transitions if not search.enabled(t)] == []


@pytest.mark.parametrize(
    ("undone", "transition"),
    [
        ("Incarnations", "Restart: under the old address"),
        ("ConnectionIds", "Send: begins a connection"),
        ("NewerConnections", "Receive: first"),
        ("AckConnection", "ReceiveAck: counts"),
        ("RememberClosed", "Forget: by the receiver"),
        ("ConsumedWindow", "Receive: kept"),
    ],
)
def test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown(undone, transition):
    subject = theory(basis_without([undone]))
    still_open = list(unproved(subject, transition=transition))
    assert still_open

    steps = {each.name: each for each in subject.transitions}
    conjuncts = {each.name: each for each in subject.invariant}
    search = Search(subject)
    failures = [
        found_
        for each in still_open
        if (found_ := search.failure(conjuncts[each.claim], steps[transition])) is not None
    ]

    assert failures
    assert breaks(failures[0], subject.invariant, failures[0].before) == failures[0].after


@pytest.mark.parametrize("undone", ["Duplicates", "AckDuplicates", "Timer", "Probe"])
def test_repairs_that_only_progress_needs_are_not_needed_for_safety(undone):
    assert undone in WITHOUT
    assert list(unproved(theory(basis_without([undone])))) == []


@pytest.mark.parametrize(
    "dropped", ["DataWereSent", "AcksAreTrue", "AckedWithinWindow", "ArrivedIsThere", "HeardRight"]
)
def test_without_a_conjunct_the_others_are_not_inductive(dropped):
    left = tuple(each for each in WHOLE.invariant if each.name != dropped)

    assert next(unproved(replace(WHOLE, invariant=left)), None) is not None


# ---------------------------------------------------------------------- the theory and the model

COMPARED = [name for name in SPEC if name not in HISTORY]


def test_every_edge_of_the_model_is_a_step_of_the_theory_and_damaged_ones_are_not():
    machine = instance()
    read = reading(machine)
    frame = read.frame
    random = Random(1)
    start = next(iter(machine.initial()))
    known = {start: {**tables_of(machine, start), "place": {}}}
    states, edges, damaged, holding = [start], 0, 0, 0
    for state in states:
        before = known[state]
        if random.random() < 0.1:
            s = frame.world(before)
            assert [c.name for c in WHOLE.invariant if c.formula(s) is not True] == []
            holding += 1
        for move in machine.moves(state):
            if move.target in known and random.random() > 0.1:
                continue
            target = tables_of(machine, move.target)
            admission = read.admitted(move, before, target)
            assert admission is not None, (move.action, move.args, state)
            taken, after = admission
            assert taken is not None or move.action == "Lose"
            edges += 1
            if move.target not in known:
                known[move.target] = {**target, **{name: after.get(name, {}) for name in HISTORY}}
                states.append(move.target)
            wrong = tables_of(machine, random.choice(states))
            if frame.differs(wrong, target, COMPARED) is not None and random.random() < 0.1:
                assert read.admitted(move, before, wrong) is None
                damaged += 1
    assert len(known) == len(states) == 3258  # those of the model
    assert edges > 1000
    assert damaged > 50
    assert holding > 50
