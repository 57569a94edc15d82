"""LOCKS' events and effects: an event is one action of `spec/Locks.tla`."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from raincheck.impl.messages import Address
from raincheck.impl.raincore.events import Epoch

Mode: TypeAlias = Literal["read", "write"]


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
    mode: Mode


class Request(NamedTuple):
    """A line of the table; it holds its name if it has a fence."""

    member: Address
    session: int
    request: int
    name: str
    mode: Mode
    fence: Fence | None = None

    @property
    def ticket(self) -> Ticket:
        """What takes it back."""
        return Ticket(self.member, self.session, self.request)


class Ticket(NamedTuple):
    """A request, for whoever takes it back."""

    member: Address
    session: int
    request: int


Table: TypeAlias = tuple[Request, ...]


class Post(NamedTuple):
    """What a member has to say when it has the token; to be put onto it as the last.

    `parent` is set in the first post of an epoch; `asks`: its sender has no good table; `lays`:
    `table` is the whole table before this post; `ended` and `wanted` change it.
    """

    by: Address
    epoch: Epoch
    place: int
    parent: Epoch | None
    asks: bool
    lays: bool
    table: Table
    ended: frozenset[Ticket]
    wanted: Table


class Held(NamedTuple):
    """The application has a lock."""

    request: int
    name: str
    mode: Mode
    fence: Fence


class Lost(NamedTuple):
    """The application does not have a lock any more."""

    request: int


class Arrive(NamedTuple):
    """The token comes, with posts that are new here."""

    epoch: Epoch
    news: tuple[Post, ...]


class Depart(NamedTuple):
    """The token is about to go on; a post would have this place in the order of its epoch.

    `read` is the place up to which the member has read. It is greater if a token that was lost had
    more posts; then the member reads none before there are as many again.
    """

    place: int
    members: frozenset[Address]
    read: int


class Want(NamedTuple):
    """The application wants a lock; its number is `requests` afterwards."""

    name: str
    mode: Mode


class Drop(NamedTuple):
    """The application gives a lock back, or waits no more."""

    request: int


Event: TypeAlias = Arrive | Depart | Want | Drop
Effect: TypeAlias = Post | Held | Lost
