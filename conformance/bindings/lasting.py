"""Values in which nothing can change, and what was made of them before.

A core keeps most of its state from event to event, so most of it need not be read again. What is
in a value is known by identity. Equality would not do: 1 equals True, and records of two types can
be equal.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from raincheck.impl.recording.canonical import field_names

_LASTING: Final = frozenset({bool, int, float, str, bytes, type(None)})
_CONTAINERS: Final = frozenset({set, frozenset, deque})
_MOST: Final = 4096
"""The number of values that are remembered."""


class Kept:
    """What was made of values before, by what is in them: the very same objects, which last."""

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], tuple[tuple[Any, ...], Any]] = {}

    def of(self, value: Any, make: Callable[[Any], Any]) -> Any:
        """Return what `make` makes of the value, now or before."""
        kind = type(value)
        if kind is list:  # most come from JSON, which makes all that is in them anew
            return make(value)
        if kind is dict:
            inside = (*value, *value.values())
        elif kind in _CONTAINERS or isinstance(value, tuple):
            inside = tuple(value)
        else:
            inside = (value,)
        key = (kind, *map(id, inside))
        known = self.known.get(key)
        if known is not None:
            return known[1]
        made = make(value)
        if lasts(inside) and lasts(made):
            if len(self.known) >= _MOST:
                self.known.clear()
            self.known[key] = inside, made  # which keeps the objects, and so their identities
        return made


def lasts(value: Any) -> bool:
    """Tell whether nothing in the value can change."""
    kind: Any = type(value)
    if kind in _LASTING:
        return True
    if isinstance(value, tuple | frozenset):
        return all(map(lasts, value))
    return _is_frozen(kind) and all(lasts(getattr(value, name)) for name in field_names(kind))


@lru_cache(maxsize=4096)
def _is_frozen(kind: Any) -> bool:
    """Tell whether a record's fields cannot be set."""
    if issubclass(kind, enum.Enum):
        return True
    said = getattr(kind, "__struct_config__", None) or getattr(kind, "__dataclass_params__", None)
    return bool(said is not None and said.frozen)
