"""The inputs and outputs of a member of GMS, in the words of `spec/Gms.tla`.

An input is a node action of the spec. An output is a message to the network (with `to`) or an
indication: to FLUSH above (Suspend, Prepared, Resume) or to the layers around (Install, Out).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address


class ViewId(NamedTuple):
    """A view's identifier: its number and the leader that decided it."""

    counter: int
    coordinator: Address


class View(NamedTuple):
    """A view: the members, oldest first, and those of them that joined with it."""

    id: ViewId
    members: tuple[Address, ...]
    joiners: tuple[Address, ...] = ()


class Answer(NamedTuple):
    """PREPARED: the view that a participant has installed, and later ones that it holds ready."""

    member: Address
    view: View
    held: tuple[View, ...] = ()


# ------------------------------------------------------------------ inputs


class ReceiveJoin(NamedTuple):
    """JOIN arrives."""

    joiner: Address


class ReceiveLeave(NamedTuple):
    """LEAVE arrives."""

    sender: Address


class Suspect(NamedTuple):
    """A member is suspected to have crashed."""

    member: Address


class Trust(NamedTuple):
    """A suspected member is heard again."""

    member: Address


class RequestTransfer(NamedTuple):
    """A state transfer asks for its turn."""


class BeginChange(NamedTuple):
    """The leader begins a change."""


class ReceivePrepare(NamedTuple):
    """PREPARE arrives."""

    sender: Address
    counter: int
    participants: tuple[Address, ...]


class Suspended(NamedTuple):
    """FLUSH has suspended the participants; the leader's own answer is not among `answers`."""

    answers: tuple[Answer, ...]


class ReceiveNewView(NamedTuple):
    """NEW_VIEW arrives."""

    sender: Address
    view: View


class ReceiveViewAck(NamedTuple):
    """VIEW_ACK arrives."""

    sender: Address
    counter: int


class InstallView(NamedTuple):
    """All survivors hold the view ready."""


class ReceiveInstall(NamedTuple):
    """INSTALL arrives."""

    sender: Address
    counter: int


class ReceiveJoinRsp(NamedTuple):
    """JOIN_RSP arrives."""

    sender: Address
    view: View


class ReceiveNotJoined(NamedTuple):
    """NOT_JOINED arrives."""

    sender: Address
    counter: int


class Finish(NamedTuple):
    """The change is over."""


class Leave(NamedTuple):
    """The member has stopped."""


class ReceiveAlive(NamedTuple):
    """A process outside the view gives a sign of life."""

    sender: Address


class ReceiveExcluded(NamedTuple):
    """EXCLUDED arrives."""

    sender: Address
    view: View


class Crash(NamedTuple):
    """The process crashes."""


class Restart(NamedTuple):
    """The process comes back."""


# ------------------------------------------------------------------ outputs


class Suspend(NamedTuple):
    """To FLUSH: suspend these members."""

    participants: tuple[Address, ...]


class Prepared(NamedTuple):
    """To FLUSH: take part in that leader's flush, with this answer."""

    leader: Address
    view: View
    held: tuple[View, ...]


class Resume(NamedTuple):
    """To FLUSH: let all members go on."""


class Install(NamedTuple):
    """Install the view in all layers."""

    view: View


class SendNewView(NamedTuple):
    """NEW_VIEW."""

    to: Address
    view: View


class SendViewAck(NamedTuple):
    """VIEW_ACK."""

    to: Address
    counter: int


class SendInstall(NamedTuple):
    """INSTALL."""

    to: Address
    counter: int


class SendJoinRsp(NamedTuple):
    """JOIN_RSP."""

    to: Address
    view: View


class SendNotJoined(NamedTuple):
    """NOT_JOINED."""

    to: Address
    counter: int


class SendLeave(NamedTuple):
    """LEAVE."""

    to: Address


class SendExcluded(NamedTuple):
    """EXCLUDED."""

    to: Address
    view: View


class Out(NamedTuple):
    """The member is out of the group."""

    sender: Address
    prevails: View


Output: TypeAlias = (
    Suspend
    | Prepared
    | Resume
    | Install
    | SendNewView
    | SendViewAck
    | SendInstall
    | SendJoinRsp
    | SendNotJoined
    | SendLeave
    | SendExcluded
    | Out
)
OUTPUTS: tuple[type, ...] = (
    Suspend,
    Prepared,
    Resume,
    Install,
    SendNewView,
    SendViewAck,
    SendInstall,
    SendJoinRsp,
    SendNotJoined,
    SendLeave,
    SendExcluded,
    Out,
)
