"""Exploration, graphs, walks and liveness on a two-node token ring."""

from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.model.machine.explore import Progress, explore, walk, walks
from raincheck.model.machine.graph import Graph, Label
from raincheck.model.machine.liveness import components, leads_to
from raincheck.model.machine.machine import Step, Value

State = tuple[str, int, int]


@dataclass(frozen=True)
class Token:
    """The holder ("a" or "b") may count up to the limit, or pass the token."""

    limit: int = 2
    invariants: MappingProxyType = field(default_factory=lambda: MappingProxyType({}))
    name = "token"

    def initial(self):
        return [("a", 0, 0)]

    def steps(self, state):
        holder, a, b = state
        if holder == "a" and a < self.limit:
            yield Step("Count", ("a",), ("a", a + 1, b))
        if holder == "b" and b < self.limit:
            yield Step("Count", ("b",), ("b", a, b + 1))
        yield Step("Pass", (holder,), ("b" if holder == "a" else "a", a, b))

    def variables(self, state) -> dict[str, Value]:
        return {"holder": state[0], "a": state[1], "b": state[2]}


def made(states: int, edges: list[tuple[int, str, int]], initial=(0,)) -> Graph[int]:
    from array import array

    labels = sorted({Label(action) for _, action, _ in edges})
    return Graph(
        range(states),
        initial,
        labels,
        (
            array("i", [source for source, _, _ in edges]),
            array("i", [labels.index(Label(action)) for _, action, _ in edges]),
            array("i", [target for _, _, target in edges]),
        ),
    )


GRAPHS = st.integers(1, 7).flatmap(
    lambda n: st.builds(
        made,
        st.just(n),
        st.lists(
            st.tuples(st.integers(0, n - 1), st.sampled_from("AB"), st.integers(0, n - 1)),
            max_size=14,
        ),
    )
)

SOME_STATES = st.sets(st.integers(0, 6))


@given(st.integers(1, 9))
def test_states_beyond_the_wanted_levels_take_no_steps(levels):
    whole, some = explore(Token()), explore(Token(), levels=levels)
    depths = whole.graph.depths()

    assert some.depth == min(levels + 1, whole.depth)
    assert some.complete == (levels >= whole.depth)
    assert list(some.graph.states) == [
        state for state, depth in zip(whole.graph.states, depths, strict=True) if depth <= levels
    ]
    with_steps = {source for source, _, _ in some.graph.edges()}
    assert with_steps == {n for n, depth in enumerate(depths) if depth < levels}


def test_exploration_finds_every_state_and_edge():
    found = explore(Token())

    assert found.complete
    assert found.violation is None
    assert (len(found.graph), found.graph.edge_count, found.depth) == (18, 30, 7)
    assert found.graph.action_counts() == {"Count": 12, "Pass": 18}
    assert found.graph.initial == (0,)


def test_a_counterexample_is_a_shortest_one_and_stops_the_exploration():
    token = Token(invariants=MappingProxyType({"Few": lambda state: state[2] < 2}))

    found = explore(token)

    assert found.violation.invariant == "Few"
    assert found.violation.path.actions == ("Pass", "Count", "Count")
    assert found.violation.path.end == ("b", 0, 2)
    assert not found.complete
    assert explore(token, invariants={}).complete


def test_an_initial_state_can_violate():
    found = explore(Token(), invariants={"Never": lambda _: False})

    assert found.violation.path.actions == ()
    assert found.violation.path.end == ("a", 0, 0)


def test_a_limit_leaves_the_exploration_incomplete():
    found = explore(Token(limit=10_000), limit=100)

    assert not found.complete
    assert 100 < len(found.graph) < 110


def test_a_limit_of_edges_leaves_the_exploration_incomplete_and_its_beginning_as_it_is():
    whole, part = explore(Token(limit=40)), explore(Token(limit=40), edges=100)
    assert not part.complete
    assert 100 < part.graph.edge_count <= 102
    assert part.graph.states == whole.graph.states[: len(part.graph)]
    assert explore(Token(limit=40), edges=whole.graph.edge_count).complete


def test_progress_is_reported():
    seen: list[Progress] = []

    explore(Token(limit=40), progress=seen.append)

    assert [each.states - each.waiting for each in seen] == [1000, 2000, 3000]
    assert explore(Token(limit=40)).depth == 83


def test_networkx_gets_the_same_graph():
    graph = explore(Token()).graph

    nxg = graph.to_networkx()

    assert (nxg.number_of_nodes(), nxg.number_of_edges()) == (18, 30)
    assert nxg.nodes[0] == {"state": ("a", 0, 0), "initial": True}
    assert {data["action"] for _, _, data in nxg.edges(data=True)} == {"Count", "Pass"}


@given(GRAPHS)
def test_edges_given_in_any_order_are_kept(graph):
    edges = sorted((s, label.action, t) for s, label, t in graph.edges())
    again = made(len(graph), edges)

    assert sorted((s, label.action, t) for s, label, t in again.edges()) == edges
    assert graph.edge_count == len(edges)


