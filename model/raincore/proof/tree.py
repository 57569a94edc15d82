"""The tree of proposals of one run of Raincore's model, for `model.py`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final


@dataclass(frozen=True, eq=False)
class Proposal:
    """A list, and the proposal that it was made from. Proposals compare by identity."""

    parent: Proposal | None
    depth: int
    ring: tuple[int, ...]

    @cached_property
    def members(self) -> frozenset[int]:
        """Return the members on the list."""
        return frozenset(self.ring)

    @cached_property
    def line(self) -> frozenset[Proposal]:
        """Return the proposal, the one it was made from, and so on."""
        return frozenset((self,)) | (self.parent.line if self.parent else frozenset())

    def __repr__(self) -> str:
        return f"{self.depth}:{self.ring}"


NONE: Final = Proposal(None, 0, ())
"""Stands where the theory leaves the proposal open."""


def meet(one: Proposal, other: Proposal, of: Proposal) -> int:
    """Return a member of the list `of` that is in both others, if there is one."""
    lists = [(each or NONE).members for each in (one, other, of)]
    return min(frozenset.intersection(*lists), default=0)
