"""The parts of a simulated group: links, datagrams on their way, and nodes with their record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from raincheck.impl.flush.events import LatchOpened
from raincheck.impl.messages import Address, Endpoint, Run, View
from raincheck.impl.sealing.sealing import Sealing
from raincheck.impl.stack.reports import CallOver, Dropped, PrimaryChange, Requested
from raincheck.impl.stack.stack import Stack

from .application import Application


class Link(NamedTuple):
    """The faults of the network from one node to another, as probabilities and seconds."""

    loss: float = 0.0
    duplicate: float = 0.0
    delay: tuple[float, float] = (0.0001, 0.0002)


class Flight(NamedTuple):
    """A datagram on its way."""

    source: str
    to: str
    data: bytes


@dataclass(slots=True)
class Node:
    """One node: its present life, and a record of what it reported."""

    name: str
    endpoint: Endpoint
    stack: Stack
    up: bool = True
    unread: list[Flight] | None = None
    """Datagrams that have arrived while the process stands still."""
    delivered: list[tuple[Run, int]] = field(default_factory=list)
    unicasts: list[tuple[Address, int, bytes]] = field(default_factory=list)
    """The unicasts delivered to it: sender, view, content."""
    unordered: list[tuple[Address, int, bytes]] = field(default_factory=list)
    """The same of messages to all without order."""
    requested: list[Requested] = field(default_factory=list)
    calls: list[CallOver] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    primaries: list[PrimaryChange] = field(default_factory=list)
    """What it was told of its views: which are primary."""
    left: str | None = None
    suspected: list[Address] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    backlog: list[bytes] = field(default_factory=list)
    sent: int = 0
    opened: list[LatchOpened] = field(default_factory=list)
    sealing: Sealing | None = None
    app: Application = field(default_factory=Application)
    history: list[tuple[Address, list[tuple[Run, int]], list[View]]] = field(default_factory=list)

    @property
    def address(self) -> Address:
        """Its address in this life."""
        return self.stack.address

    def refused(self) -> Mapping[Endpoint, str]:
        """The endpoints that have another key."""
        sealing = self.sealing
        return {} if sealing is None or sealing.proved else sealing.refused

    @property
    def messages(self) -> int:
        """How many messages it has delivered in this life."""
        return sum(run.size for run, _ in self.delivered)
