"""A transport that loses, duplicates, delays and reorders what arrives: for tests and harnesses.

It stands between a real transport and the stack, so that UDP, IP multicast and TCP are damaged in
the same way, each receiver on its own. The choices come from a seed; which datagram meets which
choice depends on the timing of the real transport.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random

from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Endpoint
from raincheck.impl.sealing.keys import Keys

from .contract import Datagrams, Receiver, Transport

_HELD = 4096  # the most datagrams held back; further ones pass at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """What happens to arriving datagrams; shares are from 0 to 1, times in seconds."""

    loss: float = 0.0
    """Share that is dropped."""
    duplicate: float = 0.0
    """Share that arrives twice, the copy up to `latest` later."""
    delay: float = 0.0
    """Share that is held back for up to `latest`."""
    reorder: float = 0.0
    """Share that is overtaken by what arrives in the next few milliseconds."""
    latest: float = 0.03
    """The longest delay."""

    def __post_init__(self) -> None:
        """Reject shares outside 0 to 1."""
        for name in ("loss", "duplicate", "delay", "reorder"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; choose from 0 to 1")
        if self.latest < 0:
            raise ConfigError(f"latest is {self.latest}; it must not be negative")

    @property
    def any(self) -> bool:
        """Whether any fault is configured."""
        return bool(self.loss or self.duplicate or self.delay or self.reorder)


class FaultyTransport(Transport):
    """A transport with injected faults."""

    def __init__(
        self,
        inner: Transport,
        damage: Damage,
        seed: int,
        before_send: Callable[[], None] = lambda: None,
    ) -> None:
        """Wrap `inner`. `before_send` is called before anything leaves (a log is written ahead)."""
        super().__init__()
        self.name = inner.name
        self.multicasts = inner.multicasts
        self.endpoint = inner.endpoint
        self.max_datagram = inner.max_datagram
        self.counters = inner.counters
        self.sealed = inner.sealed
        self._inner = inner
        self._damage = damage
        self._random = Random(seed)
        self._before_send = before_send
        self._held: set[asyncio.TimerHandle] = set()
        self._closed = False
        self._apart: frozenset[Endpoint] = frozenset()
        self._beyond: frozenset[Endpoint] = frozenset()
        self._silent = False

    def start(self, receive: Receiver) -> None:
        super().start(receive)
        self._inner.start(self._arrived if self._damage.any else receive)

    def calm(self) -> None:
        """Stop injecting faults."""
        self._damage = Damage()

    def part(self, others: Iterable[Endpoint], *, sends: bool = False) -> None:
        """Partition: neither reach these endpoints nor hear them until the next call.

        `sends`: cut in one direction only, so that they are reached and not heard.
        """
        self._apart = frozenset(others)
        self._beyond = frozenset() if sends else self._apart
        if self._receive is not None:
            self._inner.start(self._arrived)

    def silence(self) -> None:
        """Send and receive nothing any more, as if the process had ended."""
        self._silent = self._closed = True
        self._inner.start(lambda _: None)

    def send(self, data: bytes, to: Endpoint) -> None:
        if self._silent:
            return
        self._before_send()
        if to in self._beyond:
            self.counters["fault_parted"] += 1
            return
        self._inner.send(data, to)

    def multicast(self, data: bytes, to: Iterable[Endpoint]) -> None:
        if self._silent:
            return
        self._before_send()
        self._inner.multicast(data, [each for each in to if each not in self._beyond])

    def broadcast(self, data: bytes) -> None:
        if self._silent:
            return
        self._before_send()
        self._inner.broadcast(data)

    @property
    def refused(self) -> Mapping[Endpoint, str]:
        return self._inner.refused

    def change_keys(self, keys: Keys) -> None:
        self._inner.change_keys(keys)

    def pending(self) -> int:
        return self._inner.pending()

    async def close(self) -> None:
        self._closed = True
        for handle in self._held:
            handle.cancel()
        self._held.clear()
        await self._inner.close()

    def _arrived(self, batch: Datagrams) -> None:
        damage, draw, counters = self._damage, self._random.random, self.counters
        passing: Datagrams = []
        for datagram in batch:
            if datagram[1] in self._apart:
                counters["fault_parted"] += 1
                continue
            if draw() < damage.loss:
                counters["fault_lost"] += 1
                continue
            if draw() < damage.duplicate:
                counters["fault_duplicated"] += 1
                self._later(datagram, draw() * damage.latest)
            if draw() < damage.delay:
                counters["fault_delayed"] += 1
                self._later(datagram, draw() * damage.latest)
            elif draw() < damage.reorder:
                counters["fault_reordered"] += 1
                self._later(datagram, draw() * 0.003)
            else:
                passing.append(datagram)
        if passing:
            self._pass_on(passing)

    def _later(self, datagram: tuple[bytes, Endpoint], seconds: float) -> None:
        """Pass a datagram on later; what is under way when the network parts still arrives."""
        if len(self._held) >= _HELD:
            self._pass_on([datagram])
            return

        def due() -> None:
            self._held.discard(handle)
            self._pass_on([datagram])

        handle = asyncio.get_running_loop().call_later(seconds, due)
        self._held.add(handle)

    def _pass_on(self, batch: Datagrams) -> None:
        if not self._closed and self._receive is not None:
            self._receive(batch)
