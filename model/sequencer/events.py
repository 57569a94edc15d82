"""The inputs and outputs of a member of SEQUENCER, named as the spec's actions.

An input may be about a run of messages. Outputs are single messages, because the layers below may
carry them in other runs than they were sent in.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from raincheck.model.machine.composed import Move
from raincheck.model.machine.runs import Address, Run

from . import handlers as node
from .handlers import Ack, Data, Deliver, Forward, Safe, Table

# ---------------------------------------------------------------------- inputs


class Send(NamedTuple):
    """The application multicasts `size` messages."""

    size: int = 1


class ReceiveForward(NamedTuple):
    """A FORWARD arrives."""

    sender: Address
    messages: Run
    view: int


class ReceiveData(NamedTuple):
    """DATA arrives; `position` is the first message's place in the coordinator's stream."""

    coordinator: Address
    messages: Run
    view: int
    position: int


class Stabilise(NamedTuple):
    """STABLE reports the member's own messages up to `seqno` as delivered by all of the view."""

    seqno: int


class Acknowledge(NamedTuple):
    """The member acknowledges what it has received; only with safe delivery."""


class ReceiveAck(NamedTuple):
    """ACK arrives: the sender has received this node's stream up to `place`."""

    sender: Address
    place: int


class Announce(NamedTuple):
    """The coordinator announces what all members of its view have received."""


class ReceiveSafe(NamedTuple):
    """SAFE arrives: all have received the coordinator's stream up to `place`."""

    coordinator: Address
    place: int


class InstallView(NamedTuple):
    """The membership installs a view."""

    view: int
    members: tuple[Address, ...]
    joiners: tuple[Address, ...]


class Join(NamedTuple):
    """JOIN_RSP arrives."""

    coordinator: Address
    view: int
    members: tuple[Address, ...]
    table: Table
    digest: Table


class Resend(NamedTuple):
    """The member sends the next `size` messages of forwardTable again."""

    size: int = 1


class Leave(NamedTuple):
    """The application calls leave()."""


class Stop(NamedTuple):
    """leave() returns; `drained`: all that wait for the leaver's multicasts have received them."""

    drained: bool


class Crash(NamedTuple):
    """The process crashes."""


class Restart(NamedTuple):
    """The process comes back."""


INPUTS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            *(Send, ReceiveForward, ReceiveData, Stabilise, InstallView, Join, Resend),
            *(Acknowledge, ReceiveAck, Announce, ReceiveSafe, Leave, Stop, Crash, Restart),
        )
    }
)

# ---------------------------------------------------------------------- outputs


class SendJoinRsp(NamedTuple):
    """JOIN_RSP to one joiner."""

    to: Address
    view: int
    members: tuple[Address, ...]
    table: Table
    digest: Table


Output: TypeAlias = Forward | Data | Deliver | SendJoinRsp | Ack | Safe


def outputs_of(
    outputs: tuple[node.Output, ...], view: InstallView | None = None, digest: Table = ()
) -> tuple[Output, ...]:
    """Return a handler's outputs message by message, and a view's coordinator's answer per joiner.

    The answers come last, each with the coordinator's places in the streams of the view's members.
    """
    found: list[Output] = []
    answers: list[Output] = []
    for output in outputs:
        if isinstance(output, node.Ack | node.Safe):
            found.append(output)
        elif not isinstance(output, node.JoinRsp):
            found += (output._replace(messages=each) for each in output.messages.singles())
        elif view is not None:
            answers += (
                SendJoinRsp(joiner, view.view, view.members, output.table, digest)
                for joiner in view.joiners
                if joiner != view.members[0]
            )
    return (*found, *answers)


# ---------------------------------------------------------------------- runs


def size_of(event: Any) -> int:
    """Return how many messages the input moves at once."""
    match event:
        case Send(count) | Resend(count):
            return count
        case ReceiveForward(messages=messages) | ReceiveData(messages=messages):
            return messages.size
    return 1


def longer(move: Move[Any], after: Move[Any]) -> Any:
    """Return the inputs of both moves as one, or None if their messages do not form a run."""
    if (move.node, move.args) != (after.node, after.args):
        return None
    match move.event, after.event:
        case Send(count), Send(more):
            return Send(count + more)
        case Resend(count), Resend(more):
            first, then = move.outputs[-1].messages, after.outputs[0].messages
            return Resend(count + more) if _follows(first, then) else None
        case (ReceiveForward() as first, ReceiveForward() as then) | (
            ReceiveData() as first,
            ReceiveData() as then,
        ):
            run, rest = first.messages, then.messages
            if first.view == then.view and _follows(run, rest):
                return first._replace(messages=run._replace(size=run.size + rest.size))
    return None


def _follows(run: Run, rest: Run) -> bool:
    return rest == Run(run.sender, run.last + 1, rest.size, run.payload + run.size)
