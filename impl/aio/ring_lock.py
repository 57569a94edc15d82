"""The application's lock on the token: which of this member's tasks has it, and whether it is lost.

One visit of the token serves one task if another member wants it; the next one is served when
it comes again. So no member starves the others, however many of its tasks wait. While nobody else
wants it a visit serves more of them, until its rest is over: their fences differ in `turn`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from raincheck.impl.errors import LockMisused, WaitTimeout
from raincheck.impl.messages import Address
from raincheck.impl.ring.fence import Fence, FenceKey

from .ring_driver import RingDriver

Until = Callable[[Callable[[], bool], str, float | None], Awaitable[None]]
"""Waits for a condition of the node; raises WaitTimeout with the reason of the wait."""


class Lock:
    """Keeps the token at this member while one of its tasks has the lock."""

    def __init__(self, driver: RingDriver, until: Until, identity: str) -> None:
        self._driver = driver
        self._node = driver.node
        self._until = until
        self._identity = identity
        self._mine = asyncio.Lock()  # between tasks of this member: first come, first served
        self._fence: Fence | None = None
        self._last = FenceKey(0, Address("", 0), 0, 0)
        self._asked = self._resting = False
        self._keeper: asyncio.Task[Any] | None = None  # the task that keeps the token

    @asynccontextmanager
    async def held(self, timeout: float | None) -> AsyncIterator[Fence]:
        """Wait for the token, and keep it inside; raise TokenLost at the end if it was lost."""
        fence = await self._acquire(timeout)
        try:
            yield fence
        finally:
            self._fence = self._keeper = None
            self._go_on()
            self._mine.release()
        fence.check()

    def rest(self) -> None:
        """Keep the token at its next visit though no task has the lock."""
        self._resting = True
        self._driver.run(self._node.hold)

    def stop_resting(self) -> None:
        """Let the token go on unless it is locked."""
        self._resting = False
        if not self._asked:
            self._go_on()

    def lose(self) -> None:
        """Mark a held lock as lost: this member has left or stopped."""
        if self._fence is not None:
            self._fence.lost.set()

    async def _acquire(self, timeout: float | None) -> Fence:
        self._driver.check_loop()
        loop, node = asyncio.get_running_loop(), self._node
        start = loop.time()
        if self.is_mine():
            raise LockMisused(
                "this task keeps the ring's token already, and would wait for itself; end that "
                "lock first, or let another task ask for the token"
            )
        try:
            async with asyncio.timeout(timeout):
                await self._mine.acquire()
        except TimeoutError:
            assert timeout is not None
            me = f"{self._node.address}"
            whom = [f"{me} to end the lock that another of its tasks has or waits for"]
            raise WaitTimeout(f"{me}: waiting for the token", timeout, whom) from None
        try:
            self._asked = True
            self._driver.run(self._node.want_token)
            while True:
                rest = None if timeout is None else max(0.0, start + timeout - loop.time())
                await self._until(lambda: node.granted is not None, "waiting for the token", rest)
                if not node.late(loop.time()):
                    return self._grant()
                self._driver.run(node.handle_timer)  # the loop was blocked: the ring is heard first
        except BaseException:
            self._go_on()
            self._mine.release()
            raise

    def _grant(self) -> Fence:
        granted = self._node.grant(self._driver.now)
        assert granted is not None
        (n, by), seq = granted
        again = self._last[:3] == (n, by, seq)
        self._last = FenceKey(n, by, seq, self._last.turn + 1 if again else 0)
        self._fence = Fence(self._last, self._identity)
        self._keeper = asyncio.current_task()
        return self._fence

    def is_mine(self) -> bool:
        """Whether the current task keeps the token."""
        return self._keeper is not None and self._keeper is asyncio.current_task()

    def look(self) -> None:
        """Mark the lock as lost if the locked token is not here any more."""
        if self._fence is not None:
            key = self._fence.key
            if self._node.granted != ((key.epoch, key.by), key.number):
                self._fence.lost.set()

    def _go_on(self) -> None:
        self._asked = False
        if not self._resting:
            self._driver.run(self._node.release)
