"""The inputs and outputs of a member: the twin of what `spec/Locks.tla` posts and asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias


class Epoch(NamedTuple):
    """An epoch of the ring's token: its number, and the member that began it."""

    n: int
    by: str


class Fence(NamedTuple):
    """The epoch, the place of the post that gave the lock, and the request's place in the table.

    In a table the epoch is that of the post; whoever is told that it holds is told that of then.
    """

    epoch: Epoch
    place: int
    turn: int


class Wish(NamedTuple):
    """A request of the member's own application."""

    request: int
    name: str
    mode: str


class Request(NamedTuple):
    """A line of the table; it holds its name if it has a fence."""

    member: str
    session: int
    request: int
    name: str
    mode: str
    fence: Fence | None = None


class Ticket(NamedTuple):
    """A request, for whoever takes it back."""

    member: str
    session: int
    request: int


Table: TypeAlias = tuple[Request, ...]


class Post(NamedTuple):
    """What a member has to say when it has the token."""

    by: str
    epoch: Epoch
    place: int
    parent: Epoch | None
    asks: bool
    lays: bool
    table: Table
    ended: frozenset[Ticket]
    wanted: Table


class Held(NamedTuple):
    """The application has been told that it holds the name."""

    request: int
    name: str
    mode: str
    fence: Fence


class Lost(NamedTuple):
    """The application is told that it does not hold the name any more."""

    request: int


class Arrive(NamedTuple):
    """The token comes, with posts that are new here."""

    epoch: Epoch
    news: tuple[Post, ...]


class Depart(NamedTuple):
    """The token is about to go on; a post would have this place, and it has read up to that one."""

    place: int
    members: frozenset[str]
    read: int


class Want(NamedTuple):
    """The application wants a lock."""

    name: str
    mode: str


class Drop(NamedTuple):
    """The application gives a lock back, or waits no more."""

    request: int


INPUTS: Mapping[str, type[Any]] = {kind.__name__: kind for kind in (Arrive, Depart, Want, Drop)}
