"""The messages of state transfer on the wire; UNICAST carries them on its lane STATE.

A lane of their own, so that no chunk holds up a view, and a single one, so that they arrive in
order. A joiner takes nothing from it before JOIN_RSP. A chunk's bytes stand in its header.
"""

from __future__ import annotations

import zlib
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from raincheck.impl.messages import Address, Count

_Number: TypeAlias = Annotated[int, Meta(ge=1, le=1 << 60)]
_Crc: TypeAlias = Annotated[int, Meta(ge=0, lt=1 << 32)]


class StateAsk(Struct, frozen=True, array_like=True, tag="SA", gc=False):
    """ASK: I want the group's state."""


class StateGo(Struct, frozen=True, array_like=True, tag="SG", gc=False):
    """GO: the group is flushed at `cut`; one of `providers` has the state."""

    cut: Count
    providers: tuple[Address, ...]


class StateDone(Struct, frozen=True, array_like=True, tag="SD", gc=False):
    """DONE: I have the state, or (not `ok`) have given up."""

    ok: bool


class StateRequest(Struct, frozen=True, array_like=True, tag="SR", gc=False):
    """REQUEST: send me your state, chunks 1 .. `upto` for now."""

    transfer: _Number
    upto: _Number


class StateChunk(Struct, frozen=True, array_like=True, tag="SC", gc=False):
    """CHUNK: part `number` of the state at `cut`; `crc` covers all of it, see `checksum`."""

    transfer: _Number
    number: _Number
    cut: Count
    crc: _Crc
    last: bool
    payload: bytes


def checksum(transfer: int, number: int, cut: int, last: bool, payload: bytes) -> int:
    """Return the CRC-32 of a chunk, of its fields and its bytes."""
    what = b"%d %d %d %d" % (transfer, number, cut, last)
    return zlib.crc32(payload, zlib.crc32(what))


class StateCredit(Struct, frozen=True, array_like=True, tag="SW", gc=False):
    """CREDIT: you may send chunks up to `upto`."""

    transfer: _Number
    upto: _Number


class StateRefuse(Struct, frozen=True, array_like=True, tag="SX", gc=False):
    """REFUSE: I cannot give you my state."""

    transfer: _Number


class StateCancel(Struct, frozen=True, array_like=True, tag="SZ", gc=False):
    """CANCEL: I want no more of it."""

    transfer: _Number


StateBody: TypeAlias = (
    StateAsk
    | StateGo
    | StateDone
    | StateRequest
    | StateChunk
    | StateCredit
    | StateRefuse
    | StateCancel
)
