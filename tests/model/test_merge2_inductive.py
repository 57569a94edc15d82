"""The proof of MERGE2: it succeeds, fails where a rule is missing, and is about the model."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.composed import Move
from raincheck.model.machine.rows import with_
from raincheck.model.merge2.events import NO_MERGE, Suspend
from raincheck.model.merge2.handlers import Local
from raincheck.model.merge2.proof.model import beginning, reading, renamed
from raincheck.model.merge2.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.merge2.proof.walks import EVERYTHING
from raincheck.model.merge2.state import State
from raincheck.model.merge2.system import Merge2System, machine
from raincheck.model.proof.bounded import Search, breaks
from raincheck.model.proof.concrete import Tables
from raincheck.model.proof.induction import Obligation, Theory, attempt, obligations
from raincheck.model.proof.ties import walked

CASES = {case.name: case for case in load_cases() if case.protocol == "merge2"}
WHOLE = theory()


def unproved(subject: Theory, seed: int = 1) -> Iterator[Obligation]:
    """The open obligations one by one: each costs a solver's time."""
    return (each for each in obligations(subject) if not attempt(each, seed).proved)


@pytest.mark.slow  # the audit proves the same with the same seeds
@pytest.mark.parametrize("seed", [1, 2])
def test_the_invariant_begins_is_kept_and_implies_the_promises(seed: int) -> None:
    assert list(unproved(WHOLE, seed)) == []


def test_the_promises_without_a_proof_are_named() -> None:
    asked = {name for case in CASES.values() for name in case.properties}
    proved = {each.name for each in WHOLE.properties}

    assert proved == {
        *("OneViewPerId", "Monotone", "OneViewPerMerge", "MembersAreThere", "AcksBeforeResume"),
        *("OneCoordinator", "InOrder", "OneView", "SameMessages", "AtTheCut", "AllOrNothing"),
    }
    assert asked - proved == {
        "FewMerges",  # compares two numbers of things, which are not said here
        *("TypeOK", "OneGroup", "GoesOn"),  # the form, and progress
    }


def test_every_action_is_spoken_of_that_changes_what_the_proof_speaks_of() -> None:
    assert {each.action for each in WHOLE.transitions} == {
        *("Merge", "ReceiveMergeReq", "Flushed", "Decide", "ReceiveInstallMergeView"),
        *("InstallView", "SideInstalled", "Finish", "ReceiveResume", "Suspect", "ReceiveCancel"),
        *("ReceiveMergeRsp", "ReceiveInstalled", "Resend", "ViewChange", "Deliver", "Crash"),
        "Multicast",
    }


BREAKS = {
    "Promotes": ("OneCoordinator", "InstallView"),
    "Fresh": ("DecidedOnce", "Merge"),
    "StaysOut": ("ReplyOfItsView", "ReceiveMergeReq"),
    "AfterResume": ("AnswersAreReleased", "Merge"),
    "Frozen": ("NoComer", "InstallView"),
    "IdOfLeader": ("OneId", "Decide: a view"),
    "Flush": ("SideIsClosed", "Flushed"),
    "VirtualSynchrony": ("AnsweredReadAlike", "Flushed"),
    "ChecksView": ("HeardIsRead", "Deliver"),
}
"""A step that is no longer kept without it."""


@pytest.mark.parametrize("name", WITHOUT)
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


QUICK: Final = ("DecidedOnce", "ToldOthers")
"""What fails soon; the others take longer."""


@pytest.mark.parametrize(
    "dropped",
    [
        pytest.param(each.name, marks=[] if each.name in QUICK else [pytest.mark.slow])
        for each in WHOLE.invariant
    ],
)
def test_without_a_conjunct_the_others_are_not_enough(dropped: str) -> None:
    left = tuple(each for each in WHOLE.invariant if each.name != dropped)

    assert next(unproved(replace(WHOLE, invariant=left)), None) is not None


# ---------------------------------------------------------------------- the theory and the model


def _run(system: Merge2System, seed: int) -> tuple[State, list[Move[State]]]:
    return renamed(walked(system, seed, 90, lambda _state, _move: 1))


def _everything() -> Merge2System:
    return Merge2System(replace(machine(CASES["merge2-two"].constants).constants, **EVERYTHING))


def test_the_invariant_holds_along_the_runs_of_the_model() -> None:
    system, asked = _everything(), 0
    for seed in range(6):
        first, moves = _run(system, seed)
        read = reading(system, [first, *(move.target for move in moves)])
        reached = [beginning(read, first)]
        edges = list(read.followed(reached[0], moves, reached))
        assert [edge for edge in edges if edge.refused] == []
        for tables in reached[::6]:
            world = read.frame.world(tables)
            assert [c.name for c in WHOLE.invariant if c.formula(world) is not True] == []
            asked += 1
    assert asked > 40


def test_no_two_merges_of_a_run_have_one_name() -> None:
    system, again = machine(CASES["merge2-rivals"].constants), 0
    for seed in range(20):
        plain = walked(system, seed, 90, lambda _state, _move: 1)
        _, moves = renamed(plain)
        begun = [
            move.target.locals[system.index[str(move.args[0])]].merge
            for move in moves
            if Suspend() in move.outputs and move.action == "Merge"
        ]
        assert NO_MERGE not in begun
        assert len(begun) == len(set(begun))
        again += any(ours.target != move.target for ours, move in zip(moves, plain[1], strict=True))
    assert again > 0


DAMAGE: Final[Mapping[str, Callable[[Local], Local]]] = {
    "coordinates": lambda me: me._replace(coordinates=not me.coordinates),
    "stage": lambda me: me._replace(stage="idle" if me.stage == "answered" else "answered"),
    "view": lambda me: me._replace(view=me.view._replace(members=())),
}
"""What becomes of a member that takes no step."""


@pytest.mark.parametrize("variable", DAMAGE)
def test_a_damaged_step_is_no_step_of_the_theory(variable: str) -> None:
    system = _everything()
    first, moves = _run(system, 1)
    read = reading(system, [first, *(move.target for move in moves)])
    reached, asked = list[Tables](), 0
    c = system.index["c"]
    for edge, move in zip(
        read.followed(beginning(read, first), moves, reached), moves, strict=False
    ):
        if move.args[:1] == ("c",) or not edge.taken or move.target.status[c] != "member":
            continue
        wrong = with_(move.target.locals, c, DAMAGE[variable](move.target.locals[c]))
        damaged = read.tables(move.target._replace(locals=wrong))
        assert read.admitted(move, reached[-1], damaged) is None
        asked += 1
    assert asked > 10
