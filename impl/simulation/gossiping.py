"""A group of PBCAST's cores in virtual time, over a network that loses datagrams.

The driver that PBCAST's core asks for: it has the clock, the timers, the draws and the network, all
from one seed. The rules of time are the text's (seeds/design-issues.txt, "Dynamic adjustment of
gossip_interval"): before each gossip a member draws its interval from 0 to 2 * desired * members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import sqrt
from random import Random
from typing import Any, Final

from raincheck.impl.messages import Address, Digest
from raincheck.impl.pbcast.core import Known, Pbcast, Repairs
from raincheck.impl.pbcast.events import (
    Arrive,
    Data,
    Delivered,
    Effect,
    Event,
    Forward,
    Gossip,
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

TEXT: Final = Repairs(
    gathers=False,
    merges=False,
    latest=False,
    ask_whom="origin",
    view_check="members",
    keep_departed=False,
    alone=False,
    tagged=False,
)
"""The protocol of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a group does, times in seconds of virtual time."""

    members: int
    loss: float = 0.0
    """How likely a datagram is lost."""
    fanout: int = 2
    """To how many members of its not-seen list a member sends a gossip."""
    desired: float = 30.0
    """desired_avg_gossip: the average time between two gossips that a member hears."""
    pause: float = 0.2
    """How long a member waits, at most, before it sends a gossip again."""
    latency: float = 0.01
    """How long a datagram is under way, at most."""
    lag: int = 0
    cache: int = 100
    begins: bool = False
    """All timers begin together, as in a new group; else the group has gossiped for long."""
    repairs: Repairs | None = None
    """Repairs that are off, such as `TEXT`; None: the implemented protocol."""


class GossipingGroup:
    """The members of one view, and what they have sent, heard and delivered."""

    def __init__(self, settings: Settings, seed: int) -> None:
        """Begin the first view; gossips begin when `run` is called."""
        self.settings, self.random, self.now = settings, Random(seed), 0.0
        self.addresses = [Address(f"m{i:04}", 0) for i in range(settings.members)]
        members = frozenset(self.addresses)
        self.cores = {a: self._core(a, members) for a in self.addresses}
        self.sent: Counter[str] = Counter()
        """Datagrams, by the type of the message."""
        self.sent_by: Counter[Address] = Counter()
        self.asked: Counter[Address] = Counter()
        """How often each member was asked for messages."""
        self.begun: dict[tuple[Address, int], float] = {}
        """When each gossip began."""
        self.heard: dict[tuple[Address, int], dict[Address, float]] = {}
        """When each member has heard of a gossip for the first time."""
        self.delivered: dict[tuple[Address, int], dict[Address, float]] = {}
        """When each member has delivered a message."""
        self._upto: Counter[tuple[Address, Address]] = Counter()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._forwarding: set[tuple[Address, Address]] = set()
        for a in self.addresses:
            self._plan(a, first=not settings.begins)

    def _core(self, a: Address, members: Members) -> Pbcast:
        s = self.settings
        core = Pbcast(a, lag=s.lag, watches=False, cache=s.cache, repairs=s.repairs)
        core.handle(InstallView(1, members, Digest()))
        return core

    # ------------------------------------------------------------------ time

    def at(self, delay: float, action: Callable[[], None]) -> None:
        """Let something happen after a delay."""
        self._count += 1
        heappush(self._due, (self.now + delay, self._count, action))

    def run(self, seconds: float) -> None:
        """Let so much virtual time pass."""
        end = self.now + seconds
        while self._due and self._due[0][0] <= end:
            self.now, _, action = heappop(self._due)
            action()
        self.now = end

    def _plan(self, a: Address, *, first: bool = False) -> None:
        """Draw the next interval; `first`: what is left of one that began long ago."""
        longest = 2 * self.settings.desired * len(self.addresses)
        drawn = self.random.random()
        left = longest * (1 - sqrt(1 - drawn) if first else drawn)
        self.at(left, lambda: self._periodic(a))

    def _periodic(self, a: Address) -> None:
        self.gossip(a)
        self._plan(a)

    # ------------------------------------------------------------------ members

    def multicast(self, a: Address) -> None:
        """Let a member multicast a message."""
        self._handle(a, Multicast())

    def gossip(self, a: Address) -> None:
        """Let a member begin a gossip."""
        core = self.cores[a]
        self.begun[a, core.number + 1] = self.now
        self._handle(a, SendGossip(self._drawn(core.others)))

    def _drawn(self, of: Members) -> Members:
        ordered = [a for a in self.addresses if a in of]
        return frozenset(self.random.sample(ordered, min(self.settings.fanout, len(of))))

    def _forward(self, a: Address, origin: Address) -> None:
        self._forwarding.discard((a, origin))
        core = self.cores[a]
        known = self._unsent(core, origin)
        if known is not None:
            to = self._drawn(known.not_seen) if known.not_seen else core.others
            self._handle(a, Forward(known.origin, known.number, to))
            self._wake(a, origin)

    @staticmethod
    def _unsent(core: Pbcast, origin: Address) -> Known | None:
        return next((each for each in core.unsent() if each.origin == origin), None)

    def _wake(self, a: Address, origin: Address) -> None:
        """Wait a random time before a gossip is sent again; what comes meanwhile is merged."""
        if (a, origin) not in self._forwarding and self._unsent(self.cores[a], origin):
            self._forwarding.add((a, origin))
            pause = self.random.uniform(0, self.settings.pause)
            self.at(pause, lambda: self._forward(a, origin))

    def _handle(self, a: Address, event: Event) -> None:
        for effect in self.cores[a].handle(event):
            self._carry_out(a, effect)
        if isinstance(event, ReceiveGossip):
            self._wake(a, event.origin)

    # ------------------------------------------------------------------ the network

    def _carry_out(self, a: Address, effect: Effect) -> None:
        match effect:
            case Data(to, seqno):
                self._send(a, to, "Data", Arrive(a, seqno))
            case Gossip(to):
                self._send(a, to, "Gossip", ReceiveGossip(a, *effect[1:]))
            case Request(to, wanted):
                self.asked.update(to)
                self._send(a, to, "Request", ReceiveRequest(a, wanted))
            case Response(to, messages):
                self._send(a, to, "Response", ReceiveResponse(a, messages))
            case Delivered(sender, upto):
                for seqno in range(self._upto[a, sender] + 1, upto + 1):
                    self.delivered.setdefault((sender, seqno), {})[a] = self.now
                self._upto[a, sender] = upto

    def _send(self, a: Address, to: Members, kind: str, event: Any) -> None:
        self.sent[kind] += len(to)
        self.sent_by[a] += len(to)
        for whom in sorted(to):
            if self.random.random() >= self.settings.loss:
                delay = self.random.uniform(0, self.settings.latency)
                self.at(delay, lambda whom=whom: self._arrives(whom, event))  # type: ignore[misc]

    def _arrives(self, a: Address, event: Event) -> None:
        if isinstance(event, ReceiveGossip):
            first = self.heard.setdefault((event.origin, event.number), {})
            if a != event.origin:
                first.setdefault(a, self.now)
        self._handle(a, event)

    # ------------------------------------------------------------------ what became of it

    def lost_for_good(self) -> set[tuple[Address, int]]:
        """Return the messages that a member lacks and nobody holds any more."""
        found = set()
        for sender in self.addresses:
            for seqno in range(1, self.cores[sender].sent + 1):
                streams = [core.streams for core in self.cores.values()]
                lacked = any(
                    seqno > each.delivered.get(sender, 0) and seqno not in each.held.get(sender, ())
                    for each in streams
                )
                if lacked and not any(seqno in each.held.get(sender, ()) for each in streams):
                    found.add((sender, seqno))
        return found

    def unsafely_purged(self) -> int:
        """Return how many messages a member has purged that another one has not delivered."""
        count = 0
        for sender in self.addresses:
            purged = max(core.streams.purged.get(sender, 0) for core in self.cores.values())
            lowest = min(core.streams.delivered.get(sender, 0) for core in self.cores.values())
            count += max(0, purged - lowest)
        return count
