"""The proof of TOTAL: it succeeds, fails where a rule is missing, and is about the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.model.machine.composed import Move
from raincheck.model.machine.rows import with_
from raincheck.model.proof.concrete import Tables
from raincheck.model.proof.induction import attempt, obligations
from raincheck.model.proof.ties import walked
from raincheck.model.total.handlers import Local
from raincheck.model.total.proof.model import began, reading
from raincheck.model.total.proof.theory import WITHOUT, basis_without, theory
from raincheck.model.total.proof.walks import EVERYTHING
from raincheck.model.total.state import State
from raincheck.model.total.system import TotalSystem, machine

CASES = {case.name: case for case in load_cases() if case.protocol == "total"}
WHOLE = theory()


@pytest.mark.slow  # the audit proves the same
def test_the_invariant_begins_is_kept_and_implies_the_promises() -> None:
    assert [each for each in obligations(WHOLE) if not attempt(each, 1).proved] == []


def test_the_promises_without_a_proof_are_named() -> None:
    asked = {name for case in CASES.values() for name in case.properties}
    proved = {each.name for each in WHOLE.properties}

    assert proved == {
        *("TotalOrder", "Prefix", "Agreement", "Integrity", "NoCreation", "Fifo", "GapFree"),
        *("InView", "UniqueIds", "Recoverable"),
    }
    assert asked - proved == {
        *("UniformTotalOrder", "UniformAgreement", "FlushDelivers"),  # not true
        *("TypeOK", "Validity", "EventualAgreement"),  # the form, and progress
        "RefinesTotalOrder",  # of steps
    }


BREAKS = {
    "VirtualSynchrony": ("SameCut", "InstallView: a member"),
    "Tags": ("LogOfMembers", "ReceiveRequest: taken"),
}
"""A step that is no longer kept without it."""


def test_what_claims_are_proved_from_is_named_as_it_is_called() -> None:
    conjuncts = {each.name for each in WHOLE.invariant}
    claims = conjuncts | {each.name for each in WHOLE.properties}

    proved = (*WHOLE.properties, *WHOLE.invariant)
    assert {name for each in proved for name in each.rests_on} <= conjuncts
    assert {name for each in WHOLE.invariant for name in each.serves} <= claims


@pytest.mark.parametrize("name", WITHOUT)
def test_without_what_safety_rests_on_a_step_fails(name: str) -> None:
    subject = theory(basis_without([name]))
    asked = [o for o in obligations(subject) if (o.claim, o.transition) == BREAKS[name]]

    assert asked
    assert any(not attempt(each, 1, timeout=1_000).proved for each in asked)


@pytest.mark.slow
@pytest.mark.parametrize("dropped", [each.name for each in WHOLE.invariant])
def test_without_a_conjunct_the_others_are_not_enough(dropped: str) -> None:
    subject = replace(
        WHOLE, invariant=tuple(each for each in WHOLE.invariant if each.name != dropped)
    )

    assert any(not attempt(each, 1, timeout=2_500).proved for each in obligations(subject))


# ---------------------------------------------------------------------- the theory and the model


def _everything() -> TotalSystem:
    return TotalSystem(replace(machine(CASES["total-lost"].constants).constants, **EVERYTHING))


def _run(system: TotalSystem, seed: int) -> tuple[State, list[Move[State]]]:
    return walked(system, seed, 60, lambda _, move: 0.1 if move.action == "Crash" else 1)


def test_the_invariant_holds_along_the_runs_of_the_model() -> None:
    system, asked = _everything(), 0
    for seed in range(4):
        first, moves = _run(system, seed)
        read = reading(system, [first, *(move.target for move in moves)])
        reached = [began(system, first)]
        edges = list(read.followed(reached[0], moves, reached))
        assert [edge for edge in edges if edge.refused] == []
        for tables in reached[::12]:
            world = read.frame.world(tables)
            assert [c.name for c in WHOLE.invariant if c.formula(world) is not True] == []
            asked += 1
    assert asked > 12


DAMAGE: Final[Mapping[str, Callable[[Local], Local]]] = {
    "expected": lambda me: me._replace(expected=me.expected + 1),
    "seqno": lambda me: me._replace(seqno=me.seqno + 1),
    "view": lambda me: me._replace(view=me.view + 1),
}
"""What becomes of a member that takes no step."""


@pytest.mark.parametrize("variable", DAMAGE)
def test_a_damaged_step_is_no_step_of_the_theory(variable: str) -> None:
    system = _everything()
    first, moves = _run(system, 1)
    read = reading(system, [first, *(move.target for move in moves)])
    reached, asked = list[Tables](), 0
    c = system.index["c"]
    for edge, move in zip(read.followed(began(system, first), moves, reached), moves, strict=False):
        if move.args[:1] == ("c",) or not edge.taken:
            continue
        wrong = with_(move.target.locals, c, DAMAGE[variable](move.target.locals[c]))
        damaged = read.tables(move.target._replace(locals=wrong))
        assert read.admitted(move, reached[-1], damaged) is None
        asked += 1
    assert asked > 5
