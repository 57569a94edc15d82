"""Replay of a model's graph on real cores: walks that take every edge, compared step by step."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding, MakeCore
from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Step

from .cores import Cores, Mismatch, Problem, probe
from .probes import Probes
from .steps import step_of
from .walks import EdgeIndex, Walk, covering_walks
from .ways import Turns, WalkedCores, Ways

LIMIT = 60_000
"""The most states of a graph that is replayed whole."""

PART_STEPS: Final = 50_000
"""The most steps that are replayed of a graph that is not whole."""


@dataclass(slots=True)
class Replay:
    """The result of replaying a case's walks."""

    case: str
    states: int = 0
    edges: int = 0
    covered: int = 0
    walks: int = 0
    steps: int = 0
    refusals: int = 0
    seconds: float = 0.0
    actions: Counter[str] = field(default_factory=Counter)
    """The number of edges that were replayed, by action."""
    missing: list[str] = field(default_factory=list)
    mismatch: Mismatch | None = None
    walk: int = 0
    """The walk of the mismatch."""


class Moves:
    """A system that is asked for the moves of each state once, however often they are used."""

    def __init__(self, system: Composed[Any, Any]) -> None:
        self.name, self.invariants = system.name, system.invariants
        self.initial, self.variables = system.initial, system.variables
        self._system = system
        self._known: dict[Any, list[Move[Any]]] = {}

    def of(self, state: Any) -> list[Move[Any]]:
        """Return the moves of a state, in order."""
        known = self._known.get(state)
        if known is None:
            known = self._known[state] = list(self._system.moves(state))
        return known

    def steps(self, state: Any) -> Iterator[Step[Any]]:
        """Yield the moves in the form that the explorer reads."""
        for move in self.of(state):
            yield Step(move.action, move.args, move.target)


class Prepared:
    """A case's graph with its walks and moves, computed once and always in the same order."""

    def __init__(
        self,
        name: str,
        binding: Binding,
        system: Composed[Any, Any],
        limit: int = LIMIT,
        *,
        edges: int | None = None,
        moves: Moves | None = None,
    ) -> None:
        """Explore up to so many states and edges; `moves` are the system's, if some are known."""
        made = moves or Moves(system)
        found = explore(made, limit=limit, edges=edges, invariants={})
        self.name, self.binding, self.system = name, binding, system
        self.complete = found.complete
        self.index: EdgeIndex[Any] = EdgeIndex(found.graph)
        # By number, since a state's hash costs more than the look-up.
        self._moves: dict[int, list[Move[Any]]] = {}
        self._made = made
        self.turns = Turns(self)

    @cached_property
    def walks(self) -> list[Walk]:
        """Walks that take every edge."""
        return list(covering_walks(self.index))

    def move(self, edge: int) -> Move[Any]:
        """Return the move along an edge; the graph keeps the moves of a state in order."""
        source = self.index.source[edge]
        if source not in self._moves:
            self._moves[source] = self._made.of(self.index.graph.states[source])
        return self._moves[source][edge - self.index.first[source]]

    def state(self, number: int) -> Any:
        """Return the state of that number."""
        return self.index.graph.states[number]

    def ends(self, edge: int) -> tuple[int, int]:
        """Return the numbers of the states that the edge joins."""
        return self.index.source[edge], self.index.target[edge]

    def moves(self, walk: Walk) -> tuple[Move[Any], ...]:
        """Return the walk as moves."""
        return tuple(map(self.move, walk.edges))

    def _step(self, edge: int) -> dict[str, Any]:
        source, move = self.index.source[edge], self.move(edge)
        return step_of(self.system, self.index.graph.states[source], move, self._moves[source])

    def schedule(self, number: int, length: int | None = None) -> dict[str, Any]:
        """Return a walk, or its first steps, as one record of a file of schedules.

        Walks are numbered from 1.
        """
        steps = [self._step(edge) for edge in self.walks[number - 1].edges[:length]]
        protocol = self.binding.protocol
        return {"protocol": protocol, "case": self.name, "walk": number, "steps": steps}

    def probes(self) -> Probes:
        """Return the inputs that the instance's nodes handle anywhere in the graph."""
        every = (self.move(edge) for edge in range(len(self.index)))
        return Probes(self.binding, self.system.rules, every)


def replay(
    prepared: Prepared,
    *,
    make: MakeCore | None = None,
    walks: Iterable[int] | None = None,
    probes: Probes | None = None,
    most_steps: int | None = None,
) -> Replay:
    """Replay the walks (all, or those numbered from 1) until the first mismatch.

    In each new local state the core is offered what the model refuses. After `most_steps` steps no
    further walk is begun.
    """
    started = time.perf_counter()
    index = prepared.index
    probes = probes or prepared.probes()
    before = probes.refused.total()
    found = Replay(prepared.name, len(index.graph), len(index))
    covered = bytearray(len(index))
    probed: set[tuple[int, str | None]] = set()
    ways = Ways()
    for number in walks if walks is not None else range(1, len(prepared.walks) + 1):
        walk = prepared.walks[number - 1]
        done, problem = _replay_walk(prepared, walk, make, covered, probes, probed, ways)
        found.walks += 1
        found.steps += done
        if most_steps is not None and found.steps >= most_steps and problem is None:
            break
        if problem is not None:
            moves = prepared.moves(Walk(walk.start, walk.edges[:done]))
            where = f"{prepared.name}, walk {number}"
            record = prepared.schedule(number, done)
            found.mismatch = Mismatch(where, moves, problem.problem, problem.differences, record)
            found.walk = number
            break
    for edge, taken in enumerate(covered):
        if taken:
            found.covered += 1
            found.actions[index.action(edge)] += 1
        else:
            found.missing.append(index.describe(edge))
    found.refusals = probes.refused.total() - before
    found.seconds = round(time.perf_counter() - started, 2)
    return found


def _replay_walk(
    prepared: Prepared,
    walk: Walk,
    make: MakeCore | None,
    covered: bytearray,
    probes: Probes,
    probed: set[tuple[int, str | None]],
    ways: Ways,
) -> tuple[int, Problem | None]:
    """Replay one walk; `probed` are the states and nodes that earlier walks have probed, and `ways`
    what their cores went through.
    """
    cores = WalkedCores(prepared.turns, ways, Cores(prepared.binding, prepared.system, make))
    nodes = prepared.system.nodes
    try:
        cores.begin(walk.start)
        probe(cores, probes, prepared.state(walk.start), nodes)
        for edge in walk.edges:
            target, node = prepared.index.target[edge], prepared.move(edge).node
            cores.go(edge, target)
            covered[edge] = 1
            at = target, node
            if at not in probed:  # nothing is offered twice in a state, and most are met often
                concerned = nodes if node is None else (node,)
                probe(cores, probes, prepared.state(target), concerned)
                probed.add(at)
    except Problem as problem:
        return cores.done, problem
    return cores.done, None
