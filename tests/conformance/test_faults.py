"""A plan of faults depends on the seed alone, has every kind asked for, and fits into the load."""

from itertools import pairwise

import pytest

from raincheck.conformance.errors import UsageError
from raincheck.conformance.field.faults import LINK, kinds_of
from raincheck.conformance.field.stack.faults import (
    CHANGES,
    COORDINATOR,
    KINDS,
    LONG_PAUSE,
    PROCESS,
    make_plan,
)
from raincheck.impl.transport.faulty import Damage


def test_the_words_of_the_option_are_read() -> None:
    assert kinds_of("loss, crash", KINDS) == ("crash", "loss")
    assert kinds_of("all", KINDS) == KINDS
    assert kinds_of("none", KINDS) == kinds_of("", KINDS) == ()


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(UsageError, match="does not know crsh: choose from crash, pause"):
        kinds_of("loss,crsh", KINDS)


def test_the_same_seed_plans_the_same_and_others_something_else() -> None:
    plans = [make_plan(KINDS, seed) for seed in range(50)]

    assert plans == [make_plan(KINDS, seed) for seed in range(50)]
    assert len({plan.faults for plan in plans}) == 50


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_has_what_was_asked_for_in_the_order_of_time(seed: int) -> None:
    plan = make_plan(KINDS, seed)

    assert {fault.kind for fault in plan.faults} == set(PROCESS)
    assert set(plan.damage) == set(LINK)
    assert Damage(**plan.damage).any
    times = [fault.at for fault in plan.faults]
    assert all(before <= after for before, after in pairwise(times))
    assert times[0] > 0
    assert times[-1] < 1
    assert any(f.kind == "crash" and f.target == COORDINATOR for f in plan.faults)


def test_only_what_was_asked_for_is_planned() -> None:
    assert make_plan((), 1).faults == ()
    assert make_plan((), 1).damage == {}
    plan = make_plan(("pause", "loss"), 1)
    assert {fault.kind for fault in plan.faults} == {"pause"}
    assert set(plan.damage) == {"loss"}


def test_over_the_seeds_every_choice_is_met() -> None:
    faults = [fault for seed in range(40) for fault in make_plan(KINDS, seed).faults]

    for kind in ("crash", "pause", "leave"):
        targets = {fault.target for fault in faults if fault.kind == kind}
        assert len(targets) == 2, kind
    assert {fault.settle for fault in faults if fault.kind == "crash"} == {True, False}
    assert {fault.back for fault in faults if fault.kind == "leave"} == {True, False}
    for kind in ("requester", "participant"):
        assert {f.provoke for f in faults if f.kind == kind} == {"join", "crash"}, kind
    assert all(0 < fault.after < 1.5 for fault in faults if fault.kind in CHANGES)
    pauses = {fault.seconds == LONG_PAUSE for fault in faults if fault.kind == "pause"}
    assert pauses == {True, False}
