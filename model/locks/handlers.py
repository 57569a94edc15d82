"""LOCKS: the twin of `spec/Locks.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first
in the spec's words, followed by the effect of the spec's action on this member. The spec has the
rules K1 to K9.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.composed import handlers_of
from raincheck.model.machine.machine import Accepted, Refused, refusal, state

from .events import (
    INPUTS,
    Arrive,
    Depart,
    Drop,
    Epoch,
    Fence,
    Held,
    Lost,
    Post,
    Request,
    Table,
    Ticket,
    Want,
    Wish,
)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that are switched on, and the first epoch; the names are the spec's constants."""

    chained: bool = True
    begins_own: bool = True
    names_parent: bool = True
    all_ask: bool = True
    reads_on: bool = True
    loses_off_chain: bool = True
    sessions: bool = True
    ends_earlier: bool = True
    ends_gone: bool = True
    epoch_in_fence: bool = True
    epoch_when_told: bool = True
    in_order: bool = True


@state
class Local(NamedTuple):
    """A member's local state."""

    me: str
    session: int = 1
    epoch: Epoch | None = None
    begun: Epoch | None = None
    base: Epoch | None = None
    table: Table = ()
    askers: frozenset[str] = frozenset()
    wishes: tuple[Wish, ...] = ()
    held: frozenset[Held] = frozenset()
    requests: int = 0


Answer: TypeAlias = Accepted[Local, Any] | Refused
NO_EPOCH = Epoch(0, "")

# ------------------------------------------------------------------ tables


def may_hold(rules: Rules, table: Table, i: int) -> bool:
    """K9: whether no earlier request is in the way of the i-th."""
    if rules.in_order:
        return not passed(table, i)
    others = [(j, each) for j, each in enumerate(table) if j != i and each.name == table[i].name]
    if table[i].mode == "read":
        return all(each.mode == "read" or each.fence is None for _, each in others)
    return all(each.mode == "write" and j > i and each.fence is None for j, each in others)


def passed(table: Table, i: int) -> bool:
    """Whether the i-th has to wait for an earlier one, or would make it wait."""
    return not all(
        each.mode == table[i].mode == "read" for each in table[:i] if each.name == table[i].name
    )


def ticket(request: Request) -> Ticket:
    """Return what takes a request back."""
    return Ticket(request.member, request.session, request.request)


def changed(rules: Rules, table: Table, post: Post) -> Table:
    """Return the table after a post: who may hold its name gets a fence."""
    table = (*(each for each in table if ticket(each) not in post.ended), *post.wanted)
    epoch = post.epoch if rules.epoch_in_fence else NO_EPOCH
    return tuple(
        each._replace(fence=Fence(epoch, post.place, i + 1))
        if each.fence is None and may_hold(rules, table, i)
        else each
        for i, each in enumerate(table)
    )


# ------------------------------------------------------------------ reading


def _good(rules: Rules, me: Local, post: Post) -> Epoch | None:
    """K3: for which epoch the table is good behind this post."""
    if me.base is None:
        return None
    if not rules.chained:
        return post.epoch
    if post.parent is not None:
        follows = me.base == post.parent or not rules.names_parent
        return post.epoch if follows else None
    return me.base if me.base == post.epoch else None


def read(rules: Rules, me: Local, post: Post) -> Local:
    """K1, K4: read a post."""
    good = post.epoch if post.lays else _good(rules, me, post)
    there = post.table if post.lays else me.table
    askers = me.askers
    if post.epoch == me.epoch:
        if post.lays:
            askers = frozenset()
        elif post.asks:
            askers = askers | {post.by}
    table = () if good is None else changed(rules, there, post)
    return me._replace(base=good, table=table, askers=askers)


def _shown(rules: Rules, session: int) -> int:
    return session if rules.sessions else 0


def _mine(rules: Rules, me: Local, request: int) -> list[Request]:
    key = (me.me, _shown(rules, me.session), request)
    return [each for each in me.table if ticket(each) == key]


def _holds(rules: Rules, me: Local) -> frozenset[Held]:
    """Return what it holds by its table, and has not been told yet."""
    if me.base != me.epoch or me.base is None:
        return frozenset()
    told = {held.request for held in me.held}
    new = (wish.request for wish in me.wishes if wish.request not in told)
    lines = (each for request in new for each in _mine(rules, me, request))
    return frozenset(
        Held(each.request, each.name, each.mode, _told_fence(rules, me.base, each.fence))
        for each in lines
        if each.fence is not None
    )


