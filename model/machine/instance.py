"""The constants of a case's configuration, as a model reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from .machine import Value

T = TypeVar("T")


class Given:
    """The values that a configuration gives; they raise ValueError naming what is not as wanted."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = values

    def of(self, name: str, kind: type[T]) -> T:
        """Return the constant, which must be of that kind. The empty set may be written as ()."""
        given = self._values.get(name)
        if type(given) is tuple and not given and kind is frozenset:
            given = frozenset()
        if type(given) is not kind:
            raise ValueError(f"constant {name} is {given!r}; a {kind.__name__} is wanted")
        return given

    def nodes(self, name: str) -> frozenset[str]:
        """Return a set of nodes."""
        return frozenset(str(n) for n in self.of(name, frozenset))
