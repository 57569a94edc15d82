"""The proof of SEQUENCER: it succeeds, and it fails where something that it needs is taken away."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import z3

from raincheck.model.proof.bounded import Failure, Search, breaks
from raincheck.model.proof.concrete import Frame
from raincheck.model.proof.induction import Obligation, Theory, attempt, obligations, parameters
from raincheck.model.proof.logic import SORTS
from raincheck.model.sequencer.proof.failure import explanation, reachability, runs_that_break
from raincheck.model.sequencer.proof.theory import theory
from raincheck.model.sequencer.proof.vocabulary import GHOST, MEMBER, SPEC, basis_without

WHOLE = theory()


def unproved(subject: Theory, *transitions: str, seed: int = 1) -> Iterator[Obligation]:
    """The open obligations, of these transitions only if some are named; each costs time."""
    for each in obligations(subject, transitions=transitions or None):
        wanted = not transitions or each.transition in transitions
        if wanted and not attempt(each, seed, 20_000).proved:
            yield each


def failure_of(subject: Theory, each: Obligation):
    conjunct = next(c for c in WHOLE.invariant if c.name == each.claim)
    transition = next(t for t in subject.transitions if t.name == each.transition)
    return Search(subject).failure(conjunct, transition)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_invariant_begins_is_kept_and_implies_the_properties(seed):
    assert list(unproved(WHOLE, seed=seed)) == []


def test_there_is_something_to_prove_for_every_conjunct_action_and_property():
    found = obligations(WHOLE)

    assert {o.claim for o in found if o.kind == "initially"} == {c.name for c in WHOLE.invariant}
    kept = {(o.claim, o.transition) for o in found if o.kind == "kept"}
    assert len(kept) == len(WHOLE.invariant) * len(WHOLE.transitions)
    assert {o.claim for o in found if o.kind == "implied"} == {
        *("TotalOrder", "Agreement", "Integrity", "Fifo", "GapFree", "Fresh", "InView"),
        *("UniformTotalOrder", "UniformAgreement"),
    }
    assert {t.action for t in WHOLE.transitions} == {
        *("Send", "ReceiveForward", "ReceiveData", "InstallView", "Join", "Resend"),
        *("Leave", "Stop", "Crash", "Restart", "ViewChange", "Demote", "Forge"),
        *("Acknowledge", "ReceiveAck", "Announce", "ReceiveSafe"),
    }


def test_history_variables_restrict_nothing():
    """No guard, and no update of a variable of the spec, reads one."""
    s = WHOLE.world()
    for transition in WHOLE.transitions:
        chosen = parameters(transition)
        read = names_in(transition.guard(s, *chosen))
        for name, update in transition.updates(s, *chosen).items():
            if name in SPEC:
                kinds = SPEC[name].arguments
                read |= names_in(update(*(z3.FreshConst(SORTS[kind]) for kind in kinds)))

        assert "status" in read or "view" in read, transition.name
        assert not read & GHOST.keys(), transition.name


def names_in(formula) -> set[str]:
    """The functions that a formula mentions."""
    found, waiting = set(), [formula]
    while waiting:
        term = waiting.pop()
        if z3.is_quantifier(term):
            waiting.append(term.body())
        elif z3.is_app(term):
            found.add(term.decl().name())
            waiting += term.children()
    return found


@pytest.mark.slow  # the audit asks the same of the same theory
def test_every_transition_can_happen_where_the_invariant_holds():
    search = Search(WHOLE)

    assert [t.name for t in WHOLE.transitions if not search.enabled(t)] == []


def test_an_obligation_that_is_false_is_not_proved():
    nothing = Obligation("kept", "False", "Send", (), z3.BoolVal(True))

    assert not attempt(nothing, 1).proved


def test_a_time_out_proves_nothing():
    hard = next(o for o in obligations(WHOLE, transitions=()) if o.claim == "TotalOrder")
    x, y, n = z3.Ints("x y n")
    cubes = z3.And(x > 1, y > 1, x * x * x + y * y * y == n * n * n)

    assert not attempt(replace(hard, assumptions=(), denied=cubes), 1, timeout=50).proved


# ---------------------------------------------------------------------- planted faults


@pytest.mark.parametrize(
    ("undone", "transition"),
    [
        ("VirtualSynchrony", "InstallView"),
        ("ExactNext", "ReceiveData: delivered"),
        ("JoinPolicy", "InstallView"),
        ("Incarnations", "Restart"),
        ("FromMembers", "ReceiveForward: sequenced"),
        ("TrueSources", "Forge"),
        ("TrueContents", "Corrupt"),
    ],
)
def test_without_what_safety_rests_on_a_step_fails_and_the_state_is_shown(undone, transition):
    basis = basis_without([undone])
    subject = theory(basis)

    first_open = next(unproved(subject, transition))
    failure = failure_of(subject, first_open)

    assert failure is not None
    # The state is evaluated, not believed: the invariant holds before, the conjunct not after.
    assert breaks(failure, subject.invariant, failure.before) == failure.after
    text = explanation(failure)
    assert text.startswith("before:\n  view 1:")
    assert f"action: {transition}" in text
    assert f"violated: {first_open.claim}: " in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "undone", ["ViewTag", "HoldSends", "ResendAlways", "OwnTable", "DrainOnLeave"]
)
def test_repairs_that_only_progress_needs_are_not_needed_for_safety(undone):
    assert list(unproved(theory(basis_without([undone])))) == []


@pytest.mark.parametrize(
    ("dropped", "transition"),
    [
        ("SameTable", "ReceiveData: delivered"),
        ("OthersAreRead", "InstallView"),
        ("ReadingItsView", "ViewChange"),
        ("AnswerIsTheTable", "Join"),
        ("UnansweredMissNothing", "ViewChange"),
        ("ForwardsWereSent", "ReceiveForward: sequenced"),
        ("StrangersStayOutside", "ReceiveForward: sequenced"),
        ("TableStep", "ReceiveData: delivered"),
        ("OneLifeAtATime", "ViewChange"),
    ],
)
def test_without_a_conjunct_the_others_are_not_inductive(dropped, transition):
    left = tuple(c for c in WHOLE.invariant if c.name != dropped)
    subject = replace(WHOLE, invariant=left)

    assert any(failure_of(subject, each) is not None for each in unproved(subject, transition))


def test_a_property_is_not_implied_without_the_conjunct_that_it_rests_on():
    left = tuple(c for c in WHOLE.invariant if c.name != "FreshOnce")

    subject = replace(WHOLE, invariant=left)
    goals = [o for o in obligations(subject, transitions=()) if o.kind == "implied"]

    assert "TotalOrder" in {o.claim for o in goals if not attempt(o, 1, 2_000).proved}


def test_a_false_conjunct_comes_with_a_run_that_breaks_it():
    basis = basis_without(["VirtualSynchrony"])
    conjunct = next(c for c in theory(basis).invariant if c.name == "OthersAreRead")

    runs = runs_that_break([conjunct], basis)

    assert runs["OthersAreRead"].actions == ("Send", "Demote", "InstallView")


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ({}, "reachable: after 0 steps"),
        ({"seqno": {(0,): 1}, "said": {(0,): 1}}, "not reachable: it is none of the"),
    ],
)
def test_the_explorer_says_whether_the_state_before_can_be_reached(more, verdict):
    """Two founders at the beginning; and one that has sent, but where is the message?"""
    leave = next(t for t in WHOLE.transitions if t.name == "Leave")
    before = {name: {} for name in WHOLE.symbols} | {
        "status": {(0,): MEMBER, (1,): MEMBER},
        "view": {(0,): 1, (1,): 1},
        "last_view": {(): 1},
        "member": {(1, 0): True, (1, 1): True},
        **more,
    }
    rigid = {
        "node": lambda p: p,
        "incarnation": lambda _: 0,
        "founder": lambda _: True,
        "stranger": lambda _: False,
    }
    domain = {kind: [0, 1, 2] for kind in ("node", "view", "place", "index", "seqno", "number")}
    frame = Frame(WHOLE, {**domain, "process": [0, 1]}, rigid, lambda *_: True, nobody=0)
    failure = Failure(WHOLE.invariant[0], leave, (0,), (0,), before, before, frame)

    assert reachability(failure, basis_without([])).startswith(verdict)
