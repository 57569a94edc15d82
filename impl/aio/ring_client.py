"""A client of a ring: it uses named locks by a member, and does not vote, nor carry the token.

    async with RingClient.connect("locks", members=["10.0.0.5:7001", "10.0.0.6:7001"]) as client:
        async with client.lock("orders", timeout=5.0) as fence:
            store.write(record, fence.key)

One of the members serves it. What is promised, and what becomes of its locks when that member or
the client is silent, is told in docs/ring.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from secrets import randbits
from types import TracebackType
from typing import Self

from raincheck.impl.arguments import FLAG, KEYS, LISTED, PLACE, SECONDS, TEXT, check, optional
from raincheck.impl.clients.core import Client
from raincheck.impl.errors import ConfigError, NotMember, WaitTimeout
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.ring.reports import LockReport
from raincheck.impl.sealing.keys import KeySource, keys_to_seal
from raincheck.impl.stack.reports import Left
from raincheck.impl.transport.contract import Transport, address_towards, parse_endpoint, resolve
from raincheck.impl.transport.sealed import SealedTransport
from raincheck.impl.transport.udp import UdpTransport

from .connecting import Connecting
from .lock_requests import Requests
from .names import Names
from .ring_places import member_of
from .shell import Shell
from .with_locks import WithLocks

Open = Callable[[Endpoint], Transport]
_CLOSED = "the client is closed"


class RingClient(WithLocks):
    """A process that uses a ring's named locks. Made by `RingClient.connect`, ended by `close`."""

    def __init__(self, ring: str, transport: Transport, contacts: Names) -> None:
        """Use `RingClient.connect` instead."""
        core = Client(ring, transport.endpoint, contacts.now, lambda: randbits(60))
        self._core = core
        self._contacts = contacts
        self._closed = False
        driver = _ClientDriver(core, transport, self._reported)
        self._driver = driver
        self._make_locks(_ClientRequests(driver), driver.settled)
        driver.on_settled = self._look_at_locks

    @staticmethod
    def connect(
        ring: str,
        *,
        members: Sequence[str],
        bind: str | Endpoint | None = None,
        key: KeySource = None,
        encrypt: bool = True,
        timeout: float = 30.0,
    ) -> Connecting[RingClient]:
        """Find a member that serves this client; `await` it or use it in `async with`.

        `members`: some that may be asked, one after the other, as "host:port" or "name@host:port".
        `bind`: where to listen; None: any port of the address from which they are reached. `key`
        and `encrypt` are those of the ring, and `timeout` is that of connecting, in seconds.

        Raises ConfigError for what cannot work, and WaitTimeout, naming why not, if none of them
        serves it.
        """
        check("ring", ring, TEXT)
        check("members", members, LISTED)
        check("bind", bind, optional(PLACE))
        check("key=", key, optional(KEYS))
        check("encrypt", encrypt, FLAG)
        check("timeout", timeout, SECONDS)
        if not members:
            raise ConfigError("members= is empty; name members of the ring that may be asked")
        places = [member_of(each)[1] for each in members]
        keys = keys_to_seal(key, encrypt=encrypt)

        def opened(here: Endpoint) -> Transport:
            transport: Transport = UdpTransport(here)
            if keys:
                transport = SealedTransport(transport, keys, f"ring {ring}", encrypt=encrypt)
            return transport

        return RingClient._connecting(ring, places, bind, opened, timeout)

    @staticmethod
    def _connecting(
        ring: str,
        members: Sequence[Endpoint],
        bind: str | Endpoint | None,
        opened: Open,
        timeout: float,
    ) -> Connecting[RingClient]:
        """Connect over the transport that `opened` opens: for simulations."""
        return Connecting(lambda: RingClient._open(ring, members, bind, opened, timeout))

    @staticmethod
    async def _open(
        ring: str,
        members: Sequence[Endpoint],
        bind: str | Endpoint | None,
        opened: Open,
        timeout: float,
    ) -> RingClient:
        if bind is None:
            here = address_towards(await resolve(members[0], "member")), 0
        else:
            here = await resolve(parse_endpoint(bind, "bind"), "bind")
        contacts = Names(members, "member", here)
        await contacts.first()
        transport = opened(here)
        client = RingClient(ring, transport, contacts)
        try:
            client._driver.start()
            await client._served(timeout)
        except BaseException:
            await client._close()
            raise
        return client

    async def _served(self, timeout: float) -> None:
        driver = self._driver
        try:
            async with asyncio.timeout(timeout):
                while self._core.serving is None:
                    await driver.settled.wait()
        except TimeoutError:
            refused = next(iter(driver.transport.refused.values()), "")
            if refused:
                raise ConfigError(f"{refused}; give a client the key= of its ring") from None
            raise WaitTimeout("a client: connecting", timeout, driver.missing()) from None

    # ------------------------------------------------------------------ what it is

    @property
    def serving(self) -> Address | None:
        """The member that serves this client; None while it looks for one, or if it is closed."""
        return None if self._closed else self._core.serving

    @property
    def identity(self) -> str:
        """The ring's identity; see `Ring.identity`."""
        return self._core.identity

    @property
    def endpoint(self) -> Endpoint:
        """Where this client listens."""
        return self._driver.transport.endpoint

    @property
    def missing(self) -> list[str]:
        """Which members this client waits for at this moment, and for what."""
        return self._driver.missing()

    @property
    def counters(self) -> dict[str, int]:
        """The client's counters and, as transport.*, the transport's."""
        return self._driver.counters

    async def close(self) -> None:
        """Give everything back, and end; locks that are held are lost. Again, it has no effect."""
        self._driver.check_loop()
        if not self._closed:
            self._closed = True
            self._end_locks(_CLOSED)
            self._driver.run(self._core.close)
            await self._close()

    async def __aenter__(self) -> Self:
        """Return the client; raise NotMember for one that is closed."""
        self._driver.check_loop()
        if self._closed:
            raise NotMember(_CLOSED)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.close()

    async def _close(self) -> None:
        await self._contacts.close()
        await self._driver.close()

    def _reported(self, report: LockReport | Left) -> None:
        if isinstance(report, Left):
            self._end_locks(report.reason)
        else:
            self._requests.reported(report)


class _ClientDriver(Shell[LockReport]):
    """Runs a client over a transport on the current event loop."""

    def __init__(
        self, core: Client, transport: Transport, report: Callable[[LockReport | Left], None]
    ) -> None:
        super().__init__(core, transport, report, soon=core.handle_timer)
        self.core = core

    def run(self, step: Callable[[float], None]) -> None:
        """Give the client one input, and settle."""
        self._run(step)

    def _run(self, step: Callable[[float], None]) -> None:
        if self._closed:
            return
        core = self.core
        step(self.now)
        while reports := core.poll_reports():
            for report in reports:
                self._report(report)
        for data, to in core.poll_datagrams():
            self.transport.send(data, to)
        self._arm(core.deadline())
        self._settled()


class _ClientRequests(Requests):
    """The requests of a client."""

    lost_because = "the member that serves this client has lost it, or was not heard in time"

    def __init__(self, driver: _ClientDriver) -> None:
        self._core = driver.core
        super().__init__(driver, self._core, self._core)

    @property
    def identity(self) -> str:
        return self._core.identity

    @property
    def settled(self) -> bool:
        return self._core.served(self.now)

    @property
    def in_vain(self) -> bool:
        return self._core.in_vain(self.now)

    def keeps_token(self) -> bool:
        return False

    def alone(self, name: str) -> bool:
        del name
        return False  # it does not know; the ring does
