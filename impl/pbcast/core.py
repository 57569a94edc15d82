"""PBCAST: gossip that finds what members lack, and what all have delivered.

The twin of `spec/Pbcast.tla` (Bela Ban; seeds/design-issues.txt, "Handling of received gossips"):
one handler per action, with the action's name in snake_case and its guard first. `handle` takes an
event of `pbcast/events.py` and returns the effects, to be carried out in order. A handler whose
guard is false raises NotEnabled and changes nothing. The core knows no time and draws nothing at
random: when a gossip goes out, and to whom, is in the events.

A gossip tells what its origin has delivered, and gathers on its way who has seen it and the lowest
of what those have delivered. Copies of one gossip are merged. When all members have seen it, all
have delivered that much: nobody has to keep it. What the relay of a copy has, and the receiver
lacks, the receiver asks for. Whatever is lost is made up for by the next gossip.

Of each member the latest gossip is kept, so what is kept is bounded by the size of the view.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest

from .events import (
    Arrive,
    Check,
    Data,
    Deliver,
    Delivered,
    Effect,
    Event,
    Forward,
    GetDigest,
    Gossip,
    GotDigest,
    Heard,
    InstallView,
    Members,
    Multicast,
    ReceiveGossip,
    ReceiveRequest,
    ReceiveResponse,
    Request,
    Response,
    SendGossip,
)
from .streams import Streams, digest_of, lowest_of, numbers_of

__all__ = ["Known", "Pbcast", "Repairs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The repairs of the seed's holes, by the spec's constants. Only tests turn any of them off."""

    gathers: bool = True
    merges: bool = True
    latest: bool = True
    ask_whom: str = "holder"
    ask_for: str = "missing"
    report: str = "delivered"
    view_check: str = "view"
    keep_departed: bool = True
    alone: bool = True
    tagged: bool = True


class Known(NamedTuple):
    """A gossip as a member knows it; `unsent`: it is still to be sent again."""

    origin: Address
    number: int
    view: int
    digest: Digest
    seen: Members
    not_seen: Members
    lowest: Digest
    unsent: bool


