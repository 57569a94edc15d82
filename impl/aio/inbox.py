"""Between the stack's deliveries and the application that takes them: a bounded queue of batches.

Calls of the application that have their place between deliveries (`tell`) wait in the same queue:
they are made when the application has taken all that was delivered before them. Who reads by
`events` is given what the calls speak of as well, at the same place.

When `limit` bytes are waiting the inbox asks to hold deliveries, and to release them once half of
that has been taken. After `stop_holding` (the member leaves; what the others still send has to
come in) it drops what finds it full, and everything after it: what is taken stays a prefix.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from operator import length_hint
from time import monotonic
from typing import NamedTuple

from raincheck.impl.errors import Misused, NotMember
from raincheck.impl.messages import Batch, Message
from raincheck.impl.stack.reports import PrimaryChange

from .events import Event, MessageOrEvent, Request, ViewChange
from .waiting import TURN, Pace, Signal

_EVENT = 256
"""Bytes that an event counts for in the inbox."""
_NONE: Iterator[Message] = iter(())
_TWICE = (
    "another task reads the messages here already: read them in one place, and hand them on there"
)
_NO_MESSAGES = (
    "this member takes no messages, since it was connected with inbox=0; leave inbox= out"
)

SUPERSEDED = "it was given the group's state, which contains the call"
"""The reason why a member does not answer a call that waits when it is given the group's state."""


