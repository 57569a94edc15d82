"""`P ~> Q` under weak fairness, decided on a complete state graph.

A counterexample is a lasso. From a reachable state with P and without Q on, Q never holds, and
every weakly fair action is either taken in the loop or not enabled in some state of it. For weak
fairness alone, a strongly connected component without Q is as fair as its fairest loop, so it is
enough to look at whole components.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from .graph import Graph, Label, Path
from .machine import Step

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Lasso(Generic[S]):
    """A path, and a loop that starts and ends at its end; an empty loop stutters for ever."""

    path: Path[S]
    loop: tuple[Step[S], ...]


def components(graph: Graph[S], within: Callable[[int], bool]) -> Iterator[list[int]]:
    """Yield the strongly connected components of the states that are `within` (Tarjan)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    placed: set[int] = set()
    for root in range(len(graph)):
        if root in index or not within(root):
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        work = [(root, iter(graph.targets(root)))]
        while work:
            state, targets = work[-1]
            for target in targets:
                if target in placed or not within(target):
                    continue
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    work.append((target, iter(graph.targets(target))))
                    break
                low[state] = min(low[state], index[target])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[state])
                if low[state] == index[state]:
                    found = [stack.pop()]
                    while found[-1] != state:
                        found.append(stack.pop())
                    placed.update(found)
                    yield found


def leads_to(
    graph: Graph[S],
    premise: Callable[[S], bool],
    goal: Callable[[S], bool],
    weakly_fair: Mapping[str, Callable[[Label], bool]],
) -> Lasso[S] | None:
    """Return a fair lasso that violates premise ~> goal, or None if there is none.

    Each weakly fair action is a predicate on labels: `{"Send(a)": lambda label: label ==
    Label("Send", ("a",))}` is WF_vars(Send("a")). The graph must be complete.
    """
    lacks = bytearray(not goal(state) for state in graph.states)
    inside = lacks.__getitem__
    classes = _classes(graph, weakly_fair)
    home: dict[int, tuple[list[int], list[tuple[int, int, int] | int]]] = {}
    for members in components(graph, lambda state: bool(inside(state))):
        witnesses = _fair(graph, members, classes)
        if witnesses is not None:
            for state in members:
                home[state] = members, witnesses
    if not home:
        return None
    starts = _reaching(graph, home, lacks)
    first = graph.path(lambda state: starts[state] == 1 and premise(graph.states[state]))
    if first is None:
        return None
    start, prefix = first
    turn = prefix[-1][1] if prefix else start
    middle = graph.path(home.__contains__, [turn], lambda state: bool(inside(state)))
    assert middle is not None, "a state marked as reaching a fair component reaches one"
    entry = middle[1][-1][1] if middle[1] else turn
    path = Path(graph.states[start], graph.as_steps([*prefix, *middle[1]]))
    return Lasso(path, graph.as_steps(_loop(graph, entry, *home[entry])))


def _classes(
    graph: Graph[S], weakly_fair: Mapping[str, Callable[[Label], bool]]
) -> list[frozenset[int]]:
    return [
        frozenset(number for number, label in enumerate(graph.labels) if counts(label))
        for counts in weakly_fair.values()
    ]


def _fair(
    graph: Graph[S], members: list[int], classes: list[frozenset[int]]
) -> list[tuple[int, int, int] | int] | None:
    """Return, per fair action, a state that disables it or an edge that takes it.

    Return None if the component is unfair.
    """
    inside = set(members)
    witnesses: list[tuple[int, int, int] | int] = []
    for labels in classes:
        for state in members:
            # A step that changes nothing does not count: WF_vars(A) is about <<A>>_vars.
            enabled = [
                (state, label, target)
                for label, target in graph.out(state)
                if label in labels and target != state
            ]
            taken = [edge for edge in enabled if edge[2] in inside]
            if not enabled or taken:
                witnesses.append(taken[0] if taken else state)
                break
        else:
            return None
    return witnesses


def _reaching(graph: Graph[S], goals: Iterable[int], inside: bytearray) -> bytearray:
    """Mark the states from which a goal is reached through states that are inside."""
    before: list[list[int]] = [[] for _ in range(len(graph))]
    for state in range(len(graph)):
        if inside[state]:
            for target in graph.targets(state):
                if inside[target]:
                    before[target].append(state)
    marked = bytearray(len(graph))
    todo = list(goals)
    for state in todo:
        marked[state] = 1
    while todo:
        for state in before[todo.pop()]:
            if not marked[state]:
                marked[state] = 1
                todo.append(state)
    return marked


def _loop(
    graph: Graph[S],
    entry: int,
    members: list[int],
    witnesses: list[tuple[int, int, int] | int],
) -> list[tuple[int, int]]:
    """Return a loop through the component that passes every witness and ends where it began."""
    inside = set(members).__contains__
    steps: list[tuple[int, int]] = []
    at = entry

    def go(goal: int) -> None:
        nonlocal at
        found = graph.path(lambda state: state == goal, [at], inside)
        assert found is not None, "a component is strongly connected"
        steps.extend(found[1])
        at = goal

    for witness in witnesses:
        match witness:
            case int():
                go(witness)
            case (source, label, target):
                go(source)
                steps.append((label, target))
                at = target
    go(entry)
    return steps
