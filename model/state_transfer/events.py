"""The inputs and outputs of a member's handlers of state transfer.

There is one input per action. Outputs are messages, whose names begin with Send, and indications.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.runs import Address

# ------------------------------------------------------------------ inputs


class Ask(NamedTuple):
    """The application wants the group's state, or the process asks to join."""


class ReceiveAsk(NamedTuple):
    """ASK, or JOIN, arrives."""

    sender: Address


class Begin(NamedTuple):
    """The group is flushed, at the leader's position."""

    cut: int


class ReceiveGo(NamedTuple):
    """GO arrives; `cut` is where the requester's messages begin."""

    sender: Address
    cut: int
    providers: tuple[Address, ...]


class ReceiveRequest(NamedTuple):
    """REQUEST arrives."""

    sender: Address
    transfer: int
    upto: int


class Read(NamedTuple):
    """The application gives the next chunk; `payload` is the meaning of its bytes."""

    requester: Address
    number: int
    cut: int
    last: bool
    payload: Any


class ReadFailed(NamedTuple):
    """The application cannot give its state."""

    requester: Address


class ReceiveChunk(NamedTuple):
    """CHUNK arrives."""

    sender: Address
    transfer: int
    number: int
    cut: int
    sound: bool
    last: bool
    payload: Any


class Take(NamedTuple):
    """The application has taken a chunk."""


class ReceiveCredit(NamedTuple):
    """CREDIT arrives."""

    sender: Address
    transfer: int
    upto: int


class ReceiveRefuse(NamedTuple):
    """REFUSE arrives."""

    sender: Address
    transfer: int


class ReceiveCancel(NamedTuple):
    """CANCEL arrives."""

    sender: Address
    transfer: int


class TimeOut(NamedTuple):
    """The provider has been silent for too long."""


class StateSet(NamedTuple):
    """The application has set the state, or has failed to."""

    ok: bool


class ReceiveDone(NamedTuple):
    """DONE arrives."""

    sender: Address
    ok: bool


class Suspect(NamedTuple):
    """A member is gone."""

    member: Address


class Deliver(NamedTuple):
    """The group's next message is delivered."""


# ------------------------------------------------------------------ outputs


class SendAsk(NamedTuple):
    """ASK."""

    to: Address


class SendGo(NamedTuple):
    """GO."""

    to: Address
    cut: int
    providers: tuple[Address, ...]


class SendRequest(NamedTuple):
    """REQUEST."""

    to: Address
    transfer: int
    upto: int


class SendChunk(NamedTuple):
    """CHUNK; it is sound when it is sent."""

    to: Address
    transfer: int
    number: int
    cut: int
    sound: bool
    last: bool
    payload: Any


class SendCredit(NamedTuple):
    """CREDIT."""

    to: Address
    transfer: int
    upto: int


class SendRefuse(NamedTuple):
    """REFUSE."""

    to: Address
    transfer: int


class SendCancel(NamedTuple):
    """CANCEL."""

    to: Address
    transfer: int


class SendDone(NamedTuple):
    """DONE."""

    to: Address
    ok: bool


class GetState(NamedTuple):
    """Read the application's state for that requester."""

    requester: Address
    transfer: int


class EndState(NamedTuple):
    """Nobody wants the state any more."""

    requester: Address


class Begun(NamedTuple):
    """The application forgets the chunks of earlier providers."""

    provider: Address
    transfer: int


class HandUp(NamedTuple):
    """Hand the next chunk to the application."""

    payload: Any
    last: bool


class Failed(NamedTuple):
    """There is nobody left to ask."""


class Resume(NamedTuple):
    """The leader no longer waits for anybody."""


Message: TypeAlias = (
    SendAsk | SendGo | SendRequest | SendChunk | SendCredit | SendRefuse | SendCancel | SendDone
)
Output: TypeAlias = Message | GetState | EndState | Begun | HandUp | Failed | Resume

INPUTS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        Ask,
        ReceiveAsk,
        Begin,
        ReceiveGo,
        ReceiveRequest,
        Read,
        ReadFailed,
        ReceiveChunk,
        Take,
        ReceiveCredit,
        ReceiveRefuse,
        ReceiveCancel,
        TimeOut,
        StateSet,
        ReceiveDone,
        Suspect,
        Deliver,
    )
}
