"""Calls, for asyncio: who waits for the replies, and what the application answers.

A request has its place between the messages, as views have: `on_call` is called when the
application has taken all that was delivered before it. So members that answer from a state which
their messages make answer a call of all from the same state. What `on_call` returns is the answer;
a coroutine is run in a task of its own, and the next messages do not wait for it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Coroutine, Sequence
from functools import partial
from typing import Any

from raincheck.impl.errors import NotInView, NotMember, WaitTimeout
from raincheck.impl.messages import Address
from raincheck.impl.stack.calls import Replies
from raincheck.impl.stack.reports import CallOver, Requested
from raincheck.impl.stack.stack import Stack

from .connect import OnCall
from .driver import Driver
from .events import Request
from .inbox import Inbox
from .payloads import Payload

_log = logging.getLogger("raincheck")

MOST = 1024
"""Calls that one member may be working on; it refuses more. As many answers may wait for room."""
UNANSWERED = "nobody answers calls there; connect with on_call=, or read events()"
BUSY = f"{MOST} calls are being worked on there already"
WAITS_FOR_ITSELF = (
    "the task that waits for the call is the one that takes the messages, and has others to take "
    "first; call from another task"
)


class Call:
    """A call of this member that is under way."""

    def __init__(self, desk: CallDesk, number: int, what: str) -> None:
        self._desk = desk
        self._number = number
        self._what = what
        self.task = asyncio.current_task()
        """The task that waits for it."""
        self.over: asyncio.Future[Replies] = asyncio.get_running_loop().create_future()

    async def wait(self, limit: float | None) -> None:
        """Wait until it is over; raises WaitTimeout after so many seconds."""
        await asyncio.wait([self.over], timeout=limit)
        if not self.over.done():
            assert limit is not None
            raise WaitTimeout(self._what, limit)

    def end(self) -> Replies:
        """Return what has come of it, and forget it; raises NotMember if the group is lost."""
        return self._desk.end(self._number)


class CallDesk:
    """The calls of one life of a member, its own and those that it answers."""

    def __init__(self, stack: Stack, driver: Driver, inbox: Inbox, on_call: OnCall | None) -> None:
        self._stack, self._driver, self._inbox = stack, driver, inbox
        self._on_call = on_call
        self._calls: dict[int, Call] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------------ calling

    def begin(self, payload: bytes, to: Sequence[Address] | None) -> Call:
        """Call some members, or all; there has to be room for the request."""
        number = self._stack.call(payload, to, self._driver.now)
        call = self._calls[number] = Call(self, number, f"{self._stack.address}: calling")
        self._driver.run_soon()
        return call

    def end(self, number: int) -> Replies:
        """End a call of this member."""
        over = self._calls.pop(number).over
        return over.result() if over.done() else self._stack.end_call(number)

    def lost(self, reason: str) -> None:
        """End all calls of this member, for it is out of the group."""
        for call in self._calls.values():
            if not call.over.done():
                call.over.set_exception(NotMember(reason))
                call.over.exception()  # who has stopped waiting does not ask for it

    def over(self, report: CallOver) -> None:
        """Note what has come of a call."""
        call = self._calls.get(report.number)
        if call is not None and not call.over.done():
            call.over.set_result(report.replies)

    # ------------------------------------------------------------------ being called

    def requested(self, report: Requested) -> None:
        """Give a call its place among the messages."""
        request = Request(report, partial(self._answer, report))
        mine = self._calls.get(report.number) if report.sender == self._stack.address else None
        if mine is not None and self._inbox.taken_by(mine.task) and self._inbox.behind:
            request.refuse(WAITS_FOR_ITSELF)
        else:
            self._inbox.tell(request, lambda: self._handle(request), len(report.payload))

    def _handle(self, request: Request) -> None:
        """Answer a call that the application has come to."""
        if self._on_call is None:
            if not self._inbox.by_events:
                request.refuse(UNANSWERED)
        elif len(self._tasks) >= MOST:
            request.refuse(BUSY)
        else:
            try:
                answer = self._on_call(request)
                if not inspect.isawaitable(answer):
                    _reply(request, answer)
                    return
            except (Exception, asyncio.CancelledError) as problem:  # noqa: BLE001 (whatever it is)
                _failed(request, problem)
                return
            self._spawn(self._await(request, answer))

    async def _await(self, request: Request, answer: Awaitable[Payload]) -> None:
        try:
            _reply(request, await answer)
        except (Exception, asyncio.CancelledError) as problem:  # whatever the application raises
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # by `close`, not by the application
                raise
            _failed(request, problem)

    def _answer(self, report: Requested, payload: bytes, failed: bool) -> None:
        """Send an answer, when there is room for it.

        A caller that takes no answers does not make this member keep more than so many.
        """
        self._stack.check_call(payload)
        try:
            if self._stack.room_to(report.sender) > 0:
                self._reply(report, payload, failed)
            elif len(self._tasks) < 2 * MOST:
                self._spawn(self._answer_later(report, payload, failed))
            else:
                self._stack.counters["reply_dropped"] += 1
        except NotInView:
            self._reply(report, payload, failed)  # is counted and dropped

    async def _answer_later(self, report: Requested, payload: bytes, failed: bool) -> None:
        try:
            while self._stack.room_to(report.sender) <= 0:
                await self._driver.settled.wait()
        except NotInView:
            pass
        self._reply(report, payload, failed)

    def _reply(self, report: Requested, payload: bytes, failed: bool) -> None:
        now = self._driver.now
        self._stack.reply(report, payload, now, failed=failed)
        self._driver.run_soon()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Cancel what is being worked on."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _reply(request: Request, answer: Payload) -> None:
    if not request.answered:
        request.reply(answer)


def _failed(request: Request, problem: BaseException) -> None:
    """Say that the application has failed to answer."""
    _log.error("on_call failed; its caller is told", exc_info=problem)
    if not request.answered:
        request.refuse(repr(problem))
