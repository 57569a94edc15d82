"""Random runs of LOCKS' model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from raincheck.model.locks.promises import invariants
from raincheck.model.locks.state import State
from raincheck.model.locks.system import LocksSystem
from raincheck.model.machine.composed import Move
from raincheck.model.machine.rows import with_
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, damages, said, walked

from .model import Run, shows

NODES: Final = ("a", "b", "c", "d")
ALL: Final = frozenset(NODES)
EVERYTHING: Final[Mapping[str, Any]] = {
    "nodes": NODES,
    "founders": frozenset("abc"),
    "names": frozenset("xy"),
    "writers": ALL,
    "readers": ALL,
    "crashers": ALL,
    "returners": ALL,
    "rejoiners": ALL,
    "left_out": ALL,
    "keepers": ALL,
    "max_wants": 3,
    "max_drops": 20,
    "max_crashes": 6,
    "max_epoch": 8,
    "max_posts": 30,
}
"""More than any case has: all want locks, crash, come back, are cut off and join."""

CUT: Final[Mapping[str, Any]] = {
    **EVERYTHING,
    "nodes": (*NODES, "e"),
    "founders": frozenset("abcde"),
    "names": frozenset("x"),
    "writers": frozenset("abcde"),
    "readers": frozenset(),
    "crashers": frozenset(),
    "rejoiners": frozenset("ae"),
    "left_out": frozenset("ae"),
    "keepers": frozenset("ae"),
    "max_epoch": 3,
    "max_posts": 12,
}
"""Two of five are cut off, and post what nobody else reads."""

INSTANCES: Final = ((EVERYTHING, range(8), 120), (CUT, (25, 129), 60))
"""The instances, the seeds of their runs, and how long these are.

In those of the second one, a member has read further than the posts of a new token go.
"""

LIKELY: Final = {"Crash": 0.05, "Want": 0.3, "Drop": 0.1, "Make": 0.05}
"""Each way in which the token can be made anew is a move of its own, so there are many."""

EXCUSED: Final[Mapping[str, str]] = {}

DAMAGED: Final = (
    *(("locals", "*", "table"), ("locals", "*", "table", "*", "request")),
    *(("locals", "*", "table", "*", "session"), ("copies", "*", "size")),
    *(("posts", "*", "*", "wanted"), ("locals", "*", "table", "*", "mode")),
    *(("locals", "*", "held", "*", "mode"), ("locals", "*", "held", "*", "name")),
    ("given", "*", "*", "fence", "place"),
)
"""Where the states are damaged of which the theorem is asked."""


def instance(machine: LocksSystem, changes: Mapping[str, Any]) -> LocksSystem:
    """Return the machine of another instance, with that machine's rules."""
    system = LocksSystem(replace(machine.constants, **changes))
    system.rules = machine.rules
    return system


def _weight(_: State, move: Move[State]) -> float:
    return LIKELY.get(move.action, 1)


def walk(system: LocksSystem, seed: int, steps: int, subject: Theory | None = None) -> Run:
    """Return a random run of the model beside the theory."""
    return Run(system, *walked(system, seed, steps, _weight), subject)


def walks(machines: Machines, subject: Theory) -> Iterator[Run]:
    """Yield the runs that are followed."""
    for changes, seeds, steps in INSTANCES:
        system = instance(machines("locks-crash"), changes)
        for seed in seeds:
            yield walk(system, seed, steps, subject)


def edges(subject: Theory, machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for run in walks(machines, subject):
        yield from run.edges()


def twins(subject: Theory, machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    for run in walks(machines, subject):
        promises = invariants(run.system.constants)
        asked = {each.name: promises[each.name] for each in subject.properties}
        held = [_held_twice(state) for state in run.states if any(me.held for me in state.locals)]
        given = [state for state in run.states[::20] if state.given]
        told = [changed(state) for state in given for changed in (_told_twice, _told_less)]
        for state in (*damages(run.states[10::10], DAMAGED, 8), *held, *told):
            if _there(state) and (found := said(asked, state)):
                frame, tables = shows(run.system, state, subject)
                yield Seen(found, frame.world(tables))


def _held_twice(state: State) -> State:
    """Return the state in which another member holds for writing what one holds."""
    i = next(i for i, me in enumerate(state.locals) if me.held)
    held = min(state.locals[i].held)._replace(request=9, mode="write")
    other = state.locals[i - 1]
    changed = other._replace(held=other.held | {held})
    return state._replace(locals=with_(state.locals, (i - 1) % len(state.locals), changed))


def _told_twice(state: State) -> State:
    """Return the state in which another request was told the fence of one."""
    given = min(state.given[0])._replace(request=9)
    return state._replace(given=(*state.given, frozenset({given})))


def _told_less(state: State) -> State:
    """Return the state in which a writer is told a smaller fence after one."""
    given = min(state.given[0])
    less = given._replace(
        request=9, mode="write", late=False, fence=given.fence._replace(place=given.fence.place - 1)
    )
    return state._replace(given=(*state.given, frozenset({less})))


def _there(state: State) -> bool:
    """Tell whether no copy has more posts than there are."""
    return all(
        copy.epoch is None or copy.size <= len(state.posts[copy.epoch.n - 1])
        for copy in state.copies
    )
