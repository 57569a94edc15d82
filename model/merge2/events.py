"""The inputs and outputs of a member of MERGE2, in the words of `spec/Merge2.tla`.

An input is a node action of the spec. An output is a message to another coordinator (with `to`),
or a request to the layers around: to FLUSH (Suspend, Suspended, Resume) or to GMS (Install).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

Nodes: TypeAlias = frozenset[str]
Digest: TypeAlias = tuple[tuple[str, int], ...]
"""For each node, in the order of addresses, how much of its stream was read."""


class ViewId(NamedTuple):
    """A view's identifier: its number, and who decided it."""

    counter: int
    coordinator: str


class MergeId(NamedTuple):
    """A merge's identifier: its leader, and which of that leader's it is."""

    leader: str
    number: int


NO_MERGE: Final = MergeId("", 0)


class View(NamedTuple):
    """A view: its members, the coordinator first, and the merge that it comes from, if any."""

    id: ViewId
    members: tuple[str, ...]
    merge: MergeId = NO_MERGE


class Answer(NamedTuple):
    """A side at its cut: its coordinator, the number of its view, who is there, and the digest."""

    sender: str
    counter: int
    members: Nodes
    digest: Digest


# ------------------------------------------------------------------ inputs


class ReceiveKnown(NamedTuple):
    """A member tells its coordinator whom it knows."""

    sender: str
    known: Nodes


class Merge(NamedTuple):
    """MERGE2 has found other coordinators.

    `number` is the merge's, if this one leads it; `is_known` tells whether the one that should lead
    knows this one; `stands`, whether this one waits in a merged view.
    """

    others: Nodes
    number: int
    is_known: bool
    stands: bool = False


class ReceiveFound(NamedTuple):
    """FOUND arrives."""

    sender: str


class ReceiveMergeReq(NamedTuple):
    """MERGE_REQ arrives; `stands` tells whether the receiver waits in a merged view."""

    sender: str
    merge: MergeId
    stands: bool = False


class Flushed(NamedTuple):
    """FLUSH has suspended the side: who is there, and the digest at the cut."""

    members: Nodes
    digest: Digest


class ReceiveMergeRsp(NamedTuple):
    """MERGE_RSP arrives; a rejection has no answer."""

    sender: str
    merge: MergeId
    answer: Answer | None


class Decide(NamedTuple):
    """No answer is missing any more."""


class ReceiveInstallMergeView(NamedTuple):
    """INSTALL_MERGE_VIEW arrives."""

    sender: str
    merge: MergeId
    view: View
    digest: Digest


class InstallView(NamedTuple):
    """GMS installs a view."""

    view: View


class SideInstalled(NamedTuple):
    """All of the side have installed the merged view."""


class ReceiveInstalled(NamedTuple):
    """INSTALLED arrives; if not `done`, that side is not in the merge."""

    sender: str
    merge: MergeId
    done: bool


class Finish(NamedTuple):
    """All members of the merged view have installed it."""


class ReceiveResume(NamedTuple):
    """RESUME arrives."""

    sender: str
    merge: MergeId


class Suspect(NamedTuple):
    """A process does not answer any more."""

    member: str


class ReceiveCancel(NamedTuple):
    """CANCEL arrives."""

    sender: str
    merge: MergeId


class Resend(NamedTuple):
    """It is time to send again what is not answered; the side and its digest are as in Flushed."""

    members: Nodes
    digest: Digest


# ------------------------------------------------------------------ outputs


class Suspend(NamedTuple):
    """To FLUSH: suspend the side, when its turn has come."""


class Suspended(NamedTuple):
    """The side is in the cut of that merge."""

    merge: MergeId


class Resume(NamedTuple):
    """To FLUSH: let the side go on."""


class Install(NamedTuple):
    """To GMS: the side holds this view ready, and installs it."""

    view: View
    digest: Digest


class SendFound(NamedTuple):
    """FOUND."""

    to: str


class SendMergeReq(NamedTuple):
    """MERGE_REQ."""

    to: str
    merge: MergeId


class SendMergeRsp(NamedTuple):
    """MERGE_RSP."""

    to: str
    merge: MergeId
    answer: Answer | None


class SendInstallMergeView(NamedTuple):
    """INSTALL_MERGE_VIEW."""

    to: str
    merge: MergeId
    view: View
    digest: Digest


class SendInstalled(NamedTuple):
    """INSTALLED."""

    to: str
    merge: MergeId
    done: bool


class SendResume(NamedTuple):
    """RESUME."""

    to: str
    merge: MergeId


class SendCancel(NamedTuple):
    """CANCEL."""

    to: str
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
Output: TypeAlias = Suspend | Suspended | Resume | Install | Sending

INPUTS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        ReceiveKnown,
        Merge,
        ReceiveFound,
        ReceiveMergeReq,
        Flushed,
        ReceiveMergeRsp,
        Decide,
        ReceiveInstallMergeView,
        InstallView,
        SideInstalled,
        ReceiveInstalled,
        Finish,
        ReceiveResume,
        Suspect,
        ReceiveCancel,
        Resend,
    )
}
