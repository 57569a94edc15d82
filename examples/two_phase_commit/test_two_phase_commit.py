"""The tests of a project of one's own: edges replayed, lockstep, and a trace that must conform."""

from two_phase_commit.core import Participant
from two_phase_commit.messages import Decide, Prepare, ReceiveOutcome, ReceiveYes

from raincheck.testing import assert_replays, lockstep_machine

TestLockstep = lockstep_machine("two_phase_commit").TestCase


def test_every_edge_of_the_model_is_replayed_on_the_core():
    assert_replays("two_phase_commit")


def test_a_commit_conforms(recording):
    nodes = {name: Participant(name, ("a", "b", "c"), "a") for name in "abc"}
    recording.of("two_phase_commit", **nodes)
    for name, node in nodes.items():
        node.handle(Prepare())
        nodes["a"].handle(ReceiveYes(name))
    for message in nodes["a"].handle(Decide("committed"))[1:]:
        nodes[message.to].handle(ReceiveOutcome("a", message.outcome))

    assert {node.state for node in nodes.values()} == {"committed"}
