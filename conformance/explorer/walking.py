"""A case as one walks through it: the model's states, the steps from each, the graph around it.

The model finds the steps. Where the implementation has the case's rules, each step is taken by real
cores too, which go the whole way from the initial state, and compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding, binding_of
from raincheck.conformance.cases.case import Case
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.protocols.registry import protocols
from raincheck.conformance.replay.cores import Cores, Problem
from raincheck.conformance.replay.replayable import cannot_be_made
from raincheck.conformance.verbs.mirror import machine_of
from raincheck.model.machine.composed import Composed
from raincheck.model.machine.composed import Move as Taken
from raincheck.model.machine.explore import explore
from raincheck.model.machine.machine import Value
from raincheck.model.machine.values import identical

from .around import around
from .document import CODE, MODEL, Move, State
from .faces import Faces, call_of, changed, variables_of
from .places import ALONE, ENVIRONMENT, Sources, lack_of_code
from .tlatext import definitions
from .watching import Seen, watching

KNOWN: Final = 3_000
"""The most states of the graph that are found beforehand."""


class Walk:
    """The walk through one case by its model."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.system: Any = machine_of(case.protocol, case.constants, case.name)
        self.binding = _binding(case.protocol)
        self.lacking = self._lacking()
        """Why no real core can follow; "" if cores can."""
        core = None if self.binding is None else any_core(self.binding, self.system)
        known = definitions(case.module)
        self.faces = Faces(Sources(known, self.system, self.binding, core), case.constants)
        found = explore(self.system, limit=KNOWN, invariants={})
        graph = found.graph
        self.states: list[Any] = list(graph.states)
        self.whole = found.complete
        self.edges = graph.edge_count
        self.numbers = {state: number for number, state in enumerate(self.states)}
        self.came: dict[int, tuple[int, Taken[Any]]] = {}
        """By state, the state before on the way from the initial one, and the step from there."""
        self.initial = tuple(graph.initial)
        self.before: dict[int, dict[int, str]] = {}
        """By state, the states that were seen to lead there, and by which step."""
        if hasattr(self.system, "nodes"):
            self.nodes: tuple[str, ...] = tuple(self.system.nodes)
        else:
            constants: Any = getattr(self.system, "constants", None)
            self.nodes = tuple(getattr(constants, "node", ()))
        for source, label, target in graph.edges():
            if source != target:
                call = self.call(label.action, label.args)
                self.before.setdefault(target, {}).setdefault(source, call)
        self._moves: dict[int, list[Taken[Any]]] = {}
        self._reached = {*self.initial}
        self._front = list(self.initial)

    @property
    def size(self) -> str:
        """How much of the graph is known, in words."""
        count = f"{len(self.states):,} states"
        if self.whole:
            return f"The whole state graph: {count}, {self.edges:,} edges."
        return f"The state graph has more than {KNOWN:,} states; it is explored as one walks."

    def _lacking(self) -> str:
        if self.binding is None:
            return ALONE
        if not hasattr(self.system, "moves"):
            return "The model does not say which node handles what."
        other = cannot_be_made(self.binding, self.system.rules)
        if other:
            return f"No core follows: the implementation has no switch for {other}."
        return ""

    def moves(self, number: int) -> list[Taken[Any]]:
        """Return the steps from a state, those that change nothing at the end."""
        if number not in self._moves:
            found = list(taken(self.system, self.states[number]))
            found.sort(key=lambda each: each.target == self.states[number])
            self._moves[number] = found
            for each in found:
                target = self.number_of(each.target)
                if target != number:
                    call = self.call(each.action, each.args)
                    self.before.setdefault(target, {}).setdefault(number, call)
        return self._moves[number]

    def number_of(self, state: Any) -> int:
        """Return the state's number; a new state gets one."""
        if state not in self.numbers:
            self.numbers[state] = len(self.states)
            self.states.append(state)
        return self.numbers[state]

    # ------------------------------------------------------------------ ways

    def begin(self, variables: dict[str, Value]) -> int | None:
        """Return the initial state with these variables."""
        return next((n for n in self.initial if self._is(n, variables)), None)

    def follow(self, number: int, action: str, variables: dict[str, Value]) -> int | None:
        """Return which step from the state leads to these variables, by its place in `moves`."""
        fits = [
            at
            for at, each in enumerate(self.moves(number))
            if self._is(self.number_of(each.target), variables)
        ]
        named = [at for at in fits if self.moves(number)[at].action == action]
        return next(iter(named or fits), None)

    def _is(self, number: int, variables: dict[str, Value]) -> bool:
        mine = self.system.variables(self.states[number])
        return mine.keys() == variables.keys() and all(
            identical(mine[name], value) for name, value in variables.items()
        )

    def way_to(self, number: int) -> tuple[int, list[Taken[Any]]]:
        """Return the first state and the steps of a way to the state, from an initial one."""
        while number not in self._reached and self._front:
            front, self._front = self._front, []
            for source in front:
                for each in self.moves(source):
                    target = self.number_of(each.target)
                    if target not in self._reached:
                        self._reached.add(target)
                        self._front.append(target)
                        self.came[target] = source, each
        steps: list[Taken[Any]] = []
        while number in self.came:
            number, step = self.came[number]
            steps.append(step)
        return number, steps[::-1]

    def went(self, source: int, move: int) -> int:
        """Note that somebody walked there, so that the way need not be looked for."""
        step = self.moves(source)[move]
        target = self.number_of(step.target)
        if target not in self._reached and (source in self._reached or source in self.came):
            self._reached.add(target)
            self._front.append(target)
            self.came[target] = source, step
        return target

    # ------------------------------------------------------------------ the document

    def state(self, number: int) -> State:
        """Return all that the page shows of a state."""
        with watching(self._folder(MODEL)) as seen:
            if isinstance(self.system, Composed):
                self.system.forget()  # or known answers would not be asked for again
            for _ in taken(self.system, self.states[number]):
                pass
        variables = self.system.variables(self.states[number])
        for at in range(len(self.moves(number))):
            self.went(number, at)
        moves = tuple(self._move(number, at, variables) for at in range(len(self.moves(number))))
        able = {(each.action, each.node) for each in moves}
        actions = getattr(self.system, "handlers", {})
        refused = self.faces.refused(seen.refusals, actions)
        return State(
            id=str(number),
            variables=variables_of(variables),
            moves=moves,
            broken=tuple(self.broken(number)),
            refused=tuple(each for each in refused if (each.action, each.node) not in able),
            around=around(self, number),
            places={name: self.faces.places[name] for move in moves for name in move.ran},
        )

    def broken(self, number: int) -> Iterator[str]:
        """Yield the invariants that are false in the state, as far as the case asks for them."""
        for name, holds in self.system.invariants.items():
            if name in self.case.properties and not holds(self.states[number]):
                yield name

    def _folder(self, face: str) -> list[Path]:
        sources = self.faces.sources
        found = sources.model_folder if face == MODEL else sources.code_folder
        return [] if found is None else [found]

    def _move(self, number: int, at: int, before: dict[str, Value]) -> Move:
        step = self.moves(number)[at]
        state = self.states[number]
        arguments = [str(each) for each in step.args]
        seen, did = Seen(), ""
        if step.node is not None:
            handler = self.system.handlers[step.action]
            with watching(self._folder(MODEL)) as seen:
                handler(self.system.rules, self.system.local(state, step.node), step.event)
        ran, model = self.faces.ran(step.action, seen)
        code: list[str] = []
        if step.node is None or lack_of_code(step.action, self.binding):
            did = ENVIRONMENT if step.node is None else ""
        else:
            also, did = self._by_cores(number, step)
            lines, code = self.faces.ran(step.action, also)
            ran |= lines
        return Move(
            action=step.action,
            call=self.call(step.action, step.args),
            target=str(self.number_of(step.target)),
            node=step.node or next((each for each in arguments[:1] if each in self.nodes), ""),
            guard=self.faces.guard(step.action, before, arguments, seen.asked),
            changes=changed(before, self.system.variables(step.target)),
            outputs=tuple(map(repr, step.outputs)),
            ran=ran,
            helpers={MODEL: tuple(model), CODE: tuple(code)},
            code=did,
        )

    def call(self, action: str, arguments: Sequence[Value]) -> str:
        """Return the action with its arguments, as many as the specification's has."""
        count = self.faces.parameters(action)
        return call_of(action, arguments if count is None else arguments[: max(1, count)])

    def _by_cores(self, number: int, step: Taken[Any]) -> tuple[Seen, str]:
        """Let real cores go the way to the state and take the step; return what they did."""
        if self.lacking or self.binding is None:
            return Seen(), self.lacking
        first, way = self.way_to(number)
        cores = Cores(self.binding, self.system)
        seen = Seen()
        try:
            cores.begin(self.states[first])
            for each in way:
                cores.perform(each)
            with watching(self._folder(CODE)) as seen:
                cores.perform(step)
        except Problem as problem:
            words = "; ".join([str(problem), *map(str, problem.differences)])
            return seen, f"The core differs from the model: {words}."
        return seen, "The real core took this step too: same state, same outputs."

    def bad(self, number: int) -> bool:
        """Tell whether an invariant is false in the state."""
        return any(True for _ in self.broken(number))


def taken(system: Any, state: Any) -> Iterator[Taken[Any]]:
    """Yield the steps of any model as moves; a model without local handlers has none of a node."""
    if hasattr(system, "moves"):
        yield from system.moves(state)
        return
    for step in system.steps(state):
        yield Taken(step.action, step.args, step.target)


def any_core(binding: Binding, system: Any) -> Any:
    """Return a core of the implemented rules, which knows its handlers; None without a node."""
    state, nodes = next(iter(system.initial()), None), getattr(system, "nodes", ())
    if state is None or not nodes:
        return None
    return binding.make_core(binding.rules(), system.local(state, nodes[0]))


def _binding(protocol: str) -> Binding | None:
    record = protocols().get(protocol)
    if record is None or not record.offers("binding"):
        return None
    try:
        return binding_of(protocol)
    except (UsageError, Inconclusive):
        return None
