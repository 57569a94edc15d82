"""The state of a whole Raincore ring, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Raincore.tla` and the CONSTANTS of `spec/MCRaincore.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

from raincheck.model.machine import instance
from raincheck.model.machine.instance import camel, constant
from raincheck.model.machine.machine import Value, function, record, state
from raincheck.model.machine.rows import by_node, flags
from raincheck.model.machine.runs import Address

from .events import Epoch, Message, Nodelist, Settled, Token
from .local import Local, Rules


class Spent(NamedTuple):
    """The number of occurrences of each fault; as a constant, the most that there may be."""

    crashes: int = 0
    recoveries: int = 0
    forgets: int = 0
    splits: int = 0
    false: int = 0
    early: int = 0
    forged: int = 0
    altered: int = 0
    pauses: int = 0


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCRaincore.tla`. Nodes and members are in order of rank."""

    nodes: tuple[str, ...]
    members: tuple[str, ...]
    rules: Rules = field(default_factory=Rules)
    spares: frozenset[str] = frozenset()
    strangers: frozenset[str] = frozenset()
    formed: bool = True
    truthful: bool = True
    arrives_after_failure: bool = False
    patient: bool = True
    true_sources: bool = True
    datagrams_unaltered: bool = True
    crashers: frozenset[str] = frozenset()
    max_down: int = 5
    most: Spent = field(default_factory=Spent)
    max_attempts: int = 1
    unhurried: bool = False
    max_epoch: int = 1
    max_seq: int = 1
    senders: frozenset[str] = frozenset()
    max_messages: int = 0
    leavers: frozenset[str] = frozenset()
    wanting: frozenset[str] = frozenset()
    rests_end: bool = True
    count_rounds: bool = False
    keep_fences: bool = False


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    locals: tuple[Local, ...]
    side: tuple[int, ...]
    network: frozenset[Message] = frozenset()
    reports: frozenset[Message] = frozenset()
    past: frozenset[tuple[int, Nodelist]] = frozenset()
    eaten: frozenset[tuple[Epoch, int, Address]] = frozenset()
    spent: Spent = Spent()
    calm: int = 0


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    names = {"truthful": "TruthfulFailures", "patient": "PatientTimeouts"}
    most = (constant(values, f"Max{camel(name)}", int) for name in Spent._fields)
    return instance.constants_of(Constants, values, names, most=Spent(*most))


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Raincore.tla` and `MCRaincore.tla`."""
    names, nodes = constants.nodes, state.locals
    ranks = _ranks(names)

    def per_node(values: Iterable[Value]) -> Value:
        return by_node(names, tuple(values))

    return {
        "up": per_node(me.up for me in nodes),
        "viewState": per_node(me.view_state for me in nodes),
        "tokenState": per_node(me.token_state for me in nodes),
        "globalView": per_node(tuple(map(_list, me.global_view)) for me in nodes),
        "globalViewNumber": per_node(me.global_view_number for me in nodes),
        "reserved": per_node(me.reserved for me in nodes),
        "lastToken": per_node(_message(ranks, me.last_token) for me in nodes),
        "newNodes": per_node(_list(me.new_nodes) for me in nodes),
        "promised": per_node(_epoch(ranks, me.promised) for me in nodes),
        "attempt": per_node(me.attempt for me in nodes),
        "phase": per_node(me.phase for me in nodes),
        "wanted": per_node(_epoch(ranks, me.wanted) for me in nodes),
        "heard": per_node(me.heard for me in nodes),
        "contacts": per_node(_list(me.contacts) for me in nodes),
        "leaving": flags(names, tuple(me.leaving for me in nodes)),
        "outbox": per_node(me.outbox for me in nodes),
        "said": per_node(me.said for me in nodes),
        "delivered": per_node(tuple((o.node, k) for o, k in me.delivered) for me in nodes),
        "lastOrdinal": per_node(me.last_ordinal for me in nodes),
        "awaited": per_node(frozenset(_list(me.awaited)) for me in nodes),
        "network": frozenset(_message(ranks, m) for m in state.network),
        "reports": frozenset(_message(ranks, m) for m in state.reports),
        "side": per_node(state.side),
        "past": frozenset((at, _list(view)) for at, view in state.past),
        "eaten": frozenset((_epoch(ranks, e), seq, n.node) for e, seq, n in state.eaten),
        "spent": record(**state.spent._asdict()),
        "calm": state.calm,
    }


@cache
def _ranks(names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    return (("", 0), *((name, rank) for rank, name in enumerate(names, 1)))


def _list(members: Iterable[Address]) -> tuple[Value, ...]:
    return tuple(member.node for member in members)


def _epoch(ranks: tuple[tuple[str, int], ...], epoch: Epoch) -> Value:
    return epoch.n, dict(ranks)[epoch.by.node]


def _settled(settled: Settled) -> Value:
    return record(index=settled.at, nodelist=_list(settled.nodelist))


@lru_cache(maxsize=200_000)
def _message(ranks: tuple[tuple[str, int], ...], m: Message) -> Value:
    if isinstance(m, Token):
        return record(
            kind="token",
            to=m.to.node,
            current=m.current.node,
            epoch=_epoch(ranks, m.epoch),
            seq=m.seq,
            nodelist=_list(m.nodelist),
            globalViewNumber=m.global_view_number,
            settled=_settled(m.settled),
            before=_settled(m.before),
            pending=tuple(map(_list, m.pending)),
            seen=frozenset(_list(m.seen)),
            mail=tuple((each.ordinal, each.origin.node, each.k) for each in m.mail),
            acks=function((n.node, at) for n, at in m.acks),
            top=m.top,
        )
    return record(
        kind="911",
        orig=m.orig.node,
        current=m.current.node,
        to=m.to.node,
        nodelist=_list(m.nodelist),
        epoch=_epoch(ranks, m.epoch),
        seq=m.seq,
        status=m.status,
        attempt=m.attempt,
        phase=m.phase,
        claim=_epoch(ranks, m.claim),
        granted=frozenset(_list(m.granted)),
        promised=_epoch(ranks, m.promised),
    )
