"""Waiting for other tasks, and sharing the event loop with them."""

from __future__ import annotations

import asyncio
from collections import deque

from raincheck.impl.errors import Misused

TURN = 0.002
"""Seconds after which a task that never has to wait lets the loop do its other duties."""


_STEPS = 32  # the most steps between two looks at the clock


class Pace:
    """Says how many steps a task may take before the clock is asked again.

    As many as take little time: none while the application does much between them.
    """

    __slots__ = ("_asked", "_steps")

    def __init__(self) -> None:
        self._asked = 0.0
        self._steps = 0

    def next(self, now: float) -> int:
        """Return how many steps may be taken after the one at `now`."""
        self._steps = min(2 * self._steps + 1, _STEPS) if now - self._asked < TURN / 4 else 0
        self._asked = now
        return self._steps


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop of the current task; None outside of any."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def check_loop(loop: asyncio.AbstractEventLoop | None) -> None:
    """Raise Misused on another event loop than this one, and in another thread.

    Who waits there is never woken, and whatever is called there meets a member at work.
    """
    if loop is not None and running_loop() is not loop:
        raise Misused(
            "what one event loop has connected is used on another one, or in another thread; "
            "connect and use it in one asyncio.run(), or call it there with "
            "asyncio.run_coroutine_threadsafe()"
        )


class Signal:
    """Wakes all who wait for it at this moment; remembers nothing."""

    def __init__(self) -> None:
        self._loop = running_loop()
        self._waiters: dict[asyncio.Future[None], None] = {}  # in order

    def check_loop(self) -> None:
        """Raise Misused on another event loop than the one that fires it."""
        check_loop(self._loop)

    async def wait(self) -> None:
        """Return when `fire` is called next; raise Misused on another event loop."""
        self.check_loop()
        waiter = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = None
        try:
            await waiter
        finally:
            self._waiters.pop(waiter, None)  # cancelled

    def fire(self) -> None:
        """Wake everybody, the longest waiting first."""
        if self._waiters:
            waiters, self._waiters = self._waiters, {}
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)


class Turns:
    """Lets tasks that wait for room go on in order, only as many at once as there is room for.

    A task that comes later waits behind all of them, and behind those that have been let go on and
    have not run yet.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()
        self._going = 0  # bytes of those that may go on and have not done so yet

    @property
    def taken(self) -> bool:
        """Whether others come first."""
        return bool(self._waiting or self._going)

    async def wait(self, size: int) -> None:
        """Wait for room for so many bytes."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append((waiter, size))
        try:
            await waiter  # one that is cancelled stays in the queue until its turn
        finally:
            if waiter.done() and not waiter.cancelled():
                self._going -= size

    def let_go(self, room: float) -> None:
        """Let the first ones go on, as long as there is room."""
        while self._waiting and room > self._going:
            waiter, size = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._going += size
