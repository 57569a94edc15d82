"""Proofs by induction: the obligations, and Z3's answer to each of them.

An obligation is one of three: a conjunct holds initially; an action preserves it, if the whole
invariant holds before; or the invariant implies a property. Z3 looks for an instance in which it
fails. Only `unsat` counts as proof; any other answer leaves the obligation open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final

import z3

from .logic import SORTS, Expr, Function, Not, Patterns, Unbounded, World, declared

TIMEOUT: Final = 10_000  # milliseconds for one obligation and one seed
EFFORT: Final = 600_000
"""Z3's own units that a solver which obligations share has for each, some 3 million a second."""


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A universal statement: its variables' kinds, its body, and the terms that trigger it."""

    name: str
    says: str
    kinds: tuple[str, ...]
    body: Callable[..., Expr]
    patterns: Patterns | None = None
    apart: Callable[..., Sequence[Expr]] | None = None
    """Conditions on the state before; the cases in which they hold and do not are proved apart."""
    rests_on: tuple[str, ...] = ()
    """The conjuncts from which it is proved to be kept; if none is named, all that serve it.

    Terms of the others would only lead the solver astray, further with one seed than with another.
    """
    serves: tuple[str, ...] = ()
    """The claims that alone are proved from it, beside itself; if none is named, all are."""

    def formula(self, s: World) -> Expr:
        """Return the statement in that world."""
        patterns = self.patterns
        return s.forall(
            self.kinds,
            lambda *values: self.body(s, *values),
            None if patterns is None else lambda *values: patterns(s, *values),
        )


@dataclass(frozen=True, slots=True)
class Transition:
    """One branch of an action: its parameters (name and kind; a "set" is one of processes)."""

    action: str
    case: str
    parameters: tuple[tuple[str, str], ...]
    guard: Callable[..., Expr]
    updates: Callable[..., Mapping[str, Function]]

    @property
    def name(self) -> str:
        """Return the action's name, with the branch where there are several."""
        return f"{self.action}: {self.case}" if self.case else self.action


@dataclass(frozen=True, slots=True)
class Property:
    """A property that the invariant must imply, under the spec's name."""

    name: str
    says: str
    formula: Callable[[World], Expr]
    rests_on: tuple[str, ...] = ()
    """The conjuncts from which it is proved; if none is named, all that serve it."""


@dataclass(frozen=True, slots=True)
class Theory:
    """A protocol in the form that Z3 reads."""

    name: str
    symbols: Mapping[str, tuple[Sequence[str], str]]  # argument kinds and result kind
    rigid: Mapping[str, tuple[Sequence[str], str]]
    axioms: tuple[Conjunct, ...]
    initial: Callable[[World], tuple[Expr, Mapping[str, Function]]]
    transitions: tuple[Transition, ...]
    invariant: tuple[Conjunct, ...]
    properties: tuple[Property, ...]
    plausible: tuple[Conjunct, ...] = ()
    """True of reachable states but not needed for the proof: keeps counterexamples lifelike."""
    ranges: Mapping[str, int] = field(default_factory=dict)
    """How many values a symbol has that is a number and stands for a few words, such as a status.

    Bounded instances try 0 up to that.
    """
    compiled: dict[str, Any] = field(init=False, default_factory=dict, repr=False, compare=False)
    """What concrete.py makes of it."""

    def world(self) -> World:
        """Return the arbitrary state that proofs are about."""
        functions: dict[str, Function] = {}
        for name, (arguments, result) in {**self.rigid, **self.symbols}.items():
            sorts = [SORTS[kind] for kind in arguments]
            functions[name] = declared(name, sorts, SORTS[result])
        return World(functions, Unbounded())


def parameters(transition: Transition) -> list[Any]:
    """Return constants for the transition's parameters."""
    found: list[Any] = []
    for name, kind in transition.parameters:
        if kind == "set":
            found.append(z3.Function(f"{name}!", SORTS["process"], z3.BoolSort()))
        else:
            found.append(z3.Const(f"{name}!", SORTS[kind]))
    return found


@dataclass(frozen=True, slots=True)
class Obligation:
    """A statement to prove: the assumptions refute the goal's negation."""

    kind: str  # "initially", "kept", "implied", or "owed" by a composition
    claim: str  # the conjunct's or the property's name
    transition: str  # "" unless kind is "kept"
    assumptions: tuple[Any, ...]
    denied: Any  # the negated goal; False where the transition does not touch the claim


@dataclass(frozen=True, slots=True)
class Attempt:
    """The answer of Z3 to one obligation with one seed."""

    obligation: Obligation
    seed: int
    proved: bool
    seconds: float
    reason: str = ""


