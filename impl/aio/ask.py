"""A live question to a member: `await raincheck.ask("10.0.0.5:7001")`."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from secrets import randbits
from typing import NoReturn

from raincheck.impl.arguments import FLAG, KEYS, SECONDS, check, choice, optional
from raincheck.impl.asking.asker import Asker
from raincheck.impl.errors import AskRefused, ConfigError, WaitTimeout, WireError
from raincheck.impl.messages import Endpoint, shown
from raincheck.impl.sealing.head import MAGIC as SEALED
from raincheck.impl.sealing.keys import Keys, KeySource, keys_to_seal
from raincheck.impl.transport.contract import (
    Datagrams,
    Transport,
    address_towards,
    parse_endpoint,
    resolve,
)
from raincheck.impl.transport.sealed import SealedTransport
from raincheck.impl.transport.tcp import TcpTransport
from raincheck.impl.transport.udp import UdpTransport

from .status import Status, decoded

_AGAIN = 0.2  # seconds until a question is repeated
_DOUBT = 0.5  # seconds for which a refusal for the key, which anybody can forge, is not believed
_OF_NOTHING = "nothing but live questions"


async def ask(
    at: str | Endpoint,
    *,
    key: KeySource = None,
    encrypt: bool = True,
    transport: str | None = None,
    timeout: float = 3.0,
) -> Status:
    """Return the status of the member that the others reach at "host:port".

    `key` and `encrypt` are those of its group or ring. `transport` is "udp" (for "multicast" too)
    or "tcp"; None asks over both. Raises WaitTimeout if nobody answers within so many seconds,
    AskRefused if the member does not tell this process, or cannot because of its key or version,
    and ConfigError for an address or a key that cannot be used.
    """
    check("key=", key, optional(KEYS))
    check("encrypt", encrypt, FLAG)
    check("transport", transport, optional(choice("udp", "tcp")))
    check("timeout", timeout, SECONDS)
    named = parse_endpoint(at, "member")
    if named[1] == 0:
        raise ConfigError(f"member {shown(named)} has port 0; name the port it listens on")
    keys = keys_to_seal(key, encrypt=encrypt)
    place = await resolve(named, "member")
    here = (address_towards(place), 0)
    async with AsyncExitStack() as opened:
        tries: list[_Try] = []
        for kind in (transport,) if transport is not None else ("udp", "tcp"):
            inner = await _open(kind, here)
            opened.push_async_callback(inner.close)
            tries.append(_Try(inner, keys, encrypt, place))
        try:
            async with asyncio.timeout(timeout):
                return await _first(tries)
        except TimeoutError:
            for each in tries:
                each.check(at_the_end=True)
            what = f"waiting for an answer of a member at {shown(place)}"
            raise WaitTimeout(what, timeout) from None


async def _open(kind: str, here: Endpoint) -> Transport:
    if kind == "udp":
        return UdpTransport(here)
    tcp = TcpTransport(here)
    await tcp.listen()
    return tcp


async def _first(tries: list[_Try]) -> Status:
    """Return the first answer; raise the first refusal, if that is sooner."""
    running = [asyncio.create_task(each.run()) for each in tries]
    try:
        done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        return min(done, key=lambda each: each.exception() is not None).result()
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class _Try:
    """The question over one transport."""

    def __init__(self, inner: Transport, keys: Keys, encrypt: bool, place: Endpoint) -> None:
        self._place = place
        self._transport = (
            SealedTransport(inner, keys, _OF_NOTHING, encrypt=encrypt) if keys else inner
        )
        self._asker = Asker(randbits(63) | 1)
        self._heard = asyncio.Event()
        self._has_key = False
        self._refused_at = float("inf")

    async def run(self) -> Status:
        """Ask until there is an answer."""
        self._transport.start(self._received)
        while not self._asker.over:
            self.check()
            self._transport.send(self._asker.datagram(), self._place)
            self._heard.clear()
            try:
                async with asyncio.timeout(_AGAIN):
                    await self._heard.wait()
            except TimeoutError:
                continue
        self.check()
        assert self._asker.answer is not None
        try:
            return decoded(self._asker.answer)
        except WireError as problem:
            self._refuse(f"gives an answer that cannot be read ({problem}); use the same release")

    def check(self, *, at_the_end: bool = False) -> None:
        """Raise AskRefused if there will be no answer."""
        if self._asker.refusal:
            self._refuse(self._asker.refusal)
        if self._has_key:
            self._refuse("has a key, this process has none; ask with that key")
        why = self._transport.refused.get(self._place)
        if why is not None:
            now = asyncio.get_running_loop().time()
            self._refused_at = min(self._refused_at, now)
            if at_the_end or now - self._refused_at >= _DOUBT:
                raise AskRefused(f"{why}; ask with the key that it has, if it has one")

    def _refuse(self, why: str) -> NoReturn:
        raise AskRefused(f"{shown(self._place)} {why}")

    def _received(self, batch: Datagrams) -> None:
        for datagram, source in batch:
            if datagram.startswith(SEALED) and source == self._place:
                self._has_key = True
                self._heard.set()
            elif self._asker.take(datagram) or self._asker.over:
                self._heard.set()
