"""Random runs of MERGE2's model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from raincheck.model.machine.composed import Move
from raincheck.model.merge2.promises import invariants
from raincheck.model.merge2.state import State
from raincheck.model.merge2.system import Merge2System
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, damages, said, walked

from .model import beginning, reading, renamed

EVERYTHING: Final[Mapping[str, Any]] = {
    "nodes": ("a", "b", "c", "d"),
    "sides": frozenset((frozenset("a"), frozenset("bc"), frozenset("d"))),
    "founders": frozenset("abd"),
    "told": frozenset(("ab", "ad", "cd", "da")),
    "crashers": frozenset("abc"),
    "max_crashes": 2,
    "senders": frozenset("bd"),
    "max_said": 3,
    "doubters": frozenset("abcd"),
    "max_doubts": 3,
    "max_lost": 2,
    "accurate_suspicion": False,
}
"""More than any case has: three groups, of which any may be given up, crash and speak."""

INSTANCES: Final[tuple[tuple[Mapping[str, Any], Iterable[int]], ...]] = (
    (EVERYTHING, (*range(20), 25, 33, 98)),
    ({**EVERYTHING, "crashers": frozenset(), "max_lost": 0, "max_doubts": 1}, range(20)),
    (
        {
            **EVERYTHING,
            "sides": frozenset((frozenset("ac"), frozenset("b"), frozenset("d"))),
            "founders": frozenset("cbd"),
            "max_crashes": 1,
            "max_doubts": 1,
        },
        range(20),
    ),
    (
        {
            **EVERYTHING,
            "nodes": ("a", "b", "c"),
            "sides": frozenset((frozenset("ac"), frozenset("b"))),
            "founders": frozenset("ab"),
            "told": frozenset(("ab",)),
            "crashers": frozenset("c"),
        },
        (*range(10), 21),
    ),
)
"""What is changed of a case's constants, and the seeds of the runs that are followed."""

RARE: Final = {"Crash": 0.02, "Suspect": 0.05, "Lose": 0.02, "Resend": 0.1, "Multicast": 0.5}

_IDLE: Final = "Who is idle is in no merge, so the merge is another one, too."
EXCUSED: Final[Mapping[str, str]] = {
    "ReceiveMergeRsp: too late: only Not(stage(n) != 0)": _IDLE,
    "ReceiveInstallMergeView: not in the merge: only Not(stage(n) != 0)": _IDLE,
    "ReceiveInstalled: both have it: only Not(stage(n) != 0)": _IDLE,
    "ReceiveInstalled: the merge is over: only Not(stage(n) != 0)": _IDLE,
    "ReceiveMergeRsp: too late: only Not(Or(stage(n) == 1, stage(n) == 2))": "Of whom a leader"
    " waits for after the decision, it has the answer.",
    "ViewChange: only Not(inside(view(n), first(view(n))))": "The first of a view is in it.",
}

DAMAGED: Final = (
    *(("delivered", "*"), ("delivered", "*", "*", "number"), ("path", "*", "*", "members")),
    *(("path", "*", "*", "id", "counter"), ("locals", "*", "coordinates")),
    *(("locals", "*", "view", "members"), ("cut", "*", "number"), ("path", "*")),
    *(("delivered", "*", "*", "view", "counter"), ("position", "*", "*"), ("stream", "*")),
    *(("locals", "*", "merge", "number"), ("stream", "*", "*", "counter"), ("status", "*")),
)
"""Where the states are damaged of which the theorems are asked."""


ACCURATE: Final = frozenset({"MembersAreThere", "AllOrNothing"})
"""The promises that are made as long as nobody is suspected wrongly."""


def _weight(_: State, move: Move[State]) -> float:
    return RARE.get(move.action, 1)


def runs(machines: Machines) -> Iterator[tuple[Merge2System, State, list[Move[Any]]]]:
    """Yield the runs that are followed."""
    constants = machines("merge2-two").constants
    for changes, seeds in INSTANCES:
        machine = Merge2System(replace(constants, **changes))
        for seed in seeds:
            yield machine, *renamed(walked(machine, seed, 90, _weight))


def edges(subject: Theory, machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for machine, first, moves in runs(machines):
        read = reading(machine, [first, *(move.target for move in moves)], subject)
        yield from read.followed(beginning(read, first), moves, [])


def twins(subject: Theory, machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    for machine, first, moves in runs(machines):
        states = [first, *(move.target for move in moves)]
        read = reading(machine, states, subject)
        promises = invariants(machine.constants)
        for state in damages(states[10::10], DAMAGED, 8):
            if _speaks_of_messages(state) and (found := said(promises, state)):
                # The theorem promises less where suspicions are wrong.
                asked = {n: v for n, v in found.items() if n not in ACCURATE or not state.doubts}
                yield Seen(asked, read.frame.world(read.tables(state)))


def _speaks_of_messages(state: State) -> bool:
    """Tell whether all that is delivered has a number from 1 on; the promise takes 0 for none."""
    return all(each.number > 0 for delivered in state.delivered for each in delivered)
