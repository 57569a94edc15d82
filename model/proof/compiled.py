"""Formulas as Python code, compiled once and asked of many states.

The code is made from the formula of Z3, so what is evaluated is what is proved. It reads the tables
of a state instead of a world's functions. A quantifier is a loop in which each condition is asked
as soon as its variables have values. tests/model/test_compiled.py compares it with the plain
reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import z3

from .induction import Theory

Code: TypeAlias = str
"""An expression of Python."""

Signed: TypeAlias = tuple[Any, bool]
"""A term, and whether it has to be true, or false."""

Environment: TypeAlias = tuple[Code, ...]
"""The bound variables of the quantifiers around, the innermost last."""

Bind: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any], Any], Any]
"""Of a state's tables, the rigid functions, the domain and the usual process: the functions."""

_TWO: Final[Mapping[int, str]] = {
    z3.Z3_OP_EQ: "==",
    z3.Z3_OP_DISTINCT: "!=",
    z3.Z3_OP_LE: "<=",
    z3.Z3_OP_LT: "<",
    z3.Z3_OP_GE: ">=",
    z3.Z3_OP_GT: ">",
    z3.Z3_OP_SUB: "-",
    z3.Z3_OP_MUL: "*",
}


class Function(NamedTuple):
    """A function to compile."""

    known: Mapping[str, Code]
    """The constants and parameters of its formulas, and what they are called in its code."""
    lines: Callable[[Writer], Iterable[str]]
    """The lines of its body, each with its own indentation."""
    parameters: Sequence[Code] = ()
    """Its parameters, if they are not what is known."""


