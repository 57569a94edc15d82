"""STABLE's events and effects.

An event is one action of `spec/Stable.tla`, with the same name and fields. Vectors range over the
members of a view: `delivered` is how far each one's stream is delivered, `received` how far it is
there at all.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.impl.messages import Address, Digest

# ------------------------------------------------------------------ events


class SendDigest(NamedTuple):
    """This member's digest is due; its own vote counts from now on."""

    delivered: Digest
    received: Digest


class ReceiveDigest(NamedTuple):
    """A digest of `sender`, sent in view `view`."""

    sender: Address
    view: int
    delivered: Digest
    received: Digest


class Vote(NamedTuple):
    """The vote of `sender` counts, some time after its digest did: only with a repair undone."""

    sender: Address


class SendStability(NamedTuple):
    """The random delay is over, and no other member has sent STABILITY."""


class ReceiveStability(NamedTuple):
    """STABILITY: all members of view `view` have delivered `digest`."""

    sender: Address
    view: int
    digest: Digest
    received: Digest


class Suspend(NamedTuple):
    """A view change begins: votes are suspended until the next view."""


class Resume(NamedTuple):
    """The view change was given up."""


class InstallView(NamedTuple):
    """The next view is installed; the first one at a joiner."""

    view: int
    members: tuple[Address, ...]


Event: TypeAlias = (
    SendDigest
    | ReceiveDigest
    | Vote
    | SendStability
    | ReceiveStability
    | Suspend
    | Resume
    | InstallView
)

# ------------------------------------------------------------------ effects


class StableDigest(NamedTuple):
    """Multicast this member's digest; it may be lost."""

    to: tuple[Address, ...]
    view: int
    delivered: Digest
    received: Digest


class Stability(NamedTuple):
    """Multicast STABILITY; it may be lost."""

    to: tuple[Address, ...]
    view: int
    digest: Digest
    received: Digest


class Purge(NamedTuple):
    """NAKACK may forget what `digest` covers: all members have delivered it."""

    digest: Digest


class Heard(NamedTuple):
    """NAKACK should ask for what it lacks of `received`, which `holder` has."""

    holder: Address
    received: Digest


Effect: TypeAlias = StableDigest | Stability | Purge | Heard
