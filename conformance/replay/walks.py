"""Walks from the initial states that together take every edge of a state graph.

A walk takes edges not yet taken, or a shortest path to the next such edge while that is nearer than
a new start; a new walk begins on a shortest path. A state from which no new edge can be reached is
never visited again, so the cost stays close to that of reading the graph.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from raincheck.model.machine.graph import Graph, Path

S = TypeVar("S", bound=Hashable)

NOWHERE: Final = -1


@dataclass(frozen=True, slots=True)
class Walk:
    """A path through the graph: the number of its first state, and its edges in order.

    An edge is given by its place in the order of `Graph.edges()`.
    """

    start: int
    edges: tuple[int, ...]


class EdgeIndex(Generic[S]):
    """The edges of a graph by number, 0 .. edge_count - 1, as `Graph.edges()` orders them."""

    def __init__(self, graph: Graph[S]) -> None:
        """Number the graph's edges."""
        self.graph = graph
        self.first = array("i", [0]) * (len(graph) + 1)
        self.source, self.label, self.target = array("i"), array("i"), array("i")
        for state in range(len(graph)):
            for label, target in graph.out(state):
                self.source.append(state)
                self.label.append(label)
                self.target.append(target)
            self.first[state + 1] = len(self.target)

    def __len__(self) -> int:
        return len(self.target)

    def out(self, state: int) -> range:
        """Return the numbers of the edges that leave the state."""
        return range(self.first[state], self.first[state + 1])

    def action(self, edge: int) -> str:
        """Return the name of the edge's action."""
        return self.graph.labels[self.label[edge]].action

    def describe(self, edge: int) -> str:
        """Return the edge in words, such as `12 -Send(b)-> 31`."""
        action, args = self.graph.labels[self.label[edge]]
        inside = f"({', '.join(map(str, args))})" if args else ""
        return f"{self.source[edge]} -{action}{inside}-> {self.target[edge]}"

    def as_path(self, walk: Walk) -> Path[S]:
        """Return the walk with its labels and states as values."""
        steps = self.graph.as_steps((self.label[e], self.target[e]) for e in walk.edges)
        return Path(self.graph.states[walk.start], steps)


def covering_walks(index: EdgeIndex[S]) -> Iterator[Walk]:
    """Yield walks that together take every edge that can be reached from an initial state."""
    search = _Search(index)
    # Breadth-first order: the shallowest new edge has the shortest way to it.
    for state in search.order:
        while search.has_new(state):
            yield search.walk_by(state)


def uncovered(index: EdgeIndex[S], walks: Sequence[Walk]) -> list[int]:
    """Return the edges that no walk takes, in order."""
    taken = bytearray(len(index))
    for walk in walks:
        for edge in walk.edges:
            taken[edge] = 1
    return [edge for edge, seen in enumerate(taken) if not seen]


class _Search(Generic[S]):
    """The edges taken so far, and the states from which new ones can still be reached."""

    def __init__(self, index: EdgeIndex[S]) -> None:
        self.index = index
        self.taken = bytearray(len(index))
        self.new = array("i", (len(index.out(s)) for s in range(len(index.graph))))
        self.spent = bytearray(len(index.graph))
        self.depth = array("i", [NOWHERE]) * len(index.graph)
        self.entered = array("i", [NOWHERE]) * len(index.graph)
        self.order = self._breadth_first()

    def _breadth_first(self) -> list[int]:
        order = list(dict.fromkeys(self.index.graph.initial))
        for state in order:
            self.depth[state] = 0
        for state in order:
            for edge in self.index.out(state):
                target = self.index.target[edge]
                if self.depth[target] == NOWHERE:
                    self.depth[target] = self.depth[state] + 1
                    self.entered[target] = edge
                    order.append(target)
        return order

    def has_new(self, state: int) -> bool:
        """Tell whether an edge that leaves the state has not been taken yet."""
        return self.new[state] > 0

    def walk_by(self, state: int) -> Walk:
        """Return a walk that takes a shortest path to the state, and goes on until no new edge is
        near.
        """
        edges = self._path_to(state)
        start = self.index.source[edges[0]] if edges else state
        for edge in edges:
            self._take(edge)
        at = state
        while True:
            if self.has_new(at):
                way = [self._best_new(at)]
            else:
                way = self._way_to_new(at, self.depth[state])
                if not way:
                    return Walk(start, tuple(edges))
            for edge in way:
                self._take(edge)
            edges += way
            at = self.index.target[way[-1]]

    def _take(self, edge: int) -> None:
        if not self.taken[edge]:
            self.taken[edge] = 1
            self.new[self.index.source[edge]] -= 1

    def _path_to(self, state: int) -> list[int]:
        edges = []
        while (edge := self.entered[state]) != NOWHERE:
            edges.append(edge)
            state = self.index.source[edge]
        return edges[::-1]

    def _best_new(self, state: int) -> int:
        """Return the new edge that most new edges follow, so that a walk does not end early."""
        target, new = self.index.target, self.new
        fresh = (edge for edge in self.index.out(state) if not self.taken[edge])
        return max(fresh, key=lambda edge: (new[target[edge]], -edge))

    def _way_to_new(self, state: int, longest: int) -> list[int]:
        """Return a shortest path of at most this many edges to a state with a new edge, or nothing.

        A search that runs out of states before it runs out of length has found a region without new
        edges.
        """
        target, spent = self.index.target, self.spent
        if spent[state]:
            return []
        came: dict[int, int] = {state: NOWHERE}
        queue = deque([(state, 0)])
        cut_short = False
        while queue:
            at, length = queue.popleft()
            if self.new[at]:
                return self._unwound(came, at)
            if length >= longest:
                cut_short = True
                continue
            for edge in self.index.out(at):
                after = target[edge]
                if after not in came and not spent[after]:
                    came[after] = edge
                    queue.append((after, length + 1))
        if not cut_short:
            for each in came:
                spent[each] = 1
        return []

    def _unwound(self, came: dict[int, int], state: int) -> list[int]:
        edges = []
        while (edge := came[state]) != NOWHERE:
            edges.append(edge)
            state = self.index.source[edge]
        return edges[::-1]
