"""What a process of UNICAST takes in and puts out: the inputs, named as the spec's actions, and the
outputs: datagrams, and what is passed up."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address

Content: TypeAlias = tuple[int, int, int, int]
"""A message: the sender's life, the receiver's life, the connection, the number in it. Nobody
reads it; it says what should become of the message."""

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
    """The acknowledgement that is owed leaves."""

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
    """The membership says that a process is gone."""

    peer: Address


class Crash(NamedTuple):
    """The process ends without a word."""


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
    """All up to `arrived` is there, up to `consumed` it was passed up; `missing` is not there."""

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
