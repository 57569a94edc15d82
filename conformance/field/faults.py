"""The plan of a run's faults, drawn from a seed, whatever group meets them.

The law of this file: a plan depends on the seed and the settings alone. A fault names a role,
because its victim is known only when the fault is due.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Generic, TypeVar

from raincheck.conformance.errors import UsageError

LINK = ("loss", "delay", "duplicate", "reorder")
"""Faults of datagrams inside each member (`impl/transport/faulty.py`)."""
MEMBER = "member"
"""The role of any member."""


@dataclass(frozen=True, slots=True)
class PlannedFault(ABC):
    """One act of the harness on processes."""

    kind: str
    at: float
    """When it is due: the part of the load that is over, from 0 to 1."""
    target: str = MEMBER
    """The role of the process that it hits."""

    @property
    @abstractmethod
    def words(self) -> str:
        """Return the line of a dry run about it."""


AnyFault = TypeVar("AnyFault", bound=PlannedFault)


@dataclass(frozen=True, slots=True)
class Plan(Generic[AnyFault]):
    """All faults of one run."""

    faults: tuple[AnyFault, ...]
    damage: dict[str, float]
    """The shares of datagrams that are lost, duplicated, and so on."""


def kinds_of(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the kinds in `crash,loss,...`, in the order of the known ones.

    "none" and "" are no faults, "all" is every kind.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    if words == ["all"]:
        return known
    if words == ["none"]:
        return ()
    unknown = [word for word in words if word not in known]
    if unknown:
        raise UsageError(
            f"--faults does not know {unknown[0]}: choose from {', '.join(known)}, all, none."
        )
    return tuple(kind for kind in known if kind in words)


def plan_of(
    draw: Random,
    drawn: Sequence[AnyFault],
    kinds: tuple[str, ...],
    shares: Mapping[str, tuple[float, ...]],
) -> Plan[AnyFault]:
    """Spread the drawn faults over the load, and draw a share for each kind of damage."""
    faults = tuple(
        replace(fault, at=round((place + draw.uniform(0.2, 0.8)) / (len(drawn) + 1), 3))
        for place, fault in enumerate(drawn)
    )
    damage = {kind: draw.choice(choices) for kind, choices in shares.items()}
    return Plan(faults, {kind: share for kind, share in damage.items() if kind in kinds})
