"""The proof of LOCKS' tables: it succeeds, fails without a rule, and is about the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.locks.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.locks.proof.walks import INSTANCES, instance, walk
from raincheck.model.locks.system import LocksSystem, machine
from raincheck.model.proof.induction import Theory, attempt, obligations

CASES = {case.name: case for case in load_cases() if case.protocol == "locks"}
WHOLE = theory()

BREAKS = {
    "Chained": {("Knows", "Arrive: one post"), ("Knows", "Arrive: all is read")},
    "BeginsOwn": {("Begun", "Arrive: with a place")},
    "NamesParent": {("Knows", "Arrive: one post")},
    "ReadsOn": {("Knows", "Depart: with a post")},
}
"""Steps that are no longer kept without it."""


def open_in(subject: Theory, *claims: str) -> set[tuple[str, str]]:
    """What stays open of these claims, or of all."""
    work = obligations(subject, claims or None)
    tried = (attempt(each, 1, timeout=2_000) for each in work)
    return {
        (each.claim, each.transition)
        for each, answer in zip(work, tried, strict=True)
        if not answer.proved
    }


def test_the_invariant_begins_is_kept_and_implies_the_promise() -> None:
    assert open_in(WHOLE) == set()


def test_the_promises_without_a_proof_are_named() -> None:
    asked = {name for case in CASES.values() for name in case.properties}

    assert {each.name for each in WHOLE.properties} == {"Faithful"}
    assert asked - {"Faithful"} == {
        *("OneWriterOrReaders", "OneCurrent", "FenceUnique", "FencesMonotone", "NobodyPasses"),
        *("TypeOK", "Served", "CatchesUp"),  # the form, and progress
    }


@pytest.mark.parametrize("name", WITHOUT)
def test_without_what_tables_rest_on_a_step_fails(name: str) -> None:
    claims = {claim for claim, _ in BREAKS[name]}
    assert BREAKS[name] <= open_in(theory(basis_without([name])), *claims)


@pytest.mark.slow
@pytest.mark.parametrize("dropped", [each.name for each in WHOLE.invariant])
def test_without_a_conjunct_the_others_are_not_enough(dropped: str) -> None:
    left = tuple(each for each in WHOLE.invariant if each.name != dropped)

    assert open_in(replace(WHOLE, invariant=left)) != set()


# ---------------------------------------------------------------------- the theory and the model


def _system(which: int) -> LocksSystem:
    return instance(machine(CASES["locks-crash"].constants), INSTANCES[which][0])


def test_the_theory_follows_the_runs_of_the_model() -> None:
    taken: Counter[str] = Counter()
    for which, (_, seeds, steps) in enumerate(INSTANCES):
        for seed in seeds[:2]:
            run = walk(_system(which), seed, steps)
            assert run.difference() == ""
            taken.update(run.taken)

    assert set(taken) == {each.name for each in WHOLE.transitions}


@pytest.mark.parametrize("undone", ["chained", "names_parent"])
def test_a_run_without_a_rule_is_not_followed(undone: str) -> None:
    system = _system(0)
    system.rules = replace(system.rules, **{undone: False})

    assert any(walk(system, seed, 120).difference() for seed in range(20))
