"""Whole groups under faults, over many seeds: what is promised holds, and life goes on after.

Each seed draws a network (loss up to 20 %, duplication, delays that reorder), bundle and window
sizes, 3 to 10 members with a load each, and one kind of trouble in the middle of it.
"""

import pytest

from raincheck.conformance.campaigns.promises import Broken, Log, check
from raincheck.conformance.campaigns.stories import TROUBLES, Story, campaign
from raincheck.impl.flush.core import Repairs as FlushRepairs
from raincheck.impl.messages import Address, Batch, Run, View, ViewId
from raincheck.impl.sequencer.core import Repairs
from raincheck.impl.simulation.group import Link, Node, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.repairs import LayerRepairs


@pytest.mark.parametrize("trouble", TROUBLES)
def test_promises_hold_and_everything_is_delivered_when_the_trouble_is_over(trouble: str) -> None:
    assert campaign(range(1, 3), trouble) == {}


@pytest.mark.parametrize("trouble", ["coordinator crashes half heard", "next leader crashes"])
def test_without_reconciliation_views_are_not_virtually_synchronous(trouble: str) -> None:
    def undo(story: Story) -> None:
        story.group.layers = LayerRepairs(flush=FlushRepairs(reconcile=False))

    shows = ("virtual synchrony", "total order", "integrity", "gap")
    # A group can also stand still first: nobody sequences what comes behind a lost message.
    # The first seeds show nothing, and a group that stands still takes long.
    starts = (*range(48, 200, 3), *range(0, 48, 3))
    broken = (campaign(range(at, at + 3), trouble, undo).values() for at in starts)
    assert any(each.startswith(shows) for some in broken for each in some)


@pytest.mark.slow
@pytest.mark.parametrize("trouble", TROUBLES)
def test_promises_hold_over_many_more_seeds(trouble: str) -> None:
    assert campaign(range(100, 160), trouble) == {}


def test_nothing_is_lost_where_nobody_crashes() -> None:
    group = Simulator(3, link=Link(loss=0.2, duplicate=0.1, delay=(0.0005, 0.01)))
    group.start("a", "b", "c", founders=True)

    for _ in range(20):
        for name in "abc":
            group.send(name, [b"x"] * 50)
        group.run(0.01)
    group.run_until(lambda: all(node.messages == 3000 for node in group.up))

    assert group["a"].delivered == group["b"].delivered == group["c"].delivered
    assert next(r.first for r, _ in group["a"].delivered if r.sender.node == "b") == 1


@pytest.mark.parametrize("messages_each", [50_000])
def test_memory_stays_flat_over_many_messages(messages_each: int) -> None:
    got = dict.fromkeys("abc", 0)

    def count(node: Node, batch: Batch) -> None:
        got[node.name] += batch.count
        highest[0] = max(highest[0], node.stack.buffered())

    highest = [0]
    group = Simulator(5, record=False, link=Link(loss=0.01), on_batch=count)
    group.start("a", "b", "c", founders=True)
    for name in "abc":
        group.send(name, [b"x" * 20] * messages_each)
    group.run_until(lambda: set(got.values()) == {3 * messages_each}, 600)
    group.run(1.0)

    config = StackConfig()
    assert highest[0] <= 3 * config.multicast_window + 6 * config.unicast_window
    for node in group.up:
        sequencer = node.stack.sequencer
        assert node.stack.buffered() == 0
        assert (len(sequencer.forward_table), sequencer.pending_bytes) == (0, 0)
        assert len(sequencer.received_table) == 3


@pytest.mark.slow
def test_memory_stays_flat_over_a_million_messages() -> None:
    test_memory_stays_flat_over_many_messages(350_000)


# ------------------------------------------------------------------ the checks are checked

A, B, C = (Address(name, 0) for name in "abc")
V1, V2 = (View(ViewId(counter, A), (A, B, C)) for counter in (1, 2))
RUNS = [(Run(A, 1, 2), 1), (Run(B, 1, 1), 1), (Run(A, 3, 1), 2)]
OTHER_SIDE = View(ViewId(2, B), (B, C))


def lives(
    b: list[tuple[Run, int]], views: tuple[View, ...] = (V1, V2), sent: int | None = None
) -> list[Log]:
    """What a has delivered is good; b's log is given."""
    return [Log(A, RUNS, [V1, V2]), Log(B, b, list(views), sent=sent)]


def test_what_keeps_the_promises_is_found_good() -> None:
    check(lives(RUNS, sent=1))
    check([*lives(RUNS[:1], views=(V1,)), Log(C, RUNS[:2], [V1, V2], survives=False)])
    check(lives([*RUNS[:1], (Run(B, 1, 1), 2), (Run(C, 1, 1), 2)], views=(V1, OTHER_SIDE)))


def test_what_a_state_had_need_not_be_delivered() -> None:
    behind = Log(C, RUNS[1:], [V1, V2], from_state=True)
    check([Log(A, RUNS, [V1, V2]), behind])
    check([Log(A, RUNS, [V1, V2]), Log(C, RUNS[2:], [V1, V2], from_state=True)])
    check([Log(A, RUNS, [V1, V2]), Log(C, [], [V1, V2], from_state=True)])
    with pytest.raises(Broken, match=r"^virtual synchrony: "):
        check([Log(A, RUNS, [V1, V2]), Log(C, RUNS[1:2], [V1, V2], from_state=True)])


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (lives([*RUNS, (Run(A, 3, 1), 2)]), "integrity"),
        (lives([*RUNS, (Run(Address("z", 0), 3, 1), 2)]), "integrity"),
        (lives(RUNS, sent=0), "integrity"),
        (lives([*RUNS, (Run(A, 5, 1), 2)]), "gap"),
        (lives([RUNS[1], RUNS[0], RUNS[2]]), "total order"),
        (lives([RUNS[0], RUNS[2]]), "virtual synchrony"),
        (lives(RUNS[:2]), "virtual synchrony"),
        ([*lives(RUNS[:1], views=(V1,)), Log(C, RUNS[:2], [V1])], "virtual synchrony"),
        (lives(RUNS, sent=2), "lost"),
        (lives(RUNS, views=(V1,)), "views"),
        (lives(RUNS[:2], views=(V1, View(ViewId(3, A), (A, B)))), "views"),
        (lives(RUNS[:2], views=(V1, V2._replace(members=(A, B)))), "views"),
        (lives(RUNS[:2], views=(V1, View(ViewId(2, C), (A, C)))), "views"),
    ],
)
def test_each_planted_fault_is_found(broken: list[Log], promise: str) -> None:
    with pytest.raises(Broken, match=f"^{promise}: "):
        check(broken)


@pytest.mark.parametrize(
    ("undone", "trouble"),
    [
        (Repairs(resend_always=False), "crash and return"),
        (Repairs(join_policy="one"), "join"),
        (Repairs(join_policy="any"), "crash and return"),
    ],
)
def test_an_undone_repair_is_noticed(undone: Repairs, trouble: str) -> None:
    def undo(story: Story) -> None:
        story.group.repairs = undone

    assert campaign(range(16), trouble, undo, enough=1) != {}
