"""Counterexamples to induction: the smallest state from which a step fails.

The formulas are the same; quantifiers range over a few processes and numbers, so Z3 always decides.
A state that it finds is evaluated once more in plain Python before it is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import z3

from .concrete import Frame, Tables
from .induction import Conjunct, Theory, Transition
from .logic import Bounded, Expr, Function, Not, World, declared, is_number

SIZES: Final = ((2, 2), (2, 3), (3, 3))
"""Numbers of processes, and the largest number, in the order in which they are tried."""
EFFORTS: Final = (10_000_000, 20_000_000, 40_000_000)
"""Z3's own units for one question, some 3 million a second: the same on a busy machine. Each try
has another seed, because Z3 is seldom unlucky twice.
"""


@dataclass(frozen=True, slots=True)
class Failure:
    """A counterexample to induction: the invariant holds before, the conjunct fails after."""

    conjunct: Conjunct
    transition: Transition
    parameters: tuple[Any, ...]
    values: tuple[Any, ...]  # of the conjunct's variables
    before: Tables
    after: Tables
    frame: Frame


class Search:
    """A search for failures of one theory, the smallest first."""

    def __init__(self, theory: Theory, assumed: Sequence[Conjunct] | None = None) -> None:
        """Search where `assumed` holds before, by default the whole invariant."""
        self.theory = theory
        self.assumed = (*(theory.invariant if assumed is None else assumed), *theory.plausible)
        self._spaces: dict[tuple[int, int], _Space] = {}

    def _space(self, size: tuple[int, int]) -> _Space:
        if size not in self._spaces:
            self._spaces[size] = _Space(self.theory, self.assumed, *size)
        return self._spaces[size]

    def enabled(self, transition: Transition) -> bool:
        """Tell whether the transition can occur where the invariant holds (it is not vacuous)."""
        nothing = Conjunct("False", "Nothing holds.", (), lambda _: False)
        return any(self._space(size).failure(nothing, transition) is not None for size in SIZES)

    def failure(self, conjunct: Conjunct, transition: Transition) -> Failure | None:
        """Return a failure of that step, or None if there is none of these sizes."""
        for size in SIZES:
            found = self._space(size).failure(conjunct, transition)
            if found is not None:
                return _smaller(found, self.assumed)
        return None


def breaks(failure: Failure, assumed: Sequence[Conjunct], before: Tables) -> Tables | None:
    """Return the state after if the step from `before` fails too; evaluated, not solved."""
    frame, transition = failure.frame, failure.transition
    s = frame.world(before)
    if transition.guard(s, *failure.parameters) is not True:
        return None
    after = frame.applied(before, transition.updates(s, *failure.parameters))
    if failure.conjunct.body(frame.world(after), *failure.values) is not False:
        return None
    return after if all(each.formula(s) is True for each in assumed) else None


def _smaller(failure: Failure, assumed: Sequence[Conjunct]) -> Failure:
    """Return the failure without the values that it does not need, because Z3 invents many."""
    before, after = failure.before, failure.after
    shrinking = True
    while shrinking:
        shrinking = False
        for name in before:
            for values in sorted(before[name], reverse=True):
                less = {**before, name: {k: v for k, v in before[name].items() if k != values}}
                found = breaks(failure, assumed, less)
                if found is not None:
                    before, after, shrinking = less, found, True
    return replace(failure, before=before, after=after)


class _Space:
    """The worlds of so many processes and numbers. Processes are numbers too, distinct at once."""

    def __init__(
        self, theory: Theory, assumed: Sequence[Conjunct], processes: int, largest: int
    ) -> None:
        self.theory = theory
        self.assumed = assumed
        self.numbers = list(range(largest + 1))
        self.processes = list(range(processes))
        self.domain = _Domain(self.numbers, self.processes)
        symbols = {**theory.rigid, **theory.symbols}
        self.functions = {
            name: declared(
                name,
                [z3.IntSort()] * len(arguments),
                z3.BoolSort() if result == "bool" else z3.IntSort(),
            )
            for name, (arguments, result) in symbols.items()
        }
        self.world = World(self.functions, Bounded(self.domain))
        self.solver = z3.SimpleSolver()
        self.solver.set("ctrl_c", False)  # Z3 would keep an interruption to itself
        self._restrict()
        for each in (*theory.axioms, *assumed):
            self._add(each.formula(self.world))

    def _add(self, formula: Expr) -> None:
        if formula is not True:
            self.solver.add(formula)

    def _restrict(self) -> None:
        """Keep every value in the domain, and numbers below the largest, to have a successor."""
        for name, (arguments, result) in {**self.theory.rigid, **self.theory.symbols}.items():
            if result == "bool":
                continue
            ends = self.numbers[-1] if is_number(result) else len(self.processes)
            ends = self.theory.ranges.get(name, ends)
            for values in product(*(self.domain[kind] for kind in arguments)):
                value = self.functions[name](*values)
                self.solver.add(value >= 0, value < ends)

    def failure(self, conjunct: Conjunct, transition: Transition) -> Failure | None:
        chosen = [self._parameter(name, kind) for name, kind in transition.parameters]
        after = self.world.after(transition.updates(self.world, *chosen))
        variables = [z3.Int(f"{kind}?{i}") for i, kind in enumerate(conjunct.kinds)]
        self.solver.push()
        try:
            for (_, kind), constant in zip(transition.parameters, chosen, strict=True):
                self._in_domain(constant, kind)
            for constant, kind in zip(variables, conjunct.kinds, strict=True):
                self._in_domain(constant, kind)
            self._add(transition.guard(self.world, *chosen))
            self._add(Not(conjunct.body(after, *variables)))
            if self._answer() != z3.sat:
                return None
            return self._read(conjunct, transition, chosen, variables)
        finally:
            self.solver.pop()

    def _answer(self) -> z3.CheckSatResult:
        for seed, effort in enumerate(EFFORTS):
            self.solver.set("random_seed", seed)
            self.solver.set("rlimit", effort)
            answer = self.solver.check()
            if answer != z3.unknown:
                break
        return answer

    def _parameter(self, name: str, kind: str) -> Any:
        if kind == "set":
            return z3.Function(f"{name}?", z3.IntSort(), z3.BoolSort())
        return z3.Bool(f"{name}?") if kind == "bool" else z3.Int(f"{name}?")

    def _in_domain(self, constant: Any, kind: str) -> None:
        if kind not in ("bool", "set"):
            self.solver.add(constant >= 0, constant <= self.domain[kind][-1])

    def _read(
        self,
        conjunct: Conjunct,
        transition: Transition,
        chosen: Sequence[Any],
        variables: Sequence[Any],
    ) -> Failure | None:
        model = self.solver.model()

        def value(term: Any) -> Any:
            found = model.eval(term, model_completion=True)
            return z3.is_true(found) if z3.is_bool(found) else found.as_long()

        def table(name: str, kinds: Sequence[str]) -> dict[tuple[Any, ...], Any]:
            arguments = product(*(self.domain[kind] for kind in kinds))
            return {each: value(self.functions[name](*each)) for each in arguments}

        rigid = {name: table(name, kinds) for name, (kinds, _) in self.theory.rigid.items()}
        frame = Frame(
            self.theory,
            self.domain,
            {name: _function(values) for name, values in rigid.items()},
            lambda *_: True,
            nobody=0,
        )
        before: Tables = {}
        for name, (kinds, result) in self.theory.symbols.items():
            usual = frame.usual(result)
            before[name] = {k: v for k, v in table(name, kinds).items() if v != usual}
        parameters = tuple(
            frozenset(p for p in self.processes if value(term(p))).__contains__
            if kind == "set"
            else value(term)
            for (_, kind), term in zip(transition.parameters, chosen, strict=True)
        )
        values = tuple(value(term) for term in variables)
        found = Failure(conjunct, transition, parameters, values, before, {}, frame)
        after = breaks(found, self.assumed, before)
        if after is None:
            raise AssertionError(f"Z3's state does not break {conjunct.name} after all")
        return replace(found, after=after)


class _Domain(dict[str, Sequence[Any]]):
    """The values of each kind: numbers, and of any other kind as many as there are processes."""

    def __init__(self, numbers: Sequence[int], processes: Sequence[int]) -> None:
        super().__init__(bool=(False, True))
        self._numbers, self._others = numbers, processes

    def __missing__(self, kind: str) -> Sequence[Any]:
        self[kind] = self._numbers if is_number(kind) else self._others
        return self[kind]


def _function(values: Mapping[tuple[Any, ...], Any]) -> Function:
    return lambda *arguments: values[arguments]
