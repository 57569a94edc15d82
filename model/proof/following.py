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
from .induction import Theory

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
        transitions = {each.name: each for each in self.theory.transitions}
        self.taken.clear()
        tables = self.frame.applied({}, self.theory.initial(self.frame.world({}))[1])
        world = self.frame.world(tables)
        for axiom in self.theory.axioms:
            if not axiom.formula(world):
                return f"{axiom.name} is false"
        if not self.theory.initial(world)[0]:
            return "no initial state"
        differs = self.differs(tables, self.states[0])
        if differs:
            return f"the first state: {differs} differs"
        for number, move in enumerate(self.moves):
            where = f"step {number + 1}, {move.action}{move.args}"
            steps = list(self.steps(number))
            for name, parameters in steps:
                self.taken.append(name)
                tables = self.ready(number, tables)
                world = self.frame.world(tables)
                if not transitions[name].guard(world, *parameters):
                    return f"{where}: the guard of {name}{parameters} is false"
                tables = self.frame.applied(tables, transitions[name].updates(world, *parameters))
            differs = self.differs(tables, move.target)
            if differs:
                return f"{where}: {differs} differs"
            world = self.frame.world(tables)
            for conjunct in self.theory.invariant if steps else ():
                if not conjunct.formula(world):
                    return f"{where}: {conjunct.name} is false"
        return ""
