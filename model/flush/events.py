"""What goes into a member's handlers of FLUSH, and what comes out of them.

One input per action. Outputs are messages, each with the member that it is for, and indications.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address

Table: TypeAlias = tuple[tuple[Address, int], ...]
"""A digest: how much of each member's stream has arrived, in the order of addresses."""


class Fid(NamedTuple):
    """A flush: attempt `attempt` of that requester, begun when it was in view `view`."""

    view: int
    requester: Address
    attempt: int


class Fetch(NamedTuple):
    """The stream of `sender` is wanted up to `at`; `holder` has it."""

    sender: Address
    at: int
    holder: Address


# ------------------------------------------------------------------ inputs


class Suspend(NamedTuple):
    """A flush of these members is wanted."""

    participants: tuple[Address, ...]


class ReceiveStart(NamedTuple):
    """START_FLUSH."""

    sender: Address
    fid: Fid
    participants: tuple[Address, ...]


class BlockOk(NamedTuple):
    """block() has returned, or the digest has been taken anew."""

    digest: Table


class ReceiveFlushOk(NamedTuple):
    """FLUSH_OK, of the changed design; `digest` is the receiver's own."""

    sender: Address
    fid: Fid
    at: int
    digest: Table


class ReceiveCompleted(NamedTuple):
    """FLUSH_COMPLETED."""

    sender: Address
    fid: Fid
    digest: Table


class ReceiveReconcile(NamedTuple):
    """RECONCILE."""

    sender: Address
    fid: Fid
    fetches: tuple[Fetch, ...]


class Reconciled(NamedTuple):
    """All that was to be fetched has arrived."""


class ReceiveReconciled(NamedTuple):
    """RECONCILED."""

    sender: Address
    fid: Fid


class Resume(NamedTuple):
    """The view is installed by all, or the state transferred."""


class ReceiveStop(NamedTuple):
    """STOP_FLUSH."""

    sender: Address
    fid: Fid


class Suspect(NamedTuple):
    """A member is taken for crashed."""

    member: Address


class InstallView(NamedTuple):
    """The next view."""

    view: int
    members: tuple[Address, ...]


class PassLatch(NamedTuple):
    """A multicast gets past the latch and has no number yet."""


class Multicast(NamedTuple):
    """A multicast is numbered."""


class ReceiveMulticast(NamedTuple):
    """Multicast number `position` of that member's stream is taken."""

    sender: Address
    position: int


class OpenLatch(NamedTuple):
    """The policy: blocked for too long."""


INPUTS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        Suspend,
        ReceiveStart,
        BlockOk,
        ReceiveFlushOk,
        ReceiveCompleted,
        ReceiveReconcile,
        Reconciled,
        ReceiveReconciled,
        Resume,
        ReceiveStop,
        Suspect,
        InstallView,
        PassLatch,
        Multicast,
        ReceiveMulticast,
        OpenLatch,
    )
}

# ------------------------------------------------------------------ outputs


class StartFlush(NamedTuple):
    """START_FLUSH."""

    to: Address
    fid: Fid
    participants: tuple[Address, ...]


class FlushOk(NamedTuple):
    """FLUSH_OK, of the changed design; its sender had multicast `at` messages."""

    to: Address
    fid: Fid
    at: int


class FlushCompleted(NamedTuple):
    """FLUSH_COMPLETED."""

    to: Address
    fid: Fid
    digest: Table


class Reconcile(NamedTuple):
    """RECONCILE."""

    to: Address
    fid: Fid
    fetches: tuple[Fetch, ...]


class ReconcileOk(NamedTuple):
    """RECONCILED."""

    to: Address
    fid: Fid


class StopFlush(NamedTuple):
    """STOP_FLUSH."""

    to: Address
    fid: Fid


class Block(NamedTuple):
    """block() is to be called."""


class TakeDigest(NamedTuple):
    """The application is blocked already: take the digest."""


class Unblock(NamedTuple):
    """unblock() is to be called."""


class Suspended(NamedTuple):
    """Suspend returns: these are blocked and have received the same."""

    fid: Fid
    participants: tuple[Address, ...]


class Freeze(NamedTuple):
    """Nothing more of these streams but what is fetched."""

    gone: tuple[Address, ...]


class FetchStreams(NamedTuple):
    """Get what is missing of these."""

    fetches: tuple[Fetch, ...]


class LatchOpened(NamedTuple):
    """The policy has opened the latch."""


Message: TypeAlias = StartFlush | FlushOk | FlushCompleted | Reconcile | ReconcileOk | StopFlush
Output: TypeAlias = (
    Message | Block | TakeDigest | Unblock | Suspended | Freeze | FetchStreams | LatchOpened
)

ARRIVES: Mapping[str, str] = {
    "StartFlush": "ReceiveStart",
    "FlushOk": "ReceiveFlushOk",
    "FlushCompleted": "ReceiveCompleted",
    "Reconcile": "ReceiveReconcile",
    "ReconcileOk": "ReceiveReconciled",
    "StopFlush": "ReceiveStop",
}
"""By which action each message arrives."""
