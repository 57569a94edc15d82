"""The proof of STABLE: it succeeds, fails without each repair, and is about the model's runs."""

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.composed import Move
from raincheck.model.machine.machine import Value
from raincheck.model.proof.bounded import Search
from raincheck.model.proof.induction import attempt, obligations
from raincheck.model.stable.proof.model import Run
from raincheck.model.stable.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.stable.state import State
from raincheck.model.stable.system import machine

CASES = {case.name: case for case in load_cases()}
WHOLE = theory()

BREAKS = {
    "VoteCheck": ("VotesHold", "ReceiveDigest: later"),
    "ResetOnView": ("VotesHold", "InstallView: member"),
    "AtomicVote": ("VotesHold", "Vote: last"),
    "SuspendOnJoin": ("Suspended", "Suspend"),
    "TrueDigests": ("DigestsHold", "SendDigest: first"),
}
"""A step that is no longer kept without it."""


@pytest.mark.parametrize("seed", [1, 2])
def test_the_invariant_begins_is_kept_and_implies_only_stable_purged(seed: int) -> None:
    found = obligations(WHOLE)

    left_open = [each for each in found if not attempt(each, seed).proved]

    assert left_open == []
    assert {each.claim for each in found if each.kind == "implied"} == {"OnlyStablePurged"}
    kept = [each for each in found if each.kind == "kept"]
    assert len(kept) == len(WHOLE.invariant) * len(WHOLE.transitions)


@pytest.mark.parametrize("name", WITHOUT)
def test_without_a_repair_or_an_assumption_a_step_fails(name: str) -> None:
    subject = theory(basis_without([name]))
    claim, transition = BREAKS[name]

    asked = [o for o in obligations(subject) if (o.claim, o.transition) == (claim, transition)]
    assert any(not attempt(each, 1).proved for each in asked)

    conjunct = next(each for each in subject.invariant if each.name == claim)
    step = next(each for each in subject.transitions if each.name == transition)
    assert Search(subject).failure(conjunct, step) is not None


def test_every_transition_can_happen() -> None:
    search = Search(WHOLE)

    assert [each.name for each in WHOLE.transitions if not search.enabled(each)] == []


EVERYTHING = {
    **CASES["stable-crash"].constants,
    "Nodes": frozenset("abc"),
    "Founders": frozenset("ab"),
    "MaxViews": 5,
    "Senders": frozenset("abc"),
    "MaxSent": 3,
    "Losers": frozenset("bc"),
    "MaxLost": 3,
    "Crashers": frozenset("abc"),
    "Returners": frozenset("abc"),
    "Excluded": frozenset("b"),
    "GivesUp": True,
    "Overtaking": True,
    "Duplication": True,
    "LastMessage": "digest",
}
"""More than any case has: everybody sends, crashes and comes back, datagrams do as they like."""

RARE = {"Crash": 0.05, "Exclude": 0.05, "Resume": 0.2, "Lose": 0.1}


def walk(changes: Mapping[str, Value], seed: int, steps: int = 90) -> Run:
    """A random run of the model, with few ends of processes."""
    system = machine({**EVERYTHING, **changes})
    draw, moves = random.Random(seed), []
    first = state = next(iter(system.initial()))
    for _ in range(steps):
        # Many datagrams make many moves: what is drawn first is an action.
        possible: dict[str, list[Move[State]]] = {}
        for move in system.moves(state):
            possible.setdefault(move.action, []).append(move)
        if not possible:
            break
        weights = [RARE.get(action, 1) for action in possible]
        [action] = draw.choices(list(possible), weights)
        moves.append(draw.choice(possible[action]))
        state = moves[-1].target
    return Run(system, first, moves)


@pytest.mark.parametrize("seeds", [(27, 36), pytest.param((1, 2, 4, 6), marks=pytest.mark.slow)])
def test_the_theory_follows_the_runs_of_the_model(seeds: tuple[int, ...]) -> None:
    taken: Counter[str] = Counter()
    for seed in seeds:
        run = walk({}, seed)
        assert run.difference() == "", seed
        taken.update(run.taken)

    # Nobody's own digest comes back to it, though the theory admits that.
    assert {each.name for each in WHOLE.transitions} - set(taken) == {"ReceiveDigest: first, last"}


@pytest.mark.parametrize(
    ("undone", "value", "told"),
    [
        ("VoteCheck", "any", "the guard of ReceiveDigest"),
        ("ResetOnView", False, "voted differs"),
        ("AtomicVote", False, "voted differs"),
        ("SuspendOnJoin", False, "suspended differs"),
        ("ClearVotes", False, "voted differs"),
    ],
)
def test_a_run_without_a_repair_is_not_followed(undone: str, value: Value, told: str) -> None:
    found = (walk({undone: value}, seed).difference() for seed in range(40))

    assert any(told in difference for difference in found)
