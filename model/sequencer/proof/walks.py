"""Random runs of SEQUENCER's model beside the theory: what ties the proof to the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from raincheck.model.machine.graph import Label
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Edge, Machines, Seen, Taken, damages, said, walked
from raincheck.model.sequencer.handlers import Rules
from raincheck.model.sequencer.promises import INVARIANTS
from raincheck.model.sequencer.state import Constants, State
from raincheck.model.sequencer.system import SequencerSystem

from .model import GHOST_NAMES, Beside


def _instance(**values: Any) -> Constants:
    usual = {
        "nodes": ("a", "b", "c"),
        "founders": frozenset("abc"),
        "senders": frozenset("abc"),
        "max_said": 2,
        "crashers": frozenset("ab"),
        "max_crashes": 1,
        "leavers": frozenset("ab"),
        "returners": frozenset("ab"),
        "last_demotion": 0,
        "fifo_forward": True,
        "virtual_synchrony": True,
        "rules": Rules(),
    }
    return Constants(**{**usual, **values})


SAFE: Final = Rules(delivery="safe")
UNIFORM: Final = frozenset({"UniformTotalOrder", "UniformAgreement"})
"""The theorems about safe delivery; the others are about agreed delivery."""

INSTANCES: Final = (
    (_instance(), 12),
    (_instance(founders=frozenset("ab"), leavers=frozenset(), returners=frozenset()), 12),
    (_instance(founders=frozenset("ab"), last_demotion=2, crashers=frozenset()), 12),
    (_instance(crashers=frozenset(), returners=frozenset(), last_demotion=3), 30),
    (_instance(founders=frozenset("ab"), strangers=frozenset("c"), max_forged=3), 12),
    (_instance(rules=SAFE), 12),
    (_instance(rules=SAFE, founders=frozenset("ab"), last_demotion=2), 12),
)
"""Small instances, and how many random runs of each are followed."""

SMALL: Final = (
    (_instance(founders=frozenset("ab"), leavers=frozenset(), returners=frozenset()), 12),
    (_instance(leavers=frozenset(), returners=frozenset()), 12),
    (_instance(leavers=frozenset(), returners=frozenset(), rules=SAFE), 12),
)
"""Instances of whose states the theorems are asked: a process has one life in them."""

_TWICE: Final = (
    "Where a message is delivered twice, the theorem asks for the order of both deliveries and the"
    " promise for that of the first; Integrity excludes such states."
)

EXCUSED: Final = {
    "TotalOrder": _TWICE,
    "UniformTotalOrder": _TWICE,
    "ReceiveForward: dropped: only Not(coordinator(view(n)) == n)": "A FORWARD goes to the"
    " coordinator of the view with which it is tagged, so the tag is always wrong as well.",
    "ReceiveData: discarded: never taken": "Over synchronous views a member has read the old view"
    " to its end before it sends again, so nothing comes twice; sequencer-weak-views meets it.",
    "ViewChange: only Not(member(last_view, coordinator(last_view)))": "A coordinator is a member"
    " of its view (CoordinatorIsMember); the condition is there for Z3.",
}

DAMAGED: Final = (
    *(("delivered", "*"), ("delivered", "*", "*", "1"), ("locals", "*", "said")),
    *(("locals", "*", "view"),),
)
"""Where the states are damaged of which the theorems are asked."""

RARE: Final = {"Crash": 0.15, "Leave": 0.15, "Demote": 0.3, "Restart": 0.5}


class Walk:
    """A random run of the model, and the tables of each of its states as far as it is followed."""

    def __init__(self, system: SequencerSystem, seed: int, subject: Theory) -> None:
        first, self.moves = walked(system, seed, 60, lambda _, move: RARE.get(move.action, 1))
        self.states = [first, *(move.target for move in self.moves)]
        self.beside = Beside(system.constants, self.states, subject)
        self.tables = [self.beside.began(self.beside.tables(first))]

    def edges(self) -> Iterator[Edge]:
        """Yield each step as the theory takes it; the first that it refuses is the last."""
        for move in self.moves:
            before, wanted = self.tables[-1], self.beside.tables(move.target)
            found = self.beside.admitted(Label(move.action, move.args), before, wanted)
            says = f"{move.action}{move.args}"
            if found is None:
                yield Edge(says, (), "no transition leads there")
                return
            taken, at = [], before
            for transition, values in found.steps:
                world = self.beside.frame.world(at)
                taken.append(Taken(transition.name, values, world))
                at = self.beside.frame.after(transition, world, values)
            yield Edge(says, taken)
            history = {name: found.after.get(name, {}) for name in self.beside.history}
            self.tables.append({**wanted, **history})


def _walks(subject: Theory, instances: Iterable[tuple[Constants, int]]) -> Iterator[Walk]:
    for constants, runs in instances:
        for seed in range(runs):
            yield Walk(SequencerSystem(constants), seed, subject)


def edges(subject: Theory, _machines: Machines) -> Iterator[Edge]:
    """Yield the steps of random runs."""
    for walk in _walks(subject, INSTANCES):
        yield from walk.edges()


def twins(subject: Theory, _machines: Machines) -> Iterator[Seen]:
    """Yield states of random runs, and damaged ones; the history stays as it was."""
    for walk in _walks(subject, SMALL):
        list(walk.edges())
        for state, tables in list(zip(walk.states, walk.tables, strict=False))[::9]:
            history = {name: tables[name] for name in (*GHOST_NAMES, "heard_at")}
            for damaged in (*damages([state], DAMAGED, 15), *_elsewhere(state)):
                if _misshapen(damaged):
                    continue
                safe = walk.beside.constants.rules == SAFE
                asked = {n: each for n, each in INVARIANTS.items() if (n in UNIFORM) == safe}
                if promises := said(asked, damaged):
                    shown = {**walk.beside.tables(damaged), **history}
                    yield Seen(promises, walk.beside.frame.world(shown))


def _elsewhere(state: State) -> Iterator[State]:
    """Yield the state with a delivery in a view without the receiver, for each that there is."""
    for i, me in enumerate(state.locals):
        for number, view in enumerate(state.views, 1):
            if state.delivered[i] and all(member.node != me.node for member in view.members):
                (message, _), *others = state.delivered[i]
                moved = ((message, number), *others)
                delivered = (*state.delivered[:i], moved, *state.delivered[i + 1 :])
                yield state._replace(delivered=delivered)


def _misshapen(state: State) -> bool:
    """Tell whether something is delivered in no view at all."""
    return any(view < 1 for delivered in state.delivered for _, view in delivered)
