"""An application that hangs costs its own membership, and nobody else's: in virtual time."""

from raincheck.impl.messages import Address
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.config import StackConfig

A, B, C = (Address(name, 0) for name in "abc")


def founders(config: StackConfig | None = None, *, blocking: bool = False) -> Simulator:
    """A group of a, b and c."""
    group = Simulator(1, config=config)
    group.blocking = blocking
    group.start("a", "b", "c", founders=True)
    group.run(1.0)
    return group


def test_a_coordinator_whose_own_block_hangs_leaves_and_the_others_go_on() -> None:
    group = founders(blocking=True)
    group["a"].app.block_takes = lambda: None
    began = group.now
    group.start("d")
    group.run_until(lambda: group.in_one_view("b", "c", "d"))

    assert group.now - began < 8.0 + 1.5, "its own bound, and the time of a suspicion"
    assert group["a"].left == (
        "a.0 has left the group: its application has not returned from block() "
        "for 8 s (application_timeout)"
    )
    group.send("b", [b"x"])
    group.run(1.0)
    assert [group[name].messages for name in "bcd"] == [1, 1, 1]
    assert not group["a"].stack.deadline(), "it neither waits nor talks any more"


def test_a_member_whose_block_hangs_knows_before_the_others_exclude_it() -> None:
    group = founders(blocking=True)
    group["b"].app.block_takes = lambda: None
    group.start("d")
    group.run_until(lambda: group.in_one_view("a", "c", "d"))

    assert "has not returned from block()" in (group["b"].left or "")
    assert group["a"].stack.counters["flush_unanswered"] == 0
    assert group["b"].stack.counters["application_hung"] == 1


def test_a_block_that_returns_in_time_costs_nothing() -> None:
    group = founders(blocking=True)
    group["a"].app.block_takes = lambda: 7.0
    group.start("d")
    group.run_until(lambda: group.in_one_view("a", "b", "c", "d"))
    group.run(10.0)
    assert all(node.left is None for node in group.nodes.values())


def test_a_reader_that_takes_nothing_leaves_so_that_a_crash_is_noticed() -> None:
    group = founders()
    group["c"].stack.hold(group.now)
    group.send("a", [b"x"] * 100)
    group.run(0.1)
    group.crash("b")
    began = group.now
    group.run_until(lambda: group.in_one_view("a"))

    assert group.now - began < 8.0 + 1.5
    assert group["c"].left == (
        "c.0 has left the group: its application has taken none of the messages that fill its "
        "inbox for 8 s (application_timeout)"
    )


def test_a_reader_that_is_only_slow_stays() -> None:
    group = founders(StackConfig(application_timeout=1.0))
    taken_at = group.now
    group["c"].stack.tells_idle(lambda: group.now - taken_at)
    group["c"].stack.hold(group.now)
    for _ in range(20):
        group.run(0.5)
        taken_at = group.now
    assert group["c"].left is None
    group.run(1.1)
    assert group["c"].left is not None


def test_one_that_has_released_its_deliveries_is_not_watched() -> None:
    group = founders(StackConfig(application_timeout=1.0))
    group["c"].stack.hold(group.now)
    group.run(0.9)
    group.release("c")
    group.run(5.0)
    assert group["c"].left is None
