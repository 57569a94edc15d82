"""Raincore, the 911s of a starving member: to ask for the token, claim an epoch, or ask to join.

The law of this file is that of `handlers.py`.
"""

from __future__ import annotations

from raincheck.model.machine.machine import Accepted, refusal

from .events import (
    ZERO,
    Call911,
    Eats,
    Epoch,
    HungryTimeout,
    Nodelist,
    Receive911,
    StarvingTimeout,
    Timer,
    Undelivered911,
)
from .lists import has_quorum, last_view, next_after, restricted
from .local import Answer, Local, Rules, electorate, knows, relisted, running, starving


def starve(rules: Rules, me: Local, phase: str) -> Answer:
    """The member starves from now on, or starves again: a new attempt, and a 911 for it."""
    me = starving(me)._replace(attempt=me.attempt + 1, phase=phase)
    return _calls(rules, me if phase == "ask" else _claiming(me))


def _claiming(me: Local) -> Local:
    """Return the member claiming an epoch of its own, later than all that it has heard of."""
    n = 1 + max(me.heard, me.promised.n, me.last_token.epoch.n)
    epoch = Epoch(n, me.me)
    return me._replace(phase="claim", wanted=epoch, promised=epoch)


def _calls(rules: Rules, me: Local) -> Answer:
    """Send the 911 of this attempt; a joiner, who knows no ring, sends it to its first contact."""
    return Accepted(me, (call_of(rules, me), Timer("starving")))


def call_of(rules: Rules, me: Local) -> Call911:
    """Return the member's 911, as it is now."""
    copy, ring = me.last_token, ring_of(rules, me)
    to = next_after(ring, me.me) or me.contacts[0]
    granted = frozenset({me.me} if me.phase == "claim" else ())
    return Call911(
        to,
        me.me,
        me.me,
        ring,
        copy.epoch,
        copy.seq,
        "yes",
        me.attempt,
        me.phase,
        me.wanted,
        granted,
    )


def ring_of(rules: Rules, me: Local) -> Nodelist:
    """Return the list that the member's 911 goes round.

    In the text it is the last view; repaired, it has all members whose promise may be needed.
    """
    last = () if rules.promises else last_view(me.global_view)
    ring = last or electorate(rules, me.last_token)
    return ring if me.me in ring or not ring else (me.me, *ring)


def hungry_timeout(rules: Rules, me: Local, _event: HungryTimeout) -> Answer:
    """Event 7: the token may be lost."""
    refused = refusal(
        running(me),
        (me.token_state == "hungry", 'tokenState[n] = "hungry"', {"tokenState": me.token_state}),
        (
            me.me in me.last_token.nodelist,
            "n \\in Range(lastToken[n].nodelist)",
            {"nodelist": me.last_token.nodelist},
        ),
    )
    return refused or starve(rules, me, "ask")


def starving_timeout(rules: Rules, me: Local, _event: StarvingTimeout) -> Answer:
    """Event 8: ask again."""
    starving = me.token_state == "starving"
    refused = refusal(
        running(me), (starving, 'tokenState[n] = "starving"', {"tokenState": me.token_state})
    )
    return refused or starve(rules, _next_contact(me), "ask")


def _next_contact(me: Local) -> Local:
    return me if me.last_token.nodelist else me._replace(contacts=me.contacts[1:] + me.contacts[:1])


def undelivered911(_rules: Rules, me: Local, event: Undelivered911) -> Answer:
    """Event 5: try the next member; drop a NO, and a 911 whose originator is unreachable."""
    if refused := refusal(running(me)):
        return refused
    call = event.call
    if call.status == "no" or call.to == call.orig:
        return Accepted(me)
    if not call.nodelist:
        if not me.contacts:
            return Accepted(me)
        me = _next_contact(me)
        return Accepted(me, (call._replace(to=me.contacts[0]),))
    to = next_after(call.nodelist, call.to) or call.orig
    return Accepted(me, (call._replace(to=to, current=me.me),))


def receive911(rules: Rules, me: Local, event: Receive911) -> Answer:
    """Event 3: the own 911 is back; a member's is vetoed or passed on; a stranger's is a join."""
    if refused := refusal(running(me)):
        return refused
    call = event.call
    if call.orig == me.me:
        return _own(rules, me, call)
    if not _is_member(rules, me, call):
        queued = call.orig in me.new_nodes
        return Accepted(me if queued else me._replace(new_nodes=(*me.new_nodes, call.orig)))
    if _vetoes(rules, me, call):
        no = call._replace(to=call.orig, current=me.me, status="no", promised=me.promised)
        return Accepted(me, (no,))
    if call.phase == "claim":
        me = me._replace(promised=call.claim)
        call = call._replace(granted=call.granted | {me.me})
    to = next_after(call.nodelist, me.me) or call.orig
    return Accepted(me, (call._replace(to=to, current=me.me),))


def _is_member(rules: Rules, me: Local, call: Call911) -> bool:
    if not rules.promises:
        return call.orig in (last_view(me.global_view) or me.last_token.nodelist)
    return call.orig in me.last_token.nodelist or (
        call.number > me.last_token.number and me.me in call.nodelist
    )


def _vetoes(rules: Rules, me: Local, call: Call911) -> bool:
    """Tell whether the member vetoes: it has the token, a later copy, or has promised otherwise."""
    return (
        (rules.holder_vetoes and me.token_state == "eating")
        or me.last_token.number > call.number
        or (me.last_token.number == call.number and me.me > call.orig)
        or (call.phase == "claim" and call.claim <= me.promised)
    )


def _own(rules: Rules, me: Local, call: Call911) -> Answer:
    """The member's own 911 has gone round, or was vetoed."""
    if me.token_state != "starving":
        return Accepted(me)
    if call.status == "no":
        return Accepted(me._replace(heard=max(me.heard, call.promised.n)))
    stale = rules.fresh_attempts and (call.attempt, call.phase) != (me.attempt, me.phase)
    bound = rules.promises and call.phase == "claim" and me.promised != me.wanted
    if stale or bound or not me.last_token.nodelist:
        return Accepted(me)
    if rules.promises and call.phase == "ask":
        return _calls(rules, _claiming(me))
    return _regenerate(rules, me, call)


def _regenerate(rules: Rules, me: Local, call: Call911) -> Answer:
    """Make the token anew from the copy, with the members that granted it."""
    copy = me.last_token
    voters = call.granted if rules.promises else frozenset(copy.nodelist)
    if rules.majority and not has_quorum(copy, voters):
        return Accepted(me._replace(phase="none", wanted=ZERO))
    nodelist = copy.nodelist
    if rules.promises:
        nodelist = restricted(electorate(rules, copy), voters)
    token = copy._replace(to=me.me, current=me.me, seen=frozenset({me.me}))
    if rules.promises:
        token = token._replace(epoch=me.wanted)
    if nodelist != copy.nodelist:
        token = relisted(rules, token, nodelist, token.seen)
    me = knows(me, token.global_view_number)._replace(
        token_state="eating", last_token=token, phase="none", wanted=ZERO
    )
    return Accepted(me, (Eats(token.epoch, token.seq), Timer("eating")))
