"""A ring for applications without asyncio: a member that lives in a thread of its own.

    members = ["a@10.0.0.5:7001", "b@10.0.0.6:7001", "c@10.0.0.7:7001"]
    with SyncRing.connect("locks", name="a", members=members) as ring:
        with ring.lock("orders", timeout=5.0) as fence:
            store.write(record, fence.key)

All calls may be made by any thread. Each waits for its own result, and raises its own error; no
thread waits for another one's call. `on_lost` runs in the member's thread, and must not block.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TypeVar, Unpack
from weakref import finalize

from raincheck.impl.aio.named_locks import OnLost
from raincheck.impl.aio.ring import Ring
from raincheck.impl.aio.ring_connect import RingKeywords
from raincheck.impl.arguments import FUNCTION, check_call
from raincheck.impl.messages import Address

from .locks import SyncBarrier, SyncElection, SyncLock
from .thread import LoopThread

T = TypeVar("T")


class SyncRing:
    """One member of a ring. Made by `SyncRing.connect`, ended by `close` or `leave`.

    One that is forgotten, or not closed when the interpreter ends, ends as if it had crashed.
    """

    def __init__(self, thread: LoopThread, ring: Ring) -> None:
        """Use `SyncRing.connect` instead."""
        self._thread = thread
        self._ring = ring
        self._forgotten = finalize(self, thread.stop, ring._close)

    @staticmethod
    def connect(ring: str, **settings: Unpack[RingKeywords]) -> SyncRing:
        """Found the ring, come back to it, or join it: see `Ring.connect` for all of it."""
        connecting = Ring.connect(ring, **settings)

        async def connected() -> Ring:
            return await connecting

        thread = LoopThread(f"ring {ring!r}")
        try:
            return SyncRing(thread, thread.call(connected()))
        except BaseException:
            thread.stop()
            raise

    def lock(
        self, name: str, *, timeout: float | None = None, on_lost: OnLost | None = None
    ) -> SyncLock:
        """Return one of the ring's many locks: inside `with` this thread has it alone."""
        return SyncLock(self._thread, self._ring.lock(name, timeout=timeout, on_lost=on_lost))

    def read_lock(
        self, name: str, *, timeout: float | None = None, on_lost: OnLost | None = None
    ) -> SyncLock:
        """Return the lock of that name for readers, who have it together."""
        return SyncLock(self._thread, self._ring.read_lock(name, timeout=timeout, on_lost=on_lost))

    def election(
        self, name: str, *, timeout: float | None = None, on_lost: OnLost | None = None
    ) -> SyncElection:
        """Return the election of that name: inside `with` this member's thread leads."""
        election = self._ring.election(name, timeout=timeout, on_lost=on_lost)
        return SyncElection(self._thread, election)

    def barrier(self, name: str, parties: int) -> SyncBarrier:
        """Return the barrier of that name, of so many parties."""
        return SyncBarrier(self._thread, self._ring.barrier(name, parties))

    def run(self, function: Callable[[Ring], Awaitable[T]]) -> T:
        """Await `function(ring)` on the member's loop: for all that a `Ring` has beside locks.

        ring.run(lambda ring: ring.multicast(b"hello"))
        """
        check_call("function", function, FUNCTION)

        async def called() -> T:
            return await function(self._ring)

        return self._thread.call(called())

    @property
    def address(self) -> Address:
        """This member's address."""
        return self._ring.address

    @property
    def members(self) -> tuple[Address, ...]:
        """The view committed last."""
        return self._ring.members

    def leave(self, timeout: float | None = None) -> None:
        """Give the place up, and end the thread; see `Ring.leave`."""
        self._end(self._ring.leave, timeout)

    def close(self, timeout: float | None = None) -> None:
        """Stop, keep the place, and end the thread; see `Ring.close`. Locks that are held are lost.

        No effect if it is closed already.
        """
        self._end(self._ring.close, timeout)

    def _end(self, how: Callable[[float | None], Awaitable[None]], timeout: float | None) -> None:
        if self._forgotten.alive:
            self.run(lambda _: how(timeout))
            self._forgotten()

    def __enter__(self) -> SyncRing:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close a member that has a state file; one without leaves."""
        if self._forgotten.alive:
            try:
                self.run(lambda ring: ring.__aexit__(kind, error, at))
            finally:
                self._forgotten()
