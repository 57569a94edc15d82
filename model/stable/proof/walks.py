"""Random runs of STABLE's model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any, Final

from raincheck.model.machine.composed import Move
from raincheck.model.proof.concrete import Tables
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, damages, said
from raincheck.model.stable.promises import INVARIANTS
from raincheck.model.stable.state import State
from raincheck.model.stable.system import StableSystem

from .model import Run

EVERYTHING: Final[Mapping[str, Any]] = {
    "nodes": ("a", "b", "c"),
    "founders": frozenset("ab"),
    "max_views": 5,
    "senders": frozenset("abc"),
    "max_sent": 3,
    "losers": frozenset("bc"),
    "max_lost": 3,
    "crashers": frozenset("abc"),
    "returners": frozenset("abc"),
    "excluded": frozenset("b"),
    "gives_up": True,
    "overtaking": True,
    "duplication": True,
}
"""More than any case has: everybody sends, crashes and comes back, datagrams do as they like."""

RARE: Final = {"Crash": 0.05, "Exclude": 0.05, "Resume": 0.2, "Lose": 0.1}

SEEDS: Final = range(24)

EXCUSED: Final = {
    "ReceiveDigest: first, last: never taken": "A member alone in its view would have to receive"
    " its own digest; nobody's own digest comes back to it, though the theory admits that.",
}

DAMAGED: Final = (("purged", "*", "*"), ("delivered", "*", "*"), ("join_rsp", "*", "digest", "*"))
"""Where the states are damaged of which the theorem is asked."""


def everything(machine: StableSystem) -> StableSystem:
    """Return the machine of the instance in which everything happens, with that machine's rules."""
    constants = machine.constants
    rules = replace(constants.rules, last_message="digest")
    return StableSystem(replace(constants, **EVERYTHING, rules=rules))


def walk(machine: StableSystem, seed: int, subject: Theory | None = None, steps: int = 90) -> Run:
    """Return a random run of the model, with few ends of processes."""
    draw, moves = Random(seed), list[Move[State]]()
    first = state = next(iter(machine.initial()))
    for _ in range(steps):
        # Many datagrams make many moves: what is drawn first is an action.
        possible: dict[str, list[Move[State]]] = {}
        for move in machine.moves(state):
            possible.setdefault(move.action, []).append(move)
        if not possible:
            break
        weights = [RARE.get(action, 1) for action in possible]
        [action] = draw.choices(list(possible), weights)
        moves.append(draw.choice(possible[action]))
        state = moves[-1].target
    return Run(machine, first, moves, subject)


def edges(subject: Theory, machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    machine = everything(machines("stable-crash"))
    for seed in SEEDS:
        yield from walk(machine, seed, subject).edges()


def twins(subject: Theory, machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    machine = everything(machines("stable-crash"))
    for seed in SEEDS:
        run = walk(machine, seed, subject)
        list(run.edges())
        for state, tables in list(zip(run.states, run.reached, strict=False))[::10]:
            for other in damages([state], DAMAGED, 12, seed):
                if promises := said(INVARIANTS, other):
                    yield Seen(promises, run.frame.world(_shown(run, other, tables)))


def _shown(run: Run, state: State, tables: Tables) -> Tables:
    """Return the tables with what the state shows, and what it promises to joiners."""
    shown = run.shown(state)
    addresses = [run.system.address(state, i) for i in range(len(state.locals))]
    for i, rsp in enumerate(state.join_rsp):
        if rsp is not None:
            joiner = run.process(addresses[i], rsp.view)
            for a, at in zip(addresses, rsp.digest, strict=True):
                shown["delivered", (joiner, run.process(a, len(state.views)))] = at
    found = {name: dict(table) for name, table in tables.items()}
    for (name, values), value in shown.items():
        found.setdefault(name, {})[values] = value
    return found
