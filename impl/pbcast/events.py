"""PBCAST's events and effects.

An event is one action of `spec/Pbcast.tla`, with the same name and fields. Whoever drives the core
draws at random: the members to which a gossip goes are part of the event.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.impl.messages import Address, Digest

Members: TypeAlias = frozenset[Address]

Numbers: TypeAlias = tuple[tuple[Address, frozenset[int]], ...]
"""Messages: their numbers by sender, in the order of addresses, without empty sets."""

# ------------------------------------------------------------------ events


class SendGossip(NamedTuple):
    """A gossip is due; `to`: all other members, or some of them."""

    to: Members


class ReceiveGossip(NamedTuple):
    """A copy of the gossip `number` of `origin`, sent by `sender`, which has delivered `has`."""

    sender: Address
    origin: Address
    number: int
    view: int
    digest: Digest
    seen: Members
    not_seen: Members
    lowest: Digest
    has: Digest


class Forward(NamedTuple):
    """A gossip is to be sent again; `to`: some that have not seen it, or all if none is left."""

    origin: Address
    number: int
    to: Members


class ReceiveRequest(NamedTuple):
    """`sender` asks for messages."""

    sender: Address
    wanted: Numbers


class ReceiveResponse(NamedTuple):
    """`sender` sends messages that were asked for."""

    sender: Address
    messages: Numbers


class Check(NamedTuple):
    """The failure detector has taken into account who was heard of."""


class GetDigest(NamedTuple):
    """A layer asks for the digest."""

    layer: str


class Multicast(NamedTuple):
    """The application multicasts a message."""


class Arrive(NamedTuple):
    """The first transmission of a message of `sender`."""

    sender: Address
    seqno: int


class Deliver(NamedTuple):
    """The application takes the next message of `sender`: only where consumers are slow."""

    sender: Address


class InstallView(NamedTuple):
    """The next view is installed; at a joiner the first one, which begins behind `digest`."""

    view: int
    members: Members
    digest: Digest


Event: TypeAlias = (
    SendGossip
    | ReceiveGossip
    | Forward
    | ReceiveRequest
    | ReceiveResponse
    | Check
    | GetDigest
    | Multicast
    | Arrive
    | Deliver
    | InstallView
)

# ------------------------------------------------------------------ effects


class Data(NamedTuple):
    """Multicast message `seqno` to the others; it may be lost."""

    to: Members
    seqno: int


class Gossip(NamedTuple):
    """Send copies of a gossip; they may be lost. `has` is what this member has delivered."""

    to: Members
    origin: Address
    number: int
    view: int
    digest: Digest
    seen: Members
    not_seen: Members
    lowest: Digest
    has: Digest


class Request(NamedTuple):
    """Ask one member for messages; the request may be lost."""

    to: Members
    wanted: Numbers


class Response(NamedTuple):
    """Send one member messages that it has asked for; they may be lost."""

    to: Members
    messages: Numbers


class Delivered(NamedTuple):
    """Hand the messages of `sender` up to `upto` to the application."""

    sender: Address
    upto: int


class Heard(NamedTuple):
    """Tell the failure detector that these members have seen a gossip."""

    members: Members


class GotDigest(NamedTuple):
    """Hand the digest to the layer that has asked for it."""

    layer: str
    digest: Digest


Effect: TypeAlias = Data | Gossip | Request | Response | Delivered | Heard | GotDigest
