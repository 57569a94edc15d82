"""The application's side of state transfer, for asyncio: get_state and set_state.

    def get_state() -> bytes | Iterable[bytes] | AsyncIterable[bytes], or a coroutine of one
    async def set_state(chunks: AsyncIterator[bytes]) -> None

`get_state` is asked for on the provider, once for each transfer. What it returns is read piece by
piece while the requester takes it, so a state need not be in memory as bytes; no message is handed
to the application meanwhile. `set_state` reads `chunks` to the end and replaces the application's
state by what it has read; the pieces need not be cut as the provider cut them. If the provider dies
half-way, reading raises StateInterrupted, and set_state is called again, from the beginning.

`get_state` is called only when the application has taken every message delivered before: a state
that lacks one is not the group's. Before `set_state` is called, messages that wait for the
application are dropped, since the state has them; and it has to be done with the one that it is at,
or that would be applied to a state that has it. Who asks for the state in the midst of a message is
not waited for: what it does with that message afterwards is its own affair.

The whole group waits meanwhile, so both are given `application_timeout`: a get_state that produces
nothing for so long is given up, and another member is asked; a set_state that neither takes a chunk
that is here nor returns is cancelled, and the transfer has failed.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from typing import Protocol, TypeAlias

from raincheck.impl.arguments import shown_value
from raincheck.impl.errors import RaincheckError
from raincheck.impl.messages import Address
from raincheck.impl.state_transfer.events import Begun, EndState, Failed, GetState, HandUp

_log = logging.getLogger("raincheck")

State: TypeAlias = bytes | Iterable[bytes] | AsyncIterable[bytes]
GetStateCall: TypeAlias = Callable[[], State | Awaitable[State]]
SetStateCall: TypeAlias = Callable[[AsyncIterator[bytes]], Awaitable[None]]


class StateInterrupted(RaincheckError):
    """The provider of the state is gone; set_state is called again with another one's state."""


class StateNotTransferred(RaincheckError):
    """The group's state did not arrive."""


class StackSide(Protocol):
    """The stack as the desk uses it: the calls of `StateTransferLayer`, each run and settled."""

    max_chunk: int
    patience: float
    application_timeout: float

    def room(self, requester: Address) -> bool:
        """Return whether that requester has credit for a chunk."""

    def give(self, requester: Address, payload: bytes, last: bool) -> None:
        """Send the next chunk."""

    def refuse(self, requester: Address) -> None:
        """Say that the state cannot be given."""

    def take(self) -> None:
        """Say that a chunk was taken."""

    def finish(self, ok: bool) -> None:
        """Say that set_state is over."""

    async def settled(self) -> None:
        """Wait until the stack may have changed."""

    async def consumed(self) -> None:
        """Wait until the application has taken every message delivered so far."""

    async def superseded(self, waiting: asyncio.Task[object] | None) -> None:
        """Drop the messages that wait, and wait until no other task handles one."""


