"""The named locks of one member, for its tasks: which of them has which lock, and who waits.

All tasks that want to write under one name share one request in the ring's table, so they take the
lock in the order in which they have asked. While no other member waits for it they hand it to each
other, with a greater fence each time; otherwise the member gives it back, and asks again behind the
others. Those that read share another request, and hold it together; a task that comes later joins
them while nobody waits for the name, and otherwise waits for the next request.

A lock is handed to a task only while the view is settled here, as the ring's own lock is: so among
members that have a majority, and after a gap in time not before the ring has been heard.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from raincheck.impl.errors import LockMisused, NotMember, WaitTimeout
from raincheck.impl.locks.events import Fence, Mode
from raincheck.impl.messages import Address
from raincheck.impl.ring.fence import Leader, LockFence, LockKey
from raincheck.impl.ring.reports import LockGone, LockGranted, LockRefused, LockReport, LockTaken

from .lock_requests import Requests
from .owners import owner, owner_called

_log = logging.getLogger("raincheck")
OnLost = Callable[[LockFence], object]


@dataclass(slots=True, eq=False)
class Hold:
    """A task has a lock."""

    owner: object
    mode: Mode
    fence: LockFence
    on_lost: OnLost | None


@dataclass(slots=True, eq=False)
class _Waiter:
    owner: object
    on_lost: OnLost | None
    tries: bool
    since: float
    came: asyncio.Future[Hold | None]


@dataclass(slots=True, eq=False)
class _Wanted:
    """A lock that this member wants or has, to read or to write."""

    name: str
    mode: Mode
    request: int = 0
    """The member's request, 0 for none."""
    fence: Fence | None = None
    """That of the request, once it holds the lock."""
    tasks: int = 0
    """Tasks that have had the lock by this request."""
    holds: list[Hold] = field(default_factory=list)
    """Those of tasks; at most one of a lock to write."""
    waiters: deque[_Waiter] = field(default_factory=deque)


