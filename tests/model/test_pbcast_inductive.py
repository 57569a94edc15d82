"""The proof of PBCAST: it succeeds, fails without each repair, and is about the model's runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import z3

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.runs import Address
from raincheck.model.pbcast.proof.model import Copy
from raincheck.model.pbcast.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.pbcast.proof.walks import everything, walk
from raincheck.model.pbcast.system import PbcastSystem, machine
from raincheck.model.proof.bounded import Search
from raincheck.model.proof.induction import Obligation, Theory, attempt, obligations
from raincheck.model.proof.logic import And, Bounded, Not, World

CASES = {case.name: case for case in load_cases() if case.protocol == "pbcast"}
WHOLE = theory()

BREAKS = {
    "Gathers": ("GatheredHolds", "ReceiveGossip: some are left"),
    "ViewCheck": ("GatheredHolds", "ReceiveGossip: some are left"),
    "CutOfAMember": ("OriginHasLeft", "InstallView: coordinator"),
}
"""A step that is no longer kept without it."""


def unproved(subject: Theory, seed: int = 1) -> Iterator[Obligation]:
    """The open obligations one by one: each costs a solver's time."""
    return (each for each in obligations(subject) if not attempt(each, seed).proved)


@pytest.mark.slow  # the audit proves the same with the same seeds
@pytest.mark.parametrize("seed", [1, 2])
def test_the_invariant_begins_is_kept_and_implies_only_stable_purged(seed: int) -> None:
    assert list(unproved(WHOLE, seed)) == []
    found = obligations(WHOLE)
    assert {each.claim for each in found if each.kind == "implied"} == {"OnlyStablePurged"}


@pytest.mark.parametrize("name", WITHOUT)
def test_without_a_repair_or_an_assumption_a_step_fails(name: str) -> None:
    subject = theory(basis_without([name]))
    claim, transition = BREAKS[name]

    asked = obligations(subject, {claim}, {transition})
    assert any(not attempt(each, 1).proved for each in asked if each.claim == claim)

    conjunct = next(each for each in subject.invariant if each.name == claim)
    step = next(each for each in subject.transitions if each.name == transition)
    assert Search(subject).failure(conjunct, step) is not None


@pytest.mark.parametrize("dropped", [each.name for each in WHOLE.invariant])
def test_without_a_conjunct_the_others_are_not_enough(dropped: str) -> None:
    left = tuple(each for each in WHOLE.invariant if each.name != dropped)

    assert next(unproved(replace(WHOLE, invariant=left)), None) is not None


@pytest.mark.slow  # the audit asks the same of the same theory
def test_every_transition_can_happen() -> None:
    search = Search(WHOLE)

    assert [each.name for each in WHOLE.transitions if not search.enabled(each)] == []


# ---------------------------------------------------------------------- any lag


def test_without_the_gathered_digests_no_lag_is_enough() -> None:
    """A run of three members, for a lag that is any number: it purges what c has not delivered."""
    subject = theory(basis_without(["Gathers"]))
    a, b, c = processes = [Address(name, 0) for name in "abc"]
    lag = z3.Int("lag")
    said = ((a, lag + 1),)
    copies = [Copy(1, frozenset(seen), said, said) for seen in ((a,), (a, c), (a, b, c))]
    bounded = Bounded({"process": processes, "view": [1, 2], "copy": copies, "number": [0, 1]})
    rigid: dict[str, Any] = {
        "founder": lambda _: True,
        "lag": lambda _: lag,
        "of_view": lambda copy: copy.view,
        "seen": lambda copy, p: p in copy.seen,
        "digest": lambda _copy, x: lag + 1 if x == a else 0,
        "lowest": lambda _copy, x: lag + 1 if x == a else 0,
    }
    world = World({**rigid, **subject.initial(World(rigid, bounded))[1]}, bounded)
    by_name = {each.name: each for each in subject.transitions}
    guards: list[Any] = []
    for name, parameters in (
        ("Deliver", (a, a, lag + 1)),
        ("Deliver", (b, a, lag + 1)),
        ("SendGossip", (a, copies[0])),
        ("ReceiveGossip: some are left", (c, copies[0], copies[0], copies[1])),
        ("ReceiveGossip: all have seen it", (b, copies[1], copies[1], copies[2])),
    ):
        guards.append(by_name[name].guard(world, *parameters))
        world = world.after(by_name[name].updates(world, *parameters))
    holds = subject.properties[0].formula(world)

    solver = z3.Solver()
    solver.add(lag >= 0, Not(And(*guards, Not(holds))))
    assert solver.check() == z3.unsat
    solver.reset()
    solver.add(lag >= 0, And(*guards), Not(holds))
    assert solver.check() == z3.sat


# ---------------------------------------------------------------------- the theory and the model


def system(**rules: Any) -> PbcastSystem:
    whole = everything(machine(CASES["pbcast-f1-repaired"].constants))
    constants = whole.constants
    return PbcastSystem(replace(constants, rules=replace(constants.rules, **rules)))


def test_the_theory_follows_the_runs_of_the_model() -> None:
    taken: Counter[str] = Counter()
    for seed in range(8):
        run = walk(system(), seed)
        assert run.difference() == "", seed
        taken.update(run.taken)

    assert set(taken) == {each.name for each in WHOLE.transitions}


@pytest.mark.parametrize(
    ("undone", "told"),
    [
        ({"gathers": False}, "the guard of ReceiveGossip"),
        ({"view_check": "members"}, "the guard of ReceiveGossip"),
    ],
)
def test_a_run_without_a_repair_is_not_followed(undone: dict[str, Any], told: str) -> None:
    found = (walk(system(**undone), seed).difference() for seed in range(40))

    assert any(told in difference for difference in found)


@pytest.mark.parametrize("undone", [{"merges": False}, {"latest": False}, {"ask_whom": "relay"}])
def test_what_the_theorem_does_not_rest_on_may_be_undone(undone: dict[str, Any]) -> None:
    assert [walk(system(**undone), seed).difference() for seed in range(3)] == ["", "", ""]
