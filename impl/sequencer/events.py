"""SEQUENCER's events and effects, as small immutable records.

An event is one action of `spec/Sequencer.tla`, for a run of messages. The effects of one event are
to be carried out in the order of the list, before the next event is handled.
`Forward`, `Data` and `JoinRsp` are the three messages of the protocol; the layers below carry them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.impl.messages import Address, Digest, Payloads, Run, Table, View


class Forward(NamedTuple):
    """FORWARD: a member's messages on their way to the coordinator of view `view`.

    `position` is the place of the first one in the channel, counting messages from 1.
    """

    messages: Run
    view: int
    payloads: Payloads
    position: int
    clock: int


class Data(NamedTuple):
    """DATA: messages multicast by the coordinator of view `view`.

    `position` is the place of the first one in the coordinator's stream, counting messages from 1.
    """

    messages: Run
    view: int
    payloads: Payloads
    position: int
    clock: int


class JoinRsp(NamedTuple):
    """JOIN_RSP: the coordinator's receivedTable and stream positions at one cut."""

    view: View
    table: Table
    digest: Digest
    clock: int


# ------------------------------------------------------------------ events


class Send(NamedTuple):
    """The application multicasts a run of messages."""

    payloads: Payloads


class ReceiveForward(NamedTuple):
    """A FORWARD of `sender` arrives."""

    sender: Address
    forward: Forward


class ReceiveData(NamedTuple):
    """The next DATA of the coordinator's stream arrives."""

    coordinator: Address
    data: Data


class Stabilise(NamedTuple):
    """All members of the view have delivered this one's messages up to `seqno`."""

    seqno: int


class Acknowledge(NamedTuple):
    """Safe delivery: say how much of the coordinator's stream has been received here."""


class ReceiveAck(NamedTuple):
    """ACK arrives: `sender` has received this member's stream up to `place`."""

    sender: Address
    place: int
    clock: int = 0


class Announce(NamedTuple):
    """Safe delivery: say what all members of the view have received."""


class ReceiveSafe(NamedTuple):
    """SAFE arrives: all members have received the coordinator's stream up to `place`."""

    coordinator: Address
    place: int
    clock: int = 0


class InstallView(NamedTuple):
    """The membership installs the next view."""

    view: View


class Merge(NamedTuple):
    """MERGE2 installs a merged view, whose number may skip some.

    `table` and `digest` are those of the other sides at their cuts, as JOIN_RSP has them, and
    `clock` is the latest of theirs.
    """

    view: View
    table: Table
    digest: Digest
    clock: int = 0


class Join(NamedTuple):
    """JOIN_RSP arrives at the joiner."""

    coordinator: Address
    rsp: JoinRsp


class Resend(NamedTuple):
    """The first run of `resend` goes out again; only its first `size` messages if that is set."""

    size: int | None = None


class Leave(NamedTuple):
    """The application calls leave()."""


class Stop(NamedTuple):
    """leave() returns. `drained`: all members have received all of my multicasts."""

    drained: bool = True


Event: TypeAlias = (
    Send
    | ReceiveForward
    | ReceiveData
    | Stabilise
    | Acknowledge
    | ReceiveAck
    | Announce
    | ReceiveSafe
    | InstallView
    | Merge
    | Join
    | Resend
    | Leave
    | Stop
)

# ------------------------------------------------------------------ effects


class SendForward(NamedTuple):
    """Unicast FORWARD, reliably and in order."""

    to: Address
    forward: Forward


class Multicast(NamedTuple):
    """Multicast DATA to all members, myself included, reliably and in order."""

    data: Data


class SendJoinRsp(NamedTuple):
    """Unicast JOIN_RSP to a joiner, with NAKACK's digest of this very moment."""

    to: Address
    rsp: JoinRsp


class Deliver(NamedTuple):
    """Pass a run up to the application, in view `view`."""

    messages: Run
    view: int
    payloads: Payloads


class SendAck(NamedTuple):
    """Tell the coordinator how much of its stream has been received; it may be lost."""

    to: Address
    place: int
    clock: int


class SendSafe(NamedTuple):
    """Tell the other members what all have received of this one's stream; it may be lost."""

    place: int
    clock: int


Effect: TypeAlias = SendForward | Multicast | SendJoinRsp | Deliver | SendAck | SendSafe
