"""Arbitrary states of a model: of the right types, whether or not any run leads there.

Which values have a type is read off the states that are there. Where a field of a record, an entry
of a sequence or a member of a set stands in one state, what stands there in another has the right
type as well; so has every number from 0 on, a set with one member more, and, where sequences have
several lengths, a sequence with some entries more, or one less.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from random import Random
from typing import Any, Final, Generic, TypeAlias, TypeVar

S = TypeVar("S", bound=Hashable)

MOST: Final = 4
"""The most parts that are exchanged in one state."""

FURTHER: Final = 12
"""The most by which a number grows at once: beyond what short runs reach."""

Place: TypeAlias = tuple[Hashable, ...]
"""The type of a part: its record's and field's names, or its container's place and its class."""


class Arbitrary(Generic[S]):
    """Makes arbitrary states out of the given ones, which show the types."""

    def __init__(self, states: Iterable[S], random: Random) -> None:
        self.random = random
        self.states = tuple(states)
        self._values: dict[Place, list[Any]] = {}
        self._lengths: dict[Place, set[int]] = {}
        self._inside: dict[Place, dict[Place, None]] = {}
        seen: set[tuple[Place, type[Any], Any]] = set()
        for state in self.states:
            self._learn((), state, seen)
        self._weights: dict[Place, int] = {}
        self._weigh(())

    def _learn(self, place: Place, value: Any, seen: set[tuple[Place, type[Any], Any]]) -> None:
        this = (place, type(value), value)  # records of two kinds may be equal
        if this in seen:
            return
        seen.add(this)
        self._values.setdefault(place, []).append(value)
        if isinstance(value, tuple | frozenset):
            self._lengths.setdefault(place, set()).add(len(value))
        for inner, part in _parts(place, value):
            self._inside.setdefault(place, {})[inner] = None
            self._learn(inner, part, seen)

    def _weigh(self, place: Place) -> int:
        """Return how many places there are at and inside this one: each is exchanged as often."""
        if place not in self._weights:
            self._weights[place] = 1  # a type may be inside itself
            inside = self._inside.get(place, ())
            self._weights[place] += sum(self._weigh(each) for each in inside)
        return self._weights[place]

    def state(self) -> S:
        """Return one of the states with 1 to `MOST` of its parts exchanged."""
        made = self.random.choice(self.states)
        for _ in range(self.random.randint(1, MOST)):
            made = self._exchanged((), made)
        return made

    def _exchanged(self, place: Place, value: Any) -> Any:
        """Return the value with one part, at any depth, exchanged for another of its type."""
        parts = _parts(place, value)
        places = list(dict.fromkeys(inner for inner, _ in parts))
        weights = [self._weights.get(each, 1) for each in places]
        chosen = self.random.choices([place, *places], [1 if place else 0, *weights])[0]
        if chosen == place:
            return self.random.choice(self._others(place, value))
        at = self.random.choice([at for at, (inner, _) in enumerate(parts) if inner == chosen])
        old = parts[at][1]
        new = self._exchanged(chosen, old)
        if isinstance(value, frozenset):
            return value - {old} | {new}
        entries = (*value[:at], new, *value[at + 1 :])
        return type(value)(*entries) if hasattr(value, "_fields") else entries

    def _others(self, place: Place, value: Any) -> list[Any]:
        """Return some values of the type that the value has at that place."""
        found = [self.random.choice(self._values.get(place, [value]))]
        if isinstance(value, int) and not isinstance(value, bool):
            found += [value + self.random.randint(1, FURTHER), max(value - 1, 0)]
        elif isinstance(value, frozenset):
            found += [value | {part} for part in self._one_of(place)]
        elif isinstance(value, tuple) and len(self._lengths.get(place, ())) > 1:
            at = self.random.randint(0, len(value))
            times = self.random.randint(1, MOST)
            more = [part for _ in range(times) for part in self._one_of(place)]
            found += [(*value[:at], *more, *value[at:])] if more else []
            found.append((*value[:at], *value[at + 1 :]))
        return found

    def _one_of(self, place: Place) -> list[Any]:
        """Return one of the parts that containers have at that place, if any has one."""
        parts = _parts(place, self.random.choice(self._values.get(place, [()])))
        return [self.random.choice(parts)[1]] if parts else []


def _parts(place: Place, value: Any) -> list[tuple[Place, Any]]:
    """Return the parts of a value in a fixed order, each with its place."""
    if isinstance(value, frozenset):
        value = tuple(sorted(value, key=repr))
    elif not isinstance(value, tuple):
        return []
    if names := getattr(value, "_fields", ()):
        kind = type(value).__qualname__
        return [((kind, name), part) for name, part in zip(names, value, strict=True)]
    return [((place, type(part).__qualname__), part) for part in value]
