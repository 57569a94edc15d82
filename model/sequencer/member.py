"""A member of SEQUENCER as a node of its system: inputs in, the outputs of `events.py` out.

The handlers are those of `handlers.py`. In addition a member knows how far it has read each stream:
in the spec that is a variable of the network layer, and an implementation has to respect it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from raincheck.model.machine.composed import Handler
from raincheck.model.machine.machine import Accepted, Refused, refusal
from raincheck.model.machine.runs import Address, Intervals

from . import handlers as node
from .events import (
    Acknowledge,
    Announce,
    Crash,
    InstallView,
    Join,
    Leave,
    Output,
    ReceiveAck,
    ReceiveData,
    ReceiveForward,
    ReceiveSafe,
    Resend,
    Restart,
    Send,
    Stabilise,
    Stop,
    outputs_of,
)
from .handlers import Data, Forward, Held, Local, Rules, Table


class Member(NamedTuple):
    """The fields of `Local`, and `position`: how many messages of each stream it has read."""

    node: str
    status: str
    incarnation: int = 0
    view: int = 0
    members: tuple[Address, ...] = ()
    seqno: int = 0
    said: int = 0
    forward_table: Intervals = ()
    resend: Intervals = ()
    received_table: Table = ()
    early: tuple[Forward, ...] = ()
    held: tuple[Held, ...] = ()
    told: int = 0
    heard: Table = ()
    announced: int = 0
    position: Table = ()

    @property
    def local(self) -> Local:
        """Return the part that `handlers.py` knows."""
        return Local(*self[:-1])


Answer: TypeAlias = Accepted[Member, Output] | Refused


def known_of(position: Table, members: tuple[Address, ...]) -> Table:
    """Return the places in the streams of these members."""
    return tuple(each for each in position if each[0] in members)


# ---------------------------------------------------------------------- handlers


def send(rules: Rules, me: Member, event: Send) -> Answer:
    """See `handlers.send`."""
    return _answered(me, node.send(rules, me.local, event.size))


def receive_forward(rules: Rules, me: Member, event: ReceiveForward) -> Answer:
    """See `handlers.receive_forward`; messages that wait for their view wait one by one."""
    mine, early = node.address(rules, me.local), me.early
    forward = Forward(event.messages, event.view, mine)
    answer = node.receive_forward(rules, me.local, event.sender, forward)
    found = _answered(me, answer)
    if isinstance(found, Accepted) and len(found.local.early) > len(early):
        waiting = (Forward(each, event.view, mine) for each in event.messages.singles())
        return Accepted(found.local._replace(early=(*early, *waiting)))
    return found


def receive_data(rules: Rules, me: Member, event: ReceiveData) -> Answer:
    """See `handlers.receive_data`: streams are read in order and without gaps."""
    coordinator, messages, view, position = event
    read = dict(me.position)
    at = read.get(coordinator, 0)
    in_order = position == at + 1
    refused = refusal((in_order, "i = position[n][c] + 1", {"i": position, "position": at}))
    if refused:
        return refused
    answer = node.receive_data(rules, me.local, coordinator.node, Data(messages, view), position)
    found = _answered(me, answer)
    if isinstance(found, Refused):
        return found
    read[coordinator] = position + messages.size - 1
    return Accepted(found.local._replace(position=tuple(sorted(read.items()))), found.outputs)


def stabilise(rules: Rules, me: Member, event: Stabilise) -> Answer:
    """See `handlers.stabilise`."""
    return _answered(me, node.stabilise(rules, me.local, event.seqno))


def install_view(rules: Rules, me: Member, event: InstallView) -> Answer:
    """See `handlers.install_view`."""
    place = dict(me.position).get(event.members[0], 0)
    answer = node.install_view(rules, me.local, event.view, event.members, place)
    if isinstance(answer, Refused):
        return answer
    digest = known_of(me.position, event.members)
    return Accepted(Member(*answer.local, digest), outputs_of(answer.outputs, event, digest))


def acknowledge(rules: Rules, me: Member, _event: Acknowledge) -> Answer:
    """See `handlers.acknowledge`."""
    return _answered(me, node.acknowledge(rules, me.local, _received(me)))


def receive_ack(rules: Rules, me: Member, event: ReceiveAck) -> Answer:
    """See `handlers.receive_ack`."""
    return _answered(me, node.receive_ack(rules, me.local, event.sender, event.place))


def announce(rules: Rules, me: Member, _event: Announce) -> Answer:
    """See `handlers.announce`."""
    return _answered(me, node.announce(rules, me.local, _received(me)))


def receive_safe(rules: Rules, me: Member, event: ReceiveSafe) -> Answer:
    """See `handlers.receive_safe`."""
    return _answered(me, node.receive_safe(rules, me.local, event.coordinator, event.place))


def _received(me: Member) -> int:
    """Return how much the member has received of its coordinator's stream."""
    return dict(me.position).get(me.members[0], 0) if me.members else 0


def join(rules: Rules, me: Member, event: Join) -> Answer:
    """See `handlers.join`."""
    place = dict(event.digest).get(event.members[0], 0)
    joined = node.join(rules, me.local, event.view, event.members, event.table, place)
    found = _answered(me, joined)
    if isinstance(found, Refused):
        return found
    return Accepted(found.local._replace(position=known_of(event.digest, event.members)))


def resend(rules: Rules, me: Member, event: Resend) -> Answer:
    """See `handlers.resend`."""
    return _answered(me, node.resend(rules, me.local, event.size))


def leave(_rules: Rules, me: Member, _event: Leave) -> Answer:
    """See `handlers.leave`."""
    return _answered(me, node.leave(me.local))


def stop(rules: Rules, me: Member, event: Stop) -> Answer:
    """See `handlers.stop`: the network knows what is still under way to others."""
    answer = node.stop(rules, me.local)
    undrained = refusal(
        (
            event.drained or not rules.drain_on_leave,
            "DrainOnLeave => position[p][n] = Len(stream[n])",
            {"drained": event.drained},
        )
    )
    if undrained:
        first = answer.conjuncts if isinstance(answer, Refused) else ()
        return Refused((*first, *undrained.conjuncts))
    return _ended(answer)


def crash(_rules: Rules, me: Member, _event: Crash) -> Answer:
    """See `handlers.crash`."""
    return _ended(node.crash(me.local))


def restart(_rules: Rules, me: Member, _event: Restart) -> Answer:
    """See `handlers.restart`."""
    return _ended(node.restart(me.local))


def _answered(me: Member, answer: node.Answer) -> Answer:
    if isinstance(answer, Refused):
        return answer
    return Accepted(Member(*answer.local, me.position), outputs_of(answer.outputs))


def _ended(answer: node.Answer) -> Answer:
    return answer if isinstance(answer, Refused) else Accepted(Member(*answer.local))


HANDLERS: Final[Mapping[str, Handler]] = MappingProxyType(
    {
        "Send": send,
        "ReceiveForward": receive_forward,
        "ReceiveData": receive_data,
        "Stabilise": stabilise,
        "Acknowledge": acknowledge,
        "ReceiveAck": receive_ack,
        "Announce": announce,
        "ReceiveSafe": receive_safe,
        "InstallView": install_view,
        "Join": join,
        "Resend": resend,
        "Leave": leave,
        "Stop": stop,
        "Crash": crash,
        "Restart": restart,
    }
)
"""The handlers of a member by the spec's actions."""
