"""The tree of proposals of one run of Raincore's model, for `raincore_model.py`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final


@dataclass(frozen=True, eq=False)
class Proposal:
    """A list, and the proposal that it was made from. Each is like no other."""

    parent: Proposal | None
    depth: int
    ring: tuple[int, ...]

    @cached_property
    def members(self) -> frozenset[int]:
        """Who is on the list."""
        return frozenset(self.ring)

    @cached_property
    def line(self) -> frozenset[Proposal]:
        """It, what it came from, and so on."""
        return frozenset((self,)) | (self.parent.line if self.parent else frozenset())

    def __repr__(self) -> str:
        return f"{self.depth}:{self.ring}"


NONE: Final = Proposal(None, 0, ())
"""In place of what the theory says nothing about."""


def meet(one: Proposal, other: Proposal, of: Proposal) -> int:
    """A member of that list that is among both, if there is one."""
    lists = [(each or NONE).members for each in (one, other, of)]
    return min(frozenset.intersection(*lists), default=0)
