"""The frames of a ring: a fixed prefix, an envelope in msgpack, and for a message its body.

    prefix    "RN", version u8, kind u8, crc u32,
              ring u32, length u32, number u64, mask u64, envelope u16
    envelope  [source, to]: Addresses; HELLO and HERE are to nobody in particular
    body      of a MESSAGE: see `wire.py`; of HERE: a cookie, u64;
              of an ACK to a guest: the ring's secret

The prefix is big endian; `crc` is the CRC-32 of all other bytes (under a key, whose tag is better,
0), `ring` that of the ring's name,
and `number` counts the messages from `source` to `to`. An ACK has the highest number that arrived
and a mask of the 63 up to it. The mask of HELLO and HERE is a question, that of a MESSAGE a proof
or a cookie (`door.py`); that of REFUSED, the reason. The number of CLOSED is that of the last
message to the receiver. Magic and version stand there in each version.
Law of this file: `read` returns a frame that obeys its type or raises WireError with the reason.
"""

from __future__ import annotations

import struct
from typing import Annotated, NamedTuple, TypeAlias
from zlib import crc32

import msgspec
from msgspec import Meta

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address
from raincheck.impl.sealing.head import MAGIC as SEALED

from .door import SECRET

VERSION = 6
MAGIC = b"RN"
WINDOW = 63
"""The number of message numbers of one sender that are remembered to detect duplicates."""
Mask: TypeAlias = Annotated[int, Meta(ge=0, le=(1 << WINDOW) - 1)]
"""Which of the last `WINDOW` numbers have arrived; bit 0 is the highest one."""
REASONS = (
    "truncated",
    "not_ours",
    "sealed",
    "wrong_version",
    "corrupted",
    "other_ring",
    "oversized",
    "malformed",
)
"""Why a frame cannot be read."""

MESSAGE, ACK, GONE, HELLO, HERE, REFUSED, WANTED, CLOSED = range(1, 9)
"""Kinds: a message; what has arrived; "that life of mine is over"; "are you a member?"; "I am";
"you may not join"; "I want the token"; "I take no more messages"."""
NOT_ADMITTED, NAME_TAKEN = 1, 2
"""Reasons of REFUSED; with `NAME_TAKEN` the number is the incarnation that has the name."""
_COOKIE = struct.Struct(">Q")
_BODIES = {HERE: (_COOKIE.size,), ACK: (0, SECRET)}  # bytes of the body of kinds that have one

PREFIX = struct.Struct(">2sBBIIIQQH")
_HEAD = struct.Struct(">2sBB")  # what stands before the checksum
_REST = struct.Struct(">IIQQH")  # ... and behind it
_MAX_NUMBER = 1 << 60
_MAX_MASK = (1 << WINDOW) - 1
_CACHED = 1024  # cached envelopes


class Frame(NamedTuple):
    """A frame that could be read."""

    kind: int
    source: Address
    to: Address | None
    number: int
    mask: int
    datagram: bytes
    body: int
    """The offset of the body in the datagram."""


def cookie_of(here: Frame) -> int:
    """Return the cookie that a HERE gives; 0 if no frame can bring it back."""
    (cookie,) = _COOKIE.unpack_from(here.datagram, here.body)
    return int(cookie) if cookie <= _MAX_MASK else 0


class Frames:
    """Makes and reads the frames of one ring."""

    def __init__(self, ring: str, max_datagram: int, *, sums: bool = True) -> None:
        self._sums = sums
        self._ring = crc32(ring.encode())
        self._max = max_datagram
        self._encode = msgspec.msgpack.Encoder().encode
        self._decoder = msgspec.msgpack.Decoder(tuple[Address, Address | None])
        self._read: dict[bytes, tuple[Address, Address | None]] = {}
        self._made: dict[tuple[Address, Address | None], bytes] = {}

    def make(
        self,
        kind: int,
        source: Address,
        to: Address | None,
        number: int = 0,
        mask: int = 0,
        body: bytes = b"",
    ) -> bytes:
        """Return the frame; raises ValueError for a number that no frame can have."""
        if not (0 <= number <= _MAX_NUMBER and 0 <= mask <= _MAX_MASK):
            raise ValueError(f"number {number} or mask {mask} is out of range")
        envelope = self._made.get((source, to))
        if envelope is None:
            if len(self._made) >= _CACHED:
                self._made.clear()
            envelope = self._made[source, to] = self._encode((source, to))
        size = PREFIX.size + len(envelope) + len(body)
        if size > self._max:
            raise ValueError(f"a frame of {size} bytes, at most {self._max} are taken")
        head = _HEAD.pack(MAGIC, VERSION, kind)
        rest = _REST.pack(self._ring, size, number, mask, len(envelope)) + envelope
        crc = crc32(body, crc32(rest, crc32(head))) if self._sums else 0
        return b"".join((head, crc.to_bytes(4, "big"), rest, body))

    def here(self, source: Address, epoch: int, question: int, cookie: int) -> bytes:
        """Return the answer to a HELLO."""
        return self.make(HERE, source, None, epoch, question, _COOKIE.pack(cookie))

    def read(self, datagram: bytes) -> Frame:
        """Read a frame; raises WireError if that cannot be done."""
        size = len(datagram)
        if size > self._max:
            raise WireError("oversized", f"{size} bytes, at most {self._max} are taken")
        if datagram[:2] == SEALED:
            raise WireError("sealed", "its sender has a key, this process has none")
        if datagram[:2] != MAGIC[:size]:
            raise WireError("not_ours", f"begins with {bytes(datagram[:4])!r}")
        if size > 2 and datagram[2] != VERSION:
            raise WireError("wrong_version", f"version {datagram[2]}, this is {VERSION}")
        if size < PREFIX.size:
            raise WireError("truncated", f"{size} bytes")
        _, _, kind, crc, ring, length, number, mask, envelope = PREFIX.unpack_from(datagram)
        if length != size:
            raise WireError("truncated", f"{size} bytes of {length}")
        if self._sums:
            view = memoryview(datagram)
            found = crc32(view[_HEAD.size + 4 :], crc32(view[: _HEAD.size]))
            if found != crc:
                raise WireError("corrupted", f"checksum {crc:08x}, of its bytes {found:08x}")
        if ring != self._ring:
            raise WireError("other_ring", f"ring {ring:08x}, this is {self._ring:08x}")
        stop = PREFIX.size + envelope
        if stop > size:
            raise WireError("malformed", f"an envelope of {envelope} bytes in {size}")
        source, to = self._envelope(datagram[PREFIX.size : stop])
        if not MESSAGE <= kind <= CLOSED:
            raise WireError("malformed", f"kind {kind}")
        if (to is None) != (kind in (HELLO, HERE)):
            raise WireError("malformed", f"kind {kind} to {to}")
        if not (kind == MESSAGE) <= number <= _MAX_NUMBER:
            raise WireError("malformed", f"number {number}")
        if mask > _MAX_MASK:  # no answer could repeat it
            raise WireError("malformed", f"mask {mask:x}")
        if kind != MESSAGE and size - stop not in _BODIES.get(kind, (0,)):
            raise WireError("malformed", f"{size - stop} bytes follow the envelope")
        return Frame(kind, source, to, number, mask, datagram, stop)

    def _envelope(self, data: bytes) -> tuple[Address, Address | None]:
        known = self._read.get(data)
        if known is None:
            try:
                known = self._decoder.decode(data)
            except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
                raise WireError("malformed", str(problem)) from None
            if len(self._read) >= _CACHED:
                self._read.clear()
            self._read[data] = known
        return known
