"""The proof of PRIMARY: it succeeds, fails where a rule is missing, and is about the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.primary.handlers import has_majority
from raincheck.model.primary.proof.majorities import WITHOUT as COUNTED
from raincheck.model.primary.proof.majorities import majorities
from raincheck.model.primary.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.primary.proof.walks import FOUNDERS, everything, walk
from raincheck.model.primary.system import machine
from raincheck.model.proof.induction import Theory, attempt, obligations

CASES = {case.name: case for case in load_cases() if case.protocol == "primary"}
WHOLE = theory()

BREAKS = {
    "TwoRounds": ("AllHaveTried", "Form"),
    "Remembers": ("TheOneBefore", "NewView"),
    "FromFormed": ("NoGap", "NewView"),
    "MajoritiesMeet": ("NoGap", "NewView"),
    "OperatorKnows": ("KnownIsOfNow", "Decide: founds"),
}
"""A step that is no longer kept without it."""


def open_in(subject: Theory, claim: str = "", transition: str = "") -> list[tuple[str, str]]:
    """What stays open of these obligations."""
    return [
        (each.claim, each.transition)
        for each in obligations(subject)
        if claim in ("", each.claim) and transition in ("", each.transition)
        if not attempt(each, 1, timeout=2_000).proved
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_invariant_begins_is_kept_and_implies_the_promises(seed: int) -> None:
    left = [
        (each.claim, each.transition)
        for each in obligations(WHOLE)
        if not attempt(each, seed, timeout=20_000).proved
    ]
    assert left == []


@pytest.mark.parametrize("claim", ["NoGap", "TheOneBefore"])
def test_what_a_new_view_has_to_keep_is_proved_with_any_seed(claim: str) -> None:
    work = obligations(WHOLE, [claim], ["NewView"])
    hard = [each for each in work if each.claim == claim and each.kind == "kept"]
    assert hard
    assert all(attempt(each, seed, timeout=20_000).proved for each in hard for seed in range(1, 9))


def test_a_proof_that_rests_on_too_little_stays_open() -> None:
    there = {each.name for each in WHOLE.invariant}
    (claim,) = (each for each in WHOLE.invariant if each.name == "NoGap")
    assert set(claim.rests_on) < there
    less = replace(claim, rests_on=tuple(n for n in claim.rests_on if n != "ViewsRise"))
    invariant = tuple(less if each is claim else each for each in WHOLE.invariant)

    subject = replace(WHOLE, invariant=invariant)
    assert ("NoGap", "NewView") in open_in(subject, "NoGap", "NewView")


def test_the_promises_without_a_proof_are_named() -> None:
    asked = {name for case in CASES.values() for name in case.properties}
    proved = {each.name for each in WHOLE.properties}

    assert proved == {"OneAtANumber", "OneChain", "OneActive", "OneHistory", "Recorded"}
    assert asked - proved == {"TypeOK", "GoesOn", "Settles"}  # the form, and progress


@pytest.mark.parametrize("name", WITHOUT)
def test_without_what_safety_rests_on_a_step_fails(name: str) -> None:
    assert BREAKS[name] in open_in(theory(basis_without([name])), *BREAKS[name])


@pytest.mark.slow
@pytest.mark.parametrize("dropped", [each.name for each in WHOLE.invariant])
def test_without_a_conjunct_the_others_are_not_enough(dropped: str) -> None:
    left = tuple(each for each in WHOLE.invariant if each.name != dropped)
    subject = replace(WHOLE, invariant=left)

    assert any(not attempt(each, 1, timeout=6_000).proved for each in obligations(subject))


# ---------------------------------------------------------------------- majorities


def test_two_majorities_by_votes_share_a_member() -> None:
    assert open_in(majorities()) == []


@pytest.mark.parametrize("name", COUNTED)
def test_majorities_need_not_meet_without(name: str) -> None:
    fails = {"Tie": ("TheyMeet", ""), "RecordedVotes": ("Sums", "Count")}[name]
    assert open_in(majorities(without=name)) == [fails]


def test_the_models_majorities_are_those_of_the_proof() -> None:
    names = "abc"
    sets = [
        [n for n, chosen in zip(names, bits, strict=True) if chosen]
        for bits in product((0, 1), repeat=3)
    ]
    for counts in product((1, 2, 3), repeat=3):
        votes = tuple(zip(names, counts, strict=True))
        found = [set(each) for each in sets if has_majority(votes, each)]  # type: ignore[arg-type]
        assert found
        assert all(one & other for one in found for other in found)


# ---------------------------------------------------------------------- the theory and the model


def test_the_theory_follows_the_runs_of_the_model() -> None:
    taken: Counter[str] = Counter()
    for founders in FOUNDERS:
        system = everything(machine(CASES["primary-partition"].constants), founders)
        run = walk(system, 0)
        assert run.difference() == ""
        taken.update(run.taken)

    assert set(taken) == {each.name for each in WHOLE.transitions}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("undone", "told"),
    [
        ({"remembers": False}, "the guard of Decide: goes on"),
        ({"from_formed": False}, "the guard of Decide: goes on"),
        ({"found_needs": "nothing"}, "the guard of Decide: founds"),
    ],
)
def test_a_run_without_a_rule_is_not_followed(undone: dict[str, object], told: str) -> None:
    system = everything(machine(CASES["primary-partition"].constants))
    system.rules = replace(system.rules, **undone)  # type: ignore[arg-type]
    found = (walk(system, seed).difference() for seed in range(20))

    assert any(told in difference for difference in found)
