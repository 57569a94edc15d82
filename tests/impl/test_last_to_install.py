"""The leader of a view change installs the view last, so no number is ever given to two views."""

import pytest

from raincheck.impl.gms.core import Repairs
from raincheck.impl.messages import View
from raincheck.impl.simulation.group import Link, Simulator
from raincheck.impl.stack.repairs import LayerRepairs

STEPS = range(1, 40)


def clashes(steps: int, layers: LayerRepairs | None = None) -> list[tuple[View, View]]:
    """Views that share a number, where the coordinator is cut off and dies while d joins."""
    group = Simulator(1, layers=layers)
    group.start("a", "b", "c", founders=True)
    group.send("b", [b"one", b"two"])
    start = group.datagrams
    group.start("d")
    group.run_until(lambda: group.datagrams >= start + steps)
    group.links["a", "b"] = group.links["a", "c"] = Link(loss=1.0)
    group.advance(0.05)
    group.crash("a")
    group.run_until(lambda: group.in_one_view("b", "c", "d"), timeout=30.0)
    first: dict[int, View] = {}
    return [
        (first[view.id.counter], view)
        for name in ("a", "b", "c", "d")
        for view in group[name].views
        if first.setdefault(view.id.counter, view).members != view.members
    ]


@pytest.mark.parametrize("steps", STEPS)
def test_a_coordinator_that_dies_leaves_no_view_of_its_own(steps: int) -> None:
    assert clashes(steps) == []


def test_a_leader_that_installs_first_would() -> None:
    undone = LayerRepairs(gms=Repairs(install_when="first"))

    assert any(clashes(steps, undone) for steps in STEPS)
