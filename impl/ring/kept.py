"""The state that a member of a ring keeps for its next process, as bytes.

    prefix  "RNK", version u8, CRC-32 u32 of the rest
    rest    msgpack array: the core's variables, the mail, and what the Transport Manager remembers

Law of this file: `restore` brings a node back exactly as it was kept, or raises ConfigError.
"""

from __future__ import annotations

import struct
import zlib
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct

from raincheck.impl.errors import ConfigError, WireError
from raincheck.impl.messages import Address
from raincheck.impl.raincore.core import Raincore
from raincheck.impl.raincore.events import NO_TOKEN, NOBODY, Epoch, Nodelist, Token

from .bodies import Number, Positive
from .mailbox import Mailbox
from .transport_peers import Kept
from .wire import RaincoreCodec

VERSION = 1
MAGIC = b"RNK"

_PREFIX = struct.Struct(">3sBI")
_Addresses: TypeAlias = tuple[Address, ...]
_Epoch: TypeAlias = tuple[Number, Address | None]
_State: TypeAlias = Annotated[str, Meta(max_length=16)]


class _Core(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    me: Address
    up: _State
    view_state: _State
    token_state: _State
    global_view: Raw
    global_view_number: Number
    reserved: Number
    to: Address | None
    current: Address | None
    token: bytes  # as on the wire; empty: none
    new_nodes: _Addresses
    promised: _Epoch
    attempt: Number
    phase: _State
    wanted: _Epoch
    heard: Number
    contacts: _Addresses
    leaving: bool
    outbox: Number
    said: Number
    last_ordinal: Number
    first: Positive
    manager: Kept
    session: Number = 0  # a state kept by earlier ones has none


class Keeper:
    """Encodes the state of one member that must survive a restart, and decodes it."""

    def __init__(self, me: Address, codec: RaincoreCodec) -> None:
        self._me = me
        self._codec = codec
        self._encode = msgspec.msgpack.Encoder().encode
        self.session = 0
        """The session that was kept of the member's locks."""
        self._views: tuple[Nodelist, ...] = ()  # the last encoded history
        self._encoded = Raw(self._encode(()))

    def state(self, core: Raincore, mailbox: Mailbox, manager: Kept, session: int) -> bytes:
        """Return the encoded state."""
        if core.global_view is not self._views:
            self._views = core.global_view
            self._encoded = Raw(self._encode(core.global_view))
        token = core.last_token
        body = b""
        if token != NO_TOKEN:
            body = self._codec.encode(token, mailbox.letters, mailbox.reserve)
        kept = self._encode(
            _Core(
                core.me,
                core.up,
                core.view_state,
                core.token_state,
                self._encoded,
                core.global_view_number,
                core.reserved,
                _somebody(token.to),
                _somebody(token.current),
                body,
                core.new_nodes,
                _epoch(core.promised),
                core.attempt,
                core.phase,
                _epoch(core.wanted),
                core.heard,
                core.contacts,
                core.leaving,
                core.outbox,
                core.said,
                core.last_ordinal,
                mailbox.first,
                manager,
                session,
            )
        )
        return _PREFIX.pack(MAGIC, VERSION, zlib.crc32(kept)) + kept

    def restore(self, data: bytes, core: Raincore, mailbox: Mailbox) -> Kept:
        """Give a fresh core and mailbox what was kept; the process is down until it recovers.

        Raises ConfigError where it is damaged, of another version, or of another member.
        """
        try:
            kept = _read(data)
            if kept.me != self._me:
                raise ValueError(f"it is that of {kept.me}, not of {self._me}")
            global_view = msgspec.msgpack.decode(kept.global_view, type=tuple[_Addresses, ...])
            token: Token = NO_TOKEN
            if kept.token:
                body = self._codec.decode(kept.current or NOBODY, kept.to or NOBODY, kept.token, 0)
                if not isinstance(body.message, Token):
                    raise ValueError("its token is none")
                token = body.message
                mailbox.take(body.letters)
                mailbox.reserve = body.reserve
                self._codec.secret = body.secret
        except (ValueError, WireError, msgspec.MsgspecError, RecursionError) as problem:
            raise ConfigError(
                f"the kept state of {self._me} cannot be used: {problem}; "
                f"remove it, and join as a new member"
            ) from None
        core.up = "down" if kept.up == "up" else kept.up
        core.view_state = kept.view_state
        core.token_state = kept.token_state
        core.global_view = global_view
        core.global_view_number = kept.global_view_number
        core.reserved = kept.reserved
        core.last_token = token
        core.new_nodes = kept.new_nodes
        core.promised = Epoch(kept.promised[0], kept.promised[1] or NOBODY)
        core.attempt = kept.attempt
        core.phase = kept.phase
        core.wanted = Epoch(kept.wanted[0], kept.wanted[1] or NOBODY)
        core.heard = kept.heard
        core.contacts = kept.contacts
        core.leaving = kept.leaving
        core.outbox = kept.outbox
        core.said = kept.said
        core.last_ordinal = kept.last_ordinal
        mailbox.first = kept.first
        self.session = kept.session
        return kept.manager


def _read(data: bytes) -> _Core:
    if len(data) < _PREFIX.size:
        raise ValueError(f"it has only {len(data)} bytes")
    magic, version, crc = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise ValueError(f"it begins with {data[:4]!r}")
    if version != VERSION:
        raise ValueError(f"it has version {version}, this is {VERSION}")
    if zlib.crc32(memoryview(data)[_PREFIX.size :]) != crc:
        raise ValueError("its checksum does not match")
    return msgspec.msgpack.decode(memoryview(data)[_PREFIX.size :], type=_Core)


def _somebody(member: Address) -> Address | None:
    return member if member != NOBODY else None


def _epoch(epoch: Epoch) -> _Epoch:
    return epoch.n, _somebody(epoch.by)
