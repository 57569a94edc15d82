"""A state graph with the spec's names: every state is the tuple of all variables' values.

TLC's graph and the explorer's are both converted to this form and then compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from raincheck.model.machine.graph import Graph
from raincheck.model.machine.machine import Machine
from raincheck.model.machine.values import Value, of_one_kind

S = TypeVar("S", bound=Hashable)

Values: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class StateGraph:
    """A graph whose states are the variables' values, in the order of `variables`."""

    name: str
    variables: tuple[str, ...]
    graph: Graph[Values]

    def state(self, number: int) -> dict[str, Value]:
        """Return the variables of a state by name."""
        return dict(zip(self.variables, self.graph.states[number], strict=True))

    def step_count(self) -> int:
        """The number of distinct (source, action, target) triples."""
        graph = self.graph
        actions = [label.action for label in graph.labels]
        return sum(
            len({(actions[label], target) for label, target in graph.out(state)})
            for state in range(len(graph))
        )


class Interner:
    """Keeps one object per value. A graph repeats few values often: this saves most memory."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[Value, list[Value]] = {}

    def __call__(self, value: Value) -> Value:
        """Return the one object that is identical to the value."""
        alike = self._kept.get(value)
        if alike is None:
            self._kept[value] = [value]
            return value
        for kept in alike:
            # Equality is not enough: Python's dict holds 1 and True for the same key.
            if kept is value or of_one_kind(kept, value):
                return kept
        alike.append(value)
        return value


def of_machine(machine: Machine[S], graph: Graph[S], name: str = "model") -> StateGraph:
    """Return the explored graph of a machine with the spec's names."""
    intern = Interner()
    variables: Sequence[str] = ()
    states: list[Values] = []
    for state in graph.states:
        values = machine.variables(state)
        if not states:
            variables = sorted(values)
        elif len(values) != len(variables):
            raise ValueError(f"{machine.name}: not every state has the variables {variables}")
        states.append(tuple([intern(values[variable]) for variable in variables]))
    return StateGraph(name, tuple(variables), graph.with_states(states))
