"""The right to act alone, and the number by which a late holder is told from the present one."""

from __future__ import annotations

import asyncio
from functools import total_ordering
from typing import NamedTuple

from raincheck.impl.errors import RaincheckError
from raincheck.impl.messages import Address


class TokenLost(RaincheckError):
    """The token was lost while this member held the lock."""


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


@total_ordering
class Fence:
    """The fence that `async with ring.token() as fence` gives."""

    __slots__ = ("identity", "key", "lost")

    def __init__(self, key: FenceKey, identity: str = "") -> None:
        self.key = key
        self.identity = identity
        """The ring's identity. Of a ring that was founded anew fences begin anew: a resource that
        compares keys must obey one identity, and be told by an operator when it is another."""
        self.lost = asyncio.Event()
        """Set when the token is lost while the lock is held."""

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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fence):
            return NotImplemented
        return (self.identity, self.key) == (other.identity, other.key)

    def __lt__(self, other: Fence) -> bool:
        if self.identity != other.identity:
            return NotImplemented  # they say nothing about each other
        return self.key < other.key

    def __hash__(self) -> int:
        return hash((self.identity, self.key))

    def __repr__(self) -> str:
        epoch, by, number, turn = self.key
        return f"<fence {epoch}/{by} {number}+{turn}{' lost' if self.lost.is_set() else ''}>"
