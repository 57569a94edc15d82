"""NAKACK's events and effects.

An event is one action of `spec/Nakack.tla`, with the same name and fields. A multicast is a bundle
of messages: its content is what is passed up, and `raw` what is transmitted, once and again. Nobody
here looks into them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from raincheck.impl.messages import Address, Digest

Gaps: TypeAlias = tuple[tuple[int, int], ...]
"""Missing seqnos, as (first, last)."""

# ------------------------------------------------------------------ events


class Multicast(NamedTuple):
    """The layer above multicasts (N1, N7)."""

    content: Any
    raw: bytes


class Announce(NamedTuple):
    """The timer of multicasts that are not acknowledged has fired."""


class ReceiveData(NamedTuple):
    """A multicast arrives, from its source or from whoever has it."""

    sender: Address
    source: Address
    seqno: int
    view: int
    content: Any
    raw: bytes


class ReceiveAlive(NamedTuple):
    """A sign of life arrives: how far its sender's stream goes, and how far it has mine."""

    sender: Address
    highest: int
    asking: bool
    delivered: int


class Ask(NamedTuple):
    """The timer of a gap in the stream of `source` has fired; `to` is asked (N2)."""

    source: Address
    to: Address


class ReceiveNak(NamedTuple):
    """Somebody asks for multicasts (N2)."""

    sender: Address
    source: Address
    missing: Gaps


class Deliver(NamedTuple):
    """The next multicast of `source` is passed up; `content` is what it is, for a recorder."""

    source: Address
    content: Any = None


class Acknowledge(NamedTuple):
    """An acknowledgement that is owed leaves."""

    source: Address


class HeardOf(NamedTuple):
    """STABLE: `holder` has received the stream of `source` up to `at` (N3)."""

    holder: Address
    source: Address
    at: int


class Purge(NamedTuple):
    """STABLE: the stream of `source` is stable up to `at` (N4)."""

    source: Address
    at: int


class Freeze(NamedTuple):
    """The membership: `source` is gone."""

    source: Address


class Fetch(NamedTuple):
    """FLUSH: the stream of `source` up to `at` belongs to the view; `holder` has it."""

    source: Address
    at: int
    holder: Address


class InstallView(NamedTuple):
    """The membership: the next view; `joiners` read my stream on from where it stands now."""

    view: int
    members: tuple[Address, ...]
    joiners: tuple[Address, ...] = ()


class Merge(NamedTuple):
    """MERGE2: a merged view, whose number may skip some; its `joiners` are the other sides.

    Their streams are read on from `digest`, their cuts.
    """

    view: int
    members: tuple[Address, ...]
    joiners: tuple[Address, ...]
    digest: Digest


class Join(NamedTuple):
    """JOIN_RSP: the view, and the digest of the cut (N5)."""

    view: int
    members: tuple[Address, ...]
    digest: Digest


class Beat(NamedTuple):
    """The failure detection gives a sign of life."""

    to: tuple[Address, ...]


Event: TypeAlias = (
    Multicast
    | Announce
    | ReceiveData
    | ReceiveAlive
    | Ask
    | ReceiveNak
    | Deliver
    | Acknowledge
    | HeardOf
    | Purge
    | Freeze
    | Fetch
    | InstallView
    | Merge
    | Join
    | Beat
)

# ------------------------------------------------------------------ effects


class Data(NamedTuple):
    """Transmit multicast `seqno` of `source`, sent in view `view`."""

    to: tuple[Address, ...]
    source: Address
    seqno: int
    view: int
    raw: bytes


class Nak(NamedTuple):
    """Ask for these multicasts of `source`."""

    to: Address
    source: Address
    missing: Gaps


class Alive(NamedTuple):
    """Announce this member's stream, and acknowledge how far it has delivered the others'.

    `asking`: this member waits for an acknowledgement.
    """

    to: tuple[Address, ...]
    highest: int
    asking: bool
    delivered: Digest


class Delivered(NamedTuple):
    """Pass multicast `seqno` of `source` up."""

    source: Address
    seqno: int
    view: int
    content: Any


class Dropped(NamedTuple):
    """Count a dropped datagram."""

    reason: str


Effect: TypeAlias = Data | Nak | Alive | Delivered | Dropped
