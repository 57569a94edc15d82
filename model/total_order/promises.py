"""The promises of the service, by their names in `spec/TotalOrder.tla`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, pairwise, product
from typing import Final, TypeAlias

from raincheck.model.machine.runs import Address

from .logs import firm, is_prefix, leaving, sequence, went_on
from .state import Delivery, Process, State

Identity: TypeAlias = tuple[str, int]
"""A message's sender, and its number among the sender's messages of all lives."""


def identity(each: Delivery) -> Identity:
    """Return which message it is."""
    return each.message.sender.node, each.message.payload


def heard_in(process: Process, view: int) -> frozenset[Identity]:
    """Return what it has delivered in a view."""
    return frozenset(identity(each) for each in process.delivered if each.view == view)


def total_order(state: State) -> bool:
    """Two members that both deliver two messages do so in the same order; if one is gone, this
    speaks of what it delivered in views from which it went on.
    """
    return all(
        _same_order(p, q, {*map(identity, firm(p))} & {*map(identity, firm(q))})
        for p, q in combinations(state.processes, 2)
    )


def uniform_total_order(state: State) -> bool:
    """The same of all that was delivered, also by members that are gone."""
    return all(
        _same_order(p, q, {*map(identity, p.delivered)} & {*map(identity, q.delivered)})
        for p, q in combinations(state.processes, 2)
    )


def prefix(state: State) -> bool:
    """Of two members, one has delivered in a view the beginning of what the other one has."""
    for view in range(1, len(state.views) + 1):
        longest = sorted((sequence(p.delivered, view) for p in state.processes), key=len)
        if not all(is_prefix(short, long) for short, long in pairwise(longest)):
            return False
    return True


def agreement(state: State) -> bool:
    """Those who have gone on from a view have delivered the same messages in it."""
    return all(
        len({heard_in(p, view) for p in state.processes if went_on(state, p, view)}) < 2
        for view in range(1, len(state.views))
    )


def uniform_agreement(state: State) -> bool:
    """Whoever has gone on from a view has delivered in it what any member of it has."""
    return all(
        heard_in(p, view) <= heard_in(q, view)
        for view in range(1, len(state.views))
        for q in state.processes
        if went_on(state, q, view)
        for p in state.processes
    )


def integrity(state: State) -> bool:
    """Nothing is delivered twice."""
    return all(len({*map(identity, p.delivered)}) == len(p.delivered) for p in state.processes)


def no_creation(state: State) -> bool:
    """What is delivered was sent."""
    sent = {p.node: p.sent for p in state.processes}
    return all(
        payload <= sent[node]
        for p in state.processes
        for node, payload in map(identity, p.delivered)
    )


def fifo(state: State) -> bool:
    """Messages of one sender are delivered in the order in which it sent them."""
    for process in state.processes:
        latest: dict[str, int] = {}
        for node, payload in map(identity, process.delivered):
            if payload <= latest.get(node, 0):
                return False
            latest[node] = payload
    return True


def gap_free(state: State) -> bool:
    """No member delivers a message without the one that its sender sent before, but for the first
    one of a sender that a joiner delivers.
    """
    founders = {each.node for each in state.views[0].members}
    for process in state.processes:
        latest: dict[Address, int] = {}
        for sender, seqno, _ in (each.message for each in process.delivered):
            before = latest.get(sender)
            if before is None:
                if seqno != 1 and process.life == 0 and process.node in founders:
                    return False
            elif seqno != before + 1:
                return False
            latest[sender] = seqno
    return True


def virtual_synchrony(state: State) -> bool:
    """A message is delivered in one and the same view, as far as that is for certain."""
    views: dict[Identity, int] = {}
    return all(
        views.setdefault(identity(each), each.view) == each.view
        for process in state.processes
        for each in firm(process)
    )


def fresh(state: State) -> bool:
    """A joiner does not deliver what a present member had delivered before the joiner came."""
    here = [p for p in state.processes if p.present]
    for p, q in product(here, here):
        mine = {*map(identity, p.delivered)}
        for each in q.delivered:
            if identity(each) in mine and p.address not in state.views[each.view - 1].members:
                return False
    return True


def in_view(state: State) -> bool:
    """A message is delivered only in a view that contains the receiver."""
    return all(
        1 <= each.view <= len(state.views) and p.address in state.views[each.view - 1].members
        for p in state.processes
        for each in p.delivered
    )


def type_ok(state: State) -> bool:
    """Every variable has its kind of value, and those of a process fit each other."""
    return (
        all(_well_formed(state, p) for p in state.processes)
        and all(view.joiners <= view.members for view in state.views)
        and len(state.cut) <= 1
        and (leaving(state) or not state.cut)
    )


def _well_formed(state: State, process: Process) -> bool:
    return (
        process.past <= process.sent
        and process.view <= len(state.views)
        and process.present == (process.view > 0)
    )


INVARIANTS: Final[Mapping[str, Callable[[State], bool]]] = {
    "TypeOK": type_ok,
    "TotalOrder": total_order,
    "UniformTotalOrder": uniform_total_order,
    "Prefix": prefix,
    "Agreement": agreement,
    "UniformAgreement": uniform_agreement,
    "Integrity": integrity,
    "NoCreation": no_creation,
    "Fifo": fifo,
    "GapFree": gap_free,
    "VirtualSynchrony": virtual_synchrony,
    "Fresh": fresh,
    "InView": in_view,
}


def places(process: Process) -> dict[Identity, int]:
    """Return the place of the first delivery of each message."""
    found: dict[Identity, int] = {}
    for place, each in enumerate(process.delivered):
        found.setdefault(identity(each), place)
    return found


def _same_order(p: Process, q: Process, common: Iterable[Identity]) -> bool:
    mine, theirs = places(p), places(q)
    order: Iterator[int] = (theirs[x] for x in sorted(common, key=mine.__getitem__))
    return all(a < b for a, b in pairwise(order))
