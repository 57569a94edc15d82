"""The tests of a project of one's own: edges replayed, lockstep, and a trace that must conform."""

from two_phase_commit import core

from raincheck.testing import assert_replays, lockstep_machine

TestLockstep = lockstep_machine("two_phase_commit").TestCase


def test_every_edge_of_the_model_is_replayed_on_the_core():
    assert_replays("two_phase_commit")


def test_a_commit_conforms(recording):
    nodes = {name: core.Participant(name, ("a", "b", "c"), "a") for name in "abc"}
    recording.of("two_phase_commit", **nodes)
    for name, node in nodes.items():
        node.handle(core.Prepare())
        nodes["a"].handle(core.ReceiveYes(name))
    for message in nodes["a"].handle(core.Commit())[1:]:
        nodes[message.to].handle(core.ReceiveCommitted("a"))

    assert {node.state for node in nodes.values()} == {"committed"}
