"""Walks cover every edge of a graph, whatever its shape, and cost little more than its edges."""

from __future__ import annotations

import random
from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.conformance.replay.walks import EdgeIndex, Walk, covering_walks, uncovered
from raincheck.model.machine.graph import NUMBER, Graph, Label


def graph_of(
    states: int, edges: list[tuple[int, int]], initial: tuple[int, ...] = (0,)
) -> Graph[int]:
    """A graph whose edges are all called Go."""
    edges = sorted(edges)
    arrays = (
        array(NUMBER, [source for source, _ in edges]),
        array(NUMBER, [0] * len(edges)),
        array(NUMBER, [target for _, target in edges]),
    )
    return Graph(list(range(states)), initial, [Label("Go")], arrays)


def reachable(graph: Graph[int]) -> set[int]:
    """The edges that can be reached, found in the plainest way."""
    index, seen, todo = EdgeIndex(graph), set(graph.initial), list(graph.initial)
    edges = set()
    while todo:
        for edge in index.out(todo.pop()):
            edges.add(edge)
            if index.target[edge] not in seen:
                seen.add(index.target[edge])
                todo.append(index.target[edge])
    return edges


def is_walk(index: EdgeIndex[int], walk: Walk) -> bool:
    """Each edge starts where the one before ended, and the first in an initial state."""
    at = walk.start
    for edge in walk.edges:
        if index.source[edge] != at:
            return False
        at = index.target[edge]
    return walk.start in index.graph.initial


@given(st.data())
def test_every_reachable_edge_of_any_graph_is_taken(data: st.DataObject) -> None:
    states = data.draw(st.integers(1, 12))
    node = st.integers(0, states - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=40))
    initial = data.draw(st.sets(node, min_size=1, max_size=3))
    index = EdgeIndex(graph_of(states, edges, tuple(sorted(initial))))
    walks = list(covering_walks(index))
    assert all(is_walk(index, walk) for walk in walks)
    assert set(range(len(index))) - set(uncovered(index, walks)) == reachable(index.graph)
    fresh: set[int] = set()
    for walk in walks:
        assert not fresh.issuperset(walk.edges), "a walk takes no edge that is new"
        fresh.update(walk.edges)


def test_a_missing_edge_is_seen_as_missing() -> None:
    index = EdgeIndex(graph_of(4, [(0, 1), (1, 2), (2, 3)]))
    (walk,) = covering_walks(index)
    assert uncovered(index, [walk]) == []
    assert uncovered(index, [Walk(0, walk.edges[:-1])]) == [walk.edges[-1]]
    assert uncovered(index, []) == [0, 1, 2]


def test_one_walk_is_enough_for_a_ring_with_a_loop_at_each_state() -> None:
    ring = [(i, (i + 1) % 50) for i in range(50)] + [(i, i) for i in range(50)]
    (walk,) = covering_walks(EdgeIndex(graph_of(50, ring)))
    assert len(walk.edges) == 100


@pytest.mark.parametrize("states", [2_000, 20_000])
def test_the_cost_stays_near_the_number_of_edges(states: int) -> None:
    """Counted in steps, not seconds: a layered graph of the shape that protocols have."""
    draw = random.Random(7)
    layers = 40
    wide = states // layers
    edges = [
        (layer * wide + i, (layer + 1) * wide + draw.randrange(wide))
        for layer in range(layers - 1)
        for i in range(wide)
        for _ in range(3)
    ]
    edges += [(0, i) for i in range(1, wide)]
    index = EdgeIndex(graph_of(states, edges))
    walks = list(covering_walks(index))
    assert set(range(len(index))) - set(uncovered(index, walks)) == reachable(index.graph)
    steps = sum(len(walk.edges) for walk in walks)
    assert steps < 4 * len(index)
    # No walk is longer than the graph is deep, plus the one step into the first layer's others.
    assert max(len(walk.edges) for walk in walks) <= layers


def test_edges_are_described_by_action_and_states() -> None:
    graph = Graph(["x", "y"], (0,), [Label("Send", ("b",))], _one_edge())
    index = EdgeIndex(graph)
    assert index.describe(0) == "0 -Send(b)-> 1"
    assert index.action(0) == "Send"
    path = index.as_path(Walk(0, (0,)))
    assert path.start == "x"
    assert path.actions == ("Send",)
    assert path.end == "y"
    assert not list(pairwise(path.steps))


def _one_edge() -> tuple[array[int], array[int], array[int]]:
    return array(NUMBER, [0]), array(NUMBER, [0]), array(NUMBER, [1])
