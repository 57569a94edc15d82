"""The ties of a proof to its model: explored edges are its steps, its theorems are the promises.

A protocol's proof offers two functions of a theory and of the machines of its cases. `edges`
yields explored steps of the model, each as the transitions of the theory that take it. `twins`
yields states of the model, explored and damaged, with what the model's promises say of them.
From these it is counted which branches and sides of guards were met, and each theorem is evaluated
beside the promise of the same name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from raincheck.model.machine.composed import Move

from .compiled import Bind, Function, Writer, truth
from .concrete import Concrete
from .induction import Theory, Transition
from .sides import Side, asked, drawn, sides_of

S = TypeVar("S")

ENOUGH: Final = 30
"""How many states that keep a promise are evaluated, and twice as many that break it."""


class Taken(NamedTuple):
    """A transition of the theory, its parameters, and the world before it."""

    transition: str
    parameters: tuple[Any, ...]
    before: Concrete


class Edge(NamedTuple):
    """An explored step of the model: the transitions that take it, or why none does."""

    says: str
    taken: Sequence[Taken]
    refused: str = ""


class Seen(NamedTuple):
    """A state of the model: the value of each promise there, and the same state as a world."""

    promises: Mapping[str, bool]
    world: Concrete


Machines: TypeAlias = Callable[[str], Any]
"""The model's machine for a case, by the case's name."""

Edges: TypeAlias = Callable[[Theory, Machines], Iterable[Edge]]
Twins: TypeAlias = Callable[[Theory, Machines], Iterable[Seen]]


@dataclass(slots=True)
class Met:
    """The branches and sides of guards that explored edges have met."""

    edges: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """The branches and sides that were never met, by their words."""
    sides: int = 0


class _Waiting:
    """The sides of a transition's guard that have not been met yet."""

    def __init__(self, theory: Theory, transition: Transition, sides: Sequence[Side]) -> None:
        self.transition = transition
        self._sides, self._left = sides, dict.fromkeys(range(len(sides)))
        self._asked = asked(theory, transition, sides)
        self.anywhere = any(not each.at_edges for each in sides)
        """Whether some are left that any explored state may meet."""

    @property
    def left(self) -> list[Side]:
        """Return the sides that are left."""
        return [self._sides[i] for i in self._left]

    def met(self, s: Concrete, choices: Iterable[Sequence[Any]], *, at_edges: bool) -> None:
        """Take out the sides of that kind that the state meets with one of the choices."""
        mine = [i for i in self._left if self._sides[i].at_edges == at_edges]
        tells = s.evaluated(self._asked) if mine else ()
        for values in choices:
            for i in [i for i in mine if tells[i](*values)]:
                mine.remove(i)
                del self._left[i]
        if not at_edges:
            self.anywhere = bool(mine)


def met(theory: Theory, edges: Iterable[Edge]) -> Met:
    """Take all edges, and say what of the theory they have met."""
    found, draw = Met(), Random(1)
    transitions = {each.name: each for each in theory.transitions}
    waiting = {
        name: _Waiting(theory, transitions[name], sides) for name, sides in sides_of(theory).items()
    }
    found.sides = sum(len(each.left) for each in waiting.values())
    for edge in edges:
        found.edges += 1
        if edge.refused:
            found.refused.append(f"{edge.says}: {edge.refused}")
        for name, values, before in edge.taken:
            found.taken[name] += 1
            waiting[name].met(before, [values], at_edges=True)
            for each in waiting.values():
                if each.anywhere:
                    choices = drawn(each.transition, before.frame.domain, draw)
                    each.met(before, choices, at_edges=False)
    for name in transitions:
        if name not in found.taken:
            found.left.append(f"{name}: never taken")
        else:
            found.left += [f"{name}: {side.says}" for side in waiting[name].left]
    return found


@dataclass(slots=True)
class Judged:
    """A theorem beside its twin: the states that keep and break the promise, and the quarrels."""

    kept: int = 0
    broken: int = 0
    weaker: int = 0
    """How often the theorem was true of a state that breaks the promise."""
    stronger: int = 0
    """How often the theorem was false of a state that keeps the promise."""


