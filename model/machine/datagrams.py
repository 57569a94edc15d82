"""Systems of nodes that exchange datagrams, which may be lost, overtaken or duplicated.

Such a specification follows from its handlers, its Local and the inputs that come from a node
itself. Its variables are the fields of Local, each a function of the nodes, and `sent`, the set of
all datagrams. Nothing is ever taken out of `sent`, so a datagram may arrive often, late, or never.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, cast

from .composed import Composed, Move
from .instance import camel
from .machine import ModelError, Value, function, record
from .values import order


class Datagram(NamedTuple):
    """A message under way from a node; the message has a field `to`.

    `kind` is the name of its type: tuples of two types are equal if their fields are.
    """

    source: str
    kind: str
    message: Any


class Datagrams(NamedTuple):
    """The nodes' local states, in the order of `nodes`, and everything that was ever sent."""

    locals: tuple[Any, ...]
    sent: frozenset[Datagram] = frozenset()


class DatagramSystem(Composed[Datagrams, Any]):
    """A system of such nodes. Subclasses set `rules` and `nodes` and define the abstract methods.

    A message "Vote" with the fields `to` and `yes` arrives by the input "ReceiveVote" with the
    fields `sender` and `yes`. In the spec it is the record [type |-> "Vote", source |-> n, to |->
    m, yes |-> …]. Fields of Local that hold a node's constants are named in `fixed` and are no
    variables.
    """

    inputs: ClassVar[Mapping[str, type[Any]]]
    fixed: ClassVar[frozenset[str]] = frozenset({"node"})

    @abstractmethod
    def beginning(self, node: str) -> Any:
        """Return a node's first local state."""

    @abstractmethod
    def spontaneous(self, me: Any) -> Iterable[Any]:
        """Return the inputs that may come from a node's own application or clock."""

    def initial(self) -> Iterator[Datagrams]:
        """Yield the one state in which nothing has been sent."""
        yield Datagrams(tuple(map(self.beginning, self.nodes)))

    def local(self, state: Datagrams, node: str) -> Any:
        """Return a node's local state; raise ModelError if there is no such node."""
        if node not in self.nodes:
            raise ModelError(f"{node} is none of the nodes, {', '.join(self.nodes)}")
        return state.locals[self.nodes.index(node)]

    def variables(self, state: Datagrams) -> dict[str, Value]:
        """Return the fields of the local states, each as a function of the nodes, and `sent`."""
        found: dict[str, Value] = {
            variable(name): function(
                zip(self.nodes, (getattr(each, name) for each in state.locals), strict=True)
            )
            for name in state.locals[0]._fields
            if name not in self.fixed
        }
        return found | {"sent": frozenset(map(_record, state.sent))}

    def moves(self, state: Datagrams) -> Iterator[Move[Datagrams]]:
        """Yield each node's own inputs and the arrival of each datagram."""
        for node, me in zip(self.nodes, state.locals, strict=True):
            for event in self.spontaneous(me):
                yield from self.act(state, node, event)
        for source, kind, message in sorted(state.sent, key=lambda each: order(_record(each))):
            fields = message._asdict()
            to = fields.pop("to")
            event = self.inputs[f"Receive{kind}"](sender=source, **fields)
            yield from self.act(state, to, event)

    def carried(
        self, state: Datagrams, node: str, local: Any, outputs: tuple[Any, ...]
    ) -> Datagrams:
        """Return the state with the node's new local state, and its datagrams added to `sent`."""
        at = self.nodes.index(node)
        row = (*state.locals[:at], local, *state.locals[at + 1 :])
        messages = (each for each in outputs if "to" in each._fields)
        new = {Datagram(node, type(each).__name__, each) for each in messages}
        return Datagrams(row, state.sent | new)


def variable(name: str) -> str:
    """Return a field's name in the style of specifications: last_vote is lastVote."""
    return name[:1] + camel(name)[1:]


def _record(each: Datagram) -> Value:
    fields = cast("dict[str, Value]", each.message._asdict())
    return record(type=each.kind, source=each.source, **fields)
