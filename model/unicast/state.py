"""The state of a whole UNICAST system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Unicast.tla` and the CONSTANTS of `spec/MCUnicast.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state
from raincheck.model.machine.network import Link
from raincheck.model.machine.runs import Address

from .events import Ack, Content, Message
from .handlers import Local, Receiver, Rules, Sender

Datagram: TypeAlias = tuple[Address, Message | Ack]
"""A datagram under way: its source, and its contents."""


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCUnicast.tla`."""

    nodes: tuple[str, ...]
    senders: frozenset[str]
    max_said: int
    forgetters: frozenset[str]
    max_connections: int
    crashers: frozenset[str]
    returners: frozenset[str]
    may_lose: bool
    may_duplicate: bool
    may_reorder: bool
    rules: Rules


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    locals: tuple[Local, ...]
    said: tuple[int, ...]
    delivered: tuple[tuple[tuple[Address, Content], ...], ...]
    link: tuple[tuple[Link[Datagram], ...], ...]


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values, {"nodes": "Node"})


def variables(nodes: tuple[str, ...], state: State) -> dict[str, Value]:
    """Return the state in the variables of `Unicast.tla`."""
    locals_ = state.locals

    def per_node(values: Iterable[Value]) -> Value:
        return function(zip(nodes, values, strict=True))

    return {
        "up": per_node(me.up for me in locals_),
        "incarnation": per_node(me.incarnation for me in locals_),
        "said": per_node(state.said),
        "connections": per_node(me.connections for me in locals_),
        "senders": per_node(
            function((tuple(a), _sender(end)) for a, end in me.senders) for me in locals_
        ),
        "receivers": per_node(
            function((tuple(a), _receiver(end)) for a, end in me.receivers) for me in locals_
        ),
        "closed": per_node(
            function((tuple(a), connection) for a, connection in me.closed) for me in locals_
        ),
        "delivered": per_node(
            tuple(_delivered(source, content) for source, content in heard)
            for heard in state.delivered
        ),
        "link": per_node(per_node(_link(link) for link in row) for row in state.link),
    }


def _link(link: Link[Datagram]) -> Value:
    under_way = map(_datagram, link)
    return frozenset(under_way) if isinstance(link, frozenset) else tuple(under_way)


def _sender(end: Sender) -> Value:
    return record(**end._asdict())


def _receiver(end: Receiver) -> Value:
    return record(**{**end._asdict(), "buffer": function(end.buffer)})


def _delivered(source: Address, content: Content) -> Value:
    fields: dict[Value, Value] = {"from": tuple(source), "message": content}
    return function(fields)


@lru_cache(maxsize=10_000)
def _datagram(datagram: Datagram) -> Value:
    source, what = datagram
    if isinstance(what, Message):
        return record(
            kind="data",
            source=tuple(source),
            to=tuple(what.to),
            connection=what.connection,
            seqno=what.seqno,
            message=what.content,
        )
    return record(
        kind="ack",
        source=tuple(source),
        to=tuple(what.to),
        connection=what.connection,
        arrived=what.arrived,
        consumed=what.consumed,
        missing=frozenset(what.missing),
    )
