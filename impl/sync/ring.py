"""A ring for applications without asyncio: a member or a client in a thread of its own.

    members = ["a@10.0.0.5:7001", "b@10.0.0.6:7001", "c@10.0.0.7:7001"]
    with SyncRing.connect("locks", name="a", members=members) as ring:
        with ring.lock("orders", timeout=5.0) as fence:
            store.write(record, fence.key)

All calls may be made by any thread. Each waits for its own result, and raises its own error; no
thread waits for another one's call. `on_lost` runs in the ring's thread, and must not block.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack, overload
from weakref import finalize

from raincheck.impl.aio.connecting import Connecting
from raincheck.impl.aio.named_locks import OnLost
from raincheck.impl.aio.ring import Ring
from raincheck.impl.aio.ring_client import RingClient
from raincheck.impl.aio.ring_connect import RingKeywords
from raincheck.impl.arguments import FUNCTION, TIMEOUT, check_call
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.sealing.keys import KeySource

from .locks import SyncBarrier, SyncElection, SyncLock
from .thread import LoopThread

T = TypeVar("T")
U = TypeVar("U", Ring, RingClient)


class _SyncLocks(Generic[U]):
    """What a member and a client have in common."""

    def __init__(self, thread: LoopThread, user: U) -> None:
        self._thread = thread
        self._user: U = user
        self._forgotten: finalize[Any, Any] = finalize(self, thread.stop, user._close)

    def lock(
        self, name: str, *, timeout: float | None = None, on_lost: OnLost | None = None
    ) -> SyncLock:
        """Return one of the ring's many locks: inside `with` this thread has it alone."""
        return SyncLock(self._thread, self._user.lock(name, timeout=timeout, on_lost=on_lost))

    def read_lock(
        self, name: str, *, timeout: float | None = None, on_lost: OnLost | None = None
    ) -> SyncLock:
        """Return the lock of that name for readers, who have it together."""
        return SyncLock(self._thread, self._user.read_lock(name, timeout=timeout, on_lost=on_lost))

    def election(
        self, name: str, *, timeout: float | None = None, on_lost: OnLost | None = None
    ) -> SyncElection:
        """Return the election of that name: inside `with` this member's thread leads."""
        election = self._user.election(name, timeout=timeout, on_lost=on_lost)
        return SyncElection(self._thread, election)

    @overload
    def run(self, function: Callable[[U], Awaitable[T]]) -> T: ...

    @overload
    def run(self, function: Callable[[U], T]) -> T: ...

    def run(self, function: Callable[[U], Any]) -> Any:
        """Call `function(it)` on its loop, and await the result if it is there to be awaited: for
        all that a `Ring` or `RingClient` has beside locks.

        ring.run(lambda ring: ring.multicast(b"hello"))
        ring.run(lambda ring: ring.metrics())
        """
        check_call("function", function, FUNCTION)

        async def called() -> Any:
            result = function(self._user)
            return await result if isawaitable(result) else result

        return self._thread.call(called())

    def _end(self, how: Callable[[U], Awaitable[None]]) -> None:
        """End it in this way, and the thread; no effect if that has been done."""
        if self._forgotten.alive:
            try:
                self.run(how)
            finally:
                self._forgotten()

    def __enter__(self) -> Self:
        """Return it; raise NotMember if it is closed."""
        self.run(lambda user: user.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close it; a member without a state file leaves."""
        self._end(lambda user: user.__aexit__(kind, error, at))


class SyncRing(_SyncLocks[Ring]):
    """One member of a ring. Made by `SyncRing.connect`, ended by `close` or `leave`.

    One that is forgotten, or not closed when the interpreter ends, ends as if it had crashed.
    """

    @staticmethod
    def connect(ring: str, **settings: Unpack[RingKeywords]) -> SyncRing:
        """Found the ring, come back to it, or join it: see `Ring.connect` for all of it."""
        return SyncRing(*_connected(f"ring {ring!r}", Ring.connect(ring, **settings)))

    def barrier(self, name: str, parties: int) -> SyncBarrier:
        """Return the barrier of that name, of so many parties."""
        return SyncBarrier(self._thread, self._user.barrier(name, parties))

    @property
    def address(self) -> Address:
        """This member's address."""
        return self._user.address

    @property
    def members(self) -> tuple[Address, ...]:
        """The view committed last."""
        return self._user.members

    def leave(self, timeout: float | None = None) -> None:
        """Give the place up, and end the thread; see `Ring.leave`."""
        check_call("timeout", timeout, TIMEOUT)
        self._end(lambda ring: ring.leave(timeout))

    def close(self, timeout: float | None = None) -> None:
        """Stop, keep the place, and end the thread; see `Ring.close`. Locks that are held are lost.

        No effect if it is closed already.
        """
        check_call("timeout", timeout, TIMEOUT)
        self._end(lambda ring: ring.close(timeout))


class SyncClient(_SyncLocks[RingClient]):
    """A client of a ring; made by `SyncClient.connect`, ended by `close`. See `RingClient`."""

    @staticmethod
    def connect(
        ring: str,
        *,
        members: Sequence[str],
        bind: str | Endpoint | None = None,
        key: KeySource = None,
        encrypt: bool = True,
        timeout: float = 30.0,
    ) -> SyncClient:
        """Find a member that serves this client; see `RingClient.connect`."""
        connecting = RingClient.connect(
            ring, members=members, bind=bind, key=key, encrypt=encrypt, timeout=timeout
        )
        return SyncClient(*_connected(f"client of ring {ring!r}", connecting))

    @property
    def serving(self) -> Address | None:
        """The member that serves this client; None while it looks for one."""
        return self._user.serving

    def close(self) -> None:
        """Give everything back, and end the thread. Again, it has no effect."""
        self._end(lambda client: client.close())


def _connected(name: str, connecting: Connecting[U]) -> tuple[LoopThread, U]:
    """Open a connection on a thread of its own."""

    async def connected() -> U:
        return await connecting

    thread = LoopThread(name)
    try:
        return thread, thread.call(connected())
    except BaseException:
        thread.stop()
        raise
