"""The inputs and outputs of a STABLE member.

An input has the name of its action in `spec/Stable.tla`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address

Vector: TypeAlias = tuple[tuple[Address, int], ...]
"""One number per member, in the order of addresses."""

Members: TypeAlias = tuple[Address, ...]


# ------------------------------------------------------------------ inputs


class SendDigest(NamedTuple):
    """It is time for a digest; the fields are what NAKACK has delivered and received."""

    delivered: Vector
    received: Vector


class ReceiveDigest(NamedTuple):
    """A digest arrives."""

    sender: Address
    view: int
    delivered: Vector
    received: Vector


class Vote(NamedTuple):
    """The vote of `sender` is counted apart from its digest."""

    sender: Address


class SendStability(NamedTuple):
    """The random delay is over."""


class ReceiveStability(NamedTuple):
    """STABILITY arrives."""

    sender: Address
    view: int
    digest: Vector
    received: Vector


class Suspend(NamedTuple):
    """A digest is promised to joiners."""


class Resume(NamedTuple):
    """The view change is given up."""


class InstallView(NamedTuple):
    """The next view is installed; the first one at a joiner."""

    view: int
    members: Members


# ------------------------------------------------------------------ outputs


class StableDigest(NamedTuple):
    """A digest, to all other members."""

    to: Members
    view: int
    delivered: Vector
    received: Vector


class Stability(NamedTuple):
    """STABILITY, to all other members (and back to its sender, with ClearVotes undone)."""

    to: Members
    view: int
    digest: Vector
    received: Vector


class Purge(NamedTuple):
    """NAKACK may forget the messages that `digest` covers."""

    digest: Vector


class Heard(NamedTuple):
    """NAKACK learns what `holder` has received."""

    holder: Address
    received: Vector


Output: TypeAlias = StableDigest | Stability | Purge | Heard

INPUTS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        SendDigest,
        ReceiveDigest,
        Vote,
        SendStability,
        ReceiveStability,
        Suspend,
        Resume,
        InstallView,
    )
}
