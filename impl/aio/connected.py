"""The result of `connect`, a channel or a ring: one member, from joining until it has left."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from raincheck.impl.errors import ConfigError, NotMember, RaincheckError, WaitTimeout
from raincheck.impl.messages import Address, Endpoint, Message
from raincheck.impl.sealing.keys import KeySource, read_keys
from raincheck.impl.stack.reports import Left

from .inbox import Inbox
from .shell import Shell

_log = logging.getLogger("raincheck")
D = TypeVar("D", bound=Shell[Any])


class Connected(ABC, Generic[D]):
    """One member over its driver `D`; iterating takes the messages that it delivers."""

    def __init__(self, driver: D, inbox: Inbox, *, of: str, key: KeySource) -> None:
        """`of` is what it is a member of, in errors: "group" or "ring"; `key` as it was given."""
        self._driver = driver
        self._inbox = inbox
        self._of = of
        self._key = key
        self._left: Left | None = None
        self._leaving: asyncio.Task[None] | None = None

    # connecting and leaving

    async def _join(self) -> None:
        self._driver.start()
        try:
            await self._joined()
        except BaseException:
            await self._close()
            raise

    @abstractmethod
    async def _joined(self) -> None:
        """Wait until the member is connected."""

    @abstractmethod
    async def leave(self, timeout: float | None = None) -> None:
        """Leave in good order, within so many seconds; the sockets are closed all the same."""

    async def _leave_once(self, timeout: float) -> None:
        """Leave, or wait until the leave that has begun before is over."""
        self._driver.check_loop()
        if self._leaving is None:
            self._leaving = asyncio.create_task(self._leave(timeout))
        try:
            await asyncio.shield(self._leaving)
        except asyncio.CancelledError:
            if not self._leaving.done():  # the caller was cancelled: leave at once
                self._leaving.cancel()
                await asyncio.gather(self._leaving, return_exceptions=True)
            raise

    async def _leave(self, timeout: float) -> None:
        try:
            if self._left is None:
                await self._before_leaving()
                self._begin_to_leave()
                await self._until(lambda: self._left is not None, "leaving", timeout)
        finally:
            self._end(self._gone())
            await self._close()

    async def _before_leaving(self) -> None:
        """Do what has to be done while the member is one still."""

    @abstractmethod
    def _begin_to_leave(self) -> None:
        """Start to leave, and stop holding deliveries; the report Left ends it."""

    @abstractmethod
    def _gone(self) -> Left:
        """Return the report of a member that closes before its leave is complete."""

    @abstractmethod
    async def _close(self) -> None:
        """Release all resources."""

    async def __aenter__(self) -> Self:
        """Return the member; raise NotMember for one that has left, or was closed."""
        self._alive()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is None:
            await self._finish()
        else:
            with contextlib.suppress(RaincheckError):  # the first error matters more
                await self._finish()

    async def _finish(self) -> None:
        """End the member at the end of `async with`."""
        await self.leave()

    # receiving

    def __aiter__(self) -> AsyncIterator[Message]:
        return self._inbox

    def __anext__(self) -> Awaitable[Message]:
        return self._inbox.__anext__()

    # the member

    @property
    def address(self) -> Address:
        """This member's address."""
        return self._driver.address

    @property
    def endpoint(self) -> Endpoint:
        """Where this member listens."""
        return self._driver.transport.endpoint

    @property
    def missing(self) -> list[str]:
        """Whom this member waits for at this moment, and for what."""
        return self._driver.missing()

    @property
    def counters(self) -> dict[str, int]:
        """The protocols' counters and, as transport.*, the transport's."""
        return self._driver.counters | self._inbox.counters

    def change_key(self, key: KeySource = None) -> None:
        """Seal with another key from now on, and open with all that are given.

        Without an argument the key file or the environment is read again. The order of steps while
        the others run is in docs/keys.md. Raises ConfigError for no key, and changes nothing.
        """
        keys = read_keys(self._key if key is None else key)
        if not keys:
            raise ConfigError("a member cannot give its key up; give it another one")
        self._driver.transport.change_keys(keys)

    # inside

    def _end(self, left: Left) -> None:
        """End the member for good; the first reason stands."""
        if self._left is None:
            self._left = left
            self._inbox.close(left.reason, left.cause)

    @property
    def _why_left(self) -> str:
        reason = self._left.reason if self._left is not None else ""
        return reason or f"{self.address} has left the {self._of}"

    def _alive(self) -> None:
        """Raise NotMember once the member has ended, and Misused on another event loop."""
        self._driver.check_loop()
        if self._left is not None:
            raise NotMember(self._why_left) from self._left.cause

    def _guarded(self, call: Callable[[], object], name: str) -> None:
        """Make a call of the application, which ends the member if it raises."""
        if self._left is not None and self._left.cause is not None:
            return
        try:
            call()
        except (Exception, asyncio.CancelledError) as problem:  # noqa: BLE001 (whatever it is)
            self._fail(f"{name} raised {problem!r}", problem)

    def _fail(self, what: str, problem: BaseException) -> None:
        """End the member, because its application cannot go on."""
        if self._left is None:
            _log.error("%s leaves the %s: %s", self.address, self._of, what, exc_info=problem)
            self._driver.stop(f"{self.address} has left the {self._of}: {what}", problem)

    async def _until(
        self,
        condition: Callable[[], bool],
        what: str,
        timeout: float | None,
        missing: Callable[[], list[str]] | None = None,
    ) -> None:
        """Wait for a condition of the member; raise WaitTimeout naming whom it waits for."""
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    self._alive()
                    await self._driver.settled.wait()
        except TimeoutError:
            assert timeout is not None
            whom = self._driver.missing() if missing is None else missing()
            raise WaitTimeout(f"{self.address}: {what}", timeout, whom) from None
