"""The application's callbacks, for asyncio: block, unblock, get_state, set_state.

block() and unblock() are called one after the other, never at the same time, and never nested in
a call of the application. What goes wrong in them is logged and ends there: an application's error
must not stop the group. How long block() may take is the stack's business (`application_timeout`).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable

from raincheck.impl.flush.events import Block, Unblock
from raincheck.impl.messages import Address
from raincheck.impl.stack.reports import Report, Stopped
from raincheck.impl.stack.stack import Stack
from raincheck.impl.state_transfer.events import Begun, EndState, Failed, GetState, HandUp

from .connect import Callback, ChannelConfig
from .driver import Driver
from .events import Blocked, Unblocked
from .inbox import Inbox
from .state_callbacks import StateDesk

_log = logging.getLogger("raincheck")


class Callbacks:
    """Calls the application's functions when the stack asks for it."""

    def __init__(self, config: ChannelConfig, stack: Stack, driver: Driver, inbox: Inbox) -> None:
        self._config = config
        self._driver = driver
        self._stack = stack
        self._calls: asyncio.Queue[tuple[Callback | None, Callable[[], None]]] = asyncio.Queue()
        self._caller: asyncio.Task[None] | None = None
        self._inbox = inbox
        self._unblocking: object | None = None  # an unblock() that messages not yet taken precede
        self.desk = StateDesk(_Side(stack, driver, inbox), config.get_state, config.set_state)

    def reported(self, report: Report) -> None:
        """Handle a report that calls for the application."""
        if isinstance(report, Block | Stopped):
            self._inbox.tell(Blocked())
        if isinstance(report, Block):
            # An application that has not heard of the end of the last flush is still blocked.
            block = self._config.block if self._unblocking is None else None
            self._unblocking = None
            self._call(block, lambda: self._driver.run(self._stack.block_ok))
        elif isinstance(report, Unblock):
            if self._config.unblock is not None:
                self._unblock(self._config.unblock)
            else:
                self._inbox.tell(Unblocked())
        elif isinstance(report, GetState | EndState | Begun | HandUp | Failed):
            self.desk.reported(report)

    @property
    def calling(self) -> bool:
        """Whether the current task is that of block() or unblock()."""
        return self._caller is not None and self._caller is asyncio.current_task()

    def _unblock(self, unblock: Callback) -> None:
        """Call unblock() when the application has taken what was delivered before it."""
        mine = self._unblocking = object()

        def call() -> None:
            if self._unblocking is mine:
                self._unblocking = None
                self._call(unblock, lambda: None)

        self._inbox.tell(Unblocked(), call)

    async def close(self) -> None:
        """Cancel the running calls; start no more."""
        caller, self._caller = self._caller, None
        self._unblocking = None
        if caller is not None and caller is not asyncio.current_task():
            caller.cancel()
            await asyncio.gather(caller, return_exceptions=True)
        await self.desk.close()

    def _call(self, callback: Callback | None, then: Callable[[], None]) -> None:
        self._calls.put_nowait((callback, then))
        if self._caller is None:
            self._caller = asyncio.create_task(self._work())

    async def _work(self) -> None:
        while True:
            callback, then = await self._calls.get()
            try:
                result = callback() if callback is not None else None
                if inspect.isawaitable(result):
                    await result
            except (Exception, asyncio.CancelledError):  # whatever the application raises
                if self._caller is None:  # cancelled by `close`, and not by the application
                    raise
                _log.exception("block() or unblock() failed; the member goes on")
            then()


class _Side:
    """The stack as the state desk uses it."""

    def __init__(self, stack: Stack, driver: Driver, inbox: Inbox) -> None:
        self._state = stack.state
        self._driver = driver
        self._inbox = inbox
        self.max_chunk = stack.state.max_chunk
        self.patience = stack.config.state_timeout
        self.application_timeout = stack.config.application_timeout

    def room(self, requester: Address) -> bool:
        return self._state.room(requester)

    def give(self, requester: Address, payload: bytes, last: bool) -> None:
        self._driver.run(lambda now: self._state.give(requester, payload, last, now))

    def refuse(self, requester: Address) -> None:
        self._driver.run(lambda now: self._state.refuse(requester, now))

    def take(self) -> None:
        self._driver.run(self._state.take)

    def finish(self, ok: bool) -> None:
        self._driver.run(lambda now: self._state.finish(ok, now))

    async def settled(self) -> None:
        await self._driver.settled.wait()

    async def consumed(self) -> None:
        await self._inbox.consumed()

    async def superseded(self, waiting: asyncio.Task[object] | None) -> None:
        await self._inbox.supersede(waiting)
