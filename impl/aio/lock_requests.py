"""The requests of one member for named locks, and who in it hears what becomes of each."""

from __future__ import annotations

from collections.abc import Callable

from raincheck.impl.locks.events import Fence, Mode, Table
from raincheck.impl.messages import Address
from raincheck.impl.ring.reports import LockGranted, LockReport

from .ring_driver import RingDriver

Told = Callable[[LockReport], None]


class LockRequests:
    """What stands between a member's node and those that use its named locks."""

    def __init__(self, driver: RingDriver, keeps_token: Callable[[], bool]) -> None:
        """`keeps_token`: whether the current task has the ring's token."""
        self.address = driver.address
        self.keeps_token = keeps_token
        self._driver = driver
        self._node = driver.node
        self._told: dict[int, Told] = {}

    def want(self, name: str, mode: Mode, told: Told, *, tries: bool = False) -> int:
        """Ask for a lock with the next token, and return the request's number.

        `told` hears that it is granted, that it is gone, or, if it only `tries`, that the lock is
        taken; the last two end it. Raises LocksFull, or NotMember once the member leaves.
        """
        number = self._node.want_lock(name, mode, self.now, tries=tries)
        self._told[number] = told
        self._driver.run_soon()
        return number

    def drop(self, number: int) -> None:
        """Give a lock back, or wait for it no longer; no effect for a request that has ended."""
        if self._told.pop(number, None) is not None:
            self._node.drop_lock(number, self.now)
            self._driver.run_soon()

    def reported(self, report: LockReport) -> None:
        """Take what the ring says of a request; no effect if it was dropped meanwhile."""
        told = self._told.get(report.request)
        if told is not None:
            if not isinstance(report, LockGranted):
                del self._told[report.request]
            told(report)

    def end(self) -> None:
        """Forget all requests: the member leaves, or has stopped."""
        self._told.clear()

    @property
    def now(self) -> float:
        """The loop's time."""
        return self._driver.now

    @property
    def settled(self) -> bool:
        """Whether locks may be handed on here at this moment."""
        return self._node.view_state == "agreement" and not self._node.late(self.now)

    @property
    def in_vain(self) -> bool:
        """Whether a try is to end now, because the token does not come."""
        return self._node.token_state == "starving"

    @property
    def table(self) -> Table:
        """Who holds and who waits, as this member knew when it had the token last."""
        return self._node.locks.table

    def holder(self, name: str) -> Address | None:
        """Return who holds a name, the first if several read, as far as this member knows."""
        return self._node.locks.holder(name)

    def queue(self, name: str) -> tuple[Address, ...]:
        """Return who waits for a name, in order, as far as this member knows."""
        return self._node.locks.queue(name)

    def leader(self, name: str) -> tuple[Address, Fence] | None:
        """Return who holds a name to write, and the fence of its request, as far as is known."""
        first = next((line for line in self.table if line.name == name), None)
        if first is None or first.fence is None or first.mode == "read":
            return None
        return first.member, first.fence

    def missing(self) -> list[str]:
        """Return whom the member waits for, and for what."""
        return self._driver.missing()
