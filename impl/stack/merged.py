"""A merged view as each of its members has it: its own side has stayed, the others have joined."""

from __future__ import annotations

from raincheck.impl.messages import Address, MergeView, Table, View
from raincheck.impl.wire.headers import PlacedView
from raincheck.impl.wire.merge_bodies import Side


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
    """Return the members of a merged view whose sides do not prevail."""
    first = prevailing(placed)
    return [member for side in placed.sides if side != first for member in side.members]


def prevailing(placed: PlacedView) -> Side:
    """Return the side of a merged view that prevails.

    It is the one with the latest primary view, or with a majority of that; if none has one, or all
    have the same, the largest one; of equal ones that with more views behind it, then the one whose
    coordinator comes first.
    """
    sides = sorted(placed.sides, key=lambda side: side.coordinator)
    return max(sides, key=lambda side: (side.standing, len(side.members), side.view.counter))


def known(placed: PlacedView, me: Address) -> Table:
    """Return how far each member's messages count as delivered at the cut, as `me` learns it.

    Of a member of another side that is what its side has delivered. If the side that prevails has
    delivered more of anybody's, before it was cut off from it, that counts, for its state has it.
    """
    at = {member: last for side in strangers(placed, me) for member, last in side.table}
    for member, last in prevailing(placed).delivered:
        if member in placed.view.members:
            at[member] = max(last, at.get(member, 0))
    return tuple(sorted(at.items()))


def shown(placed: PlacedView) -> View:
    """Return the view as the application sees it."""
    if not placed.sides:
        return placed.view
    first = prevailing(placed)
    subgroups = tuple(View(side.view, side.members) for side in placed.sides)
    return MergeView.of(placed.view, subgroups, View(first.view, first.members))
