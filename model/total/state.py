"""The state of a whole TOTAL system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Total.tla` and the CONSTANTS of `spec/MCTotal.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state
from raincheck.model.machine.network import Link
from raincheck.model.machine.runs import Address

from .events import (
    Bcast,
    Broadcast,
    Cast,
    CumSeqAck,
    Deliver,
    Last,
    Message,
    NewView,
    Request,
    Resend,
    Unicast,
)
from .handlers import Counts, Local, Rules, count

D = TypeVar("D", bound=Cast | Unicast)
Links: TypeAlias = tuple[tuple[Link[tuple[str, D]], ...], ...]
"""[from][to]: what is under way, each with the name of its type: tuples of two can be equal."""


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCTotal.tla`."""

    nodes: tuple[str, ...]
    founders: frozenset[str]
    senders: frozenset[str]
    max_said: int
    crashers: frozenset[str]
    max_crashes: int
    max_losses: int
    lossy: frozenset[str]
    acknowledgers: frozenset[str]
    max_ids: int
    first_ids: frozenset[int]
    virtual_synchrony: bool
    sending_view: bool
    fifo_forward: bool
    fifo_casts: bool
    may_duplicate: bool
    rules: Rules


class View(NamedTuple):
    """A view that the membership decided, and its joiners."""

    members: tuple[Address, ...]
    joiners: frozenset[Address] = frozenset()


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    locals: tuple[Local, ...]
    delivered: tuple[tuple[Deliver, ...], ...]
    requests: Links[Unicast]
    casts: Links[Cast]
    views: tuple[View, ...]
    losses: int = 0


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Total.tla`."""
    names = constants.nodes

    def per_node(values: Iterable[Value]) -> Value:
        return function(zip(names, values, strict=True))

    def counts(of: Counts) -> Value:
        return per_node(count(of, Address(name, 0)) for name in names)

    def links(table: Links[D]) -> Value:
        return per_node(per_node(map(_link, row)) for row in table)

    nodes = state.locals
    return {
        "status": per_node(me.status for me in nodes),
        "view": per_node(me.view for me in nodes),
        "seqno": per_node(me.seqno for me in nodes),
        "forwardTable": per_node(tuple(map(_message, me.forward_table)) for me in nodes),
        "passed": per_node(me.passed for me in nodes),
        "nextId": per_node(me.next_id for me in nodes),
        "taken": per_node(counts(me.taken) for me in nodes),
        "history": per_node(_broadcasts(me.history) for me in nodes),
        "acks": per_node(counts(me.acks) for me in nodes),
        "expected": per_node(me.expected for me in nodes),
        "queue": per_node(_broadcasts(me.queue) for me in nodes),
        "last": per_node(me.last for me in nodes),
        "delivered": per_node(tuple(map(_delivered, heard)) for heard in state.delivered),
        "requests": links(state.requests),
        "casts": links(state.casts),
        "losses": state.losses,
        "views": tuple(map(_view, state.views)),
    }


@lru_cache(maxsize=10_000)
def _message(message: Message) -> Value:
    # `from` is a keyword of Python, so it cannot be an argument of `record`.
    fields: dict[Value, Value] = {"from": tuple(message.sender), "seqno": message.seqno}
    return function(fields.items())


def _broadcasts(broadcasts: Iterable[Broadcast]) -> Value:
    return frozenset(record(id=each.id, message=_message(each.message)) for each in broadcasts)


@lru_cache(maxsize=10_000)
def _delivered(each: Deliver) -> Value:
    return record(message=_message(each.message), view=each.view, id=each.id)


@lru_cache(maxsize=10_000)
def _link(link: Link[tuple[str, D]]) -> Value:
    under_way = (_datagram(each) for _, each in link)
    return frozenset(under_way) if isinstance(link, frozenset) else tuple(under_way)


def _datagram(each: Cast | Unicast) -> Value:
    match each:
        case Request(_, message, tag, view):
            return record(type="REQUEST", message=_message(message), tag=tag, view=view)
        case Resend(_, id_, view):
            return record(type="RESEND", id=id_, view=view)
        case CumSeqAck(_, id_, view):
            return record(type="CUM_SEQ_ACK", id=id_, view=view)
        case Bcast(_, id_, message, view):
            return record(type="BCAST", id=id_, message=_message(message), view=view)
        case NewView(id_, view):
            return record(type="NEW_VIEW", id=id_, view=view)
        case Last(id_, view):
            return record(type="LAST", id=id_, view=view)
    return record(type="NUMBER", id=each.id, tag=each.tag, view=each.view)


@lru_cache(maxsize=1_000)
def _view(view: View) -> Value:
    return record(
        members=tuple(map(tuple, view.members)), joiners=frozenset(map(tuple, view.joiners))
    )
