"""The inputs and outputs of a member's handlers: the twin of what `spec/Total.tla` sends."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address


class Message(NamedTuple):
    """A message of an application: its sender, and its number among the sender's."""

    sender: Address
    seqno: int


class Broadcast(NamedTuple):
    """A message with the id that the sequencer has given it."""

    id: int
    message: Message


# ------------------------------------------------------------------ outputs, and what they contain


class Request(NamedTuple):
    """TOTAL_REQUEST: a message for the sequencer; `tag` is its place among its sender's."""

    to: Address
    message: Message
    tag: int
    view: int


class Resend(NamedTuple):
    """TOTAL_RESEND: the sequencer is asked for the broadcast of that id."""

    to: Address
    id: int
    view: int


class CumSeqAck(NamedTuple):
    """TOTAL_CUM_SEQ_ACK: the member has delivered all ids up to this one."""

    to: Address
    id: int
    view: int


class Bcast(NamedTuple):
    """TOTAL_BCAST: a message with its id, to one member or, if `to` is None, all others."""

    to: Address | None
    id: int
    message: Message
    view: int


class NewView(NamedTuple):
    """TOTAL_NEW_VIEW, to all others: the first id of a view."""

    id: int
    view: int


class Last(NamedTuple):
    """TOTAL_LAST, to all others: the last id so far."""

    id: int
    view: int


class Number(NamedTuple):
    """The id that a member has asked for, in the other design."""

    to: Address
    id: int
    tag: int
    view: int


class Deliver(NamedTuple):
    """A message is passed up, in a view."""

    message: Message
    view: int
    id: int


Cast: TypeAlias = Bcast | NewView | Last | Number
"""What the sequencer sends."""

Unicast: TypeAlias = Request | Resend | CumSeqAck
"""What members send the sequencer."""

Output: TypeAlias = Cast | Unicast | Deliver


# ------------------------------------------------------------------ inputs


class Send(NamedTuple):
    """The application multicasts a message."""


class ReceiveRequest(NamedTuple):
    """A request arrives."""

    sender: Address
    message: Message
    tag: int
    view: int


class ReceiveNumber(NamedTuple):
    """The id that this member has asked for arrives."""

    id: int
    tag: int
    view: int


class ReceiveBcast(NamedTuple):
    """A broadcast arrives, from its sender or through FLUSH."""

    id: int
    message: Message
    view: int


class ReceiveNewView(NamedTuple):
    """The first id of a view arrives."""

    id: int
    view: int


class Ask(NamedTuple):
    """The timer of the retransmission thread goes off."""


class ReceiveResend(NamedTuple):
    """A member asks for a broadcast."""

    sender: Address
    id: int
    view: int


class ResendRequests(NamedTuple):
    """The timer of the requests goes off."""


class Announce(NamedTuple):
    """The timer of the sequencer goes off."""


class ReceiveLast(NamedTuple):
    """The last id arrives."""

    id: int
    view: int


class Acknowledge(NamedTuple):
    """The timer of acknowledgements goes off."""


class ReceiveCumSeqAck(NamedTuple):
    """A member's acknowledgement arrives."""

    sender: Address
    id: int
    view: int


class InstallView(NamedTuple):
    """A view is installed; `first` is the id with which its sequencer begins."""

    view: int
    members: tuple[Address, ...]
    first: int = 1


INPUTS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            *(Send, ReceiveRequest, ReceiveNumber, ReceiveBcast, ReceiveNewView, Ask),
            *(ReceiveResend, ResendRequests, Announce, ReceiveLast, Acknowledge),
            *(ReceiveCumSeqAck, InstallView),
        )
    }
)
