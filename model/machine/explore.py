"""Exploration of a machine: every reachable state breadth first, or a random walk.

Breadth first search finds a shortest counterexample, as TLC does.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, Generic, NamedTuple, TypeVar

from .graph import NUMBER, Graph, Label, Path
from .machine import Machine, Step

S = TypeVar("S", bound=Hashable)

_EVERY: Final = 1000  # states between two calls of the progress callback


class Progress(NamedTuple):
    """The progress of an exploration."""

    states: int
    waiting: int
    edges: int
    depth: int


@dataclass(frozen=True, slots=True)
class Violation(Generic[S]):
    """An invariant that is false in a reachable state, and a shortest path to that state."""

    invariant: str
    path: Path[S]


@dataclass(frozen=True, slots=True)
class Exploration(Generic[S]):
    """The result of an exploration. The graph is whole only if it is `complete`."""

    graph: Graph[S]
    depth: int  # the number of levels, counted as TLC does: the initial states are level 1
    complete: bool
    violation: Violation[S] | None


def explore(
    machine: Machine[S],
    *,
    limit: int | None = None,
    edges: int | None = None,
    levels: int | None = None,
    invariants: Mapping[str, Callable[[S], bool]] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Exploration[S]:
    """Explore breadth first, until the first violation or until more states than `limit` or more
    edges than `edges`.

    With `levels`, only the states of so many levels take their steps; `depth` counts them.
    `invariants` default to the machine's; pass {} to see the whole graph regardless.
    """
    checks = (machine.invariants if invariants is None else invariants).items()
    numbers: dict[S, int] = {}
    states: list[S] = []
    labels: dict[Label, int] = {}
    sources, called, targets = array(NUMBER), array(NUMBER), array(NUMBER)
    violated: tuple[str, int] | None = None

    def number_of(state: S) -> int:
        nonlocal violated
        found = numbers.get(state)
        if found is not None:
            return found
        number = numbers[state] = len(states)
        states.append(state)
        if violated is None:
            for name, holds in checks:
                if not holds(state):
                    violated = name, number
                    break
        return number

    initial = [number_of(state) for state in machine.initial()]
    level_ends, depth, done = len(states), 1 if states else 0, 0
    bounded = limit is not None and len(states) > limit
    while done < len(states) and violated is None and not bounded:
        if done == level_ends:
            if depth == levels:
                break
            depth, level_ends = depth + 1, len(states)
        for action, args, target in machine.steps(states[done]):
            label = Label(action, args)
            sources.append(done)
            called.append(labels.setdefault(label, len(labels)))
            targets.append(number_of(target))
        done += 1
        bounded = (limit is not None and len(states) > limit) or (
            edges is not None and len(targets) > edges
        )
        if progress is not None and done % _EVERY == 0:
            progress(Progress(len(states), len(states) - done, len(targets), depth))
    if len(states) > level_ends:
        depth += 1
    graph = Graph(states, dict.fromkeys(initial), list(labels), (sources, called, targets))
    return Exploration(
        graph,
        depth,
        complete=done == len(states),
        violation=None if violated is None else Violation(violated[0], graph.path_to(violated[1])),
    )


def walk(machine: Machine[S], random: Random, length: int) -> Path[S]:
    """Return a random walk of at most `length` steps; it ends early where nothing is enabled.

    An action is drawn first and then one of its steps. Drawn at once, an action with many arguments
    would crowd out the rare ones. The same random state gives the same walk.
    """
    start = state = random.choice(list(machine.initial()))
    taken: list[Step[S]] = []
    while len(taken) < length:
        by_action: dict[str, list[Step[S]]] = {}
        for each in machine.steps(state):
            by_action.setdefault(each.action, []).append(each)
        if not by_action:
            break
        step = random.choice(by_action[random.choice(list(by_action))])
        taken.append(step)
        state = step.target
    return Path(start, tuple(taken))


def walks(machine: Machine[S], seed: int, count: int, length: int) -> Iterator[Path[S]]:
    """Yield `count` random walks; the i-th depends only on the seed and i."""
    for index in range(count):
        yield walk(machine, Random(f"{seed}/{index}"), length)
