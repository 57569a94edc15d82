"""A crash at every single point of a view change: whoever dies, the rest keeps its promises.

Where `test_faults.py` draws moments by lot, here each datagram of a view change is a point.
"""

import pytest

from raincheck.conformance.campaigns.promises import Broken, check, check_quiet, logs
from raincheck.impl.flush.core import Repairs
from raincheck.impl.simulation.application import Application
from raincheck.impl.simulation.group import Link, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.repairs import LayerRepairs

EVERY = range(1, 76)
SOME = range(1, 76, 5)
CASES = [
    ("join", "a"), ("join", "b"), ("join", "d"), ("join", "z"),
    ("leave", "a"), ("leave", "b"), ("leave", "d"),
    ("crash", "b"), ("crash", "c"), ("crash", "d"),
]  # fmt: skip


def story(
    change: str,
    victim: str,
    steps: int,
    layers: LayerRepairs | None = None,
    *,
    late: bool = False,
) -> Simulator:
    """Four members, messages under way, a change, and so many datagrams into it a crash."""
    config = StackConfig(stable_period=0.5 if layers is None else 60.0)
    link = Link(delay=(0.0001, 0.0004))
    group = Simulator(steps, link=link, config=config, with_state=True, layers=layers)
    group.application = lambda: Application(padding=100_000)
    group.start("a", "b", "c", "d", founders=True)
    group.run(0.05)
    for name in "abcd":
        group.send(name, [name.encode()] * 5)
    if change == "join":
        group.start("z")
    elif change == "leave":
        group.leave("c")
    else:  # the first leader dies half heard; its successor, or somebody else, in what follows
        group.links["a", "c"] = group.links["a", "d"] = Link(loss=1.0)
        if late:
            group.links["a", "c"] = Link(delay=(1.1, 1.25))
        group.run(0.001)
        group.crash("a")
        group.run_until(lambda: any(node.suspected for node in group.up))
    start = group.datagrams
    group.run_until(lambda: group.datagrams >= start + steps)
    for name in "bd":
        if group[name].up:
            group.send(name, [b"later"] * 3)
    group.crash(victim)
    group.run(4.0)
    return group


def judge(group: Simulator) -> None:
    """What is promised."""
    check(logs(group))
    check_quiet(group)
    assert len(group.up) >= 2
    assert all(node.left in (None, "") for node in group.nodes.values())


@pytest.mark.parametrize(("change", "victim"), CASES)
def test_a_crash_at_some_points_of_a_view_change(change: str, victim: str) -> None:
    for steps in SOME:
        judge(story(change, victim, steps))


@pytest.mark.slow
@pytest.mark.parametrize(("change", "victim"), CASES)
def test_a_crash_at_every_point_of_a_view_change(change: str, victim: str) -> None:
    for steps in EVERY:
        judge(story(change, victim, steps))


@pytest.mark.parametrize(
    ("undone", "late"), [({"reconcile": False}, False), ({"freeze": False}, True)]
)
def test_an_undone_repair_of_flush_is_found_at_some_point(
    undone: dict[str, bool], late: bool
) -> None:
    """What the dead leader has sent reaches some not at all, or some too late.

    STABLE would tell them of it in time (R7), so it has its next round later.
    """
    layers = LayerRepairs(flush=Repairs(**undone))
    broken = 0
    for steps in EVERY:
        try:
            judge(story("crash", "d", steps, layers, late=late))
        except Broken:
            broken += 1
            break
    assert broken
