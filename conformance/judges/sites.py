"""The sites in a function that state a complaint, part by part, and how to take each part out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from .trees import (
    Mute,
    Put,
    documents,
    inside,
    into,
    left_out,
    literal,
    nothing,
    operand_of,
    sets_reason,
    value_of,
)

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_SIMPLE = (ast.Return, ast.Raise, ast.Expr, ast.Assign, ast.AugAssign)
_LONGEST = 90


class Complaining(Protocol):
    """The names by which a module complains; `rules.Source` explains each of them."""

    @property
    def complaints(self) -> frozenset[str]: ...
    @property
    def predicates(self) -> frozenset[str]: ...
    @property
    def witnesses(self) -> frozenset[str]: ...
    @property
    def reasons(self) -> frozenset[str]: ...
    @property
    def tables(self) -> frozenset[str]: ...
    @property
    def flags(self) -> frozenset[str]: ...


@dataclass(frozen=True, slots=True)
class _Site:
    block: list[ast.stmt]
    place: int
    guard: ast.If | None

    @property
    def statement(self) -> ast.stmt:
        return self.block[self.place]


class Finder:
    """The rules of one function, without those of functions inside it."""

    def __init__(self, source: Complaining, function: Function) -> None:
        self.source, self.function = source, function
        self.predicate = function.name in source.predicates

    def rules(self) -> Iterator[tuple[str, Mute]]:
        """Yield each rule's text and a way to take it out."""
        told: set[int] = set()
        for site in list(_simple(self.function.body, None)):
            if not self._complains(site.statement):
                continue
            parts = [] if site.guard is None else self._parts_of(site.guard)
            if len(parts) > 1:
                if id(site.guard) not in told:
                    told.add(id(site.guard))
                    yield from parts
            else:
                yield from self._statement(site)

    def unheard(self) -> Iterator[str]:
        """Yield the sentences of statements that neither complain nor set up a complaint."""
        sites = list(_simple(self.function.body, None))
        heard = {id(site.statement) for site in sites if self._complains(site.statement)}
        blocks = {id(site.block) for site in sites if id(site.statement) in heard}
        for site in sites:
            statement = site.statement
            set_up = isinstance(statement, ast.Assign) and id(site.block) in blocks
            if id(statement) in heard or set_up or documents(statement):
                continue
            for node in inside(statement):
                text = literal(node)
                if text is not None and len(text.split()) > 2:
                    yield text

    def _complains(self, statement: ast.stmt) -> bool:
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Return):
            if self.predicate:
                return not (isinstance(value, ast.Constant) and value.value is True)
            if self.function.name in self.source.witnesses:
                return not (value is None or (isinstance(value, ast.Constant) and not value.value))
        witness = self.function.name in self.source.witnesses
        if witness and isinstance(value, ast.Yield | ast.YieldFrom):
            return True
        if self.function.name in self.source.reasons and sets_reason(statement):
            return True
        if isinstance(statement, ast.Assign) and self._assigns(statement.targets[0], value):
            return True
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Attribute):
            return statement.target.attr in self.source.tables
        nodes = list(inside(statement))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        if "HOLDS" in names and not names & {"VIOLATED", "INCONCLUSIVE"}:
            return False
        return any(isinstance(node, ast.Call) and self._is_complaint(node) for node in nodes)

    def _assigns(self, target: ast.expr, value: ast.AST | None) -> bool:
        """Tell whether setting the target is a complaint: a verdict, a table's entry, a flag."""
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute):
            return target.value.attr in self.source.tables
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            # Initial values are no complaint.
            set_up = all(isinstance(each, ast.Constant) for each in value.elts)
            return self._assigns(target.elts[0], value) and not set_up
        if not isinstance(target, ast.Name):
            return False
        bad = isinstance(value, ast.Name) and value.id in ("VIOLATED", "INCONCLUSIVE")
        return target.id in self.source.flags or (target.id == "verdict" and bad)

    def _is_complaint(self, call: ast.Call) -> bool:
        called = ast.unparse(call.func).split(".")
        return bool({called[-1], ".".join(called[-2:])} & self.source.complaints)

    def _parts_of(self, guard: ast.If) -> list[tuple[str, Mute]]:
        def put(made: ast.expr) -> None:
            guard.test = made

        return list(self._operands(guard.test, put, wanted=False))

    def _operands(self, test: ast.expr, put: Put, *, wanted: bool) -> Iterator[tuple[str, Mute]]:
        """Return the parts of a condition that alone make it true, or for `wanted`, false."""
        joint = ast.And if wanted else ast.Or
        if isinstance(test, ast.BoolOp) and isinstance(test.op, joint):
            for place, value in enumerate(test.values):
                yield from self._operands(value, into(test.values, place), wanted=wanted)
            return
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield from self._operands(test.operand, operand_of(test), wanted=not wanted)
            return
        if isinstance(test, ast.BoolOp):  # a restriction; only what is joint within it counts
            within = [
                part
                for place, value in enumerate(test.values)
                for part in [list(self._operands(value, into(test.values, place), wanted=wanted))]
                if len(part) > 1
            ]
            if within:
                for part in within:
                    yield from part
                return
        pairs = self._pairs(test) if not wanted else []
        if len(pairs) > 1:
            yield from pairs
            return
        yield f"{'not ' * wanted}{ast.unparse(test)}", lambda: put(ast.Constant(wanted))

    def _ends_with(self, statement: ast.Assign) -> bool:
        """Tell whether a reason is reported as soon as it is set, unconditionally."""
        asked = any(
            isinstance(node, ast.If) and ast.unparse(node.test) == "reason"
            for node in ast.walk(self.function)
        )
        return self.function.name in self.source.reasons and sets_reason(statement) and not asked

    def _pairs(self, test: ast.expr) -> list[tuple[str, Mute]]:
        """Return the pairs of two tuples that are compared as a whole."""
        if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq)):
            return []
        left, right = self._tuple(test.left), self._tuple(test.comparators[0])
        if left is None or right is None or len(left.elts) != len(right.elts):
            return []

        def drop(place: int) -> Mute:
            def mute() -> None:
                left.elts[place] = right.elts[place] = ast.Constant(None)

            return mute

        return [
            (f"{ast.unparse(one)} != {ast.unparse(other)}", drop(place))
            for place, (one, other) in enumerate(zip(left.elts, right.elts, strict=True))
        ]

    def _tuple(self, value: ast.expr) -> ast.Tuple | None:
        """Return the tuple written there, or assigned to the name there."""
        if isinstance(value, ast.Tuple):
            return value
        made: list[ast.expr] = []
        if isinstance(value, ast.Name):
            for node in ast.walk(self.function):
                if isinstance(node, ast.Assign) and len(node.targets) == 1:
                    target = node.targets[0]
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        pairs = list(zip(target.elts, node.value.elts, strict=False))
                    else:
                        pairs = [(target, node.value)]
                    made += [v for t, v in pairs if isinstance(t, ast.Name) and t.id == value.id]
        return made[0] if len(made) == 1 and isinstance(made[0], ast.Tuple) else None

    def _statement(self, site: _Site) -> Iterator[tuple[str, Mute]]:
        """Yield the rule, or rules, that the statement is as a whole."""
        statement = site.statement
        value = getattr(statement, "value", None)
        if self.predicate and isinstance(statement, ast.Return):
            answer = statement.value
            if answer is not None and not isinstance(answer, ast.Constant):
                yield from self._operands(answer, value_of(statement), wanted=True)
                return
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id in self.source.flags:
            assert isinstance(statement, ast.Assign)
            yield from self._operands(statement.value, value_of(statement), wanted=False)
            return
        if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
            for place, each in enumerate(value.values):
                if any(isinstance(n, ast.Call) and self._is_complaint(n) for n in inside(each)):
                    yield ast.unparse(each), left_out(value.values, place)
            return

        def mute() -> None:
            if self.predicate and isinstance(statement, ast.Return) and site.guard is None:
                statement.value = ast.Constant(True)
            elif isinstance(statement, ast.Assign) and self._ends_with(statement):
                site.block[site.place] = ast.Return(ast.Constant(None))
            elif isinstance(statement, ast.Assign) and not self._assigns(
                statement.targets[0], statement.value
            ):
                statement.value = nothing(statement.value)
            else:
                site.block[site.place] = ast.If(ast.Constant(False), [statement], [])

        yield _words(site), mute


