"""FRAG: a message too large for one bundle goes as fragments, and is delivered with its last one.

The twin of `spec/Frag.tla`: one handler per action, with the action's name in snake_case and its
guard first. `handle` takes an event of `frag/events.py` and returns the effects, to be carried out
in order. A handler whose guard is false raises NotEnabled and changes nothing.

Fragments are messages to SEQUENCER, so all members have them in one order. Every member keeps those
of a message until the last one comes: there, in the view of the last one, all deliver it. A joiner
lacks the fragments that came before its view. Therefore all members forget what they keep when a
view has joiners, and the senders begin anew. Such a view begins an *epoch*, and what was sent in an
earlier one is dropped. When members only leave, all others go on.

A sender keeps its message until it has delivered it itself. So whatever is lost at a view change is
sent again by a sender that survives, and by nobody if it does not: then no member delivers it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address

from .events import (
    Deliver,
    Dropped,
    Effect,
    Event,
    Forget,
    Fragment,
    GivenUp,
    GiveUp,
    InstallView,
    Keep,
    ReceiveFragment,
    ReceiveGiveUp,
    Send,
    SendFragment,
)

__all__ = ["MOST", "Frag", "Kept", "Repairs", "Sending"]

MOST = 64
"""Messages that one member may send at a time; more of one sender are not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The rules, by the spec's constants. Only tests turn any of them off."""

    begin_anew: bool = True
    """A view with joiners begins an epoch: what is kept is forgotten and sent again."""
    checks_epoch: bool = True
    """A fragment of an earlier epoch is dropped."""
    until_delivered: bool = True
    """A sender keeps its message until it has delivered it itself."""
    forgets_departed: bool = True
    """What is kept of members that have left the view is forgotten."""


@dataclass(slots=True)
class Sending:
    """A message of this member: `sent` of its `parts` fragments were sent in this epoch."""

    parts: int
    sent: int = 0


class Kept(NamedTuple):
    """What is kept of a message: the first `here` of its `parts` fragments."""

    here: int
    parts: int


class Frag:
    """The state of one member; the attributes have the names of the spec's variables."""

    def __init__(
        self, me: Address, *, window: int = 1 << 30, repairs: Repairs | None = None
    ) -> None:
        """`window`: the fragments that the messages of one member under way may have together."""
        self.me = me
        self.window = window
        self.repairs = repairs or Repairs()
        self.view = 0
        self.members: tuple[Address, ...] = ()
        self.epoch = 0  # the last view with joiners
        self.sending: dict[int, Sending] = {}  # this member's messages under way, by number
        self.kept: dict[Address, dict[int, Kept]] = {}  # of messages under way, by sender, number
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            Send: self._send,
            SendFragment: self._send_fragment,
            GiveUp: self._give_up,
            ReceiveFragment: self._receive_fragment,
            ReceiveGiveUp: self._receive_give_up,
            InstallView: self._install_view,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    def may_send(self, parts: int) -> bool:
        """Whether a message of so many fragments may be taken now."""
        under_way = sum(sending.parts for sending in self.sending.values())
        return len(self.sending) < MOST and under_way + parts <= self.window

    def to_send(self, number: int) -> bool:
        """Whether message `number` has fragments that are not sent yet."""
        sending = self.sending.get(number)
        return sending is not None and sending.sent < sending.parts

    # ------------------------------------------------------------------ the sender

    def _send(self, event: Send) -> list[Effect]:
        """Take a message of the application."""
        number, parts = event
        self._running("Send")
        if number in self.sending:
            raise NotEnabled("Send", {"number is new": number})
        if not self.may_send(parts):
            raise NotEnabled("Send", {"few messages are under way": len(self.sending)})
        self.sending[number] = Sending(parts)
        return []

    def _send_fragment(self, event: SendFragment) -> list[Effect]:
        """Send the next fragment of one of this member's messages."""
        number = event.number
        if not self.to_send(number):
            raise NotEnabled("SendFragment", {"fragments are to be sent": number})
        sending = self.sending[number]
        part = sending.sent
        sending.sent += 1
        if not self.repairs.until_delivered and sending.sent == sending.parts:
            del self.sending[number]
        return [Fragment(number, self.epoch, part, sending.parts)]

    def _give_up(self, event: GiveUp) -> list[Effect]:
        """Give a message up: all members forget what they keep of it."""
        number = event.number
        if not self.to_send(number):
            raise NotEnabled("GiveUp", {"fragments are to be sent": number})
        del self.sending[number]
        return [GivenUp(number)]

    # ------------------------------------------------------------------ the receivers

    def _receive_fragment(self, event: ReceiveFragment) -> list[Effect]:
        """Keep a fragment that is the next of its message; deliver the message with the last."""
        sender, number, epoch, part, parts = event
        if sender not in self.members:
            raise NotEnabled("ReceiveFragment", {"sender is a member": sender})
        if self.repairs.checks_epoch and epoch != self.epoch:
            return [Dropped(sender, "fragment_of_before")]
        kept = self.kept.get(sender, {})
        if (part, parts) != kept.get(number, (0, parts)) or part >= parts:
            return [Dropped(sender, "fragment_out_of_place")]
        if part == 0 and not self._room(kept, parts):
            return [Dropped(sender, "fragment_of_too_many")]
        if part + 1 < parts:
            self.kept.setdefault(sender, {})[number] = Kept(part + 1, parts)
            return [Keep(sender, number)]
        self._forget(sender, number)
        if sender == self.me:
            self.sending.pop(number, None)
        return [Keep(sender, number), Deliver(sender, number)]

    def _receive_give_up(self, event: ReceiveGiveUp) -> list[Effect]:
        """Forget what is kept of a message that is given up."""
        sender, number = event
        self._running("ReceiveGiveUp")
        if number not in self.kept.get(sender, {}):
            return []
        self._forget(sender, number)
        return [Forget(sender, number)]

    def _running(self, action: str) -> None:
        if not self.view:
            raise NotEnabled(action, {"Running(n)": False})

    def _room(self, kept: Mapping[int, Kept], parts: int) -> bool:
        """Whether a sender of whom so much is kept may begin another message: as in `may_send`."""
        under_way = sum(each.parts for each in kept.values())
        return len(kept) < MOST and under_way + parts <= self.window

    def _forget(self, sender: Address, number: int) -> None:
        """Keep no fragments of that message, if any were kept."""
        kept = self.kept.get(sender, {})
        kept.pop(number, None)
        if not kept:
            self.kept.pop(sender, None)

    def _install_view(self, event: InstallView) -> list[Effect]:
        """Go on in the next view; begin anew if it has joiners."""
        view, members, joiners = event
        if view <= self.view:
            raise NotEnabled("InstallView", {"view[n] < v": view})
        self.view, self.members = view, members
        anew = bool(joiners) and self.repairs.begin_anew
        if anew or not self.epoch:
            self.epoch = self.view
        gone = [
            (sender, number)
            for sender, kept in sorted(self.kept.items())
            for number in sorted(kept)
            if anew or (self.repairs.forgets_departed and sender not in members)
        ]
        for sender, number in gone:
            self._forget(sender, number)
        if anew:
            for sending in self.sending.values():
                sending.sent = 0
        return [Forget(sender, number) for sender, number in gone]
