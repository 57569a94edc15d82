"""Vectors and sets of messages, as `spec/Pbcast.tla` computes with them."""

from __future__ import annotations

from collections.abc import Mapping

from raincheck.model.machine.runs import Address

from .events import Numbers, Vector


def vector(entries: Mapping[Address, int]) -> Vector:
    """Return the vector of these entries, without zeros."""
    return tuple(sorted((a, at) for a, at in entries.items() if at))


def numbers(entries: Mapping[Address, frozenset[int]]) -> Numbers:
    """Return the messages of these entries, without empty sets."""
    return tuple(sorted((a, some) for a, some in entries.items() if some))


def lowest(one: Vector, other: Vector) -> Vector:
    """Return the smaller of both numbers for each member."""
    mine = dict(one)
    return tuple((a, min(mine[a], at)) for a, at in other if a in mine)


def highest(one: Vector, other: Vector) -> Vector:
    """Return the larger of both numbers for each member."""
    mine = dict(one)
    return vector(mine | {a: max(mine.get(a, 0), at) for a, at in other})


def arrived(at: int, some: frozenset[int]) -> int:
    """Return how far the stream is there without a gap (`Arrived`)."""
    while at + 1 in some:
        at += 1
    return at
