"""The state of a whole SEQUENCER system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Sequencer.tla` and the CONSTANTS of `spec/MCSequencer.tla`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Fcn, Value, function, record, state
from raincheck.model.machine.rows import by_node
from raincheck.model.machine.runs import Address, Intervals, Run, members_of

from . import handlers as node
from .handlers import Held, Local, Rules, Table

Tagged: TypeAlias = tuple[Run, int]
"""One message and the view with which it is tagged, or in which it was delivered."""


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCSequencer.tla`."""

    nodes: tuple[str, ...]
    founders: frozenset[str]
    senders: frozenset[str]
    max_said: int
    crashers: frozenset[str]
    max_crashes: int
    leavers: frozenset[str]
    returners: frozenset[str]
    last_demotion: int
    fifo_forward: bool
    virtual_synchrony: bool
    rules: Rules
    strangers: frozenset[str] = frozenset()
    max_forged: int = 0
    true_sources: bool = True
    true_contents: bool = True


class View(NamedTuple):
    """A view that the membership decided, and its joiners."""

    members: tuple[Address, ...]
    joiners: frozenset[Address]


class Rsp(NamedTuple):
    """A JOIN_RSP under way: the view, the coordinator's positions and its table at one cut."""

    view: int
    digest: tuple[int, ...]
    table: Table


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    locals: tuple[Local, ...]
    delivered: tuple[tuple[Tagged, ...], ...]
    forwards: tuple[tuple[tuple[Tagged, ...], ...], ...]
    stream: tuple[tuple[Tagged, ...], ...]
    position: tuple[tuple[int, ...], ...]
    join_rsp: tuple[Rsp | None, ...]
    views: tuple[View, ...]


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Sequencer.tla`."""
    names, rules = constants.nodes, constants.rules

    def per_node(values: tuple[Value, ...]) -> Value:
        return by_node(names, values)

    def own(me: Local, seqnos: Intervals) -> tuple[Value, ...]:
        return tuple(
            _message(node.own_run(rules, me, seqno, seqno)) for seqno in members_of(seqnos)
        )

    nodes = state.locals
    return {
        "status": per_node(tuple(me.status for me in nodes)),
        "incarnation": per_node(tuple(me.incarnation for me in nodes)),
        "view": per_node(tuple(me.view for me in nodes)),
        "seqno": per_node(tuple(me.seqno for me in nodes)),
        "said": per_node(tuple(me.said for me in nodes)),
        "forwardTable": per_node(tuple(frozenset(own(me, me.forward_table)) for me in nodes)),
        "resend": per_node(tuple(own(me, me.resend) for me in nodes)),
        "receivedTable": per_node(tuple(_table(me.received_table) for me in nodes)),
        "early": per_node(
            tuple(_tagged(tuple((f.messages, f.view) for f in me.early)) for me in nodes)
        ),
        "delivered": per_node(tuple(map(_tagged, state.delivered))),
        "held": per_node(tuple(_held(me.held) for me in nodes)),
        "told": per_node(tuple(me.told for me in nodes)),
        "heard": per_node(tuple(_table(me.heard) for me in nodes)),
        "announced": per_node(tuple(me.announced for me in nodes)),
        "forwards": per_node(tuple(per_node(tuple(map(_tagged, row))) for row in state.forwards)),
        "stream": per_node(tuple(map(_tagged, state.stream))),
        "position": per_node(tuple(per_node(row) for row in state.position)),
        "joinRsp": per_node(
            tuple(() if rsp is None else (_rsp(names, rsp),) for rsp in state.join_rsp)
        ),
        "views": tuple(map(_view, state.views)),
    }


@lru_cache(maxsize=200_000)
def _message(message: Run) -> Fcn:
    # `from` is a keyword of Python, so it cannot be an argument of `record`.
    fields: dict[Value, Value] = {
        "from": (message.sender.node, message.sender.incarnation),
        "seqno": message.first,
        "payload": message.payload,
    }
    return Fcn(fields)


@lru_cache(maxsize=200_000)
def _tagged(messages: tuple[Tagged, ...]) -> Value:
    return tuple(record(message=_message(m), view=view) for m, view in messages)


@lru_cache(maxsize=200_000)
def _held(held: tuple[Held, ...]) -> Value:
    return tuple(record(message=_message(each.message), place=each.place) for each in held)


@lru_cache(maxsize=200_000)
def _table(table: Table) -> Value:
    return function(((a.node, a.incarnation), seqno) for a, seqno in table)


@lru_cache(maxsize=200_000)
def _rsp(names: tuple[str, ...], rsp: Rsp) -> Value:
    return record(view=rsp.view, digest=by_node(names, rsp.digest), table=_table(rsp.table))


@lru_cache(maxsize=200_000)
def _view(view: View) -> Value:
    return record(
        members=tuple((a.node, a.incarnation) for a in view.members),
        joiners=frozenset((a.node, a.incarnation) for a in view.joiners),
    )
