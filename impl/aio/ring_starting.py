"""The asyncio shell around a process that starts, until it knows its ring."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from raincheck.impl.errors import ConfigError, WaitTimeout
from raincheck.impl.messages import shown
from raincheck.impl.ring.start_wire import MAGIC as START
from raincheck.impl.ring.starter import Starter
from raincheck.impl.ring.state_file import StateNotKept
from raincheck.impl.sealing.head import MAGIC as SEALED
from raincheck.impl.transport.contract import Datagrams, Transport

_log = logging.getLogger("raincheck")
_CLIENTS = "to know that their locks are lost"


async def settled(
    starter: Starter,
    transport: Transport,
    keep: Callable[[], None],
    timeout: float,
    ring: str,
    returns: Callable[[], float] = lambda: 0.0,
) -> None:
    """Return once the process knows its ring, and may go there; `keep` writes down what it has
    come to.

    `returns` says, once it knows its ring, at what time of the loop that is. Others that start are
    answered until then.

    Raises WaitTimeout, naming whom it waits for, and ConfigError for what cannot work.
    """
    await _Starting(starter, transport, keep, ring, returns).run(timeout)


class _Starting:
    """Runs a starter over a transport."""

    def __init__(
        self,
        starter: Starter,
        transport: Transport,
        keep: Callable[[], None],
        ring: str,
        returns: Callable[[], float],
    ) -> None:
        self._starter = starter
        self._transport = transport
        self._keep = keep
        self._ring = ring
        self._returns = returns
        self._came_back = starter.settled
        self._waits = False
        self._whom = f"clients of an earlier process of {starter.core.me.node}"
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, timeout: float) -> None:
        me = self._starter.core.me.node
        self._transport.start(self._received)
        self._step(self._starter.start)
        try:
            async with asyncio.timeout(timeout):
                await self._done
        except TimeoutError:
            if self._starter.sealed is not None:
                why = f"{shown(self._starter.sealed)} has a key, this process has none"
            else:
                why = next(iter(self._transport.refused.values()), "")
            if why:
                raise ConfigError(f"{why}; give all members of a ring the same key=") from None
            whom = [f"{who} {what}" for who, what in self._starter.missing().items()]
            if self._waits:
                whom = [f"{self._whom} {_CLIENTS}"]
            raise WaitTimeout(f"{me}: connecting", timeout, whom) from None
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._transport.start(lambda _: None)

    def _received(self, datagrams: Datagrams) -> None:
        # The ring's own datagrams are for a member, which this process is not yet.
        starts = [each for each in datagrams if each[0][:2] in (START, SEALED)]
        if starts:
            self._step(lambda now: self._starter.receive(starts, now))

    def _step(self, step: Callable[[float], None]) -> None:
        if self._done.done():
            return
        starter = self._starter
        try:
            step(self._loop.time())
            if starter.changed:
                self._keep()
                starter.changed = False
        except StateNotKept as problem:
            self._done.set_exception(ConfigError(str(problem)))
            return
        for data, to in starter.poll_datagrams():
            self._transport.send(data, to)
        for dropped in starter.poll_dropped():
            _log.warning(
                "dropped %d datagrams, the last from %s: %s %s",
                dropped.times, shown(dropped.sender), dropped.reason, dropped.detail,
            )  # fmt: skip
        if starter.namesake is not None and not self._came_back:
            self._done.set_exception(
                ConfigError(
                    f"name {starter.core.me.node!r} is taken by the member at "
                    f"{shown(starter.namesake)}; each member needs a name of its own"
                )
            )
        elif not starter.settled:
            self._arm(starter.deadline())
        elif (returns := self._returns()) <= self._loop.time():
            self._done.set_result(None)
        else:
            self._wait(returns)

    def _wait(self, returns: float) -> None:
        """Wait for clients of an earlier process of this member, until that time."""
        if not self._waits:
            self._waits = True
            _log.info(
                "%s goes to ring %r in %.2f s: it waits for %s %s",
                self._starter.core.me.node, self._ring, returns - self._loop.time(), self._whom,
                _CLIENTS,
            )  # fmt: skip
        due = self._starter.deadline()
        self._arm(returns if due is None else min(due, returns))

    def _arm(self, due: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if due is not None:
            self._timer = self._loop.call_at(due, lambda: self._step(self._starter.handle_timer))
