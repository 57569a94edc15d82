"""Questions about syntax trees, and the exchange of one part of a tree for another."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeAlias

Mute: TypeAlias = Callable[[], None]
"""Takes one rule out of the tree that it was found in."""
Put: TypeAlias = Callable[[ast.expr], None]
"""Puts another expression where one stands in a tree."""


def documents(statement: ast.stmt) -> bool:
    """Tell whether the statement is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def inside(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, without those of a lambda; a text counts as a whole."""
    yield statement
    for child in ast.iter_child_nodes(statement):
        if isinstance(statement, ast.JoinedStr) and isinstance(child, ast.Constant):
            continue
        if not isinstance(child, ast.Lambda):
            yield from inside(child)


def into(values: list[ast.expr], place: int) -> Put:
    """Return the function that puts another value into that place of a list."""

    def put(made: ast.expr) -> None:
        values[place] = made

    return put


def left_out(values: list[ast.expr], place: int) -> Mute:
    """Return the function that leaves out the value in that place of a list."""

    def mute() -> None:
        values[place] = ast.Constant(None)

    return mute


def value_of(statement: ast.Return | ast.Assign) -> Put:
    """Return the function that gives the statement another value."""

    def put(made: ast.expr) -> None:
        statement.value = made

    return put


def operand_of(node: ast.UnaryOp) -> Put:
    """Return the function that gives `not` another operand."""

    def put(made: ast.expr) -> None:
        node.operand = made

    return put


def nothing(value: ast.expr) -> ast.expr:
    """Return the value that stands for no complaint of that kind."""
    if isinstance(value, ast.ListComp):
        return ast.List([], ast.Load())
    return ast.Constant("" if literal(value) is not None else None)


def sets_reason(statement: ast.stmt) -> bool:
    """Tell whether the statement sets `reason` to some words, or returns some."""
    if isinstance(statement, ast.Return):
        return bool(statement.value and literal(statement.value))
    return (
        isinstance(statement, ast.Assign)
        and ast.unparse(statement.targets[0]) == "reason"
        and bool(literal(statement.value))
    )


def literal(node: ast.AST) -> str | None:
    """Return the text written there, with its placeholders left open."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
        )
    return None
