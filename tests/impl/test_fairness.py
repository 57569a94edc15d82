"""Under full load everybody's messages get through, the coordinator's own ones too."""

import pytest

from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.sequencer_layer import SequencerLayer


def loaded() -> Simulator:
    """Three members; b and c have more to send than the coordinator's window ever takes."""
    config = StackConfig(max_bundle=2048, multicast_window=2, credit_messages=50)
    group = Simulator(1, config=config)
    group.start("a", "b", "c", founders=True)
    for name in ("b", "c"):
        group.send(name, [b"x" * 1000] * 5_000)
    group.run(0.05)
    assert group["a"].messages > 0
    return group


def own(group: Simulator) -> int:
    """How many of its own messages the coordinator has delivered."""
    node = group["a"]
    return sum(run.size for run, _ in node.delivered if run.sender == node.address)


def test_the_coordinators_own_messages_leave_under_full_load() -> None:
    group = loaded()

    group.send("a", [b"mine"])
    group.run_until(lambda: own(group) == 1, timeout=0.1)

    assert group["b"].stack.pending > 100
    assert group["c"].stack.pending > 100


def test_the_coordinator_can_leave_under_full_load() -> None:
    group = loaded()

    group.send("a", [b"mine"] * 10)
    group.leave("a")
    group.run_until(lambda: group["a"].left == "", timeout=0.5)
    group.run_until(lambda: group.in_one_view("b", "c"), timeout=0.5)

    assert own(group) == 10
    assert group["b"].stack.pending > 100


def test_without_its_turn_the_coordinator_would_starve(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(layer: SequencerLayer) -> bool:
        layer._relayed = 0
        return False

    monkeypatch.setattr(SequencerLayer, "own_turn", never)
    group = loaded()

    group.send("a", [b"mine"])
    group.run(0.1)

    assert group["b"].stack.pending > 100
    assert own(group) == 0
