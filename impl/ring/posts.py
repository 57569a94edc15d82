"""The posts of LOCKS as bytes: each is the one message of a batch that is marked as a post.

    msgpack array  members, epoch, place, parent, asks, lays, table, ended, wanted

`members` has every member that the post names; all else has members by their place in it, as a
token has. Who has written it is known from the batch.
Law of this file: `read_post` returns a post that a member can have written, or raises WireError.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from raincheck.impl.errors import WireError
from raincheck.impl.locks.events import Fence, Mode, Post, Request, Ticket
from raincheck.impl.messages import Address
from raincheck.impl.raincore.events import NOBODY, Epoch

from .bodies import MAX_NAMED, Maybe, Number, Place, Positive, WireEpoch

MAX_NAME = 128
"""The most bytes of a lock's name, as UTF-8."""
_LINE = 40  # bytes that suffice for a line of a table beside its name, while numbers are ordinary

_Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
_Fence: TypeAlias = tuple[Number, Maybe, Number, Number]
_MAX_LINES = Meta(max_length=1 << 16)


class _Line(NamedTuple):
    member: Place
    session: Number
    request: Number
    name: _Name
    mode: Mode
    fence: _Fence | None


class _Post(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    members: Annotated[tuple[Address, ...], Meta(max_length=MAX_NAMED)]
    epoch: WireEpoch
    place: Positive
    parent: WireEpoch | None
    asks: bool
    lays: bool
    table: Annotated[tuple[_Line, ...], _MAX_LINES]
    ended: Annotated[tuple[tuple[Place, Number, Number], ...], _MAX_LINES]
    wanted: Annotated[tuple[_Line, ...], _MAX_LINES]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Post).decode


def size_of(line: Request) -> int:
    """Return how many bytes a line of a table takes, at most, while its numbers are ordinary."""
    return _LINE + len(line.name.encode()) + len(line.member.node)


def written(post: Post) -> bytes:
    """Return the bytes of a post."""
    places: dict[Address, int] = {}

    def place(member: Address) -> int:
        return places.setdefault(member, len(places))

    def epoch(of: Epoch) -> tuple[int, int]:
        return of.n, 0 if of.by == NOBODY else place(of.by) + 1

    def lines(table: Iterable[Request]) -> tuple[_Line, ...]:
        return tuple(
            [_Line(place(m), s, r, name, mode, fence(f)) for m, s, r, name, mode, f in table]
        )

    def fence(of: Fence | None) -> _Fence | None:
        return None if of is None else (*epoch(of.epoch), of.place, of.turn)

    said = _Post(
        (),
        epoch(post.epoch),
        post.place,
        None if post.parent is None else epoch(post.parent),
        post.asks,
        post.lays,
        lines(post.table),
        tuple([(place(each.member), each.session, each.request) for each in sorted(post.ended)]),
        lines(post.wanted),
    )
    return _encode(replace(said, members=tuple(places)))


def read_post(by: Address, data: bytes) -> Post:
    """Return the post that a member has written; raises WireError for bytes that are none."""
    try:
        said = _decode(data)
        members = said.members

        def epoch(of: WireEpoch) -> Epoch:
            if (of[0] == 0) != (of[1] == 0):
                raise ValueError(f"epoch {of[0]} of {of[1]}")
            return Epoch(of[0], members[of[1] - 1] if of[1] else NOBODY)

        def lines(table: tuple[_Line, ...]) -> tuple[Request, ...]:
            return tuple(
                [
                    Request(members[m], s, r, name, mode, fence(f))
                    for m, s, r, name, mode, f in table
                ]
            )

        def fence(of: _Fence | None) -> Fence | None:
            return None if of is None else Fence(epoch(of[:2]), of[2], of[3])

        ended = [Ticket(members[m], session, request) for m, session, request in said.ended]
        post = Post(
            by,
            epoch(said.epoch),
            said.place,
            None if said.parent is None else epoch(said.parent),
            said.asks,
            said.lays,
            lines(said.table),
            frozenset(ended),
            lines(said.wanted),
        )
        if any(each.member != by or each.fence is not None for each in post.wanted):
            raise ValueError("what it wants is another member's, or is held already")
    except (msgspec.MsgspecError, ValueError, IndexError, RecursionError) as problem:
        raise WireError("malformed_post", f"{problem} from {by}") from None
    return post
