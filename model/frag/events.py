"""The inputs and outputs of a FRAG member.

An input has the name of its action in `spec/Frag.tla`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address

Members: TypeAlias = tuple[Address, ...]


# ------------------------------------------------------------------ inputs


class Send(NamedTuple):
    """The application sends message `number`, which makes so many fragments."""

    number: int
    parts: int


class SendFragment(NamedTuple):
    """There is room below for the next fragment of message `number`."""

    number: int


class GiveUp(NamedTuple):
    """The application gives message `number` up."""

    number: int


class ReceiveFragment(NamedTuple):
    """A fragment comes, in the order of all."""

    sender: Address
    number: int
    epoch: int
    part: int
    parts: int


class ReceiveGiveUp(NamedTuple):
    """A member has given a message up."""

    sender: Address
    number: int


class InstallView(NamedTuple):
    """The next view is installed; the first one at a joiner."""

    view: int
    members: Members
    joiners: Members


# ------------------------------------------------------------------ outputs


class Fragment(NamedTuple):
    """A fragment, for SEQUENCER."""

    number: int
    epoch: int
    part: int
    parts: int


class GivenUp(NamedTuple):
    """The message is given up; for SEQUENCER."""

    number: int


class Keep(NamedTuple):
    """The fragment that has come continues what is kept of its message."""

    sender: Address
    number: int


class Deliver(NamedTuple):
    """The message is whole, and delivered."""

    sender: Address
    number: int


class Forget(NamedTuple):
    """What is kept of the message is forgotten."""

    sender: Address
    number: int


Output: TypeAlias = Fragment | GivenUp | Keep | Deliver | Forget

INPUTS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (Send, SendFragment, GiveUp, ReceiveFragment, ReceiveGiveUp, InstallView)
}
