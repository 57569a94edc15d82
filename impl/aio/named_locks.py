"""The named locks of one member, for its tasks: which of them has which lock, and who waits.

All tasks that want one name share one request in the ring's table, so they take the lock in the
order in which they have asked. While no other member waits for it they hand it to each other, with
a greater fence each time; otherwise the member gives it back, and asks again behind the others.

A lock is handed to a task only while the view is settled here, as the ring's own lock is: so among
members that have a majority, and after a gap in time not before the ring has been heard.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from raincheck.impl.errors import LockMisused, NotMember, WaitTimeout
from raincheck.impl.locks.events import Fence
from raincheck.impl.messages import Address
from raincheck.impl.ring.fence import LockFence, LockKey
from raincheck.impl.ring.reports import LockGone, LockGranted, LockReport, LockTaken

from .ring_driver import RingDriver

_log = logging.getLogger("raincheck")
OnLost = Callable[[LockFence], object]
Task = asyncio.Task[Any]


@dataclass(slots=True, eq=False)
class Hold:
    """A task has a lock."""

    task: Task | None
    fence: LockFence
    on_lost: OnLost | None


@dataclass(slots=True, eq=False)
class _Waiter:
    task: Task | None
    on_lost: OnLost | None
    tries: bool
    since: float
    came: asyncio.Future[Hold | None]


@dataclass(slots=True, eq=False)
class _Name:
    """A lock that this member wants or has."""

    name: str
    request: int = 0
    """The member's request, 0 for none."""
    fence: Fence | None = None
    """That of the request, once it holds the lock."""
    tasks: int = 0
    """Tasks that have had the lock by this request."""
    owner: Hold | None = None
    waiters: deque[_Waiter] = field(default_factory=deque)


