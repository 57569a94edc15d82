"""The real UNICAST makes the model's steps, and its repairs are those of the spec."""

import pytest

from raincheck.conformance.bindings.unicast.binding import BINDING
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.replay.damage import without
from raincheck.conformance.replay.lockstep import lockstep
from raincheck.conformance.replay.replay import replay
from raincheck.conformance.replay.replayable import Replayable
from raincheck.model.unicast.handlers import Rules

CASES = {case.name: case for case in load_cases() if case.protocol == "unicast"}


def prepared(*names):
    return Replayable(BINDING, [CASES[name] for name in names]).prepared()


@pytest.mark.parametrize(
    "name", ["unicast-live", "unicast-f5-undone", "unicast-f7-undone", "unicast-f8-undone"]
)
def test_every_edge_is_made_by_the_real_class(name):
    [case] = prepared(name)

    found = replay(case)

    assert found.mismatch is None
    assert found.covered == found.edges > 20


@pytest.mark.parametrize(
    ("undone", "name"),
    [
        ({"remember_closed": False}, "unicast-f5-repaired"),
        ({"ack_duplicates": False}, "unicast-live"),
        ({"timer": False}, "unicast-live"),
        ({"probe": False}, "unicast-f9-repaired"),
        ({"connection_ids": "different"}, "unicast-f3-repaired"),
        ({"ack_connection": False}, "unicast-f4-repaired"),
    ],
)
def test_each_repair_undone_in_the_class_is_noticed(undone, name):
    [case] = prepared(name)

    assert replay(case, make=without(BINDING, undone)).mismatch is not None


def test_the_class_and_the_model_go_together_beyond_the_graphs():
    instances = Replayable(BINDING, [CASES["unicast-fifo"]]).instances()[""]

    found = lockstep(BINDING, instances, seed=1, runs=20)

    assert found.mismatch is None
    assert found.actions.keys() == {
        *("Send", "Receive", "Consume", "Acknowledge", "ReceiveAck", "Retransmit", "Lose"),
    }


def test_a_process_that_is_down_takes_nothing():
    core = BINDING.make_core(Rules(), BINDING.local("a", up=False))

    offered = BINDING.inputs["Forget"](("b", 0))

    with pytest.raises(Exception, match="not enabled"):
        core.handle(offered)
