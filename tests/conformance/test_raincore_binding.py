"""The real core of Raincore goes where the model goes, with any of its repairs and without."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from raincheck.conformance.bindings.binding import MakeCore
from raincheck.conformance.bindings.raincore.binding import BINDING
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.replay.cores import Cores, Problem
from raincheck.conformance.replay.damage import without
from raincheck.conformance.replay.lockstep import Instance, lockstep
from raincheck.conformance.replay.probes import refuses
from raincheck.conformance.replay.replayable import Replayable, probes_of
from raincheck.model.machine.machine import Refused
from raincheck.model.raincore.handlers import Rules
from raincheck.model.raincore.state import Constants, Spent
from raincheck.model.raincore.system import RaincoreSystem

REPAIRS = tuple(repair.name for repair in fields(Rules))
AS_WRITTEN = Rules(**dict.fromkeys(REPAIRS, False))


def system_of(rules: Rules, *, formed: bool = True, pauses: int = 0) -> RaincoreSystem:
    """Four nodes, three of them members, in a world in which everything goes wrong."""
    constants = Constants(
        nodes=("a", "b", "c", "d"),
        members=("a", "b", "c"),
        rules=rules,
        formed=formed,
        truthful=False,
        arrives_after_failure=True,
        patient=False,
        crashers=frozenset("abc"),
        most=Spent(2, 2, 1, 1, 2, 3, pauses=pauses),
        max_attempts=6,
        max_epoch=9,
        max_seq=60,
        senders=frozenset("abcd"),
        max_messages=2,
        leavers=frozenset("bd"),
        wanting=frozenset("abcd"),
    )
    return RaincoreSystem(constants)


def instance(rules: Rules, *, formed: bool = True) -> Instance:
    system = system_of(rules, formed=formed)
    return Instance("everything", system, probes_of(BINDING, system, 150))


@pytest.mark.parametrize(
    "rules",
    [Rules(), AS_WRITTEN, *(replace(Rules(), **{name: False}) for name in REPAIRS)],
    ids=["repaired", "as written", *(f"without {name}" for name in REPAIRS)],
)
def test_core_and_model_stay_the_same(rules: Rules) -> None:
    found = lockstep(
        BINDING, [instance(rules), instance(rules, formed=False)], seed=3, runs=8, shrink=False
    )

    assert found.mismatch is None, found.mismatch.text()
    assert found.steps > 250
    assert {"ReceiveToken", "Receive911", "EatingTimeout", "HungryTimeout"} <= set(found.actions)


def test_a_rule_of_the_world_around_is_no_reason_to_leave_a_case_out() -> None:
    seed_case = [case for case in load_cases() if case.name == "raincore-f1-seed"]
    nowhere = replace(BINDING, around=frozenset())

    assert Replayable(BINDING, seed_case).left_out == {}
    around = {"raincore-f1-seed": "incarnations, from_members"}
    assert Replayable(nowhere, seed_case).left_out == around


# ---------------------------------------------------------------------- Hypothesis


class Beside(RuleBasedStateMachine):
    """Model and cores make the same steps; a difference is shrunk to the shortest way there."""

    make: ClassVar[MakeCore | None] = None
    made: ClassVar[Counter[str]] = Counter()

    @initialize(
        undone=st.sets(st.sampled_from(REPAIRS), max_size=3),
        formed=st.booleans(),
        pauses=st.sampled_from((0, 0, 2)),
    )
    def begin(self, undone: set[str], formed: bool, pauses: int) -> None:
        """Choose which repairs are undone, and whether the ring is there already."""
        rules = replace(Rules(), **dict.fromkeys(undone, False))
        self.system = system_of(rules, formed=formed, pauses=pauses)
        self.cores = Cores(BINDING, self.system, type(self).make)
        (self.state,) = self.system.initial()
        self.cores.begin(self.state)
        self.brought: list[Any] = []

    @rule(kind=st.integers(0, 17), which=st.integers(0, 30))
    def move(self, kind: int, which: int) -> None:
        """Make one of the moves that the model has now: first drawn is its action."""
        moves = list(self.system.moves(self.state))
        actions = sorted({move.action for move in moves})
        if not actions:
            return
        action = actions[kind % len(actions)]
        mine = [move for move in moves if move.action == action]
        chosen = mine[which % len(mine)]
        self.cores.perform(chosen)
        self.state = chosen.target
        self.made[action] += 1
        if chosen.event:
            self.brought.append((chosen.node, chosen.event))

    @precondition(lambda self: self.brought)
    @rule(which=st.integers(0, 200))
    def again(self, which: int) -> None:
        """Something that was brought before comes once more, late: to the node it was for."""
        node, event = self.brought[which % len(self.brought)]
        local = self.system.local(self.state, node)
        answer = BINDING.handlers[type(event).__name__](self.system.rules, local, event)
        if isinstance(answer, Refused):
            assert refuses(BINDING, self.cores.cores[node], local, event) == ""
            self.made["refused"] += 1
        elif answer.local == local and not answer.outputs:
            assert self.cores.cores[node].handle(BINDING.core_event(event)) == []
            self.cores.compare(node, "it is not ignored")
            self.made["ignored"] += 1


def stateful(
    make: MakeCore | None = None, examples: int = 50, number: int = 11
) -> tuple[type[Beside], Counter[str]]:
    """Run the state machine, and return how often it has done what.

    Hypothesis draws from the constants of the modules that are loaded too: the same seed need not
    make the same runs beside other tests.
    """

    class Machine(Beside):
        pass

    Machine.make, Machine.made = make, Counter()
    run_state_machine_as_test(
        seed(number)(Machine),
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        ),
    )
    return Machine, Machine.made


def test_hypothesis_finds_no_way_to_part_them() -> None:
    actions, made = set(BINDING.inputs) - {"Forget"}, Counter[str]()
    for number in range(11, 16):  # until each action was among what was drawn
        made += stateful(number=number)[1]
        if actions <= set(made):
            break

    assert made["refused"] > 20
    assert made["ignored"] > 10
    assert actions <= set(made), f"never: {actions - set(made)}"


@pytest.mark.slow
def test_hypothesis_finds_a_holder_that_does_not_veto() -> None:
    with pytest.raises(Problem, match="differ"):
        stateful(without(BINDING, {"holder_vetoes": False}), examples=2_000)
