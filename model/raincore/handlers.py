"""Raincore: the twin of `spec/Raincore.tla`, one function per handler of a member.

The law of these files: a handler sees one member's local state and one input. Its guard comes
first, conjunct by conjunct in the spec's words, followed by the effect of the spec's action on this
member. Messages and calls of the layers around are outputs; the network (`system.py`) decides what
becomes of a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from raincheck.model.machine.machine import Accepted, refusal

from . import events as ev
from .calls import hungry_timeout, receive911, starve, starving_timeout, undelivered911
from .events import NOTHING, ZERO, Nodelist, Settled, Token
from .holder import eating_timeout, receive_token, token_delivered, token_undelivered
from .local import SEED, Answer, Local, Rules, in_chaos, knows, running

__all__ = ["HANDLERS", "INPUTS", "SEED", "Answer", "Local", "Rules", "first_token"]

INPUTS = ev.INPUTS


def first_token(rules: Rules, founders: Nodelist) -> Token:
    """Return the founders' token, before anybody has held it."""
    first = founders[0]
    return Token(
        to=first,
        current=first,
        epoch=ZERO,
        seq=0,
        nodelist=founders,
        global_view_number=1 if rules.bound_index else 0,
        settled=Settled(0, founders),
        before=NOTHING,
        pending=(founders,) if rules.bound_index else (),
        seen=frozenset(),
        acks=tuple(sorted((n, 0) for n in founders)),
    )


def initialise(rules: Rules, me: Local, event: ev.Initialise) -> Answer:
    """Event 1: in the text every founder makes a token; repaired, only the first one does."""
    role, founders, contacts = event
    founder = role == "founder"
    refused = refusal(
        (me.up == "new", 'up[n] = "new"', {"up": me.up}),
        (
            me.me in founders or not founder,
            'role = "founder" => n \\in Range(Founders)',
            {"role": role},
        ),
        (founder or bool(contacts), 'role = "joiner" => contacts # <<>>', {"contacts": contacts}),
    )
    if refused:
        return refused
    me = me._replace(up="up")
    if not founder:
        return starve(rules, me._replace(contacts=contacts), "ask")
    token = first_token(rules, founders)
    me = knows(me, token.global_view_number)
    if rules.one_founder and founders[0] != me.me:
        me = me._replace(token_state="hungry", last_token=token)
        return Accepted(me, (ev.Timer("hungry"),))
    token = token._replace(to=me.me, current=me.me, seq=1, seen=frozenset({me.me}))
    me = me._replace(token_state="eating", last_token=token)
    return Accepted(me, (ev.Eats(token.epoch, token.seq), ev.Timer("eating")))


def multicast(_rules: Rules, me: Local, _event: ev.Multicast) -> Answer:
    """The application multicasts; the message waits for the token."""
    refused = refusal(running(me), _stays(me))
    return refused or Accepted(me._replace(outbox=me.outbox + 1))


def gap(rules: Rules, me: Local, _event: ev.Gap) -> Answer:
    """F19: after a pause the member trusts neither a token that it has nor the next one."""
    if refused := refusal(running(me)):
        return refused
    if rules.minds_gaps and me.token_state == "hungry" and me.me in me.last_token.nodelist:
        return starve(rules, me, "ask")
    return Accepted(in_chaos(me) if rules.minds_gaps and me.token_state == "eating" else me)


def wanted(_rules: Rules, me: Local, event: ev.Wanted) -> Answer:
    """Another member wants the token: until it goes on, it need not rest here."""
    others = frozenset(me.last_token.nodelist) - {me.me}
    listed = event.by in others
    refused = refusal(
        running(me),
        (
            listed,
            "m \\in Range(lastToken[n].nodelist) \\ {n}",
            {"nodelist": me.last_token.nodelist},
        ),
    )
    return refused or Accepted(me._replace(awaited=me.awaited | {event.by}))


def leave(_rules: Rules, me: Local, _event: ev.Leave) -> Answer:
    """The application leaves; the member goes once it has the token."""
    refused = refusal(running(me), _stays(me))
    return refused or Accepted(me._replace(leaving=True))


def _stays(me: Local) -> tuple[bool, str, dict[str, Any]]:
    return not me.leaving, "~leaving[n]", {"leaving": me.leaving}


def crash(_rules: Rules, me: Local, _event: ev.Crash) -> Answer:
    """The process crashes."""
    return refusal(running(me)) or Accepted(me._replace(up="down"))


def recover(rules: Rules, me: Local, _event: ev.Recover) -> Answer:
    """The process comes back with its state, and starves."""
    refused = refusal(
        (me.up == "down", 'up[n] = "down"', {"up": me.up}),
        (
            bool(me.last_token.nodelist or me.contacts),
            "lastToken[n].nodelist # <<>> \\/ contacts[n] # <<>>",
            {"contacts": me.contacts},
        ),
    )
    return refused or starve(rules, me._replace(up="up", leaving=False, awaited=frozenset()), "ask")


def forget(_rules: Rules, me: Local, _event: ev.Forget) -> Answer:
    """The state of a crashed process is lost."""
    refused = refusal((me.up == "down", 'up[n] = "down"', {"up": me.up}))
    return refused or Accepted(Local(me.me))


HANDLERS: Mapping[str, Callable[[Rules, Local, Any], Answer]] = {
    "Initialise": initialise,
    "ReceiveToken": receive_token,
    "Receive911": receive911,
    "TokenUndelivered": token_undelivered,
    "Undelivered911": undelivered911,
    "EatingTimeout": eating_timeout,
    "HungryTimeout": hungry_timeout,
    "StarvingTimeout": starving_timeout,
    "Gap": gap,
    "TokenDelivered": token_delivered,
    "Multicast": multicast,
    "Wanted": wanted,
    "Leave": leave,
    "Crash": crash,
    "Recover": recover,
    "Forget": forget,
}
