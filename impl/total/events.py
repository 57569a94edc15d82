"""TOTAL's events and effects.

An event is one action of `spec/Total.tla`, with the same name and fields. The timers (`Ask`,
`ResendRequests`, `Announce`, `Acknowledge`) are the layer's, which may let them go off at any time:
what they repeat changes nothing where it is known already.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from raincheck.impl.messages import Address


class Message(NamedTuple):
    """A message of an application: its sender, its number among the sender's, and its content.

    TOTAL does not look at the content. In the stack it is a bundle (`impl/stack/total_layer.py`).
    """

    sender: Address
    seqno: int
    payload: Any = b""


# ------------------------------------------------------------------ effects


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


class Last(NamedTuple):
    """TOTAL_LAST, to all others: the last id so far."""

    id: int
    view: int


class Deliver(NamedTuple):
    """A message is passed up, in a view."""

    message: Message
    view: int
    id: int


Effect: TypeAlias = Request | Resend | CumSeqAck | Bcast | Last | Deliver


# ------------------------------------------------------------------ events


class Send(NamedTuple):
    """The application multicasts a message."""

    payload: Any = b""


class ReceiveRequest(NamedTuple):
    """A request arrives."""

    sender: Address
    message: Message
    tag: int
    view: int


class ReceiveBcast(NamedTuple):
    """A broadcast arrives, from its sequencer or through FLUSH."""

    id: int
    message: Message
    view: int


class Ask(NamedTuple):
    """It is time to ask for what is missing."""


class ReceiveResend(NamedTuple):
    """A member asks for a broadcast."""

    sender: Address
    id: int
    view: int


class ResendRequests(NamedTuple):
    """It is time to repeat the requests."""


class Announce(NamedTuple):
    """It is time for the sequencer to tell the last id."""


class ReceiveLast(NamedTuple):
    """The last id arrives."""

    id: int
    view: int


class Acknowledge(NamedTuple):
    """It is time to acknowledge."""


class ReceiveCumSeqAck(NamedTuple):
    """A member's acknowledgement arrives."""

    sender: Address
    id: int
    view: int


class Forget(NamedTuple):
    """A sequencer that is alone in its view forgets its broadcasts: nobody can ask for them.

    No instance of the specification has it: there the history is as long as the run.
    """


class InstallView(NamedTuple):
    """A view is installed, whose ids begin with `first`; the first member is its sequencer."""

    view: int
    members: tuple[Address, ...]
    first: int = 1


Event: TypeAlias = (
    Send
    | ReceiveRequest
    | ReceiveBcast
    | Ask
    | ReceiveResend
    | ResendRequests
    | Announce
    | ReceiveLast
    | Acknowledge
    | ReceiveCumSeqAck
    | Forget
    | InstallView
)
