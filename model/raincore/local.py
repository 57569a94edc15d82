"""The local state of a member of a Raincore ring, its rules, and small changes to the state."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple, TypeAlias

from raincheck.model.machine.machine import Accepted, Refused, Value, state
from raincheck.model.machine.runs import Address

from .events import NO_TOKEN, ZERO, Committed, Deliver, Epoch, Nodelist, Output, Settled, Token
from .lists import acknowledged, placed, restricted, view_at


@dataclass(frozen=True, slots=True)
class Rules:
    """The repairs; the names are the spec's constants. All False is the text as written."""

    holder_vetoes: bool = True
    promises: bool = True
    fresh_attempts: bool = True
    failure_claims: bool = True
    majority: bool = True
    asks_all: bool = True
    bound_index: bool = True
    fills_holes: bool = True
    one_founder: bool = True
    incarnations: bool = True
    seen_by_all: bool = True
    minds_gaps: bool = True
    from_members: bool = True


SEED = Rules(*(False for _ in fields(Rules)))
"""The text as written."""


@state
class Local(NamedTuple):
    """A member's local state (Fig. 8). While it eats, the token is its `last_token`."""

    me: Address
    up: str = "new"  # "new", "up", "down", "left", "spare" or "stranger"
    view_state: str = "chaos"  # "agreement", "chaos" or "reserve"
    token_state: str = "starving"  # "eating", "hungry" or "starving"
    global_view: tuple[Nodelist, ...] = ()
    global_view_number: int = 0
    reserved: int = 0
    last_token: Token = NO_TOKEN
    new_nodes: tuple[Address, ...] = ()
    promised: Epoch = ZERO
    attempt: int = 0
    phase: str = "none"  # "none", "ask" or "claim"
    wanted: Epoch = ZERO
    heard: int = 0
    contacts: tuple[Address, ...] = ()
    leaving: bool = False
    outbox: int = 0
    said: int = 0
    delivered: tuple[tuple[Address, int], ...] = ()
    last_ordinal: int = 0
    awaited: frozenset[Address] = frozenset()


Answer: TypeAlias = Accepted[Local, Output] | Refused


def running(me: Local) -> tuple[bool, str, dict[str, Value]]:
    """Return the guard of every action of a running process."""
    return me.up == "up", 'up[n] = "up"', {"up": me.up}


# ------------------------------------------------------------------ the history


def committed(me: Local, at: int, view: Nodelist) -> tuple[Local, tuple[Committed, ...]]:
    """Return the member with the view in its history, and an indication if it is new there."""
    if view_at(me.global_view, at) == view:
        return me, ()
    return me._replace(global_view=placed(me.global_view, at, view)), (Committed(at, view),)


def filled(rules: Rules, me: Local, token: Token) -> tuple[Local, tuple[Committed, ...]]:
    """F8: the member may lack the view settled before the last one; take it from the token.

    Everybody who has held the last view's token knows that view. The last member to hold it could
    be alone in knowing of the last view itself (F15).
    """
    at, view = token.before
    stayed = me.me in view and me.me in token.settled.nodelist
    lacks = at >= 1 and stayed and not view_at(me.global_view, at)
    return committed(me, at, view) if rules.fills_holes and lacks else (me, ())


def in_chaos(me: Local) -> Local:
    """The member no longer trusts the list and gives up its reservation."""
    return me._replace(view_state="chaos", reserved=0)


def knows(me: Local, number: int) -> Local:
    """The member knows of that index."""
    return me if number <= me.global_view_number else me._replace(global_view_number=number)


def starving(me: Local) -> Local:
    """The member starves; none of its 911s is out."""
    return in_chaos(me)._replace(token_state="starving", phase="none", wanted=ZERO)


class Viewed(NamedTuple):
    """A member and the token once the view state has moved on, and the outputs of that."""

    me: Local
    token: Token
    told: tuple[Committed, ...] = ()


