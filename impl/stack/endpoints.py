"""The endpoints of members, which go with a view and come with one, and of named hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

from raincheck.impl.messages import Address, Endpoint, View, ViewId
from raincheck.impl.wire.headers import PlacedView

UNKNOWN: Endpoint = ("unknown", 0)
"""Stands for the sender's own endpoint in a view that it sends: the receiver knows it."""


_MERGED = 4
"""As many merged views are remembered with their sides."""


class Places:
    """The endpoints of members, by address."""

    def __init__(self, endpoints: dict[Address, Endpoint]) -> None:
        self._endpoints = endpoints
        self._merged: dict[ViewId, PlacedView] = {}  # those with sides, the latest last

    def of(self, view: View) -> PlacedView:
        """Return the view with the endpoints of its members."""
        known = self._endpoints
        _, _, merge, sides = self._merged.get(view.id, PlacedView(view, ()))
        return PlacedView(view, tuple(known.get(m, UNKNOWN) for m in view.members), merge, sides)

    def learn(self, views: Iterable[PlacedView]) -> None:
        """Learn the endpoints of these views' members that were not known."""
        for placed in views:
            for member, endpoint in zip(placed.view.members, placed.endpoints, strict=True):
                if endpoint[1]:
                    self._endpoints.setdefault(member, endpoint)
            if placed.sides:
                self._merged[placed.view.id] = placed
                if len(self._merged) > _MERGED:
                    del self._merged[next(iter(self._merged))]

    def keep(self, these: Set[Address]) -> None:
        """Forget all others."""
        for other in self._endpoints.keys() - these:
            del self._endpoints[other]


class NamedHosts:
    """The endpoints behind the names of initial hosts, which change while a process runs."""

    def __init__(self) -> None:
        self._now: set[Endpoint] = set()

    def changed(
        self, named: Callable[[], Sequence[Endpoint]] | None
    ) -> tuple[list[Endpoint], list[Endpoint]]:
        """Return, sorted, which are behind the names no more, and which were not before."""
        if named is None:
            return [], []
        before, self._now = self._now, set(named())
        return sorted(before - self._now), sorted(self._now - before)
