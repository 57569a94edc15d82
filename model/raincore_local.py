"""What one member of a Raincore ring knows, by which rules it acts, and small changes to both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from .machine import Accepted, Refused, Value
from .raincore_events import (
    NO_TOKEN,
    ZERO,
    Committed,
    Deliver,
    Epoch,
    Nodelist,
    Output,
    Settled,
    Token,
)
from .raincore_lists import acknowledged, placed, view_at
from .runs import Address


@dataclass(frozen=True, slots=True)
class Rules:
    """The repairs; the names are the spec's constants. All False is the text as written."""

    holder_vetoes: bool = True
    promises: bool = True
    fresh_attempts: bool = True
    failure_claims: bool = True
    majority: bool = True
    bound_index: bool = True
    fills_holes: bool = True
    one_founder: bool = True
    incarnations: bool = True
    seen_by_all: bool = True


SEED = Rules(*(False,) * 10)
"""The text as written."""


class Local(NamedTuple):
    """What one member knows (Fig. 8). While it eats, the token is its `last_token`."""

    me: Address
    up: str = "new"  # "new", "up", "down" or "left"
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


Answer: TypeAlias = Accepted[Local, Output] | Refused


def running(me: Local) -> tuple[bool, str, dict[str, Value]]:
    """The guard of every action of a process that runs."""
    return me.up == "up", 'up[n] = "up"', {"up": me.up}


# ------------------------------------------------------------------ the history


def committed(me: Local, at: int, view: Nodelist) -> tuple[Local, tuple[Committed, ...]]:
    """Return the member with the view in its history, and the word of it if it is new there."""
    if view_at(me.global_view, at) == view:
        return me, ()
    return me._replace(global_view=placed(me.global_view, at, view)), (Committed(at, view),)


def commits_null(me: Local) -> Local:
    """Nothing was agreed upon at the reserved index."""
    if len(me.global_view) < me.reserved:
        me = me._replace(global_view=placed(me.global_view, me.reserved, ()))
    return me._replace(reserved=0)


def filled(rules: Rules, me: Local, token: Token) -> tuple[Local, tuple[Committed, ...]]:
    """F8: it may lack the last view known to be settled; the token tells."""
    at, view = token.settled
    if not rules.fills_holes or not 1 <= at < token.global_view_number or me.me not in view:
        return me, ()
    if view_at(me.global_view, at):
        return me, ()
    return committed(me, at, view)


def reserve(rules: Rules, me: Local, token: Token) -> tuple[Local, Token]:
    """CHAOS -> RESERVE: the next free index, or repaired that of the list."""
    at = token.global_view_number if rules.bound_index else me.global_view_number + 1
    token = token._replace(global_view_number=at)
    return me._replace(view_state="reserve", reserved=at), token


def commit(me: Local, token: Token) -> tuple[Local, tuple[Committed, ...]]:
    """RESERVE -> AGREEMENT."""
    me, told = committed(me, me.reserved, token.nodelist)
    return me._replace(view_state="agreement", reserved=0), told


def settled(rules: Rules, token: Token) -> Token:
    """All members of the list have held it."""
    if not rules.bound_index:
        return token
    last = Settled(token.global_view_number, token.nodelist)
    return token._replace(settled=last, pending=())


# ------------------------------------------------------------------ mail


def reads_mail(me: Local, token: Token) -> tuple[Local, Token, tuple[Deliver, ...]]:
    """Deliver what is new on the token, in order, and acknowledge it.

    A newcomer, of whom the token has no acknowledgement, begins behind all that is on it.
    """
    new: tuple[tuple[Address, int], ...] = ()
    if me.me in dict(token.acks):
        new = tuple((m.origin, m.k) for m in token.mail if m.ordinal > me.last_ordinal)
        last = max([me.last_ordinal, *(m.ordinal for m in token.mail)])
    else:
        last = token.top
    me = me._replace(delivered=me.delivered + new, last_ordinal=last)
    return me, acknowledged(token, me.me, last), tuple(Deliver(*each) for each in new)
