"""The endpoints of members, which go with a view and come with one."""

from __future__ import annotations

from collections.abc import Iterable

from raincheck.impl.messages import Address, Endpoint, View
from raincheck.impl.wire.headers import PlacedView

UNKNOWN: Endpoint = ("unknown", 0)
"""What stands for one's own place in a view that one sends: the receiver knows it."""


class Places:
    """The endpoints that an outbox sends to."""

    def __init__(self, endpoints: dict[Address, Endpoint]) -> None:
        self._endpoints = endpoints

    def of(self, view: View) -> PlacedView:
        """Add where the members of a view are found."""
        known = self._endpoints
        return PlacedView(view, tuple(known.get(m, UNKNOWN) for m in view.members))

    def learn(self, views: Iterable[PlacedView]) -> None:
        """Learn where the members of these views are found, as far as that was not known."""
        for view, endpoints in views:
            for member, endpoint in zip(view.members, endpoints, strict=True):
                if endpoint[1]:
                    self._endpoints.setdefault(member, endpoint)

    def forget(self, members: Iterable[Address]) -> None:
        """These are out of the view."""
        for member in members:
            self._endpoints.pop(member, None)
