"""The inputs and outputs of a client and of a member: the twin of what `spec/Leases.tla` sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A client says all that it wants; request 0 is nothing."""

    to: str
    client: str
    session: int
    number: int
    request: int


class Told(NamedTuple):
    """A member says what has become of that; fence 0: the client does not have the lock."""

    source: str
    client: str
    session: int
    number: int
    request: int
    fence: int
    over: bool


class Session(NamedTuple):
    """A client's session as its member has it."""

    client: str
    session: int
    asked: int = 0
    heard: int = 0
    highest: int = 0
    request: int = 0
    over: bool = False


class GivesBack(NamedTuple):
    """A member gives back what a session has; without a session all that it has."""

    session: Session | None


class Wants(NamedTuple):
    """A member wants the lock for a session."""

    session: Session


class Says(NamedTuple):
    """A member tells a client what has become of its session."""

    session: Session


class Want(NamedTuple):
    """The application of a client wants the lock."""


class Drop(NamedTuple):
    """The application does not want it any more, or gives it back."""


class Ask(NamedTuple):
    """The client says what it wants."""


class ReceiveTell(NamedTuple):
    """A member has answered; `member` is asked next, if that one leaves."""

    told: Told
    member: str


class End(NamedTuple):
    """The session is over, and this member is asked next."""

    member: str


class ReceiveAsk(NamedTuple):
    """A client has said what it wants."""

    asked: Asked


class Tell(NamedTuple):
    """The member tells a client again, or something new."""

    session: Session


class Expire(NamedTuple):
    """The client of a session is silent."""

    session: Session


class Leave(NamedTuple):
    """The member leaves."""


class ComeBack(NamedTuple):
    """A member that has crashed comes back, `since` ticks after that."""

    since: int


INPUTS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (Want, Drop, Ask, ReceiveTell, End, ReceiveAsk, Tell, Expire, Leave, ComeBack)
}
