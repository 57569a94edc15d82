"""A ring's locks, elections and barriers as threads use them."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from raincheck.impl.aio.barrier import Barrier
from raincheck.impl.aio.election import Election
from raincheck.impl.aio.named_lock import NamedLock
from raincheck.impl.errors import RaincheckError
from raincheck.impl.messages import Address
from raincheck.impl.ring.fence import Leader, LockFence

from .thread import LoopThread

T = TypeVar("T")
_NO_ERROR = (None, None, None)


class SyncLock:
    """One of many locks of a ring; made by `SyncRing.lock` and `SyncRing.read_lock`.

    As a `threading.Lock` it may be used by several threads, and again and again. Threads are what
    tasks are to `NamedLock`: each has the lock for itself.
    """

    def __init__(self, thread: LoopThread, lock: NamedLock) -> None:
        """Use `SyncRing.lock` instead."""
        self.name = lock.name
        self._thread = thread
        self._lock = lock

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait for the lock, and return True; see `NamedLock.acquire`.

        With a `timeout` of 0 seconds it returns False if another request is in the way; after a
        longer one WaitTimeout is raised. A thread that is interrupted does not have the lock.
        """

        async def undo(acquired: bool) -> None:
            if acquired:
                self._lock.release()

        return self._thread.call(self._lock.acquire(timeout), undo)

    def release(self) -> None:
        """Give the lock back; raises as `NamedLock.release` does: LockLost if it was lost."""
        self._now(self._lock.release)

    def locked(self) -> bool:
        """Whether somebody holds the lock, as far as this member knows."""
        return self._now(self._lock.locked)

    @property
    def holder(self) -> Address | None:
        """Who holds the lock, as far as this member knows; see `NamedLock.holder`."""
        return self._now(lambda: self._lock.holder)

    @property
    def waiting(self) -> tuple[Address, ...]:
        """Who waits for the lock, in order, as far as this member knows."""
        return self._now(lambda: self._lock.waiting)

    @property
    def fence(self) -> LockFence | None:
        """The fence of the lock that this thread has, or another one that uses this object."""
        return self._now(lambda: self._lock.fence)

    def __enter__(self) -> LockFence:
        """Wait for the lock; raises WaitTimeout when it takes longer than that of `SyncRing.lock`.

        `fence.check()` may be called in any thread; `fence.lost.wait()` is for the loop's own.
        """
        return self._thread.call(
            self._lock.__aenter__(), lambda _: self._lock.__aexit__(*_NO_ERROR)
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Give the lock back; raises LockLost if it was lost, unless the body has raised."""
        self._thread.call(self._lock.__aexit__(kind, error, at))

    def _now(self, function: Callable[[], T]) -> T:
        return self._thread.call(_of(function))

    def __repr__(self) -> str:
        try:
            return self._now(lambda: repr(self._lock))
        except RaincheckError:  # closed, or shown by on_lost
            return f"<lock {self.name!r}>"


class SyncElection:
    """One of several members, or threads, leads; made by `SyncRing.election`. See `Election`.

    No thread can be cancelled: where the lead is lost, `on_lost` says so, and `fence.check()`.
    """

    def __init__(self, thread: LoopThread, election: Election) -> None:
        """Use `SyncRing.election` instead."""
        self.name = election.name
        self._thread = thread
        self._election = election

    @property
    def leader(self) -> Leader | None:
        """Who leads, as far as this member knows; None for nobody it knows."""
        return self._thread.call(_of(lambda: self._election.leader))

    @property
    def contenders(self) -> tuple[Address, ...]:
        """Who leads, and behind it who waits to, in order, as far as this member knows."""
        return self._thread.call(_of(lambda: self._election.contenders))

    def __enter__(self) -> LockFence:
        """Wait until this thread leads, and return its fence."""
        election = self._election
        return self._thread.call(election.__aenter__(), lambda _: election.__aexit__(*_NO_ERROR))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Resign; raises LockLost if the lead was lost, unless the body has raised."""
        self._thread.call(self._election.__aexit__(kind, error, at))


class SyncBarrier:
    """Members and threads wait for each other; made by `SyncRing.barrier`. See `Barrier`."""

    def __init__(self, thread: LoopThread, barrier: Barrier) -> None:
        """Use `SyncRing.barrier` instead."""
        self.name = barrier.name
        self.parties = barrier.parties
        self._thread = thread
        self._barrier = barrier

    def wait(self, timeout: float | None = None) -> None:
        """Wait until all parties are there; raises as `Barrier.wait` does."""
        self._thread.call(self._barrier.wait(timeout))

    @property
    def n_waiting(self) -> int:
        """How many wait, as far as this member knows."""
        return self._thread.call(_of(lambda: self._barrier.n_waiting))


async def _of(function: Callable[[], T]) -> T:
    return function()
