"""The interface of a model: a machine whose states are values, stepped by named actions.

The law of every model: a state is one immutable, hashable value for the whole system, made of the
nodes' local states and the network. Handlers are node-local: they see one node's local state and
one input, and answer `Accepted` or `Refused`. The machine composes them. Nothing here reads a
clock, draws a random number or does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from .values import Fcn, ModelValue, Value, function, override, record

__all__ = [
    "Accepted",
    "Answer",
    "Conjunct",
    "Fcn",
    "Machine",
    "ModelError",
    "ModelValue",
    "Refused",
    "Step",
    "Value",
    "function",
    "override",
    "record",
    "refusal",
    "state",
]

S = TypeVar("S", bound=Hashable)
L = TypeVar("L")
O = TypeVar("O")  # noqa: E741 - the output


def state(kind: Any) -> Any:
    """Let `_replace` of a NamedTuple cost a third: models and traces make a state at each step."""
    place, new = {name: at for at, name in enumerate(kind._fields)}, tuple.__new__

    def replaced(self: Any, /, **changed: Any) -> Any:
        values = list(self)
        for name, value in changed.items():
            values[place[name]] = value
        return new(kind, values)

    kind._replace = replaced
    return kind


class ModelError(Exception):
    """A model is not what the machine asks for, for example since it lacks a handler."""


class Step(NamedTuple, Generic[S]):
    """One enabled action with its arguments, and the state that it leads to."""

    action: str
    args: tuple[Value, ...]
    target: S


class Machine(Protocol[S]):
    """A model: initial states, next steps, and how states translate into the spec's variables."""

    @property
    def name(self) -> str:
        """Return the protocol's name."""

    @property
    def invariants(self) -> Mapping[str, Callable[[S], bool]]:
        """Return the spec's invariants by their names in the spec."""

    def initial(self) -> Iterable[S]:
        """Return the initial states."""

    def steps(self, state: S) -> Iterable[Step[S]]:
        """Return the enabled steps, always in the same order; some may change nothing."""

    def variables(self, state: S) -> dict[str, Value]:
        """Return the value of each variable of the spec."""


class Conjunct(NamedTuple):
    """A conjunct of a guard, in the spec's words, and the values that decide it."""

    text: str
    values: Mapping[str, Value]


class Accepted(NamedTuple, Generic[L, O]):  # a tuple: trace checking makes one per event
    """The handler's guard holds: the node's next local state, and what it hands to the network."""

    local: L
    outputs: tuple[O, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """The handler's guard is false: `conjuncts` are its false conjuncts, in the guard's order."""

    conjuncts: tuple[Conjunct, ...]


Answer: TypeAlias = Accepted[L, O] | Refused


def refusal(*guard: tuple[bool, str, Mapping[str, Value]]) -> Refused | None:
    """Return the refusal that names the guard's false conjuncts, or None if all hold.

    Each conjunct is (whether it holds, its text, the values that decide it).
    """
    for holds, _, _ in guard:
        if not holds:
            return Refused(tuple(Conjunct(text, values) for yes, text, values in guard if not yes))
    return None
