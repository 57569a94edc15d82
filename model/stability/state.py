"""The state of the service, and its translation into the spec's variables.

The twin of the VARIABLES of `spec/Stability.tla` and the CONSTANTS of `spec/MCStability.tla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from raincheck.model.machine import instance
from raincheck.model.machine.machine import Value, function, record, state
from raincheck.model.machine.runs import Address

Vector: TypeAlias = tuple[int, ...]
"""A number per node, in the order of the nodes."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that are switched on; the names are the spec's constants."""

    waits_for_all: bool = True
    keeps_for_joiners: bool = True
    joiners_at_cut: bool = True


@dataclass(frozen=True, slots=True)
class Constants:
    """An instance: the constants of `MCStability.tla`."""

    node: tuple[str, ...]
    founders: frozenset[str]
    senders: frozenset[str]
    max_sent: int
    enders: frozenset[str]
    returners: frozenset[str]
    excluded: frozenset[str]
    max_views: int
    rules: Rules


class View(NamedTuple):
    """A view that was decided, and its joiners."""

    members: frozenset[Address]
    joiners: frozenset[Address] = frozenset()


class Told(NamedTuple):
    """The view with which a joiner begins, and behind which messages."""

    view: int
    digest: Vector


@state
class Process(NamedTuple):
    """What the service knows of one process; the vectors are its own, by sender."""

    node: str
    delivered: Vector
    began: Vector
    purged: Vector
    status: str = "outside"
    life: int = 0
    view: int = 0
    sent: int = 0
    entering: tuple[Told, ...] = ()

    @property
    def address(self) -> Address:
        """The name of its present life."""
        return Address(self.node, self.life)

    @property
    def present(self) -> bool:
        """Whether it is a member."""
        return self.status == "member"


@state
class State(NamedTuple):
    """The global state; processes stand at the index of their node in `Constants.node`."""

    processes: tuple[Process, ...]
    views: tuple[View, ...]


def constants_of(values: Mapping[str, Value]) -> Constants:
    """Return the instance that a case describes; raise ValueError if a constant is wrong."""
    return instance.constants_of(Constants, values)


def members(state: State, process: Process) -> frozenset[Address]:
    """Return the members of its view, nobody if it has none."""
    return state.views[process.view - 1].members if process.view else frozenset()


def nodes_of(addresses: Iterable[Address]) -> frozenset[str]:
    """Return the nodes behind addresses."""
    return frozenset(each.node for each in addresses)


def variables(constants: Constants, state: State) -> dict[str, Value]:
    """Return the state in the variables of `Stability.tla`."""

    def each(values: Iterable[Value]) -> Value:
        return function(zip(constants.node, values, strict=True))

    def told(entering: tuple[Told, ...]) -> Value:
        return tuple(record(view=one.view, digest=each(one.digest)) for one in entering)

    def addresses(these: Iterable[Address]) -> Value:
        return frozenset(map(tuple, these))

    processes = state.processes
    return {
        "status": each(p.status for p in processes),
        "life": each(p.life for p in processes),
        "view": each(p.view for p in processes),
        "sent": each(p.sent for p in processes),
        "delivered": each(each(p.delivered) for p in processes),
        "began": each(each(p.began) for p in processes),
        "purged": each(each(p.purged) for p in processes),
        "entering": each(told(p.entering) for p in processes),
        "views": tuple(
            record(members=addresses(view.members), joiners=addresses(view.joiners))
            for view in state.views
        ),
    }
