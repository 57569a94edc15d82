"""The right to act alone, and the number by which a late holder is told from the present one."""

from __future__ import annotations

import asyncio
from functools import total_ordering
from typing import Any, Generic, NamedTuple, TypeVar

from raincheck.impl.errors import RaincheckError
from raincheck.impl.messages import Address


class TokenLost(RaincheckError):
    """The token was lost while this member held the lock."""


class LockLost(RaincheckError):
    """A named lock was lost while a task of this member held it."""


class FenceKey(NamedTuple):
    """A fence as plain values that compare like fences, for example for a storage service.

    Greater means later: whoever guards a resource keeps the greatest key it has seen, and refuses
    what comes with a smaller one.
    """

    epoch: int
    by: Address
    """The member that began the epoch; of two with one number the greater address wins."""
    number: int
    turn: int
    """The number of the lock among those that one visit of the token serves."""


class LockKey(NamedTuple):
    """The fence of a named lock as plain values that compare like the fences of that name."""

    epoch: int
    by: Address
    """The member that began the epoch."""
    place: int
    """The place in the order of the epoch where the member got the lock."""
    turn: int
    """The request's place among those that wait or hold then."""
    task: int
    """The number of the lock among those of this member's tasks that had it one after the other."""


class Leader(NamedTuple):
    """Who holds a lock to write, and since when."""

    member: Address
    key: LockKey
    """That of the leader's fence, or of the first of its tasks that have held the lock one after
    the other; of an earlier epoch, if a new one has begun before the leader was told. What comes
    from a leader with a smaller one is late."""


K = TypeVar("K", bound=tuple[Any, ...])


@total_ordering
class _AnyFence(Generic[K]):
    """A key that compares within one identity of the ring, and whether what it stands for is lost.

    Its subclasses say what is lost.
    """

    __slots__ = ("identity", "key", "lost")

    def __init__(self, key: K, identity: str = "") -> None:
        self.key = key
        self.identity = identity
        """The ring's identity. Of a ring that was founded anew fences begin anew: a resource that
        compares keys must obey one identity, and be told by an operator when it is another."""
        self.lost = asyncio.Event()
        """Set when the lock is lost while it is held."""

    @property
    def _scope(self) -> tuple[str, ...]:
        """What fences have in common that say something about each other."""
        return (self.identity,)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self._scope, self.key) == (other._scope, other.key)

    def __lt__(self, other: _AnyFence[K]) -> bool:
        if type(other) is not type(self) or self._scope != other._scope:
            return NotImplemented
        return self.key < other.key

    def __hash__(self) -> int:
        return hash((self._scope, self.key))


class Fence(_AnyFence[FenceKey]):
    """The fence that `async with ring.token() as fence` gives."""

    __slots__ = ()

    @property
    def epoch(self) -> tuple[int, Address]:
        """The token's epoch: it grows whenever a lost token is regenerated."""
        return self.key.epoch, self.key.by

    @property
    def number(self) -> int:
        """The number of the token within its epoch."""
        return self.key.number

    def check(self) -> None:
        """Raise TokenLost if the token is known to be lost; call it before each exclusive act.

        A partition can hide the loss: what must never be done twice has to compare fences.
        """
        if self.lost.is_set():
            raise TokenLost(
                f"the token of {self} was lost while the lock was held: the ring has gone on "
                f"without this member; what was done under it may be done by another, too"
            )

    def __repr__(self) -> str:
        epoch, by, number, turn = self.key
        return f"<fence {epoch}/{by} {number}+{turn}{' lost' if self.lost.is_set() else ''}>"


LEFT_BEHIND = "the ring has gone on without this member"
"""Why a member loses a lock that it has not given up itself."""


class LockFence(_AnyFence[LockKey]):
    """The fence that `async with ring.lock(name) as fence` gives.

    It is greater than all before it of that name, unless its holder is late: then somebody has had
    a greater one. Fences of two names cannot be compared.
    """

    __slots__ = ("name", "why")

    def __init__(self, name: str, key: LockKey, identity: str = "") -> None:
        super().__init__(key, identity)
        self.name = name
        self.why = LEFT_BEHIND
        """Why the lock was lost, if it was."""

    @property
    def _scope(self) -> tuple[str, ...]:
        return self.identity, self.name

    def check(self) -> None:
        """Raise LockLost if the lock is known to be lost; call it before each exclusive act.

        A partition can hide the loss: what must never be done twice has to compare fences.
        """
        if self.lost.is_set():
            raise LockLost(
                f"lock {self.name!r} ({self}) was lost while it was held: {self.why}; "
                f"what was done under it may be done by another, too"
            )

    def __repr__(self) -> str:
        epoch, by, place, turn, task = self.key
        lost = " lost" if self.lost.is_set() else ""
        return f"<fence of {self.name!r} {epoch}/{by} {place}+{turn}+{task}{lost}>"