class Pbcast:
    """The state of one member; the attributes have the names of the spec's variables."""

    def __init__(
        self,
        me: Address,
        *,
        lag: int = 0,
        watches: bool = True,
        use_mcast: bool = False,
        cache: int = 0,
        prompt: bool = True,
        own_copy: bool = True,
        flushed: bool = False,
        repairs: Repairs | None = None,
    ) -> None:
        """Take a member's settings.

        `lag`: how many delivered messages of each stream it keeps for those that join late;
        `watches`: a failure detector is told who was heard of; `use_mcast`: gossips go to all
        members; `cache`: how many gossips are known if a repair is off; `flushed`: views are
        virtually synchronous, so that a new one ends the streams of those that are gone.
        """
        self.me, self.watches, self.use_mcast = me, watches, use_mcast
        self.capacity, self.own_copy, self.flushed = cache, own_copy, flushed
        self.repairs = repairs or Repairs()
        self.streams = Streams(lag, prompt=prompt)
        self.view = 0
        self.members: Members = frozenset()
        self.sent = 0
        self.number = 0
        self.cache: list[Known] = []
        self.heard: Members = frozenset()
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            SendGossip: self._send_gossip,
            ReceiveGossip: self._receive_gossip,
            Forward: self._forward,
            ReceiveRequest: self._receive_request,
            ReceiveResponse: self._receive_response,
            Check: self._check,
            GetDigest: self._get_digest,
            Multicast: self._multicast,
            Arrive: self._arrive,
            Deliver: self._deliver,
            InstallView: self._install_view,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    @property
    def others(self) -> Members:
        """The other members of the view."""
        return self.members - {self.me}

    def unsent(self) -> list[Known]:
        """Return the gossips that are still to be sent again."""
        return [each for each in self.cache if each.unsent]

    def known(self, origin: Address, number: int) -> Known | None:
        """Return what this member knows of that gossip."""
        return next((each for each in self.cache if each[:2] == (origin, number)), None)

    # ------------------------------------------------------------------ gossips

    def _send_gossip(self, event: SendGossip) -> list[Effect]:
        """Begin a gossip (G1)."""
        self._running("SendGossip")
        self._allowed("SendGossip", event.to, self.others)
        self.number += 1
        said, mine = self._reported(), frozenset((self.me,))
        known = Known(self.me, self.number, self.view, said, mine, self.others, said, False)
        self._remember(known)
        if self.repairs.alone and not known.not_seen:
            self.streams.purges(said)
        return [self._copies(known, event.to)]

    def _receive_gossip(self, event: ReceiveGossip) -> list[Effect]:
        """Merge a copy, ask for what is missing, purge what all have delivered (G2 to G6, G8)."""
        self._running("ReceiveGossip")
        old = self.known(event.origin, event.number)
        if self._ignored(event, old):
            return []
        known = self._merged(event, old)
        effects: list[Effect] = []
        if self.watches:
            self.heard |= event.seen
            effects.append(Heard(event.seen))
        effects += self._requests(event)
        self._remember(known)
        if not known.not_seen:
            self.streams.purges(known.lowest if self.repairs.gathers else known.digest)
        return effects

    def _forward(self, event: Forward) -> list[Effect]:
        """Send a gossip again (G5)."""
        self._running("Forward")
        known = self.known(event.origin, event.number)
        if known is None or not known.unsent:
            raise NotEnabled("Forward", {"e.unsent": known})
        if known.not_seen:
            self._allowed("Forward", event.to, known.not_seen)
        elif event.to != self.others:
            raise NotEnabled("Forward", {"to = Members(n) \\ {n}": event.to})
        known = known._replace(unsent=False)
        self._remember(known)
        return [self._copies(known, event.to)]

    def _receive_request(self, event: ReceiveRequest) -> list[Effect]:
        """Send what is still held of what is asked for (G4)."""
        self._running("ReceiveRequest")
        found = self.streams.found(event.wanted)
        return [Response(frozenset((event.sender,)), found)] if found else []

    def _receive_response(self, event: ReceiveResponse) -> list[Effect]:
        """Take what was asked for."""
        self._running("ReceiveResponse")
        return [*self.streams.stores(event.messages)]

    def _check(self, _event: Check) -> list[Effect]:
        """Begin to hear anew (G8)."""
        self._running("Check")
        if not self.heard:
            raise NotEnabled("Check", {"heard[n] # {}": self.heard})
        self.heard = frozenset()
        return []

    def _get_digest(self, event: GetDigest) -> list[Effect]:
        """Hand the digest to the layer that asks (G10)."""
        self._running("GetDigest")
        layer = event.layer if self.repairs.tagged else "GMS"
        return [GotDigest(layer, self._reported())]

    # ------------------------------------------------------------------ multicasts and views

    def _multicast(self, _event: Multicast) -> list[Effect]:
        """Number a message, and keep it (G9)."""
        self._running("Multicast")
        self.sent += 1
        effects: list[Effect] = [Data(self.others, self.sent)]
        if self.own_copy:
            effects += self.streams.stores(((self.me, frozenset((self.sent,))),))
        return effects

    def _arrive(self, event: Arrive) -> list[Effect]:
        """Take the first transmission of a message."""
        self._running("Arrive")
        if event.sender not in self.members:
            raise NotEnabled("Arrive", {"s in Members(n)": event.sender})
        return [*self.streams.stores(((event.sender, frozenset((event.seqno,))),))]

    def _deliver(self, event: Deliver) -> list[Effect]:
        """Let a slow consumer take the next message (G9)."""
        self._running("Deliver")
        at = self.streams.delivered.get(event.sender, 0) + 1
        if at not in self.streams.held.get(event.sender, ()):
            raise NotEnabled("Deliver", {"delivered[n][s] + 1 in held[n][s]": event.sender})
        self.streams.delivered[event.sender] = at
        return [Delivered(event.sender, at)]

    def _install_view(self, event: InstallView) -> list[Effect]:
        """Forget the gossips of the old view; a joiner begins behind the digest."""
        view, members, digest = event
        if view <= self.view or self.me not in members:
            raise NotEnabled("InstallView", {"v > view[n]": view, "n in members": members})
        if self.view == 0:
            self.streams.delivered = dict(digest.entries)
        self.view, self.members, self.heard = view, members, frozenset()
        if self.repairs.view_check == "view":
            self.cache.clear()
        if self.flushed:
            self.streams.keeps(members)
        return []

    # ------------------------------------------------------------------ their parts

    def _reported(self) -> Digest:
        """Return what this member says that it has delivered (G1)."""
        streams = self.streams
        at = dict(streams.delivered)
        if self.repairs.report == "received":
            at |= {who: streams.arrived(who) for who in streams.held}
        if not self.repairs.keep_departed:
            at = {who: k for who, k in at.items() if who in self.members}
        return digest_of(at)

    def _remember(self, known: Known) -> None:
        """Put the gossip into the cache, in place of what was known of it (G3)."""
        for place, each in enumerate(self.cache):
            if each[:2] == known[:2]:
                self.cache[place] = known
                return
        if self.repairs.latest:
            self.cache = [each for each in self.cache if each.origin != known.origin]
        elif len(self.cache) >= self.capacity:
            del self.cache[0]
        self.cache.append(known)

    def _ignored(self, copy: ReceiveGossip, old: Known | None) -> bool:
        """Return whether there is nothing to do about the copy (G2, G3)."""
        repairs = self.repairs
        if repairs.view_check == "view" and copy.view != self.view:
            return True
        if repairs.view_check != "view" and copy.origin not in self.members:
            return True
        if old is not None:
            if not repairs.merges:
                return True
            if not repairs.latest:
                return False
        return repairs.latest and any(
            each.origin == copy.origin and each.number > copy.number for each in self.cache
        )

    def _merged(self, copy: ReceiveGossip, old: Known | None) -> Known:
        """Return what is known of the gossip with this copy (G5)."""
        seen, left = copy.seen | {self.me}, copy.not_seen - {self.me}
        lowest = copy.lowest
        if self.repairs.gathers:
            lowest = lowest_of(lowest, self._reported())
        if old is not None:
            seen |= old.seen
            left &= old.not_seen
            lowest = lowest_of(lowest, old.lowest)
        if old is not None and seen == old.seen:
            unsent = old.unsent
        else:  # who completes a gossip tells all; who hears of that has nothing to add
            unsent = bool(left) or (self.repairs.merges and bool(copy.not_seen))
        return Known(*copy[1:5], seen, left, lowest, unsent)

    def _requests(self, copy: ReceiveGossip) -> list[Request]:
        """Return whom to ask for what (G4)."""
        unheld = self.repairs.ask_for == "missing"
        every = self.streams.missing(copy.digest, unheld=unheld)
        asked: list[tuple[Address, dict[Address, frozenset[int]]]]
        if self.repairs.ask_whom == "holder":
            near = self.streams.missing(copy.has, unheld=unheld)
            rest = {who: some - near.get(who, frozenset()) for who, some in every.items()}
            asked = [(copy.sender, near), (copy.origin, rest)]
        elif self.repairs.ask_whom == "relay":
            asked = [(copy.sender, every)]
        else:
            asked = [(copy.origin, every)]
        wanted = [(whom, numbers_of(some.items())) for whom, some in asked]
        return [Request(frozenset((whom,)), some) for whom, some in wanted if some]

    def _copies(self, known: Known, to: Members) -> Gossip:
        has = self._reported() if self.repairs.ask_whom == "holder" else known.digest
        return Gossip(to, *known[:7], has)

    # ------------------------------------------------------------------ guards

    def _running(self, action: str) -> None:
        if not self.view:
            raise NotEnabled(action, {"Running(n)": self.view})

    def _allowed(self, action: str, to: Members, not_seen: Members) -> None:
        """Raise NotEnabled unless a gossip may go to these."""
        others = self.others
        everybody = self.use_mcast or not others
        fits = to == others if everybody else bool(to) and to <= not_seen
        if not fits:
            raise NotEnabled(action, {"to in Recipients(n, notSeen)": to})