def _simple(block: list[ast.stmt], guard: ast.If | None) -> Iterator[_Site]:
    """Yield every simple statement, with the condition directly around it."""
    for place, statement in enumerate(block):
        if isinstance(statement, _SIMPLE):
            yield _Site(block, place, guard)
        elif isinstance(statement, ast.If):
            yield from _simple(statement.body, statement)
            yield from _simple(statement.orelse, None)
        elif isinstance(statement, ast.For | ast.AsyncFor | ast.While):
            yield from _simple(statement.body, None)
            yield from _simple(statement.orelse, None)
        elif isinstance(statement, ast.With | ast.AsyncWith):
            yield from _simple(statement.body, guard)
        elif isinstance(statement, ast.Try):
            yield from _simple(statement.body, guard)
            for handler in statement.handlers:
                yield from _simple(handler.body, None)
            yield from _simple(statement.orelse, guard)
            yield from _simple(statement.finalbody, guard)
        elif isinstance(statement, ast.Match):
            for case in statement.cases:
                yield from _simple(case.body, None)


def _words(site: _Site) -> str:
    """Return the words of the complaint: those in the statement, or the reason set right before."""
    for node in inside(site.statement):
        text = literal(node)
        if text and " " in text.strip():
            return text
    for before in reversed(site.block[: site.place]):
        if isinstance(before, ast.Assign) and ast.unparse(before.targets[0]) in ("reason", "text"):
            text = literal(before.value)
            if text:
                return text
    text = ast.unparse(site.statement)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
