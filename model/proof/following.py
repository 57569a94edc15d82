"""A run of a model, followed by the theory of its proof.

A theory that remembers every message says more than any state of its model. So the theory is
compared with whole runs instead of single edges: each step is translated into transitions of the
theory, whose guards must be true and whose updates must agree with the model's next state; and the
whole invariant must be true there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from raincheck.model.machine.composed import Move

from .concrete import Frame, Tables
from .induction import Conjunct, Theory
from .ties import Edge, Taken

S = TypeVar("S")

Step: TypeAlias = tuple[str, tuple[Any, ...]]
"""A transition of the theory, by its name, and its parameters."""


class Following(ABC, Generic[S]):
    """A run of the model, and the same run in the theory; a subclass provides the `frame`."""

    frame: Frame

    def __init__(self, first: S, moves: Sequence[Move[S]], theory: Theory) -> None:
        self.states = [first, *(move.target for move in moves)]
        self.moves = moves
        self.theory = theory
        self.taken: list[str] = []
        """The theory's transitions with which it has followed the run."""
        self.reached: list[Tables] = []
        """The theory's states beside those of the model, as far as it has followed the run."""

    @abstractmethod
    def steps(self, number: int) -> Iterator[Step]:
        """Yield the step as transitions of the theory; nothing if it does not matter there."""

    @abstractmethod
    def differs(self, tables: Tables, state: S) -> str | None:
        """Return the first symbol on which the model's state and the tables disagree, or None."""

    def ready(self, _number: int, tables: Tables) -> Tables:
        """Return the tables with the values that the theory leaves open until this step."""
        return tables

    def difference(self) -> str:
        """Say where the theory does not follow the run; "" if it does."""
        self.taken.clear()
        for edge in self.edges(self.theory.invariant):
            self.taken += [each.transition for each in edge.taken]
            if edge.refused:
                return f"{edge.says}: {edge.refused}" if edge.says else edge.refused
        return ""

    def edges(self, invariant: Sequence[Conjunct] = ()) -> Iterator[Edge]:
        """Yield each step as the theory takes it; the first that it refuses is the last.

        The given conjuncts are evaluated after each step.
        """
        transitions = {each.name: each for each in self.theory.transitions}
        tables = self.frame.applied({}, self.theory.initial(self.frame.world({}))[1])
        refused = self._began(tables)
        if refused:
            yield Edge("", (), refused)
            return
        self.reached = [tables]
        for number, move in enumerate(self.moves):
            where = f"step {number + 1}, {move.action}{move.args}"
            taken: list[Taken] = []
            for name, parameters in list(self.steps(number)):
                tables = self.ready(number, tables)
                world = self.frame.world(tables)
                if not self.frame.allows(transitions[name], world, parameters):
                    refused = f"the guard of {name}{parameters} is false"
                    break
                taken.append(Taken(name, parameters, world))
                tables = self.frame.after(transitions[name], world, parameters)
            else:
                refused = self._arrived(tables, move.target, invariant if taken else ())
            yield Edge(where, taken, refused)
            if refused:
                return
            self.reached.append(tables)

    def _began(self, tables: Tables) -> str:
        world = self.frame.world(tables)
        for axiom in self.theory.axioms:
            if not axiom.formula(world):
                return f"{axiom.name} is false"
        if not self.theory.initial(world)[0]:
            return "no initial state"
        differs = self.differs(tables, self.states[0])
        return f"the first state: {differs} differs" if differs else ""

    def _arrived(self, tables: Tables, target: S, invariant: Sequence[Conjunct]) -> str:
        differs = self.differs(tables, target)
        if differs:
            return f"{differs} differs"
        world = self.frame.world(tables)
        for conjunct in invariant:
            if not conjunct.formula(world):
                return f"{conjunct.name} is false"
        return ""
