"""The members of a simulated ring, with their record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.raincore.core import Raincore
from raincheck.impl.raincore.events import Epoch, Nodelist
from raincheck.impl.ring.node import RingNode
from raincheck.impl.ring.reports import NameTaken
from raincheck.impl.sealing.sealing import Sealing
from raincheck.impl.stack.reports import Dropped


class Locked(NamedTuple):
    """A member's application had the lock, from one time to another."""

    member: Address
    epoch: Epoch
    seq: int
    since: float
    until: float


@dataclass(slots=True)
class Life:
    """The reports of a member between two losses of its state."""

    address: Address
    delivered: list[tuple[Address, int]] = field(default_factory=list)
    """Each message, by its sender and its sender's number."""
    contents: list[bytes] = field(default_factory=list)
    """The same messages."""
    views: list[tuple[int, Nodelist]] = field(default_factory=list)
    eats: list[tuple[Epoch, int]] = field(default_factory=list)


@dataclass(slots=True)
class Member:
    """One name: its present life, and those before."""

    name: str
    endpoint: Endpoint
    node: RingNode
    life: Life
    sealing: Sealing | None = None
    up: bool = True
    left: str | None = None
    kept: bytes | None = None
    """The state that it has saved."""
    lives: list[Life] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    taken: list[NameTaken] = field(default_factory=list)
    backlog: list[bytes] = field(default_factory=list)
    locks: list[float] = field(default_factory=list)
    """For each lock that its application wants: how long it keeps it."""

    @property
    def core(self) -> Raincore:
        """The protocol."""
        return self.node.core

    @property
    def delivered(self) -> list[tuple[Address, int]]:
        """The deliveries of its present life."""
        return self.life.delivered
