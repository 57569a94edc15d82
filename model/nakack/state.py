"""The state of a whole NAKACK system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Nakack.tla` and the CONSTANTS of `spec/MCNakack.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state
from raincheck.model.machine.runs import Address

from .events import Alive, Data, Datagram
from .handlers import Local, Rules, Stream, Streams

Entry: TypeAlias = tuple[int, int, int]
"""A delivery: the seqno, the view of sending, and the view of delivery."""

Link: TypeAlias = frozenset[Datagram]


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCNakack.tla`."""

    nodes: tuple[str, ...]
    founders: frozenset[str]
    senders: frozenset[str]
    max_sent: int
    crashers: frozenset[str]
    max_crashes: int
    max_views: int
    announcers: frozenset[str]
    purging: bool
    max_lost: int
    may_duplicate: bool
    safe_purge: str
    virtual_synchrony: bool
    prompt: bool
    cut_by: str
    rules: Rules
    strangers: frozenset[str] = frozenset()
    max_forged: int = 0
    true_sources: bool = True
    datagrams_unaltered: bool = True


class View(NamedTuple):
    """A decided view: how much of each stream belongs to the old view, and who has it."""

    members: tuple[Address, ...]
    joiners: tuple[Address, ...] = ()
    cut: tuple[tuple[Address, int], ...] = ()
    holder: tuple[tuple[Address, Address], ...] = ()


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    locals: tuple[Local, ...]
    log: tuple[tuple[tuple[Entry, ...], ...], ...]
    link: tuple[tuple[Link, ...], ...]
    lost: int
    views: tuple[View, ...]


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values, {"nodes": "Node"})


def variables(names: tuple[str, ...], state: State) -> dict[str, Value]:
    """Return the state in the variables of `Nakack.tla`."""
    locals_ = state.locals

    def per_node(values: Iterable[Value]) -> Value:
        return function(zip(names, values, strict=True))

    return {
        "status": per_node(me.status for me in locals_),
        "view": per_node(me.view for me in locals_),
        "sent": per_node(me.sent for me in locals_),
        "acked": per_node(function((m.node, at) for m, at in me.acked) for me in locals_),
        "owed": per_node(frozenset(m.node for m in me.owed) for me in locals_),
        "stream": per_node(_streams(me.stream) for me in locals_),
        "departed": per_node(_streams(me.departed) for me in locals_),
        "log": per_node(per_node(map(_log, row)) for row in state.log),
        "link": per_node(
            per_node(frozenset(map(_datagram, link)) for link in row) for row in state.link
        ),
        "lost": state.lost,
        "views": tuple(map(_view, state.views)),
    }


@lru_cache(maxsize=100_000)
def _streams(streams: Streams) -> Value:
    return function((m.node, _stream(stream)) for m, stream in streams)


@lru_cache(maxsize=100_000)
def _stream(stream: Stream) -> Value:
    return record(
        delivered=stream.delivered,
        held=function(stream.held),
        heard=stream.heard,
        holder=stream.holder.node if stream.holder is not None else "nobody",
        frozen=stream.frozen,
    )


@lru_cache(maxsize=100_000)
def _log(entries: tuple[Entry, ...]) -> Value:
    # `in` is a keyword of Python, so it cannot be an argument of `record`.
    return tuple(
        function([("seqno", seqno), ("sentIn", sent_in), ("in", within)])
        for seqno, sent_in, within in entries
    )


@lru_cache(maxsize=100_000)
def _datagram(datagram: Datagram) -> Value:
    if isinstance(datagram, Data):
        _, source, seqno, view = datagram
        return record(kind="data", source=source.node, seqno=seqno, view=view)
    if isinstance(datagram, Alive):
        _, highest, asking, delivered = datagram
        return record(kind="alive", highest=highest, asking=asking, delivered=delivered)
    missing = frozenset(datagram.missing)
    return record(kind="nak", source=datagram.source.node, missing=missing)


@lru_cache(maxsize=10_000)
def _view(view: View) -> Value:
    return record(
        members=frozenset(m.node for m in view.members),
        joiners=frozenset(m.node for m in view.joiners),
        cut=function((m.node, at) for m, at in view.cut),
        holder=function((m.node, holder.node) for m, holder in view.holder),
    )
