"""The datagrams between a client of a ring and the member that serves it.

    head     "RC", version u8, kind u8, crc u32, ring u32, session u64, number u64, cookie u64
    ASK      msgpack array: all that the client wants; zeros up to `LEAST` stand before it
    TELL     msgpack array: what has become of that; number: that of the newest ASK
    COOKIE   cookie: what the next ASK brings along
    REFUSED  number: the reason

All is big endian; `crc` is the CRC-32 of all other bytes, and `ring` that of the ring's name. Each
ASK says everything and has a number of its own, so it does not matter which are lost or doubled.
COOKIE and REFUSED, which go to who has not proved where it is, are shorter than any ASK.
Law of this file: `read` returns what obeys this, or raises WireError with the reason to count.
"""

from __future__ import annotations

import struct
from typing import Annotated, Literal, NamedTuple, TypeAlias
from zlib import crc32

import msgspec
from msgspec import Meta, Struct

from raincheck.impl.errors import WireError
from raincheck.impl.locks.events import Fence, Mode
from raincheck.impl.messages import Address
from raincheck.impl.raincore.events import NOBODY, Epoch
from raincheck.impl.ring.bodies import Number, Positive
from raincheck.impl.ring.posts import MAX_NAME
from raincheck.impl.sealing.head import MAGIC as SEALED
from raincheck.impl.wire.sums import summed

VERSION = 1
MAGIC = b"RC"
ASK, TELL, COOKIE, REFUSED = range(1, 5)
NOT_ALLOWED, TOO_MANY, OTHER_VERSION, NO_MEMBER = range(1, 5)
"""Reasons of REFUSED."""
MAX_WANTS = 64
"""The most requests of one session."""
MAX_QUEUE = 8
"""The most that a TELL names of those who wait for a lock."""
MAX_SIZE = 32_768

_HEAD = struct.Struct(">2sBBIIQQQ")
_LEAST = _HEAD.size + 8
_MAX = (1 << 64) - 1

Ending: TypeAlias = Literal["taken", "gone", "full", "leaving"]
"""Why a request has ended: a try in vain; the ring has gone on; no room; the member leaves,
or misses the token."""
Placed: TypeAlias = tuple[Number, Address | None, Number, Number]
"""A fence: number and maker of its epoch (nobody has made the first one), place, turn."""
_Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
_Some = Meta(max_length=MAX_WANTS)


class Wanted(NamedTuple):
    """A request that a client has; its numbers grow within the session."""

    request: Positive
    name: _Name
    mode: Mode
    tries: bool


class Waits(NamedTuple):
    """Who is in the way of a request that waits."""

    request: Positive
    holder: Address | None
    fence: Placed | None
    queue: Annotated[tuple[Address, ...], Meta(max_length=MAX_QUEUE)]


class Asked(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """All that a client wants, and the last version that it has been told."""

    heard: Number
    wants: Annotated[tuple[Wanted, ...], _Some]


class Told(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """What has become of all that a client wants."""

    life: Number
    """That of the member's process, which serves no session of another one."""
    version: Positive
    """Grows with whatever this member tells its clients."""
    lease: Annotated[int, Meta(ge=1, le=1 << 32)]
    """Milliseconds after an ASK was sent for which the client has what it has been told."""
    member: Address
    identity: Annotated[str, Meta(max_length=64)]
    held: Annotated[tuple[tuple[Positive, Placed], ...], _Some]
    over: Annotated[tuple[tuple[Positive, Ending], ...], _Some]
    waits: Annotated[tuple[Waits, ...], _Some]


class Datagram(NamedTuple):
    """A datagram that could be read; one of `asked` and `told` is there for ASK and TELL."""

    kind: int
    session: int
    number: int
    cookie: int
    asked: Asked | None = None
    told: Told | None = None


_encode = msgspec.msgpack.Encoder().encode
_asked = msgspec.msgpack.Decoder(Asked)
_told = msgspec.msgpack.Decoder(Told)


class Wire:
    """Makes and reads the datagrams of one ring's clients."""

    def __init__(self, ring: str) -> None:
        self._ring = crc32(ring.encode())

    def made(
        self,
        kind: int,
        session: int,
        number: int,
        cookie: int = 0,
        body: Asked | Told | None = None,
    ) -> bytes:
        """Return a datagram."""
        said = b"" if body is None else _encode(body)
        if kind == ASK:
            said = bytes(max(0, _LEAST - _HEAD.size - len(said))) + said
        head = _HEAD.pack(MAGIC, VERSION, kind, 0, self._ring, session, number, cookie)
        return summed(head + said)

    def read(self, datagram: bytes) -> Datagram:
        """Read a datagram; raises WireError if that cannot be done."""
        size = len(datagram)
        if datagram[:2] == SEALED:
            raise WireError("sealed", "its sender has a key, this process has none")
        if size < _HEAD.size:
            raise WireError("truncated", f"{size} bytes")
        if size > MAX_SIZE:
            raise WireError("oversized", f"{size} bytes, at most {MAX_SIZE} are taken")
        magic, version, kind, _, ring, session, number, cookie = _HEAD.unpack_from(datagram)
        if magic != MAGIC:
            raise WireError("not_ours", f"begins with {datagram[:4]!r}")
        if summed(datagram) != datagram:
            raise WireError("corrupted", f"{size} bytes with a sum that is not theirs")
        if version != VERSION:
            raise WireError("wrong_version", f"version {version} of a client, this is {VERSION}")
        if ring != self._ring:
            raise WireError("other_ring", f"ring {ring:08x}, this is {self._ring:08x}")
        body = memoryview(datagram)[_HEAD.size :]
        try:
            if kind == ASK and size >= _LEAST:
                asked = _asked.decode(bytes(body).lstrip(b"\0"))
                numbers = [each.request for each in asked.wants]
                if numbers != sorted(set(numbers)):
                    raise ValueError("requests that are not in the order of their numbers")
                return Datagram(kind, session, number, cookie, asked=asked)
            if kind == TELL:
                return Datagram(kind, session, number, cookie, told=_told.decode(body))
        except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
            raise WireError("malformed", str(problem)) from None
        if kind not in (COOKIE, REFUSED) or size != _HEAD.size:
            raise WireError("malformed", f"kind {kind} of {size} bytes")
        return Datagram(kind, session, number, cookie)


def placed(fence: Fence) -> Placed:
    """Return a fence as datagrams have it."""
    by = fence.epoch.by
    return fence.epoch.n, None if by == NOBODY else by, fence.place, fence.turn


def fence_of(placed: Placed) -> Fence:
    """Return the fence that a datagram has."""
    n, by, place, turn = placed
    return Fence(Epoch(n, NOBODY if by is None else by), place, turn)


def session_of(datagram: bytes) -> int:
    """Return the session of a datagram of any version that has a head."""
    return int(_HEAD.unpack_from(datagram)[5])


def is_ask(datagram: bytes) -> bool:
    """Whether a datagram is an ASK, of any version."""
    return len(datagram) >= _LEAST and datagram[3] == ASK
