"""The sides of a theory's guards, and which of them explored edges have met.

A guard is a tree of conditions. A condition of a conjunction has to be seen false in an explored
state; an alternative of a disjunction has to be the only true one at an explored edge. A condition
that is never false might as well be missing, and an alternative that is never needed might as well
be forbidden: no run of the model would tell the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

import z3

from .induction import Theory, Transition, parameters
from .logic import World

Truth: TypeAlias = Callable[[World, Mapping[str, Any]], Any]
"""The value of a formula in a concrete world, with values for its parameters and variables."""

TRIES: Final = 40
"""How many choices of a transition's parameters are tried in one state."""


class Side(NamedTuple):
    """One side of one condition of a transition's guard."""

    transition: str
    says: str
    met: Truth
    at_edges: bool
    """Whether an explored edge has to meet it, or any explored state."""


def sides_of(theory: Theory) -> dict[str, list[Side]]:
    """Return the sides of all guards, by transition."""
    world = theory.world()
    found = {}
    for each in theory.transitions:
        guard = each.guard(world, *parameters(each))
        parts = _sides(each.name, guard, True) if z3.is_expr(guard) else ()
        found[each.name] = list({side.says: side for side in parts}.values())
    return found


def named(transition: Transition, values: tuple[Any, ...]) -> dict[str, Any]:
    """Return the values of the transition's parameters as its formulas name them."""
    return {f"{n}!": value for (n, _), value in zip(transition.parameters, values, strict=True)}


def drawn(
    transition: Transition, domain: Mapping[str, Any], draw: Random
) -> Iterator[dict[str, Any]]:
    """Yield some choices of the transition's parameters in a world of that domain."""
    for _ in range(TRIES if transition.parameters else 1):
        values: list[Any] = []
        for _, kind in transition.parameters:
            if kind == "set":
                chosen = [p for p in domain["process"] if draw.random() < 0.5]
                values.append(frozenset(chosen).__contains__)
            elif not domain[kind]:
                return
            else:
                values.append(draw.choice(domain[kind]))
        yield named(transition, tuple(values))


def _sides(transition: str, term: Any, positive: bool) -> Iterator[Side]:
    """Yield the sides below a term that has to be true, or false if it is not positive."""
    joint, parts = _parts(term, positive)
    truths = [_signed(part, sign) for part, sign in parts]
    for i, (part, sign) in enumerate(parts):
        if joint:
            yield Side(transition, f"not {_words(part, sign)}", _negated(truths[i]), False)
        else:
            others = [truth for j, truth in enumerate(truths) if j != i]
            says = f"only {_words(part, sign)}"
            yield Side(transition, says, _alone(truths[i], others), True)
        if len(_parts(part, sign)[1]) > 1:
            yield from _sides(transition, part, sign)


def _parts(term: Any, positive: bool) -> tuple[bool, list[tuple[Any, bool]]]:
    """Return whether the term is a conjunction, and its parts, each with its sign."""
    while z3.is_not(term):
        term, positive = term.children()[0], not positive
    if z3.is_implies(term):
        premise, conclusion = term.children()
        return not positive, [(premise, not positive), (conclusion, positive)]
    if z3.is_and(term) or z3.is_or(term):
        return z3.is_and(term) == positive, [(each, positive) for each in term.children()]
    return True, [(term, positive)]


def _words(term: Any, positive: bool) -> str:
    text = " ".join(re.sub(r"!(?!=)\d*", "", str(term)).split())
    return text if positive else f"Not({text})"


def _negated(truth: Truth) -> Truth:
    return lambda s, at: not truth(s, at)


def _alone(truth: Truth, others: list[Truth]) -> Truth:
    return lambda s, at: truth(s, at) and not any(other(s, at) for other in others)


def _signed(term: Any, positive: bool) -> Truth:
    truth = _read(term)
    return truth if positive else _negated(truth)


# ---------------------------------------------------------------------- formulas of Z3 in Python

_TWO: Final[Mapping[int, Callable[[Any, Any], Any]]] = {
    z3.Z3_OP_EQ: lambda a, b: a == b,
    z3.Z3_OP_DISTINCT: lambda a, b: a != b,
    z3.Z3_OP_LE: lambda a, b: a <= b,
    z3.Z3_OP_LT: lambda a, b: a < b,
    z3.Z3_OP_GE: lambda a, b: a >= b,
    z3.Z3_OP_GT: lambda a, b: a > b,
    z3.Z3_OP_SUB: lambda a, b: a - b,
    z3.Z3_OP_MUL: lambda a, b: a * b,
    z3.Z3_OP_IMPLIES: lambda a, b: b or not a,
}


def _read(term: Any) -> Truth:
    """Return the evaluation of the term; raise NotImplementedError if no guard needs such terms."""
    if z3.is_quantifier(term):
        return _quantified(term)
    parts = [_read(each) for each in term.children()]
    kind = term.decl().kind()
    if z3.is_int_value(term):
        number = term.as_long()
        return lambda _s, _at: number
    if kind == z3.Z3_OP_UNINTERPRETED:
        return _applied(term.decl().name(), parts)
    match kind:
        case z3.Z3_OP_TRUE | z3.Z3_OP_FALSE:
            return lambda _s, _at: kind == z3.Z3_OP_TRUE
        case z3.Z3_OP_AND:
            return lambda s, at: all(part(s, at) for part in parts)
        case z3.Z3_OP_OR:
            return lambda s, at: any(part(s, at) for part in parts)
        case z3.Z3_OP_NOT:
            return lambda s, at: not parts[0](s, at)
        case z3.Z3_OP_ITE:
            return lambda s, at: parts[1](s, at) if parts[0](s, at) else parts[2](s, at)
        case z3.Z3_OP_ADD:
            return lambda s, at: sum(part(s, at) for part in parts)
    if kind not in _TWO or len(parts) != 2:
        raise NotImplementedError(f"a guard has {term}: teach model/proof/sides.py to read it")
    operator, (one, other) = _TWO[kind], parts
    return lambda s, at: operator(one(s, at), other(s, at))


def _applied(name: str, parts: list[Truth]) -> Truth:
    if "!" in name and not parts:
        return lambda _s, at: at[name]
    if "!" in name:  # a parameter that is a set
        return lambda s, at: at[name](*(part(s, at) for part in parts))
    return lambda s, at: getattr(s, name)(*(part(s, at) for part in parts))


def _quantified(term: Any) -> Truth:
    """Evaluate a quantifier over the world's domain; a variable's name begins with its kind."""
    names = [f"{term.var_name(i)}!{term.get_id()}!{i}" for i in range(term.num_vars())]
    kinds = [name.partition("!")[0] for name in names]
    bound = [z3.Const(name, term.var_sort(i)) for i, name in enumerate(names)]
    body = _read(z3.substitute_vars(term.body(), *reversed(bound)))
    quantified = all if term.is_forall() else any

    def truth(s: World, at: Mapping[str, Any]) -> bool:
        ranges = [s.quantify.domain[kind] for kind in kinds]  # type: ignore[attr-defined]
        return quantified(
            body(s, {**at, **dict(zip(names, values, strict=True))}) for values in product(*ranges)
        )

    return truth
