"""The state of a whole system of state transfer, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/StateTransfer.tla` and the CONSTANTS of `MCStateTransfer.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state
from raincheck.model.machine.rows import by_node, flags
from raincheck.model.machine.runs import Address

from .handlers import Local, Rules


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCStateTransfer.tla`."""

    nodes: tuple[str, ...]
    founders: frozenset[str]
    requesters: frozenset[str]
    max_sent: int
    inbox: bool
    crashers: frozenset[str]
    max_crashes: int
    impatient: frozenset[str]
    refusers: frozenset[str]
    garblers: frozenset[str]
    fail_set: frozenset[str]
    chunks: int
    window: int
    fifo_unicast: bool
    flushed: bool
    latch_stays: bool
    applied_first: bool
    rules: Rules


class Part(NamedTuple):
    """The meaning of a chunk's bytes: their writer, the part's number, the messages in it.

    A damaged chunk has no writer.
    """

    by: str | None
    number: int
    at: int


class Post(NamedTuple):
    """A message under way: its kind, and its fields in the order of the output's fields."""

    kind: str
    fields: tuple[Any, ...]


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    locals: tuple[Local, ...]
    up: tuple[bool, ...]
    net: tuple[tuple[tuple[Post, ...], ...], ...]
    sent: int
    flush: str
    joined: tuple[bool, ...]
    position: tuple[int, ...]
    applied: tuple[int, ...]
    chunks: tuple[tuple[Part, ...], ...]
    state: tuple[tuple[Part, ...], ...]
    base: tuple[int, ...]


_FIELDS: Mapping[str, tuple[str, ...]] = {
    "Ask": (),
    "Go": ("cut", "providers"),
    "Request": ("transfer", "upto"),
    "Chunk": ("transfer", "number", "cut", "sound", "last", "payload"),
    "Credit": ("transfer", "upto"),
    "Refuse": ("transfer",),
    "Cancel": ("transfer",),
    "Done": ("ok",),
}


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `StateTransfer.tla`."""
    names = constants.nodes

    def per_node(values: tuple[Value, ...]) -> Value:
        return by_node(names, values)

    nodes = state.locals
    return {
        "up": flags(names, state.up),
        "suspects": per_node(tuple(frozenset(_names(me.suspects)) for me in nodes)),
        "requester": per_node(tuple(map(_requester, nodes))),
        "serving": per_node(tuple(map(_serving, nodes))),
        "queue": per_node(tuple(_names(me.queue) for me in nodes)),
        "waiting": per_node(tuple(frozenset(_names(me.waiting)) for me in nodes)),
        "net": per_node(tuple(per_node(tuple(map(_channel, row))) for row in state.net)),
        "sent": state.sent,
        "flush": state.flush,
        "joined": flags(names, state.joined),
        "position": per_node(state.position),
        "applied": per_node(state.applied),
        "chunks": per_node(tuple(map(_parts, state.chunks))),
        "state": per_node(tuple(map(_parts, state.state))),
        "base": per_node(state.base),
    }


@lru_cache(maxsize=200_000)
def _requester(me: Local) -> Value:
    return record(
        phase=me.phase,
        leader=_name(me.leader),
        attempt=me.attempt,
        provider=_name(me.provider),
        candidates=_names(me.candidates),
        cut=me.cut,
        next=me.next,
        taken=me.taken,
        granted=me.granted,
    )


@lru_cache(maxsize=200_000)
def _serving(me: Local) -> Value:
    return function(
        (to.node, record(transfer=each.transfer, next=each.next, upto=each.upto))
        for to, each in me.serving
    )


@lru_cache(maxsize=200_000)
def _channel(channel: tuple[Post, ...]) -> Value:
    def message(post: Post) -> Value:
        fields = dict(zip(_FIELDS[post.kind], post.fields, strict=True))
        if post.kind == "Chunk":
            fields["payload"] = _part(fields["payload"])
        if post.kind == "Go":
            fields["providers"] = _names(fields["providers"])
        return record(type=post.kind, **fields)

    return tuple(map(message, channel))


def _name(who: Address | None) -> str:
    return "none" if who is None else who.node


def _names(addresses: Iterable[Address]) -> tuple[str, ...]:
    return tuple(each.node for each in addresses)


def _part(part: Part) -> Value:
    return record(by=part.by or "none", number=part.number, at=part.at)


@lru_cache(maxsize=200_000)
def _parts(parts: tuple[Part, ...]) -> Value:
    return tuple(map(_part, parts))
