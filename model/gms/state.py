"""The state of a whole GMS system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Gms.tla` and the CONSTANTS of `spec/MCGms.tla`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state
from raincheck.model.machine.runs import Address

from .events import (
    Answer,
    SendExcluded,
    SendInstall,
    SendJoinRsp,
    SendLeave,
    SendNewView,
    SendNotJoined,
    SendViewAck,
    View,
)
from .handlers import Addresses, Local, Rules

T = TypeVar("T")


class Prepare(NamedTuple):
    """FLUSH's START_FLUSH."""

    counter: int
    participants: tuple[Address, ...]


class Stop(NamedTuple):
    """FLUSH's STOP_FLUSH."""


Content: TypeAlias = (
    Prepare
    | Stop
    | SendNewView
    | SendViewAck
    | SendInstall
    | SendJoinRsp
    | SendNotJoined
    | SendLeave
    | SendExcluded
)


class Message(NamedTuple):
    """A message under way in a channel; `digest` is that of a JOIN_RSP."""

    sender: Address
    content: Content
    digest: tuple[int, ...] = ()


class Entry(NamedTuple):
    """A multicast: the number of the view it was sent in, and of the view that it announces."""

    view: int
    news: int = 0


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCGms.tla`."""

    nodes: tuple[str, ...]
    founders: frozenset[str]
    crashers: frozenset[str]
    max_crashes: int
    leavers: frozenset[str]
    returners: frozenset[str]
    impatient: bool
    requesters: frozenset[str]
    senders: frozenset[str]
    max_said: int
    max_views: int
    doubters: frozenset[str]
    sides: frozenset[frozenset[str]]
    fifo_unicast: bool
    accurate_suspicion: bool
    virtual_synchrony: bool
    retry_join: bool
    digest_first: bool
    plus_one: bool
    view_in_band: bool
    rules: Rules


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    locals: tuple[Local, ...]
    channel: tuple[tuple[tuple[Message, ...], ...], ...]
    join_req: Addresses
    asked: tuple[Addresses, ...]
    answers: tuple[frozenset[Answer], ...]
    latch: tuple[bool, ...]
    stream: tuple[tuple[Entry, ...], ...]
    position: tuple[tuple[int, ...], ...]
    digest: tuple[tuple[int, ...] | None, ...]
    start: tuple[Message | None, ...]
    steps: frozenset[tuple[View | None, View]]


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


# ---------------------------------------------------------------------- as the spec has it

NOBODY: Value = ("", 0)


def _address(a: Address | None) -> Value:
    return NOBODY if a is None else (a.node, a.incarnation)


def _set(addresses: Iterable[Address]) -> Value:
    return frozenset(map(_address, addresses))


@lru_cache(maxsize=4096)
def view_value(view: View | None) -> Value:
    """Return a view as the spec's record; NoView for None."""
    if view is None:
        return record(id=(0, NOBODY), members=(), joiners=frozenset())
    return record(
        id=(view.id.counter, _address(view.id.coordinator)),
        members=tuple(map(_address, view.members)),
        joiners=_set(view.joiners),
    )


def _views(views: Iterable[View]) -> Value:
    return tuple(map(view_value, views))


_TYPES: Mapping[type, str] = {
    Prepare: "PREPARE",
    Stop: "STOP",
    SendNewView: "NEW_VIEW",
    SendViewAck: "VIEW_ACK",
    SendInstall: "INSTALL",
    SendJoinRsp: "JOIN_RSP",
    SendNotJoined: "NOT_JOINED",
    SendLeave: "LEAVE",
    SendExcluded: "EXCLUDED",
}


def _message(nodes: tuple[str, ...], message: Message) -> Value:
    content = message.content
    fields: dict[str, Value] = {
        "type": _TYPES[type(content)],
        "from": _address(message.sender),
    }
    if isinstance(content, SendNewView | SendJoinRsp | SendExcluded):
        fields["view"] = view_value(content.view)
    if isinstance(content, Prepare | SendViewAck | SendInstall | SendNotJoined):
        fields["counter"] = content.counter
    if isinstance(content, Prepare):
        fields["participants"] = _set(content.participants)
    if isinstance(content, SendJoinRsp):
        fields["digest"] = _by_node(nodes, message.digest)
    return record(**fields)


def _by_node(nodes: tuple[str, ...], row: Iterable[Value]) -> Value:
    return function(zip(nodes, row, strict=True))


_OF_LOCAL: Mapping[str, Callable[[Local], Value]] = {
    "status": lambda me: me.status,
    "incarnation": lambda me: me.incarnation,
    "view": lambda me: view_value(me.view),
    "held": lambda me: _views(me.held),
    "promised": lambda me: _address(me.promised),
    "declined": lambda me: me.declined,
    "suspects": lambda me: _set(me.suspects),
    "gone": lambda me: _set(me.gone),
    "joining": lambda me: _set(me.joining),
    "transfer": lambda me: me.transfer,
    "phase": lambda me: me.phase,
    "proposal": lambda me: () if me.proposal is None else (view_value(me.proposal),),
    "waiting": lambda me: _set(me.waiting),
}


def _answer(answer: Answer) -> Value:
    return record(
        member=_address(answer.member), view=view_value(answer.view), held=_views(answer.held)
    )


def variables(nodes: tuple[str, ...], state: State) -> dict[str, Value]:
    """Return the value of each variable of `Gms.tla`."""

    def each(row: Iterable[T], value: Callable[[T], Value]) -> Value:
        return _by_node(nodes, map(value, row))

    def channel(messages: tuple[Message, ...]) -> Value:
        return tuple(_message(nodes, m) for m in messages)

    def start(message: Message | None) -> Value:
        return () if message is None else (_message(nodes, message),)

    found = {name: each(state.locals, value) for name, value in _OF_LOCAL.items()}
    found |= {
        "channel": each(state.channel, lambda row: each(row, channel)),
        "joinReq": _set(state.join_req),
        "asked": each(state.asked, _set),
        "answers": each(state.answers, lambda row: frozenset(map(_answer, row))),
        "latch": each(state.latch, bool),
        "stream": each(
            state.stream, lambda row: tuple(record(view=e.view, news=e.news) for e in row)
        ),
        "position": each(state.position, lambda row: _by_node(nodes, row)),
        "digest": each(state.digest, lambda d: () if d is None else (_by_node(nodes, d),)),
        "start": each(state.start, start),
        "steps": frozenset((view_value(a), view_value(b)) for a, b in state.steps),
    }
    return found
