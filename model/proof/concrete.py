"""Concrete worlds: a state of the model in the vocabulary of a proof, evaluated in plain Python.

They tie a theory to the model. An edge of the model is admitted if some transition of that action,
with some parameters, has a true guard before it and updates equal to the state after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, TypeAlias

from .compiled import Bind, Writer, truth
from .compiled import Function as Compiled
from .induction import Theory, Transition, parameters
from .logic import Bounded, Function, World
from .places import table_after

Table: TypeAlias = dict[tuple[Any, ...], Any]
"""A function, as the arguments at which its value is not the usual one (0, False or nobody)."""

Tables: TypeAlias = dict[str, Table]


class Concrete(World):
    """A state as a world: its functions look into the tables."""

    def __init__(self, frame: Frame, tables: Tables) -> None:
        self.frame = frame
        self.tables = tables
        self.quantify = Bounded(frame.domain)

    def __getattr__(self, name: str) -> Any:
        """Return the function of that name, or all of them."""
        frame = self.frame
        if name == "_functions":
            found: Any = {
                each: getattr(self, each) for each in (*frame.rigid, *frame.theory.symbols)
            }
        elif name in frame.theory.symbols:
            usual = frame.usual(frame.theory.symbols[name][1])
            found = _lookup(self.tables.get(name, {}), usual)
        elif name in frame.rigid:
            found = frame.rigid[name]
        else:
            raise AttributeError(name)
        self.__dict__[name] = found
        return found

    def evaluated(self, code: Bind) -> Any:
        """Return the compiled functions, bound to this state."""
        frame = self.frame
        return code(self.tables, frame.rigid, frame.domain, frame.nobody)


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

    def world(self, tables: Tables) -> Concrete:
        """Return the tables as a world."""
        return Concrete(self, tables)

    def possible(
        self, transition: Transition, s: Concrete, known: Mapping[str, Sequence[Any]]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the parameters with which the transition is enabled; `known` restricts some."""
        code = steps_of(self.theory).guard(transition)
        found: Iterator[tuple[Any, ...]] = s.evaluated(code)[1](*self._ranges(transition, known))
        return found

    def allows(self, transition: Transition, s: Concrete, values: Sequence[Any]) -> bool:
        """Tell whether the transition is enabled with these parameters."""
        return bool(s.evaluated(steps_of(self.theory).guard(transition))[0](*values))

    def after(self, transition: Transition, s: Concrete, values: Sequence[Any]) -> Tables:
        """Return the tables after the transition with these parameters."""
        names, code = steps_of(self.theory).updates(transition)
        changed = zip(names, s.evaluated(code), strict=True)
        return {**s.tables, **{name: table(*values) for name, table in changed}}

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
        return product(*self._ranges(transition, known))

    def _ranges(
        self, transition: Transition, known: Mapping[str, Sequence[Any]]
    ) -> list[Sequence[Any]]:
        return [
            known[name]
            if name in known
            else list(self._sets())
            if kind == "set"
            else self.domain[kind]
            for name, kind in transition.parameters
        ]

    def _sets(self) -> Iterator[Function]:
        processes = self.domain["process"]
        for size in range(len(processes) + 1):
            for chosen in combinations(processes, size):
                yield frozenset(chosen).__contains__


def _lookup(table: Table, usual: Any) -> Function:
    return lambda *values: table.get(values, usual)


# ---------------------------------------------------------------------- compiled


@dataclass(slots=True)
class _Steps:
    """The transitions of a theory as code, each compiled when it is first asked for."""

    theory: Theory
    world: World
    _guards: dict[int, Bind] = field(default_factory=dict)
    _updates: dict[int, tuple[Sequence[str], Bind]] = field(default_factory=dict)
    _kept: list[Transition] = field(default_factory=list)
    """Transitions are known by their identity, so none may go."""

    def guard(self, transition: Transition) -> Bind:
        """Return the guard: whether it allows some parameters, and all of a product it allows."""
        found = self._guards.get(id(transition))
        if found is None:
            self._kept.append(transition)
            guard = transition.guard(self.world, *parameters(transition))
            names = names_of(transition)
            ranges = {each: f"r{each}" for each in names.values()}

            def lines(writer: Writer) -> list[str]:
                loops = writer.loops(ranges, [(guard, True)], free=False)
                return [f"return (({''.join(f'{each}, ' for each in ranges)}) {loops})"]

            found = self._guards[id(transition)] = Writer(self.theory).bound(
                [
                    Compiled(names, truth([(guard, True)])),
                    Compiled(names, lines, list(ranges.values())),
                ]
            )
        return found

    def updates(self, transition: Transition) -> tuple[Sequence[str], Bind]:
        """Return the symbols that the transition updates, and the tables after it."""
        found = self._updates.get(id(transition))
        if found is None:
            self._kept.append(transition)
            updates = transition.updates(self.world, *parameters(transition))
            names = names_of(transition)
            code = [table_after(name, update, names) for name, update in updates.items()]
            found = list(updates), Writer(self.theory).bound(code)
            self._updates[id(transition)] = found
        return found


def names_of(transition: Transition) -> dict[str, str]:
    """Return the transition's parameters as its formulas name them, and their names in code."""
    return {f"{name}!": f"a{i}" for i, (name, _) in enumerate(transition.parameters)}


def steps_of(theory: Theory) -> _Steps:
    """Return the theory's transitions as code."""
    found: _Steps | None = theory.compiled.get("steps")
    if found is None:
        found = theory.compiled["steps"] = _Steps(theory, theory.world())
    return found
