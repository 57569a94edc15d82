"""Random runs of RING_START's model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from raincheck.model.machine.composed import Move
from raincheck.model.machine.rows import with_
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, damages, said, walked
from raincheck.model.ring_start.state import Done, State
from raincheck.model.ring_start.system import RingStartSystem

from .model import Run, shows

CASE: Final = "ring-start-crash"

EVERYTHING: Final[Mapping[str, Any]] = {
    "nodes": tuple("abcd"),
    "files": frozenset("abd"),
    "crashers": frozenset("abcd"),
    "closers": frozenset("ab"),
    "leavers": frozenset("abd"),
    "losers": frozenset("ab"),
    "max_stops": 20,
    "max_late": 2,
    "max_lost": 12,
}
"""More than any case has: d joins, c has no file, and all may crash, forget and leave."""

FIVE: Final[Mapping[str, Any]] = {
    **EVERYTHING,
    "nodes": tuple("abcde"),
    "closers": frozenset(),
    "leavers": frozenset(),
}
"""Two of five members may have forgotten at once."""

ALONE: Final[Mapping[str, Any]] = {**EVERYTHING, "nodes": ("a", "b")}
"""There is one member, which asks nobody."""

INSTANCES: Final = (
    (EVERYTHING, "abc", (29, 37, *range(4)), 120),
    (FIVE, "abcde", range(4), 120),
    (ALONE, "a", range(2), 30),
)
"""The instances, their members, the seeds of their runs, and how long these are."""

LIKELY: Final = {"Crash": 0.05, "Close": 0.2, "Leave": 0.1, "Lose": 0.3, "Delay": 0.2}

_LEFT: Final = "who has left founds by an operator's word only, which this theory leaves out"

EXCUSED: Final[Mapping[str, str]] = {
    "Hear: a founding of its own: only stage(n) == 1": _LEFT,
    "HearLate: a founding of its own: only stage(to(w)) == 1": _LEFT,
}

DAMAGED: Final = (("tried",), ("locals", "*", "ring"), ("locals", "*", "me", "incarnation"))
"""Where the states are damaged of which the theorem is asked."""


def instance(
    machine: RingStartSystem, changes: Mapping[str, Any], members: str, **undone: Any
) -> RingStartSystem:
    """Return the machine of another instance, with that machine's rules but for those undone."""
    rules = replace(machine.rules, members=frozenset(members), **undone)
    return RingStartSystem(replace(machine.constants, **changes, rules=rules))


def walk(system: RingStartSystem, seed: int, steps: int, subject: Theory | None = None) -> Run:
    """Return a random run of the model beside the theory."""

    def weight(_: State, move: Move[State]) -> float:
        return LIKELY.get(move.action, 1)

    return Run(system, *walked(system, seed, steps, weight), subject)


def walks(machines: Machines, subject: Theory) -> Iterator[Run]:
    """Yield the runs that are followed."""
    for changes, members, seeds, steps in INSTANCES:
        system = instance(machines(CASE), changes, members)
        for seed in seeds:
            yield walk(system, seed, steps, subject)


def edges(subject: Theory, machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for run in walks(machines, subject):
        yield from run.edges()


def twins(subject: Theory, machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    for run in walks(machines, subject):
        asked = {each.name: run.system.invariants[each.name] for each in subject.properties}
        spoken = [state for state in run.states[10::10] if state.spoken]
        others = [change(state) for state in spoken for change in (_another_ring, _spoke_before)]
        for state in (*damages(spoken, DAMAGED, 6), *others):
            if found := said(asked, state):
                frame, tables = shows(run.system, state, subject)
                yield Seen(found, frame.world(tables))


def _another_ring(state: State) -> State:
    """Return the state in which somebody has spoken in another ring, too, and is in it."""
    done = min(state.spoken)
    ring = frozenset(each._replace(incarnation=9) for each in done.ring)
    other = Done(ring, done.founder._replace(incarnation=9))
    changed = state.locals[0]._replace(stage="member", ring=ring)
    return state._replace(spoken=state.spoken | {other}, locals=with_(state.locals, 0, changed))


def _spoke_before(state: State) -> State:
    """Return the state in which what a member has said as a founder is gone."""
    said_ = {Done(me.ring, me.me) for me in state.locals if me.stage == "member"}
    return state._replace(gone=state.gone | {each for each in said_ if each.founder in each.ring})
