"""FRAG: the twin of `spec/Frag.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first
in the spec's words, followed by the effect of the spec's action on this member. What goes to
SEQUENCER, and what becomes of the fragments' contents, are outputs. The spec has the rules G1 to
G6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

from raincheck.model.machine.composed import handlers_of
from raincheck.model.machine.machine import Accepted, Refused, Value, refusal, state
from raincheck.model.machine.runs import Address

from .events import (
    INPUTS,
    Deliver,
    Forget,
    Fragment,
    GivenUp,
    GiveUp,
    InstallView,
    Keep,
    Members,
    Output,
    ReceiveFragment,
    ReceiveGiveUp,
    Send,
    SendFragment,
)

T = TypeVar("T")
Table: TypeAlias = tuple[tuple[Any, T], ...]
"""Values by key, in the order of keys."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that are switched on, and the window; the names are the spec's constants."""

    until_delivered: bool = True
    begin_anew: bool = True
    checks_epoch: bool = True
    forgets_departed: bool = True
    window: int = 4


class Sending(NamedTuple):
    """A message under way: `sent` of its `parts` fragments were sent in this epoch."""

    parts: int
    sent: int


class Kept(NamedTuple):
    """The first `here` of the `parts` fragments of a message."""

    here: int
    parts: int


@state
class Local(NamedTuple):
    """A member's local state. `members` are those of its view (the spec's `views[view[n]]`)."""

    me: Address
    view: int = 0
    members: Members = ()
    epoch: int = 0
    sending: tuple[tuple[int, Sending], ...] = ()
    kept: tuple[tuple[Address, tuple[tuple[int, Kept], ...]], ...] = ()


Answer: TypeAlias = Accepted[Local, Output] | Refused


# ------------------------------------------------------------------ the sender


def send(rules: Rules, me: Local, event: Send) -> Answer:
    """The application sends a message."""
    number, parts = event
    refused = refusal(
        _running(me),
        (number not in dict(me.sending), "m \\notin DOMAIN sending[n]", {"m": number}),
        (
            parts_of(sending for _, sending in me.sending) + parts <= rules.window,
            "MaySend(n, k)",
            {"k": parts},
        ),
    )
    if refused:
        return refused
    return Accepted(me._replace(sending=_with(me.sending, number, Sending(parts, 0))))


def send_fragment(rules: Rules, me: Local, event: SendFragment) -> Answer:
    """There is room for the next fragment (G1)."""
    number = event.number
    old = dict(me.sending).get(number)
    enabled = me.view > 0 and old is not None and old.sent < old.parts
    refused = None if enabled else refusal(_running(me), *_to_send(me, number))
    if refused or old is None:
        return refused or Accepted(me)
    parts, part = old
    if not rules.until_delivered and part + 1 == parts:
        left = _without(me.sending, number)
    else:
        left = _with(me.sending, number, Sending(parts, part + 1))
    return Accepted(me._replace(sending=left), (Fragment(number, me.epoch, part, parts),))


def give_up(_rules: Rules, me: Local, event: GiveUp) -> Answer:
    """The application gives a message up."""
    number = event.number
    refused = refusal(_running(me), *_to_send(me, number))
    if refused:
        return refused
    return Accepted(me._replace(sending=_without(me.sending, number)), (GivenUp(number),))


# ------------------------------------------------------------------ the receivers


def receive_fragment(rules: Rules, me: Local, event: ReceiveFragment) -> Answer:
    """A fragment continues its message, or is dropped; the last one delivers it (G2, G5)."""
    sender, number, epoch, part, parts = event
    known = sender in me.members
    refused = (
        None
        if known and me.view > 0
        else refusal(
            _running(me), (known, "f.from \\in CurrentView(n).members", {"f.from": sender.node})
        )
    )
    if refused:
        return refused
    if rules.checks_epoch and epoch != me.epoch:
        return Accepted(me)
    mine = dict(me.kept).get(sender, ())
    here = dict(mine).get(number)
    if here is None:
        here = Kept(0, parts)
    begins = part == 0 and parts_of(kept for _, kept in mine) + parts > rules.window
    if (part, parts) != here or part >= parts or begins:
        return Accepted(me)
    keep = Keep(sender, number)
    if part + 1 < parts:
        kept = _with(me.kept, sender, _with(mine, number, Kept(part + 1, parts)))
        return Accepted(me._replace(kept=kept), (keep,))
    kept = _forgotten(me.kept, sender, number)
    if sender == me.me:
        me = me._replace(kept=kept, sending=_without(me.sending, number))
    else:
        me = me._replace(kept=kept)
    return Accepted(me, (keep, Deliver(sender, number)))


def receive_give_up(_rules: Rules, me: Local, event: ReceiveGiveUp) -> Answer:
    """Nothing of a message that is given up is kept any more."""
    sender, number = event
    refused = refusal(_running(me))
    if refused:
        return refused
    if number not in dict(dict(me.kept).get(sender, ())):
        return Accepted(me)
    kept = _forgotten(me.kept, sender, number)
    return Accepted(me._replace(kept=kept), (Forget(sender, number),))


def install_view(rules: Rules, me: Local, event: InstallView) -> Answer:
    """The next view; with joiners all begin anew (G4), without the departed (G6)."""
    view, members, joiners = event
    refused = refusal((view > me.view, "view[n] < v", {"view[n]": me.view, "v": view}))
    if refused:
        return refused
    anew = bool(joiners) and rules.begin_anew
    gone = [
        (sender, number)
        for sender, mine in me.kept
        for number, _ in mine
        if anew or (rules.forgets_departed and sender not in members)
    ]
    kept = me.kept
    for sender, number in gone:
        kept = _forgotten(kept, sender, number)
    sending = me.sending
    if anew:
        sending = tuple((number, Sending(parts, 0)) for number, (parts, _) in sending)
    epoch = view if anew or not me.epoch else me.epoch
    me = me._replace(view=view, members=members, epoch=epoch, sending=sending, kept=kept)
    return Accepted(me, tuple(Forget(sender, number) for sender, number in gone))


# ------------------------------------------------------------------ their parts


def parts_of(messages: Iterable[Sending | Kept]) -> int:
    """Return the parts of these messages together."""
    return sum(each.parts for each in messages)


def _running(me: Local) -> tuple[bool, str, dict[str, Value]]:
    return me.view > 0, "Running(n)", {"view[n]": me.view}


def _to_send(me: Local, number: int) -> tuple[tuple[bool, str, dict[str, Value]], ...]:
    sending = dict(me.sending).get(number)
    if sending is None:
        return ((False, "m \\in DOMAIN sending[n]", {"m": number}),)
    return (
        (
            sending.sent < sending.parts,
            "sending[n][m].sent < sending[n][m].parts",
            {"sent": sending.sent, "parts": sending.parts},
        ),
    )


def _with(table: Table[T], key: Any, value: T) -> Table[T]:
    return tuple(sorted({**dict(table), key: value}.items()))


def _without(table: Table[T], key: Any) -> Table[T]:
    return tuple([pair for pair in table if pair[0] != key])


def _forgotten(
    kept: Table[tuple[tuple[int, Kept], ...]], sender: Address, number: int
) -> Table[tuple[tuple[int, Kept], ...]]:
    """Return what is kept without one message; a sender of whom nothing is kept has no entry."""
    left = _without(dict(kept).get(sender, ()), number)
    return _with(kept, sender, left) if left else _without(kept, sender)


HANDLERS = handlers_of(INPUTS, globals())
