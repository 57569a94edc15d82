"""Whole channels and rings in virtual time: an asyncio loop whose time passes only where all wait,
and a network of transports without sockets.

    def test() -> None:
        network = SimulatedNetwork()
        run(scenario(network))             # minutes of virtual time, milliseconds of real time

Datagrams arrive in order after `delay`; those to or from `silent` endpoints, and between the pairs
of `cut`, are lost. Names are looked up in the loop's own table.
"""

from __future__ import annotations

import asyncio
import math
import selectors
import socket
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from raincheck.impl.messages import Endpoint
from raincheck.impl.transport.contract import MAX_UDP_PAYLOAD, Transport

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Lets the time pass instead of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everything waits, and no timer is set: nothing will ever happen")
        # A round takes a moment, lest a timer that the loop fires too early is set again for ever.
        self.now = max(self.now + timeout, math.nextafter(self.now, math.inf))
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time; it begins at 0."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)
        self.names: dict[str, list[str]] = {}
        """What its resolver knows: the addresses behind each name."""
        self.lookups: list[tuple[float, str]] = []
        """When each name was looked up."""
        self.lookup = 0.01
        """Seconds that a lookup takes."""

    def time(self) -> float:
        return self._virtual.now

    async def getaddrinfo(self, host: Any, port: Any, **about: Any) -> list[Any]:
        """Answer as a resolver does, from `names`."""
        self.lookups.append((self.time(), str(host)))
        await asyncio.sleep(self.lookup)
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        family, kind = about["family"], about["type"]
        return [(family, kind, 17, "", (address, port)) for address in self.names[host]]


def the_loop() -> VirtualLoop:
    """Return the loop that runs."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop), "it does not run in virtual time"
    return loop


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(scenario)


class SimulatedNetwork:
    """Transports that reach each other."""

    def __init__(self, delay: float = 0.0001) -> None:
        self.delay = delay
        self.silent: set[Endpoint] = set()
        """Endpoints whose datagrams are lost, both ways."""
        self.cut: set[frozenset[Endpoint]] = set()
        """Pairs of endpoints that do not reach each other."""
        self._transports: dict[Endpoint, SimulatedTransport] = {}

    @property
    def transports(self) -> Mapping[Endpoint, SimulatedTransport]:
        """Those that are open, by endpoint."""
        return self._transports

    def open(self, endpoint: Endpoint) -> SimulatedTransport:
        """Return a new transport at an endpoint where there is none."""
        assert endpoint not in self._transports, f"{endpoint} is in use"
        transport = self._transports[endpoint] = SimulatedTransport(self, endpoint)
        return transport

    def close(self, endpoint: Endpoint) -> None:
        """Forget a transport."""
        self._transports.pop(endpoint, None)

    def carry(self, data: bytes, source: Endpoint, to: Endpoint) -> None:
        """Let a datagram arrive, if it is not lost."""
        if not self.silent.isdisjoint((source, to)) or frozenset((source, to)) in self.cut:
            return
        asyncio.get_running_loop().call_later(self.delay, self._arrive, data, source, to)

    def _arrive(self, data: bytes, source: Endpoint, to: Endpoint) -> None:
        transport = self._transports.get(to)
        if transport is not None:
            transport.arrived(data, source)


class SimulatedTransport(Transport):
    """One endpoint of a simulated network."""

    name = "udp"
    multicasts = False
    max_datagram = MAX_UDP_PAYLOAD

    def __init__(self, network: SimulatedNetwork, endpoint: Endpoint) -> None:
        super().__init__()
        self.endpoint = endpoint
        self._network = network

    def send(self, data: bytes, to: Endpoint) -> None:
        self.counters["sent"] += 1
        self._network.carry(data, self.endpoint, to)

    def arrived(self, data: bytes, source: Endpoint) -> None:
        """Hand over a datagram."""
        self._hand_over([(data, source)])

    def pending(self) -> int:
        return 0

    async def close(self) -> None:
        self._network.close(self.endpoint)
