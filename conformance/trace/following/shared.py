"""The parts that are made once for all files of one run and protocol."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from raincheck.conformance.bindings.binding import Binding, binding_of
from raincheck.conformance.trace.columns import Digest

from .fastpath import FastPath
from .forms import Forms

Find: TypeAlias = Callable[[str], Binding]
"""Returns a protocol's binding."""


class Shared:
    """Bindings that were found, and fast paths that nobody uses now."""

    def __init__(self, digest: Digest = hash, find: Find = binding_of) -> None:
        self.digest = digest
        self.find = cache(find)
        self._spare: list[FastPath] = []

    def fast_path(self, binding: Binding, forms: Forms, rules: Any) -> FastPath:
        """Return one for these rules, until it is given back."""
        for place, each in enumerate(self._spare):
            if each.binding is binding and each.rules == rules:
                return self._spare.pop(place)
        return FastPath(binding, forms, rules, self.digest)

    def give_back(self, fast: FastPath) -> None:
        """Keep it for another file."""
        self._spare.append(fast)
