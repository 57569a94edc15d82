"""The outbox of a stack: datagrams to be sent, and where members are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from raincheck.impl.messages import Address, Endpoint, Payloads
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import Header

from .reports import Outgoing


class Outbox:
    """Datagrams to be sent, and the members' endpoints."""

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
        """Send the version of this wire format to a process that speaks another one."""
        self._outgoing.append(Outgoing(self.codec.refusal(), (endpoint,)))

    def broadcast(self, header: Header) -> None:
        """Broadcast a datagram."""
        self._outgoing.append(Outgoing(self.codec.encode(header), ()))

    def multicast(self, data: bytes, to: Iterable[Address]) -> None:
        """Send the same bytes to several members."""
        known = self.endpoints
        endpoints = tuple([known[member] for member in to if member in known])
        if endpoints:
            self._outgoing.append(Outgoing(data, endpoints, multicast=True))

    def encode(self, header: Header, payloads: Payloads | None = None) -> bytes:
        """Encode a datagram, to be sent later."""
        return self.codec.encode(header, payloads)

    @property
    def busy(self) -> bool:
        """Whether there is something to be sent."""
        return bool(self._outgoing)

    def drain(self) -> list[Outgoing]:
        """Return the datagrams to be sent, once."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing
