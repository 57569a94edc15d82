"""FLUSH's events and effects, as small immutable records.

An event is one action of `spec/Flush.tla`. The effects of one event are to be carried out in the
order of the list, before the next event is handled. A `Control` to oneself is looped back: it
comes in again as an event, after what came before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from raincheck.impl.messages import Address, Digest
from raincheck.impl.wire.headers import (
    Fetch,
    Fid,
    FlushBody,
    FlushCompleted,
    PlacedView,
    Reconcile,
    ReconcileOk,
    StartFlush,
    StopFlush,
)

Piggyback: TypeAlias = tuple[PlacedView, ...]
"""The data that the membership adds to an answer; opaque to FLUSH."""

# ------------------------------------------------------------------ events


class Suspend(NamedTuple):
    """The layer above wants these members to be flushed; others are taken for gone."""

    participants: tuple[Address, ...]


class ReceiveStart(NamedTuple):
    """START_FLUSH arrives."""

    sender: Address
    fid: Fid
    participants: tuple[Address, ...]


class BlockOk(NamedTuple):
    """The answer to `Block` and to `TakeDigest`: how much of each member's stream is here.

    Of its own stream all that it has sent counts, of others all that has arrived.
    """

    digest: Digest
    piggyback: Piggyback = ()


class ReceiveCompleted(NamedTuple):
    """FLUSH_COMPLETED arrives at the requester."""

    sender: Address
    fid: Fid
    digest: Digest
    piggyback: Piggyback = ()


class ReceiveReconcile(NamedTuple):
    """RECONCILE arrives at a participant that lacks something."""

    sender: Address
    fid: Fid
    fetches: tuple[Fetch, ...]


class Reconciled(NamedTuple):
    """All that was to be fetched has arrived."""


class ReceiveReconciled(NamedTuple):
    """A participant says that it has all it lacked."""

    sender: Address
    fid: Fid


class Resume(NamedTuple):
    """The layer above is done: the view is installed by all, or the state is transferred."""


class ReceiveStop(NamedTuple):
    """STOP_FLUSH arrives."""

    sender: Address
    fid: Fid


class Suspect(NamedTuple):
    """The failure detector takes a member for crashed; that is final."""

    member: Address


class InstallView(NamedTuple):
    """The membership installs the next view; the number of a merged one may skip some."""

    view: int
    members: tuple[Address, ...]
    merged: bool = False


class Yield(NamedTuple):
    """MERGE2: in the merged view another member flushes those whom this one has suspended."""


class Multicast(NamedTuple):
    """A multicast wants to pass the latch and be numbered, in one step."""


class ReceiveMulticast(NamedTuple):
    """Multicast number `position` of that member's stream is taken."""

    sender: Address
    position: int


class PassLatch(NamedTuple):
    """A multicast wants to pass the latch now and be numbered later; never enabled here."""


class ReceiveFlushOk(NamedTuple):
    """FLUSH_OK of the changed design arrives; never enabled here."""

    sender: Address
    fid: Fid
    at: int
    digest: Digest


class OpenLatch(NamedTuple):
    """The policy `open_latch`: this member has been blocked for too long."""


Event: TypeAlias = (
    Suspend
    | ReceiveStart
    | BlockOk
    | ReceiveCompleted
    | ReceiveReconcile
    | Reconciled
    | ReceiveReconciled
    | Resume
    | ReceiveStop
    | Suspect
    | InstallView
    | Yield
    | Multicast
    | ReceiveMulticast
    | PassLatch
    | ReceiveFlushOk
    | OpenLatch
)

# ------------------------------------------------------------------ effects


class Control(NamedTuple):
    """Unicast a message of FLUSH, reliably and in order (UNICAST's lane CONTROL)."""

    to: Address
    body: FlushBody


class Block(NamedTuple):
    """Call the application's block(); when it returns, hand in `BlockOk`."""


class TakeDigest(NamedTuple):
    """The application is blocked already: hand in `BlockOk` now."""


class Unblock(NamedTuple):
    """Call the application's unblock(); multicasts may pass again."""


class Suspended(NamedTuple):
    """Suspend returns: all participants are blocked and have received the same multicasts."""

    fid: Fid
    answers: tuple[tuple[Address, Piggyback], ...]


class Freeze(NamedTuple):
    """Take nothing more of these members' streams but what is fetched."""

    gone: tuple[Address, ...]


class FetchStreams(NamedTuple):
    """Ask the holders for what is missing here; when it has arrived, hand in `Reconciled`."""

    fetches: tuple[Fetch, ...]


class LatchOpened(NamedTuple):
    """The latch was opened without STOP_FLUSH: views may not be virtually synchronous any more."""

    waiting: tuple[tuple[Address, str], ...]


Effect: TypeAlias = (
    Control | Block | TakeDigest | Unblock | Suspended | Freeze | FetchStreams | LatchOpened
)

# ------------------------------------------------------------------ from the wire

_ARRIVALS: dict[type[Any], Callable[[Address, Any], Event]] = {
    StartFlush: lambda source, body: ReceiveStart(source, body.fid, body.participants),
    FlushCompleted: lambda source, body: ReceiveCompleted(
        source, body.fid, body.digest, body.piggyback
    ),
    Reconcile: lambda source, body: ReceiveReconcile(source, body.fid, body.fetches),
    ReconcileOk: lambda source, body: ReceiveReconciled(source, body.fid),
    StopFlush: lambda source, body: ReceiveStop(source, body.fid),
}


def arrival(source: Address, body: FlushBody) -> Event:
    """Return the event that a message of FLUSH is at its receiver."""
    return _ARRIVALS[type(body)](source, body)
