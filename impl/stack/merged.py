"""A merged view as each of its members has it: its own side has stayed, the others have joined."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from raincheck.impl.messages import Address, MergeView, Table, View
from raincheck.impl.wire.headers import PlacedView
from raincheck.impl.wire.merge_bodies import Side

PAST = 256
"""As many former members are remembered."""


def strangers(placed: PlacedView, me: Address) -> list[Side]:
    """Return the sides of a merged view that this member does not come from."""
    return [side for side in placed.sides if me not in side.members]


def local(placed: PlacedView, me: Address) -> PlacedView:
    """Return the view with the members of the other sides as its joiners; others as they are."""
    if not placed.sides:
        return placed
    others = {member for side in strangers(placed, me) for member in side.members}
    view = placed.view
    joiners = tuple(member for member in view.members if member in others)
    return placed._replace(view=view._replace(joiners=joiners))


def yielding(placed: PlacedView) -> list[Address]:
    """Return the members of a merged view whose sides do not prevail.

    The largest side does; of equal ones that with more views behind it, then the one whose
    coordinator comes first.
    """
    first = _prevailing(placed)
    return [member for side in placed.sides if side != first for member in side.members]


def _prevailing(placed: PlacedView) -> Side:
    sides = sorted(placed.sides, key=lambda side: side.coordinator)
    return max(sides, key=lambda side: (len(side.members), side.view.counter))


def known_of(placed: PlacedView, merges: str) -> dict[Address, int]:
    """Return how much has been delivered of each member of a merged view, so as to count.

    That is what any side has; if all take one side's state, what this one or the member's own has.
    """
    known: dict[Address, int] = {}
    first = _prevailing(placed) if merges == "state" else None
    for side in placed.sides:
        for member, at in side.table:
            counts = first is None or side == first or member in side.members
            if counts and member in placed.view.members:
                known[member] = max(at, known.get(member, 0))
    return known


class Past:
    """How much was delivered of former members, who may come back in a merge.

    Their own side may not have delivered it, and they would send it again.
    """

    def __init__(self) -> None:
        self._known: dict[Address, int] = {}

    def note(self, table: Mapping[Address, int], members: Collection[Address]) -> None:
        """Note who is in the table and in the next view no more."""
        self._known |= {who: at for who, at in table.items() if who not in members}
        for who in list(self._known)[:-PAST]:
            del self._known[who]

    def table(self, table: Mapping[Address, int], members: Collection[Address]) -> Table:
        """Return what a side tells at its cut: of these members, and of former ones."""
        present = {who: at for who, at in table.items() if who in members and at}
        return tuple(sorted((self._known | present).items()))


def shown(placed: PlacedView) -> View:
    """Return the view as the application sees it."""
    if not placed.sides:
        return placed.view
    return MergeView.of(placed.view, tuple(View(s.view, s.members) for s in placed.sides))