class _Note(NamedTuple):
    """A call that has its place between deliveries, and the event that it is about."""

    call: Callable[[], object]
    event: Event
    size: int


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
        self._batches: deque[Batch | _Note] = deque()
        self.by_events = False
        """Whether the application reads events, and not messages alone."""
        # The last view that the application has come to, and whether it is primary.
        self._view: tuple[ViewChange | PrimaryChange, ...] = ()
        self._current: Iterator[Message] = iter(())
        self._few = _NONE  # the next ones of them, before the clock is asked
        self._pace = Pace()
        self._arrived = Signal()
        self._idle = Signal()
        self._handed = False  # the application may still be handling what it took
        self._taker: asyncio.Task[object] | None = None  # who took it
        self._waiting = False  # the taker waits for more
        self._held = False
        self._may_hold = True
        self._end: str | None = None
        self._cause: BaseException | None = None
        self._turn_ends = 0.0

    @property
    def counters(self) -> dict[str, int]:
        """Bytes waiting, and messages dropped while leaving."""
        return {"inbox.bytes": self.size, "inbox.dropped_at_leave": self.dropped}

    @property
    def held(self) -> bool:
        """Whether deliveries are held until the application has taken more."""
        return self._held

    def starved_by(self, task: asyncio.Task[object] | None) -> bool:
        """Whether deliveries are held until that task, which has taken messages, takes more."""
        return self._held and self._taker is task

    def taken_by(self, task: asyncio.Task[object] | None) -> bool:
        """Whether that task takes the messages."""
        return task is not None and self._taker is task

    def look(self) -> None:
        """Ask the clock again at the next message, for time has passed."""
        self._few = _NONE

    def idle(self) -> float:
        """Return for how many seconds, within a turn, the application has asked for nothing."""
        return monotonic() - self._turn_ends

    def room(self) -> int:
        """Return how many bytes may come before deliveries are held."""
        return self._limit - self.size if self._may_hold else self._limit

    def put(self, batch: Batch) -> None:
        """Add what was delivered."""
        if not self._may_hold and (self.dropped or self.size >= self._limit):
            self.dropped += len(batch)
            return
        self._append(batch, batch.size)

    @property
    def behind(self) -> bool:
        """Whether the application has to take something before `tell` makes a call."""
        return bool(self.by_events or self._batches or length_hint(self._current))

    def tell(self, event: Event, call: Callable[[], object] = lambda: None, size: int = 0) -> None:
        """Make a call once the application has taken what was delivered before; now if it has.

        `event` is what the call is about, for an application that reads by `events`, and `size`
        the bytes of its content.
        """
        note = _Note(call, event, size + _EVENT)
        if self.behind:
            self._append(note, note.size)
        else:
            self._come_to(note)

    def _append(self, item: Batch | _Note, size: int) -> None:
        self._batches.append(item)
        self.size += size
        if self.size >= self._limit and self._may_hold and not self._held:
            self._held = True
            self._hold()
        self._arrived.fire()

    def _come_to(self, note: _Note) -> None:
        if isinstance(note.event, ViewChange):
            self._view = (note.event,)
        elif isinstance(note.event, PrimaryChange):
            self._view = (*self._view[:1], note.event)
        note.call()

    def stop_holding(self) -> None:
        """From now on drop messages instead of holding deliveries."""
        self._may_hold = False
        if self._held:
            self._held = False
            self._release()

    def close(self, reason: str, cause: BaseException | None = None) -> None:
        """End after the present content; with NotMember if there is a reason, and its cause."""
        if self._end is None:
            self._end, self._cause = reason, cause
            self._arrived.fire()

    def __aiter__(self) -> Inbox:
        return self

    async def __anext__(self) -> Message:
        for message in self._few:
            return message
        return await self._next_message()

    async def _next_message(self) -> Message:
        """Return the next message, and prepare that a few more are taken quickly."""
        now = monotonic()
        if now > self._turn_ends:
            await self._let_go()
        while True:
            for message in self._current:
                self._few = islice(self._current, self._pace.next(now))
                return message
            batch = await self._take()
            if batch is None:
                raise StopAsyncIteration
            self._current = iter(list(batch))  # its length tells `tell` whether there is more

    async def batch(self) -> Batch | None:
        """Return the next batch, None after the last one."""
        if monotonic() > self._turn_ends:
            await self._let_go()
        return await self._take()

    async def events(self) -> AsyncIterator[MessageOrEvent]:
        """Iterate over messages and events, beginning with the view that the reader is in."""
        if self.by_events:
            raise Misused(_TWICE)
        self.by_events = True
        try:
            for event in self._view:
                yield event
            while (taken := await self._next()) is not None:
                if not isinstance(taken, Batch):
                    yield taken.event
                    continue
                for message in taken:
                    yield message
                    if monotonic() > self._turn_ends:
                        await self._let_go()
        finally:
            self.by_events = False

    async def consumed(self) -> None:
        """Wait until the application has taken everything and asks for more."""
        while self._batches or self._handed:
            await self._idle.wait()

    async def supersede(self, waiting: asyncio.Task[object] | None) -> None:
        """Drop all that waits of what all deliver: the state about to be set contains it.

        Then wait until the application is done with what it has, unless it is the task `waiting`
        that has it: that one waits for the state.
        """
        waiting_now, self._batches = self._batches, deque()
        self._current = iter([message for message in self._current if message.unicast])
        self._few = _NONE
        self.size = 0
        for each in waiting_now:
            if isinstance(each, Batch):
                if each.unicast:
                    self._append(each, each.size)
            elif isinstance(each.event, Request) and not each.event.unicast:
                each.event.refuse(SUPERSEDED)
            else:
                self.tell(each.event, each.call, each.size - _EVENT)
        if self._held and self.size <= self._limit // 2:
            self._held = False
            self._release()
        while self._handed and (waiting is None or self._taker is not waiting):
            await self._idle.wait()

    async def _take(self) -> Batch | None:
        while (taken := await self._next()) is not None:
            if isinstance(taken, Batch):
                return taken
        return None

    async def _next(self) -> Batch | _Note | None:
        """Wait for the next batch or note, whose call is made; None at the end."""
        self._arrived.check_loop()
        if not self._limit:
            raise Misused(_NO_MESSAGES)
        if self._waiting:
            raise Misused(_TWICE)
        self._handed = False
        self._taker = asyncio.current_task()
        while not self._batches:
            self._idle.fire()
            if self._end is not None:
                if self._end:
                    raise NotMember(self._end) from self._cause
                return None
            self._waiting = True
            try:
                await self._arrived.wait()
            finally:
                self._waiting = False
            self._turn_ends = monotonic() + TURN
        taken = self._batches.popleft()
        self._handed = True
        self.size -= taken.size
        if self._held and self.size <= self._limit // 2:
            self._held = False
            self._release()
        if not isinstance(taken, Batch):
            self._come_to(taken)
        return taken

    async def _let_go(self) -> None:
        """Yield to the event loop though there may be more to take."""
        await asyncio.sleep(0)
        self._turn_ends = monotonic() + TURN
