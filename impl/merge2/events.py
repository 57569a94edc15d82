"""MERGE2's events and effects.

An event is one action of `spec/Merge2.tla`, with the same name and fields. The effects of one event
are to be carried out in the order of the list. An effect `Send...` is a message to another group's
coordinator; the others are requests to the layers around:

    Suspend          -> a turn in GMS's queue, as a state transfer takes one; FLUSH suspends the
                        side. When it has, with all of the side at one cut: Flushed
    Suspended(merge) -> who of the side is at the cut of that merge; nothing is to be done
    Resume           -> FLUSH lets the side go on, unless it holds a view of GMS's ready
    Install(...)     -> GMS has the side hold that view ready, then install it; NAKACK reads on from
                        the digest. When all of the side have it: SideInstalled
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from raincheck.impl.messages import Address, ViewId

Digest: TypeAlias = tuple[tuple[Address, int], ...]
"""For each process of whom something was read, in order: how much of its stream."""


class MergeId(NamedTuple):
    """A merge's identifier: its leader, and which of that leader's it is."""

    leader: Address
    number: int


NO_MERGE: Final = MergeId(Address("", 0), 0)
"""Of a view that no merge has made."""


class View(NamedTuple):
    """A view: its members, the coordinator first, and the merge that it comes from, if any."""

    id: ViewId
    members: tuple[Address, ...]
    merge: MergeId = NO_MERGE


class Answer(NamedTuple):
    """A side at its cut: its coordinator, the counter of its view, who is there, and the digest."""

    sender: Address
    counter: int
    members: frozenset[Address]
    digest: Digest


# ------------------------------------------------------------------ events


class ReceiveKnown(NamedTuple):
    """A member tells its coordinator whom it knows."""

    sender: Address
    known: frozenset[Address]


class Merge(NamedTuple):
    """MERGE2 has found the coordinators `others` of other groups.

    `number` is the merge's, if this one leads it; `is_known` tells whether the one that should lead
    knows this one; `stands`, whether this one waits in a merged view.
    """

    others: frozenset[Address]
    number: int
    is_known: bool
    stands: bool = False


class ReceiveFound(NamedTuple):
    """FOUND: a coordinator that has proved its address has found this one."""

    sender: Address


class ReceiveMergeReq(NamedTuple):
    """MERGE_REQ; `stands` tells whether this process waits in a merged view."""

    sender: Address
    merge: MergeId
    stands: bool = False


class Flushed(NamedTuple):
    """FLUSH has suspended the side: who is there, and the digest at the cut."""

    members: frozenset[Address]
    digest: Digest


class ReceiveMergeRsp(NamedTuple):
    """MERGE_RSP; a rejection has no answer."""

    sender: Address
    merge: MergeId
    answer: Answer | None


class Decide(NamedTuple):
    """No answer is missing any more."""


class ReceiveInstallMergeView(NamedTuple):
    """INSTALL_MERGE_VIEW."""

    sender: Address
    merge: MergeId
    view: View
    digest: Digest


class InstallView(NamedTuple):
    """GMS installs a view."""

    view: View


class SideInstalled(NamedTuple):
    """All of the side have installed the merged view."""


class ReceiveInstalled(NamedTuple):
    """INSTALLED; if not `done`, that side is not in the merge."""

    sender: Address
    merge: MergeId
    done: bool


class Finish(NamedTuple):
    """All members of the merged view that run have installed it: see `Merge2.absent`."""


class ReceiveResume(NamedTuple):
    """RESUME."""

    sender: Address
    merge: MergeId


class Suspect(NamedTuple):
    """A process that is waited for does not answer any more."""

    member: Address


class ReceiveCancel(NamedTuple):
    """CANCEL."""

    sender: Address
    merge: MergeId


class Resend(NamedTuple):
    """It is time to send again what is not answered; the side and its digest are as in Flushed."""

    members: frozenset[Address]
    digest: Digest


Event: TypeAlias = (
    ReceiveKnown
    | Merge
    | ReceiveFound
    | ReceiveMergeReq
    | Flushed
    | ReceiveMergeRsp
    | Decide
    | ReceiveInstallMergeView
    | InstallView
    | SideInstalled
    | ReceiveInstalled
    | Finish
    | ReceiveResume
    | Suspect
    | ReceiveCancel
    | Resend
)

# ------------------------------------------------------------------ effects


class Suspend(NamedTuple):
    """Suspend the side, when its turn has come."""


class Suspended(NamedTuple):
    """The side is in the cut of that merge."""

    merge: MergeId


class Resume(NamedTuple):
    """Let the side go on."""


class Install(NamedTuple):
    """The side holds this view ready, and installs it."""

    view: View
    digest: Digest


class SendFound(NamedTuple):
    """FOUND, to the coordinator that should lead."""

    to: Address


class SendMergeReq(NamedTuple):
    """MERGE_REQ: have your side flushed, and answer."""

    to: Address
    merge: MergeId


class SendMergeRsp(NamedTuple):
    """MERGE_RSP: the side at its cut, or a rejection."""

    to: Address
    merge: MergeId
    answer: Answer | None


class SendInstallMergeView(NamedTuple):
    """INSTALL_MERGE_VIEW: the merged view, and from where each stream is read."""

    to: Address
    merge: MergeId
    view: View
    digest: Digest


class SendInstalled(NamedTuple):
    """INSTALLED: the side has the view, or is not in the merge."""

    to: Address
    merge: MergeId
    done: bool


class SendResume(NamedTuple):
    """RESUME: all have the view."""

    to: Address
    merge: MergeId


class SendCancel(NamedTuple):
    """CANCEL: you are not in that merge."""

    to: Address
    merge: MergeId


Sending: TypeAlias = (
    SendFound
    | SendMergeReq
    | SendMergeRsp
    | SendInstallMergeView
    | SendInstalled
    | SendResume
    | SendCancel
)
Effect: TypeAlias = Suspend | Suspended | Resume | Install | Sending
