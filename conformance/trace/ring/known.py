"""The facts known of a run of the ring, and the words for evidence against a promise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from raincheck.conformance.trace.causality import HappensBefore

from .seen import Address, Fence, RingSeen

Seen: TypeAlias = Mapping[Address, RingSeen]


class Witness(NamedTuple):
    """Something against a promise, and when it had come true."""

    at: float | None
    facts: dict[str, Any]


class Run(NamedTuple):
    """What is known of a run."""

    seen: Seen
    causality: HappensBefore[Address]
    crashed: frozenset[Address]
    whole: bool = True
    """No record is missing, so that what was not seen has not been."""

    @property
    def ordered(self) -> bool:
        """Whether it can be said what happened before what."""
        return self.whole and self.causality.whole

    def before(self, who: Address, index: int, other: Address, later: int) -> bool:
        """Whether that event of `who` is, or happened before, that one of `other`.

        How a member began (0) is known everywhere.
        """
        return index == 0 or self.causality.before(who, index, other, later)


def later(*times: float | None) -> float | None:
    """When both were true."""
    known = [each for each in times if each is not None]
    return max(known) if len(known) == len(times) else None


def name(who: Address) -> str:
    """The member as witnesses name it."""
    node, incarnation = who
    return f"{node}.{incarnation}"


def names(members: Iterable[Address]) -> list[str]:
    """A list of members."""
    return [name(each) for each in members]


def number(fence: Fence) -> list[Any]:
    """A token's number."""
    return list(fence)


def message(sent: tuple[Address, int]) -> list[Any]:
    """A multicast: whose, and which of its."""
    (node, incarnation), k = sent
    return [node, incarnation, k]
