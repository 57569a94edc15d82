"""The promises of TOTAL: the twin of the invariants at the end of `spec/Total.tla`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, pairwise
from typing import Final

from raincheck.model.machine.runs import Address

from . import handlers as node
from .events import Broadcast, Message, Number
from .handlers import Local
from .state import State


def heard(state: State, i: int) -> list[Message]:
    """Return the messages that node i has delivered, in order."""
    return [each.message for each in state.delivered[i]]


def sequence(state: State, i: int, view: int) -> tuple[Message, ...]:
    """Return what node i has delivered in a view, in order."""
    return tuple(each.message for each in state.delivered[i] if each.view == view)


def received(state: State, i: int) -> frozenset[Broadcast]:
    """Return what node i has received of the broadcasts of its view."""
    me = state.locals[i]
    delivered = (each for each in state.delivered[i] if each.view == me.view)
    return me.queue | {Broadcast(each.id, each.message) for each in delivered}


def total_order(state: State) -> bool:
    """Two running members that both deliver two messages do so in the same order."""
    present = [i for i, me in enumerate(state.locals) if node.running(me)]
    return all(_same_order(state, p, q) for p, q in combinations(present, 2))


def uniform_total_order(state: State) -> bool:
    """The same as `total_order`, for members that have crashed as well."""
    return all(_same_order(state, p, q) for p, q in combinations(range(len(state.locals)), 2))


def prefix(state: State) -> bool:
    """Of two members in a view, one has delivered a prefix of the other's messages (R11)."""
    for view in range(1, len(state.views) + 1):
        longest = sorted((sequence(state, i, view) for i in range(len(state.locals))), key=len)
        if any(more[: len(less)] != less for less, more in pairwise(longest)):
            return False
    return True


def agreement(state: State) -> bool:
    """The survivors of a view have delivered the same messages in it."""
    return all(
        len({frozenset(sequence(state, i, view)) for i in survivors}) <= 1
        for view, survivors in _survivors(state)
    )


def uniform_agreement(state: State) -> bool:
    """Every survivor has delivered what any member, even a crashed one, delivered in a view."""
    return all(
        set(sequence(state, p, view)) <= set(sequence(state, q, view))
        for view, survivors in _survivors(state)
        for q in survivors
        for p in range(len(state.locals))
    )


def integrity(state: State) -> bool:
    """Nothing is delivered twice, and only sent messages are delivered."""
    said = _said(state)
    for i in range(len(state.locals)):
        messages = heard(state, i)
        if len(set(messages)) < len(messages) or any(m.seqno > said[m.sender] for m in messages):
            return False
    return True


def no_creation(state: State) -> bool:
    """The sequencer keeps only messages that were sent, by members of its view."""
    said = _said(state)
    return all(
        each.message.seqno <= said[each.message.sender] and each.message.sender in me.members
        for me in state.locals
        for each in me.history
    )


def fifo(state: State) -> bool:
    """Messages of one sender are delivered in the order in which it sent them."""
    for i in range(len(state.locals)):
        latest: dict[Address, int] = {}
        for sender, seqno in heard(state, i):
            if seqno <= latest.get(sender, 0):
                return False
            latest[sender] = seqno
    return True


def gap_free(state: State) -> bool:
    """No member delivers a message without the one that its sender sent before.

    The exception is the first message of a sender that a joiner delivers: those before it may have
    been sent before the joiner came.
    """
    founders = state.views[0].members
    for i, me in enumerate(state.locals):
        latest: dict[Address, int] = {}
        for sender, seqno in heard(state, i):
            before = latest.get(sender)
            if before is None:
                if seqno != 1 and me.me in founders:
                    return False
            elif seqno != before + 1:
                return False
            latest[sender] = seqno
    return True


def in_view(state: State) -> bool:
    """A message is delivered only in a view that contains the receiver."""
    return all(
        1 <= each.view <= len(state.views) and me.me in state.views[each.view - 1].members
        for me, delivered in zip(state.locals, state.delivered, strict=True)
        for each in delivered
    )


def unique_ids(state: State) -> bool:
    """In a view no two messages have the same id, wherever they have come to (R3)."""
    delivered: dict[tuple[int, int], Message] = {}
    for row in state.delivered:
        for each in row:
            if delivered.setdefault((each.view, each.id), each.message) != each.message:
                return False
    held: dict[tuple[int, int], Message] = {}
    return all(
        held.setdefault((me.view, each.id), each.message) == each.message
        for me in state.locals
        for each in me.queue | me.history
    )


def recoverable(state: State) -> bool:
    """The sequencer can send again all that a member can still need (R9)."""
    for s in state.locals:
        if not node.is_sequencer(s):
            continue
        for me in state.locals:
            if me.members == s.members and me.view == s.view and node.running(me) and me.expected:
                needed = set(range(me.expected, s.next_id)) - node.ids(me.queue)
                if not needed <= _kept(state, s.view):
                    return False
    return True


def flush_delivers(state: State) -> bool:
    """A survivor of a view delivers all that it has received there before it leaves the view."""
    for i, me in enumerate(state.locals):
        if not node.running(me) or me.view == len(state.views) or not me.queue:
            continue
        new = state.views[me.view].members
        mine = received(state, i)
        if all(
            received(state, j) == mine
            for j, other in enumerate(state.locals)
            if node.running(other) and other.view == me.view and other.me in new
        ):
            return False
    return True


def type_ok(state: State) -> bool:
    """Every variable has its kind of value, and the sequencer's are those of a sequencer."""
    return all(well_formed(me) for me in state.locals)


def well_formed(me: Local) -> bool:
    """Whether a member's variables fit each other."""
    own = all(each.sender == me.me and each.seqno <= me.seqno for each in me.forward_table)
    return (
        own
        and node.is_sequencer(me) == (me.next_id > 0)
        and (not node.running(me) or (me.view > 0 and me.me in me.members))
        and all(each.id > me.expected for each in me.queue)
        and (not node.is_sequencer(me) or me.expected > 0)
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
    "InView": in_view,
    "UniqueIds": unique_ids,
    "Recoverable": recoverable,
    "FlushDelivers": flush_delivers,
}


def _said(state: State) -> dict[Address, int]:
    return {me.me: me.seqno for me in state.locals}


def _same_order(state: State, p: int, q: int) -> bool:
    theirs = {x: place for place, x in reversed([*enumerate(heard(state, q))])}
    # A message delivered twice counts at its first delivery, as `Place` in the spec allows.
    mine = [theirs[x] for x in dict.fromkeys(heard(state, p)) if x in theirs]
    return all(a < b for a, b in pairwise(mine))


def _survivors(state: State) -> Iterator[tuple[int, list[int]]]:
    """Yield each view that has a successor, with the members that have gone on to it."""
    for view in range(1, len(state.views)):
        both = {*state.views[view - 1].members} & {*state.views[view].members}
        yield (
            view,
            [
                i
                for i, me in enumerate(state.locals)
                if node.running(me) and view < me.view and me.me in both
            ],
        )


def _kept(state: State, view: int) -> set[int]:
    """Return the ids whose broadcast a member of the view has, or is about to make."""
    there = [i for i, me in enumerate(state.locals) if node.running(me) and me.view == view]
    found = {each.id for i in there for each in state.locals[i].history}
    for i in there:
        for row in state.casts:
            numbers = (each for _, each in row[i] if isinstance(each, Number))
            found |= {each.id for each in numbers if each.view == view}
    return found
