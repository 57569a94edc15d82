"""The inputs and outputs of a process of UNICAST.

Inputs are named as the spec's actions; outputs are datagrams and deliveries.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address

Content: TypeAlias = tuple[int, int, int, int]
"""A message: the sender's life, the receiver's life, the connection, the number in it.

No handler reads it; it states where the message belongs.
"""

# ---------------------------------------------------------------------- inputs


class Send(NamedTuple):
    """The application sends its next message."""

    to: Address
    content: Content


class Receive(NamedTuple):
    """A datagram with a message arrives."""

    sender: Address
    connection: int
    seqno: int
    content: Content


class Consume(NamedTuple):
    """The layer above takes the next message of a connection."""

    source: Address


class Acknowledge(NamedTuple):
    """The process sends an acknowledgement that it owes."""

    source: Address


class ReceiveAck(NamedTuple):
    """An acknowledgement arrives."""

    sender: Address
    connection: int
    arrived: int
    consumed: int
    missing: tuple[int, ...]


class Retransmit(NamedTuple):
    """The timer of a connection fires."""

    to: Address


class Forget(NamedTuple):
    """The membership reports that a process is gone."""

    peer: Address


class Crash(NamedTuple):
    """The process crashes."""


class Restart(NamedTuple):
    """The process comes back."""


# ---------------------------------------------------------------------- outputs


class Message(NamedTuple):
    """A datagram with message `seqno` of a connection."""

    to: Address
    connection: int
    seqno: int
    content: Content


class Ack(NamedTuple):
    """An acknowledgement.

    All messages up to `arrived` have arrived and those up to `consumed` were passed up; those in
    `missing` have not arrived.
    """

    to: Address
    connection: int
    arrived: int
    consumed: int
    missing: tuple[int, ...]


class Deliver(NamedTuple):
    """A message is passed up."""

    source: Address
    content: Content


Output: TypeAlias = Message | Ack | Deliver
