"""Concrete worlds: a state of the model in the vocabulary of a proof, evaluated in plain Python.

They tie a theory to the model. An edge of the model is admitted if some transition of that action,
with some parameters, has a true guard before it and updates equal to the state after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, TypeAlias

from .induction import Theory, Transition
from .logic import Bounded, Function, World

Table: TypeAlias = dict[tuple[Any, ...], Any]
"""A function, as the arguments at which its value is not the usual one (0, False or nobody)."""

Tables: TypeAlias = dict[str, Table]


@dataclass(frozen=True, slots=True)
class Frame:
    """The constant part of a bounded instance.

    It consists of the theory, the values of each kind, and the functions that never change.
    `matters` tells which values of a symbol have a meaning.
    """

    theory: Theory
    domain: Mapping[str, Sequence[Any]]
    rigid: Mapping[str, Function]
    matters: Callable[[str, tuple[Any, ...], World], bool]
    nobody: Any = None
    """The usual value of functions to processes."""

    def usual(self, result: str) -> Any:
        """Return the value that tables leave out."""
        return {"bool": False, "process": self.nobody, "node": self.nobody}.get(result, 0)

    def world(self, tables: Tables) -> World:
        """Return the tables as a world."""
        functions = dict(self.rigid)
        for name, (_, result) in self.theory.symbols.items():
            functions[name] = _lookup(tables.get(name, {}), self.usual(result))
        return World(functions, Bounded(self.domain))

    def applied(self, tables: Tables, updates: Mapping[str, Function]) -> Tables:
        """Return the tables with the updates carried out."""
        after = dict(tables)
        for name, update in updates.items():
            kinds, result = self.theory.symbols[name]
            usual = self.usual(result)
            table = after[name] = {}
            for values in product(*(self.domain[kind] for kind in kinds)):
                value = update(*values)
                if value != usual:
                    table[values] = value
        return after

    def differs(self, found: Tables, wanted: Tables, names: Sequence[str]) -> str | None:
        """Return the first of the named symbols whose values differ where they matter, or None."""
        world = self.world(wanted)
        for name in names:
            mine, theirs = found.get(name, {}), wanted.get(name, {})
            if mine == theirs:
                continue
            for values in mine.keys() | theirs.keys():
                if mine.get(values) != theirs.get(values) and self.matters(name, values, world):
                    return name
        return None

    def choices(
        self, transition: Transition, known: Mapping[str, Sequence[Any]]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield every choice of the transition's parameters; `known` restricts some."""
        ranges = [
            known[name]
            if name in known
            else list(self._sets())
            if kind == "set"
            else self.domain[kind]
            for name, kind in transition.parameters
        ]
        return product(*ranges)

    def _sets(self) -> Iterator[Function]:
        processes = self.domain["process"]
        for size in range(len(processes) + 1):
            for chosen in combinations(processes, size):
                yield frozenset(chosen).__contains__


def _lookup(table: Table, usual: Any) -> Function:
    return lambda *values: table.get(values, usual)