class NamedLocks:
    """Hands the named locks of a member to its tasks."""

    def __init__(self, requests: Requests) -> None:
        self.acquired = self.lost = 0
        """Locks that tasks have acquired, and lost."""
        self.waited = 0.0
        """Seconds that they have waited for those acquired, in total."""
        self._wanted: dict[tuple[str, Mode], _Wanted] = {}
        self._requests = requests
        self._ended: str | None = None

    # ------------------------------------------------------------------ for the locks

    async def acquire(
        self, name: str, mode: Mode, timeout: float | None, on_lost: OnLost | None
    ) -> Hold | None:
        """Wait for a lock; None if `timeout` is 0 or less and another request is in its way."""
        whose = owner()
        self._check(name, whose)
        tries = timeout is not None and timeout <= 0
        this = self._wanted.get((name, mode))
        if this is None:
            this = self._wanted[name, mode] = _Wanted(name, mode)
        joins = bool(this.holds) and self._may_join(this)
        if tries and (this.waiters or (this.holds and not joins)):
            return None
        now = self._requests.now
        came: asyncio.Future[Hold | None] = asyncio.get_running_loop().create_future()
        waiter = _Waiter(whose, on_lost, tries, now, came)
        this.waiters.append(waiter)
        try:
            if joins:
                self._serve(this)
            self._ask(this)
            async with asyncio.timeout(None if tries else timeout):
                return await came
        except BaseException as problem:
            whom = self._whom(this)
            self._stop_waiting(this, waiter)
            if isinstance(problem, TimeoutError) and timeout is not None:
                what = f"{self._requests.address}: waiting for lock {name!r}"
                raise WaitTimeout(what, timeout, whom) from None
            raise

    def release(self, hold: Hold) -> None:
        """End a lock that a task has; no effect for one that was lost."""
        self._requests.check_loop()
        this = self._wanted.get((hold.fence.name, hold.mode))
        if this is not None and hold in this.holds:
            this.holds.remove(hold)
            self._go_on(this)

    def holder(self, name: str) -> Address | None:
        """Return who holds a lock, the first if several read, as far as this member knows."""
        if any(self._wanted[key].holds for key in self._keys(name)):
            return self._requests.address
        return self._requests.book.holder(name)

    def waiting(self, name: str) -> tuple[Address, ...]:
        """Return who waits for a lock, in order, as far as this member knows."""
        return self._requests.book.queue(name)

    def leader(self, name: str) -> Leader | None:
        """Return who holds a lock to write, as far as this member knows."""
        mine = self._wanted.get((name, "write"))
        if mine is not None and mine.holds:
            return Leader(self._requests.address, mine.holds[0].fence.key)
        first = self._requests.book.leader(name)
        if first is None:
            return None
        member, ((n, by), place, turn) = first
        return Leader(member, LockKey(n, by, place, turn, 0))

    @property
    def ended(self) -> bool:
        """Whether this member leaves, or has stopped."""
        return self._ended is not None

    def taken(self, name: str) -> WaitTimeout:
        """Return the error for who has tried in vain, and cannot do without."""
        whom = [f"{holder} to release {name!r}"] if (holder := self.holder(name)) else []
        return WaitTimeout(f"{self._requests.address}: trying lock {name!r}", 0, whom)

    @property
    def held(self) -> int:
        """How many locks tasks of this member have."""
        return sum(len(this.holds) for this in self._wanted.values())

    @property
    def wanted(self) -> int:
        """How many tasks of this member wait for locks."""
        return sum(len(this.waiters) for this in self._wanted.values())

    # ------------------------------------------------------------------ for the ring

    def look(self) -> None:
        """Look whether the member has changed so that a lock can be handed on, or tried no more."""
        for this in list(self._wanted.values()):
            if this.fence is not None:
                if not this.holds:
                    self._serve(this)
            elif self._requests.in_vain and any(w.tries for w in this.waiters):
                for waiter in [each for each in this.waiters if each.tries]:
                    this.waiters.remove(waiter)
                    _resolve(waiter, None)
                self._go_on(this)

    def end(self, why: str) -> None:
        """Give everything up: the member leaves, or has stopped."""
        if self._ended is not None:
            return
        self._ended = why
        names = list(self._wanted.values())
        self._wanted.clear()
        for this in names:
            self._lose(this, why)
            for waiter in this.waiters:
                if not waiter.came.done():
                    waiter.came.set_exception(NotMember(why))

    # ------------------------------------------------------------------ inside

    def _told(self, this: _Wanted, report: LockReport) -> None:
        """Take what the ring says of a request."""
        match report:
            case LockGranted():
                this.fence = report.fence
                this.tasks = 0
                self._serve(this)
            case LockTaken():
                this.request, this.fence = 0, None
                if this.waiters and this.waiters[0].tries:
                    _resolve(this.waiters.popleft(), None)
                self._go_on(this)
            case LockRefused():
                this.request = 0
                self._fail(this, report.problem)
            case LockGone():
                this.request, this.fence = 0, None
                self._lose(this, self._requests.lost_because)
                self._go_on(this)

    def _check(self, name: str, whose: object) -> None:
        """Raise for one that could only wait for itself, and for a member that has left."""
        self._requests.check_loop()
        if self._ended is not None:
            raise NotMember(self._ended)
        mine = (hold for key in self._keys(name) for hold in self._wanted[key].holds)
        if any(hold.owner is whose for hold in mine):
            what = owner_called()
            raise LockMisused(
                f"this {what} has lock {name!r} already, and would wait for itself; release it "
                f"first, or let another {what} ask for it"
            )
        if self._requests.keeps_token():
            raise LockMisused(
                f"this task keeps the ring's token, and lock {name!r} needs the token to go on; "
                f"ask for the lock before the token"
            )

    def _ask(self, this: _Wanted) -> None:
        """Ask the ring for a lock that somebody waits for, unless that has been done."""
        if this.request or not this.waiters:
            return
        tries = this.waiters[0].tries
        told = partial(self._told, this)
        this.request = self._requests.want(this.name, this.mode, told, tries=tries)

    def _serve(self, this: _Wanted) -> None:
        """Hand a lock that the member has to the first task that waits; to all, if they read."""
        if this.fence is None or not self._requests.settled:
            return
        epoch, place, turn = this.fence
        while this.waiters and not (this.holds and this.mode == "write"):
            waiter = this.waiters.popleft()
            if waiter.came.done():  # it is cancelled
                continue
            key = LockKey(epoch.n, epoch.by, place, turn, this.tasks)
            fence = LockFence(this.name, key, self._requests.identity)
            this.tasks += 1
            hold = Hold(waiter.owner, this.mode, fence, waiter.on_lost)
            this.holds.append(hold)
            self.acquired += 1
            took = self._requests.now - waiter.since
            self.waited += took
            _log.debug("%s has %s after %.3f s", self._requests.address, fence, took)
            waiter.came.set_result(hold)
        if not this.holds:
            self._go_on(this)

    def _may_join(self, this: _Wanted) -> bool:
        """Tell whether one more task may have what others of this member hold: nobody waits."""
        if this.mode == "write" or this.fence is None or not self._requests.settled:
            return False
        wanted = self._wanted.get((this.name, "write"))
        return self._requests.alone(this.name) and not (wanted and wanted.waiters)

    def _keys(self, name: str) -> list[tuple[str, Mode]]:
        """Return what this member wants or has of a name."""
        modes: tuple[Mode, ...] = ("write", "read")
        return [(name, mode) for mode in modes if (name, mode) in self._wanted]

    def _go_on(self, this: _Wanted) -> None:
        """Hand a lock on, or give it back; ask for it as long as somebody waits."""
        if this.holds or self._ended is not None:
            return
        if this.fence is not None:
            alone = self._requests.alone(this.name)
            if this.waiters and alone and self._requests.settled:
                self._serve(this)
                return
            self._drop(this)
        if not this.waiters:
            self._drop(this)
            self._wanted.pop((this.name, this.mode), None)
            return
        try:
            self._ask(this)
        except Exception as problem:  # noqa: BLE001 (it is for those who wait)
            self._fail(this, problem)

    def _fail(self, this: _Wanted, problem: Exception) -> None:
        """Let those who wait know that they wait in vain."""
        while this.waiters:
            waiter = this.waiters.popleft()
            if not waiter.came.done():
                waiter.came.set_exception(problem)
        self._wanted.pop((this.name, this.mode), None)

    def _drop(self, this: _Wanted) -> None:
        """Take the member's request back."""
        request, this.request, this.fence = this.request, 0, None
        self._requests.drop(request)

    def _stop_waiting(self, this: _Wanted, waiter: _Waiter) -> None:
        """End a wait in vain, and leave no trace of it."""
        came = waiter.came
        if came.done() and not came.cancelled() and came.exception() is None:
            if (hold := came.result()) is not None:
                self.release(hold)  # it came at the same moment
        elif waiter in this.waiters:
            this.waiters.remove(waiter)
            if not this.waiters:
                self._go_on(this)

    def _lose(self, this: _Wanted, why: str) -> None:
        holds, this.holds = this.holds, []
        for hold in holds:
            self.lost += 1
            hold.fence.why = why
            hold.fence.lost.set()
            _log.warning("%s has lost %s: %s", self._requests.address, hold.fence, why)
            if hold.on_lost is not None:
                try:
                    hold.on_lost(hold.fence)
                except (KeyboardInterrupt, SystemExit) as end:
                    # When all others have been told too.
                    asyncio.get_running_loop().call_soon(_raise, end)
                except BaseException:  # noqa: BLE001 (the application's defect ends no member)
                    _log.exception("on_lost of lock %r failed; the member goes on", this.name)

    def _whom(self, this: _Wanted) -> list[str]:
        """Return who is in the way of those who wait."""
        name, me = this.name, self._requests.address
        if any(self._wanted[key].holds for key in self._keys(name)):
            return [f"{me} to release {name!r}, which another of its tasks has"]
        holder = self._requests.book.holder(name)
        if holder is None or holder == me:
            return self._requests.missing()
        before = [each for each in self._requests.book.queue(name) if each != me]
        return [f"{holder} to release {name!r}", *[f"{each} to take it first" for each in before]]


def _raise(problem: BaseException) -> None:
    raise problem


def _resolve(waiter: _Waiter, hold: Hold | None) -> None:
    if not waiter.came.done():
        waiter.came.set_result(hold)
