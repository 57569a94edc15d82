"""A joiner whose coordinator crashes before answering is admitted again, by a view of its own."""

from itertools import pairwise

import pytest

from raincheck.impl.messages import Address, View
from raincheck.impl.simulation.group import Link, Simulator
from raincheck.impl.stack.config import StackConfig


def crash_while_joining(steps: int) -> Simulator:
    """c comes back and asks to join; the coordinator crashes so many datagrams later."""
    group = Simulator(1)
    group.start("a", "b", "c", founders=True)
    group.crash("c")
    group.run_until(lambda: group.in_one_view("a", "b"))
    group.restart("c")
    start = group.datagrams
    group.run_until(lambda: group.datagrams >= start + steps)
    group.crash("a")
    group.run_until(lambda: group.in_one_view("b", "c"), timeout=30.0)
    return group


@pytest.mark.parametrize("steps", range(1, 16))
def test_whoever_joins_with_a_view_was_not_in_the_view_before(steps: int) -> None:
    group = crash_while_joining(steps)

    views: dict[int, View] = {}
    for name in ("a", "b", "c"):
        for view in group[name].views:
            assert views.setdefault(view.id.counter, view) == view
    for before, after in pairwise(view for _, view in sorted(views.items())):
        assert set(after.joiners) == set(after.members) - set(before.members)
    assert group["b"].views[-1].members == (Address("b", 0), Address("c", 1))


def test_some_joiner_is_met_in_the_middle() -> None:
    again = 0
    for steps in range(1, 16):
        views = crash_while_joining(steps)["b"].views
        again += sum(Address("c", 1) in view.joiners for view in views) > 1

    assert again > 0


def test_a_joiner_is_answered_by_a_leader_that_is_the_last_to_install_the_view() -> None:
    group = Simulator(1, config=StackConfig(nak_delay=0.2))
    group.start("a", "b", "c", founders=True)
    group.links["a", "b"] = Link(loss=1.0)
    group.send("a", [b"only c has it"])
    group.run_until(lambda: group["c"].messages == 1)
    group.crash("a")
    del group.links["a", "b"]
    group.restart("a")

    # b takes over and is asked while it still gathers answers. It has to fetch the message before
    # it can install the view, and by then c has long done so.
    group.links["c", "b"] = Link(delay=(0.15, 0.15))
    group.run_until(lambda: group.in_one_view("a", "b", "c"), timeout=10.0)

    assert group["b"].messages == 1
