"""The sessions of clients at a member, and what of the member they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from raincheck.impl.locks.events import Fence, Mode
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.ring.reports import LockReport

from .wire import Ending, Wanted


class Book(Protocol):
    """What the member knows of who holds and who waits."""

    def leader(self, name: str) -> tuple[Address, Fence] | None: ...

    def queue(self, name: str) -> tuple[Address, ...]: ...


class Requests(Protocol):
    """The member's requests for locks, as the desk uses them."""

    def want(
        self, name: str, mode: Mode, told: Callable[[LockReport], None], *, tries: bool
    ) -> int: ...

    def drop(self, number: int) -> None: ...

    @property
    def settled(self) -> bool: ...

    @property
    def in_vain(self) -> bool: ...

    @property
    def book(self) -> Book: ...


@dataclass(slots=True, eq=False)
class Request:
    wanted: Wanted
    number: int = 0
    """The member's own, 0 once it has ended."""
    fence: Fence | None = None
    told: bool = False
    """Whether the client may know that it holds the lock: the view was settled since it does."""
    over: Ending | None = None


@dataclass(slots=True, eq=False)
class Session:
    number: int
    endpoint: Endpoint
    asked: int = 0
    """The number of the newest ASK."""
    heard_at: float = 0.0
    heard: int = 0
    """The last version that the client says it has been told."""
    version: int = 0
    again: float = float("inf")
    highest: int = 0
    ended: bool = False
    requests: dict[int, Request] = field(default_factory=dict)
