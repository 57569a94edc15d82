"""PRIMARY's INFO as bytes: what a member remembers of primary views.

Law of this file: types and bounds only; `stack/primary_layer.py` says what of it can be true.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Count, ViewId
from raincheck.impl.primary.decision import MOST
from raincheck.impl.primary.events import Info, Session, Votes


class InfoBody(Struct, frozen=True, array_like=True, gc=False):
    """INFO without its sender and view, which the datagram has."""

    votes: Votes
    found: bool
    last: Session | None
    attempts: Annotated[tuple[Session, ...], Meta(max_length=MOST)]


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(InfoBody)


def encode_info(info: Info) -> bytes:
    """Return INFO as it is sent."""
    return _encode(InfoBody(info.votes, info.found, info.last, tuple(sorted(info.attempts))))


def decode_info(content: bytes, sender: Address, view: ViewId) -> Info:
    """Read the INFO of that sender in that view; raises WireError if it is none."""
    try:
        body = _decoder.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise WireError("malformed", f"INFO of {len(content)} bytes: {problem}") from None
    return Info(sender, view, body.votes, body.found, body.last, frozenset(body.attempts))


class Standing(NamedTuple):
    """How far a group's history of primary views goes, so that of two groups one prevails.

    `number` and `view` are those of the last primary view that it knows of, 0 if there is none;
    `majority` is whether the group has a majority of it.
    """

    number: Count
    view: Count
    coordinator: Address
    majority: bool


NO_STANDING = Standing(0, 0, Address("none", 0), False)
"""That of a group that knows of no primary view."""
