"""What can be true of MERGE2's messages: pure functions over sides and merged views.

Each returns what is wrong, in words that follow "sent"; "" if nothing is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from raincheck.impl.messages import Address, View
from raincheck.impl.wire.datagrams import LARGEST
from raincheck.impl.wire.merge_bodies import InstallMergeView, Side

_OF_MEMBER, _OF_NAME, _OF_SIDE, _OF_FORMER = 280, 8, 200, 90
"""Bytes of FLUSH_COMPLETED with a merged view, which is the largest message: of each member, of
each letter of its name, of each side, and of each former member that a side tells of."""
_FAR = 1 << 40
"""Numbers of views and clocks grow by steps of one; none of this size is ever reached."""


def side_of(coordinator: Address, side: Side, ours: Collection[Address]) -> str:
    """Check an answer: a side that this coordinator leads, and that has nobody of ours."""
    return _lies(side) or (
        f"a side whose coordinator is {side.coordinator}"
        if side.coordinator != coordinator
        else _claims(side.members, ours)
    )


def installation(body: InstallMergeView, mine: Side, leader: Address) -> str:
    """Check INSTALL_MERGE_VIEW at the side `mine`, as it was at the cut."""
    view, sides = body.view, body.sides
    problem = next(filter(None, map(_lies, sides)), "")
    if problem:
        return problem
    own = [side for side in sides if side.coordinator == mine.coordinator]
    if [_told(side) for side in own] != [_told(mine)]:
        return "a merged view with this side otherwise than it has answered"
    if leader not in {side.coordinator for side in sides}:
        return "a merged view without its leader's side"
    everybody = [member for side in sides for member in side.members]
    if sorted(everybody) != list(view.members) or len(set(everybody)) != len(everybody):
        return "a merged view whose members are not those of its sides"
    if view.id != (max(side.view.counter for side in sides) + 1, leader) or view.joiners:
        return f"a merged view with the id {view.id.counter}"
    return ""


def too_many(sides: Collection[Collection[Address]], former: int) -> str:
    """Return why these sides cannot merge: the merged view goes in one datagram, with all cuts.

    Each of them tells how far it has delivered so many former members.
    """
    members = [member for side in sides for member in side]
    size = (_OF_SIDE + _OF_FORMER * former) * len(sides)
    size += sum(_OF_MEMBER + _OF_NAME * len(member.node) for member in members)
    if size <= LARGEST:
        return ""
    return (
        f"{len(members)} members are too many to merge: with their names, places and digests they "
        f"take up to {size} bytes, and {LARGEST} go into a datagram"
    )


def overlap(theirs: View, ours: Iterable[Address]) -> bool:
    """Whether another group's view has members of ours."""
    return not set(theirs.members).isdisjoint(ours)


def _told(side: Side) -> tuple[object, ...]:
    """What a side says of itself, but for places: it does not know its own."""
    told = side.view, side.members, side.table, side.digest, side.bundles, side.clock
    return *told, side.standing, side.delivered


def _claims(members: Iterable[Address], ours: Collection[Address]) -> str:
    claimed = sorted(set(members).intersection(ours))
    return f"a side with {claimed[0]}, who is a member here" if claimed else ""


def _lies(side: Side) -> str:
    members = set(side.members)
    if {who for who, _ in side.bundles.entries} != members:
        return "a side whose digest is not of its members"
    if len(side.bundles.entries) != len(members):
        return "a side with two digests of a member"
    known = [who for entries in (side.table, side.digest.entries) for who, _ in entries]
    if not members.issuperset(known) or len(known) > 2 * len(members):
        return "a side that speaks for processes that are not its members"
    if side.view.counter > _FAR or side.clock > _FAR:
        return f"a side with the view {side.view.counter} and the clock {side.clock}"
    return ""