class Writer:
    """The text of a function that binds others to a state. They are its local functions."""

    def __init__(self, theory: Theory) -> None:
        self.theory = theory
        self._prologue: dict[str, str] = {}
        self.known: Mapping[str, Code] = {}
        self._fresh = 0

    def bound(self, functions: Sequence[Function]) -> Bind:
        """Return the function that returns these, bound to a state."""
        lines = []
        for number, each in enumerate(functions):
            self.known = each.known
            parameters = each.parameters or each.known.values()
            lines.append(f"    def f{number}({', '.join(parameters)}):")
            lines += [f"        {line}" for line in each.lines(self)]
        heads = [f"    {name} = {value}" for name, value in self._prologue.items()]
        found = "".join(f"f{number}, " for number in range(len(functions)))
        text = "\n".join(["def bind(T, R, D, N):", *heads, *lines, f"    return ({found})"])
        space: dict[str, Any] = {"E": {}}
        exec(compile(text, f"<{self.theory.name}>", "exec"), space)
        bind: Bind = space["bind"]
        return bind

    # ------------------------------------------------------------------ names

    def fresh(self, letter: str) -> Code:
        """Return a name that nothing else has."""
        self._fresh += 1
        return f"{letter}{self._fresh}"

    def domain(self, kind: str) -> Code:
        """Return the name of that kind's values."""
        return self._named(f"d_{kind}", f"D[{kind!r}]")

    def table(self, name: str) -> Code:
        """Return the name of that symbol's table."""
        return self._named(f"t_{name}", f"T.get({name!r}, E)")

    def usual(self, name: str) -> Code:
        """Return the value of the symbol where its table has none."""
        _, result = self.theory.symbols[name]
        return {"bool": "False", "process": "N", "node": "N"}.get(result, "0")

    def _named(self, name: str, value: Code) -> Code:
        self._prologue[name] = value
        return name

    # ------------------------------------------------------------------ terms

    def read(self, term: Any, around: Environment = ()) -> Code:
        """Return the term's value as code; `around` has the variables of quantifiers around it.

        Raises NotImplementedError if no guard, update or theorem needs such terms.
        """
        if not z3.is_expr(term):
            return repr(term)
        if z3.is_var(term):
            return _bound(term, around)
        if z3.is_quantifier(term):
            found = self._exists(term, around, positive=not term.is_forall())
            return f"(not {found})" if term.is_forall() else found
        if z3.is_int_value(term):
            return str(term.as_long())
        kind = term.decl().kind()
        parts = [self.read(each, around) for each in term.children()]
        if kind == z3.Z3_OP_UNINTERPRETED:
            return self._applied(term.decl().name(), parts)
        match kind:
            case z3.Z3_OP_TRUE | z3.Z3_OP_FALSE:
                return str(kind == z3.Z3_OP_TRUE)
            case z3.Z3_OP_AND:
                return f"({' and '.join(parts)})"
            case z3.Z3_OP_OR:
                return f"({' or '.join(parts)})"
            case z3.Z3_OP_NOT:
                return f"(not {parts[0]})"
            case z3.Z3_OP_IMPLIES:
                return f"(not {parts[0]} or {parts[1]})"
            case z3.Z3_OP_ITE:
                return f"({parts[1]} if {parts[0]} else {parts[2]})"
            case z3.Z3_OP_ADD:
                return f"({' + '.join(parts)})"
        if kind not in _TWO or len(parts) != 2:
            raise NotImplementedError(
                f"a formula has {term}: teach model/proof/compiled.py to read it"
            )
        return f"({parts[0]} {_TWO[kind]} {parts[1]})"

    def _applied(self, name: str, parts: Sequence[Code]) -> Code:
        if name in self.known:
            known = self.known[name]
            return f"{known}({', '.join(parts)})" if parts else known  # some parameters are sets
        if name in self.theory.symbols:
            return f"{self.table(name)}.get({tuple_of(parts)}, {self.usual(name)})"
        return f"{self._named(f'r_{name}', f'R[{name!r}]')}({', '.join(parts)})"

    def _exists(self, term: Any, around: Environment, *, positive: bool) -> Code:
        """Tell whether the body is so of some values: true, or false if not positive."""
        names = [self.fresh("q") for _ in range(term.num_vars())]
        kinds = [term.var_name(i).partition("!")[0] for i in range(term.num_vars())]
        values = dict(zip(names, map(self.domain, kinds), strict=True))
        found = self.loops(values, [(term.body(), positive)], (*around, *names), free=True)
        return f"any(True {found})"

    def loops(
        self,
        variables: Mapping[Code, Code],
        wanted: Iterable[Signed],
        around: Environment = (),
        *,
        free: bool,
    ) -> Code:
        """Return the loops of a comprehension over the values for which all of that is so.

        A condition is asked as soon as its variables have values. `variables` has the values of
        each. If their order is free, so is that of what the comprehension finds.
        """
        conditions = [
            (part, sign, self._variables(part, around) & variables.keys())
            for each in wanted
            for part, sign in conjuncts(*each)
        ]
        code, there, left = list[Code](), set[Code](), list(variables)
        while True:
            ready = [each for each in conditions if each[2] <= there]
            conditions = [each for each in conditions if not each[2] <= there]
            code += [f"if {self.signed(part, sign, around)}" for part, sign, _ in ready]
            if not left:
                break
            name, value = self._next(left, there, conditions, around, free=free)
            left.remove(name)
            there.add(name)
            values = variables[name]
            code.append(f"for {name} in {values}" if value is None else f"for {name} in ({value},)")
            if value is not None:
                code.append(f"if {name} in {values}")
        if not code or code[0].startswith("if"):  # a comprehension begins with a loop
            code.insert(0, "for _ in (0,)")
        return " ".join(code)

    def signed(self, term: Any, positive: bool, around: Environment = ()) -> Code:
        """Return whether the term is true, or false."""
        code = self.read(term, around)
        return code if positive else f"(not {code})"

    def _next(
        self,
        left: Sequence[Code],
        there: set[Code],
        conditions: Sequence[tuple[Any, bool, set[Code]]],
        around: Environment,
        *,
        free: bool,
    ) -> tuple[Code, Code | None]:
        """Return the variable to loop over next, and the only value that it can have, if so."""
        for name in left if free else left[:1]:
            for term, positive, used in conditions:
                if positive and z3.is_eq(term) and used <= {*there, name}:
                    one, other = term.children()
                    for mine, value in ((one, other), (other, one)):
                        if self._is(mine, name, around) and name not in self._variables(
                            value, around
                        ):
                            return name, self.read(value, around)
        if not free:
            return left[0], None
        settled = [sum(used <= {*there, name} for *_, used in conditions) for name in left]
        return left[settled.index(max(settled))], None

    def _is(self, term: Any, name: Code, around: Environment) -> bool:
        if z3.is_var(term):
            return _bound(term, around) == name
        return bool(z3.is_const(term)) and self.known.get(term.decl().name()) == name

    def _variables(self, term: Any, around: Environment) -> set[Code]:
        """Return the variables and parameters in the term."""
        if not z3.is_expr(term):
            return set()
        if z3.is_var(term):
            index = z3.get_var_index(term)
            return {around[-1 - index]} if index < len(around) else set()
        if z3.is_quantifier(term):
            inner = (*around, *("" for _ in range(term.num_vars())))
            return self._variables(term.body(), inner) - {""}
        found = set().union(*(self._variables(each, around) for each in term.children()))
        if term.decl().name() in self.known:  # a parameter; those that are sets have arguments
            found.add(self.known[term.decl().name()])
        return found


def _bound(variable: Any, around: Environment) -> Code:
    index: int = z3.get_var_index(variable)
    return around[-1 - index]


def tuple_of(parts: Sequence[Code]) -> Code:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def conjuncts(term: Any, positive: bool) -> Iterator[Signed]:
    """Yield the parts that all have to be so for the term to be true, or false if not positive."""
    while z3.is_not(term):
        term, positive = term.children()[0], not positive
    if z3.is_implies(term) and not positive:
        premise, conclusion = term.children()
        yield from conjuncts(premise, True)
        yield from conjuncts(conclusion, False)
    elif (z3.is_and(term) and positive) or (z3.is_or(term) and not positive):
        for each in term.children():
            yield from conjuncts(each, positive)
    else:
        yield term, positive


def truth(wanted: Sequence[Signed]) -> Callable[[Writer], Iterable[str]]:
    """Return what writes a function that tells whether all of that is so."""
    return lambda w: [f"return bool({' and '.join(w.signed(*each) for each in wanted)})"]
