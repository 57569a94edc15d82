"""Replaying walks through a model's graph on the real cores, compared after every step.

Each walk starts with a fresh group of cores. After each step everything that the specification
speaks of, every member's state and every message under way, is read as the model's state and must
be the one that the graph has; in each new state, what the model refuses must be refused too.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from raincheck.conformance.bindings.sequencer.binding import repairs_of
from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address
from raincheck.impl.sequencer.core import Sequencer
from raincheck.model.machine.explore import explore
from raincheck.model.machine.tlavalue import format as render
from raincheck.model.machine.values import Value, items
from raincheck.model.sequencer.state import State
from raincheck.model.sequencer.system import SequencerSystem

from .group import Group, Impossible, MakeCore
from .moves import Move, move_of, printed
from .probes import Probes
from .walks import EdgeIndex, Walk, covering_walks

LIMIT = 60_000
"""A graph with more states than these is not replayed whole."""


class Difference(NamedTuple):
    """A variable of the spec whose values differ, at one node where it is a function of nodes."""

    variable: str
    node: str
    expected: str
    actual: str

    def __str__(self) -> str:
        where = f"{self.variable}[{self.node}]" if self.node else self.variable
        return f"{where}: expected {self.expected}, is {self.actual}"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where the implementation is not the model: the walk, the step, and what differs."""

    case: str
    walk: int
    moves: tuple[Move, ...]
    """Up to and with the step that went wrong."""
    problem: str
    differences: tuple[Difference, ...] = ()

    @property
    def step(self) -> int:
        """The number of the step that went wrong, from 1; 0 is the beginning."""
        return len(self.moves)

    def text(self) -> str:
        """Return the mismatch for people, with the schedule that leads to it."""
        at = f"{self.moves[-1]}" if self.moves else "the initial state"
        head = f"{self.case}, walk {self.walk}, step {self.step}, {at}: {self.problem}"
        parts = [head, *(f"  {difference}" for difference in self.differences)]
        return "\n".join([*parts, "schedule:", printed(self.moves)])


@dataclass(slots=True)
class Replay:
    """What came of replaying a case's walks."""

    case: str
    states: int = 0
    edges: int = 0
    covered: int = 0
    walks: int = 0
    steps: int = 0
    seconds: float = 0.0
    actions: Counter[str] = field(default_factory=Counter)
    """Edges that were replayed, by action."""
    missing: list[str] = field(default_factory=list)
    refusals: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)


class Prepared:
    """A case's graph with its walks, found once and in the same order every time."""

    def __init__(self, name: str, system: SequencerSystem, limit: int = LIMIT) -> None:
        found = explore(system, limit=limit, invariants={})
        self.name = name
        self.system = system
        self.complete = found.complete
        self.index: EdgeIndex[State] = EdgeIndex(found.graph)
        self.walks = list(covering_walks(self.index))
        self._moves: list[Move | None] = [None] * len(self.index)

    def move(self, edge: int) -> Move:
        """Return the move along an edge."""
        move = self._moves[edge]
        if move is None:
            index = self.index
            states = index.graph.states
            (step,) = index.graph.as_steps([(index.label[edge], index.target[edge])])
            move = self._moves[edge] = move_of(self.system, states[index.source[edge]], step)
        return move

    def moves(self, walk: Walk) -> tuple[Move, ...]:
        """Return the walk as a schedule."""
        return tuple(map(self.move, walk.edges))

    def schedule(self, number: int) -> dict[str, Any]:
        """Return a walk as one record of a file of schedules; walks count from 1."""
        steps = [move.as_json() for move in self.moves(self.walks[number - 1])]
        return {"case": self.name, "walk": number, "steps": steps}


def plain_core(system: SequencerSystem) -> MakeCore:
    """Return the maker of the implementation's own cores under the case's rules."""
    repairs = repairs_of(system.rules)

    def make(who: Address) -> Sequencer:
        return Sequencer(who, repairs=repairs)

    return make


def replay(
    prepared: Prepared,
    *,
    make: MakeCore | None = None,
    walks: Iterable[int] | None = None,
    probes: Probes | None = None,
    most_mismatches: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """Replay the walks (all, or those numbered from 1) until so many mismatches are found."""
    started = time.perf_counter()
    index, probes = prepared.index, probes or Probes()
    before = probes.refused.total()
    make = make or plain_core(prepared.system)
    found = Replay(prepared.name, len(index.graph), len(index))
    covered, probed = bytearray(len(index)), bytearray(len(index.graph))
    for number in walks if walks is not None else range(1, len(prepared.walks) + 1):
        walk = prepared.walks[number - 1]
        steps, mismatch = _replay_walk(prepared, number, walk, make, covered, (probes, probed))
        found.walks += 1
        found.steps += steps
        if progress is not None:
            progress(number)
        if mismatch is not None:
            found.mismatches.append(mismatch)
            if len(found.mismatches) >= most_mismatches:
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
    number: int,
    walk: Walk,
    make: MakeCore,
    covered: bytearray,
    probing: tuple[Probes, bytearray],
) -> tuple[int, Mismatch | None]:
    index = prepared.index
    probes, probed = probing
    group = Group(prepared.system.constants, make)

    def wrong(steps: int, problem: str, *differences: Difference) -> tuple[int, Mismatch]:
        moves = prepared.moves(Walk(walk.start, walk.edges[:steps]))
        return steps, Mismatch(prepared.name, number, moves, problem, differences)

    for step in range(len(walk.edges) + 1):
        if step:
            move = prepared.move(walk.edges[step - 1])
            problem = perform(group, move)
            if problem:
                return wrong(step, problem)
        at = index.target[walk.edges[step - 1]] if step else walk.start
        expected, actual = index.graph.states[at], group.state()
        if actual != expected:
            found = differences(prepared.system, expected, actual)
            return wrong(step, "the states differ", *found)
        if step:
            covered[walk.edges[step - 1]] = 1
        if not probed[at]:
            probed[at] = 1
            mistake = probes.offer(group)
            if mistake is not None:
                return wrong(
                    step,
                    f"then {mistake.node} {mistake.problem}: {mistake.action}: "
                    + "; ".join(mistake.conjuncts),
                )
    return len(walk.edges), None


def perform(group: Group, move: Move) -> str:
    """Make the move; return "" or why the implementation cannot make it."""
    try:
        group.perform(move)
    except NotEnabled as refused:
        return f"the implementation refuses: {refused}"
    except Impossible as nothing:
        return f"the network has nothing for it: {nothing}"
    except Exception as error:  # noqa: BLE001 - whatever a damaged core raises is a finding
        return f"the implementation raises {type(error).__name__}: {error}"
    return ""


def differences(system: SequencerSystem, expected: State, actual: State) -> tuple[Difference, ...]:
    """Return what differs, in the spec's variables, node by node."""
    found: list[Difference] = []
    theirs = system.variables(actual)
    for variable, value in system.variables(expected).items():
        other = theirs[variable]
        if value == other:
            continue
        nodes = _by_node(value), _by_node(other)
        if nodes[0].keys() != nodes[1].keys() or not nodes[0]:
            found.append(Difference(variable, "", render(value), render(other)))
            continue
        found += [
            Difference(variable, str(node), render(nodes[0][node]), render(nodes[1][node]))
            for node in nodes[0]
            if nodes[0][node] != nodes[1][node]
        ]
    # What the spec leaves out, such as whom a member takes for the view's members, differs alone.
    return tuple(found) or (Difference("local", "", repr(expected.locals), repr(actual.locals)),)


def _by_node(value: Value) -> dict[Value, Value]:
    try:
        return items(value)
    except TypeError:
        return {}
