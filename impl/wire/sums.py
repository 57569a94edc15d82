"""The CRC-32 of datagrams that begin with magic, version and kind, and then have it."""

from __future__ import annotations

from zlib import crc32

_BEFORE = 4  # bytes of magic, version and kind
_SIZE = 4


def summed(datagram: bytes) -> bytes:
    """Return the datagram with the sum of all its other bytes in its place, which is big endian."""
    head, rest = datagram[:_BEFORE], datagram[_BEFORE + _SIZE :]
    return head + crc32(rest, crc32(head)).to_bytes(_SIZE, "big") + rest
