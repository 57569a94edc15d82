"""Model and cores in lockstep, beyond the graphs that are replayed whole.

Two kinds of runs alternate. In the first, a whole instance of any size follows the model's moves.
In the second, a single node receives inputs in any order, some of them mixtures that no small
instance has; the model's handler gives the expected result. A run depends only on the seed and its
number. A mismatch is shortened to the steps that it needs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from raincheck.conformance.bindings.binding import Binding, MakeCore
from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Refused

from .cores import Cores, Mismatch, Problem, probe
from .drawing import drawn
from .probes import Probes, refuses
from .steps import find_move, step_of

LENGTH: Final = 60
"""The most steps of a run."""

DRAWS: Final = 8
"""The most inputs drawn to find one that the model accepts; the last one is taken if none is."""


class Instance(NamedTuple):
    """An instance, the inputs known for it, and the invariants of its states."""

    name: str
    system: Composed[Any, Any]
    probes: Probes
    promised: Mapping[str, Callable[[Any], bool]] = MappingProxyType({})
    given: Mapping[str, Any] | None = None
    """The arguments of `Binding.world` that make the instance; None if it is a case's."""


@dataclass(slots=True)
class Walked:
    """The result of a number of runs."""

    seed: int
    runs: int = 0
    steps: int = 0
    refusals: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    mismatch: Mismatch | None = None
    """The mismatch, found in the last of the runs."""

    def figures(self) -> dict[str, object]:
        """Return the figures for a result."""
        return {
            "seed": self.seed,
            "examples": self.runs,
            "steps": self.steps,
            "refusals": self.refusals,
            "steps_by_action": dict(sorted(self.actions.items())),
        }

    def text(self) -> str:
        """Return the mismatch and how to reproduce it; "" if there is none."""
        if self.mismatch is None:
            return ""
        lines = [self.mismatch.text()]
        if self.mismatch.schedule is not None:
            lines += [
                "save the next line as lockstep.jsonl, then:"
                " raincheck generate --schedule lockstep.jsonl",
                json.dumps(self.mismatch.schedule),
            ]
        return "\n".join(lines)


def lockstep(
    binding: Binding,
    instances: Sequence[Instance],
    *,
    seed: int,
    runs: int,
    first: int = 1,
    make: MakeCore | None = None,
    shrink: bool = True,
) -> Walked:
    """Make the runs `first` .. `runs` until the first mismatch."""
    found = Walked(seed)
    for number in range(first, runs + 1):
        random = Random(f"{seed}/{number}")
        instance = random.choice(instances)
        alone = number % 2 == 0
        where = f"seed {seed}, run {number} ({instance.name}{', one node' if alone else ''})"
        run = (_Alone if alone else _Whole)(binding, instance, make, where)
        found.runs += 1
        run.go(random)
        found.refusals += run.refusals
        for move in run.moves:
            size = instance.system.size(move)
            found.steps += size
            found.actions[move.action] += size
        if run.mismatch is not None:
            found.mismatch = run.shortened() if shrink else run.mismatch
            break
    return found


