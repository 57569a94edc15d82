"""The inputs and outputs of a member's FLUSH.

There is one input per action. Outputs are messages, each with the member it is for, and
indications.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address

Table: TypeAlias = tuple[tuple[Address, int], ...]
"""A digest: how much of each member's stream has arrived, in the order of addresses."""


class Fid(NamedTuple):
    """A flush: attempt `attempt` of that requester, begun in its view `view`."""

    view: int
    requester: Address
    attempt: int


class Fetch(NamedTuple):
    """A stream to complete: that of `sender` up to `at`, which `holder` has."""

    sender: Address
    at: int
    holder: Address


# ------------------------------------------------------------------ inputs


class Suspend(NamedTuple):
    """The layer above wants a flush of these members."""

    participants: tuple[Address, ...]


class ReceiveStart(NamedTuple):
    """START_FLUSH arrives."""

    sender: Address
    fid: Fid
    participants: tuple[Address, ...]


class BlockOk(NamedTuple):
    """block() has returned, or the digest has been taken anew."""

    digest: Table


class ReceiveFlushOk(NamedTuple):
    """FLUSH_OK of the changed design arrives; `digest` is the receiver's own."""

    sender: Address
    fid: Fid
    at: int
    digest: Table


class ReceiveCompleted(NamedTuple):
    """FLUSH_COMPLETED arrives."""

    sender: Address
    fid: Fid
    digest: Table


class ReceiveReconcile(NamedTuple):
    """RECONCILE arrives."""

    sender: Address
    fid: Fid
    fetches: tuple[Fetch, ...]


class Reconciled(NamedTuple):
    """Everything that was to be fetched has arrived."""


class ReceiveReconciled(NamedTuple):
    """RECONCILED arrives."""

    sender: Address
    fid: Fid


class Resume(NamedTuple):
    """All have installed the view, or the state has been transferred."""


class ReceiveStop(NamedTuple):
    """STOP_FLUSH arrives."""

    sender: Address
    fid: Fid


class Suspect(NamedTuple):
    """A member is suspected to have crashed."""

    member: Address


class InstallView(NamedTuple):
    """The member installs the next view."""

    view: int
    members: tuple[Address, ...]


class PassLatch(NamedTuple):
    """A multicast passes the latch and has no seqno yet."""


class Multicast(NamedTuple):
    """A multicast gets its seqno."""


class ReceiveMulticast(NamedTuple):
    """The member consumes multicast number `position` of that sender's stream."""

    sender: Address
    position: int


class OpenLatch(NamedTuple):
    """The policy opens the latch because the member was blocked for too long."""


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
    """FLUSH_OK of the changed design; its sender had multicast `at` messages."""

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
    """Call the application's block()."""


class TakeDigest(NamedTuple):
    """Take the digest: the application is blocked already."""


class Unblock(NamedTuple):
    """Call the application's unblock()."""


class Suspended(NamedTuple):
    """Suspend returns: these members are blocked and have received the same multicasts."""

    fid: Fid
    participants: tuple[Address, ...]


class Freeze(NamedTuple):
    """Take no more of these streams, apart from what is fetched."""

    gone: tuple[Address, ...]


class FetchStreams(NamedTuple):
    """Fetch what is missing of these streams."""

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
"""The action by which each message arrives."""
