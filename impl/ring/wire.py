"""The bodies of Raincore's messages: what a frame of the Transport Manager carries.

    size    u32, big endian, of the next part
    fields  msgpack array [tag, roster, ...]: "T", a token (Fig. 6), or "9", a 911 (Fig. 7)
    mail    of a token: the payload area of each batch (`Payloads`), one after the other

`roster` has every member that the message names, and where it is found; all else has members by
their place in it. `to` and `current` are the frame's. Rosters seldom change from one message to the
next, so what was read of the last ones is kept, and a batch is handed on as it came.
Law of this file: `decode` returns a message that a member can have sent, or raises WireError.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Raw

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Endpoint, Payloads
from raincheck.impl.raincore.events import (
    NOBODY,
    Call911,
    Epoch,
    Mail,
    Message,
    Nodelist,
    Settled,
    Token,
)

from .bodies import (
    MAX_NAMED,
    NO_RESERVE,
    Body,
    CallBody,
    Letter,
    LetterBody,
    Letters,
    Named,
    Reserve,
    TokenBody,
    WireEpoch,
)

_SIZE = struct.Struct(">I")
_CACHED = 64


class _Roster(NamedTuple):
    named: tuple[Named, ...]
    members: tuple[Address, ...]


class RaincoreCodec:
    """Encodes and decodes bodies. `place` returns endpoints, which may change with `version`."""

    def __init__(
        self, place: Callable[[Address], Endpoint | None], version: Callable[[], int]
    ) -> None:
        self._place = place
        self._version = version
        self._encode = msgspec.msgpack.Encoder().encode
        self._decoder = msgspec.msgpack.Decoder(TokenBody | CallBody)
        self._roster_decoder = msgspec.msgpack.Decoder(
            Annotated[tuple[Named, ...], Meta(max_length=MAX_NAMED)]
        )
        self._read: dict[bytes, _Roster] = {}
        self._made = Raw(b"")  # the roster of the last token, its places, and when it was made
        self._at: dict[Address, int] = {}
        self._nodelist: Nodelist = ()
        self._at_version = -1
        self.secret = b""
        """The ring's secret, which each token carries."""
        self.token_size = 0
        """Bytes of the last encoded token without its mail."""

    # ------------------------------------------------------------------ encoding

    def encode(
        self,
        message: Message,
        letters: Letters | None = None,
        reserve: Reserve = NO_RESERVE,
        wants: Nodelist = (),
    ) -> bytes:
        """Return the body; `letters` has the batches that a token's mail names, `wants` members of
        its list.
        """
        if isinstance(message, Token):
            return self._encode_token(message, letters or {}, reserve, wants)
        return _SIZE.pack(len(fields := self._encode(self._call(message)))) + fields

    def _encode_token(
        self, token: Token, letters: Letters, reserve: Reserve, wants: Nodelist
    ) -> bytes:
        beside = (reserve, wants, self.secret)
        carried = [letters[mail.origin, mail.k] for mail in token.mail]
        try:
            # Members that were not on the last token are rare.
            if token.nodelist != self._nodelist or self._at_version != self._version():
                raise KeyError
            roster, at = self._made, self._at
            fields = self._encode(self._fields(token, carried, beside, roster, at))
        except KeyError:
            self._nodelist, self._at_version = token.nodelist, self._version()
            self._made, self._at = self._roster(
                token.nodelist,
                token.settled.nodelist,
                token.before.nodelist,
                *token.pending,
                token.seen,
                [mail.origin for mail in token.mail],
                [member for member, _ in token.acks],
                (token.epoch.by, reserve.member),
            )
            roster, at = self._made, self._at
            fields = self._encode(self._fields(token, carried, beside, roster, at))
        self.token_size = len(fields)
        if not carried:
            return _SIZE.pack(len(fields)) + fields
        return b"".join((_SIZE.pack(len(fields)), fields, *[e.payloads.area() for e in carried]))

    @staticmethod
    def _fields(
        token: Token,
        carried: list[Letter],
        beside: tuple[Reserve, Nodelist, bytes],
        roster: Raw,
        at: Mapping[Address, int],
    ) -> TokenBody:
        """Return the token with roster places for members; raises KeyError for an unknown one."""
        reserve, wants, secret = beside
        place = at.__getitem__
        nodelist = tuple(map(place, token.nodelist))
        settled, before = token.settled.nodelist, token.before.nodelist
        return TokenBody(
            roster,
            (token.epoch.n, at[token.epoch.by] + 1),
            token.seq,
            nodelist,
            token.global_view_number,
            (
                token.settled.at,
                nodelist if settled == token.nodelist else tuple(map(place, settled)),
            ),
            (token.before.at, tuple(map(place, before))),
            tuple([tuple(map(place, each)) for each in token.pending]),
            tuple(sorted(map(place, token.seen))),
            tuple(
                [
                    LetterBody(m.ordinal, at[m.origin], m.k, e.first, e.payloads.count,
                            e.payloads.size, e.post)
                    for m, e in zip(token.mail, carried, strict=True)
                ]
            ),
            tuple([(at[member], ordinal) for member, ordinal in token.acks]),
            token.top,
            (at[reserve.member] + 1, reserve.size),
            secret,
            tuple(map(place, wants)),
        )  # fmt: skip

    def _call(self, call: Call911) -> CallBody:
        roster, at = self._roster(
            call.nodelist,
            call.granted,
            (call.orig, call.epoch.by, call.claim.by, call.promised.by),
        )
        return CallBody(
            roster,
            at[call.orig],
            tuple([at[member] for member in call.nodelist]),
            (call.epoch.n, at[call.epoch.by] + 1),
            call.seq,
            call.status,  # type: ignore[arg-type]
            call.attempt,
            call.phase,  # type: ignore[arg-type]
            (call.claim.n, at[call.claim.by] + 1),
            tuple(sorted([at[member] for member in call.granted])),
            (call.promised.n, at[call.promised.by] + 1),
        )

    def _roster(self, *groups: Iterable[Address]) -> tuple[Raw, dict[Address, int]]:
        """Return the roster of all these, and each one's place in it; -1 is nobody's."""
        members = dict.fromkeys(each for each in chain(*groups) if each != NOBODY)
        at = {member: place for place, member in enumerate(members)}
        at[NOBODY] = -1
        place = self._place
        named = [(*member, *(place(member) or ("", 0))) for member in members]
        return Raw(self._encode(named)), at

    # ------------------------------------------------------------------ decoding

    def decode(self, source: Address, to: Address, datagram: bytes, start: int) -> Body:
        """Decode the body of a frame from `source` to `to`; raises WireError if it is malformed."""
        try:
            begin = start + _SIZE.size
            if begin > len(datagram):
                raise ValueError("no body")
            stop = begin + _SIZE.unpack_from(datagram, start)[0]
            if stop > len(datagram):
                raise ValueError(f"fields of {stop - begin} bytes")
            fields = self._decoder.decode(memoryview(datagram)[begin:stop])
            named, members = self._known(fields.roster)
            if isinstance(fields, TokenBody):
                return self._token(fields, named, members, source, to, datagram, stop)
            if stop != len(datagram):
                raise ValueError(f"{len(datagram) - stop} bytes follow a 911")
            return Body(_read_call(fields, members, source, to), named)
        except (msgspec.MsgspecError, ValueError, IndexError, RecursionError) as problem:
            raise WireError("malformed", f"{problem} from {source}") from None

    def _known(self, raw: Raw) -> _Roster:
        data = bytes(raw)
        known = self._read.get(data)
        if known is None:
            named = self._roster_decoder.decode(data)
            members = tuple([Address(each.node, each.incarnation) for each in named])
            if len(set(members)) != len(members):
                raise ValueError("a member is in the roster twice")
            if len(self._read) >= _CACHED:
                self._read.clear()
            known = self._read[data] = _Roster(named, members)
        return known

    def _token(
        self,
        fields: TokenBody,
        named: tuple[Named, ...],
        members: tuple[Address, ...],
        source: Address,
        to: Address,
        datagram: bytes,
        start: int,
    ) -> Body:
        nodelist = _list_of(fields.nodelist, members)
        (at, places), (first, early) = fields.settled, fields.before
        if not nodelist or not first <= at <= fields.global_view_number:
            raise ValueError(f"{nodelist}: {first}, {at}, {fields.global_view_number} are settled")
        seen = frozenset(_list_of(fields.seen, members))
        acks = tuple([(members[place], ordinal) for place, ordinal in fields.acks])
        known = dict(acks)
        if len(known) != len(acks) or list(known) != sorted(known):
            raise ValueError("acks out of order")
        if acks and max(known.values()) > fields.top:
            raise ValueError("an ack above top")
        mail, letters = _read_mail(fields, members, datagram, start)
        token = Token(
            to=to,
            current=source,
            epoch=_epoch(fields.epoch, members),
            seq=fields.seq,
            nodelist=nodelist,
            global_view_number=fields.global_view_number,
            settled=Settled(at, _list_of(places, members)),
            before=Settled(first, _list_of(early, members)),
            pending=tuple([_list_of(each, members) for each in fields.pending]),
            seen=seen,
            mail=mail,
            acks=acks,
            top=fields.top,
        )
        who, size = fields.reserve
        reserve = Reserve(members[who - 1], size) if who else NO_RESERVE
        wants = _list_of(fields.wants, members)
        return Body(token, named, letters, reserve, fields.secret, wants)


