"""The wire format: one datagram is a fixed prefix, one header in msgpack, and a payload area.

    prefix   "RC", version u8, flags u8, group u32, datagram length u32, header length u32
    sum      CRC-32 u32 of all other bytes; it stays at this place in later versions (under a key,
             whose tag is better, 0)
    header   array [tag, source, ...]: one of the structs of `headers.py`
    payloads u32 lengths (little endian) of the header's run, then the bytes (`Payloads`)

Prefix and sum are big endian; `group` is the CRC-32 of the group's name.
Law of this file: `decode` returns a header that obeys its type, with a payload area that is whole,
or raises WireError with the reason to count.
"""

from __future__ import annotations

import ipaddress
import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Endpoint, Payloads, View
from raincheck.impl.sealing.head import MAGIC as SEALED

from .headers import (
    Excluded,
    FlushCompleted,
    Header,
    JoinHint,
    JoinRspBody,
    MergeMessage,
    NewViewBody,
    PlacedView,
    Sized,
    UnicastHeader,
)
from .merge_bodies import InstallMergeView, MergeBody, MergeRsp, Side

VERSION = 9
MAGIC = b"RC"
LARGEST = 60_000
"""Bytes of a datagram that every member takes if it has no payloads, however small its bundles are:
views, digests and tables grow with the group, and are not cut. Every transport carries as many.
"""
HEADROOM = 512
"""Bytes of a bundle that are reserved for prefix and header."""
REASONS = (
    "truncated",
    "not_ours",
    "sealed",
    "corrupted",
    "wrong_version",
    "refused_version",
    "other_group",
    "oversized",
    "malformed",
)
"""Why a datagram cannot be read."""

_REFUSAL = 1  # flags of the answer to a datagram of another version
_PREFIX = struct.Struct(">2sBBIII")
_SUM = struct.Struct(">I")
_NO_SUM = bytes(_SUM.size)
_START = _PREFIX.size + _SUM.size
_SUMMED = 3  # the first version with a sum


class Decoded(NamedTuple):
    """A datagram that could be read."""

    header: Header
    payloads: Payloads | None


class Codec:
    """Encodes and decodes the datagrams of one group."""

    def __init__(self, cluster: str, max_bundle: int, *, sums: bool = True) -> None:
        self._sums = sums
        self._group = zlib.crc32(cluster.encode())
        self._max_bundle = max_bundle
        self._max = max(max_bundle, LARGEST)
        self._encode = msgspec.msgpack.Encoder().encode
        self._decoder: msgspec.msgpack.Decoder[Header] = msgspec.msgpack.Decoder(Header)

    def encode(self, header: Header, payloads: Payloads | None = None) -> bytes:
        """Return the datagram."""
        encoded = self._encode(header)
        size = payloads.size if payloads is not None else 0
        length = _START + len(encoded) + size
        prefix = _PREFIX.pack(MAGIC, VERSION, 0, self._group, length, len(encoded))
        if not self._sums:
            content = () if payloads is None else (payloads.area(),)
            return b"".join((prefix, _NO_SUM, encoded, *content))
        checksum = zlib.crc32(encoded, zlib.crc32(prefix))
        if payloads is None:
            return b"".join((prefix, _SUM.pack(checksum), encoded))
        area = payloads.area()
        checksum = zlib.crc32(area, checksum)
        return b"".join((prefix, _SUM.pack(checksum), encoded, area))

    def refusal(self) -> bytes:
        """Return a bare prefix with this version, and its sum; every version can read it."""
        return sealed(_PREFIX.pack(MAGIC, VERSION, _REFUSAL, self._group, _START, 0))

    def decode(self, datagram: bytes) -> Decoded:
        """Decode a datagram; raises WireError if it is malformed."""
        size = len(datagram)
        if size > self._max:
            raise WireError("oversized", f"{size} bytes, at most {self._max} are taken")
        if size < _PREFIX.size:
            raise WireError("truncated", f"{size} bytes")
        magic, version, flags, group, length, header_length = _PREFIX.unpack_from(datagram)
        if magic == SEALED:
            raise WireError("sealed", "its sender has a key, this process has none")
        if magic != MAGIC:
            raise WireError("not_ours", f"begins with {datagram[:4]!r}")
        if version >= _SUMMED and (length != size or size < _START):
            raise WireError("truncated", f"{size} bytes of {length}")
        # Earlier versions have no sum; but a version that was damaged is none of them.
        summed = version >= _SUMMED or (size >= _START and _intact(_of_this_version(datagram)))
        if summed and self._sums and not _intact(datagram):
            raise WireError("corrupted", f"{size} bytes with a sum that is not theirs")
        if flags == _REFUSAL and group == self._group:
            raise WireError("refused_version", f"version {version}, this is {VERSION}")
        if version != VERSION or flags:
            raise WireError("wrong_version", f"version {version}, this is {VERSION}")
        if group != self._group:
            raise WireError("other_group", f"group {group:08x}, this is {self._group:08x}")
        stop = _START + header_length
        if stop > size:
            raise WireError("malformed", f"a header of {header_length} bytes in {size}")
        try:
            header = self._decoder.decode(memoryview(datagram)[_START:stop])
            _check(header)
            payloads = _payloads(header, datagram, stop)
        except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
            raise WireError("malformed", str(problem)) from None
        if payloads is not None and size > self._max_bundle:
            raise WireError("oversized", f"a bundle of {size} bytes, at most {self._max_bundle}")
        return Decoded(header, payloads)


