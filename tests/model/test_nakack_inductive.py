"""The proof of NAKACK: it succeeds, fails where a repair is missing, and is about the model."""

from dataclasses import replace
from random import Random

import pytest

from raincheck.model.nakack.proof.model import HISTORY, instance, reading, tables_of
from raincheck.model.nakack.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.nakack.proof.words import SPEC
from raincheck.model.proof.bounded import Search, breaks
from raincheck.model.proof.induction import attempt, obligations

WHOLE = theory()
PROPERTIES = {
    *("Contiguous", "OnlyMembers", "SendingView", "NoCreation", "Agreement", "Recoverable"),
    "AcksAreTrue",
}


def unproved(subject, seed=1, transition=None):
    """The open obligations one by one: each costs a solver's time."""
    for each in obligations(subject, transitions=transition and {transition}):
        wanted = transition in (None, each.transition)
        if wanted and not attempt(each, seed, 20_000).proved:
            yield each


@pytest.mark.slow  # the audit proves the same with the same seeds
@pytest.mark.parametrize("seed", [1, 2])
def test_the_invariant_begins_is_kept_and_implies_the_promises(seed):
    assert list(unproved(WHOLE, seed)) == []


def test_every_promise_and_every_action_is_spoken_of():
    found = obligations(WHOLE)

    assert {o.claim for o in found if o.kind == "implied"} == PROPERTIES
    assert {t.action for t in WHOLE.transitions} == {
        *("Multicast", "ReceiveData", "ReceiveAlive", "HeardOf", "Deliver", "Acknowledge"),
        *("Purge", "Freeze", "Fetch", "InstallView", "Join", "Crash", "ViewChange", "Forge"),
    }


@pytest.mark.slow  # the audit asks the same of the same theory
def test_every_transition_can_happen_where_the_invariant_holds():
    search = Search(WHOLE)

    assert [t.name for t in WHOLE.transitions if not search.enabled(t)] == []


@pytest.mark.parametrize(
    ("undone", "transition", "claim"),
    [
        ("VirtualSynchrony", "InstallView", "HeardOut"),
        ("ViewTag", "Deliver", "PassedUp"),
        ("MembersOnly", "ReceiveData: of a non-member", "Reads"),
        ("DigestMeans", "Join", "Reads"),
        ("Freezing", "Freeze", "FrozenEnds"),
        ("CutBy", "ViewChange", "FrozenAtTheCut"),
        ("SafePurge", "Purge", "PurgedIsStable"),
        ("FromMembers", "ReceiveData: kept", "HeldWereSent"),
        ("TrueSources", "Forge: a member's multicast", "DataWereSent"),
        ("DatagramsUnaltered", "Corrupt: an acknowledgement", "ToldIsTrue"),
    ],
)
def test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown(
    undone, transition, claim
):
    subject = theory(basis_without([undone]))
    assert claim in (each.claim for each in unproved(subject, transition=transition))

    [step] = [each for each in subject.transitions if each.name == transition]
    [conjunct] = [each for each in subject.invariant if each.name == claim]
    failure = Search(subject).failure(conjunct, step)

    assert failure is not None
    assert breaks(failure, subject.invariant, failure.before) == failure.after


def test_who_hears_everybody_need_not_keep_what_it_has_not_delivered():
    assert "KeepUndelivered" in WITHOUT
    assert list(unproved(theory(basis_without(["KeepUndelivered"])))) == []


@pytest.mark.parametrize(
    "dropped",
    ["Cut", "CutsRise", "BehindTheCut", "NoSecondStream", "FrozenIsWhole", "ToldIsTrue"],
)
def test_without_a_conjunct_the_others_are_not_inductive(dropped):
    left = tuple(each for each in WHOLE.invariant if each.name != dropped)
    assert len(left) == len(WHOLE.invariant) - 1

    assert next(unproved(replace(WHOLE, invariant=left)), None) is not None


# ---------------------------------------------------------------------- the theory and the model

COMPARED = [name for name in SPEC if name not in HISTORY]
SILENT = {"Announce", "Ask", "ReceiveNak", "Lose"}


STATES = {0: 3766, 2: 4013}
"""Return the number of states that the model has with that source."""


@pytest.mark.parametrize("source", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_every_edge_of_the_model_is_a_step_of_the_theory_and_damaged_ones_are_not(source):
    machine = instance(senders=frozenset("abc"[source]))
    read = reading(machine, source)
    frame = read.frame
    random = Random(1)
    start = next(iter(machine.initial()))
    known = {start: tables_of(machine, start, source)}
    states, steps, damaged, holding = [start], 0, 0, 0
    for state in states:
        before = known[state]
        if random.random() < 0.1:
            s = frame.world(before)
            assert [c.name for c in WHOLE.invariant if c.formula(s) is not True] == []
            holding += 1
        for move in machine.moves(state):
            if move.target in known and random.random() > 0.1:
                continue
            target = tables_of(machine, move.target, source)
            same = frame.differs(before, target, COMPARED) is None
            admission = read.admitted(move, before, target)
            assert admission is not None, (move.action, move.args, state)
            taken, after = admission
            assert taken is None or move.action not in SILENT
            steps += not same
            if move.target not in known:
                history = {name: after.get(name, {}) for name in HISTORY}
                known[move.target] = {**target, **history}
                states.append(move.target)
            wrong = tables_of(machine, random.choice(states), source)
            elsewhere = all(frame.differs(wrong, each, COMPARED) for each in (before, target))
            if elsewhere and random.random() < 0.05:
                damaged += read.admitted(move, before, wrong) is None
    assert len(known) == len(states) == STATES[source]
    assert steps > 400
    assert damaged > 10
    assert holding > 20