def obligations(
    theory: Theory,
    claims: Collection[str] | None = None,
    transitions: Collection[str] | None = None,
) -> list[Obligation]:
    """Return all obligations of the theory.

    `claims` leaves only those about the named conjuncts and the properties; `transitions`, of what
    has to be kept, only what the named transitions have to keep.
    """
    conjuncts = [each for each in theory.invariant if claims is None or each.name in claims]
    s = theory.world()
    axioms = tuple(axiom.formula(s) for axiom in theory.axioms)
    formulas = [(each, each.formula(s)) for each in theory.invariant]

    def assumed(claim: Conjunct | Property) -> tuple[Expr, ...]:
        def needed(each: Conjunct) -> bool:
            if claim.rests_on:
                return each.name in claim.rests_on
            return not each.serves or claim.name in (each.name, *each.serves)

        return (*axioms, *(formula for each, formula in formulas if needed(each)))

    condition, values = theory.initial(s)
    start = s.after(values)
    found = [
        Obligation("initially", each.name, "", (*axioms, condition), _denied(each, start))
        for each in conjuncts
    ]
    as_before = [_denied(each, s) for each in conjuncts]
    for transition in theory.transitions:
        if transitions is not None and transition.name not in transitions:
            continue
        chosen = parameters(transition)
        guard = transition.guard(s, *chosen)
        after = s.after(transition.updates(s, *chosen))
        for each, before in zip(conjuncts, as_before, strict=True):
            denied = _denied(each, after)
            if z3.is_expr(denied) and denied.eq(before):
                denied = False  # the action changes nothing that the conjunct mentions
            for case in [()] if denied is False else _cases(each, s):
                known = (*assumed(each), guard, *case)
                found.append(Obligation("kept", each.name, transition.name, known, denied))
    found += [
        Obligation("implied", goal.name, "", assumed(goal), Not(goal.formula(s)))
        for goal in theory.properties
    ]
    return found


def _values(conjunct: Conjunct) -> list[Any]:
    """Return fresh values, one for each of the conjunct's variables."""
    return [z3.Const(f"{kind}!{i}", SORTS[kind]) for i, kind in enumerate(conjunct.kinds)]


def _denied(conjunct: Conjunct, s: World) -> Expr:
    """Return the negation of the conjunct for fresh values."""
    return Not(conjunct.body(s, *_values(conjunct)))


def _cases(conjunct: Conjunct, s: World) -> list[tuple[Expr, ...]]:
    """Return every combination of the conditions that are examined apart; they are exhaustive."""
    if conjunct.apart is None:
        return [()]
    conditions = conjunct.apart(s, *_values(conjunct))
    return list(product(*((each, Not(each)) for each in conditions)))


def attempt(obligation: Obligation, seed: int, timeout: int = TIMEOUT) -> Attempt:
    """Try to prove one obligation in a solver of its own."""
    if obligation.denied is False:
        return Attempt(obligation, seed, True, 0.0, "untouched")
    started = time.monotonic()
    solver = _solver(seed, timeout, z3.Context())
    _add(solver, [*obligation.assumptions, obligation.denied])
    answer = solver.check()
    return Attempt(
        obligation,
        seed,
        answer == z3.unsat,
        time.monotonic() - started,
        "" if answer == z3.unsat else f"{answer} ({solver.reason_unknown()})",
    )


class Prover:
    """Tries obligations one after the other, with one seed.

    Those with the same quantified assumptions share a solver that has read them already; reading
    them takes longer than most proofs. An obligation that it does not prove with some effort is
    tried alone, so what it has learnt from others can help, but not spoil a proof.
    """

    def __init__(self, seed: int, timeout: int = TIMEOUT) -> None:
        self._seed, self._timeout = seed, timeout
        self._solvers: dict[tuple[int, ...], z3.Solver] = {}

    def attempt(self, obligation: Obligation) -> Attempt:
        """Try to prove one obligation."""
        if obligation.denied is False:
            return attempt(obligation, self._seed, self._timeout)
        started = time.monotonic()
        shared, own = list[Any](), list[Any]()
        for each in obligation.assumptions:
            (shared if isinstance(each, z3.QuantifierRef) else own).append(each)
        key = tuple(each.get_id() for each in shared)
        solver = self._solvers.get(key)
        if solver is None:
            solver = self._solvers[key] = _solver(self._seed, self._timeout, z3.Context())
            solver.set("rlimit", EFFORT)
            _add(solver, shared)
        solver.push()
        _add(solver, [*own, obligation.denied])
        proved = solver.check() == z3.unsat
        solver.pop()
        seconds = time.monotonic() - started
        if proved:
            return Attempt(obligation, self._seed, True, seconds)
        alone = attempt(obligation, self._seed, self._timeout)
        return replace(alone, seconds=seconds + alone.seconds)


def _add(solver: z3.Solver, formulas: Sequence[Any]) -> None:
    for each in formulas:
        solver.add(each.translate(solver.ctx) if z3.is_expr(each) else each)


def _solver(seed: int, timeout: int, context: z3.Context) -> z3.Solver:
    # The context is the solver's own: no term that was made before changes its answers.
    solver = z3.SimpleSolver(ctx=context)
    solver.set("timeout", timeout)
    solver.set("random_seed", seed)
    # Z3 would take a Ctrl-C for itself, give up this obligation, and the proof would go on.
    solver.set("ctrl_c", False)
    # Quantifiers are instantiated only by their patterns: a proof is found fast or not at all.
    solver.set("mbqi", False)
    solver.set("auto_config", False)
    return solver
