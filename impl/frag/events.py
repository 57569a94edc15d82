"""FRAG's events and effects.

An event is one action of `spec/Frag.tla`, with the same name and fields. A message is known by its
sender and a number, which the sender gives it; its fragments are numbered from 0.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.impl.messages import Address

# ------------------------------------------------------------------ events


class Send(NamedTuple):
    """The application sends message `number`, which makes so many fragments."""

    number: int
    parts: int


class SendFragment(NamedTuple):
    """There is room for the next fragment of message `number` of this member."""

    number: int


class GiveUp(NamedTuple):
    """The application gives the message up before it is sent."""

    number: int


class ReceiveFragment(NamedTuple):
    """Fragment `part` of `parts` has come, in the order of all; it was sent in `epoch`."""

    sender: Address
    number: int
    epoch: int
    part: int
    parts: int


class ReceiveGiveUp(NamedTuple):
    """The sender has given its message up."""

    sender: Address
    number: int


class InstallView(NamedTuple):
    """View number `view` is installed: what comes from now on comes in it."""

    view: int
    members: tuple[Address, ...]
    joiners: tuple[Address, ...] = ()


Event: TypeAlias = Send | SendFragment | GiveUp | ReceiveFragment | ReceiveGiveUp | InstallView

# ------------------------------------------------------------------ effects


class Fragment(NamedTuple):
    """Multicast this fragment, in the order of all."""

    number: int
    epoch: int
    part: int
    parts: int


class GivenUp(NamedTuple):
    """Multicast, in the order of all, that the message is given up."""

    number: int


class Keep(NamedTuple):
    """Keep the fragment that has just come; it continues those that are kept of its message."""

    sender: Address
    number: int


class Deliver(NamedTuple):
    """All fragments are here: deliver the message."""

    sender: Address
    number: int


class Forget(NamedTuple):
    """Forget the fragments that are kept of this message."""

    sender: Address
    number: int


class Dropped(NamedTuple):
    """The fragment that has just come is of no use, for this reason."""

    sender: Address
    reason: str


Effect: TypeAlias = Fragment | GivenUp | Keep | Deliver | Forget | Dropped
