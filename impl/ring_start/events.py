"""RING_START's events and effects: an event is one action of `spec/RingStart.tla`."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, TypeAlias

from msgspec import Meta

from raincheck.impl.messages import Address

Stage: TypeAlias = Literal["asking", "left", "attempting", "member"]
"""What a process knows: nothing of a ring; that it has left one; a founding that it has recorded;
the ring that it is in."""
Founders: TypeAlias = Annotated[frozenset[Address], Meta(max_length=256)]
"""A founding, and the identity of its ring: its founders, in the lives in which they recorded it.
"""


class Info(NamedTuple):
    """What a process answers; to be sent to whoever asks, once it is written down."""

    sender: Address
    stage: Stage
    ring: Founders


class Start(NamedTuple):
    """The process starts, or starts again."""


class Hear(NamedTuple):
    """The answer of another process."""

    info: Info


Event: TypeAlias = Start | Hear
