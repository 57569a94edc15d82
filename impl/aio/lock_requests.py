"""Requests for named locks, and who hears what becomes of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

from raincheck.impl.locks.events import Fence, Mode, Table
from raincheck.impl.messages import Address
from raincheck.impl.ring.fence import LEFT_BEHIND
from raincheck.impl.ring.reports import LockGranted, LockReport

from .ring_driver import RingDriver
from .shell import Shell

Told = Callable[[LockReport], None]


class Source(Protocol):
    """A member's node, or a client, as requests are made to it."""

    def want_lock(self, name: str, mode: Mode, now: float, *, tries: bool = False) -> int: ...

    def drop_lock(self, request: int, now: float) -> None: ...


class Book(Protocol):
    """What is known of who holds and who waits."""

    def holder(self, name: str) -> Address | None: ...

    def leader(self, name: str) -> tuple[Address, Fence] | None: ...

    def queue(self, name: str) -> tuple[Address, ...]: ...


class Requests(ABC):
    """What stands between those that use named locks and the ring: a member's, or a client's."""

    lost_because = LEFT_BEHIND
    """Why a lock is lost that is gone."""

    def __init__(self, driver: Shell[Any], source: Source, book: Book) -> None:
        self.address = driver.address
        """Whose requests they are."""
        self.book = book
        self._driver = driver
        self._source = source
        self._told: dict[int, Told] = {}

    def want(self, name: str, mode: Mode, told: Told, *, tries: bool = False) -> int:
        """Ask for a lock with the next token, and return the request's number.

        `told` hears that it is granted, that it is gone, or, if it only `tries`, that the lock is
        taken; the last two end it. Raises LocksFull, or NotMember once the member leaves.
        """
        number = self._source.want_lock(name, mode, self.now, tries=tries)
        self._told[number] = told
        self._driver.run_soon()
        return number

    def drop(self, number: int) -> None:
        """Give a lock back, or wait for it no longer; no effect for a request that has ended."""
        if self._told.pop(number, None) is not None:
            self._source.drop_lock(number, self.now)
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

    def check_loop(self) -> None:
        """Raise Misused on another event loop than the member's."""
        self._driver.check_loop()

    def missing(self) -> list[str]:
        """Return whom one waits for, and for what."""
        return self._driver.missing()

    @property
    @abstractmethod
    def identity(self) -> str:
        """The ring's identity."""

    @property
    @abstractmethod
    def settled(self) -> bool:
        """Whether locks may be handed on here at this moment."""

    @property
    @abstractmethod
    def in_vain(self) -> bool:
        """Whether a try is to end now, because the token does not come."""

    @abstractmethod
    def keeps_token(self) -> bool:
        """Whether the current task has the ring's token."""

    @abstractmethod
    def alone(self, name: str) -> bool:
        """Whether nobody else is known to wait for a name, so that it may be handed on here."""


class LockRequests(Requests):
    """The requests of one member."""

    def __init__(self, driver: RingDriver, keeps_token: Callable[[], bool]) -> None:
        self._node = driver.node
        super().__init__(driver, self._node, self._node.locks)
        self._keeps_token = keeps_token

    @property
    def identity(self) -> str:
        return self._node.config.identity

    @property
    def settled(self) -> bool:
        return self._node.view_state == "agreement" and not self._node.late(self.now)

    @property
    def in_vain(self) -> bool:
        return self._node.token_state == "starving" or self._node.status == "joining"

    def keeps_token(self) -> bool:
        return self._keeps_token()

    def alone(self, name: str) -> bool:
        return not self.book.queue(name)

    @property
    def table(self) -> Table:
        """Who holds and who waits, as this member knew when it had the token last."""
        return self._node.locks.table
