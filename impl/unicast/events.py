"""UNICAST's events and effects.

An event is one action of `spec/Unicast.tla`, with the same name. What a datagram carries is its
content; the protocol asks only how long the content of one that it sends is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, TypeAlias

Gaps: TypeAlias = tuple[tuple[int, int], ...]
"""Missing seqnos, as (first, last)."""


class Peer(NamedTuple):
    """The other end of connections: a process and one of its lanes, which are independent.

    Each lane is what the specification calls a process.
    """

    node: str
    incarnation: int
    lane: int


# ------------------------------------------------------------------ events


class Send(NamedTuple):
    """The layer above sends its next message; it waits here while the window is closed."""

    to: Peer
    content: Any


class Receive(NamedTuple):
    """A datagram with a message arrives."""

    sender: Peer
    connection: int
    seqno: int
    content: Any


class Consume(NamedTuple):
    """The layer above takes the next message of a connection."""

    source: Peer


class Acknowledge(NamedTuple):
    """The acknowledgement that is owed leaves."""

    source: Peer


class ReceiveAck(NamedTuple):
    """An acknowledgement arrives; of what it misses, `lately` was sent again a moment ago."""

    sender: Peer
    connection: int
    arrived: int
    consumed: int
    missing: Gaps
    lately: Collection[int] = ()


class Retransmit(NamedTuple):
    """The timer of a connection fires."""

    to: Peer


class Forget(NamedTuple):
    """The membership says that a process is gone."""

    peer: Peer


class Renew(NamedTuple):
    """JOIN_RSP: connections from here begin anew, what is under way on the old ones is void."""


Event: TypeAlias = Send | Receive | Consume | Acknowledge | ReceiveAck | Retransmit | Forget | Renew

# ------------------------------------------------------------------ effects


class Message(NamedTuple):
    """Transmit message `seqno` of a connection."""

    to: Peer
    connection: int
    seqno: int
    content: Any


class Ack(NamedTuple):
    """Acknowledge all up to `arrived`, passed up to `consumed`, but for what is `missing`."""

    to: Peer
    connection: int
    arrived: int
    consumed: int
    missing: Gaps


class Deliver(NamedTuple):
    """Pass a message up."""

    source: Peer
    content: Any


class Dropped(NamedTuple):
    """Count a dropped datagram."""

    reason: str


Effect: TypeAlias = Message | Ack | Deliver | Dropped
