"""The report on one file of SEQUENCER: its views, how far it had read, and its deliveries."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from raincheck.conformance.trace.events import Address
from raincheck.conformance.trace.findings import FileReport, claims_synchrony


class Departure(msgspec.Struct, frozen=True):
    """The place in a member's stream up to which this node had read when its view lost that member.

    `index` 0 stands for the end of the file: the member was still in the view then.
    """

    member: Address
    position: int
    index: int
    clock: int


class Installed(msgspec.Struct, frozen=True):
    """A view that this node was in, and the event by which it came there."""

    view: int
    members: tuple[Address, ...]
    index: int
    clock: int
    by: Address | None = None
    """Who decided it, in groups that merge."""

    @property
    def called(self) -> ViewId:
        """Return the view's whole id."""
        return self.view, self.by


ViewId: TypeAlias = tuple[int, Address | None]
"""A view's number and, in groups that merge, who decided it."""


class Merged(msgspec.Struct, frozen=True):
    """A merged view that this node has installed, and what it knew of its members from then on."""

    called: ViewId
    index: int
    clock: int
    table: tuple[tuple[str, int, int], ...]
    """Of each of them the highest seqno that counts as delivered; who is not named has none."""
    positions: tuple[tuple[str, int, int], ...]
    """Of each of their streams the place behind which it reads on."""


class Cut(msgspec.Struct, frozen=True):
    """The places in the streams of a view's members up to which this node had read when it left it.

    `index` 0 stands for the end of the file: it never installed the next one.
    """

    view: int
    index: int
    clock: int
    positions: tuple[tuple[str, int, int], ...]
    """Node, incarnation and position; a member that is not named stands at 0."""
    multicast: int
    """The number of messages that it had multicast itself."""


class Summary(FileReport):
    """The report on a file of SEQUENCER."""

    protocol: str = "sequencer"
    status: str = ""
    view: int = 0
    seqno: int = 0
    """The seqno of its last message."""
    stopped: bool = False
    multicast: int = 0
    """The number of messages that this node has multicast."""
    views: list[Installed] = msgspec.field(default_factory=list)
    departures: list[Departure] = msgspec.field(default_factory=list)
    cuts: list[Cut] = msgspec.field(default_factory=list)
    merged: list[Merged] = msgspec.field(default_factory=list)
    addresses: list[Address] = msgspec.field(default_factory=list)
    """The senders that the delivery rows count by."""
    view_starts: list[tuple[int, int]] = msgspec.field(default_factory=list)
    """(row of the delivery log, view): from that row on deliveries were in that view."""
    delivered: bytes = b""
    """The delivery log."""

    @property
    def synchronous(self) -> bool:
        """Whether its header claims virtually synchronous views."""
        return claims_synchrony(self.constants)
