"""Raincore, the holder of the token: it comes, is made anew, changes its list and goes on.

The law of this file is that of `raincore.py`.
"""

from __future__ import annotations

from .machine import Accepted, refusal
from .raincore_calls import starve
from .raincore_events import (
    ZERO,
    Committed,
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
from .raincore_lists import has_quorum, inserted, next_after, posted, relisted
from .raincore_local import (
    Answer,
    Local,
    Rules,
    commit,
    commits_null,
    filled,
    reads_mail,
    reserve,
    running,
    settled,
)
from .runs import Address


def receive_token(rules: Rules, me: Local, event: ReceiveToken) -> Answer:
    """Event 2: an older token is dropped; else the view state moves on, and it eats."""
    if refused := refusal(running(me)):
        return refused
    t, copy = event.token, me.last_token
    if not _takes(rules, me, t):
        return Accepted(me)
    t = t._replace(current=me.me, seen=t.seen | {me.me})
    same = t.nodelist == copy.nodelist and (
        not rules.bound_index or t.global_view_number == copy.global_view_number
    )
    by_all = t.seen.issuperset(t.nodelist)
    outputs: tuple[Output, ...] = ()
    arrived, agreed = t, False
    if me.view_state == "agreement":
        me = me if same else me._replace(view_state="chaos")
    elif me.view_state == "chaos":
        if same and (by_all or not rules.seen_by_all):
            me, t = reserve(rules, me, t)
    elif same:
        me, outputs = commit(me, t)
        agreed = True
    else:
        me = commits_null(me)._replace(view_state="chaos")
    me = me._replace(global_view_number=max(me.global_view_number, t.global_view_number))
    me, told = filled(rules, me, arrived)
    if by_all or agreed:
        t = settled(rules, t)
    me, t, delivered = reads_mail(me, t)
    return _eats(me, t, (*outputs, *told, *delivered))


def _takes(rules: Rules, me: Local, t: Token) -> bool:
    later = rules.promises and t.epoch > me.last_token.epoch
    return (
        me.me in t.nodelist
        and t.number > me.last_token.number
        and (not rules.promises or t.epoch >= me.promised)
        and (me.token_state != "eating" or later)
    )


def _eats(me: Local, token: Token, outputs: tuple[Output, ...]) -> Answer:
    me = me._replace(
        token_state="eating",
        last_token=token,
        promised=max(me.promised, token.epoch),
        phase="none",
        wanted=ZERO,
    )
    return Accepted(me, (*outputs, Eats(token.epoch, token.seq), Timer("eating")))


def token_undelivered(rules: Rules, me: Local, event: TokenUndelivered) -> Answer:
    """Event 4: who is dead leaves the list. Repaired, only if all others grant it."""
    if refused := refusal(running(me)):
        return refused
    t = event.token
    if me.token_state != "hungry" or me.last_token.number != t.number:
        return Accepted(me)
    if rules.failure_claims:
        return starve(rules, me, "claim" if rules.promises else "ask")
    to = next_after(t.nodelist, t.to)
    left = tuple(n for n in t.nodelist if n != t.to)
    me = me._replace(view_state="chaos", reserved=0)
    me, t, told = _changed(rules, me, t, left)
    if len(left) > 1:
        assert to is not None
        return _passed(me, t, to, told)
    me, t = reserve(rules, me, t)
    me, t, here = _committed(rules, me, t)
    return _eats(me, t._replace(to=me.me), (*told, *here))


def _committed(rules: Rules, me: Local, t: Token) -> tuple[Local, Token, tuple[Committed, ...]]:
    me, told = commit(me, t)
    number = max(me.global_view_number, t.global_view_number)
    return me._replace(global_view_number=number), settled(rules, t), told


def _changed(
    rules: Rules, me: Local, t: Token, nodelist: Nodelist
) -> tuple[Local, Token, tuple[Committed, ...]]:
    """The holder changes the list, and fills its own hole."""
    t = relisted(t, me.me, nodelist, rules.bound_index)
    me, told = filled(rules, me, t)
    return me, t, told


def _passed(me: Local, t: Token, to: Address, outputs: tuple[Output, ...]) -> Answer:
    t = t._replace(seq=t.seq + 1, to=to, current=me.me)
    me = me._replace(token_state="hungry", last_token=t)
    return Accepted(me, (*outputs, t, Timer("hungry")))


def eating_timeout(rules: Rules, me: Local, _event: EatingTimeout) -> Answer:
    """Event 6: newcomers join behind it, or it leaves; what it multicasts is added; it goes on."""
    eating = me.token_state == "eating"
    refused = refusal(
        running(me), (eating, 'tokenState[n] = "eating"', {"tokenState": me.token_state})
    )
    if refused:
        return refused
    t = me.last_token
    to = next_after(t.nodelist, me.me)
    present = to is not None
    goes = present and me.leaving and (not rules.majority or has_quorum(t, {*t.nodelist}))
    nodelist = t.nodelist
    if goes:
        nodelist = tuple(n for n in t.nodelist if n != me.me)
        if not nodelist:
            return Accepted(me._replace(up="left"))
    elif present:
        nodelist = inserted(t.nodelist, me.me, me.new_nodes)
        to = next_after(nodelist, me.me)
    elif nodelist:  # a leaver had to make its last token anew
        to = nodelist[0]
    me = me._replace(new_nodes=())
    told: tuple[Output, ...] = ()
    if nodelist != t.nodelist:
        me = me._replace(view_state="chaos", reserved=0)
        t = t._replace(seq=t.seq + 1)
        me, t, told = _changed(rules, me, t, nodelist)
    me, t, delivered = _posts(me, t)
    told = (*told, *delivered)
    if to is not None and to != me.me:
        return _passed(me, t, to, told)
    return _alone(rules, me, t, told)


def _posts(me: Local, t: Token) -> tuple[Local, Token, tuple[Deliver, ...]]:
    """What it has to multicast is put on the token, and so delivered to itself."""
    if not me.outbox:
        return me, t, ()
    t = posted(t, me.me, me.said + 1, me.outbox)
    me = me._replace(said=me.said + me.outbox, outbox=0)
    return reads_mail(me, t)


def _alone(rules: Rules, me: Local, t: Token, told: tuple[Output, ...]) -> Answer:
    """It keeps the token. Repaired, each eating timeout is a round of its own."""
    if rules.failure_claims and me.view_state == "chaos":
        me, t = reserve(rules, me, t)
        number = max(me.global_view_number, t.global_view_number)
        me = me._replace(global_view_number=number)
    elif rules.failure_claims and me.view_state == "reserve":
        me, t, here = _committed(rules, me, t)
        told = (*told, *here)
    return Accepted(me._replace(last_token=t), (*told, Timer("eating")))


def token_delivered(_rules: Rules, me: Local, _event: TokenDelivered) -> Answer:
    """A leaver's last token has arrived: it is gone."""
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
