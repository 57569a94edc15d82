"""Any protocol's model and real cores in lockstep, beyond the graphs that are replayed whole.

Two kinds of runs take turns. In the one a whole instance goes where the model's moves lead, however
large it is. In the other a single node is handed inputs in any order, some of them mixtures that no
small instance has; the model's handler says what must come of each. A run depends only on the seed
and its number. What goes wrong is shortened to the steps that it takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, NamedTuple

from raincheck.conformance.bindings.binding import Binding, MakeCore
from raincheck.model.machine.composed import Composed, Move
from raincheck.model.machine.machine import Refused

from .cores import Cores, Mismatch, Problem
from .offers import Offers, refuses

LENGTH: Final = 60
"""Most steps of a run."""

DRAWS: Final = 8
"""So many inputs are drawn until one is found that the model accepts; the last one is taken."""


class Instance(NamedTuple):
    """A bounded instance, and the inputs known of it."""

    name: str
    system: Composed[Any, Any]
    offers: Offers


@dataclass(slots=True)
class Walked:
    """What a number of runs came to."""

    seed: int
    runs: int = 0
    steps: int = 0
    refusals: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    mismatch: Mismatch | None = None
    """Found in the last of the runs."""

    def figures(self) -> dict[str, object]:
        """Return the figures of a result."""
        return {
            "seed": self.seed,
            "examples": self.runs,
            "steps": self.steps,
            "refusals": self.refusals,
            "steps_by_action": dict(sorted(self.actions.items())),
        }


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
        found.steps += len(run.moves)
        found.refusals += run.refusals
        found.actions.update(move.action for move in run.moves)
        if run.mismatch is not None:
            found.mismatch = run.shortened() if shrink else run.mismatch
            break
    return found


class _Run:
    """One run: the moves made so far, and what went wrong with the last of them."""

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

    def again(self, moves: Sequence[Move[Any]]) -> Mismatch | None:
        """Make these steps as far as they are possible, and return what goes wrong."""
        run = type(self)(self.binding, self.instance, self.make, self.where)
        try:
            run.begin_like(self)
            for move in moves:
                run.repeat(move)
        except Problem as problem:
            run.fail(problem)
        return run.mismatch

    def fail(self, problem: Problem) -> None:
        self.mismatch = Mismatch(
            self.where, tuple(self.moves), problem.problem, problem.differences
        )

    def shortened(self) -> Mismatch:
        """Return the mismatch with fewer moves, as long as leaving one out keeps it one."""
        assert self.mismatch is not None
        best = self.mismatch
        place = len(best.moves) - 1
        while place >= 0:
            less = self.again((*best.moves[:place], *best.moves[place + 1 :]))
            if less is not None and len(less.moves) < len(best.moves):
                best = less
            place = min(place, len(best.moves)) - 1
        return best

    def begin(self, random: Random) -> None:
        raise NotImplementedError

    def begin_like(self, other: Any) -> None:
        raise NotImplementedError

    def step(self, random: Random) -> bool:
        raise NotImplementedError

    def repeat(self, move: Move[Any]) -> None:
        raise NotImplementedError


class _Whole(_Run):
    """All nodes and the network: the model's moves, drawn by action first."""

    state: Any = None

    def begin(self, random: Random) -> None:
        self._start(random.choice(list(self.instance.system.initial())))

    def begin_like(self, other: _Whole) -> None:
        self._start(other.first)

    def _start(self, state: Any) -> None:
        self.first = self.state = state
        self.cores.begin(state)

    def step(self, random: Random) -> bool:
        by_action: dict[str, list[Move[Any]]] = {}
        for move in self.instance.system.moves(self.state):
            by_action.setdefault(move.action, []).append(move)
        if not by_action:
            return False
        self._make(random.choice(by_action[random.choice(list(by_action))]))
        return True

    def repeat(self, move: Move[Any]) -> None:
        for each in self.instance.system.moves(self.state):
            if each[:2] == move[:2] and each.event == move.event and each.node == move.node:
                self._make(each)
                return

    def _make(self, move: Move[Any]) -> None:
        self.moves.append(move)
        self.cores.perform(move)
        self.state = move.target
        if move.node is not None:
            offers, core = self.instance.offers, self.cores.cores[move.node]
            before = offers.refused.total()
            mistake = offers.probe(move.node, self.cores.locals[move.node], core)
            self.refusals += offers.refused.total() - before
            if mistake:
                raise Problem(f"then {move.node} {mistake}")


class _Alone(_Run):
    """One node and inputs in any order. A move's target is the node's next local state."""

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
        offers, rules = self.instance.offers, self.instance.system.rules
        if not offers.by_action:
            return False
        chosen = None
        for _ in range(DRAWS):
            event = offers.draw(random)
            if self.binding.assumes(rules, self.local, event):
                chosen = event
                if not isinstance(self._answer(event), Refused):
                    break
        if chosen is not None:
            self._make(chosen)
        return True

    def repeat(self, move: Move[Any]) -> None:
        self._make(move.event)

    def _answer(self, event: Any) -> Any:
        try:
            return self.instance.offers.answer(self.local, event)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise Problem(f"the model cannot answer {event!r}: {told}") from error

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
            self.cores.handle(move, local)
