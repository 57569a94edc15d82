"""A group at rest, with one fault at a time in what its nodes know or have recorded.

Where other rules complain as well, `planted_group.py` says which, and why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from raincheck.impl.messages import Address, Run, View, ViewId
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.wire.headers import CONTROL, StopFlush
from raincheck.impl.wire.headers import Fid as FlushId

A, B, C, Y, Z = (Address(name, 0) for name in "abcyz")
STRANGER = Address("x", 0)

Fault: TypeAlias = Callable[[Simulator], object]


def rested() -> Simulator:
    """Three members; z joins, c dies and y joins; messages in all views but the third."""
    group = Simulator(1, with_state=True)
    group.start("a", "b", "c", founders=True)
    group.run(0.05)
    for name in "abc":
        group.send(name, [b"1", b"2", b"3"])
    group.run(0.1)
    group.start("z")
    group.run_until(lambda: group.in_one_view(*"abcz"))
    for name in "bca":
        group.send(name, [b"4"])
        group.run(0.1)
    group.crash("c")
    group.run_until(lambda: group.in_one_view(*"abz"))
    group.start("y")
    group.run_until(lambda: group.in_one_view(*"abyz"))
    for name in "ba":
        group.send(name, [b"5"])
        group.run(1.0)
    return group


def view_of(group: Simulator, name: str, counter: int) -> View:
    """Return a view that a node has installed."""
    return next(view for view in group[name].views if view.id.counter == counter)


def spelled(group: Simulator, words: str) -> str:
    """Return the words with the names of views and tables replaced by the group's."""
    words = words.replace("{view}", str(group["a"].stack.view))
    for name in "az":
        stack = group[name].stack
        words = words.replace(f"{{table of {name}}}", str(stack.sequencer.received_table))
        words = words.replace(f"{{view of {name}}}", str(stack.view))
    for node in group.nodes.values():
        for view in node.views:
            words = words.replace(f"{{{node.name}'s view {view.id.counter}}}", str(view))
    return words


# ---------------------------------------------------------------------- a group at rest


def begins_to_join(group: Simulator) -> None:
    group.partition("abyz", "n")  # nobody answers it
    group.start("n")


def is_gone(group: Simulator) -> None:
    group["y"].left = "excluded"


def comes_back(group: Simulator) -> None:
    """The node comes back unnoticed; in its new life it has a view of its own."""
    group.crash("y")
    group.restart("y")
    alone = View(ViewId(9, Address("y", 1)), (Address("y", 1),))
    group["y"].stack._group.membership.view = alone
    group["y"].app.transferred = True


def has_another_view(group: Simulator) -> None:
    group["z"].stack._group.membership.view = View(ViewId(5, Z), (Z,))


def keeps_a_datagram(group: Simulator) -> None:
    unicast = group["b"].stack._group.unicast
    unicast.send(A, CONTROL, StopFlush(FlushId(4, B, 1)), group.now)


def did_not_get_the_state(group: Simulator) -> None:
    group["y"].app.transferred = False


QUIET: dict[str, tuple[Fault, str]] = {
    "no view": (begins_to_join, "progress: n has no view"),
    "a message under way": (
        lambda group: group["b"].stack.send(b"late"),
        "progress: b has 1 messages under way",
    ),
    "messages that wait to be sent": (
        lambda group: group["b"].backlog.extend([b"late", b"later"]),
        "progress: b has 2 messages under way",
    ),
    "a flush that was not stopped": (
        lambda group: setattr(group["z"].stack.cores["flush"], "blocked", "yes"),
        "progress: z is blocked",
    ),
    "an application that was not unblocked": (
        lambda group: setattr(group["z"].app, "blocked", True),
        "progress: z is blocked",
    ),
    "no state": (
        did_not_get_the_state,
        "state: y did not get the group's state, which ['a', 'b', 'z'] have",
    ),
    "somebody who is waited for": (
        lambda group: group["a"].stack.cores["gms"].waiting.add(Z),
        "progress: a waits for {'z.0': 'to install it'}",
    ),
    "a member that crashed": (
        lambda group: group.crash("y"),
        "progress: a has {view}, and y.0 is gone",
    ),
    "a member that is out": (is_gone, "progress: a has {view}, and y.0 is gone"),
    "a member in another life": (comes_back, "progress: a has {view}, and y.0 is gone"),
    "another view": (has_another_view, "progress: a has {view}, z.0 {view of z}"),
    "other numbers": (
        lambda group: group["z"].stack.sequencer.received_table.update({A: 6}),
        "tables: a has {table of a}, z.0 {table of z}",
    ),
    "another state": (
        lambda group: setattr(group["y"].app, "checksum", 1),
        "state: a and y.0 have different states",
    ),
    "something kept": (keeps_a_datagram, "memory: b keeps 1 datagrams"),
}
"""The faults of a group at rest, and the expected complaint about each."""


# ---------------------------------------------------------------------- deliveries


