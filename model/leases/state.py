"""The state of a whole system of LEASES, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Leases.tla` and the CONSTANTS of `spec/MCLeases.tla`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state

from .events import Asked, Told
from .handlers import Client, Member, Rules


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCLeases.tla`."""

    clients: tuple[str, ...]
    members: tuple[str, ...]
    first_member: str
    slow: frozenset[str]
    movers: frozenset[str]
    droppers: frozenset[str]
    stoppers: frozenset[str]
    leavers: frozenset[str]
    crashers: frozenset[str]
    returners: frozenset[str]
    quick: frozenset[str]
    every: int
    max_start: int
    max_time: int
    max_asks: int
    max_sessions: int
    max_requests: int
    steady: int
    given_on_late: bool
    rules: Rules


class Entry(NamedTuple):
    """A request in LOCKS' line; it has the lock if it has a fence."""

    member: str
    client: str
    session: int
    request: int
    fence: int = 0


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.clients` and `members`."""

    clients: tuple[Client, ...]
    members: tuple[Member, ...]
    steady: tuple[int, ...]
    since: tuple[int, ...]
    line: tuple[Entry, ...] = ()
    turn: int = 0
    asks: frozenset[Asked] = frozenset()
    tells: frozenset[Told] = frozenset()


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Leases.tla`."""
    c = constants
    nodes: tuple[Client | Member, ...] = (*state.clients, *state.members)
    of_client = ("at", "session", "serving", "sent", "until", "wants", "request", "fence")
    found: dict[str, Value] = {
        name: function((each.me, getattr(each, name)) for each in state.clients)
        for name in of_client
    }
    return found | {
        "clock": function((each.me, each.clock) for each in nodes),
        "stopped": frozenset(each.me for each in state.clients if each.stopped),
        "up": function((each.me, each.up) for each in state.members),
        "sessions": function(
            (each.me, frozenset(map(_record, each.sessions))) for each in state.members
        ),
        "leaves": function((each.me, each.leaves) for each in state.members),
        "line": tuple(map(_record, state.line)),
        "turn": state.turn,
        "steady": function(zip(c.clients, state.steady, strict=True)),
        "since": function(zip(c.members, state.since, strict=True)),
        "asks": frozenset(map(_record, state.asks)),
        "tells": frozenset(map(_record, state.tells)),
    }


def _record(each: Any) -> Value:
    """Return a message, a session or an entry as the spec's record."""
    fields: dict[str, Value] = each._asdict()
    if "source" in fields:
        return function({"from": fields.pop("source"), **fields}.items())
    return record(**fields)