class Theorems:
    """A theory's theorems as code, each compiled when it is first asked of a state."""

    def __init__(self, theory: Theory) -> None:
        self._theory = theory
        self._formulas = {each.name: each.formula for each in theory.properties}
        self._code: dict[str, Bind] = {}

    def true(self, name: str, s: Concrete) -> bool:
        """Tell whether the theorem is true of the state."""
        code = self._code.get(name)
        if code is None:
            formula = self._formulas[name](self._theory.world())
            function = Function({}, truth([(formula, True)]))
            code = self._code[name] = Writer(self._theory).bound([function])
        return bool(s.evaluated(code)[0]())


def judged(theory: Theory, names: Iterable[str], seen: Iterable[Seen]) -> dict[str, Judged]:
    """Evaluate the named theorems beside their twins; a theorem without a twin is left out."""
    found = {name: Judged() for name in names}
    theorems = [each.name for each in theory.properties if each.name in found]
    code = Theorems(theory)
    for promises, world in seen:
        for name in theorems:
            if name not in promises:
                continue
            mine = found[name]
            if not promises[name] and mine.broken < 2 * ENOUGH:
                mine.broken += 1
                mine.weaker += code.true(name, world)
            elif promises[name] and mine.kept < ENOUGH:
                mine.kept += 1
                mine.stronger += not code.true(name, world)
        if all(each.broken == 2 * ENOUGH and each.kept == ENOUGH for each in found.values()):
            break
    return found


# ---------------------------------------------------------------------- random runs


def walked(
    machine: Any, seed: int, steps: int, weight: Callable[[Any, Move[Any]], float]
) -> tuple[Any, list[Move[Any]]]:
    """Return the first state of a random run and its moves, each drawn by its weight."""
    draw, moves = Random(seed), list[Move[Any]]()
    first = state = next(iter(machine.initial()))
    for _ in range(steps):
        possible = list(machine.moves(state))
        if not possible:
            break
        moves += draw.choices(possible, [weight(state, move) for move in possible])
        state = moves[-1].target
    return first, moves


# ---------------------------------------------------------------------- damage


def said(promises: Mapping[str, Callable[[S], bool]], state: S) -> Mapping[str, bool]:
    """Return what the promises say of the state; nothing if damage left it without a meaning."""
    try:
        return {name: holds(state) for name, holds in promises.items()}
    except (IndexError, KeyError):
        return {}


Path = Sequence[str]
"""Where a state is damaged: names of fields; "*" is any element of a tuple, "1" the second one."""


def damaged(value: Any, path: Path, draw: Random) -> Any:
    """Return the value with a small change at the end of the path."""
    if value is None:
        return value
    if not path:
        return _changed(value, draw)
    if not (path[0] == "*" or path[0].isdigit()):
        part = damaged(getattr(value, path[0]), path[1:], draw)
        return value._replace(**{path[0]: part})
    if not value:
        return value
    if isinstance(value, frozenset):
        one = draw.choice(sorted(value, key=repr))
        return value - {one} | {damaged(one, path[1:], draw)}
    i = draw.randrange(len(value)) if path[0] == "*" else int(path[0])
    return (*value[:i], damaged(value[i], path[1:], draw), *value[i + 1 :])


def _changed(value: Any, draw: Random) -> Any:
    """Return another value of the same kind, or the same one if nothing fits."""
    match value:
        case bool():
            return not value
        case int():
            return max(0, value + draw.choice((-1, 1)))
        case tuple() if value and not hasattr(value, "_fields"):
            i = draw.randrange(len(value))
            less = (*value[:i], *value[i + 1 :])
            j = draw.randrange(len(less) + 1)
            twice = (*value[:j], value[i], *value[j:])
            return draw.choice((less, (*less[:j], value[i], *less[j:]), twice))
        case frozenset() if value:
            return value - {draw.choice(sorted(value, key=repr))}
    return value


def damages(states: Iterable[S], paths: Sequence[Path], count: int, seed: int = 1) -> Iterator[S]:
    """Yield the states, each followed by so many damaged ones, which differ from it."""
    draw = Random(seed)
    for state in states:
        yield state
        for _ in range(count):
            other = state
            for _ in range(draw.choice((1, 1, 2))):
                other = damaged(other, draw.choice(paths), draw)
            if other != state:
                yield other
