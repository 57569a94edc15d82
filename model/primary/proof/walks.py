"""Random runs of PRIMARY's model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any, Final

from raincheck.model.machine.composed import Move
from raincheck.model.primary.events import Info, Session, ViewId
from raincheck.model.primary.handlers import Asked, Local
from raincheck.model.primary.promises import invariants
from raincheck.model.primary.state import Done, State
from raincheck.model.primary.system import PrimarySystem
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, said, walked

from .model import Run, shows

NODES: Final = "abcd"
GROUPS: Final = frozenset(
    frozenset(each) for size in range(1, 5) for each in combinations(NODES, size)
)
EVERYTHING: Final[Mapping[str, Any]] = {
    "nodes": tuple(NODES),
    "groups": GROUPS,
    "together": False,
    "max_views": 9,
    "heavy": frozenset("b"),
    "heavy_votes": 2,
    "crashers": frozenset("bc"),
    "max_crashes": 2,
    "returners": frozenset("bc"),
}
"""More than any case has: any processes are in a view, and two may crash and come back."""

EXPECTED: Final = 5
FOUNDERS: Final = (frozenset[str](), frozenset("a"))
"""Who was started with found=True."""

RARE: Final = {"Crash": 0.02, "Restart": 0.2, "NewView": 0.02}
ALL: Final = 8
"""How much more often all processes find themselves in a view than any other set of them."""

SEEDS: Final = (0, 1, 4)
"""In the last of them, what a view needs a majority of last was only attempted."""

EXCUSED: Final[Mapping[str, str]] = {}


def everything(machine: PrimarySystem, founders: frozenset[str] = FOUNDERS[0]) -> PrimarySystem:
    """Return the machine of the instance in which everything happens, with that machine's rules."""
    rules = replace(machine.rules, expected=EXPECTED)
    changes: dict[str, Any] = {**EVERYTHING, "found_first": founders, "rules": rules}
    return PrimarySystem(replace(machine.constants, **changes))


def begins_beside(machine: PrimarySystem, move: Move[State]) -> bool:
    """Tell whether a history begins in a view whose members know of another one."""
    if move.action != "Decide":
        return False
    me = move.target.locals[machine.index[str(move.args[0])]]
    infos = (m for m in move.target.net if isinstance(m, Info) and m.view == me.view)
    asked = Asked(machine.rules, tuple(sorted(infos)))
    return me.stage == "attempting" and bool(asked.known) and not asked.continues


def walk(machine: PrimarySystem, seed: int, subject: Theory | None = None, steps: int = 120) -> Run:
    """Return a random run of the model, in which no history begins beside a known one."""

    def weight(_: State, move: Move[State]) -> float:
        if move.action == "NewView" and len(move.target.due.members) == len(NODES):
            return RARE["NewView"] * ALL
        return 1e-9 if begins_beside(machine, move) else RARE.get(move.action, 1)

    first, moves = walked(machine, seed, steps, weight)
    end = next((i for i, m in enumerate(moves) if begins_beside(machine, m)), len(moves))
    return Run(machine, first, moves[:end], subject)


def walks(machines: Machines, subject: Theory) -> Iterator[Run]:
    """Yield the runs that are followed."""
    for founders in FOUNDERS:
        machine = everything(machines("primary-partition"), founders)
        for seed in SEEDS:
            yield walk(machine, seed, subject)


def edges(subject: Theory, machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for run in walks(machines, subject):
        yield from run.edges()


# ---------------------------------------------------------------------- theorems and promises


def twins(subject: Theory, machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    draw = Random(1)
    for run in walks(machines, subject):
        promises = invariants(run.system.constants)
        asked = {each.name: promises[each.name] for each in subject.properties}
        for state in run.states[10::10]:
            if state.due.left or not state.formed:
                continue
            for other in (state, *(damaged(state, draw) for _ in range(6))):
                if not _has_a_meaning(other):
                    continue
                found = dict(said(asked, other))
                if not found["OneAtANumber"]:
                    del found["OneChain"]  # which of two is the one before?
                frame, tables = shows(other, subject)
                yield Seen(found, frame.world(tables))


def damaged(state: State, draw: Random) -> State:
    """Return the state after something that no rule allows."""
    match draw.randrange(4):
        case 0:
            return state._replace(tried=state.tried - {draw.choice(sorted(state.tried))})
        case 1:
            return _primary_by_itself(state, draw)
        case _:
            old = draw.choice(sorted(state.formed)).session
            return _with_another(state, old, draw)


def _with_another(state: State, old: Session, draw: Random) -> State:
    """Return the state with another primary view, made out of one."""
    votes = tuple(draw.sample(old.votes, draw.randint(1, len(old.votes))))
    id_ = ViewId(old.view.counter + 20, old.view.coordinator)
    new = Session(old.number + draw.randint(0, 2), id_, old.history, tuple(sorted(votes)))
    if draw.random() < 0.5:
        new = new._replace(votes=((_stranger(state), 1),))
    member = new.votes[0][0]
    done = frozenset(Done(new, each) for each in new.members)
    return state._replace(formed=state.formed | {Done(new, member)}, tried=state.tried | done)


def _stranger(state: State) -> Any:
    """Return a process that is in no primary view."""
    return state.locals[-1].me._replace(incarnation=9)


def _primary_by_itself(state: State, draw: Random) -> State:
    """Return the state with a process that takes its view for primary, in a history of its own."""
    i = draw.randrange(len(state.locals))
    me = state.locals[i]
    last = me.last or draw.choice(sorted(state.formed)).session
    changed: Local = me._replace(stage="primary", last=last._replace(history=last.view))
    return state._replace(locals=(*state.locals[:i], changed, *state.locals[i + 1 :]))


def _has_a_meaning(state: State) -> bool:
    """Tell whether who is primary knows it, and no view is two primary views."""
    sessions = {done.session for done in state.formed | state.tried}
    known = all(me.last or me.stage != "primary" for me in state.locals)
    return known and len({each.view for each in sessions}) == len(sessions)