def viewed(rules: Rules, me: Local, token: Token) -> Viewed:
    """Move the view state on as the token comes (Fig. 9), and settle the list if it is decided.

    Repaired, it is settled only when all on the list have held it in this epoch. A member that
    starved lets one visit pass: the token may be an old one that the others gave up while it was
    down (F16).
    """
    copy = me.last_token
    me, missed = filled(rules, me, token)
    same = token.nodelist == copy.nodelist and (
        not rules.bound_index or token.global_view_number == copy.global_view_number
    )
    by_all = token.seen.issuperset(token.nodelist)
    told: tuple[Committed, ...] = ()
    trusted = same and (by_all or not rules.seen_by_all)
    commits = me.view_state == "reserve" and trusted
    starved = rules.seen_by_all and me.token_state == "starving"  # F16
    if me.view_state == "agreement":
        me = me if same else in_chaos(me)
    elif me.view_state == "chaos":
        if trusted and not starved:
            at = token.global_view_number if rules.bound_index else me.global_view_number + 1
            me = me._replace(view_state="reserve", reserved=at)
            token = token._replace(global_view_number=at)
    elif commits:
        me, told = committed(me, me.reserved, token.nodelist)
        me = me._replace(view_state="agreement", reserved=0)
    elif not same:
        me = in_chaos(_with_null(me, me.reserved))
    if by_all or commits:
        token = settled(rules, token)
    me, late = filled(rules, me, token)
    return Viewed(knows(me, token.global_view_number), token, (*missed, *told, *late))


def _with_null(me: Local, at: int) -> Local:
    if at <= len(me.global_view):
        return me
    return me._replace(global_view=placed(me.global_view, at, ()))


def settled(rules: Rules, token: Token) -> Token:
    """Return the token with its list settled: all on it have held it, or a member commits it."""
    if not rules.bound_index:
        return token
    at, nodelist = token.settled
    if at != token.global_view_number or nodelist != token.nodelist:
        now = Settled(token.global_view_number, token.nodelist)
        token = token._replace(settled=now, before=token.settled, pending=())
    elif token.pending:
        token = token._replace(pending=())
    return remembered(rules, token)


# ------------------------------------------------------------------ another list


def electorate(rules: Rules, token: Token) -> Nodelist:
    """Return the members whose promises may count.

    They are those on the list, and behind them, if all are asked, the others of the lists that may
    be settled; a majority may need one of these (F17).
    """
    nodelist = token.nodelist
    if rules.asks_all:
        for each in (token.settled.nodelist, *token.pending):
            if each == nodelist:
                continue
            nodelist += restricted(each, frozenset(each) - frozenset(nodelist))
    return nodelist


def remembered(rules: Rules, token: Token) -> Token:
    """Return the token with the acknowledgements of only those who may come back onto its list."""
    members = electorate(rules, token)
    acks = tuple([entry for entry in token.acks if entry[0] in members])
    return token if len(acks) == len(token.acks) else token._replace(acks=acks)


def relisted(rules: Rules, token: Token, nodelist: Nodelist, seen: frozenset[Address]) -> Token:
    """Return the token with another list, and the members that have already held it."""
    token = token._replace(nodelist=nodelist, seen=seen)
    if rules.bound_index:
        at = token.global_view_number + 1
        token = token._replace(global_view_number=at, pending=(*token.pending, nodelist))
    return remembered(rules, token)


# ------------------------------------------------------------------ mail


def reads_mail(me: Local, token: Token) -> tuple[Local, Token, tuple[Deliver, ...]]:
    """Deliver the new mail on the token, in order, and acknowledge it.

    A member of whom the token has no acknowledgement (new, or left out) begins behind all its mail.
    """
    new: list[tuple[Address, int]] = []
    last = me.last_ordinal
    if me.me in [member for member, _ in token.acks]:
        for ordinal, origin, k in token.mail:
            if ordinal > me.last_ordinal:
                new.append((origin, k))
            last = max(last, ordinal)
    else:
        last = token.top
    if new:
        me = me._replace(delivered=(*me.delivered, *new), last_ordinal=last)
    elif last != me.last_ordinal:
        me = me._replace(last_ordinal=last)
    return me, acknowledged(token, me.me, last), tuple([Deliver(*each) for each in new])
