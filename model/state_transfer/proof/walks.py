"""Random runs of state transfer's model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from raincheck.model.machine.composed import Move
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, Taken, damages, said, walked
from raincheck.model.state_transfer.promises import invariants
from raincheck.model.state_transfer.state import State
from raincheck.model.state_transfer.system import StateTransferSystem

from .model import followed, frame, tables_of
from .words import GHOST

EVERYTHING: Final[Mapping[str, Any]] = {
    "nodes": ("a", "b", "c"),
    "founders": frozenset("ab"),
    "requesters": frozenset("bc"),
    "max_sent": 2,
    "inbox": True,
    "crashers": frozenset("ab"),
    "max_crashes": 2,
    "impatient": frozenset("bc"),
    "refusers": frozenset("ab"),
    "garblers": frozenset("ab"),
    "fail_set": frozenset("c"),
    "chunks": 2,
    "window": 1,
}
"""More than any case has: members and joiners ask; providers end, are slow, refuse and garble."""

_CALM: Final[Mapping[str, Any]] = {
    **EVERYTHING,
    "fail_set": frozenset(),
    "crashers": frozenset(),
    "refusers": frozenset(),
    "garblers": frozenset(),
    "impatient": frozenset(),
}

_FOUR: Final[Mapping[str, Any]] = {
    "nodes": ("a", "b", "c", "d"),
    "founders": frozenset("abc"),
    "requesters": frozenset("d"),
    "crashers": frozenset("b"),
    "refusers": frozenset("a"),
}

INSTANCES: Final[tuple[tuple[Mapping[str, Any], int], ...]] = (
    (EVERYTHING, 90),
    ({**EVERYTHING, "fail_set": frozenset(), "impatient": frozenset("c")}, 110),
    (
        {**EVERYTHING, "fail_set": frozenset(), "crashers": frozenset(), "impatient": frozenset()},
        40,
    ),
    ({**EVERYTHING, "refusers": frozenset(), "requesters": frozenset("c"), "max_crashes": 1}, 40),
    ({**_CALM, "requesters": frozenset("c")}, 20),
    ({**_CALM, "requesters": frozenset("bc"), "fail_set": frozenset("bc")}, 20),
    ({**_CALM, **_FOUR}, 60),
    ({**_CALM, "requesters": frozenset("c"), "crashers": frozenset("ab"), "chunks": 3}, 80),
)
"""What is changed of a case's constants, and how many runs are followed."""

_ONCE: Final = "The bounded model lets a process ask while it is idle, so once."
_AGAIN: Final = (
    "A leader sends an asker one GO. Another leader is asked first, and the asker fetches no more;"
    " a GO of one that it suspects is ignored."
)
_NATURAL: Final = "The model's numbers have no values below."

EXCUSED: Final = {
    "Ask: only phase(n) == 4": _ONCE,
    "Ask: only phase(n) == 5": _ONCE,
    "Ask: nobody leads: only phase(n) == 4": _ONCE,
    "Ask: nobody leads: only phase(n) == 5": _ONCE,
    "ReceiveGo: a member: only phase(n) == 2": _AGAIN,
    "ReceiveGo: a member, nobody is left: only phase(n) == 2": _AGAIN,
    "ReceiveGo: a joiner: only phase(n) == 2": _AGAIN,
    "ReceiveGo: a joiner, nobody is left: only phase(n) == 2": _AGAIN,
    "ReceiveGo: a joiner: not c >= 0": _NATURAL,
    "ReceiveGo: a joiner, nobody is left: not c >= 0": _NATURAL,
    "ReceiveGo: a joiner that waits no more: never taken": "A joiner that has given up suspects all"
    " leaders, and ignores their GO.",
    "Suspect: nobody leads: only phase(n) == 2": "All leaders would have to end while the state is"
    " fetched, the provider last; no followed run has that, and the other alternative is met.",
    "Read: not k >= 1": _NATURAL,
}

DAMAGED: Final = (
    *(("state", "*"), ("state", "*", "*", "number"), ("state", "*", "*", "at")),
    *(("base", "*"), ("applied", "*")),
)
"""Where the states are damaged of which the theorem is asked."""


def _weight(crash: float, _: State, move: Move[State]) -> float:
    return crash if move.action == "Crash" else 1


def _runs(machines: Machines) -> Iterator[tuple[StateTransferSystem, State, list[Move[Any]]]]:
    constants = machines("state-transfer-f1-repaired").constants
    for changes, runs in INSTANCES:
        machine = StateTransferSystem(replace(constants, **changes))
        for seed in range(runs):
            crash = 0.3 if seed % 2 else 0.05
            first, moves = walked(machine, seed, 90, partial(_weight, crash))
            yield machine, first, moves


def edges(subject: Theory, machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for machine, first, moves in _runs(machines):
        for step in followed(machine, first, moves, subject):
            says = f"{step.move.action}{step.move.args}"
            if step.transition is not None:
                yield Edge(says, (Taken(step.transition.name, step.values, step.before),))
            else:
                yield Edge(says, (), "" if step.stutters else "no transition leads there")


def twins(subject: Theory, machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    for machine, first, moves in _runs(machines):
        states = [first, *(move.target for move in moves)]
        read = frame(machine.constants, states, subject)
        promises = invariants(machine.constants)
        for state in damages(states[-1:], DAMAGED, 15):
            if found := said(promises, state):
                tables = {**tables_of(machine.constants, state), **{name: {} for name in GHOST}}
                yield Seen(found, read.world(tables))
