"""The frames in a run of messages: what the layers above SEQUENCER say to each other in its order.

A frame is a content whose first byte says its kind; `Payloads` marks it, so that what an
application sends is never taken for one.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, TypeAlias

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Frame

_FRAGMENT, _GIVEN_UP = 0, 1
_KIND = struct.Struct(">B")
_HEAD = struct.Struct(">B?QQII")
_NUMBER = struct.Struct(">BQ")

FRAGMENT_HEAD = _HEAD.size
"""Bytes of a fragment's head."""


class FragmentFrame(NamedTuple):
    """Fragment `part` of the `parts` of message `number`; `framed`: the message is a frame."""

    framed: bool
    number: int
    epoch: int
    part: int
    parts: int
    content: bytes


class GivenUpFrame(NamedTuple):
    """Message `number` is given up."""

    number: int


Known: TypeAlias = FragmentFrame | GivenUpFrame


def encode(frame: Known) -> Frame:
    """Return the frame as it is sent."""
    match frame:
        case FragmentFrame(framed, number, epoch, part, parts, content):
            head = _HEAD.pack(_FRAGMENT, framed, number, epoch, part, parts)
            return Frame(b"".join((head, content)))
        case GivenUpFrame(number):
            return Frame(_NUMBER.pack(_GIVEN_UP, number))


def decode(frame: bytes) -> Known:
    """Read a frame; raises WireError if it is none that a member sends."""
    try:
        (kind,) = _KIND.unpack_from(frame)
        if kind == _FRAGMENT:
            _, framed, number, epoch, part, parts = _HEAD.unpack_from(frame)
            return FragmentFrame(framed, number, epoch, part, parts, frame[_HEAD.size :])
        if kind == _GIVEN_UP and len(frame) == _NUMBER.size:
            return GivenUpFrame(_NUMBER.unpack(frame)[1])
    except struct.error as problem:
        raise WireError("malformed", f"frame of {len(frame)} bytes: {problem}") from None
    raise WireError("malformed", f"frame of kind {kind} and {len(frame)} bytes")
