"""Invariants that are true of every state of the right types, and so say nothing about the actions.

An invariant is worth something because some states deny it and the actions lead to none of these.
Whether some do is asked of the model: in arbitrary states (`model/machine/arbitrary.py`) of the
cases that hold, each invariant must be false now and then. One that never is follows from the types
or from its own definitions: it would survive any damage to the actions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, TypeAlias

from raincheck.conformance.errors import UsageError
from raincheck.model.machine.arbitrary import Arbitrary
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Machine

from .case import HOLDS, Case

EXPLORED: Final = 400
"""The number of reachable states of a case that show the types."""

TRIED: Final = 3000
"""The number of arbitrary states of a case in which its invariants are asked."""

SEED: Final = 1
"""The seed of the arbitrary states: whether an invariant is found false depends on no option."""

MachineOf: TypeAlias = Callable[[str, Mapping[str, Any], str], Machine[Any]]
"""(protocol, constants, name of the case) -> the model; raises UsageError if it does not fit."""

Predicate: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Denials:
    """The answer of arbitrary states about the invariants of a protocol."""

    denied: Mapping[str, str]
    """The invariants that some state denies, each with the case whose states they were."""
    never: frozenset[str]
    """The invariants that no state denies."""
    states: int = 0
    """The number of arbitrary states in which they were asked."""

    def says_nothing(self, case: Case) -> str:
        """Return why invariants of the case say less than they seem to, in words, or ""."""
        names = [name for name in case.properties if name in self.never and name not in case.idle]
        if not names:
            return ""
        return (
            f"{', '.join(names)}: true in all of {self.states} states of the right types, "
            "reachable or not: it says nothing about the actions"
        )

    def unasked(self, case: Case) -> list[str]:
        """Return the case's invariants of which the model has no predicate."""
        asked = {*self.denied, *self.never, *case.temporal}
        return [name for name in case.properties if name not in asked]


NOTHING: Final = Denials({}, frozenset())
"""What is known where there is no model."""


def denials(cases: Iterable[Case], machine_of: MachineOf) -> Denials:
    """Return which invariants of a protocol's cases that hold are false in some arbitrary state."""
    asked: dict[str, None] = {}
    denied: dict[str, str] = {}
    states = 0
    holding = (case for case in cases if case.expected == HOLDS)
    for case in sorted(holding, key=lambda case: (case.distinct is None, case.distinct or 0)):
        try:
            machine = machine_of(case.protocol, case.constants, case.name)
        except UsageError:  # `mirror` says what is wrong with it
            continue
        wanted = {
            name: machine.invariants[name]
            for name in case.properties
            if name in machine.invariants and name not in case.idle
        }
        asked |= dict.fromkeys(wanted)
        wanted = {name: each for name, each in wanted.items() if name not in denied}
        if wanted:
            states += _deny(machine, case.name, wanted, denied)
    return Denials(denied, frozenset(asked.keys() - denied.keys()), states)


def _deny(
    machine: Machine[Any], case: str, wanted: Mapping[str, Predicate], denied: dict[str, str]
) -> int:
    """Note which of the invariants an arbitrary state denies; return how many states it took."""
    arbitrary = Arbitrary(
        explore(machine, limit=EXPLORED, invariants={}).graph.states, Random(SEED)
    )
    for number in range(1, TRIED + 1):
        left = [name for name in wanted if name not in denied]
        if not left:
            return number - 1
        state = arbitrary.state()
        denied |= {name: case for name in left if not _true(wanted[name], state)}
    return TRIED


def _true(predicate: Predicate, state: Hashable) -> bool:
    try:
        return predicate(state)
    except Exception:  # noqa: BLE001 - a state whose parts do not fit each other may raise anything
        return True
