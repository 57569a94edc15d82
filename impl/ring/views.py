"""The history of a ring's views, as an application reads it."""

from __future__ import annotations

from typing import NamedTuple

from raincheck.impl.messages import Address


class RingView(NamedTuple):
    """A view and its place in the history, which is the same at all members."""

    at: int
    members: tuple[Address, ...] | None
    """In the order of the ring; None where this member knows no view, and another may."""

    def __str__(self) -> str:
        return f"view {self.at} [{' '.join(map(str, self.members or ()))}]"
