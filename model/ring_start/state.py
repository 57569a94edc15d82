"""The state of a whole RING_START system, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/RingStart.tla` and the CONSTANTS of `spec/MCRingStart.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, state
from raincheck.model.machine.runs import Address

from .events import Founders, Info, Late
from .handlers import Local, Rules


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCRingStart.tla`."""

    nodes: tuple[str, ...]
    files: frozenset[str]
    found_first: frozenset[str]
    found_again: frozenset[str]
    crashers: frozenset[str]
    closers: frozenset[str]
    leavers: frozenset[str]
    losers: frozenset[str]
    neighbours: frozenset[frozenset[str]]
    max_stops: int
    max_late: int
    max_lost: int
    majority_keeps: bool
    operator_knows: bool
    asks_anew: bool
    keeps_place: bool
    rules: Rules


class Done(NamedTuple):
    """A founder has recorded a founding, or has spoken in its ring."""

    ring: Founders
    founder: Address


@state
class State(NamedTuple):
    """The global state; nodes stand at their index in `Constants.nodes`."""

    up: tuple[bool, ...]
    locals: tuple[Local, ...]
    tried: frozenset[Done] = frozenset()
    spoken: frozenset[Done] = frozenset()
    gone: frozenset[Done] = frozenset()
    stops: int = 0
    late: frozenset[Late] = frozenset()


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `RingStart.tla`."""

    def per_node(values: Iterable[Value]) -> Value:
        return function(zip(constants.nodes, values, strict=True))

    return {
        "up": per_node(state.up),
        "memory": per_node(me.me.incarnation for me in state.locals),
        "stage": per_node(me.stage for me in state.locals),
        "ring": per_node(_ring(me.ring) for me in state.locals),
        "heard": per_node(frozenset(map(_info, me.heard)) for me in state.locals),
        "once": per_node(_ring(me.once) for me in state.locals),
        "late": frozenset(map(_late, state.late)),
        "tried": frozenset(map(_done, state.tried)),
        "spoken": frozenset(map(_done, state.spoken)),
        "gone": frozenset(map(_done, state.gone)),
        "stops": state.stops,
    }


def _ring(ring: Founders) -> Value:
    return frozenset(map(tuple, ring))


def _info(info: Info) -> Value:
    sender, stage, ring = info
    fields: dict[Value, Value] = {"from": tuple(sender), "stage": stage, "ring": _ring(ring)}
    return function(fields.items())


def _late(late: Late) -> Value:
    fields: dict[Value, Value] = {"to": late.to, "info": _info(late.info), "before": late.before}
    return function(fields.items())


def _done(done: Done) -> Value:
    ring, founder = done
    return function({"ring": _ring(ring), "as": tuple(founder)}.items())
