"""The state of a whole PBCAST system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Pbcast.tla` and the CONSTANTS of `spec/MCPbcast.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state
from raincheck.model.machine.rows import by_node
from raincheck.model.machine.runs import Address

from .events import Gossip, Members, Numbers, Request, Response, Vector
from .handlers import Known, Local, Rules

Counts: TypeAlias = tuple[int, ...]
"""One number per node, by its index."""
Grid: TypeAlias = tuple[Counts, ...]
"""One number per pair of nodes."""

Asked: TypeAlias = frozenset[tuple[Address, Address, int]]
"""Whom a member has asked, for which message of whose stream."""


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCPbcast.tla`."""

    nodes: tuple[str, ...]
    founders: frozenset[str]
    max_views: int
    usual_lag: int
    handlers: frozenset[str]
    handlers_lag: int
    buffer: int
    watchers: frozenset[str]
    senders: frozenset[str]
    max_sent: int
    gossipers: frozenset[str]
    max_gossips: int
    losers: frozenset[str]
    max_lost: int
    discards: bool
    crashers: frozenset[str]
    askers: frozenset[str]
    eager: bool
    spaced: bool
    duplication: bool
    places: str
    rules: Rules


class View(NamedTuple):
    """A view that the membership decided; joiners begin at `digest`."""

    members: Members
    joiners: Members
    digest: Vector


class Datagram(NamedTuple):
    """A copy of a message under way; `kind` tells types apart whose fields are equal."""

    to: Address
    sender: Address
    kind: str
    body: Gossip | Request | Response


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    locals: tuple[Local, ...]
    status: tuple[str, ...]
    passed: Grid
    began: Grid
    resent: Grid
    due: Vector
    shown: Vector
    asked: tuple[Asked, ...]
    needed: tuple[Asked, ...]
    views: tuple[View, ...]
    net: frozenset[Datagram] = frozenset()
    lost: int = 0
    discarded: int = 0
    answered: frozenset[tuple[str, str]] = frozenset()


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Pbcast.tla`."""
    names = constants.nodes

    def per_node(values: Iterable[Value]) -> Value:
        return function(zip(names, values, strict=True))

    def grid(rows: Grid) -> Value:
        return per_node(by_node(names, row) for row in rows)

    def vector(entries: Vector) -> Value:
        known = {a.node: at for a, at in entries}
        return by_node(names, tuple(known.get(name, 0) for name in names))

    def numbers(entries: Numbers) -> Value:
        known: dict[str, frozenset[Value]] = {a.node: frozenset(some) for a, some in entries}
        return per_node(known.get(name, frozenset()) for name in names)

    def known(each: Known) -> Value:
        return record(
            origin=each.origin.node,
            number=each.number,
            view=each.view,
            digest=vector(each.digest),
            seen=_nodes(each.seen),
            notSeen=_nodes(each.not_seen),
            lowest=vector(each.lowest),
            unsent=each.unsent,
        )

    def datagram(each: Datagram) -> Value:
        fields: dict[Value, Value] = {"from": each.sender.node, "to": each.to.node}
        match each.body:
            case Gossip(_, origin, number, view, digest, seen, not_seen, lowest, has):
                fields |= {"type": "GOSSIP", "origin": origin.node, "number": number, "view": view}
                fields |= {"digest": vector(digest), "lowest": vector(lowest), "has": vector(has)}
                fields |= {"seen": _nodes(seen), "notSeen": _nodes(not_seen)}
            case Request(_, some):
                fields |= {"type": "XMIT_REQ", "wanted": numbers(some)}
            case Response(_, some):
                fields |= {"type": "XMIT_RSP", "messages": numbers(some)}
        return function(fields.items())

    locals_ = state.locals
    return {
        "status": per_node(state.status),
        "view": per_node(me.view for me in locals_),
        "number": per_node(me.number for me in locals_),
        "cache": per_node(tuple(map(known, me.cache)) for me in locals_),
        "delivered": per_node(vector(me.delivered) for me in locals_),
        "held": per_node(numbers(me.held) for me in locals_),
        "purged": per_node(vector(me.purged) for me in locals_),
        "heard": per_node(_nodes(me.heard) for me in locals_),
        "sent": per_node(me.sent for me in locals_),
        "passed": grid(state.passed),
        "net": frozenset(map(datagram, state.net)),
        "lost": state.lost,
        "discarded": state.discarded,
        "views": tuple(
            record(
                members=_nodes(view.members),
                joiners=_nodes(view.joiners),
                digest=vector(view.digest),
            )
            for view in state.views
        ),
        "began": grid(state.began),
        "resent": grid(state.resent),
        "due": vector(state.due),
        "shown": vector(state.shown),
        "asked": per_node(map(_asked, state.asked)),
        "needed": per_node(map(_asked, state.needed)),
        "answered": frozenset(state.answered),
    }


def _asked(some: Asked) -> Value:
    return frozenset((whom.node, sender.node, k) for whom, sender, k in some)


def _nodes(members: Members) -> Value:
    return frozenset(a.node for a in members)
