"""Timers, back-off and an outbox for datagrams, which the protocols of a stack share.

Law of every protocol: it is called with what happened and the time, changes its own state, and
leaves what is to be sent in the outbox. It owns no clock, no socket, and no randomness.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable

from raincheck.impl.messages import Address, Endpoint, Payloads
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import Header

from .config import StackConfig
from .reports import Outgoing

NEVER = float("inf")
"""The deadline of a timer that is not set."""


class Outbox:
    """Datagrams to be sent, and the endpoints of those they are for."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.endpoints: dict[Address, Endpoint] = {}
        self.counters: Counter[str] = Counter()
        self._outgoing: list[Outgoing] = []

    def send(self, data: bytes, to: Address) -> None:
        """Send bytes to a member."""
        endpoint = self.endpoints.get(to)
        if endpoint is None:
            self.counters["no_endpoint"] += 1
        else:
            self._outgoing.append(Outgoing(data, (endpoint,)))

    def send_header(self, header: Header, to: Address) -> None:
        """Send a datagram without payloads to a member."""
        self.send(self.codec.encode(header), to)

    def send_to(self, header: Header, endpoint: Endpoint) -> None:
        """Send a datagram without payloads to an endpoint."""
        self._outgoing.append(Outgoing(self.codec.encode(header), (endpoint,)))

    def refuse_version(self, endpoint: Endpoint) -> None:
        """Tell who speaks another version of the wire format which one this is."""
        self._outgoing.append(Outgoing(self.codec.refusal(), (endpoint,)))

    def broadcast(self, header: Header) -> None:
        """Send a datagram to whoever listens."""
        self._outgoing.append(Outgoing(self.codec.encode(header), ()))

    def multicast(self, data: bytes, to: Iterable[Address]) -> None:
        """Send the same bytes to several members."""
        known = self.endpoints
        endpoints = tuple([known[member] for member in to if member in known])
        if endpoints:
            self._outgoing.append(Outgoing(data, endpoints, multicast=True))

    def encode(self, header: Header, payloads: Payloads | None = None) -> bytes:
        """Return a datagram, to be sent later."""
        return self.codec.encode(header, payloads)

    @property
    def busy(self) -> bool:
        """Whether there is something to be sent."""
        return bool(self._outgoing)

    def drain(self) -> list[Outgoing]:
        """Return what is to be sent, once."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing


class Protocol(ABC):
    """One layer of a stack."""

    def __init__(self, me: Address, config: StackConfig, outbox: Outbox) -> None:
        self.me = me
        self.config = config
        self.outbox = outbox
        self.counters = outbox.counters

    @abstractmethod
    def deadline(self) -> float:
        """When `handle_timer` wants to be called, or NEVER."""

    @abstractmethod
    def handle_timer(self, now: float) -> None:
        """Do what is due; harmless when nothing is."""


class Backoff:
    """A timer whose pauses double while nothing answers.

    The first pause follows the round trips measured, as TCP's does (RFC 6298): their smoothed mean
    and four times their deviation, within what it was made with. A process that gets little of a
    busy machine answers late, and what it has is not sent to it again.
    """

    __slots__ = ("_deviation", "_first", "_floor", "_last", "_mean", "_pause", "due")

    def __init__(self, first: float, last: float) -> None:
        self._floor = self._first = self._pause = first
        self._last = last
        self._mean = -1.0
        self._deviation = 0.0
        self.due = NEVER

    def measured(self, trip: float) -> None:
        """An answer came `trip` seconds after something that was sent only once."""
        if self._mean < 0:
            self._mean, self._deviation = trip, trip / 2
        else:
            self._deviation += (abs(trip - self._mean) - self._deviation) / 4
            self._mean += (trip - self._mean) / 8
        first = max(self._floor, self._mean + 4 * self._deviation)
        self._first = max(self._floor, min(first, self._last))

    def start(self, now: float) -> None:
        """Begin anew, with the first pause."""
        self._pause = self._first
        self.due = now + self._first

    def start_if_idle(self, now: float) -> None:
        """Begin unless it is running."""
        if self.due == NEVER:
            self.start(now)

    def again(self, now: float) -> None:
        """It fired: wait twice as long."""
        self._pause = min(2 * self._pause, self._last)
        self.due = now + self._pause

    def stop(self) -> None:
        """There is nothing to wait for."""
        self.due = NEVER