class NamedLocks:
    """Hands the named locks of a member to its tasks."""

    def __init__(self, driver: RingDriver, identity: str, keeps_token: Callable[[], bool]) -> None:
        """`keeps_token`: whether the current task has the ring's token."""
        self.acquired = self.lost = 0
        """Locks that tasks have acquired, and lost."""
        self.waited = 0.0
        """Seconds that they have waited for those acquired, in total."""
        self._driver = driver
        self._node = driver.node
        self._identity = identity
        self._keeps_token = keeps_token
        self._names: dict[str, _Name] = {}
        self._requests: dict[int, _Name] = {}
        self._ended: str | None = None

    # ------------------------------------------------------------------ for the locks

    async def acquire(
        self, name: str, timeout: float | None, on_lost: OnLost | None
    ) -> Hold | None:
        """Wait for a lock; None if `timeout` is 0 or less and it is taken."""
        task = asyncio.current_task()
        self._check(name, task)
        tries = timeout is not None and timeout <= 0
        this = self._names.get(name)
        if this is None:
            this = self._names[name] = _Name(name)
        elif tries and (this.owner is not None or this.waiters):
            return None
        now = self._driver.now
        came: asyncio.Future[Hold | None] = asyncio.get_running_loop().create_future()
        waiter = _Waiter(task, on_lost, tries, now, came)
        this.waiters.append(waiter)
        try:
            self._ask(this)
            async with asyncio.timeout(None if tries else timeout):
                return await came
        except BaseException as problem:
            whom = self._whom(this)
            self._stop_waiting(this, waiter)
            if isinstance(problem, TimeoutError) and timeout is not None:
                what = f"{self._node.address}: waiting for lock {name!r}"
                raise WaitTimeout(what, timeout, whom) from None
            raise

    def release(self, hold: Hold) -> None:
        """End a lock that a task has; no effect for one that was lost."""
        this = self._names.get(hold.fence.name)
        if this is not None and this.owner is hold:
            this.owner = None
            self._go_on(this)

    def holder(self, name: str) -> Address | None:
        """Return who holds a lock, as far as this member knows."""
        this = self._names.get(name)
        if this is not None and this.owner is not None:
            return self._node.address
        return self._node.locks.holder(name)

    def waiting(self, name: str) -> tuple[Address, ...]:
        """Return who waits for a lock, in order, as far as this member knows."""
        return self._node.locks.queue(name)

    def taken(self, name: str) -> WaitTimeout:
        """Return the error for who has tried in vain, and cannot do without."""
        whom = [f"{holder} to release {name!r}"] if (holder := self.holder(name)) else []
        return WaitTimeout(f"{self._node.address}: trying lock {name!r}", 0, whom)

    @property
    def held(self) -> int:
        """How many locks tasks of this member have."""
        return sum(this.owner is not None for this in self._names.values())

    @property
    def wanted(self) -> int:
        """How many tasks of this member wait for locks."""
        return sum(len(this.waiters) for this in self._names.values())

    # ------------------------------------------------------------------ for the ring

    def reported(self, report: LockReport) -> None:
        """Take what the ring says of a request."""
        this = self._requests.get(report.request)
        if this is None:
            return  # it was dropped meanwhile
        match report:
            case LockGranted():
                this.fence = report.fence
                this.tasks = 0
                self._serve(this)
            case LockTaken():
                self._forget_request(this)
                if this.waiters and this.waiters[0].tries:
                    _resolve(this.waiters.popleft(), None)
                self._go_on(this)
            case LockGone():
                self._forget_request(this)
                self._lose(this, "the ring has gone on without this member")
                self._go_on(this)

    def look(self) -> None:
        """Look whether the member has changed so that a lock can be handed on, or tried no more."""
        for this in list(self._names.values()):
            if this.fence is not None:
                if this.owner is None:
                    self._serve(this)
            elif self._node.token_state == "starving" and any(w.tries for w in this.waiters):
                for waiter in [each for each in this.waiters if each.tries]:
                    this.waiters.remove(waiter)
                    _resolve(waiter, None)
                self._go_on(this)

    def end(self, why: str) -> None:
        """Give everything up: the member leaves, or has stopped."""
        if self._ended is not None:
            return
        self._ended = why
        names = list(self._names.values())
        self._names.clear()
        self._requests.clear()
        for this in names:
            self._lose(this, why)
            for waiter in this.waiters:
                if not waiter.came.done():
                    waiter.came.set_exception(NotMember(why))

    # ------------------------------------------------------------------ inside

    def _check(self, name: str, task: Task | None) -> None:
        """Raise for a task that could only wait for itself, and for a member that has left."""
        if self._ended is not None:
            raise NotMember(self._ended)
        this = self._names.get(name)
        if this is not None and this.owner is not None and this.owner.task is task:
            raise LockMisused(
                f"this task has lock {name!r} already, and would wait for itself; release it "
                f"first, or let another task ask for it"
            )
        if self._keeps_token():
            raise LockMisused(
                f"this task keeps the ring's token, and lock {name!r} needs the token to go on; "
                f"ask for the lock before the token"
            )

    def _ask(self, this: _Name) -> None:
        """Ask the ring for a lock that somebody waits for, unless that has been done."""
        if this.request or not this.waiters:
            return
        tries = this.waiters[0].tries
        this.request = self._node.want_lock(this.name, "write", self._driver.now, tries=tries)
        self._requests[this.request] = this
        self._driver.run_soon()

    def _serve(self, this: _Name) -> None:
        """Hand a lock that the member has to the first task that waits."""
        if this.fence is None or this.owner is not None or not self._settled():
            return
        while this.waiters:
            waiter = this.waiters.popleft()
            if waiter.came.done():  # it is cancelled
                continue
            epoch, place, turn = this.fence
            key = LockKey(epoch.n, epoch.by, place, turn, this.tasks)
            fence = LockFence(this.name, key, self._identity)
            this.tasks += 1
            this.owner = Hold(waiter.task, fence, waiter.on_lost)
            self.acquired += 1
            took = self._driver.now - waiter.since
            self.waited += took
            _log.debug("%s has %s after %.3f s", self._node.address, fence, took)
            waiter.came.set_result(this.owner)
            return
        self._go_on(this)

    def _settled(self) -> bool:
        """Whether locks may be handed to tasks at this moment."""
        node, now = self._node, self._driver.now
        return node.view_state == "agreement" and not node.late(now)

    def _go_on(self, this: _Name) -> None:
        """Hand a lock on, or give it back; ask for it as long as somebody waits."""
        if this.owner is not None or self._ended is not None:
            return
        if this.fence is not None:
            alone = not self._node.locks.queue(this.name)
            if this.waiters and alone and self._settled():
                self._serve(this)
                return
            self._drop(this)
        if not this.waiters:
            self._drop(this)
            self._names.pop(this.name, None)
            return
        try:
            self._ask(this)
        except Exception as problem:  # noqa: BLE001 (it is for those who wait)
            while this.waiters:
                waiter = this.waiters.popleft()
                if not waiter.came.done():
                    waiter.came.set_exception(problem)
            self._names.pop(this.name, None)

    def _drop(self, this: _Name) -> None:
        """Take the member's request back."""
        request = this.request
        if request:
            self._forget_request(this)
            self._node.drop_lock(request, self._driver.now)
            self._driver.run_soon()

    def _forget_request(self, this: _Name) -> None:
        self._requests.pop(this.request, None)
        this.request = 0
        this.fence = None

    def _stop_waiting(self, this: _Name, waiter: _Waiter) -> None:
        """End a wait in vain, and leave no trace of it."""
        came = waiter.came
        if came.done() and not came.cancelled() and came.exception() is None:
            if (hold := came.result()) is not None:
                self.release(hold)  # it came at the same moment
        elif waiter in this.waiters:
            this.waiters.remove(waiter)
            if not this.waiters:
                self._go_on(this)

    def _lose(self, this: _Name, why: str) -> None:
        hold, this.owner = this.owner, None
        if hold is None:
            return
        self.lost += 1
        hold.fence.lost.set()
        _log.warning("%s has lost %s: %s", self._node.address, hold.fence, why)
        if hold.on_lost is not None:
            try:
                hold.on_lost(hold.fence)
            except Exception:  # noqa: BLE001 (the application's defect ends no member)
                _log.exception("on_lost of lock %r failed; the member goes on", this.name)

    def _whom(self, this: _Name) -> list[str]:
        """Return who is in the way of those who wait."""
        name, me = this.name, self._node.address
        if this.owner is not None:
            return [f"{me} to release {name!r}, which another of its tasks has"]
        holder = self._node.locks.holder(name)
        if holder is None or holder == me:
            return self._driver.missing()
        before = [each for each in self._node.locks.queue(name) if each != me]
        return [f"{holder} to release {name!r}", *[f"{each} to take it first" for each in before]]


def _resolve(waiter: _Waiter, hold: Hold | None) -> None:
    if not waiter.came.done():
        waiter.came.set_result(hold)