def _told_fence(rules: Rules, epoch: Epoch, fence: Fence) -> Fence:
    """K8: the fence with which a member is told that it holds its name by that one."""
    if rules.epoch_in_fence and rules.epoch_when_told:
        return fence._replace(epoch=epoch)
    return fence


def _lost(rules: Rules, me: Local) -> frozenset[Held]:
    """K5, K7: what it has been told and does not hold any more."""
    if me.base is None:
        return me.held if rules.loses_off_chain else frozenset()
    return frozenset(
        held
        for held in me.held
        if all(each.fence is None for each in _mine(rules, me, held.request))
    )


def _told(rules: Rules, before: Local, me: Local, post: Post | None) -> Answer:
    """Tell the application what is lost and what it holds."""
    lost = _lost(rules, me)
    ends = {each.request for each in lost}
    wishes = tuple(wish for wish in me.wishes if wish.request not in ends)
    me = me._replace(wishes=wishes, held=me.held - lost)
    me = me._replace(held=me.held | _holds(rules, me))
    outputs: Iterable[Any] = (
        *(() if post is None else (post,)),
        *(Lost(request) for request in sorted(ends)),
        *sorted(me.held - before.held),
    )
    return Accepted(me, tuple(outputs))


# ------------------------------------------------------------------ the handlers


def arrive(rules: Rules, me: Local, event: Arrive) -> Answer:
    """The token comes: the member reads what is new, and is off the chain unless it leads here."""
    before, epoch = me, event.epoch
    if epoch != me.epoch:
        begun = me.epoch if epoch.by == me.me else None if rules.begins_own else me.begun
        me = me._replace(epoch=epoch, begun=begun, askers=frozenset())
    for post in event.news:
        me = read(rules, me, post)
    if not rules.chained and me.base is not None:
        me = me._replace(base=epoch)
    elif me.base != epoch and (me.begun is None or me.base != me.begun):
        me = me._replace(base=None, table=())
    return _told(rules, before, me, None)


def post_of(rules: Rules, me: Local, event: Depart) -> Post:
    """Return what the member posts, as the last on the token."""
    assert me.epoch is not None
    begins = me.begun is not None
    good = me.base == me.epoch or (begins and me.base == me.begun)
    asked = not rules.all_ask or event.members - {me.me} <= me.askers
    resets = not good and (event.place > event.read or not rules.reads_on) and asked
    lays = resets or (good and bool(me.askers))
    shown, wanted = _shown(rules, me.session), {wish.request for wish in me.wishes}

    def over(line: Request) -> bool:
        if line.member == me.me:
            old = line.request not in wanted if line.session == shown else rules.ends_earlier
            if old:
                return True
        return rules.ends_gone and line.member not in event.members

    ended = frozenset(ticket(line) for line in me.table if over(line)) if good else frozenset()
    new = [wish for wish in me.wishes if not _mine(rules, me, wish.request)]
    lines = tuple(Request(me.me, shown, *wish) for wish in new) if good or resets else ()
    return Post(
        me.me,
        me.epoch,
        event.place,
        me.begun,
        not good and not resets,
        lays,
        me.table if lays else (),
        ended,
        lines,
    )


def says(post: Post) -> bool:
    """Tell whether a post says anything; a multicast of the application's does not."""
    return bool(post.parent is not None or post.asks or post.lays or post.ended or post.wanted)


def depart(rules: Rules, me: Local, event: Depart) -> Answer:
    """The token goes on, with the member's post."""
    refused = refusal((me.epoch is not None, "epoch[n] # NoEpoch", {}))
    if refused:
        return refused
    before, post = me, post_of(rules, me, event)
    if not says(post):
        return _told(rules, before, me, None)
    me = read(rules, me, post)._replace(begun=None)
    return _told(rules, before, me, post)


def want(_rules: Rules, me: Local, event: Want) -> Answer:
    """The application wants a lock."""
    wish = Wish(me.requests + 1, event.name, event.mode)
    return Accepted(me._replace(requests=wish.request, wishes=(*me.wishes, wish)), ())


def drop(_rules: Rules, me: Local, event: Drop) -> Answer:
    """The application does not want it any more."""
    there = any(wish.request == event.request for wish in me.wishes)
    refused = refusal(
        (there, "\\E w \\in Range(wishes[n]) : w.request = request", {"request": event.request})
    )
    if refused:
        return refused
    wishes = tuple(wish for wish in me.wishes if wish.request != event.request)
    held = frozenset(each for each in me.held if each.request != event.request)
    return Accepted(me._replace(wishes=wishes, held=held), ())


HANDLERS = handlers_of(INPUTS, globals())
