"""GMS's events and effects, as small immutable records.

An event is one action of `spec/Gms.tla`. The effects of one event are to be carried out in the
order of the list, before the next event is handled. An effect `Send...` is a message of UNICAST's
lane CONTROL, where FLUSH's messages are too: those of one sender arrive in order. Views cross the
wire with the places of their members (`PlacedView`); GMS itself does not look at places.

How FLUSH is bound in (PREPARE and PREPARED of the spec are its START_FLUSH and FLUSH_COMPLETED):

    Suspend(participants)     -> Flush.Suspend(participants)
    START_FLUSH of another    -> ReceivePrepare(sender, fid.view, participants) first. It answers
                                 Prepared: FLUSH goes on, and `piggyback(...)` is what it adds to
                                 FLUSH_COMPLETED; anything else: FLUSH does not see the START
    Flush.Suspended(answers)  -> Suspended(answers_of(...))
    Resume                    -> Flush.Resume
    who is newly in `gone`    -> Flush.Suspect(member), which flushes again without it
    Install(view)             -> the view goes up: NAKACK, UNICAST, STABLE, FLUSH, SEQUENCER, then
                                 the application; SEQUENCER's JOIN_RSP and NAKACK's digest are
                                 taken in this very step, and kept until SendJoinRsp
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.impl.messages import Address, View


class Answer(NamedTuple):
    """PREPARED: the view that a participant has installed, and those it holds ready after it."""

    member: Address
    view: View
    held: tuple[View, ...] = ()


# ------------------------------------------------------------------ events


class ReceiveJoin(NamedTuple):
    """JOIN: a process asks to be admitted. Ask `Gms.refuses` first."""

    joiner: Address


class ReceiveLeave(NamedTuple):
    """LEAVE: a member has stopped."""

    sender: Address


class Suspect(NamedTuple):
    """The failure detector takes a member for crashed."""

    member: Address


class Trust(NamedTuple):
    """A suspected member has been heard again."""

    member: Address


class RequestTransfer(NamedTuple):
    """The state transfer wants the group flushed; it takes place before `Finish`."""


class BeginChange(NamedTuple):
    """This member begins to lead a view change or a flush."""


class ReceivePrepare(NamedTuple):
    """PREPARE: a leader whose view is number `counter` flushes these members."""

    sender: Address
    counter: int
    participants: tuple[Address, ...]


class Suspended(NamedTuple):
    """All participants (but the leader itself, which need not be named) have answered."""

    answers: tuple[Answer, ...]


class ReceiveNewView(NamedTuple):
    """NEW_VIEW: the leader proposes the next view; the number of a merged one may skip some."""

    sender: Address
    view: View
    merged: bool = False


class GoneOn(NamedTuple):
    """A member is in a later view, without this process: groups that merge go on apart."""

    member: Address


class ProposeMerged(NamedTuple):
    """MERGE2: the side, which is suspended, is to install this view.

    `view.joiners` are the members of the other sides, which their own leaders look after.
    """

    view: View


class ReceiveViewAck(NamedTuple):
    """VIEW_ACK: a survivor holds view number `counter` ready."""

    sender: Address
    counter: int


class InstallView(NamedTuple):
    """All survivors hold the view: the leader installs it and lets the others do so."""


class ReceiveInstall(NamedTuple):
    """INSTALL: all survivors hold view number `counter`."""

    sender: Address
    counter: int


class ReceiveJoinRsp(NamedTuple):
    """JOIN_RSP: this process is a member."""

    sender: Address
    view: View


class ReceiveNotJoined(NamedTuple):
    """NOT_JOINED: a member of view number `counter` has had no JOIN_RSP and will take none."""

    sender: Address
    counter: int


class Finish(NamedTuple):
    """The view is installed, the state transferred: the group may go on."""


class Leave(NamedTuple):
    """This member has stopped; it has sent all that it had to send."""


class ReceiveAlive(NamedTuple):
    """A sign of life of a process that is no member of this view."""

    sender: Address


class ReceiveExcluded(NamedTuple):
    """EXCLUDED: the sender's view is without this member."""

    sender: Address
    view: View


Event: TypeAlias = (
    ReceiveJoin
    | ReceiveLeave
    | Suspect
    | Trust
    | RequestTransfer
    | BeginChange
    | ReceivePrepare
    | Suspended
    | ReceiveNewView
    | GoneOn
    | ProposeMerged
    | ReceiveViewAck
    | InstallView
    | ReceiveInstall
    | ReceiveJoinRsp
    | ReceiveNotJoined
    | Finish
    | Leave
    | ReceiveAlive
    | ReceiveExcluded
)

# ------------------------------------------------------------------ effects


class Suspend(NamedTuple):
    """To FLUSH: flush these members, this one included."""

    participants: tuple[Address, ...]


class Prepared(NamedTuple):
    """To FLUSH: take part in that leader's flush, with these views in the answer."""

    leader: Address
    view: View
    held: tuple[View, ...]


class Resume(NamedTuple):
    """To FLUSH: let everybody go on."""


class Install(NamedTuple):
    """Install this view in all layers, now."""

    view: View


class SendNewView(NamedTuple):
    """Send NEW_VIEW."""

    to: Address
    view: View


class SendViewAck(NamedTuple):
    """Send VIEW_ACK."""

    to: Address
    counter: int


class SendInstall(NamedTuple):
    """Send INSTALL."""

    to: Address
    counter: int


class SendJoinRsp(NamedTuple):
    """Send JOIN_RSP, as it was made when this view was installed."""

    to: Address
    view: View


class SendNotJoined(NamedTuple):
    """Send NOT_JOINED."""

    to: Address
    counter: int


class SendLeave(NamedTuple):
    """Send LEAVE until a member has received it."""

    to: Address


class SendExcluded(NamedTuple):
    """Send EXCLUDED with this view."""

    to: Address
    view: View


class Out(NamedTuple):
    """This member is out of the group; `prevails` is the view that goes on without it."""

    sender: Address
    prevails: View


Effect: TypeAlias = (
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
