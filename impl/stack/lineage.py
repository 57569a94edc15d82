"""The line of views that one member has installed: what belongs to it, and what to another one.

The protocols compare views by their numbers, which tell the views of one line apart. After a
partition, or a merge that only some have carried out, another line may use the same numbers. So
whatever a view is named in on the wire has its whole id, the number and who decided it, and what is
of another line is dropped before a protocol sees it (MRG-F15, `ChecksView` of `spec/Merge2.tla`).
"""

from __future__ import annotations

from raincheck.impl.messages import ViewId

from .membership import Membership

_REMEMBERED = 64
"""Nothing of a view that lies so many views back is under way any more."""


class Lineage:
    """The ids of the views that this member has installed, or holds ready."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._ids: dict[int, ViewId] = {}  # installed, the latest last
        self.latest = ViewId(0, membership.me)
        """The id of the view that is installed; number 0 stands for none."""

    def install(self, view: ViewId) -> None:
        """Note that a view is installed."""
        self.latest = self._ids[view.counter] = view
        if len(self._ids) > _REMEMBERED:
            del self._ids[next(iter(self._ids))]

    def has(self, view: ViewId) -> bool:
        """Whether that view is in this member's line, or may be because it lies before its first.

        Nobody installs a view that a survivor does not hold, so a later one is among those held.
        """
        number = view.counter
        if view == self.latest:
            return True
        if number > self.latest.counter:
            return any(held.id == view for held in self._membership.held)
        known = self._ids.get(number)
        return known == view if known is not None else 0 < number < next(iter(self._ids))
