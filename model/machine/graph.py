"""A compact state graph: a million labelled edges are three arrays, not objects.

States are numbers 0..n-1 in the order of discovery; `states[i]` is the value of state i.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from .machine import Step
from .values import Value

if TYPE_CHECKING:
    from networkx import MultiDiGraph

S = TypeVar("S", bound=Hashable)
T = TypeVar("T", bound=Hashable)

NUMBER: Final = "i"


class Label(NamedTuple):
    """The label of an edge: the action, and its arguments where they are known."""

    action: str
    args: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Path(Generic[S]):
    """The beginning of a behaviour: the initial state, and the steps from there."""

    start: S
    steps: tuple[Step[S], ...] = ()

    @property
    def end(self) -> S:
        """Return the last state."""
        return self.steps[-1].target if self.steps else self.start

    @property
    def actions(self) -> tuple[str, ...]:
        """Return the names of the actions on the path."""
        return tuple(step.action for step in self.steps)


class Graph(Generic[S]):
    """An immutable directed multigraph of states with labelled edges and initial states."""

    __slots__ = ("_labels", "_offsets", "_targets", "initial", "labels", "states")

    def __init__(
        self,
        states: Sequence[S],
        initial: Iterable[int],
        labels: Sequence[Label],
        edges: tuple[array[int], array[int], array[int]],
    ) -> None:
        """Make a graph of edges given as arrays of sources, label numbers and targets."""
        self.states = states
        self.initial = tuple(initial)
        self.labels = labels
        self._offsets, self._labels, self._targets = _by_source(len(states), *edges)

    def __len__(self) -> int:
        return len(self.states)

    def with_states(self, states: Sequence[T]) -> Graph[T]:
        """Return the same graph with other values for its states, number by number."""
        if len(states) != len(self.states):
            raise ValueError(f"{len(self.states)} states cannot become {len(states)}")
        made: Graph[T] = Graph.__new__(Graph)
        made.states, made.initial, made.labels = states, self.initial, self.labels
        made._offsets, made._labels, made._targets = self._offsets, self._labels, self._targets
        return made

    @property
    def edge_count(self) -> int:
        """Return the number of edges, stuttering ones included."""
        return len(self._targets)

    def out(self, state: int) -> Iterator[tuple[int, int]]:
        """Yield (label number, target) of each edge that leaves the state, in order."""
        low, high = self._offsets[state], self._offsets[state + 1]
        return zip(self._labels[low:high], self._targets[low:high], strict=True)

    def targets(self, state: int) -> array[int]:
        """Return the targets of the edges that leave the state."""
        return self._targets[self._offsets[state] : self._offsets[state + 1]]

    def edges(self) -> Iterator[tuple[int, Label, int]]:
        """Yield each edge as (source, label, target)."""
        for source in range(len(self)):
            for label, target in self.out(source):
                yield source, self.labels[label], target

    def action_counts(self) -> dict[str, int]:
        """Return how many edges each action has, by the action's name."""
        found: Counter[str] = Counter()
        for label, count in Counter(self._labels).items():
            found[self.labels[label].action] += count
        return dict(sorted(found.items()))

    def path(
        self,
        goal: Callable[[int], bool],
        sources: Iterable[int] | None = None,
        within: Callable[[int], bool] | None = None,
    ) -> tuple[int, list[tuple[int, int]]] | None:
        """Return a shortest path to a goal: its first state, then (label number, state) per step.

        The path starts at one of the sources (by default the initial states) and enters only states
        that are `within`. Return None if there is no such path.
        """
        came: dict[int, tuple[int, int] | None] = {}
        queue: deque[int] = deque()
        for source in self.initial if sources is None else sources:
            if source not in came and (within is None or within(source)):
                came[source] = None
                queue.append(source)
        while queue:
            state = queue.popleft()
            if goal(state):
                return _unwind(came, state)
            for label, target in self.out(state):
                if target not in came and (within is None or within(target)):
                    came[target] = (state, label)
                    queue.append(target)
        return None

    def path_to(self, state: int) -> Path[S]:
        """Return a shortest path from an initial state; raise KeyError if there is none."""
        found = self.path(lambda each: each == state)
        if found is None:
            raise KeyError(f"state {state} cannot be reached from an initial state")
        start, steps = found
        return Path(self.states[start], self.as_steps(steps))

    def as_steps(self, steps: Iterable[tuple[int, int]]) -> tuple[Step[S], ...]:
        """Return the steps of a path that is given as (label number, state) pairs."""
        return tuple(Step(*self.labels[label], self.states[state]) for label, state in steps)

    def depths(self) -> array[int]:
        """Return each state's distance from the initial states, -1 if there is no path."""
        found = array(NUMBER, [-1]) * len(self)
        level = list(dict.fromkeys(self.initial))
        for state in level:
            found[state] = 0
        depth = 0
        while level:
            depth += 1
            after = []
            for state in level:
                for target in self.targets(state):
                    if found[target] < 0:
                        found[target] = depth
                        after.append(target)
            level = after
        return found

    def to_networkx(self) -> MultiDiGraph[int]:
        """Return the graph for networkx: nodes carry `state` and `initial`, edges their label."""
        # networkx takes half a second to import, and most users of this module never need it.
        from networkx import MultiDiGraph

        made: MultiDiGraph[int] = MultiDiGraph()
        first = frozenset(self.initial)
        for number, state in enumerate(self.states):
            made.add_node(number, state=state, initial=number in first)
        made.add_edges_from(
            (source, target, {"action": label.action, "args": label.args})
            for source, label, target in self.edges()
        )
        return made


def _unwind(
    came: dict[int, tuple[int, int] | None], state: int
) -> tuple[int, list[tuple[int, int]]]:
    steps = []
    while (before := came[state]) is not None:
        steps.append((before[1], state))
        state = before[0]
    return state, steps[::-1]


def _by_source(
    states: int, sources: array[int], labels: array[int], targets: array[int]
) -> tuple[array[int], array[int], array[int]]:
    """Return where each source's edges start, and labels and targets sorted by source."""
    offsets = array(NUMBER, [0]) * (states + 1)
    for source in sources:
        offsets[source + 1] += 1
    in_order, before = True, 0
    for source in sources:
        if source < before:
            in_order = False
            break
        before = source
    for state in range(states):
        offsets[state + 1] += offsets[state]
    if in_order:
        return offsets, labels, targets
    place = offsets[:]
    sorted_labels, sorted_targets = array(NUMBER, labels), array(NUMBER, targets)
    for source, label, target in zip(sources, labels, targets, strict=True):
        at = place[source]
        sorted_labels[at], sorted_targets[at] = label, target
        place[source] = at + 1
    return offsets, sorted_labels, sorted_targets
