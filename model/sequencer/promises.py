"""The promises of SEQUENCER: the twin of the properties at the end of `spec/Sequencer.tla`.

Each is a predicate on a state of the whole system. The plain forms are about running members, the
uniform ones also about deliveries of members that left or crashed later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, pairwise
from typing import Final, TypeAlias

from raincheck.model.machine.runs import Address, Run

from . import handlers as node
from .state import State

Identity: TypeAlias = tuple[str, int]
"""A message: the node of its sender, and its number among its application's messages."""


def identity(message: Run) -> Identity:
    """Return the identity that distinguishes the message from all others ever sent."""
    return message.sender.node, message.payload


def heard(state: State, i: int) -> list[Identity]:
    """Return the messages that node i has delivered, in order."""
    return [identity(message) for message, _ in state.delivered[i]]


def heard_in(state: State, i: int, view: int) -> frozenset[Identity]:
    """Return the messages that node i has delivered in a view."""
    return frozenset(identity(message) for message, v in state.delivered[i] if v == view)


def total_order(state: State) -> bool:
    """Two running members that both deliver two messages do so in the same order."""
    present = [i for i, me in enumerate(state.locals) if node.running(me)]
    return all(_same_order(state, p, q) for p, q in combinations(present, 2))


def uniform_total_order(state: State) -> bool:
    """The same as `total_order`, for members that have left or crashed as well."""
    return all(_same_order(state, p, q) for p, q in combinations(range(len(state.locals)), 2))


def agreement(state: State) -> bool:
    """The survivors of a view have delivered the same messages in it."""
    return all(
        len({heard_in(state, i, view) for i in survivors}) <= 1
        for view, survivors in _survivors(state)
    )


def uniform_agreement(state: State) -> bool:
    """Every survivor has delivered what any member, even a crashed one, delivered in a view."""
    return all(
        heard_in(state, p, view) <= heard_in(state, q, view)
        for view, survivors in _survivors(state)
        for q in survivors
        for p in range(len(state.locals))
    )


def integrity(state: State) -> bool:
    """Nothing is delivered twice (R9), and only sent messages are delivered."""
    said = {me.node: me.said for me in state.locals}
    for i in range(len(state.locals)):
        messages = heard(state, i)
        if len(set(messages)) < len(messages) or any(k > said[n] for n, k in messages):
            return False
    return True


def no_creation(state: State) -> bool:
    """Each message sequenced was sent by a member, in that view or an earlier one."""
    said = {me.node: me.said for me in state.locals}
    return all(
        message.payload <= said[message.sender.node]
        and any(message.sender in past.members for past in state.views[:view])
        for stream in state.stream
        for message, view in stream
    )


def fifo(state: State) -> bool:
    """Messages of one sender are delivered in the order in which it sent them."""
    for i in range(len(state.locals)):
        latest: dict[str, int] = {}
        for sender, payload in heard(state, i):
            if payload <= latest.get(sender, 0):
                return False
            latest[sender] = payload
    return True


def gap_free(state: State) -> bool:
    """No member delivers a message without the one that its sender sent before.

    The exception is the first message of a sender that a joiner delivers: those before it may have
    been sent before the joiner came.
    """
    founders = {a.node for a in state.views[0].members}
    for me, delivered in zip(state.locals, state.delivered, strict=True):
        founding = me.node in founders and me.incarnation == 0
        latest: dict[Address, int] = {}
        for message, _ in delivered:
            before = latest.get(message.sender)
            if before is None:
                if message.first != 1 and founding:
                    return False
            elif message.first != before + 1:
                return False
            latest[message.sender] = message.first
    return True


def fresh(state: State) -> bool:
    """A joiner does not deliver what a present member had delivered before it joined."""
    running = [i for i, me in enumerate(state.locals) if node.running(me)]
    views: dict[Identity, set[int]] = {}
    for i in running:
        for message, view in state.delivered[i]:
            views.setdefault(identity(message), set()).add(view)
    for i in running:
        me = state.locals[i]
        mine = [a for a in me.members if a.node == me.node]
        for x in heard(state, i):
            if any(a not in state.views[v - 1].members for v in views[x] for a in mine):
                return False
    return True


def in_view(state: State) -> bool:
    """A message is delivered only in a view that contains the receiver."""
    for i, me in enumerate(state.locals):
        for _, view in state.delivered[i]:
            if not 1 <= view <= len(state.views):
                return False
            if all(member.node != me.node for member in state.views[view - 1].members):
                return False
    return True


INVARIANTS: Final[Mapping[str, Callable[[State], bool]]] = {
    "TotalOrder": total_order,
    "UniformTotalOrder": uniform_total_order,
    "Agreement": agreement,
    "UniformAgreement": uniform_agreement,
    "Integrity": integrity,
    "NoCreation": no_creation,
    "Fifo": fifo,
    "GapFree": gap_free,
    "Fresh": fresh,
    "InView": in_view,
}


def _same_order(state: State, p: int, q: int) -> bool:
    theirs = {x: place for place, x in reversed([*enumerate(heard(state, q))])}
    # A message delivered twice counts at its first delivery, as `Place` in the spec allows.
    mine = [theirs[x] for x in dict.fromkeys(heard(state, p)) if x in theirs]
    return all(a < b for a, b in pairwise(mine))


def _survivors(state: State) -> Iterator[tuple[int, list[int]]]:
    """Yield each view that has a successor, with the members that have gone on to it."""
    for view in range(1, len(state.views)):
        old, new = state.views[view - 1].members, state.views[view].members
        yield (
            view,
            [
                i
                for i, me in enumerate(state.locals)
                if node.running(me)
                and view < me.view
                and any(a.node == me.node and a in old and a in new for a in me.members)
            ],
        )