def _read_mail(
    fields: TokenBody, members: tuple[Address, ...], datagram: bytes, start: int
) -> tuple[tuple[Mail, ...], Letters]:
    if not fields.mail:
        if start != len(datagram):
            raise ValueError(f"{len(datagram) - start} bytes follow a token without mail")
        return (), {}
    letters = {}
    mail = []
    before = 0
    for ordinal, place, k, first, count, size, post in fields.mail:
        if not before < ordinal <= fields.top:
            raise ValueError(f"ordinal {ordinal} after {before}, top {fields.top}")
        before, origin = ordinal, members[place]
        if start + size > len(datagram):
            raise ValueError(f"a batch of {size} bytes, {len(datagram) - start} are left")
        if post and count != 1:
            raise ValueError(f"a post of {count} messages")
        letters[origin, k] = Letter(first, Payloads(datagram, start, start + size, count), post)
        mail.append(Mail(ordinal, origin, k))
        start += size
    if start != len(datagram) or len(letters) != len(mail):
        raise ValueError(f"{len(datagram) - start} bytes follow {len(letters)} batches")
    return tuple(mail), letters


def _read_call(
    fields: CallBody, members: tuple[Address, ...], source: Address, to: Address
) -> Call911:
    nodelist, orig = _list_of(fields.nodelist, members), members[fields.orig]
    if nodelist and orig not in nodelist:
        raise ValueError(f"a 911 that never comes back to {orig}")
    return Call911(
        to,
        orig,
        source,
        nodelist,
        _epoch(fields.epoch, members),
        fields.seq,
        fields.status,
        fields.attempt,
        fields.phase,
        _epoch(fields.claim, members),
        frozenset(_list_of(fields.granted, members)),
        _epoch(fields.promised, members),
    )


def _list_of(places: tuple[int, ...], members: tuple[Address, ...]) -> Nodelist:
    if len(set(places)) != len(places):
        raise ValueError(f"members named twice: {places}")
    return tuple([members[place] for place in places])


def _epoch(wire: WireEpoch, members: tuple[Address, ...]) -> Epoch:
    n, who = wire
    if (n == 0) != (who == 0):
        raise ValueError(f"epoch {n} of {who}")
    return Epoch(n, members[who - 1] if who else NOBODY)
