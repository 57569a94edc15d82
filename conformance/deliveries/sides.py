"""The promises of a group that is cut and merges, across its sides, judged from delivery logs.

Members that go on together from a view have delivered the same messages in it. Two members deliver
the messages of one view in one order. A message is delivered in one view: those
that its sender has gone on with have delivered it there, and nobody delivers it elsewhere. Only a
sender that was cut off from others in a view does not know what they have delivered of it there. It
sends it again on its own side, so that each side may deliver it in another view, and in another
order. (With uniform delivery they would not.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from raincheck.conformance.deliveries.logs import Row


class Told(NamedTuple):
    """A message: its sender and its number."""

    sender: str
    number: str


@dataclass(slots=True)
class Life:
    """One member's log: its views in order, and what it has delivered in each."""

    views: list[int] = field(default_factory=list)
    delivered: dict[int, list[Told]] = field(default_factory=dict)
    given: set[int] = field(default_factory=set)
    """The views in which it was given a state, so that it need not have delivered what is in it."""

    def after(self, view: int) -> int | None:
        """Return the view to which it went on from that one, if it was in it and did."""
        if view not in self.views:
            return None
        place = self.views.index(view) + 1
        return self.views[place] if place < len(self.views) else None


def lives_of(rows: Iterable[Row]) -> dict[str, Life]:
    """Read the logs of a run, each member's rows in the order in which they were written."""
    found: dict[str, Life] = {}
    for row in rows:
        life = found.setdefault(row.member, Life())
        if row.event == "view":
            if life.views == [] and 0 in life.given:  # the state with which it has joined
                life.given.add(int(row.view))
            life.views.append(int(row.view))
        elif row.event == "state":
            life.given.add(int(row.view))
            for view in reversed(life.views):  # it has waited for the state since
                if view in life.delivered:
                    break
                life.given.add(view)
        elif row.event == "deliver":
            life.delivered.setdefault(int(row.view), []).append(Told(row.sender, row.message))
    return found


def _together(lives: dict[str, Life]) -> dict[tuple[int, int], list[str]]:
    """Return the members that went on from each view to each next one."""
    steps: dict[tuple[int, int], list[str]] = {}
    for who, life in lives.items():
        for step in pairwise(life.views):
            steps.setdefault(step, []).append(who)
    return steps


def two_sets(lives: dict[str, Life]) -> str:
    """Return what of two members that went on together only one has delivered, or "".

    Of a member that was given a state in the view, what it has delivered is the end of what the
    others have.
    """
    for (view, later), members in sorted(_together(lives).items()):
        said = {who: lives[who].delivered.get(view, []) for who in members}
        longest = max(members, key=lambda who: len(said[who]))
        for who in members:
            mine, whole = said[who], said[longest]
            if view in lives[who].given:
                whole = whole[len(whole) - len(mine) :]
            if mine != whole:
                lacking = [message for message in whole if message not in set(mine)]
                what = _words(lacking[0]) if lacking else "another order"
                return (
                    f"{who} and {longest} went on from view {_shown(view)} to {_shown(later)}, and "
                    f"not with the same messages: {what}"
                )
    return ""


def two_orders(lives: dict[str, Life]) -> str:
    """Return what two members deliver in one view in two orders, or ""."""
    for view in sorted({view for life in lives.values() for view in life.delivered}):
        there = {who: life.delivered[view] for who, life in lives.items() if view in life.delivered}
        longest = max(there, key=lambda who: len(there[who]))
        place = {message: at for at, message in enumerate(there[longest])}
        for who, mine in there.items():
            places = [place[message] for message in mine if message in place]
            for at, (one, other) in enumerate(pairwise(places)):
                if one > other:
                    common = [message for message in mine if message in place]
                    return (
                        f"in view {_shown(view)} {who} delivers {_words(common[at])} before "
                        f"{_words(common[at + 1])}, and {longest} behind it"
                    )
    return ""


def two_views(lives: dict[str, Life]) -> str:
    """Return a message that is delivered in two views without a cut to explain it, or ""."""
    first: dict[Told, tuple[int, str]] = {}
    for who, life in sorted(lives.items()):
        for view, messages in life.delivered.items():
            for message in messages:
                if message not in first:
                    first[message] = view, who
                    continue
                other, whose = first[message]
                if other == view:
                    continue
                (early, one), (late, another) = sorted(((other, whose), (view, who)))
                if not _cut_off(lives, message.sender, early, one):
                    return (
                        f"{one} delivers {_words(message)} in view {_shown(early)}, and {another} "
                        f"in view {_shown(late)}; its sender was not cut off in between"
                    )
    return ""


def compared(lives: dict[str, Life]) -> int:
    """Return how many messages two members or more have delivered."""
    seen: dict[Told, set[str]] = {}
    for who, life in lives.items():
        for messages in life.delivered.values():
            for message in messages:
                seen.setdefault(message, set()).add(who)
    return sum(len(members) > 1 for members in seen.values())


def compared_in_a_view(lives: dict[str, Life]) -> int:
    """Return how many messages two members or more have delivered in one view."""
    seen: dict[tuple[int, Told], int] = {}
    for life in lives.values():
        for view, messages in life.delivered.items():
            for message in messages:
                seen[view, message] = seen.get((view, message), 0) + 1
    return sum(count > 1 for count in seen.values())


def compared_together(lives: dict[str, Life]) -> int:
    """Return how many messages members have delivered in views from which several went on."""
    return sum(
        max(len(lives[who].delivered.get(view, ())) for who in members)
        for (view, _), members in _together(lives).items()
        if len(members) > 1
    )


def _cut_off(lives: dict[str, Life], sender: str, view: int, other: str) -> bool:
    """Whether the sender went on from the view, and not with this other member."""
    goes = lives[sender].after(view) if sender in lives else None
    return goes is not None and goes != lives[other].after(view)


def _words(message: Told) -> str:
    return f"{message.sender} {message.number}"


def _shown(view: int) -> int:
    """Return the number that the view itself has, of that in the logs."""
    return view >> 32