def sealed(datagram: bytes) -> bytes:
    """Return the datagram with the sum of its other bytes in its place."""
    checksum = _SUM.pack(_checksum(datagram))
    return datagram[: _PREFIX.size] + checksum + datagram[_START:]


def _checksum(datagram: bytes) -> int:
    return zlib.crc32(memoryview(datagram)[_START:], zlib.crc32(datagram[: _PREFIX.size]))


def _intact(datagram: bytes) -> bool:
    """Whether the sum is that of the other bytes."""
    found: int = _SUM.unpack_from(datagram, _PREFIX.size)[0]
    return found == _checksum(datagram)


def _of_this_version(datagram: bytes) -> bytes:
    """The same bytes with this version."""
    return datagram[:2] + bytes((VERSION,)) + datagram[3:]


def _check(header: Header) -> None:
    """Reject views that no member can have sent, beyond what types check."""
    if isinstance(header, Excluded):
        _check_view(header.view)
        _check_place((header.host, header.port))
    elif isinstance(header, MergeMessage):
        _check_merge(header.body)
    elif isinstance(header, JoinHint):
        _check_place((header.host, header.port))
    elif isinstance(header, UnicastHeader):
        body = header.body
        views: tuple[PlacedView, ...] = ()
        if isinstance(body, JoinRspBody | NewViewBody):
            views = (body.placed,)
        elif isinstance(body, FlushCompleted):
            views = body.piggyback
        for view, endpoints, _, sides in views:
            _check_view(view)
            _check_places(view.members, endpoints)
            for side in sides:
                _check_side(side)


def _check_merge(body: MergeBody) -> None:
    if isinstance(body, InstallMergeView):
        _check_view(body.view)
        for side in body.sides:
            _check_side(side)
    elif isinstance(body, MergeRsp) and body.side is not None:
        _check_side(body.side)


def _check_side(side: Side) -> None:
    members = set(side.members)
    if side.coordinator not in members or len(members) != len(side.members):
        raise ValueError(f"{side.coordinator} cannot coordinate {side.members}")
    if side.view.counter < 1:
        raise ValueError(f"no view is {side.view}")
    _check_places(side.members, side.places)


def _check_places(members: Sequence[Address], places: Sequence[Endpoint]) -> None:
    if len(places) != len(members):
        raise ValueError(f"{len(places)} endpoints for {len(members)} members")
    for endpoint in places:
        _check_place(endpoint)


def _check_place(endpoint: Endpoint) -> None:
    """Reject host names: to look one up would block the loop. Port 0 stands for no place."""
    if endpoint[1]:
        ipaddress.ip_address(endpoint[0])


def _check_view(view: View) -> None:
    members = set(view.members)
    if not members or len(members) != len(view.members) or not members.issuperset(view.joiners):
        raise ValueError(f"a view cannot be {view}")
    if view.id.coordinator not in members or view.id.counter < 1:
        raise ValueError(f"view {view.id} cannot be that of {view}")


def _payloads(header: Header, datagram: bytes, start: int) -> Payloads | None:
    """Read the payload area of a header that has one; nothing may follow the others."""
    sized = header.body if isinstance(header, UnicastHeader) else header
    if isinstance(sized, Sized):
        return Payloads(datagram, start, len(datagram), sized.size)
    if start != len(datagram):
        raise ValueError(f"{len(datagram) - start} bytes follow the header")
    return None
