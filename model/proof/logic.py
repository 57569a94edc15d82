"""First-order formulas with three readings.

The law of this folder: a guard, an update and an invariant are each written once, as a Python
function of a `World`. In a symbolic world it is a formula of Z3 with quantifiers; in a bounded one
the quantifiers range over a few values, so that a model is always found or excluded; in a concrete
one (a state of the model) it is plain Python and the answer is True or False. So the formulas that
are proved are those that are tested against the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, Protocol, TypeAlias

import z3

Expr: TypeAlias = Any
"""A term of Z3, or a Python value in a concrete world."""

Function: TypeAlias = Callable[..., Expr]
Updates: TypeAlias = Mapping[str, Function]
Patterns: TypeAlias = Callable[..., Sequence[Expr]]
"""Alternatives: each a term, or a tuple of terms that must all occur."""

PROCESS = z3.DeclareSort("Process")
NODE = z3.DeclareSort("Node")


class _Sorts(dict[str, Any]):
    """Z3's sorts by kind; any unlisted kind is an uninterpreted sort of its own."""

    def __missing__(self, kind: str) -> Any:
        self[kind] = z3.DeclareSort(kind.capitalize())
        return self[kind]


SORTS: Mapping[str, Any] = _Sorts(
    {
        "process": PROCESS,
        "node": NODE,
        "bool": z3.BoolSort(),
        "number": z3.IntSort(),  # a value: a status, a count
        "view": z3.IntSort(),
        "place": z3.IntSort(),  # a place in a stream
        "index": z3.IntSort(),  # an index in a process's deliveries
        "seqno": z3.IntSort(),
        "epoch": z3.IntSort(),
    }
)
"""The kinds of values. All kinds of numbers are integers; the kind decides over which values a test
ranges. A theory may use any other kind, whose values can only be compared for equality.
"""


def is_number(kind: str) -> bool:
    """Tell whether the values of that kind are integers."""
    return bool(SORTS[kind] == z3.IntSort())


def declared(name: str, arguments: Sequence[Any], result: Any) -> Function:
    """Return the function of that name and these sorts; a constant takes no arguments.

    Z3's own Python functions ask for all sorts at each term, which is most of the time that it
    takes to write a formula. Here they are known, and Z3 refuses a term of another sort itself.
    """
    if not arguments:
        constant = z3.Const(name, result)
        return lambda: constant
    declaration = z3.Function(name, *arguments, result)
    context, count = declaration.ctx, len(arguments)
    kind = {z3.BoolSort(): z3.BoolRef, z3.IntSort(): z3.ArithRef}.get(result, z3.ExprRef)

    def term(*values: Expr) -> Expr:
        given = [
            value if isinstance(value, z3.ExprRef) else _constant(sort, value)
            for sort, value in zip(arguments, values, strict=True)
        ]
        found = z3.Z3_mk_app(context.ref(), declaration.ast, count, _array(given))
        return kind(found, context)

    return term


@lru_cache(maxsize=None, typed=True)
def _constant(sort: Any, value: object) -> Any:
    """Return the term for a Python value."""
    return sort.cast(value)


def _array(terms: Sequence[Expr]) -> Any:
    return (z3.Ast * len(terms))(*(each.ast for each in terms))


def And(*parts: Expr) -> Expr:
    """Return the conjunction; Python's own if all parts are Python values."""
    left = []
    for part in parts:
        if isinstance(part, bool):
            if not part:
                return False
        else:
            left.append(part)
    if len(left) > 1:
        context = left[0].ctx
        return z3.BoolRef(z3.Z3_mk_and(context.ref(), len(left), _array(left)), context)
    return left[0] if left else True


def Or(*parts: Expr) -> Expr:
    """Return the disjunction."""
    left = []
    for part in parts:
        if isinstance(part, bool):
            if part:
                return True
        else:
            left.append(part)
    if len(left) > 1:
        context = left[0].ctx
        return z3.BoolRef(z3.Z3_mk_or(context.ref(), len(left), _array(left)), context)
    return left[0] if left else False


def Not(part: Expr) -> Expr:
    """Return the negation."""
    return not part if isinstance(part, bool) else z3.Not(part)


