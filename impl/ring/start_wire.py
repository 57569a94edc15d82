"""The datagrams of processes that start: what they ask each other before they are in a ring.

    head   "RS", version u8, kind u8, crc u32, ring u32, members u32, question u64
    ASK    nothing but zeros up to `ASK_SIZE`, so that an answer to a stranger is not larger
    INFO   msgpack array: who answers, its stage, and its founding or ring

All is big endian; `crc` is the CRC-32 of all other bytes, `ring` that of the ring's name, and
`members` that of the names in the process's list of members, 0 if it has none. An answer brings the
question back, which is made for the endpoint that is asked: so it is none to an earlier process.
Law of this file: `read` returns what obeys this or raises WireError with the reason.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32

import msgspec

from raincheck.impl.errors import WireError
from raincheck.impl.ring_start.events import Info
from raincheck.impl.sealing.head import MAGIC as SEALED
from raincheck.impl.wire.sums import summed

from .frames import VERSION

MAGIC = b"RS"
ASK, INFO = 1, 2
ASK_SIZE = 1400
"""Bytes of a question."""
MAX_SIZE = 32_768
"""The most bytes of an answer."""

_HEAD = struct.Struct(">2sBBIIIQ")
_decoder = msgspec.msgpack.Decoder(Info)
_encode = msgspec.msgpack.Encoder().encode


class Said(NamedTuple):
    """A datagram that could be read; `info` is that of an INFO."""

    question: int
    members: int
    info: Info | None


def members_sum(names: Iterable[str]) -> int:
    """Return the number that stands for a list of members; 0 for none."""
    listed = sorted(names)
    return crc32("\n".join(listed).encode()) or 1 if listed else 0


class StartFrames:
    """Makes and reads the datagrams of one ring's name."""

    def __init__(self, ring: str, members: Iterable[str]) -> None:
        self._ring = crc32(ring.encode())
        self.members = members_sum(members)

    def ask(self, question: int) -> bytes:
        """Return a question."""
        return self._made(ASK, question, bytes(ASK_SIZE - _HEAD.size))

    def tell(self, question: int, info: Info) -> bytes:
        """Return the answer to a question."""
        return self._made(INFO, question, _encode((info.sender, info.stage, sorted(info.ring))))

    def _made(self, kind: int, question: int, body: bytes) -> bytes:
        head = _HEAD.pack(MAGIC, VERSION, kind, 0, self._ring, self.members, question)
        return summed(head + body)

    def read(self, datagram: bytes) -> Said:
        """Read a datagram; raises WireError if that cannot be done."""
        size = len(datagram)
        if datagram[:2] == SEALED:
            raise WireError("sealed", "its sender has a key, this process has none")
        if size < _HEAD.size:
            raise WireError("truncated", f"{size} bytes")
        if size > MAX_SIZE:
            raise WireError("oversized", f"{size} bytes, at most {MAX_SIZE} are taken")
        magic, version, kind, _, ring, members, question = _HEAD.unpack_from(datagram)
        if magic != MAGIC:
            raise WireError("not_ours", f"begins with {datagram[:4]!r}")
        if version != VERSION:
            raise WireError("wrong_version", f"version {version} of a start, this is {VERSION}")
        if summed(datagram) != datagram:
            raise WireError("corrupted", f"{size} bytes with a sum that is not theirs")
        if ring != self._ring:
            raise WireError("other_ring", f"ring {ring:08x}, this is {self._ring:08x}")
        if kind == ASK and size == ASK_SIZE:
            return Said(question, members, None)
        if kind != INFO:
            raise WireError("malformed", f"kind {kind} of {size} bytes")
        try:
            info = _decoder.decode(memoryview(datagram)[_HEAD.size :])
        except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
            raise WireError("malformed", str(problem)) from None
        if (info.stage in ("asking", "left")) != (not info.ring):
            raise WireError("malformed", f"{info.stage}, of {len(info.ring)} founders")
        return Said(question, members, info)
