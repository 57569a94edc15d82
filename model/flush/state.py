"""The state of a whole FLUSH system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Flush.tla` and the CONSTANTS of `spec/MCFlush.tla`.
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

from .events import Fetch, Fid, Table
from .handlers import Local, Rules


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCFlush.tla`."""

    nodes: tuple[str, ...]
    founders: frozenset[str]
    senders: frozenset[str]
    max_sent: int
    crashers: frozenset[str]
    requesters: frozenset[str]
    max_requests: int
    max_views: int
    unicasters: frozenset[str]
    fifo_unicast: bool
    fifo_multicast: bool
    accurate_suspicions: bool
    acks_before_resume: bool
    one_queue: bool
    next_unsuspected: bool
    rules: Rules


class Post(NamedTuple):
    """A message under way: its kind, and its fields without the receiver.

    The kind is the name of the output ("Unicast" for a message of the application). It keeps apart
    messages of two kinds with equal fields.
    """

    kind: str
    contents: tuple[Any, ...]


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`.

    `stream` holds the view of each multicast, `views` the members of each view.
    """

    up: tuple[bool, ...]
    locals: tuple[Local, ...]
    calls: tuple[int, ...]
    cuts: tuple[tuple[tuple[int, ...], ...], ...]
    channels: tuple[tuple[tuple[Post, ...], ...], ...]
    stream: tuple[tuple[int, ...], ...]
    position: tuple[tuple[int, ...], ...]
    views: tuple[tuple[Address, ...], ...]


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Flush.tla`."""
    names, nodes = constants.nodes, state.locals

    def per_node(values: Iterable[Value]) -> Value:
        return by_node(names, tuple(values))

    return {
        "status": per_node("member" if up else "crashed" for up in state.up),
        "view": per_node(me.view for me in nodes),
        "latch": flags(names, tuple(me.latch for me in nodes)),
        "blocked": per_node(me.blocked for me in nodes),
        "flush": per_node(_fid(me.flush) for me in nodes),
        "suspects": per_node(_names(me.suspects) for me in nodes),
        "frozen": per_node(_names(me.frozen) for me in nodes),
        "fetching": per_node(_fetches(me.fetching) for me in nodes),
        "party": per_node(_names(me.party) for me in nodes),
        "oks": per_node(frozenset((_fid(f), p.node) for f, p in me.oks) for me in nodes),
        "passed": per_node(me.passed for me in nodes),
        "asked": per_node(_fid(me.asked) for me in nodes),
        "participants": per_node(_names(me.participants) for me in nodes),
        "completed": per_node(
            function((p.node, _digest(digest)) for p, digest in me.completed) for me in nodes
        ),
        "target": per_node(_fetches(me.target) for me in nodes),
        "reconciled": per_node(_names(me.reconciled) for me in nodes),
        "suspended": flags(names, tuple(me.suspended for me in nodes)),
        "attempts": per_node(me.attempts for me in nodes),
        "calls": per_node(state.calls),
        "cuts": per_node(tuple(per_node(cut) for cut in cuts) for cuts in state.cuts),
        "channels": per_node(
            per_node(tuple(map(_post, channel)) for channel in row) for row in state.channels
        ),
        "stream": per_node(tuple(record(view=view) for view in stream) for stream in state.stream),
        "position": per_node(per_node(row) for row in state.position),
        "views": tuple(
            record(members=tuple((m.node, m.incarnation) for m in view), joiners=frozenset())
            for view in state.views
        ),
    }


def _names(members: Iterable[Address]) -> frozenset[Value]:
    return frozenset(member.node for member in members)


def _fid(fid: Fid | None) -> Value:
    return () if fid is None else (fid.view, fid.requester.node, fid.attempt)


def _fetches(fetches: tuple[Fetch, ...]) -> Value:
    return frozenset(record(sender=f.sender.node, at=f.at, holder=f.holder.node) for f in fetches)


def _digest(digest: Table) -> Value:
    return function((sender.node, at) for sender, at in digest)


@lru_cache(maxsize=200_000)
def _post(post: Post) -> Value:
    match post:
        case ("StartFlush", (fid, participants)):
            return record(kind="start", fid=_fid(fid), participants=_names(participants))
        case ("FlushOk", (fid, at)):
            return record(kind="ok", fid=_fid(fid), at=at)
        case ("FlushCompleted", (fid, digest)):
            return record(kind="completed", fid=_fid(fid), digest=_digest(digest))
        case ("Reconcile", (fid, fetches)):
            return record(kind="reconcile", fid=_fid(fid), fetches=_fetches(fetches))
        case ("ReconcileOk", (fid,)):
            return record(kind="reconciled", fid=_fid(fid))
        case ("StopFlush", (fid,)):
            return record(kind="stop", fid=_fid(fid))
        case ("Unicast", (view,)):
            return record(kind="unicast", view=view)
    raise TypeError(f"{post!r} is no message")
