"""The frames in a run of messages: what layers say to each other among them.

A frame is a content whose first byte says its kind; `Payloads` marks it, so that what an
application sends is never taken for one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Frame, Payloads, Run

_FRAGMENT, _GIVEN_UP, _REQUEST, _REPLY, _INFO, _ATTEMPT = range(6)
_HEAD = struct.Struct(">B?QQII")
_NUMBER = struct.Struct(">BQ")
_REPLY_HEAD = struct.Struct(">BQQ?")
_INFO_HEAD = struct.Struct(">B?")

INFO_HEAD = _INFO_HEAD.size
"""Bytes in front of a piece of INFO."""

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


class RequestFrame(NamedTuple):
    """Call `number` of the sender asks for a reply."""

    number: int
    content: bytes


class ReplyFrame(NamedTuple):
    """The reply to call `number`, delivered in that view, or the reason why there is none."""

    number: int
    view: int
    failed: bool
    content: bytes


class InfoFrame(NamedTuple):
    """PRIMARY's INFO, or a piece of it; the pieces follow each other up to the `last` one."""

    last: bool
    content: bytes


class AttemptFrame(NamedTuple):
    """PRIMARY's ATTEMPT."""


Known: TypeAlias = (
    FragmentFrame | GivenUpFrame | RequestFrame | ReplyFrame | InfoFrame | AttemptFrame
)


def encode(frame: Known) -> Frame:
    """Return the frame as it is sent."""
    match frame:
        case FragmentFrame(framed, number, epoch, part, parts, content):
            head = _HEAD.pack(_FRAGMENT, framed, number, epoch, part, parts)
            return Frame(b"".join((head, content)))
        case GivenUpFrame(number):
            return Frame(_NUMBER.pack(_GIVEN_UP, number))
        case RequestFrame(number, content):
            return Frame(_NUMBER.pack(_REQUEST, number) + content)
        case ReplyFrame(number, view, failed, content):
            return Frame(_REPLY_HEAD.pack(_REPLY, number, view, failed) + content)
        case InfoFrame(last, content):
            return Frame(_INFO_HEAD.pack(_INFO, last) + content)
        case AttemptFrame():
            return Frame(bytes([_ATTEMPT]))


def decode(frame: bytes) -> Known:
    """Read a frame; raises WireError if it is none that a member sends."""
    try:
        match frame[:1]:
            case b"\0":
                _, framed, number, epoch, part, parts = _HEAD.unpack_from(frame)
                return FragmentFrame(framed, number, epoch, part, parts, frame[_HEAD.size :])
            case b"\1" if len(frame) == _NUMBER.size:
                return GivenUpFrame(_NUMBER.unpack(frame)[1])
            case b"\2":
                return RequestFrame(_NUMBER.unpack_from(frame)[1], frame[_NUMBER.size :])
            case b"\3":
                _, number, view, failed = _REPLY_HEAD.unpack_from(frame)
                return ReplyFrame(number, view, failed, frame[_REPLY_HEAD.size :])
            case b"\4":
                _, last = _INFO_HEAD.unpack_from(frame)
                return InfoFrame(last, frame[_INFO_HEAD.size :])
            case b"\5" if len(frame) == 1:
                return AttemptFrame()
    except struct.error as problem:
        raise WireError("malformed", f"frame of {len(frame)} bytes: {problem}") from None
    raise WireError("malformed", f"frame of {len(frame)} bytes that begins with {frame[:1]!r}")


class Piece(NamedTuple):
    """A part of a run: one frame, or messages with no frame among them."""

    messages: Run
    contents: list[bytes]
    framed: bool


def cut(run: Run, payloads: Payloads) -> Iterator[Piece]:
    """Cut a run at its frames. The messages of a run that begins at 0 have no numbers."""
    plain: list[bytes] = []
    sender, first, _ = run

    def piece(contents: list[bytes], end: int, *, framed: bool) -> Piece:
        at = first and first + end - len(contents)
        return Piece(Run(sender, at, len(contents)), contents, framed)

    contents = payloads.unpack()
    for end, content in enumerate(contents):
        if type(content) is not Frame:
            plain.append(content)
            continue
        if plain:
            yield piece(plain, end, framed=False)
            plain = []
        yield piece([content], end + 1, framed=True)
    if plain:
        yield piece(plain, len(contents), framed=False)
