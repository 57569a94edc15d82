"""A token and a 911 on the wire, as msgspec structs, with the data that rides beside them.

Members are places in the roster, which every message begins with. Law of this file: types and
bounds only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, TypeAlias

from msgspec import Meta, Raw, Struct

from raincheck.impl.messages import Address, Name, Payloads
from raincheck.impl.raincore.events import LIMIT, NOBODY, ZERO, Call911, Message, Nodelist

from .door import SECRET

MAX_NAMED = 1024
"""The most members that one message can name."""
LETTER_OVERHEAD = 48
"""Bytes on a token that suffice for a batch beside its payload area."""

Number: TypeAlias = Annotated[int, Meta(ge=0, le=LIMIT)]
Positive: TypeAlias = Annotated[int, Meta(ge=1, le=LIMIT)]
Place: TypeAlias = Annotated[int, Meta(ge=0, lt=MAX_NAMED)]
Places: TypeAlias = Annotated[tuple[Place, ...], Meta(max_length=MAX_NAMED)]
Maybe: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_NAMED)]
"""A place in the roster plus one, or 0 for nobody."""
Host: TypeAlias = Annotated[str, Meta(max_length=64)]
Port: TypeAlias = Annotated[int, Meta(ge=0, le=65_535)]
WireEpoch: TypeAlias = tuple[Number, Maybe]


class Named(NamedTuple):
    """A member in a roster; its port is 0 where its endpoint is not known."""

    node: Name
    incarnation: Number
    host: Host
    port: Port


class LetterBody(NamedTuple):
    """A batch: its mail, its first message's number, how many messages and bytes follow, and
    whether it is a post of LOCKS."""

    ordinal: Positive
    origin: Place
    k: Positive
    first: Positive
    messages: Positive
    size: Annotated[int, Meta(ge=0, le=65_536)]
    post: bool = False  # a state kept by earlier ones has none


class TokenBody(Struct, frozen=True, array_like=True, tag="T", gc=False):
    """A token (Fig. 6)."""

    roster: Raw
    epoch: WireEpoch
    seq: Number
    nodelist: Places
    global_view_number: Number
    settled: tuple[Number, Places]
    before: tuple[Number, Places]
    pending: Annotated[tuple[Places, ...], Meta(max_length=MAX_NAMED)]
    seen: Places
    mail: Annotated[tuple[LetterBody, ...], Meta(max_length=MAX_NAMED)]
    acks: Annotated[tuple[tuple[Place, Number], ...], Meta(max_length=MAX_NAMED)]
    top: Number
    reserve: tuple[Maybe, Annotated[int, Meta(ge=0, le=65_536)]]
    secret: Annotated[bytes, Meta(max_length=SECRET)] = b""  # a state kept by earlier ones has none
    wants: Places = ()


class CallBody(Struct, frozen=True, array_like=True, tag="9", gc=False):
    """A 911 (Fig. 7)."""

    roster: Raw
    orig: Place
    nodelist: Places
    epoch: WireEpoch
    seq: Number
    status: Literal["yes", "no"]
    attempt: Number
    phase: Literal["ask", "claim"]
    claim: WireEpoch
    granted: Places
    promised: WireEpoch


class Letter(NamedTuple):
    """A batch of multicasts on the token: the sender's number of the first one, and all of them.

    A post of LOCKS is a batch of one, which is not the application's and has no number.
    """

    first: int
    payloads: Payloads
    post: bool = False

    @property
    def size(self) -> int:
        """Bytes that the batch takes of the token."""
        return self.payloads.size + LETTER_OVERHEAD


Letters: TypeAlias = Mapping[tuple[Address, int], Letter]
"""Batches by their origin and the number k that it gave them."""


class Reserve(NamedTuple):
    """A member that has more to say, and the room that others leave on the token for it, if its
    message did not fit."""

    member: Address = NOBODY
    size: int = 0


NO_RESERVE = Reserve()


class Body(NamedTuple):
    """A message that arrived, and its attachments."""

    message: Message
    roster: tuple[Named, ...] = ()
    letters: Letters = {}  # noqa: RUF012 (never changed)
    reserve: Reserve = NO_RESERVE
    secret: bytes = b""
    wants: Nodelist = ()
    """Of a token: who wants it."""


def asks_to_join(body: Body) -> bool:
    """Whether this is what a process that knows no token sends to one of its contacts."""
    call = body.message
    if not isinstance(call, Call911) or call.orig != call.current or call.nodelist:
        return False
    quiet = call.status == "yes" and call.phase == "ask" and not call.granted
    return quiet and call.number == (ZERO, 0) and call.claim == call.promised == ZERO
