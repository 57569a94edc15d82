"""PRIMARY's events and effects.

An event is one action of `spec/Primary.tla`, with the same name and fields. What the members of a
view multicast in it, INFO and ATTEMPT, is collected by the layer around the core, which knows their
order: the core is handed all of a kind at once.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

from msgspec import Meta

from raincheck.impl.messages import Address, Count, ViewId

Votes: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
"""How many votes a member has."""


class Session(NamedTuple):
    """A primary view, formed or only attempted."""

    number: Count
    """One more than that of every primary view and attempt that its members remembered."""
    view: ViewId
    history: ViewId
    """The id of the view that founded its history."""
    votes: Annotated[tuple[tuple[Address, Votes], ...], Meta(min_length=1, max_length=1024)]
    """Its members, by address, with their votes."""


# ------------------------------------------------------------------ effects, and what they contain


class Info(NamedTuple):
    """What a member remembers, to be multicast in its new view."""

    sender: Address
    view: ViewId
    votes: int
    found: bool
    last: Session | None
    attempts: frozenset[Session]


class Attempt(NamedTuple):
    """A member has recorded that its view may become primary; to be multicast in it."""

    sender: Address
    view: ViewId


Effect: TypeAlias = Info | Attempt


# ------------------------------------------------------------------ events


class InstallView(NamedTuple):
    """The member is in another view."""

    view: ViewId
    members: frozenset[Address]


class Decide(NamedTuple):
    """The INFOs of the member's view, by address; one of each member must be there."""

    infos: tuple[Info, ...]


class Form(NamedTuple):
    """The members that have multicast ATTEMPT in the member's view; all of them must have."""

    attempted: frozenset[Address]


class SetVotes(NamedTuple):
    """An operator gives the member another number of votes, from its next view on."""

    votes: int


Event: TypeAlias = InstallView | Decide | Form | SetVotes
