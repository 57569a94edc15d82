"""The real NAKACK makes the model's steps, and its repairs are those of the spec."""

import pytest

from raincheck.conformance.bindings.nakack.binding import BINDING
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.replay.damage import without
from raincheck.conformance.replay.lockstep import lockstep
from raincheck.conformance.replay.replay import replay
from raincheck.conformance.replay.replayable import Replayable

CASES = {case.name: case for case in load_cases() if case.protocol == "nakack"}


def prepared(*names):
    return Replayable(BINDING, [CASES[name] for name in names]).prepared()


pytestmark = pytest.mark.slow
"""`raincheck generate` and `mutate` do the same in the audit, case by case."""


@pytest.mark.parametrize(
    "name",
    [
        "nakack-crash",
        "nakack-window",
        "nakack-f1-seed",
        "nakack-f5-undone",
        "nakack-f13-undone",
        "nakack-f7-undone",
    ],
)
def test_every_edge_is_made_by_the_real_class(name):
    [case] = prepared(name)

    found = replay(case)

    assert found.mismatch is None
    assert found.covered == found.edges >= 20


@pytest.mark.parametrize(
    ("undone", "name"),
    [
        ({"announcing": False}, "nakack-f1-announced"),
        ({"vector": False}, "nakack-f1-repaired"),
        ({"ask_holders": False}, "nakack-crash"),
        ({"freezing": "all"}, "nakack-crash"),
        ({"keep_departed": False}, "nakack-crash"),
        ({"keep_undelivered": False}, "nakack-f7-repaired"),
        ({"view_tag": False}, "nakack-f11-repaired"),
        ({"from_members": False}, "nakack-f15-repaired"),
        ({"window": 1}, "nakack-join"),
        ({"retain": 1}, "nakack-window"),
    ],
)
def test_each_repair_undone_in_the_class_is_noticed(undone, name):
    [case] = prepared(name)

    assert replay(case, make=without(BINDING, undone)).mismatch is not None


def test_the_class_and_the_model_go_together_beyond_the_graphs():
    names = ("nakack-everything", "nakack-join")
    instances = Replayable(BINDING, [CASES[name] for name in names]).instances()[""]

    found = lockstep(BINDING, instances, seed=1, runs=40)

    assert found.mismatch is None
    assert found.actions.keys() >= BINDING.inputs.keys() - {"Crash", "Fetch"}
