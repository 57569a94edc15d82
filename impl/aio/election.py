"""Leader election: who holds the named lock of the election leads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from inspect import isawaitable
from types import TracebackType
from typing import TypeVar

from raincheck.impl.arguments import FUNCTION, check_call, shown_value
from raincheck.impl.errors import ArgumentError
from raincheck.impl.messages import Address
from raincheck.impl.ring.fence import Leader, LockFence, LockLost

from .named_lock import NamedLock
from .named_locks import NamedLocks, OnLost
from .owners import owner, who_ends
from .waiting import Signal

T = TypeVar("T")


class Election:
    """One of several members, or tasks, leads; made by `Ring.election`.

    async with ring.election("reports") as fence:     # waits until this task leads
        ...

    The election is the ring's lock of that name, and promises what the lock does: of members that
    nobody suspects one leads at a time, and each leader has a greater fence than all before it. A
    leader that is cut off cannot know that another one leads: only a resource that compares fences
    is safe from it.
    """

    def __init__(
        self,
        locks: NamedLocks,
        settled: Signal,
        name: str,
        timeout: float | None,
        on_lost: OnLost | None,
    ) -> None:
        """Use `Ring.election` instead."""
        self.name = name
        self._locks = locks
        self._settled = settled
        self._timeout = timeout
        self._on_lost = on_lost
        self._terms: dict[object, _Term] = {}

    async def run(self, lead: Callable[[LockFence], Awaitable[T]]) -> T:
        """Lead, and again after each loss, until `lead(fence)` returns; return what it does.

        Where the lead is lost `lead` is cancelled, and this member waits to be elected again.
        Raises what `lead` raises, and what `async with` does on entering.
        """
        check_call("lead", lead, FUNCTION)
        while True:
            term = self._campaign()
            try:
                async with term as fence:
                    leads = lead(fence)
                    if not isawaitable(leads):
                        raise ArgumentError(
                            f"lead has returned {shown_value(leads)}, which cannot be awaited; "
                            f"give an async function"
                        )
                    return await leads
            except LockLost:
                if not term.lost:
                    raise  # of another lock

    @property
    def leader(self) -> Leader | None:
        """Who leads, as this member knew when it had the token last; None for nobody it knows."""
        return self._locks.leader(self.name)

    @property
    def contenders(self) -> tuple[Address, ...]:
        """Who leads, and behind it who waits to, in order, as far as this member knows."""
        holder = self._locks.holder(self.name)
        return (*([holder] if holder is not None else []), *self._locks.waiting(self.name))

    async def changes(self) -> AsyncIterator[Leader | None]:
        """Iterate over the leaders: the present one, then each new one, None while nobody leads.

        A slow reader misses those that are over. It ends when this member has left.
        """
        leader = self.leader
        yield leader
        while not self._locks.ended:
            await self._settled.wait()
            if leader != self.leader:
                leader = self.leader
                yield leader

    async def __aenter__(self) -> LockFence:
        """Wait until this task leads, and return its fence.

        Raises WaitTimeout after that of `Ring.election`, LockMisused if this task leads already,
        and whatever else `NamedLock.acquire` raises.
        """
        term = self._campaign()
        fence = await term.__aenter__()
        self._terms[owner()] = term
        return fence

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Resign. Where the lead was lost, the body has been cancelled, and LockLost is raised."""
        term = self._terms.pop(who_ends(self._terms, f"election {self.name!r}"))
        await term.__aexit__(kind, error, at)

    def _campaign(self) -> _Term:
        return _Term(self._locks, self.name, self._timeout, self._on_lost)

    def __repr__(self) -> str:
        leader = self.leader
        who = "nobody leads" if leader is None else f"{leader.member} leads"
        return f"<election {self.name!r}: {who}>"


class _Term:
    """One task's wait for the lead, and its lead: the task is cancelled where that is lost."""

    def __init__(
        self, locks: NamedLocks, name: str, timeout: float | None, on_lost: OnLost | None
    ) -> None:
        self.lost = False
        self._on_lost = on_lost
        self._lock = NamedLock(locks, name, "write", timeout, self._ends)
        self._leads = self._cancels = False
        self._task: asyncio.Task[object] | None = None
        self._before = 0

    async def __aenter__(self) -> LockFence:
        while True:
            fence = await self._lock.__aenter__()
            if not fence.lost.is_set():
                break
            with suppress(LockLost):  # it was lost before this task has heard of it
                self._lock.release()
        self.lost = False
        self._task = asyncio.current_task()
        self._before = self._task.cancelling() if self._task is not None else 0
        self._leads = True
        return fence

    def _ends(self, fence: LockFence) -> None:
        self.lost = True
        task = self._task
        if self._leads and task is not None and task is not asyncio.current_task():
            self._cancels = True
            task.cancel()
        if self._on_lost is not None:
            self._on_lost(fence)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._leads = False
        if self._cancels and self._task is not None:
            others = self._task.uncancel() > self._before
            if kind is asyncio.CancelledError and not others:
                kind = error = None  # as LockLost
        await self._lock.__aexit__(kind, error, at)
