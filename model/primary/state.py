"""The state of a whole PRIMARY system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Primary.tla` and the CONSTANTS of `spec/MCPrimary.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state
from raincheck.model.machine.runs import Address

from .events import Attempt, Info, Output, Session, Sessions, ViewId
from .handlers import NO_VIEW, Local, Rules


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCPrimary.tla`."""

    nodes: tuple[str, ...]
    found_first: frozenset[str]
    found_again: frozenset[str]
    groups: frozenset[frozenset[str]]
    together: bool
    max_views: int
    heavy: frozenset[str]
    heavy_votes: int
    reweighed: frozenset[str]
    crashers: frozenset[str]
    max_crashes: int
    returners: frozenset[str]
    votes_as_expected: bool
    operator_knows: bool
    rules: Rules


class Due(NamedTuple):
    """The view that is being installed, and the nodes that have not installed it yet."""

    view: ViewId = NO_VIEW
    members: frozenset[Address] = frozenset()
    left: tuple[str, ...] = ()


class Done(NamedTuple):
    """A member has attempted a primary view, or formed it."""

    session: Session
    by: Address


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    up: tuple[bool, ...]
    locals: tuple[Local, ...]
    net: frozenset[Output] = frozenset()
    due: Due = Due()
    tried: frozenset[Done] = frozenset()
    formed: frozenset[Done] = frozenset()
    views: int = 0


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Primary.tla`."""

    def per_node(values: Iterable[Value]) -> Value:
        return function(zip(constants.nodes, values, strict=True))

    locals_ = state.locals
    due = state.due
    return {
        "up": per_node(state.up),
        "life": per_node(me.me.incarnation for me in locals_),
        "votes": per_node(me.votes for me in locals_),
        "view": per_node(_view(me.view, me.members) for me in locals_),
        "stage": per_node(me.stage for me in locals_),
        "last": per_node(_last(me.last) for me in locals_),
        "attempts": per_node(_sessions(me.attempts) for me in locals_),
        "net": frozenset(map(_message, state.net)),
        "due": record(view=_view(due.view, due.members), left=due.left),
        "tried": frozenset(map(_done, state.tried)),
        "formed": frozenset(map(_done, state.formed)),
        "views": state.views,
    }


def _view(view: ViewId, members: frozenset[Address]) -> Value:
    return record(id=_id(view), members=frozenset(map(tuple, members)))


def _id(view: ViewId) -> Value:
    return (view.counter, tuple(view.coordinator))


def _session(session: Session) -> Value:
    number, view, history, votes = session
    counts = function((tuple(address), count) for address, count in votes)
    return record(number=number, view=_id(view), history=_id(history), votes=counts)


def _last(last: Session | None) -> Value:
    return () if last is None else (_session(last),)


def _sessions(sessions: Sessions) -> Value:
    return frozenset(map(_session, sessions))


def _message(message: Output) -> Value:
    fields: dict[Value, Value] = {"from": tuple(message.sender), "view": _id(message.view)}
    match message:
        case Info(_, _, votes, found, last, attempts):
            fields |= {"type": "INFO", "votes": votes, "found": found}
            fields |= {"last": _last(last), "attempts": _sessions(attempts)}
        case Attempt():
            fields["type"] = "ATTEMPT"
    return function(fields.items())


def _done(done: Done) -> Value:
    return record(session=_session(done.session), by=tuple(done.by))
