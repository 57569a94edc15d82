"""The inputs and outputs of a member's handlers: the twin of what `spec/Pbcast.tla` sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address

Members: TypeAlias = frozenset[Address]

Vector: TypeAlias = tuple[tuple[Address, int], ...]
"""One number per member, in the order of addresses, without zeros."""

Numbers: TypeAlias = tuple[tuple[Address, frozenset[int]], ...]
"""Messages: their numbers by sender, in the order of addresses, without empty sets."""


# ------------------------------------------------------------------ outputs


class Data(NamedTuple):
    """The first transmission of a multicast, to all other members."""

    to: Members
    seqno: int


class Gossip(NamedTuple):
    """A copy of the gossip `number` of `origin`; `has` is what its sender has delivered."""

    to: Members
    origin: Address
    number: int
    view: int
    digest: Vector
    seen: Members
    not_seen: Members
    lowest: Vector
    has: Vector


class Request(NamedTuple):
    """A request for messages that the asked one should have."""

    to: Members
    wanted: Numbers


class Response(NamedTuple):
    """Messages that were asked for."""

    to: Members
    messages: Numbers


class Delivered(NamedTuple):
    """The application gets the messages of `sender` up to this one."""

    sender: Address
    upto: int


class Heard(NamedTuple):
    """The failure detector learns that these members have seen a gossip (G8)."""

    members: Members


class GotDigest(NamedTuple):
    """A layer gets the digest (G10)."""

    layer: str
    digest: Vector


Output: TypeAlias = Data | Gossip | Request | Response | Delivered | Heard | GotDigest


# ------------------------------------------------------------------ inputs


class SendGossip(NamedTuple):
    """It is time for a gossip, to these members, which were drawn at random (G1)."""

    to: Members


class ReceiveGossip(NamedTuple):
    """A copy of a gossip arrives; its fields are those of Gossip."""

    sender: Address
    origin: Address
    number: int
    view: int
    digest: Vector
    seen: Members
    not_seen: Members
    lowest: Vector
    has: Vector


class Forward(NamedTuple):
    """A gossip is sent again, to these members, which were drawn at random (G5)."""

    origin: Address
    number: int
    to: Members


class ReceiveRequest(NamedTuple):
    """Another member asks for messages (G4)."""

    sender: Address
    wanted: Numbers


class ReceiveResponse(NamedTuple):
    """Messages arrive that were asked for (G4)."""

    sender: Address
    messages: Numbers


class Check(NamedTuple):
    """The failure detector has taken into account who was heard of (G8)."""


class GetDigest(NamedTuple):
    """A layer asks for the digest (G10)."""

    layer: str


class Multicast(NamedTuple):
    """The application multicasts a message."""


class Arrive(NamedTuple):
    """The first transmission of a message arrives."""

    sender: Address
    seqno: int


class Deliver(NamedTuple):
    """A slow consumer takes the next message of `sender`."""

    sender: Address


class InstallView(NamedTuple):
    """The next view is installed; the first one at a joiner, which begins at `digest`."""

    view: int
    members: Members
    digest: Vector


INPUTS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        SendGossip,
        ReceiveGossip,
        Forward,
        ReceiveRequest,
        ReceiveResponse,
        Check,
        GetDigest,
        Multicast,
        Arrive,
        Deliver,
        InstallView,
    )
}
