"""The inputs and outputs of a member's NAKACK: actions, datagrams, deliveries."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address

# ---------------------------------------------------------------------- outputs


class Data(NamedTuple):
    """Multicast `seqno` of `source`, sent in view `view`."""

    to: Address
    source: Address
    seqno: int
    view: int


class Nak(NamedTuple):
    """A request to send these multicasts of `source` again."""

    to: Address
    source: Address
    missing: tuple[int, ...]


class Alive(NamedTuple):
    """A sign of life.

    The sender's stream goes up to `highest`, and it has delivered `delivered` multicasts of the
    receiver; `asking` requests an answer.
    """

    to: Address
    highest: int
    asking: bool
    delivered: int


class Delivered(NamedTuple):
    """Multicast `seqno` of `source`, sent in view `view`, is passed up."""

    source: Address
    seqno: int
    view: int


Datagram: TypeAlias = Data | Nak | Alive
Output: TypeAlias = Data | Nak | Alive | Delivered

# ---------------------------------------------------------------------- inputs


class Multicast(NamedTuple):
    """The application multicasts (N1, N7)."""


class Announce(NamedTuple):
    """The timer of unacknowledged multicasts fires."""


class ReceiveData(NamedTuple):
    """A multicast arrives, from its source or from another member that has it."""

    sender: Address
    source: Address
    seqno: int
    view: int


class ReceiveAlive(NamedTuple):
    """A sign of life arrives."""

    sender: Address
    highest: int
    asking: bool
    delivered: int


class Ask(NamedTuple):
    """The timer of a gap in the stream of `source` fires; `to` is asked (N2)."""

    source: Address
    to: Address


class ReceiveNak(NamedTuple):
    """A request for multicasts arrives (N2)."""

    sender: Address
    source: Address
    missing: tuple[int, ...]


class Deliver(NamedTuple):
    """The next multicast of `source` is passed up."""

    source: Address


class Acknowledge(NamedTuple):
    """The member sends an acknowledgement that it owes."""

    source: Address


class HeardOf(NamedTuple):
    """STABLE: `holder` has received the stream of `source` up to `at` (N3)."""

    holder: Address
    source: Address
    at: int


class Purge(NamedTuple):
    """STABLE: the stream of `source` is stable up to `at` (N4)."""

    source: Address
    at: int


class Freeze(NamedTuple):
    """The membership: `source` is gone."""

    source: Address


class Fetch(NamedTuple):
    """FLUSH: the stream of `source` up to `at` belongs to the view; `holder` has it."""

    source: Address
    at: int
    holder: Address


class InstallView(NamedTuple):
    """The membership: the next view."""

    view: int
    members: tuple[Address, ...]


class Join(NamedTuple):
    """A joiner has its JOIN_RSP: the view, and the digest of the cut (N5)."""

    view: int
    members: tuple[Address, ...]
    digest: tuple[tuple[Address, int], ...]


class Crash(NamedTuple):
    """The process crashes."""
