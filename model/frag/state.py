"""The state of a whole FRAG system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Frag.tla` and the CONSTANTS of `spec/MCFrag.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state

from .handlers import Local, Rules

Part: TypeAlias = tuple[int, int]
"""The epoch and the part of a fragment, which stand for its content."""
Key: TypeAlias = tuple[str, int]
"""A message: its sender's node, and its number."""


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCFrag.tla`."""

    node: tuple[str, ...]
    founders: frozenset[str]
    senders: frozenset[str]
    max_sent: int
    sizes: frozenset[int]
    quitters: frozenset[str]
    crashers: frozenset[str]
    max_views: int
    fifo: bool
    virtual_synchrony: bool
    rules: Rules


class Entry(NamedTuple):
    """What a member sends through SEQUENCER: a fragment, or, with no parts, that it gives up."""

    sender: str
    number: int
    epoch: int = 0
    part: int = 0
    parts: int = 0


class Delivered(NamedTuple):
    """A delivery, with the fragments of which the message was made."""

    sender: str
    number: int
    view: int
    pieces: tuple[Part, ...]


class View(NamedTuple):
    """A view that the membership decided, and its joiners."""

    members: frozenset[str]
    joiners: frozenset[str]


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.node`."""

    locals: tuple[Local, ...]
    status: tuple[str, ...]
    pieces: tuple[tuple[tuple[Key, tuple[Part, ...]], ...], ...]
    sent: tuple[tuple[int, ...], ...]
    given_up: frozenset[Key]
    delivered: tuple[tuple[Delivered, ...], ...]
    below: tuple[tuple[Entry, ...], ...]
    log: tuple[tuple[Entry, ...], ...]
    at: tuple[int, ...]
    views: tuple[View, ...]


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Frag.tla`."""

    def per_node(values: Iterable[Value]) -> Value:
        return function(zip(constants.node, values, strict=True))

    nodes = state.locals
    return {
        "status": per_node(state.status),
        "view": per_node(me.view for me in nodes),
        "epoch": per_node(me.epoch for me in nodes),
        "sending": per_node(
            function((number, record(parts=m.parts, sent=m.sent)) for number, m in me.sending)
            for me in nodes
        ),
        "kept": per_node(
            function(
                ((sender.node, number), record(here=kept.here, parts=kept.parts))
                for sender, mine in me.kept
                for number, kept in mine
            )
            for me in nodes
        ),
        "pieces": per_node(function(pieces) for pieces in state.pieces),
        "sent": per_node(state.sent),
        "givenUp": state.given_up,
        "delivered": per_node(tuple(map(_delivered, each)) for each in state.delivered),
        "below": per_node(tuple(map(_entry, each)) for each in state.below),
        "log": tuple(tuple(map(_entry, each)) for each in state.log),
        "at": per_node(state.at),
        "views": tuple(record(members=view.members, joiners=view.joiners) for view in state.views),
    }


def _entry(entry: Entry) -> Value:
    sender, number, epoch, part, parts = entry
    fields: dict[Value, Value] = {"from": sender, "number": number}
    if parts:
        fields |= {"kind": "fragment", "epoch": epoch, "part": part, "parts": parts}
    else:
        fields["kind"] = "givenUp"
    return function(fields.items())


def _delivered(delivered: Delivered) -> Value:
    sender, number, view, pieces = delivered
    return function([("from", sender), ("number", number), ("view", view), ("pieces", pieces)])