def everywhere(
    group: Simulator, change: Callable[[tuple[Run, int]], list[tuple[Run, int]]], but: str = ""
) -> None:
    """Change the delivery of each run in the same way at all nodes."""
    for node in group.nodes.values():
        if node.name not in but:
            node.delivered[:] = [each for old in node.delivered for each in change(old)]


def hears_a_stranger(group: Simulator) -> None:
    everywhere(group, lambda d: [d, (Run(STRANGER, 1, 1), 1)] if d == (Run(C, 1, 3), 1) else [d])


def hears_one_twice(group: Simulator) -> None:
    everywhere(group, lambda d: [d, d] if d == (Run(C, 4, 1), 2) else [d])


def misses_one(group: Simulator) -> None:
    parts = [(Run(C, 1, 1), 1), (Run(C, 3, 1), 1)]
    everywhere(group, lambda d: parts if d == (Run(C, 1, 3), 1) else [d])


def goes_back(group: Simulator) -> None:
    """Its deliveries of the first view are recorded behind those of the second one."""
    runs = group["a"].delivered
    runs[:] = [*runs[3:6], *runs[:3], *runs[6:]]


def delivers_in_no_view(group: Simulator) -> None:
    group["a"].delivered[-1] = (Run(A, 5, 1), 7)


def is_not_in_its_view(group: Simulator) -> None:
    """All agree on a last view that lacks z."""
    for name in "abyz":
        view = view_of(group, name, 4)
        group[name].views[-1] = view._replace(members=(A, B, Y))


def has_other_members(group: Simulator) -> None:
    view = view_of(group, "y", 4)
    group["y"].views[-1] = view._replace(members=(*view.members[1:], view.members[0]))


def skips_a_view(group: Simulator) -> None:
    group["a"].views.remove(view_of(group, "a", 3))


def delivers_in_another_order(group: Simulator) -> None:
    """c's deliveries are reordered: it does not see the next view, so only the order is wrong."""
    runs = group["c"].delivered
    assert [run for run, _ in runs[3:5]] == [Run(B, 4, 1), Run(C, 4, 1)]
    runs[3:5] = [runs[4], runs[3]]


def lacks_the_last_of_a_view(group: Simulator) -> None:
    group["b"].delivered.remove((Run(C, 1, 3), 1))
    group["b"].delivered.insert(2, (Run(C, 1, 1), 1))
    everywhere(group, lambda d: [] if d == (Run(C, 4, 1), 2) else [d])  # else it would be a gap


def delivers_alone(group: Simulator) -> None:
    """c has delivered something more before it died."""
    group["c"].delivered.append((Run(C, 5, 1), 2))
    group["c"].sent += 1


def lacks_the_very_last(group: Simulator) -> None:
    group["b"].delivered.remove((Run(A, 5, 1), 4))


LOGS: dict[str, tuple[Fault, str]] = {
    "a stranger": (
        hears_a_stranger,
        "integrity: a.0 heard x.0, who is not in {a's view 1}",
    ),
    "never sent": (
        lambda group: setattr(group["c"], "sent", 3),
        "integrity: a.0 heard c.0's 4, never sent",
    ),
    "twice": (hears_one_twice, "integrity: a.0 heard c.0's 4 after 4"),
    "a gap": (misses_one, "gap: a.0 heard c.0's 3 after 1"),
    "no such view": (
        delivers_in_no_view,
        f"views: a.0 delivered {Run(A, 5, 1)} in view 7",
    ),
    "an earlier view": (goes_back, f"views: a.0 delivered {Run(A, 1, 3)} in view 1"),
    "two views of one name": (
        has_other_members,
        "views: {a's view 4} and {y's view 4} at y.0 have one identifier",
    ),
    "not in its view": (is_not_in_its_view, "views: z.0 has installed {a's view 4}"),
    "a view left out": (skips_a_view, "views: a.0 went from {a's view 2} to {a's view 4}"),
    "another order": (
        delivers_in_another_order,
        "total order: in view 2 a.0 delivered b.0's 4 where c.0 delivered c.0's 4",
    ),
    "not from the beginning": (
        lambda group: group["c"].delivered.pop(0),
        "total order: in view 1 a.0 delivered a.0's 1 where c.0 delivered b.0's 1",
    ),
    "less than who goes on": (
        lacks_the_last_of_a_view,
        "virtual synchrony: in view 1 a.0 delivered 2 messages more than b.0, the first c.0's 2",
    ),
    "less, though it went on before it died": (
        lambda group: group["c"].delivered.remove((Run(C, 1, 3), 1)),
        "virtual synchrony: in view 1 a.0 delivered 3 messages more than c.0, the first c.0's 1",
    ),
    "less than who stays": (
        lacks_the_very_last,
        "virtual synchrony: in view 4 a.0 delivered 1 messages more than b.0, the first a.0's 5",
    ),
    "more than who goes on": (
        delivers_alone,
        "uniform agreement: in view 2 c.0 delivered c.0's 5, and a.0, which goes on, did not",
    ),
    "lost": (
        lambda group: setattr(group["a"], "sent", 6),
        "lost: a.0 sent 6 and delivered 5 of them",
    ),
}
"""The faults in the records of a group, and the expected complaint about each."""
