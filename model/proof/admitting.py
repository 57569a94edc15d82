"""Edges of a model, each taken by any transition of the theory that leads from state to state."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.composed import Move

from .concrete import Frame, Tables
from .induction import Transition
from .ties import Edge, Taken

Candidates: TypeAlias = Callable[
    [Move[Any]], Iterable[tuple[Transition, Mapping[str, Sequence[Any]]]]
]
"""The transitions that a step of the model may be, and what it determines of their parameters."""


class Reading(NamedTuple):
    """How the states of a model read in a theory."""

    frame: Frame
    tables: Callable[[Any], Tables]
    """What a state shows."""
    history: Sequence[str]
    """The symbols that no state shows; they accumulate along a path."""
    candidates: Candidates
    silent: Container[str] | None = None
    """The actions that may change nothing of what is shown; None for any."""

    def admitted(
        self, move: Move[Any], before: Tables, target: Tables
    ) -> tuple[Taken | None, Tables] | None:
        """Return the transition that leads there and the tables after; None if nothing does.

        No transition is needed for a silent action that changes nothing of what the state shows.
        """
        s = self.frame.world(before)
        shown = [name for name in self.frame.theory.symbols if name not in self.history]
        for transition, known in self.candidates(move):
            for values in self.frame.possible(transition, s, known):
                after = self.frame.after(transition, s, values)
                if self.frame.differs(after, target, shown) is None:
                    return Taken(transition.name, values, s), after
        if self.silent is not None and move.action not in self.silent:
            return None
        same = self.frame.differs(before, target, shown) is None
        return (None, before) if same else None

    def followed(
        self, first: Tables, moves: Iterable[Move[Any]], reached: list[Tables]
    ) -> Iterator[Edge]:
        """Yield each step of a run as the theory takes it; append the states that it reaches."""
        reached[:] = [first]
        for move in moves:
            target, says = self.tables(move.target), f"{move.action}{move.args}"
            found = self.admitted(move, reached[-1], target)
            if found is None:
                yield Edge(says, (), "no transition leads there")
                return
            taken, after = found
            yield Edge(says, () if taken is None else (taken,))
            reached.append({**target, **{name: after.get(name, {}) for name in self.history}})
