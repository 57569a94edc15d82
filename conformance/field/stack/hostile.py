"""Datagrams that a stranger makes up: well-formed ones of every kind, and captured ones changed.

The fields of well-formed ones are drawn from what a member would believe, or from the ends of their
types.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from msgspec import Meta

from raincheck.impl.asking import wire
from raincheck.impl.messages import Address, Payloads
from raincheck.impl.wire.datagrams import Codec, sealed
from raincheck.impl.wire.headers import LANES, Header, Sized, UnicastHeader

KINDS = [*get_args(Header), *[UnicastHeader] * 5]
_HEAD = 20  # bytes before the content
_QUESTIONS = 0.05  # of the well-formed datagrams


class Drawer:
    """Draws datagrams; `lives` and `hosts` are those that the group knows, and a few others."""

    def __init__(self, codec: Codec, lives: Sequence[Address], hosts: Sequence[str]) -> None:
        self._codec = codec
        self._lives = lives
        self._hosts = hosts

    def value(self, kind: Any, lots: Random) -> Any:
        """Draw a value of that type, more often one that a member would believe."""
        origin, args = get_origin(kind), get_args(kind)
        if kind is Address:
            return lots.choice(self._lives)
        if kind is Header:
            return self.value(lots.choice(KINDS), lots)
        if origin is Annotated:
            return self._bounded(args[0], args[1], lots)
        if origin is UnionType:
            return self.value(lots.choice(args), lots)
        if origin is tuple and args[-1] is Ellipsis:
            return tuple(self.value(args[0], lots) for _ in range(lots.choice((0, 1, 2, 3, 5))))
        if origin is tuple:
            return tuple(self.value(arg, lots) for arg in args)
        if kind is bool:
            return lots.random() < 0.5
        if kind is bytes:
            return lots.randbytes(lots.choice((0, 1, 100)))
        hints = get_type_hints(kind, include_extras=True)
        drawn = {
            name: self.value(hint, lots) for name, hint in hints.items() if not name.startswith("_")
        }
        if "lane" in drawn:
            drawn["lane"] = lots.choice(LANES)
        return kind(**drawn)

    def _bounded(self, kind: Any, meta: Meta, lots: Random) -> Any:
        """Draw a number or text within its bounds."""
        if kind is int:
            low = meta.ge or 0
            high = meta.le if meta.le is not None else int(meta.lt or 0) - 1
            return min(high, low + lots.choice((0, 0, 1, 1, 2, 3, 7, 1 << 20, high - low)))
        if kind is str:
            return lots.choice(self._hosts)
        return self.value(kind, lots)

    def well_formed(self, there: Address, lots: Random) -> bytes:
        """Draw a datagram that the member of that address can read, or its desk."""
        if lots.random() < _QUESTIONS:
            return question(lots)
        header = self.value(Header, lots)
        payloads = None
        if isinstance(header, UnicastHeader) and lots.random() < 0.9:  # past UNICAST
            connection, seqno = lots.choice((1, 1 << 59)), lots.choice((1, 2, 3, 9))
            header = UnicastHeader(
                header.source, there, header.lane, connection, seqno, header.body
            )
        sized = header.body if isinstance(header, UnicastHeader) else header
        if isinstance(sized, Sized):
            payloads = Payloads.pack([b"evil"] * min(sized.size, 50))
        return self._codec.encode(header, payloads)


def question(lots: Random) -> bytes:
    """Draw a datagram of a live question."""
    kind = lots.choice((wire.ASK, wire.ASK, wire.COOKIE, wire.REFUSED, wire.ANSWER))
    numbers = (0, 1, lots.getrandbits(64), (1 << 64) - 1)
    body = lots.randbytes(lots.choice((0, 1, 100, 1500))) if kind == wire.ANSWER else b""
    return wire.made(kind, lots.choice(numbers), lots.choice(numbers), body)


def changed(captured: bytes, lots: Random) -> bytes:
    """Change a few bytes of a captured datagram, and correct its sum."""
    data = bytearray(captured)
    for _ in range(lots.choice((1, 1, 2, 5))):
        data[lots.randrange(min(_HEAD, len(data) - 1), len(data))] = lots.randrange(256)
    return sealed(bytes(data))
