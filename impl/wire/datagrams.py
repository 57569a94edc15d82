"""The wire format: one datagram is a fixed prefix, one header in msgpack, and a payload area.

    prefix   "RC", version u8, flags u8, group u32, datagram length u32, header length u32
    header   array [tag, source, ...]: one of the structs of `headers.py`
    payloads u32 lengths (little endian) of the header's run, then the bytes (`Payloads`)

The prefix is big endian; `group` is the CRC-32 of the group's name.
Law of this file: `decode` returns a header that obeys its type, with a payload area that is whole,
or raises WireError with the reason to count.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

import msgspec

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Payloads, View

from .headers import (
    DataHeader,
    Excluded,
    FlushCompleted,
    ForwardBody,
    Header,
    JoinRspBody,
    NewViewBody,
    PlacedView,
    UnicastHeader,
)

VERSION = 2
MAGIC = b"RC"
HEADROOM = 512
"""Bytes of a bundle that are reserved for prefix and header."""
REASONS = (
    "truncated",
    "not_ours",
    "wrong_version",
    "refused_version",
    "other_group",
    "oversized",
    "malformed",
)
"""Why a datagram cannot be read."""

_REFUSAL = 1  # flags of the answer to a datagram of another version
_PREFIX = struct.Struct(">2sBBIII")


class Decoded(NamedTuple):
    """A datagram that could be read."""

    header: Header
    payloads: Payloads | None


class Codec:
    """Encodes and decodes the datagrams of one group."""

    def __init__(self, cluster: str, max_datagram: int) -> None:
        self._group = zlib.crc32(cluster.encode())
        self._max = max_datagram
        self._encode = msgspec.msgpack.Encoder().encode
        self._decoder: msgspec.msgpack.Decoder[Header] = msgspec.msgpack.Decoder(Header)

    def encode(self, header: Header, payloads: Payloads | None = None) -> bytes:
        """Return the datagram."""
        encoded = self._encode(header)
        area = payloads.size if payloads is not None else 0
        length = _PREFIX.size + len(encoded) + area
        prefix = _PREFIX.pack(MAGIC, VERSION, 0, self._group, length, len(encoded))
        if payloads is None:
            return prefix + encoded
        return b"".join((prefix, encoded, payloads.area()))

    def refusal(self) -> bytes:
        """Return a bare prefix with this version; every version can read it."""
        return _PREFIX.pack(MAGIC, VERSION, _REFUSAL, self._group, _PREFIX.size, 0)

    def decode(self, datagram: bytes) -> Decoded:
        """Decode a datagram; raises WireError if it is malformed."""
        size = len(datagram)
        if size > self._max:
            raise WireError("oversized", f"{size} bytes, at most {self._max} are taken")
        if size < _PREFIX.size:
            raise WireError("truncated", f"{size} bytes")
        magic, version, flags, group, length, header_length = _PREFIX.unpack_from(datagram)
        if magic != MAGIC:
            raise WireError("not_ours", f"begins with {datagram[:4]!r}")
        if flags == _REFUSAL and group == self._group:
            raise WireError("refused_version", f"version {version}, this is {VERSION}")
        if version != VERSION or flags:
            raise WireError("wrong_version", f"version {version}, this is {VERSION}")
        if group != self._group:
            raise WireError("other_group", f"group {group:08x}, this is {self._group:08x}")
        if length != size:
            raise WireError("truncated", f"{size} bytes of {length}")
        stop = _PREFIX.size + header_length
        if stop > size:
            raise WireError("malformed", f"a header of {header_length} bytes in {size}")
        try:
            header = self._decoder.decode(memoryview(datagram)[_PREFIX.size : stop])
            _check(header)
            return Decoded(header, _payloads(header, datagram, stop))
        except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
            raise WireError("malformed", str(problem)) from None


def _check(header: Header) -> None:
    """Reject views that no member can have sent, beyond what types check."""
    if isinstance(header, Excluded):
        _check_view(header.view)
    elif isinstance(header, UnicastHeader):
        body = header.body
        views: tuple[PlacedView, ...] = ()
        if isinstance(body, JoinRspBody | NewViewBody):
            views = (body.placed,)
        elif isinstance(body, FlushCompleted):
            views = body.piggyback
        for view, endpoints in views:
            _check_view(view)
            if len(endpoints) != len(view.members):
                raise ValueError(f"{len(endpoints)} endpoints for {len(view.members)} members")


def _check_view(view: View) -> None:
    members = set(view.members)
    if not members or len(members) != len(view.members) or not members.issuperset(view.joiners):
        raise ValueError(f"a view cannot be {view}")
    if view.id.coordinator not in members or view.id.counter < 1:
        raise ValueError(f"view {view.id} cannot be that of {view}")


def _payloads(header: Header, datagram: bytes, start: int) -> Payloads | None:
    """Read the payload area of a header that has one; nothing may follow the others."""
    if isinstance(header, DataHeader):
        return Payloads(datagram, start, len(datagram), header.size)
    if isinstance(header, UnicastHeader) and isinstance(header.body, ForwardBody):
        return Payloads(datagram, start, len(datagram), header.body.size)
    if start != len(datagram):
        raise ValueError(f"{len(datagram) - start} bytes follow the header")
    return None
