"""A named lock of a ring, as `ring.lock(name)` gives it."""

from __future__ import annotations

from types import TracebackType

from raincheck.impl.arguments import TIMEOUT, check_call
from raincheck.impl.errors import LockMisused
from raincheck.impl.locks.events import Mode
from raincheck.impl.messages import Address
from raincheck.impl.ring.fence import LockFence

from .named_locks import Hold, NamedLocks, OnLost
from .owners import owner, who_ends


class NamedLock:
    """One of many locks of a ring, which its members know by its name.

    As an `asyncio.Lock` it may be used by several tasks, and again and again. Unlike the ring's
    token it may be held for long: the ring goes on meanwhile.
    """

    def __init__(
        self,
        locks: NamedLocks,
        name: str,
        mode: Mode,
        timeout: float | None,
        on_lost: OnLost | None,
    ) -> None:
        """Use `Ring.lock` or `Ring.read_lock` instead."""
        self.name = name
        self.mode: Mode = mode
        self._locks = locks
        self._timeout = timeout
        self._on_lost = on_lost
        self._holds: dict[object, Hold] = {}
        self._entered: set[object] = set()
        """Who is in `async with`."""

    async def acquire(self, timeout: float | None = None) -> bool:
        """Wait for the lock, and return True.

        `timeout`: seconds; None takes that of `Ring.lock`. With 0 it waits for the token only, and
        returns False if another request for it is in the way then: to read, only one to write is.
        After a longer time WaitTimeout is raised, naming who holds it. Cancelled, it leaves no
        trace.

        Raises LockMisused if this task has the lock already, or keeps the token; LocksFull where
        the ring has no room for one more request; LockLost if this task has lost the lock and not
        released it; NotMember for a member that leaves.
        """
        check_call("timeout", timeout, TIMEOUT)
        own = self._holds.get(owner())
        if own is not None:
            own.fence.check()
        timeout = self._timeout if timeout is None else timeout
        hold = await self._locks.acquire(self.name, self.mode, timeout, self._on_lost)
        if hold is None:
            return False
        self._holds[hold.owner] = hold
        return True

    def release(self) -> None:
        """Give the lock back.

        Raises LockLost if it was lost meanwhile, and LockMisused if nobody has acquired it here.
        """
        hold = self._own()
        if hold is None:
            raise LockMisused(f"lock {self.name!r} is not acquired here; acquire it first")
        self._locks.release(hold)
        del self._holds[hold.owner]
        hold.fence.check()

    def locked(self) -> bool:
        """Whether somebody holds the lock, as far as this member knows."""
        return self.holder is not None

    @property
    def holder(self) -> Address | None:
        """Who holds the lock, the first if several read: as this member knew when it had the token
        last.
        """
        return self._locks.holder(self.name)

    @property
    def waiting(self) -> tuple[Address, ...]:
        """Who waits for the lock, in order: as this member knew when it had the token last."""
        return self._locks.waiting(self.name)

    @property
    def fence(self) -> LockFence | None:
        """The fence of the lock that this task has, or another one that uses this object."""
        hold = self._own()
        return None if hold is None else hold.fence

    async def __aenter__(self) -> LockFence:
        """Wait for the lock; raises WaitTimeout when it takes longer than that of `Ring.lock`."""
        if not await self.acquire():
            raise self._locks.taken(self.name)
        whose = owner()
        self._entered.add(whose)
        return self._holds[whose].fence

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Give the lock back; raises LockLost if it was lost, unless the body has raised."""
        whose = who_ends(self._entered, f"lock {self.name!r}")
        hold = self._holds.get(whose)
        if hold is not None:  # else the body has released it
            self._locks.release(hold)
            del self._holds[whose]
        self._entered.discard(whose)
        if hold is None:
            return
        if error is None:
            hold.fence.check()

    def _own(self) -> Hold | None:
        """Return what this task has, or else what another task has, if it is the only one."""
        own = self._holds.get(owner())
        if own is None and len(self._holds) == 1:
            (own,) = self._holds.values()
        return own

    def __repr__(self) -> str:
        holder = self.holder
        return f"<lock {self.name!r} {'free' if holder is None else f'held by {holder}'}>"
