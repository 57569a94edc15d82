"""Systems composed of node-local handlers and a network.

The law of this file: every step of a composed system is a `Move`. Either one node handles one
input, and nothing of the other nodes changes, or the environment acts and no node handles anything.
Therefore the real code can make the same step, and a trace can be checked node by node.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeAlias, TypeVar

from .machine import Accepted, ModelError, Refused, Step, Value

S = TypeVar("S", bound=Hashable)
L = TypeVar("L")

_MOST: Final = 200_000
"""The number of answers that a system remembers."""

Handler: TypeAlias = Callable[[Any, Any, Any], Accepted[Any, Any] | Refused]
"""One action of one node: (rules, its local state, the input) -> the answer."""


class Move(NamedTuple, Generic[S]):
    """A step and its origin: `node` handled `event` and emitted `outputs`.

    `node` and `event` are None where the environment acts (a message is lost, a process crashes or
    returns). Such a step may also set nodes' local states, as a restart does.
    """

    action: str
    args: tuple[Value, ...]
    target: S
    node: str | None = None
    event: Any = None
    outputs: tuple[Any, ...] = ()


class _Answers(NamedTuple):
    """What handlers have answered under these rules: few local states make many states."""

    rules: Any
    handlers: Mapping[str, Handler] | None
    answers: dict[tuple[type[Any], Any, Any], Accepted[Any, Any] | None]
    """By kind of input, local state and input; None if it was refused."""


class Composed(ABC, Generic[S, L]):
    """A machine for the explorer, made of local states and a network; the base of all systems.

    A subclass sets `name`, `handlers` (the model's HANDLERS), and in its `__init__` `rules` and
    `nodes`; it defines the abstract methods. `steps` follows from `moves`.
    """

    name: ClassVar[str]
    handlers: ClassVar[Mapping[str, Handler]]
    batch: ClassVar[int] = 1
    """The largest number of messages that lockstep brings to a node at once."""
    rules: Any
    nodes: tuple[str, ...]
    _before: _Answers = _Answers(None, None, {})

    @property
    @abstractmethod
    def invariants(self) -> Mapping[str, Callable[[S], bool]]:
        """Return the spec's invariants by their names in the spec."""

    @abstractmethod
    def initial(self) -> Iterable[S]:
        """Return the initial states."""

    @abstractmethod
    def variables(self, state: S) -> dict[str, Value]:
        """Return the value of each variable of the spec."""

    @abstractmethod
    def local(self, state: S, node: str) -> L:
        """Return a node's local state."""

    @abstractmethod
    def moves(self, state: S) -> Iterator[Move[S]]:
        """Yield every enabled step, always in the same order."""

    @abstractmethod
    def carried(self, state: S, node: str, local: L, outputs: tuple[Any, ...]) -> S | None:
        """Return the state in which the node is in `local` and the network has taken its outputs.

        Return None if the network cannot take them; then the step is not enabled.
        """

    def arriving(self, state: S, node: str) -> tuple[Any, ...]:  # noqa: ARG002
        """Return inputs that the network has for the node now; its guards may refuse them."""
        return ()

    def together(self, move: Move[S], size: int) -> Move[S]:  # noqa: ARG002
        """Return the move with up to `size` messages at once, the first of which is the move's.

        A batch leads to the same state as its messages one by one. If `batch` is 1, the move is
        returned unchanged.
        """
        return move

    def size(self, move: Move[S]) -> int:  # noqa: ARG002
        """Return how many of the spec's steps the move consists of."""
        return 1

    def choice(self, state: S, move: Move[S]) -> dict[str, Any]:  # noqa: ARG002
        """Return what a schedule says of the move's first step beyond its arguments."""
        return {}

    def steps(self, state: S) -> Iterator[Step[S]]:
        """Yield the moves in the form that the explorer and the mirror check read."""
        for move in self.moves(state):
            yield Step(move.action, move.args, move.target)

    def act(
        self, state: S, node: str, event: Any, args: tuple[Value, ...] | None = None
    ) -> Iterator[Move[S]]:
        """Yield the move in which the node handles the event, or nothing if it is not enabled.

        The action is the event's type name. `state` is the state before, without the message that
        the event consumes. `args` are the arguments of the spec's action, by default the node's
        name and then the event's fields.
        """
        local, kind = self.local(state, node), type(event)
        before = self._before
        if before.rules is not self.rules or before.handlers is not self.handlers:
            before = self._before = _Answers(self.rules, self.handlers, {})
        try:
            accepted = before.answers[kind, local, event]
        except KeyError:
            if len(before.answers) >= _MOST:
                before.answers.clear()
            accepted = self._newly_answered(local, event)
            before.answers[kind, local, event] = accepted
        if accepted is None:
            return
        target = self.carried(state, node, accepted.local, accepted.outputs)
        if target is not None:
            given = (node, *event) if args is None else args
            yield Move(kind.__name__, given, target, node, event, accepted.outputs)

    def forget(self) -> None:
        """Ask the handlers again for what they have answered before."""
        self._before = _Answers(None, None, {})

    def _newly_answered(self, local: L, event: Any) -> Accepted[L, Any] | None:
        action = type(event).__name__
        answer = self.handlers[action](self.rules, local, event)
        if not isinstance(answer, Accepted | Refused):
            raise ModelError(
                f"{type(self).__module__}: the handler of {action} answered {answer!r}: it must "
                "answer Accepted or Refused"
            )
        return answer if isinstance(answer, Accepted) else None


def handlers_of(inputs: Iterable[str], namespace: Mapping[str, Any]) -> dict[str, Handler]:
    """Return the handlers of these inputs; that of ReceiveYes is the function `receive_yes`.

    Raises ModelError if there is no such function.
    """
    named = {name: _snake(name) for name in inputs}
    for name, handler in named.items():
        if handler not in namespace:
            raise ModelError(f"there is no function {handler} for the input {name}")
    return {name: namespace[handler] for name, handler in named.items()}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
