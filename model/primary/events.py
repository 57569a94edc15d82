"""The inputs and outputs of a member's handlers: the twin of what `spec/Primary.tla` multicasts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address


class ViewId(NamedTuple):
    """The id of a view: its number, and the address of its first member, which has decided it."""

    counter: int
    coordinator: Address


class Session(NamedTuple):
    """A primary view, formed or only attempted; `votes` are those of its members, by address."""

    number: int
    view: ViewId
    history: ViewId
    votes: tuple[tuple[Address, int], ...]

    @property
    def members(self) -> frozenset[Address]:
        """Return the addresses of its members."""
        return frozenset(address for address, _ in self.votes)


Sessions: TypeAlias = frozenset[Session]


# ------------------------------------------------------------------ outputs, and what they contain


class Info(NamedTuple):
    """What a member remembers, for the others in its view."""

    sender: Address
    view: ViewId
    votes: int
    found: bool
    last: Session | None
    attempts: Sessions


class Attempt(NamedTuple):
    """A member has recorded that its view may become primary."""

    sender: Address
    view: ViewId


Output: TypeAlias = Info | Attempt


# ------------------------------------------------------------------ inputs


class InstallView(NamedTuple):
    """The member is in another view."""

    view: ViewId
    members: frozenset[Address]


class Decide(NamedTuple):
    """These INFOs of the member's view have come."""

    infos: tuple[Info, ...]


class Form(NamedTuple):
    """These members of its view have attempted it."""

    attempted: frozenset[Address]


class SetVotes(NamedTuple):
    """An operator gives the member another number of votes."""

    votes: int


INPUTS: Mapping[str, type[Any]] = {
    kind.__name__: kind for kind in (InstallView, Decide, Form, SetVotes)
}
