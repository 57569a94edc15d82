"""The functions of a proof's vocabulary, written one to a line.

position: process process -> place   # a comment
last:     -> view
"""

from __future__ import annotations

from typing import NamedTuple

from .logic import Expr, Function


class Symbol(NamedTuple):
    """A function of the vocabulary: the kinds of its arguments and of its value."""

    arguments: tuple[str, ...]
    result: str


def symbols(lines: str) -> dict[str, Symbol]:
    """Return the functions that the lines declare, by name."""
    found = {}
    for line in lines.strip().splitlines():
        name, _, signature = line.split("#")[0].partition(":")
        arguments, _, result = signature.rpartition("->")
        found[name.strip()] = Symbol(tuple(arguments.split()), result.strip())
    return found


def nothing(result: str) -> Function:
    """Return the function that is false, or 0, everywhere, for that kind of value."""
    value: Expr = False if result == "bool" else 0
    return lambda *_: value
