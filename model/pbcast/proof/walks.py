"""Random runs of PBCAST's model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from raincheck.model.machine.composed import Move
from raincheck.model.pbcast.promises import only_stable_purged
from raincheck.model.pbcast.state import State
from raincheck.model.pbcast.system import PbcastSystem
from raincheck.model.proof.concrete import Tables
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, damages, said, walked

from .model import Run

EVERYTHING: Final[Mapping[str, Any]] = {
    "nodes": ("a", "b", "c", "d"),
    "founders": frozenset("abc"),
    "max_views": 4,
    "handlers": frozenset("b"),
    "handlers_lag": 1,
    "senders": frozenset("abcd"),
    "max_sent": 3,
    "gossipers": frozenset("abcd"),
    "max_gossips": 6,
    "losers": frozenset("bcd"),
    "max_lost": 3,
    "discards": True,
    "crashers": frozenset("ac"),
    "eager": False,
    "spaced": False,
    "duplication": True,
}
"""More than any case has: everybody sends and gossips, and what is lost, comes twice or late."""

RARE: Final = {"Crash": 0.02, "Lose": 0.05, "Drop": 0.3, "InstallView": 0.3, "SendGossip": 0.5}

SEEDS: Final = range(24)

EXCUSED: Final[Mapping[str, str]] = {}

DAMAGED: Final = (
    ("locals", "*", "purged", "*", "1"),
    ("locals", "*", "delivered", "*", "1"),
    ("views", "*", "digest", "*", "1"),
)
"""Where the states are damaged of which the theorem is asked."""


def everything(machine: PbcastSystem) -> PbcastSystem:
    """Return the machine of the instance in which everything happens, with that machine's rules."""
    return PbcastSystem(replace(machine.constants, **EVERYTHING))


def walk(machine: PbcastSystem, seed: int, subject: Theory | None = None, steps: int = 110) -> Run:
    """Return a random run of the model."""

    def weight(_: State, move: Move[State]) -> float:
        return RARE.get(move.action, 1)

    return Run(machine, *walked(machine, seed, steps, weight), subject)


def edges(subject: Theory, machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    machine = everything(machines("pbcast-f1-repaired"))
    for seed in SEEDS:
        yield from walk(machine, seed, subject).edges()


def twins(subject: Theory, machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones."""
    machine = everything(machines("pbcast-f1-repaired"))
    for seed in SEEDS:
        run = walk(machine, seed, subject)
        list(run.edges())
        for state, tables in list(zip(run.states, run.reached, strict=False))[::10]:
            for other in damages([state], DAMAGED, 12, seed):
                if promises := said({"OnlyStablePurged": only_stable_purged}, other):
                    yield Seen(promises, run.frame.world(_shown(run, other, tables)))


def _shown(run: Run, state: State, tables: Tables) -> Tables:
    """Return the tables with what the state shows, and what it promises to joiners."""
    shown = run.shown(state)
    promised = dict(state.views[-1].digest)
    for me, status in zip(state.locals, state.status, strict=True):
        if status == "joining" and me.me in state.views[-1].joiners:
            for x in run.frame.domain["process"]:
                shown["delivered", (me.me, x)] = promised.get(x, 0)
    found = {name: dict(table) for name, table in tables.items()}
    for (name, values), value in shown.items():
        found.setdefault(name, {})[values] = value
    return found
