"""The messages under way in a Raincore ring, and who has a reason to wait for them.

The twin of Arrives, Coming and Helped in `spec/Raincore.tla`.
"""

from __future__ import annotations

from raincheck.model.machine.runs import Address

from .events import Call911, Message, Token
from .holder import takes
from .local import Local, Rules
from .state import State


def _index(state: State, member: Address) -> int:
    return next(i for i, me in enumerate(state.locals) if me.me == member)


def of(state: State, member: Address) -> Local:
    """Return a member's local state."""
    return state.locals[_index(state, member)]


def connected(state: State, one: Address, other: Address) -> bool:
    """Tell whether two members are on the same side of the cut."""
    return state.side[_index(state, one)] == state.side[_index(state, other)]


def idle(me: Local) -> bool:
    """Tell whether a token may rest here: it has nothing to do, and nobody wants it."""
    quiet = me.view_state == "agreement" and not me.new_nodes and not me.leaving
    return quiet and me.outbox == 0 and not me.last_token.mail and not me.awaited


def admitted(rules: Rules, state: State, message: Message) -> bool:
    """Tell whether the Transport Manager hands a message up: a member's, or a request to join."""
    if not rules.from_members or of(state, message.current).up != "stranger":
        return True
    return isinstance(message, Call911) and message.orig == message.current and not message.nodelist


def arrives(rules: Rules, state: State, message: Message) -> bool:
    """Tell whether a message arrives if nothing else happens."""
    reached = of(state, message.to).up == "up" and connected(state, message.current, message.to)
    return reached and admitted(rules, state, message)


def taken(rules: Rules, state: State, token: Token) -> bool:
    """Tell whether a token arrives and is taken."""
    return arrives(rules, state, token) and takes(rules, of(state, token.to), token)


def coming(rules: Rules, state: State, me: Address) -> bool:
    """Tell whether a token with the member on its list is on the member's side.

    It is held there, or will be taken, or its sender will learn that it did not arrive.
    """
    for other in state.locals:
        eats = other.up == "up" and other.token_state == "eating"
        if eats and me in other.last_token.nodelist and connected(state, me, other.me):
            return True
    for t in state.network | state.reports:
        if not isinstance(t, Token) or me not in t.nodelist or not connected(state, me, t.current):
            continue
        if t in state.network and taken(rules, state, t):
            return True
        sender = of(state, t.current)
        told = t in state.reports or not arrives(rules, state, t)
        waits = sender.token_state == "hungry" and sender.last_token == t
        if told and waits and sender.up == "up":
            return True
    return False


def helped(rules: Rules, state: State, me: Address) -> bool:
    """Tell whether a starving member has no reason to ask again.

    Its 911 is under way; or a member that does not starve will let it in; or the token is with a
    member on whose list it is; or others will starve first.
    """
    if any(isinstance(c, Call911) and c.orig == me for c in state.network | state.reports):
        return True
    return any(
        other.up == "up"
        and connected(state, me, other.me)
        and (_lets_in(other, me) or _feeds(rules, state, other, me))
        for other in state.locals
    ) or any(
        isinstance(t, Token)
        and connected(state, me, t.current)
        and me in t.nodelist
        and taken(rules, state, t)
        for t in state.network
    )


def _lets_in(other: Local, me: Address) -> bool:
    return me in other.new_nodes and other.token_state != "starving"


def _feeds(rules: Rules, state: State, other: Local, me: Address) -> bool:
    ring = other.last_token.nodelist
    if other.token_state == "eating":
        return me in ring
    starves = other.token_state == "hungry" and other.me in ring
    return starves and not coming(rules, state, other.me)
