"""The right to act alone, and the number by which a late holder is told from the present one."""

from __future__ import annotations

import asyncio
from functools import total_ordering
from typing import NamedTuple

from raincheck.impl.errors import RaincheckError
from raincheck.impl.messages import Address


class TokenLost(RaincheckError):
    """The ring went on without this member while it held the lock."""


class FenceKey(NamedTuple):
    """A fence as plain values, which compare as the fences do; for a storage service, say.

    Greater means later: whoever guards a resource keeps the greatest key it has seen, and refuses
    what comes with a smaller one.
    """

    epoch: int
    by: Address
    """Who began the epoch; between two of one number the greater address counts more."""
    number: int
    turn: int
    """Which of the locks that one visit of the token has served."""


@total_ordering
class Fence:
    """What `async with ring.token() as fence` gives."""

    __slots__ = ("key", "lost")

    def __init__(self, key: FenceKey) -> None:
        self.key = key
        self.lost = asyncio.Event()
        """Set when the token is lost while the lock is held."""

    @property
    def epoch(self) -> tuple[int, Address]:
        """Which token it is: a new epoch begins whenever a lost one is made anew."""
        return self.key.epoch, self.key.by

    @property
    def number(self) -> int:
        """The number of the token within its epoch."""
        return self.key.number

    def check(self) -> None:
        """Raise TokenLost if it is known to be lost; say so before each act that must be alone.

        A partition can hide the loss: what must never be done twice has to compare fences.
        """
        if self.lost.is_set():
            raise TokenLost(
                f"the token of {self} was lost while the lock was held: the ring has gone on "
                f"without this member; what was done under it may be done by another, too"
            )

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Fence) else NotImplemented

    def __lt__(self, other: Fence) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        epoch, by, number, turn = self.key
        return f"<fence {epoch}/{by} {number}+{turn}{' lost' if self.lost.is_set() else ''}>"