class _Run:
    """One run: the moves made so far, and the mismatch of the last of them."""

    def __init__(
        self, binding: Binding, instance: Instance, make: MakeCore | None, where: str
    ) -> None:
        self.binding, self.instance, self.make, self.where = binding, instance, make, where
        self.moves: list[Move[Any]] = []
        self.refusals = 0
        self.mismatch: Mismatch | None = None
        self.cores = Cores(binding, instance.system, make)

    def go(self, random: Random) -> None:
        """Make random steps."""
        try:
            self.begin(random)
            for _ in range(LENGTH):
                if not self.step(random):
                    break
        except Problem as problem:
            self.fail(problem)

    def again(self, items: Sequence[Any]) -> _Run:
        """Return a run of these items, as far as they are possible."""
        # A probe that was offered in a state has to be offered again.
        instance = self.instance._replace(probes=self.instance.probes.afresh())
        run = type(self)(self.binding, instance, self.make, self.where)
        try:
            run.begin_like(self)
            for item in items:
                run.repeat(item)
        except Problem as problem:
            run.fail(problem)
        return run

    def fail(self, problem: Problem) -> None:
        self.mismatch = Mismatch(
            self.where,
            tuple(self.moves),
            problem.problem,
            problem.differences,
            self.schedule(),
        )

    def schedule(self) -> dict[str, Any] | None:
        """Return the moves as one record of a file of schedules, or None if they do not fit into
        one.
        """
        return None

    def shortened(self) -> Mismatch:
        """Return the mismatch with fewer moves: without any one of them it would disappear."""
        best, size = self, max(len(self.moves) // 2, 1)
        while size:
            place = len(best.moves) - size
            while place >= 0:
                items = best.items()
                less = best.again([*items[:place], *items[place + size :]])
                if less.mismatch is not None and len(less.moves) < len(best.moves):
                    best = less
                    place = min(place, len(best.moves)) if size > 1 else len(best.moves)
                place -= size
            size //= 2
        assert best.mismatch is not None
        return best.mismatch

    def begin(self, random: Random) -> None:
        raise NotImplementedError

    def begin_like(self, other: Any) -> None:
        raise NotImplementedError

    def step(self, random: Random) -> bool:
        raise NotImplementedError

    def items(self) -> list[Any]:
        """Return the items from which `repeat` makes the moves again."""
        raise NotImplementedError

    def repeat(self, item: Any) -> None:
        raise NotImplementedError


class _Whole(_Run):
    """A run of all nodes and the network by the model's moves, drawn by action first."""

    state: Any = None

    def begin(self, random: Random) -> None:
        self._start(random.choice(list(self.instance.system.initial())))

    def begin_like(self, other: _Whole) -> None:
        self._start(other.first)

    def _start(self, state: Any) -> None:
        self.first = self.state = state
        self.cores.begin(state)

    def step(self, random: Random) -> bool:
        move = drawn(self.instance.system, self.state, random, self.binding.seldom)
        if move is not None:
            self._make(move)
        return move is not None

    def items(self) -> list[dict[str, Any]]:
        """Return the moves as the steps of a schedule."""
        before = [self.first, *(move.target for move in self.moves)]
        system = self.instance.system
        pairs = zip(before, self.moves, strict=False)
        return [step_of(system, state, move) for state, move in pairs]

    def repeat(self, item: Mapping[str, Any]) -> None:
        move = find_move(self.instance.system, self.state, item)
        if move is not None:
            self._make(move)

    def schedule(self) -> dict[str, Any] | None:
        """Return the moves as a record: of the case, or of the instance that it brings along."""
        instance = self.instance
        if self.first != next(iter(instance.system.initial())):
            return None
        record: dict[str, Any] = {"protocol": self.binding.protocol, "case": instance.name}
        if instance.given is not None:
            record["instance"] = dict(instance.given)
        return {**record, "steps": self.items()}

    def _make(self, move: Move[Any]) -> None:
        self.moves.append(move)
        self.cores.perform(move)
        self.state = move.target
        for name, holds in self.instance.promised.items():
            if not holds(self.state):
                raise Problem(f"{name} is violated")
        if move.node is not None:
            probes = self.instance.probes
            before = probes.refused.total()
            try:
                probe(self.cores, probes, self.state, (move.node,))
            finally:
                self.refusals += probes.refused.total() - before


class _Alone(_Run):
    """A run of one node with inputs in any order; a move's target is its next local state."""

    def begin(self, random: Random) -> None:
        system = self.instance.system
        self._start(random.choice(list(system.initial())), random.choice(system.nodes))

    def begin_like(self, other: _Alone) -> None:
        self._start(other.first, other.node)

    def _start(self, state: Any, node: str) -> None:
        self.first, self.node = state, node
        self.cores.begin(state)

    @property
    def local(self) -> Any:
        return self.cores.locals[self.node]

    def step(self, random: Random) -> bool:
        probes, rules = self.instance.probes, self.instance.system.rules
        if not probes.by_action:
            return False
        chosen = None
        for _ in range(DRAWS):
            event = probes.draw(random)
            if self.binding.assumes(rules, self.local, event):
                chosen = event
                if not isinstance(self._answer(event), Refused):
                    break
        if chosen is not None:
            self._make(chosen)
        return True

    def items(self) -> list[Any]:
        """Return the inputs."""
        return [move.event for move in self.moves]

    def repeat(self, item: Any) -> None:
        self._make(item)

    def _answer(self, event: Any) -> Any:
        try:
            return self.instance.probes.answer(self.local, event)
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"
            raise Problem(f"the model cannot answer {event!r}: {raised}") from error

    def _make(self, event: Any) -> None:
        answer = self._answer(event)
        refused = isinstance(answer, Refused)
        local = self.local if refused else answer.local
        outputs = () if refused else answer.outputs
        action = type(event).__name__
        move = Move(action, (self.node, *event), local, self.node, event, outputs)
        self.moves.append(move)
        if refused:
            self.refusals += 1
            mistake = refuses(self.binding, self.cores.cores[self.node], self.local, event)
            if mistake:
                raise Problem(f"{self.node} {mistake}")
        else:
            self.cores.handle(self.node, move, local)
