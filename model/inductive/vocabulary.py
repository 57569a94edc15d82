"""The functions of a proof's vocabulary, written one to a line.

position: process process -> place   # a comment
last:     -> view
"""

from __future__ import annotations

from typing import NamedTuple


class Symbol(NamedTuple):
    """A function of the vocabulary: the kinds of its arguments and of its value."""

    arguments: tuple[str, ...]
    result: str


def symbols(lines: str) -> dict[str, Symbol]:
    """Read the functions of some lines, by name."""
    found = {}
    for line in lines.strip().splitlines():
        name, _, signature = line.split("#")[0].partition(":")
        arguments, _, result = signature.rpartition("->")
        found[name.strip()] = Symbol(tuple(arguments.split()), result.strip())
    return found