def Implies(premise: Expr, conclusion: Expr) -> Expr:
    """Return the implication."""
    if isinstance(premise, bool):
        return conclusion if premise else True
    if isinstance(conclusion, bool):
        return True if conclusion else z3.Not(premise)
    return z3.Implies(premise, conclusion)


def If(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """Return one of two values."""
    if isinstance(condition, bool):
        return yes if condition else no
    return z3.If(condition, yes, no)


class Quantify(Protocol):
    """The range of a quantifier."""

    def forall(self, kinds: Sequence[str], body: Function, patterns: Patterns | None) -> Expr:
        """Tell whether the body holds of all values."""

    def exists(self, kinds: Sequence[str], body: Function) -> Expr:
        """Tell whether the body holds of some values."""


class Unbounded:
    """Quantifiers of Z3; patterns name the terms that make it look at an instance."""

    def forall(self, kinds: Sequence[str], body: Function, patterns: Patterns | None) -> Expr:
        """Return a universal formula; True if the body is."""
        names = [z3.FreshConst(SORTS[kind], kind) for kind in kinds]
        formula = body(*names)
        if isinstance(formula, bool) or not names:
            return formula
        if patterns is None:
            return z3.ForAll(names, formula)
        found = [
            z3.MultiPattern(*each) if isinstance(each, tuple) else each for each in patterns(*names)
        ]
        return z3.ForAll(names, formula, patterns=found)

    def exists(self, kinds: Sequence[str], body: Function) -> Expr:
        """Return an existential formula."""
        names = [z3.FreshConst(SORTS[kind], kind) for kind in kinds]
        formula = body(*names)
        return formula if isinstance(formula, bool) else z3.Exists(names, formula)


class Bounded:
    """Quantifiers over the given values of each kind."""

    def __init__(self, domain: Mapping[str, Sequence[Expr]]) -> None:
        self.domain = domain

    def values(self, kinds: Iterable[str]) -> Iterable[tuple[Expr, ...]]:
        """Yield every combination of values of these kinds."""
        return product(*(self.domain[kind] for kind in kinds))

    def forall(self, kinds: Sequence[str], body: Function, patterns: Patterns | None) -> Expr:
        """Return the conjunction of all instances."""
        del patterns
        left = []
        for values in self.values(kinds):
            part = body(*values)
            if part is False:
                return False
            if part is not True:
                left.append(part)
        return And(*left)

    def exists(self, kinds: Sequence[str], body: Function) -> Expr:
        """Return the disjunction of all instances."""
        left = []
        for values in self.values(kinds):
            part = body(*values)
            if part is True:
                return True
            if part is not False:
                left.append(part)
        return Or(*left)


class World:
    """A state, as the functions of the vocabulary. `world.view(p)` is the view of p in it."""

    def __init__(self, functions: Mapping[str, Function], quantify: Quantify) -> None:
        self._functions = functions
        self.quantify = quantify

    def __getattr__(self, name: str) -> Function:
        """Return the function of that name."""
        try:
            found = self.__dict__[name] = self._functions[name]  # looked up once
        except KeyError:
            raise AttributeError(name) from None
        return found

    def forall(
        self, kinds: Sequence[str], body: Function, patterns: Patterns | None = None
    ) -> Expr:
        """Tell whether the body holds of all values of these kinds."""
        return self.quantify.forall(kinds, body, patterns)

    def exists(self, kinds: Sequence[str], body: Function) -> Expr:
        """Tell whether the body holds of some values of these kinds."""
        return self.quantify.exists(kinds, body)

    def after(self, updates: Updates) -> World:
        """Return the world in which the updated functions have their new values."""
        return World({**self._functions, **updates}, self.quantify)


def merged(first: Updates, *others: Updates) -> dict[str, Function]:
    """Return the union of updates of different functions."""
    result = dict(first)
    for other in others:
        twice = result.keys() & other.keys()
        if twice:
            raise ValueError(f"updated twice: {sorted(twice)}")
        result |= other
    return result


def put(function: Function, *key_value: Expr) -> Function:
    """Return the function with another value, the last argument, at the place given before it."""
    *key, value = key_value

    def changed(*at: Expr) -> Expr:
        return If(And(*(x == k for x, k in zip(at, key, strict=True))), value, function(*at))

    return changed
