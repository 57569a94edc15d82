"""The state of a whole STABLE system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Stable.tla` and the CONSTANTS of `spec/MCStable.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state
from raincheck.model.machine.runs import Address

from .handlers import Local, Members, Rules, Vector

Counts: TypeAlias = tuple[int, ...]
"""One number per node, by its index."""
Grid: TypeAlias = tuple[Counts, ...]
"""One number per pair of nodes."""


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCStable.tla`."""

    nodes: tuple[str, ...]
    founders: frozenset[str]
    max_views: int
    senders: frozenset[str]
    max_sent: int
    losers: frozenset[str]
    max_lost: int
    crashers: frozenset[str]
    returners: frozenset[str]
    excluded: frozenset[str]
    gives_up: bool
    mute: frozenset[str]
    spaced: bool
    overtaking: bool
    duplication: bool
    incarnations: bool
    rules: Rules


class View(NamedTuple):
    """A view that the membership decided, and its joiners."""

    members: Members
    joiners: frozenset[Address]


class Rsp(NamedTuple):
    """A JOIN_RSP under way: the view, and the digest that was promised."""

    view: int
    digest: Counts


class Datagram(NamedTuple):
    """A digest or a STABILITY under way: a view and two vectors."""

    to: str
    sender: Address
    view: int
    first: Vector
    second: Vector


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    locals: tuple[Local, ...]
    status: tuple[str, ...]
    incarnation: Counts
    sent: Counts
    began: Grid
    passed: Grid
    delivered: Grid
    highest: Grid
    purged: Grid
    digests: frozenset[Datagram]
    stabilities: frozenset[Datagram]
    lost: int
    cut: tuple[Counts | None, ...]
    join_rsp: tuple[Rsp | None, ...]
    views: tuple[View, ...]


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Stable.tla`."""
    names = constants.nodes

    def per_node(values: Iterable[Value]) -> Value:
        return function(zip(names, values, strict=True))

    def grid(rows: Grid) -> Value:
        return per_node(per_node(row) for row in rows)

    def members(addresses: Iterable[Address]) -> frozenset[Value]:
        return frozenset((a.node, a.incarnation) for a in addresses)

    def under_way(datagrams: frozenset[Datagram], first: str, second: str) -> Value:
        return frozenset(
            function(
                {
                    "to": d.to,
                    "from": (d.sender.node, d.sender.incarnation),
                    "content": function(
                        {"view": d.view, first: vector(d.first), second: vector(d.second)}.items()
                    ),
                }.items()
            )
            for d in datagrams
        )

    nodes = state.locals
    return {
        "status": per_node(state.status),
        "incarnation": per_node(state.incarnation),
        "view": per_node(me.view for me in nodes),
        "electorate": per_node(members(me.electorate) for me in nodes),
        "heardFrom": per_node(members(me.heard_from) for me in nodes),
        "vector": per_node(vector(me.vector) for me in nodes),
        "heard": per_node(vector(me.heard) for me in nodes),
        "latest": per_node(vector(me.latest) for me in nodes),
        "inHand": per_node(
            function(((a.node, a.incarnation), vector(v)) for a, v in me.in_hand) for me in nodes
        ),
        "pending": per_node(() if me.pending is None else (vector(me.pending),) for me in nodes),
        "suspended": per_node(me.suspended for me in nodes),
        "sent": per_node(state.sent),
        "began": grid(state.began),
        "passed": grid(state.passed),
        "delivered": grid(state.delivered),
        "highest": grid(state.highest),
        "purged": grid(state.purged),
        "digests": under_way(state.digests, "delivered", "received"),
        "stabilities": under_way(state.stabilities, "digest", "received"),
        "lost": state.lost,
        "cut": per_node(() if cut is None else (per_node(cut),) for cut in state.cut),
        "joinRsp": per_node(
            () if rsp is None else (record(view=rsp.view, digest=per_node(rsp.digest)),)
            for rsp in state.join_rsp
        ),
        "views": tuple(
            record(
                members=tuple((a.node, a.incarnation) for a in view.members),
                joiners=members(view.joiners),
            )
            for view in state.views
        ),
    }


def vector(entries: Vector) -> Value:
    """Return a vector as the spec's function."""
    return function(((a.node, a.incarnation), at) for a, at in entries)