class StateDesk:
    """Calls get_state and set_state when the stack asks for it."""

    def __init__(
        self,
        stack: StackSide,
        get_state: GetStateCall | None = None,
        set_state: SetStateCall | None = None,
    ) -> None:
        self._stack = stack
        self._get_state = get_state
        self._set_state = set_state
        self._readers: dict[Address, asyncio.Task[None]] = {}
        self._chunks: _Chunks | None = None
        self._setter: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._asker: asyncio.Task[object] | None = None
        self._leaving = False
        self.outcome: str | None = None
        """None until a transfer is over, then "" or the sentence that says why it failed."""

    def reported(self, indication: GetState | EndState | Begun | HandUp | Failed) -> None:
        """Handle a report that calls for get_state or set_state."""
        match indication:
            case GetState(requester, _):
                self._end(requester)
                self._readers[requester] = asyncio.create_task(self._provide(requester))
            case EndState(requester):
                self._end(requester)
            case Begun():
                self._begin()
            case HandUp(payload, last):
                if self._chunks is not None:
                    self._chunks.put(payload, last)
            case Failed(reason):
                self._over(reason)
                if self._chunks is not None:
                    self._chunks.interrupt()

    async def arrived(self) -> None:
        """Wait until the state is set; raises StateNotTransferred with the reason."""
        while self.outcome is None:
            self._changed.clear()
            await self._changed.wait()
        if self.outcome:
            raise StateNotTransferred(self.outcome)

    def ask(self) -> None:
        """Prepare for a transfer that the calling task is about to ask for."""
        self.outcome = None
        self._asker = asyncio.current_task()

    def leave(self) -> None:
        """Give the state to nobody any more: the application may take no more messages."""
        self._leaving = True
        readers = list(self._readers)
        for requester in readers:
            self._end(requester)
            self._stack.refuse(requester)

    async def close(self) -> None:
        """Stop reading and setting."""
        tasks = [*self._readers.values(), *([self._setter] if self._setter else [])]
        self._readers.clear()
        self._setter = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.outcome is None:
            self._over("the member left the group before it had the state")

    def _over(self, outcome: str) -> None:
        self.outcome = outcome
        self._asker = None
        self._changed.set()

    # ------------------------------------------------------------------ the provider

    def _end(self, requester: Address) -> None:
        task = self._readers.pop(requester, None)
        if task is not None:
            task.cancel()

    async def _provide(self, requester: Address) -> None:
        """Read the application's state for one requester, as far as there is credit."""
        stack = self._stack
        try:
            if self._get_state is None or self._leaving:
                stack.refuse(requester)
                return
            await stack.consumed()
            async with asyncio.timeout(stack.application_timeout):
                state = self._get_state()
                if inspect.isawaitable(state):
                    state = await state
                pieces = _cut(state, stack.max_chunk)
                held = await anext(pieces, b"")
            while True:
                async with asyncio.timeout(stack.application_timeout):
                    following = await anext(pieces, None)
                while not stack.room(requester):
                    await stack.settled()
                await stack.consumed()
                stack.give(requester, held, following is None)
                if following is None:
                    return
                held = following
        except (Exception, asyncio.CancelledError) as problem:  # whatever the application raises
            if self._readers.get(requester) is not asyncio.current_task():
                raise  # cancelled because the transfer is over
            _log.warning("get_state failed, so another member is asked: %r", problem)
            stack.refuse(requester)
        finally:
            if self._readers.get(requester) is asyncio.current_task():
                del self._readers[requester]

    # ------------------------------------------------------------------ the requester

    def _begin(self) -> None:
        """Drop what came from earlier providers: another one is asked."""
        if self._chunks is not None:
            self._chunks.interrupt()
        self._chunks = _Chunks(self._stack)
        before, self._setter = self._setter, None
        self._setter = asyncio.create_task(self._receive(self._chunks, before))

    async def _receive(self, chunks: _Chunks, before: asyncio.Task[None] | None) -> None:
        """Have set_state read one provider's chunks, once an interrupted call is over."""
        if before is not None:
            await asyncio.gather(before, return_exceptions=True)
        try:
            if self._set_state is None:
                raise StateNotTransferred("this member was connected without set_state")
            await self._settled()
            await self._set(self._set_state, chunks)
            async for _ in chunks:  # chunks that it did not read still have to arrive
                pass
        except (Exception, asyncio.CancelledError) as problem:  # whatever the application raises
            if self._setter is not asyncio.current_task() and not chunks.interrupted:
                raise  # cancelled by `close`
            if not chunks.interrupted:
                self._chunks = None
                self._stack.finish(False)
                told = isinstance(problem, StateNotTransferred)
                self._over(str(problem) if told else f"set_state failed: {problem!r}")
            return
        if not chunks.interrupted:
            self._chunks = None
            self._stack.finish(True)
            self._over("")

    async def _set(self, set_state: SetStateCall, chunks: _Chunks) -> None:
        """Have set_state read the chunks; it is cancelled if it hangs."""
        patience = self._stack.application_timeout
        setting = set_state(chunks)
        if not inspect.isawaitable(setting):
            raise StateNotTransferred(
                f"set_state is no coroutine function: it has returned {shown_value(setting)}, and "
                f"cannot have read the chunks; write async def"
            )
        task = asyncio.ensure_future(setting)
        try:
            while True:
                taken = chunks.taken
                await asyncio.wait([task], timeout=patience)
                if task.done():
                    await task
                    return
                if chunks.here and chunks.taken == taken:
                    raise StateNotTransferred(
                        f"set_state neither took what was here nor returned for {patience:g} s "
                        f"(application_timeout)"
                    )
        finally:
            task.cancel()

    async def _settled(self) -> None:
        """Wait for the application, with a time limit: the whole group waits for this member."""
        patience = self._stack.patience
        try:
            async with asyncio.timeout(patience):
                await self._stack.superseded(self._asker)
        except TimeoutError:
            raise StateNotTransferred(
                f"the application was not done with its last message after {patience:g} s"
            ) from None


class _Chunks(AsyncIterator[bytes]):
    """The chunks of one transfer, as set_state reads them."""

    def __init__(self, stack: StackSide) -> None:
        self._stack = stack
        self._here: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._whole = False
        self.taken = 0
        """How many chunks have been read."""
        self.interrupted = False

    @property
    def here(self) -> bool:
        """Whether the reader has something to read: a chunk, an interruption, or the end."""
        return bool(self._here) or self._whole or self.interrupted

    def put(self, payload: bytes, last: bool) -> None:
        """Add the next chunk."""
        self._here.append(payload)
        self._whole = last
        self._changed.set()

    def interrupt(self) -> None:
        """Interrupt the reader: no more chunks will come."""
        self.interrupted = True
        self._here.clear()
        self._changed.set()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._here:
            if self.interrupted:
                raise StateInterrupted("the provider of the state is gone; it comes from another")
            if self._whole:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        payload = self._here.popleft()
        self.taken += 1
        self._stack.take()
        return payload


async def _cut(state: State, size: int) -> AsyncIterator[bytes]:
    """Cut a state into pieces of `size` bytes; small pieces are joined, nothing is read ahead."""
    if isinstance(state, bytes | bytearray | memoryview):
        view = memoryview(state).cast("B")
        for start in range(0, len(view), size):
            yield bytes(view[start : start + size])
        return
    held = bytearray()
    async for piece in _each(state):
        view = memoryview(piece).cast("B")
        while len(held) + len(view) >= size:
            room = size - len(held)
            yield bytes(held) + bytes(view[:room])
            held.clear()
            view = view[room:]
        held += view
    if held:
        yield bytes(held)


async def _each(pieces: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(pieces, AsyncIterable):
        async for piece in pieces:
            yield piece
    else:
        for piece in pieces:
            yield piece
