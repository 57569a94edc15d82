"""The ways that cores have gone in the walks of a replay, so that none is gone again for nothing.

A node's way through a walk is its first local state and then its turns. Walks are many and ways are
few: most nodes have no part in most steps. A core has no clock, no I/O and no randomness, so after
the same way it is in the same state. Therefore a walk makes a node's core only where the node's way
is new, or where its core is to be offered something. That core goes the node's whole way from the
beginning and is compared at each turn, the known ones too: a core that goes a known way otherwise
is seen there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from raincheck.conformance.bindings.binding import Binding, Core
from raincheck.model.machine.composed import Composed, Move

from .cores import Cores, Turn, turns


class Numbered(Protocol):
    """A graph whose states and edges have numbers."""

    binding: Binding
    system: Composed[Any, Any]

    def state(self, number: int) -> Any:
        """Return the state of that number."""

    def move(self, edge: int) -> Move[Any]:
        """Return the move along that edge."""

    def ends(self, edge: int) -> tuple[int, int]:
        """Return the numbers of the states that the edge joins."""


class Turns:
    """The turns of a graph's edges, and how its states begin; equal ones have one number."""

    def __init__(self, graph: Numbered) -> None:
        self._graph = graph
        self.known: list[Turn] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._of: dict[int, tuple[int, ...]] = {}
        self._locals: dict[int, dict[str, Any]] = {}

    def beginning(self, state: int) -> tuple[int, ...]:
        """Return the numbers of the turns with which a walk begins, one of each node."""
        return tuple(self._number(Turn(*each)) for each in self.locals(state).items())

    def of(self, edge: int) -> tuple[int, ...]:
        """Return the numbers of the turns of an edge."""
        found = self._of.get(edge)
        if found is None:
            source, target = self._graph.ends(edge)
            before, after = self.locals(source), self.locals(target)
            made = turns(self._graph.binding, self._graph.move(edge), before, after)
            found = self._of[edge] = tuple(map(self._number, made))
        return found

    def locals(self, state: int) -> dict[str, Any]:
        """Return the local states of the nodes in a state of the graph."""
        found = self._locals.get(state)
        if found is None:
            system, value = self._graph.system, self._graph.state(state)
            found = {node: system.local(value, node) for node in system.nodes}
            self._locals[state] = found
        return found

    def _number(self, turn: Turn) -> int:
        node, local, move = turn
        key: tuple[Any, ...] = (node, local)
        if move is not None:
            # Tuples of two types can be equal.
            kinds = (type(move.event), *map(type, move.outputs))
            key = (node, local, kinds, move.event, move.outputs)
        number = self._numbers.setdefault(key, len(self.known))
        if number == len(self.known):
            self.known.append(turn)
        return number


class Ways:
    """The ways of nodes that were met so far, by number, and which of them cores have gone."""

    def __init__(self) -> None:
        self._after: dict[tuple[int, int], int] = {}
        self.gone = bytearray(1)

    def after(self, way: int, turn: int) -> int:
        """Return the way that goes on with that turn; before the beginning it is 0."""
        found = self._after.get((way, turn))
        if found is None:
            found = self._after[way, turn] = len(self.gone)
            self.gone.append(0)
        return found


class WalkedCores:
    """The cores of the nodes in one walk, which are made when they are needed."""

    def __init__(self, turns: Turns, ways: Ways, cores: Cores) -> None:
        self._turns, self._ways, self._cores = turns, ways, cores
        self.system = cores.system
        self.done = 0
        """How many edges of the walk are done, or begun when a Problem is raised."""
        self._edges: list[int] = []
        self._start = 0
        self._way: dict[str, int] = dict.fromkeys(self.system.nodes, 0)
        self._offered: set[str] = set()
        self._locals: dict[str, Any] = {}

    def begin(self, state: int) -> None:
        """Begin in that state of the graph."""
        self._start, self._locals = state, self._turns.locals(state)
        self._take(self._turns.beginning(state))

    def go(self, edge: int, target: int) -> None:
        """Take the edge to that state; raise Problem if the implementation differs."""
        self._edges.append(edge)
        self.done = len(self._edges)
        self._locals = self._turns.locals(target)
        self._take(self._turns.of(edge))

    def local(self, node: str) -> Any:
        """Return the model's local state of the node."""
        return self._locals[node]

    def core(self, node: str) -> Core:
        """Return the node's core, which may be offered inputs.

        From then on it does not count as one that goes the node's way.
        """
        self._offered.add(node)
        if node not in self._cores.cores:
            self._catch_up(node)
        return self._cores.core(node)

    def _take(self, numbers: Sequence[int]) -> None:
        ways, known, cores = self._ways, self._turns.known, self._cores
        for number in numbers:
            turn = known[number]
            node = turn.node
            way = self._way[node] = ways.after(self._way[node], number)
            if node in cores.cores:
                cores.take(turn)
            elif not ways.gone[way]:
                self._catch_up(node)
            if node not in self._offered:
                ways.gone[way] = 1

    def _catch_up(self, node: str) -> None:
        """Make the node's core and let it go the node's way up to here."""
        for done, turn in self._turns_of(node):
            self.done = done
            if done == 0:
                self._cores.begin_at(node, turn.local)
            else:
                self._cores.take(turn)
        self.done = len(self._edges)

    def _turns_of(self, node: str) -> Iterator[tuple[int, Turn]]:
        known = self._turns.known
        every = (self._turns.beginning(self._start), *map(self._turns.of, self._edges))
        for place, numbers in enumerate(every):
            for number in numbers:
                if known[number].node == node:
                    yield place, known[number]
