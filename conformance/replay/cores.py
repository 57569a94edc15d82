"""Real cores, one per node of an instance, compared with the model after every step.

The protocol's `Binding` says how model and core name the same things. A node's move is made by its
core: the core's state and outputs must equal the model's. When the environment sets a node's state
(a crash, a restart), the node gets a new core. The network is the model's alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from raincheck.conformance.bindings.binding import Binding, Core, MakeCore
from raincheck.conformance.bindings.conversion import ShapeError
from raincheck.conformance.errors import UsageError
from raincheck.model.machine.composed import Composed, Move

from .probes import Probes
from .steps import written


class Difference(NamedTuple):
    """A value of the model, and the implementation's value in its place."""

    what: str
    expected: Any
    actual: Any

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected!r}, is {self.actual!r}"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A mismatch of implementation and model: the moves that lead to it, and the differences."""

    where: str
    moves: tuple[Move[Any], ...]
    problem: str
    differences: tuple[Difference, ...] = ()
    schedule: Mapping[str, Any] | None = None
    """The moves as one record of a file of schedules, if they belong to an instance."""

    @property
    def step(self) -> int:
        """The number of the step that went wrong, from 1; 0 is the initial state."""
        return len(self.moves)

    def text(self) -> str:
        """Return the mismatch for people, with the moves that lead to it."""
        words = printed(self.moves, self.schedule)
        at = words[-1] if words else "the initial state"
        lines = [f"{self.where}, step {self.step}, {at}: {self.problem}"]
        lines += [f"  {difference}" for difference in self.differences]
        lines += ["moves:", *(f"{n:4}  {each}" for n, each in enumerate(words, 1))]
        return "\n".join(lines)


def printed(moves: Sequence[Move[Any]], schedule: Mapping[str, Any] | None = None) -> list[str]:
    """Return each move in words, with the choices that its step in the schedule records."""
    steps = ({},) * len(moves) if schedule is None else schedule["steps"]
    return [_in_words(move, step) for move, step in zip(moves, steps, strict=True)]


def _in_words(move: Move[Any], step: Mapping[str, Any]) -> str:
    text = f"{move.action}({', '.join(map(written, move.args))})"
    chosen = [f"{key} {value}" for key, value in step.items() if key not in ("action", "args")]
    text += f" [{', '.join(chosen)}]" if chosen else ""
    return text if move.node is None else f"{text} by {move.node} of {move.event!r}"


class Problem(Exception):
    """The implementation differs from the model."""

    def __init__(self, problem: str, differences: Sequence[Difference] = ()) -> None:
        self.problem = problem
        self.differences = tuple(differences)
        super().__init__(problem)


class Turn(NamedTuple):
    """A node's part in a move, which leaves it in `local`."""

    node: str
    local: Any
    move: Move[Any] | None = None
    """The move that its core makes; None where the environment sets the node's state."""


def turns(
    binding: Binding, move: Move[Any], before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Turn]:
    """Yield the turns of a move between these local states; most nodes have no part in it."""
    for node, local in after.items():
        if node == move.node and move.action not in binding.unhandled:
            yield Turn(node, local, move)
        elif local != before[node]:
            yield Turn(node, local)


