"""The state of the service, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/TotalOrder.tla` and the CONSTANTS of `spec/MCTotalOrder.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state
from raincheck.model.machine.runs import Address


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that are switched on; the names are the spec's constants."""

    follows: bool = True
    completes: bool = True
    in_turn: bool = True
    from_members: bool = True


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCTotalOrder.tla`."""

    node: tuple[str, ...]
    founders: frozenset[str]
    uniform: bool
    senders: frozenset[str]
    max_sent: int
    enders: frozenset[str]
    max_ends: int
    returners: frozenset[str]
    max_views: int
    max_log: int
    leaps: bool
    rules: Rules


class Message(NamedTuple):
    """A message: its sender, its number in the sender's life, and in all lives of the sender."""

    sender: Address
    seqno: int
    payload: int


class Delivery(NamedTuple):
    """A delivery, with the view that the receiver was in."""

    message: Message
    view: int


class View(NamedTuple):
    """A view that was decided, and its joiners."""

    members: frozenset[Address]
    joiners: frozenset[Address] = frozenset()


@state
class Process(NamedTuple):
    """What the service knows of one process."""

    node: str
    status: str = "outside"
    life: int = 0
    view: int = 0
    sent: int = 0
    past: int = 0
    delivered: tuple[Delivery, ...] = ()

    @property
    def address(self) -> Address:
        """The name of its present life."""
        return Address(self.node, self.life)

    @property
    def present(self) -> bool:
        """Whether it is a member."""
        return self.status == "member"


Order: TypeAlias = tuple[Message, ...]


@state
class State(NamedTuple):
    """The global state; processes stand at the index of their node in `Constants.node`."""

    processes: tuple[Process, ...]
    views: tuple[View, ...]
    cut: tuple[Order, ...] = ()


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `TotalOrder.tla`."""

    def each(values: Iterable[Value]) -> Value:
        return function(zip(constants.node, values, strict=True))

    processes = state.processes
    return {
        "status": each(p.status for p in processes),
        "life": each(p.life for p in processes),
        "view": each(p.view for p in processes),
        "sent": each(p.sent for p in processes),
        "past": each(p.past for p in processes),
        "delivered": each(tuple(map(_delivery, p.delivered)) for p in processes),
        "views": tuple(
            record(
                members=frozenset(map(tuple, v.members)), joiners=frozenset(map(tuple, v.joiners))
            )
            for v in state.views
        ),
        "cut": tuple(tuple(map(_message, order)) for order in state.cut),
    }


@lru_cache(maxsize=10_000)
def _message(message: Message) -> Value:
    # `from` is a keyword of Python, so it cannot be an argument of `record`.
    fields: dict[Value, Value] = {
        "from": tuple(message.sender),
        "seqno": message.seqno,
        "payload": message.payload,
    }
    return function(fields.items())


@lru_cache(maxsize=10_000)
def _delivery(each: Delivery) -> Value:
    return record(message=_message(each.message), view=each.view)
