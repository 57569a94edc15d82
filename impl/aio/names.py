"""The hosts that a process asks, over all of its lives: names are looked up again while it asks.

In a container's network the addresses behind a name come and go. So each round of asking takes the
addresses of the moment; if they are older than `CACHE` a lookup begins, one at a time, in a thread
of the loop, and the round does not wait for it. A name that is not known any more keeps its last
addresses, which is logged once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Endpoint, shown
from raincheck.impl.transport.contract import check_route, is_name, parse_endpoint, resolve_all

_log = logging.getLogger("raincheck")

CACHE = 1.0
"""Seconds for which addresses are taken as they are."""
MOST = 256
"""The most addresses of all names together."""


class Names:
    """Hosts, of which some are named."""

    def __init__(
        self, hosts: Sequence[str | Endpoint], what: str, bound: Endpoint, *, route: bool = True
    ) -> None:
        """`what` they are, in errors; `bound` is where this member listens; `route`: what is sent
        from there has to get out.
        """
        self._what = what
        self._hosts = [parse_endpoint(host, what) for host in hosts]
        self._bound = bound
        self._route = route
        self._found: dict[Endpoint, tuple[Endpoint, ...]] = {}
        self._failed: set[Endpoint] = set()
        self._looked_up = float("-inf")
        self._looking: asyncio.Task[None] | None = None
        self.on_change: Callable[[], None] = lambda: None
        """Called when there are addresses that were not there before."""

    @property
    def change(self) -> bool:
        """Whether the addresses may change."""
        return any(is_name(host) for host, _ in self._hosts)

    async def first(self) -> tuple[Endpoint, ...]:
        """Look all of them up; raises ConfigError for what cannot work."""
        for host in self._hosts:
            self._found[host] = await self._resolved(host)
        self._looked_up = asyncio.get_running_loop().time()
        return self.known

    @property
    def known(self) -> tuple[Endpoint, ...]:
        """The addresses as they were found last."""
        known = dict.fromkeys(place for found in self._found.values() for place in found)
        return tuple(known)[:MOST]

    def now(self) -> tuple[Endpoint, ...]:
        """Return the addresses, and begin a lookup if they are old."""
        loop = asyncio.get_running_loop()
        old = loop.time() - self._looked_up >= CACHE
        if old and self._looking is None and self.change:
            self._looking = loop.create_task(self._look_up())
        return self.known

    async def close(self) -> None:
        """Look nothing up any more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look_up(self) -> None:
        before = set(self.known)
        try:
            for host in self._hosts:
                if is_name(host[0]):
                    await self._again(host)
        finally:
            self._looking = None
            self._looked_up = asyncio.get_running_loop().time()
        if not before.issuperset(self.known):
            self.on_change()

    async def _again(self, host: Endpoint) -> None:
        """Look one name up again; if that fails it keeps what it had."""
        try:
            self._found[host] = await self._resolved(host)
        except ConfigError as problem:
            if host not in self._failed:
                self._failed.add(host)
                last = ", ".join(map(shown, self._found[host]))
                _log.warning("%s; its last addresses are used: %s", problem, last)
        else:
            if host in self._failed:
                self._failed.discard(host)
                _log.info("%s %s is known again", self._what, shown(host))

    async def _resolved(self, host: Endpoint) -> tuple[Endpoint, ...]:
        found = await resolve_all([host], self._what, self._bound)
        if self._route:
            check_route(self._bound, found, self._what)
        return found
