"""Random runs of TOTAL's model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from raincheck.model.machine.composed import Move
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, damages, said, walked
from raincheck.model.total.promises import INVARIANTS
from raincheck.model.total.state import State
from raincheck.model.total.system import TotalSystem

from .model import began, reading

EVERYTHING: Final[Mapping[str, Any]] = {
    "nodes": ("a", "b", "c", "d"),
    "founders": frozenset("abc"),
    "senders": frozenset("abcd"),
    "max_said": 3,
    "crashers": frozenset("abc"),
    "max_crashes": 2,
    "max_ids": 8,
    "acknowledgers": frozenset("abcd"),
}
"""More than any case has: all send, two crash, another one joins."""

INSTANCES: Final[tuple[tuple[Mapping[str, Any], int], ...]] = (
    (EVERYTHING, 20),
    ({**EVERYTHING, "crashers": frozenset(), "max_crashes": 0}, 10),
    ({**EVERYTHING, "founders": frozenset("a"), "crashers": frozenset("a")}, 20),
)
"""What is changed of a case's constants, and how many runs are followed."""

RARE: Final = {
    **{"Crash": 0.02, "ViewChange": 0.2, "ResendRequests": 0.3, "Announce": 0.1, "Ask": 0.3},
    "Acknowledge": 0.2,
}

EXCUSED: Final[Mapping[str, str]] = {}

DAMAGED: Final = (
    *(("delivered", "*"), ("delivered", "*", "*", "message", "seqno")),
    *(("delivered", "*", "*", "view"), ("locals", "*", "seqno"), ("locals", "*", "history")),
    ("locals", "*", "history", "*", "message", "seqno"),
    ("locals", "*", "queue", "*", "message", "seqno"),
)
"""Where the states are damaged of which the theorems are asked."""


def _weight(_: State, move: Move[State]) -> float:
    return RARE.get(move.action, 1)


def runs(machines: Machines) -> Iterator[tuple[TotalSystem, State, list[Move[Any]]]]:
    """Yield the runs that are followed."""
    constants = machines("total-lost").constants
    for changes, count in INSTANCES:
        machine = TotalSystem(replace(constants, **changes))
        for seed in range(count):
            yield machine, *walked(machine, seed, 90, _weight)


def edges(subject: Theory, machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for machine, first, moves in runs(machines):
        read = reading(machine, [first, *(move.target for move in moves)], subject)
        yield from read.followed(began(machine, first), moves, [])


def twins(subject: Theory, machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    for machine, first, moves in runs(machines):
        states = [first, *(move.target for move in moves)]
        for state in damages(states[10::10], DAMAGED, 8):
            if not _speaks_of_messages(state):
                continue
            if found := dict(said(INVARIANTS, state)):
                if not found["Integrity"]:
                    del found["TotalOrder"]  # which of two copies counts?
                if not _in_order_of_views(state):
                    del found["Prefix"]  # the theorem compares what is delivered in a row
                read = reading(machine, [state], subject)
                yield Seen(found, read.frame.world(read.tables(state)))


def _speaks_of_messages(state: State) -> bool:
    """Tell whether all that is delivered has a number from 1 on; the promise takes 0 for none."""
    return all(each.message.seqno > 0 for heard in state.delivered for each in heard)


def _in_order_of_views(state: State) -> bool:
    """Tell whether nobody has delivered anything in a view after a later one."""
    return all(a.view <= b.view for heard in state.delivered for a, b in pairwise(heard))
