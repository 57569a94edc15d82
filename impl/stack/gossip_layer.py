"""PBCAST in the stack: when gossips go out and to whom, and what becomes of those that come in.

It stands where STABLE does otherwise (`stability="gossip"`). The core has the numbers of all
messages, NAKACK their contents; the core hears of each that is multicast, arrives or is delivered,
and says what NAKACK may forget: what all members of the view have delivered, as gathered by one
gossip that has been round.

Requests of the core are told to NAKACK, which asks in its own way (HeardOf), or go to the member
that has the messages, and NAKACK asks for nothing outside of FLUSH (`repair="gossip"`). What is
asked for comes as it was multicast, so it arrives like a first transmission.

A gossip begins only while there is something to collect. FLUSH has made equal what members have of
those that are gone, so that a view knows of its own members only; while it prepares a view, gossips
are neither sent nor taken.

Cost: a gossip is a few datagrams to each member, of three numbers per member; one begins every
`desired_avg_gossip` s in the whole group, and sooner where a sender's windows would fill.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from raincheck.impl.messages import Address, Digest, View
from raincheck.impl.pbcast.core import Known, Pbcast
from raincheck.impl.pbcast.events import (
    Arrive,
    Deliver,
    Effect,
    Event,
    Forward,
    Gossip,
    InstallView,
    Members,
    Multicast,
    Numbers,
    ReceiveGossip,
    ReceiveRequest,
    Request,
    Response,
    SendGossip,
)
from raincheck.impl.pbcast.streams import digest_of
from raincheck.impl.sequencer.events import Data
from raincheck.impl.stable.events import Heard, Purge
from raincheck.impl.wire.headers import GossipCopy, GossipRequest, Header

from .gossip_reading import Lie, Reader
from .layer import Ground, Layer, Takes
from .passing import Arrived, Retransmit
from .stability import StabilityLayer
from .stable_layer import StableLayer
from .timers import NEVER


class GossipLayer(StabilityLayer):
    """PBCAST as a layer."""

    name = "pbcast"
    core: Pbcast

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        # FLUSH makes equal what members have of those that are gone.
        repairs = replace(ground.repairs.pbcast, keep_departed=False)
        self.core = Pbcast(ground.me, watches=False, prompt=False, flushed=True, repairs=repairs)
        self._repairs = self.config.repair == "gossip"
        self._reader = self._read(())
        self._fresh = True  # no gossip of this view has been round
        self._stopped = False
        self._gossip_at = NEVER
        self._forwards: dict[Address, tuple[int, float]] = {}  # of each origin: which, and when
        self._asked: dict[Address, tuple[float, frozenset[int]]] = {}  # of whom: when, and what

    @property
    def takes(self) -> Takes:
        return {
            GossipCopy: lambda copy, _, __, now: self.receive_gossip(copy, now),
            GossipRequest: lambda request, _, __, now: self.receive_request(request, now),
        }

    # ------------------------------------------------------------------ views

    def _read(self, members: tuple[Address, ...]) -> Reader:
        return Reader(self.core, self._view, members, self.config.multicast_window)

    def install_view(self, view: View, digest: Digest, now: float) -> None:
        """Begin in a view: no gossip has been round, and those of the old one are void."""
        self._forwards.clear()
        self._asked.clear()
        self._gossip_at = NEVER
        self._reader = self._read(view.members)
        begins = digest_of(dict(digest.entries))
        self._handle(InstallView(view.id.counter, frozenset(view.members), begins), now)
        self._fresh = True
        self._schedule(now)

    def step(self, now: float) -> bool:
        """Stand still during a flush."""
        self.stirred = False
        if self._flushing:
            self._gossip_at = NEVER
            self._forwards.clear()
        else:
            self._schedule(now)
        return False

    def stop(self) -> None:
        self._stopped = True
        self._gossip_at = NEVER
        self._forwards.clear()

    # ------------------------------------------------------------------ multicasts

    def up(self, event: Any, now: float) -> None:
        """Note what has arrived, and handle views."""
        if isinstance(event, Arrived):
            self._handle(Arrive(event.source, event.seqno), now)
        else:
            super().up(event, now)

    def multicast(self, data: Data, now: float) -> None:
        """Note what is multicast, and pass it down."""
        self.below.multicast(data, now)
        self._handle(Multicast(), now)

    def delivered(self, source: Address, size: int, now: float) -> None:
        """Note a delivery; a sender whose windows fill begins a gossip soon."""
        self._handle(Deliver(source), now)
        if source == self.me and self._counts(size):
            soon = now + self._random.uniform(0.0, self.config.stable_delay)
            self._gossip_at = min(self._gossip_at, soon)
        self._schedule(now)

    # ------------------------------------------------------------------ what arrives

    def receive_gossip(self, header: GossipCopy, now: float) -> None:
        """Handle a copy of a gossip."""
        if not self._comes_in(header):
            return
        try:
            copy = self._reader.copy_of(header)
        except Lie as lie:
            self.ground.offends(header.source, str(lie))
            return
        if self.core.known(copy.origin, copy.number) is None:
            self._bytes = self._bundles = 0  # it collects what this member would have begun one for
        self._handle(copy, now)
        known = self.core.known(copy.origin, copy.number)
        if known is None:
            return  # it is older than the latest of its origin
        if not copy.not_seen:
            self._forwards.pop(copy.origin, None)  # somebody has told all
        elif known.unsent and self._forwards.get(copy.origin, (0, 0.0))[0] != copy.number:
            later = now + self._random.uniform(0.0, self.config.gossip_delay)
            self._forwards[copy.origin] = copy.number, later
        self._collect(known, now)

    def receive_request(self, header: GossipRequest, now: float) -> None:
        """Handle a request for messages."""
        if not self._repairs:
            self.ground.offends(header.source, "a request for messages, which NAKACK makes here")
            return
        if not self._comes_in(header):
            return
        try:
            wanted = self._reader.wanted_of(header)
        except Lie as lie:
            self.ground.offends(header.source, str(lie))
            return
        self._handle(ReceiveRequest(header.source, wanted), now)

    def _comes_in(self, header: GossipCopy | GossipRequest) -> bool:
        """Whether a datagram is of this view, and no other one is prepared."""
        return self._is_welcome(header.source, header.view) and not self._flushing

    # ------------------------------------------------------------------ time

    @property
    def _busy(self) -> bool:
        """Whether there is something to collect."""
        return self._fresh or bool(self.core.streams.held)

    def _schedule(self, now: float) -> None:
        """Draw the time of the next gossip (G1), unless it is drawn, or there is no need."""
        core = self.core
        if not core.view or self._flushing or self._stopped:
            return
        if not self._busy:
            self._gossip_at = NEVER
        elif self._gossip_at == NEVER:
            config = self.config
            mean = config.gossip_interval or config.desired_avg_gossip * len(core.members)
            self._gossip_at = now + self._random.uniform(0.0, 2.0 * mean)

    def deadline(self) -> float:
        return min([self._gossip_at, *(due for _, due in self._forwards.values())])

    def handle_timer(self, now: float) -> None:
        if self._gossip_at <= now:
            self._begin(now)
        for origin, (number, due) in list(self._forwards.items()):
            if due <= now:
                del self._forwards[origin]
                known = self.core.known(origin, number)
                if known is not None and known.unsent:
                    to = self._some(known.not_seen) or self.core.others
                    self._handle(Forward(origin, number, to), now)

    def _begin(self, now: float) -> None:
        """Begin a gossip."""
        core = self.core
        self._gossip_at = NEVER
        self._bytes = self._bundles = 0
        self.counters["gossips_begun"] += 1
        self._handle(SendGossip(self._some(core.others)), now)
        known = core.known(self.me, core.number)
        if known is not None:
            self._collect(known, now)
        self._schedule(now)

    def _some(self, members: Members) -> Members:
        """Draw the members to which a copy goes."""
        few = min(self.config.gossip_fanout, len(members))
        return frozenset(self._random.sample(sorted(members), few))

    # ------------------------------------------------------------------ what comes of it

    def _collect(self, known: Known, now: float) -> None:
        """Tell NAKACK what all have delivered, once a gossip has been round."""
        if known.not_seen:
            return
        self._fresh = False
        purged = self.core.streams.purged
        stable = tuple((member, purged.get(member, 0)) for member in sorted(self._members))
        self.below.down(Purge(Digest(stable)), now)
        self._schedule(now)

    def _handle(self, event: Event, now: float) -> None:
        for effect in self.core.handle(event):
            self._carry_out(effect, now)
        if isinstance(event, Arrive | Multicast | ReceiveGossip):
            self._schedule(now)

    def _carry_out(self, effect: Effect, now: float) -> None:
        match effect:
            case Gossip(to):
                self._send(self._reader.header_of(effect), to, "gossip_copies")
            case Request(to, wanted):
                (whom,) = to
                self._request(whom, wanted, now)
            case Response(to, messages):
                (whom,) = to
                self.below.down(Retransmit(whom, messages), now)

    def _request(self, holder: Address, wanted: Numbers, now: float) -> None:
        """Ask for messages, or have NAKACK ask, unless they have been asked for a moment ago."""
        if not self._repairs:
            received = Digest(tuple((who, max(some)) for who, some in wanted))
            self.below.down(Heard(holder, received), now)
            return
        soon, nothing = now - self.config.retransmit_after, (0.0, frozenset[int]())
        lately = (self._asked.get(who, nothing) for who, _ in wanted)
        pairs = zip(wanted, lately, strict=True)
        if all(some <= known and at > soon for (_, some), (at, known) in pairs):
            return
        self._asked |= {who: (now, some) for who, some in wanted}
        self._send(self._reader.request_of(wanted), frozenset((holder,)), "gossip_requests")

    def _send(self, header: Header, to: Members, counter: str) -> None:
        """Send a datagram; one that is too large for a bundle is as good as lost."""
        data = self.outbox.encode(header)
        if len(data) > self.config.max_bundle:
            self.counters["gossip_too_large"] += 1
            return
        self.outbox.multicast(data, sorted(to))
        self.counters[counter] += len(to)

    # ------------------------------------------------------------------ to look at

    def kept(self) -> int:
        """Return how many gossips, and numbers of messages, are kept."""
        core = self.core
        return len(core.cache) + sum(map(len, core.streams.held.values()))


def stability_layer(ground: Ground) -> Layer:
    """Return the layer that finds what is stable, for the group's kind of stability."""
    gossip = ground.config.stability == "gossip"
    return GossipLayer(ground) if gossip else StableLayer(ground)
