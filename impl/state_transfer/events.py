"""State transfer's events and effects.

An event is one action of `spec/StateTransfer.tla`, with the same name and fields. Effects named
`Send...` are messages for UNICAST; the others are for the layers beside and above, named there.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.impl.messages import Address

# ------------------------------------------------------------------ events


class Ask(NamedTuple):
    """The application wants the group's state."""


class ReceiveAsk(NamedTuple):
    """ASK: `sender` wants the state; it gets its turn in the leader's queue."""

    sender: Address


class Begin(NamedTuple):
    """The group is flushed, the view is installed: it is the turn of those who asked."""

    cut: int


class ReceiveGo(NamedTuple):
    """GO: the requester's messages begin behind `cut`; it may ask one of `providers`."""

    sender: Address
    cut: int
    providers: tuple[Address, ...]


class ReceiveRequest(NamedTuple):
    """REQUEST: `sender` wants this member's state, chunks 1 .. `upto` for now."""

    sender: Address
    transfer: int
    upto: int


class ReceiveJoin(NamedTuple):
    """A joiner whose JOIN asked for the state is admitted: it is queued like others."""

    joiner: Address


class Join(NamedTuple):
    """This process, which asked for the state with its JOIN, is admitted by that leader."""

    leader: Address
    members: tuple[Address, ...]
    view: int = 0
    """The view's number, which is of use to traces alone; so in `InstallView`."""


class Merge(NamedTuple):
    """MERGE2: this member's side takes the other side's state, as a joiner does.

    The leader of the merged view knows it, and will have the group flushed for that.
    """

    leader: Address


class AskAnew(NamedTuple):
    """MERGE2: the leader that was to have the group flushed was gone before it could."""


class InstallView(NamedTuple):
    """The next view: who is not in it any more is gone."""

    members: tuple[Address, ...]
    view: int = 0


class Read(NamedTuple):
    """The next chunk was read from this member's application, which had applied `cut` messages."""

    requester: Address
    number: int
    cut: int
    last: bool
    payload: bytes


class ReadFailed(NamedTuple):
    """This member's application cannot give its state."""

    requester: Address


class ReceiveChunk(NamedTuple):
    """CHUNK `number` of the state; it is `sound` if its checksum is right."""

    sender: Address
    transfer: int
    number: int
    cut: int
    sound: bool
    last: bool
    payload: bytes


class Take(NamedTuple):
    """The application has taken the next chunk."""


class ReceiveCredit(NamedTuple):
    """CREDIT: chunks up to `upto` may be sent."""

    sender: Address
    transfer: int
    upto: int


class ReceiveRefuse(NamedTuple):
    """REFUSE: the provider cannot give its state."""

    sender: Address
    transfer: int


class ReceiveCancel(NamedTuple):
    """CANCEL: the requester wants no more of it."""

    sender: Address
    transfer: int


class TimeOut(NamedTuple):
    """The provider has been silent for too long."""


class StateSet(NamedTuple):
    """set_state has returned, or (not `ok`) failed."""

    ok: bool


class ReceiveDone(NamedTuple):
    """DONE: `sender` has its state, or (not `ok`) has given up."""

    sender: Address
    ok: bool


class Suspect(NamedTuple):
    """That member is gone."""

    member: Address


class Deliver(NamedTuple):
    """The group's next message is to be delivered here."""


Event: TypeAlias = (
    Ask
    | ReceiveAsk
    | Begin
    | ReceiveGo
    | ReceiveRequest
    | Read
    | ReadFailed
    | ReceiveChunk
    | Take
    | ReceiveCredit
    | ReceiveRefuse
    | ReceiveCancel
    | TimeOut
    | StateSet
    | ReceiveDone
    | Suspect
    | Deliver
    | ReceiveJoin
    | Join
    | Merge
    | AskAnew
    | InstallView
)

# ------------------------------------------------------------------ effects: messages


class SendAsk(NamedTuple):
    """ASK, to the leader."""

    to: Address


class SendGo(NamedTuple):
    """GO, to a requester."""

    to: Address
    cut: int
    providers: tuple[Address, ...]


class SendRequest(NamedTuple):
    """REQUEST, to a provider."""

    to: Address
    transfer: int
    upto: int


class SendChunk(NamedTuple):
    """CHUNK, to a requester."""

    to: Address
    transfer: int
    number: int
    cut: int
    sound: bool
    last: bool
    payload: bytes


class SendCredit(NamedTuple):
    """CREDIT, to the provider."""

    to: Address
    transfer: int
    upto: int


class SendRefuse(NamedTuple):
    """REFUSE, to a requester."""

    to: Address
    transfer: int


class SendCancel(NamedTuple):
    """CANCEL, to the provider."""

    to: Address
    transfer: int


class SendDone(NamedTuple):
    """DONE, to the leader."""

    to: Address
    ok: bool


# ------------------------------------------------------------------ effects: indications


class GetState(NamedTuple):
    """Begin to read the application's state, for that requester."""

    requester: Address
    transfer: int


class EndState(NamedTuple):
    """Stop reading: the requester does not want the state any more."""

    requester: Address


class Begun(NamedTuple):
    """A provider is asked: forget the chunks of earlier ones and deliver no message for now."""

    provider: Address
    transfer: int


class HandUp(NamedTuple):
    """The next chunk for set_state."""

    payload: bytes
    last: bool


class Failed(NamedTuple):
    """No provider is left: `reason` is a sentence for the application."""

    reason: str


class Resume(NamedTuple):
    """The leader waits for no requester any more: the group may go on."""


Effect: TypeAlias = (
    SendAsk
    | SendGo
    | SendRequest
    | SendChunk
    | SendCredit
    | SendRefuse
    | SendCancel
    | SendDone
    | GetState
    | EndState
    | Begun
    | HandUp
    | Failed
    | Resume
)
