"""Raincore, the holder of the token: it receives or makes it, changes its list, and passes it on.

The law of this file is that of `handlers.py`.
"""

from __future__ import annotations

from raincheck.model.machine.machine import Accepted, refusal
from raincheck.model.machine.runs import Address

from .calls import starve
from .events import (
    ZERO,
    Deliver,
    EatingTimeout,
    Eats,
    Nodelist,
    Output,
    ReceiveToken,
    Timer,
    Token,
    TokenDelivered,
    TokenUndelivered,
)
from .lists import has_quorum, inserted, next_after, posted
from .local import (
    Answer,
    Local,
    Rules,
    committed,
    in_chaos,
    knows,
    reads_mail,
    relisted,
    running,
    settled,
    starving,
    viewed,
)


def receive_token(rules: Rules, me: Local, event: ReceiveToken) -> Answer:
    """Event 2: drop an older token; else the view state moves on, and the member eats."""
    refused = None if me.up == "up" else refusal(running(me))
    if refused:
        return refused
    t = event.token
    if not takes(rules, me, t):
        return Accepted(me)
    t = t._replace(current=me.me, seen=t.seen if me.me in t.seen else t.seen | {me.me})
    me, t, told = viewed(rules, me, t)
    me, t, delivered = reads_mail(me, t)
    me = me._replace(
        token_state="eating",
        last_token=t,
        promised=max(me.promised, t.epoch),
        phase="none",
        wanted=ZERO,
    )
    return Accepted(me, (*told, *delivered, Eats(t.epoch, t.seq), Timer("eating")))


def takes(rules: Rules, me: Local, t: Token) -> bool:
    """Tell whether the token is newer than the copy and of no epoch that the member has given up.

    A member that eats may give up its own token.
    """
    later = rules.promises and t.epoch > me.last_token.epoch
    return (
        me.me in t.nodelist
        and t.number > me.last_token.number
        and (not rules.promises or t.epoch >= me.promised)
        and (me.token_state != "eating" or later)
    )


def token_undelivered(rules: Rules, me: Local, event: TokenUndelivered) -> Answer:
    """Event 4: in the text, drop the member from the list and try the next; repaired, claim."""
    if refused := refusal(running(me)):
        return refused
    t = event.token
    if me.token_state != "hungry" or me.last_token != t:
        return Accepted(me)
    if rules.failure_claims:
        return starve(rules, me, "claim" if rules.promises else "ask")
    nodelist = tuple(n for n in t.nodelist if n != t.to)
    if rules.majority and not has_quorum(t, frozenset(nodelist)):
        return Accepted(starving(me), (Timer("starving"),))
    if not nodelist:
        return Accepted(me._replace(up="left"))
    to = next_after(t.nodelist, t.to) or me.me
    me, t = _changed(rules, me, t, nodelist, frozenset({me.me}))
    if nodelist != (me.me,):
        return _passed(me, t, to, ())
    at = t.global_view_number if rules.bound_index else me.global_view_number + 1
    me, told = committed(knows(me, at), at, nodelist)
    t = settled(rules, t._replace(to=me.me, current=me.me, global_view_number=at))
    me = me._replace(view_state="agreement", token_state="eating", last_token=t)
    return Accepted(me, (*told, Eats(t.epoch, t.seq), Timer("eating")))


def _changed(
    rules: Rules, me: Local, t: Token, nodelist: Nodelist, seen: frozenset[Address]
) -> tuple[Local, Token]:
    """Change the list, as the holder."""
    t = relisted(rules, t, nodelist, seen)
    return knows(in_chaos(me), t.global_view_number), t


def _passed(me: Local, t: Token, to: Address, outputs: tuple[Output, ...]) -> Answer:
    t = t._replace(seq=t.seq + 1, to=to, current=me.me)
    me = me._replace(token_state="hungry", last_token=t)
    return Accepted(me, (*outputs, t, Timer("hungry")))


def eating_timeout(rules: Rules, me: Local, _event: EatingTimeout) -> Answer:
    """Event 6: admit newcomers or leave, put the multicasts on the token, and pass it on."""
    eating = me.token_state == "eating"
    refused = (
        None
        if eating and me.up == "up"
        else refusal(
            running(me), (eating, 'tokenState[n] = "eating"', {"tokenState": me.token_state})
        )
    )
    if refused:
        return refused
    if me.awaited:
        me = me._replace(awaited=frozenset())
    ring = me.last_token.nodelist
    nodelist, leaves, may = _wanted_list(rules, me)
    if may and me.new_nodes:
        me = me._replace(new_nodes=())
    me, t, delivered = _posts(me)
    if not nodelist:
        return Accepted(me._replace(up="left", last_token=t), delivered)
    if leaves or nodelist != ring:
        seen = frozenset[Address]() if leaves else frozenset({me.me})
        me, t = _changed(rules, me, t, nodelist, seen)
        t = t._replace(seq=t.seq + 1)
    if nodelist == (me.me,):
        return _alone(rules, me, t, delivered)
    to = next_after(ring if leaves else nodelist, me.me) or nodelist[0]
    return _passed(me, t, to, delivered)


def _wanted_list(rules: Rules, me: Local) -> tuple[Nodelist, bool, bool]:
    """Return the list to pass on, whether the member leaves, and whether a quorum allows it.

    A leaver counts among those who go on: it has held the list without itself.
    """
    t = me.last_token
    ring = t.nodelist
    if me.leaving and _may_go_on(rules, t, {*ring, me.me}):
        return tuple(n for n in ring if n != me.me), True, True
    nodelist = inserted(ring, me.me, me.new_nodes)
    may = nodelist == ring or _may_go_on(rules, t, {*nodelist, me.me})
    return nodelist if may else ring, False, may


def _may_go_on(rules: Rules, t: Token, voters: set[Address]) -> bool:
    return not rules.majority or has_quorum(t, voters)


def _posts(me: Local) -> tuple[Local, Token, tuple[Deliver, ...]]:
    """Put the member's multicasts on the token, and thereby deliver them to itself."""
    t = me.last_token
    if not me.outbox:
        return me, t, ()
    t = posted(t, me.me, me.said + 1, me.outbox)
    me = me._replace(said=me.said + me.outbox, outbox=0)
    return reads_mail(me, t)


def _alone(rules: Rules, me: Local, t: Token, delivered: tuple[Output, ...]) -> Answer:
    """Keep the token, alone on the list. Repaired, each eating timeout is a round of its own."""
    told: tuple[Output, ...] = ()
    if rules.failure_claims:
        me, t, told = viewed(rules, me, t)
    return Accepted(me._replace(last_token=t), (*told, *delivered, Timer("eating")))


def token_delivered(_rules: Rules, me: Local, _event: TokenDelivered) -> Answer:
    """A leaver's last token has arrived: the leaver is gone."""
    refused = refusal(
        running(me),
        (me.token_state == "hungry", 'tokenState[n] = "hungry"', {"tokenState": me.token_state}),
        (
            me.me not in me.last_token.nodelist,
            "n \\notin Range(lastToken[n].nodelist)",
            {"nodelist": me.last_token.nodelist},
        ),
    )
    return refused or Accepted(me._replace(up="left"))