@given(GRAPHS)
def test_distances_paths_and_components_agree_with_networkx(graph):
    nxg = graph.to_networkx()
    distances = nx.single_source_shortest_path_length(nxg, 0)

    assert {s: d for s, d in enumerate(graph.depths()) if d >= 0} == distances
    for state, distance in distances.items():
        assert len(graph.path_to(state).steps) == distance
        assert graph.path_to(state).end == state
    assert {frozenset(each) for each in components(graph, lambda _: True)} == {
        frozenset(each) for each in nx.strongly_connected_components(nxg)
    }


def test_a_state_that_cannot_be_reached_has_no_path():
    with pytest.raises(KeyError, match="cannot be reached"):
        made(2, []).path_to(1)


def test_walks_are_behaviours_and_repeat_with_their_seed():
    token = Token()

    first, second = (list(walks(token, seed=7, count=5, length=20)) for _ in range(2))

    assert first == second
    assert len(set(first)) > 1
    assert first != list(walks(token, seed=8, count=5, length=20))
    for path in first:
        state = path.start
        for step in path.steps:
            assert step in list(token.steps(state))
            state = step.target


def test_a_walk_ends_where_nothing_is_enabled():
    @dataclass(frozen=True)
    class Still(Token):
        def steps(self, _):
            return ()

    assert walk(Still(), Random(1), 5).steps == ()


def fair(*labels: tuple[str, str]):
    return {f"{a}({n})": (lambda label, a=a, n=n: label == (a, (n,))) for a, n in labels}


def test_progress_needs_its_fairness():
    graph = explore(Token()).graph

    def both_full(state: State) -> bool:
        return state[1:] == (2, 2)

    everything = fair(("Count", "a"), ("Count", "b"), ("Pass", "a"), ("Pass", "b"))
    stuck = leads_to(graph, lambda _: True, both_full, {})
    passing = leads_to(graph, lambda _: True, both_full, everything)

    assert (stuck.path.actions, stuck.loop) == ((), ())
    # Count(a) is never continuously enabled while the token moves: weak fairness is not enough.
    assert {step.action for step in passing.loop} == {"Pass"}
    assert passing.loop[-1].target == passing.path.end
    assert leads_to(graph, both_full, lambda state: state[0] == "b", everything) is None
    assert leads_to(graph, both_full, lambda state: state[0] == "b", {}) is not None


def test_a_step_that_changes_nothing_is_no_fair_step():
    graph = made(2, [(0, "A", 0), (0, "A", 1), (1, "B", 1)])
    is_a = {"A": lambda label: label.action == "A"}

    assert leads_to(graph, lambda s: s == 0, lambda s: s == 1, is_a) is None
    assert leads_to(made(1, [(0, "A", 0)]), lambda _: True, lambda _: False, is_a) is not None


@given(
    GRAPHS, st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6)), st.sets(st.sampled_from("AB"))
)
def test_every_lasso_is_a_fair_violation(graph, premise, goal, actions):
    weakly_fair = {a: (lambda label, a=a: label.action == a) for a in sorted(actions)}

    lasso = leads_to(graph, premise.__contains__, goal.__contains__, weakly_fair)

    if lasso is None:
        assert not violated_by_networkx(graph, premise, goal, actions)
        return
    trail = [lasso.path.start, *(step.target for step in lasso.path.steps)]
    loop = [trail[-1], *(step.target for step in lasso.loop)]
    assert loop[0] == loop[-1]
    edges = {(s, label.action, t) for s, label, t in graph.edges()}
    walked = [*zip(trail, lasso.path.actions, trail[1:], strict=False)]
    looped = [*zip(loop, [step.action for step in lasso.loop], loop[1:], strict=False)]
    assert edges.issuperset([*walked, *looped])
    last_goal = max([i for i, state in enumerate(trail) if state in goal], default=-1)
    assert premise.intersection(trail[last_goal + 1 :])
    assert not goal.intersection(loop)
    for action in actions:
        taken = any(a == action and s != t for s, a, t in looped)
        disabled = any(
            not any(s == state and a == action and s != t for s, a, t in edges) for state in loop
        )
        assert taken or disabled


def violated_by_networkx(graph, premise, goal, actions) -> bool:
    nxg = graph.to_networkx()
    reachable = nx.descendants(nxg, 0) | {0}
    rest = nxg.subgraph(set(nxg) - goal)
    edges = [(s, label.action, t) for s, label, t in graph.edges() if s != t]

    def is_fair(members) -> bool:
        return all(
            any(a == action and s in members and t in members for s, a, t in edges)
            or any(all((s, a) != (m, action) for s, a, _ in edges) for m in members)
            for action in actions
        )

    fair_states = {
        state
        for members in nx.strongly_connected_components(rest)
        if is_fair(members)
        for state in members
    }
    return any(
        state in rest and fair_states & (nx.descendants(rest, state) | {state})
        for state in premise & reachable
    )
