"""Random runs of FRAG's model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from raincheck.model.frag.promises import invariants
from raincheck.model.frag.state import State
from raincheck.model.frag.system import FragSystem
from raincheck.model.machine.composed import Move
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, damages, said, walked

from .model import began, reading

EVERYTHING: Final[Mapping[str, Any]] = {
    "node": ("a", "b", "c"),
    "founders": frozenset("ab"),
    "senders": frozenset("ab"),
    "max_sent": 3,
    "sizes": frozenset((1, 2, 3)),
    "quitters": frozenset("ab"),
    "crashers": frozenset("a"),
    "max_views": 3,
}
"""More than any case has: two members send, give up and crash, and others join."""

INSTANCES: Final[tuple[tuple[Mapping[str, Any], int], ...]] = (
    (EVERYTHING, 9),
    ({**EVERYTHING, "fifo": False}, 16),
    ({**EVERYTHING, "founders": frozenset("abc"), "quitters": frozenset()}, 9),
    ({**EVERYTHING, "founders": frozenset("a"), "senders": frozenset("a"), "max_sent": 2}, 9),
)
"""What is changed of a case's constants, and how many runs are followed."""

RARE: Final = {"Crash": 0.1, "GiveUp": 0.3, "ViewChange": 0.2, "InstallView": 0.3}

_SIZE: Final = "part(view(n), i) >= size(source(view(n), i), number(view(n), i))"

EXCUSED: Final = {
    f"ReceiveFragment: dropped: only {_SIZE}": "No member sends a part that its message does not"
    " have.",
}

DAMAGED: Final = (
    *(("delivered", "*"), ("delivered", "*", "*", "number"), ("delivered", "*", "*", "view")),
    *(("delivered", "*", "*", "pieces"), ("delivered", "*", "*", "pieces", "*", "1")),
    *(("delivered", "*", "*", "pieces", "*", "0"), ("views", "*", "members")),
    ("locals", "*", "kept", "*", "1", "*", "1", "parts"),
)
"""Where the states are damaged of which the theorems are asked."""


def _weight(_: State, move: Move[State]) -> float:
    return RARE.get(move.action, 1)


def runs(machines: Machines) -> Iterator[tuple[FragSystem, State, list[Move[Any]]]]:
    """Yield the runs that are followed."""
    constants = machines("frag-still").constants
    for changes, count in INSTANCES:
        machine = FragSystem(replace(constants, **changes))
        for seed in range(count):
            first, moves = walked(machine, seed, 80, _weight)
            yield machine, first, moves


def edges(subject: Theory, machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for machine, first, moves in runs(machines):
        read = reading(machine, [first, *(move.target for move in moves)], subject)
        yield from read.followed(began(read, first), moves, [])


def twins(subject: Theory, machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    for machine, first, moves in runs(machines):
        states = [first, *(move.target for move in moves)]
        read = reading(machine, states, subject)
        promises = invariants(machine.rules)
        for state in damages(states[10::10], DAMAGED, 8):
            if _speaks_of_messages(state) and (found := said(promises, state)):
                yield Seen(found, read.frame.world(read.tables(state)))


def _speaks_of_messages(state: State) -> bool:
    """Tell whether all that is delivered has a number; in Python, 0 would be the last message."""
    return all(each.number > 0 for delivered in state.delivered for each in delivered)
