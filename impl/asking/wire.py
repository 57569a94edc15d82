"""The datagrams of a live question, the same for every kind of member and every version of it.

    head     "RA", version u8, kind u8, sum u32, question u64, number u64
    ASK      a question; number: the cookie, 0 at first; zeros up to `ASK_SIZE`
    COOKIE   number: the cookie that the next ASK brings along
    REFUSED  number: the reason, `NOT_ALLOWED` or `OTHER_VERSION`
    ANSWER   the body is the answer

All is big endian, and the sum is the CRC-32 of the other bytes. COOKIE and REFUSED, which go to who
has not proved where it is, are shorter than ASK. The head is the same in each version.
Law of this file: `read` returns what obeys this or raises WireError with the reason to count.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from raincheck.impl.errors import WireError
from raincheck.impl.wire.sums import summed

VERSION = 1
MAGIC = b"RA"
ASK, COOKIE, REFUSED, ANSWER = range(1, 5)
NOT_ALLOWED, OTHER_VERSION = 1, 2
ASK_SIZE = 128
"""Bytes of an ASK."""
MAX_ANSWER = 60_000
"""The most bytes of an answer: one datagram carries it, under a key too."""

_HEAD = struct.Struct(">2sBBIQQ")
_SIZES = {
    ASK: (ASK_SIZE, ASK_SIZE),
    COOKIE: (_HEAD.size, _HEAD.size),
    REFUSED: (_HEAD.size, _HEAD.size),
    ANSWER: (_HEAD.size, _HEAD.size + MAX_ANSWER),
}


class Asked(NamedTuple):
    """A datagram that could be read."""

    kind: int
    question: int
    number: int
    body: bytes


def is_of_a_question(datagram: bytes) -> bool:
    """Whether a datagram belongs to a live question."""
    return datagram.startswith(MAGIC)


def made(kind: int, question: int, number: int = 0, body: bytes = b"") -> bytes:
    """Return the datagram; raises ValueError for an answer that is too large."""
    if kind == ASK:
        body = bytes(ASK_SIZE - _HEAD.size)
    if len(body) > MAX_ANSWER:
        raise ValueError(f"an answer of {len(body)} bytes, at most {MAX_ANSWER} are sent")
    return summed(_HEAD.pack(MAGIC, VERSION, kind, 0, question, number) + body)


def read(datagram: bytes) -> Asked:
    """Read a datagram; raises WireError if that cannot be done."""
    size = len(datagram)
    if size < _HEAD.size:
        raise WireError("truncated", f"{size} bytes")
    magic, version, kind, _, question, number = _HEAD.unpack_from(datagram)
    if magic != MAGIC:
        raise WireError("not_ours", f"begins with {datagram[:4]!r}")
    if summed(datagram) != datagram:
        raise WireError("corrupted", f"{size} bytes with a sum that is not theirs")
    if version != VERSION:
        raise WireError("wrong_version", f"version {version} of a question, this is {VERSION}")
    least, most = _SIZES.get(kind, (size + 1, 0))
    if not least <= size <= most:
        raise WireError("malformed", f"kind {kind} of {size} bytes")
    return Asked(kind, question, number, datagram[_HEAD.size :])


def question_of(datagram: bytes) -> int:
    """Return the question of a datagram of any version that has a head."""
    return int(_HEAD.unpack_from(datagram)[4])


def refusal_of_version(datagram: bytes) -> bytes:
    """Return the answer to an ASK of another version; empty if it may be none, or is shorter."""
    if len(datagram) < ASK_SIZE or datagram[3] != ASK:
        return b""
    return made(REFUSED, question_of(datagram), OTHER_VERSION)