class Cores:
    """The cores of one instance, in the local states of the model's nodes."""

    def __init__(
        self, binding: Binding, system: Composed[Any, Any], make: MakeCore | None = None
    ) -> None:
        """`make` makes damaged cores; by default they are the implementation's own."""
        self.binding = binding
        self.system = system
        self.make = make or binding.make_core
        self.cores: dict[str, Core] = {}
        self.locals: dict[str, Any] = {}

    def begin(self, state: Any) -> None:
        """Start from an initial state of the model, with new cores."""
        for node in self.system.nodes:
            self.begin_at(node, self.system.local(state, node))

    def perform(self, move: Move[Any]) -> None:
        """Make the move and compare; raise Problem if the implementation differs from the model."""
        after = {node: self.system.local(move.target, node) for node in self.system.nodes}
        for turn in turns(self.binding, move, self.locals, after):
            self.take(turn)

    def take(self, turn: Turn) -> None:
        """Let a node take its turn, and compare."""
        if turn.move is not None:
            self.handle(turn.node, turn.move, turn.local)
        else:
            self._changed(turn.node, turn.local)

    def local(self, node: str) -> Any:
        """Return the model's local state of the node."""
        return self.locals[node]

    def core(self, node: str) -> Core:
        """Return the node's core."""
        return self.cores[node]

    def _changed(self, node: str, local: Any) -> None:
        """The environment has set a node's state: its core is given that state, or replaced."""
        give = self.binding.give
        if give is None or not give(self.cores[node], self.locals[node], local):
            self.begin_at(node, local)
            return
        self.locals[node] = local
        self.compare(node, "the environment's change leaves it otherwise")

    def begin_at(self, node: str, local: Any) -> None:
        """Give the node a new core, which begins in that local state, and compare."""
        self.locals[node] = local
        try:
            self.cores[node] = self.make(self.system.rules, local)
        except Exception as error:
            raise Problem(f"no core can be made at {node}: {_raised(error)}") from error
        if not hasattr(self.cores[node], "handle"):
            raise UsageError(
                f"{self.binding.protocol}: make_core returned {self.cores[node]!r}: it must return "
                "a core, which has handle(event)."
            )
        self.compare(node, "begins otherwise")

    def handle(self, node: str, move: Move[Any], local: Any) -> None:
        """Let the node's core make the move, and compare it with that local state."""
        effects = handled(self.binding, self.cores[node], move.event)
        self.locals[node] = local
        self.compare(node, "the states differ")
        # Named tuples of different types with equal fields are equal: Block() equals Unblock().
        if effects != move.outputs or [*map(type, effects)] != [*map(type, move.outputs)]:
            differs = Difference("outputs", move.outputs, effects)
            raise Problem("the outputs differ", [differs])

    def compare(self, node: str, problem: str) -> None:
        """Raise Problem unless the node's core is in the model's local state."""
        actual = read(self.binding, self.cores[node])
        expected = self.binding.compared(self.locals[node])
        if actual != expected:
            found = [
                Difference(f"{name}[{node}]", mine, theirs)
                for name, mine, theirs in zip(expected._fields, expected, actual, strict=True)
                if mine != theirs
            ]
            raise Problem(problem, found)


def handled(binding: Binding, core: Core, event: Any) -> tuple[Any, ...]:
    """Give the core a model's input, and return its effects as the model's outputs."""
    try:
        return binding.model_outputs(core.handle(binding.core_event(event)))
    except binding.refusal as refused:
        raise Problem(f"the implementation refuses: {refused}") from refused
    except ShapeError as error:
        raise Problem(f"an output does not fit the model: {error}") from error
    except Exception as error:
        raise Problem(f"the implementation raises {_raised(error)}") from error


def read(binding: Binding, core: Core) -> Any:
    """Return the core's state as the model's."""
    try:
        return binding.compared(binding.core_local(core))
    except ShapeError as error:
        raise Problem(f"the state does not fit the model: {error}") from error


def _raised(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


class Offered(Protocol):
    """The nodes of an instance, to whose cores inputs are offered."""

    system: Composed[Any, Any]

    def local(self, node: str) -> Any:
        """Return the model's local state of the node."""

    def core(self, node: str) -> Core:
        """Return the node's core."""


def probe(to: Offered, probes: Probes, state: Any, nodes: Collection[str]) -> None:
    """Offer what must be refused to these nodes, and to the nodes for which a message arrives."""
    for node in to.system.nodes:
        arriving = to.system.arriving(state, node)
        if (arriving or node in nodes) and probes.due(node, local := to.local(node), arriving):
            mistake = probes.offer(local, to.core(node), arriving)
            if mistake:
                raise Problem(f"then {node} {mistake}")
