"""The cases of a protocol that its implementation can be replayed in, and lockstep's instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from functools import cache
from random import Random
from types import MappingProxyType
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding, binding_of
from raincheck.conformance.cases.tables import HOLDS as CASE_HOLDS
from raincheck.conformance.cases.tables import Case
from raincheck.conformance.errors import UsageError
from raincheck.conformance.verbs.mirror import machine_of
from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.explore import explore

from .drawing import drawn
from .lockstep import LENGTH, Instance
from .probes import Probes
from .replay import Moves, Prepared

WHOLE: Final = 25_000
"""The most states of a graph that is replayed whole ..."""

EDGES: Final = 30_000
"""... if its size is known beforehand; otherwise it has at most this many edges."""

PART: Final = 5_000
"""Of a larger graph, replay takes this many states, found breadth-first, and at most
`replay.PART_STEPS` steps of walks.
"""

INSTANCES: Final = 6
"""The number of instances that lockstep runs over, the largest first."""

KNOWN: Final = 800
"""The number of states of each instance that show which inputs there are."""

WALKS: Final = 5
"""The number of walks that show the inputs of an instance without bounds."""


def system_for(case: Case) -> Composed[Any, Any]:
    """Return the case's model; raise UsageError if it does not say which node handles what."""
    made: Any = machine_of(case.protocol, case.constants, case.name)
    for name in ("moves", "local", "nodes", "rules"):
        if not hasattr(made, name):
            raise UsageError(
                f"model/{case.protocol}/system.py has no {name}: derive it from "
                "model.machine.composed.Composed."
            )
    found: Composed[Any, Any] = made
    return found


def nothing_undone(binding: Binding, rules: Any) -> bool:
    """Tell whether no repair is off.

    Rules that are neither true nor false are sizes and variants. The core is given the same ones,
    so model and core can be compared under any of them.
    """
    usual = binding.rules()
    names = asdict(usual)
    return all(
        getattr(rules, name) == value for name, value in names.items() if isinstance(value, bool)
    )


def lacks(rules: Any, undone: Mapping[str, Any]) -> bool:
    """Tell whether a model of these rules lacks one of the repairs that are undone."""
    return any(getattr(rules, name) == value for name, value in undone.items())


def cannot_be_made(binding: Binding, rules: Any) -> str:
    """Return the rules that the implementation has no switch for, or ""."""
    if not is_dataclass(rules) or isinstance(rules, type):
        return ""
    usual = asdict(binding.rules())
    other = [
        name
        for name, value in asdict(rules).items()
        if value != usual[name] and name not in {*binding.switches, *binding.around}
    ]
    return ", ".join(other)


class Replayable:
    """The cases of a protocol that its implementation can be replayed in, each prepared once."""

    def __init__(self, binding: Binding, cases: Iterable[Case]) -> None:
        self.binding = binding
        self.left_out: dict[str, str] = {}
        """The cases of a design other than the implemented one, each with its rules."""
        self._systems: dict[str, Composed[Any, Any]] = {}
        self._cases: dict[str, Case] = {}
        for case in cases:
            system = system_for(case)
            if other := cannot_be_made(binding, system.rules):
                self.left_out[case.name] = other
            else:
                self._systems[case.name], self._cases[case.name] = system, case

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases that can be replayed."""
        return tuple(self._cases.values())

    def prepare(self, case: Case) -> Prepared:
        """Return one of the cases with its walks; of a graph that is too large only a part."""
        return prepared(self.binding, case, self._systems[case.name])

    def prepared(self, undone: Mapping[str, Any] = MappingProxyType({})) -> Iterator[Prepared]:
        """Yield each case with its walks, unless its model lacks one of these repairs as well."""
        for case in self.cases:
            if not lacks(self._systems[case.name].rules, undone):
                yield self.prepare(case)

    def instances(self, most: int | None = INSTANCES) -> dict[str, list[Instance]]:
        """Return instances for lockstep, in groups: the binding's worlds if it has any.

        Otherwise there is one group "": the largest cases with all repairs on, of any variant.
        """
        if self.binding.worlds:
            return {
                group: [
                    instance_of(self.binding, given, f"{group} {place}")
                    for place, given in enumerate(worlds, 1)
                ]
                for group, worlds in self.binding.worlds.items()
            }
        return {
            "": [
                Instance(case.name, system, probes_of(self.binding, system))
                for case in self._sound()[:most]
                if (system := self._systems[case.name])
            ]
        }

    def groups(self) -> list[str]:
        """Return the names of the groups that have an instance, and make none."""
        if self.binding.worlds:
            return [group for group, worlds in self.binding.worlds.items() if worlds]
        return [""] if self._sound() else []

    def _sound(self) -> list[Case]:
        """Return the cases that hold with all repairs on, the largest first."""
        mine = [
            case
            for name, case in self._cases.items()
            if case.expected == CASE_HOLDS
            and nothing_undone(self.binding, self._systems[name].rules)
        ]
        return sorted(mine, key=lambda case: -(case.distinct or 0))


def prepared(
    binding: Binding,
    case: Case,
    system: Composed[Any, Any],
    whole: int = WHOLE,
    part: int = PART,
) -> Prepared:
    """Return the case's graph and walks, whole or, where the graph is too large, in part."""
    moves = Moves(system)
    if (case.distinct or 0) <= whole:
        # The size of a violated graph, which may be infinite, is not known beforehand.
        most = EDGES if case.distinct is None else None
        made = Prepared(case.name, binding, system, whole, edges=most, moves=moves)
        if made.complete and (most is None or len(made.index) <= most):
            return made
    return Prepared(case.name, binding, system, part, moves=moves)


def instance_of(binding: Binding, given: Mapping[str, Any], name: str) -> Instance:
    """Return one of the binding's worlds; raise UsageError if it has no such world."""
    if binding.world is None:
        raise UsageError(
            f"{binding.protocol} has no instances but those of the catalog: name a case."
        )
    try:
        system, promised = binding.world(**given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{binding.protocol} has no instance {dict(given)}: {error}") from error
    known = _walked(binding.protocol, tuple(sorted(given.items())))
    return Instance(name, system, Probes(binding, system.rules, known), promised, given)


@cache
def _walked(protocol: str, given: tuple[tuple[str, Any], ...]) -> tuple[Move[Any], ...]:
    """Return the moves of some walks: the first states of an unbounded instance show little."""
    binding = binding_of(protocol)
    assert binding.world is not None
    system = binding.world(**dict(given)).system
    moves = []
    for number in range(WALKS):
        random = Random(number)
        (state, *_) = system.initial()
        for _ in range(LENGTH):
            move = drawn(system, state, random, binding.seldom)
            if move is None:
                break
            moves.append(move)
            state = move.target
    return tuple(moves)


def probes_of(binding: Binding, system: Composed[Any, Any], states: int = KNOWN) -> Probes:
    """Return the inputs that this many states of the instance's graph show."""
    return Probes(binding, system.rules, _shown(system, states))


def _shown(system: Composed[Any, Any], states: int) -> Iterator[Move[Any]]:
    moves = Moves(system)
    graph = explore(moves, limit=states, invariants={}).graph
    # The last level was found but not explored: all states serve equally well here.
    for state in graph.states[:states]:
        yield from moves.of(state)
