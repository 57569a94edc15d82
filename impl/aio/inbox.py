"""Between the stack's deliveries and the application that takes them: a bounded queue of batches.

When `limit` bytes are waiting the inbox asks to hold deliveries, and to release them once half of
that has been taken. After `stop_holding` (the member leaves; what the others still send has to
come in) it drops what finds it full, and everything after it: what is taken stays a prefix.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic

from raincheck.impl.errors import NotMember
from raincheck.impl.messages import Batch, Message

from .waiting import TURN, Signal


class Inbox:
    """Delivered batches that the application has not yet taken; iterating gives messages."""

    def __init__(
        self, limit: int, *, hold: Callable[[], None], release: Callable[[], None]
    ) -> None:
        self.size = 0
        """Bytes waiting."""
        self.dropped = 0
        """Messages dropped while leaving."""
        self._limit = limit
        self._hold, self._release = hold, release
        self._batches: deque[Batch] = deque()
        self._current: Iterator[Message] = iter(())
        self._arrived = Signal()
        self._idle = Signal()
        self._handed = False  # the application may still be handling what it took
        self._taker: asyncio.Task[object] | None = None  # who took it
        self._held = False
        self._may_hold = True
        self._end: str | None = None
        self._turn_ends = 0.0

    @property
    def counters(self) -> dict[str, int]:
        """Bytes waiting, and messages dropped while leaving."""
        return {"inbox.bytes": self.size, "inbox.dropped_at_leave": self.dropped}

    def idle(self) -> float:
        """Return for how many seconds, within a turn, the application has asked for nothing."""
        return monotonic() - self._turn_ends

    def put(self, batch: Batch) -> None:
        """Add what was delivered."""
        if not self._may_hold and (self.dropped or self.size >= self._limit):
            self.dropped += len(batch)
            return
        self._batches.append(batch)
        self.size += batch.size
        if self.size >= self._limit and self._may_hold and not self._held:
            self._held = True
            self._hold()
        self._arrived.fire()

    def stop_holding(self) -> None:
        """From now on drop messages instead of holding deliveries."""
        self._may_hold = False
        if self._held:
            self._held = False
            self._release()

    def close(self, reason: str) -> None:
        """End after the present content; with NotMember if there is a reason."""
        if self._end is None:
            self._end = reason
            self._arrived.fire()

    def __aiter__(self) -> Inbox:
        return self

    async def __anext__(self) -> Message:
        if monotonic() > self._turn_ends:
            await self._let_go()
        for message in self._current:
            return message
        batch = await self._take()
        if batch is None:
            raise StopAsyncIteration
        self._current = iter(batch)
        return next(self._current)

    async def batch(self) -> Batch | None:
        """Return the next batch, None after the last one."""
        if monotonic() > self._turn_ends:
            await self._let_go()
        return await self._take()

    async def consumed(self) -> None:
        """Wait until the application has taken everything and asks for more."""
        while self._batches or self._handed:
            await self._idle.wait()

    async def supersede(self, waiting: asyncio.Task[object] | None) -> None:
        """Drop all that waits: the state about to be set contains it.

        Then wait until the application is done with what it has, unless it is the task `waiting`
        that has it: that one waits for the state.
        """
        self._batches.clear()
        self._current = iter(())
        self.size = 0
        if self._held:
            self._held = False
            self._release()
        while self._handed and (waiting is None or self._taker is not waiting):
            await self._idle.wait()

    async def _take(self) -> Batch | None:
        self._handed = False
        self._taker = asyncio.current_task()
        while not self._batches:
            self._idle.fire()
            if self._end is not None:
                if self._end:
                    raise NotMember(self._end)
                return None
            await self._arrived.wait()
            self._turn_ends = monotonic() + TURN
        batch = self._batches.popleft()
        self._handed = True
        self.size -= batch.size
        if self._held and self.size <= self._limit // 2:
            self._held = False
            self._release()
        return batch

    async def _let_go(self) -> None:
        """Yield to the event loop though there may be more to take."""
        await asyncio.sleep(0)
        self._turn_ends = monotonic() + TURN
