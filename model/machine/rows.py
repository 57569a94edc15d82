"""Rows and tables of a model's state: a value for every node, and one for every two."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TypeVar

from .machine import Value, function

T = TypeVar("T")


def with_(row: tuple[T, ...], i: int, value: T) -> tuple[T, ...]:
    """Return the row with another value at i."""
    return (*row[:i], value, *row[i + 1 :])


def placed(table: tuple[tuple[T, ...], ...], i: int, j: int, value: T) -> tuple[tuple[T, ...], ...]:
    """Return the table with another value at i, j."""
    return with_(table, i, with_(table[i], j, value))


@lru_cache(maxsize=200_000)
def by_node(names: tuple[str, ...], row: tuple[Value, ...]) -> Value:
    """Return the row as TLA+'s function of the nodes. For truth values use `flags`."""
    return function(zip(names, row, strict=True))


@cache
def flags(names: tuple[str, ...], row: tuple[bool, ...]) -> Value:
    """Return `by_node` of a row of truth values: a cache takes False for 0, TLA+ does not."""
    return function(zip(names, row, strict=True))
