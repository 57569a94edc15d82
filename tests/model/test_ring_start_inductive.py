"""The proof of RING_START: it succeeds, fails where a rule is missing, and is about the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.primary.proof.majorities import majorities
from raincheck.model.proof.induction import Theory, attempt, obligations
from raincheck.model.ring_start.handlers import Rules, majority
from raincheck.model.ring_start.proof.model import quorums
from raincheck.model.ring_start.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.ring_start.proof.walks import CASE, INSTANCES, instance, walk
from raincheck.model.ring_start.system import machine

CASES = {case.name: case for case in load_cases() if case.protocol == "ring_start"}
WHOLE = theory()

BREAKS = {
    "FoundNeeds": {("LatestIsDone", "Hear: proposes")},
    "AsksTwice": {("LatestIsDone", "Hear: proposes"), ("LatestIsHeld", "Hear: proposes")},
    "AsksAnew": {("HeardAsksAnew", "Hear: neither"), ("LateAsksAnew", "Delay")},
    "Records": {("DoneByMajority", "Hear: completes")},
    "Lives": {("GoneIsOver", "Lose"), ("GoneIsOver", "Leave")},
    "LeaverRemembers": {("LatestIsDone", "Hear: proposes")},
    "MajorityKeeps": {("MajorityRemembers", "Lose")},
    "MajoritiesMeet": {("SomebodyRemembers", "Hear: completes"), ("SomebodyRemembers", "Lose")},
}
"""Steps that are no longer kept without it."""


def open_in(subject: Theory, *claims: str, seed: int = 1) -> set[tuple[str, str]]:
    """What stays open of these claims, or of all."""
    work = obligations(subject, claims or None)
    return {
        (each.claim, each.transition)
        for each in work
        if not attempt(each, seed, timeout=2_000).proved
    }


@pytest.mark.slow  # the audit proves the same with the same seeds
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_invariant_begins_is_kept_and_implies_the_promises(seed: int) -> None:
    assert open_in(WHOLE, seed=seed) == set()


def test_the_promises_without_a_proof_are_named() -> None:
    asked = {name for case in CASES.values() for name in case.properties}
    proved = {each.name for each in WHOLE.properties}

    assert proved == {"OneFounding", "OneRing", "OneSpeaker", "Recorded"}
    assert asked - proved == {"TypeOK", "Starts"}  # the form, and progress


@pytest.mark.parametrize("name", WITHOUT)
def test_without_what_safety_rests_on_a_step_fails(name: str) -> None:
    claims = {claim for claim, _ in BREAKS[name]}
    assert BREAKS[name] <= open_in(theory(basis_without([name])), *claims)


@pytest.mark.slow
@pytest.mark.parametrize("dropped", [each.name for each in WHOLE.invariant])
def test_without_a_conjunct_the_others_are_not_enough(dropped: str) -> None:
    left = tuple(each for each in WHOLE.invariant if each.name != dropped)

    work = obligations(replace(WHOLE, invariant=left))
    assert any(not attempt(each, 1, timeout=2_000).proved for each in work)


def test_majorities_of_the_model_are_those_of_which_primarys_theorem_speaks() -> None:
    assert open_in(majorities()) == set()
    for members in ("a", "ab", "abc", "abcde"):
        system = instance(machine(CASES[CASE].constants), {}, members)
        found = quorums(system)
        rules = Rules(members=frozenset(members))
        assert found
        assert all(majority(rules, each) for each in found)
        assert all(one & other for one, other in product(found, repeat=2))


# ---------------------------------------------------------------------- the theory and the model


def test_the_theory_follows_the_runs_of_the_model() -> None:
    taken: Counter[str] = Counter()
    for changes, members, seeds, steps in INSTANCES:
        system = instance(machine(CASES[CASE].constants), changes, members)
        for seed in list(seeds)[:3]:
            run = walk(system, seed, steps)
            assert run.difference() == "", seed
            taken.update(run.taken)

    assert set(taken) == {each.name for each in WHOLE.transitions}


@pytest.mark.parametrize(
    ("undone", "told"),
    [
        ({"found_needs": "majority"}, "the guard of Hear: "),
        ({"asks_twice": False}, "the guard of Hear: proposes"),
        ({"records": False}, "the guard of Hear: completes"),
        ({"leaver_remembers": False}, "the guard of Hear: all have answered once"),
    ],
)
def test_a_run_without_a_rule_is_not_followed(undone: dict[str, Any], told: str) -> None:
    changes, members, _, steps = INSTANCES[0]
    system = instance(machine(CASES[CASE].constants), changes, members, **undone)
    found = (walk(system, seed, steps).difference() for seed in range(40))

    assert any(told in difference for difference in found)


def test_a_memory_that_a_majority_has_lost_is_not_followed() -> None:
    changes, members, _, steps = INSTANCES[0]
    system = instance(machine(CASES[CASE].constants), {**changes, "majority_keeps": False}, members)
    found = (walk(system, seed, steps).difference() for seed in range(40))

    assert any("the guard of Lose" in difference for difference in found)
