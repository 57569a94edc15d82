"""Views that are no numbers, or that each member numbers for itself, as numbers that all share.

A view is known by its label, or, where a log has the member lists, by its list and by how often the
member has had this list: a member's k-th view of some members is theirs, too, since a view of a
list with a member in it is not installed before that member is there.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

Label = int | str
"""A log's name of a view: a number, or any text."""


class Visit(NamedTuple):
    """What a log says of one member's stay in one view."""

    member: str
    label: Label
    members: tuple[str, ...] = ()
    """Its member list, if the log has it."""
    after: int | None = None
    """The number of messages that the member had delivered when it installed the view, if known."""
    first: int | None = None
    """The position of the member's first delivery in it, if there is one."""


class Numbered(NamedTuple):
    """The views of a log, numbered so that each member's views have rising numbers."""

    numbers: dict[tuple[str, Label], int]
    names: dict[int, str]
    """A view's name in a witness."""
    unclear: str
    """Why the views cannot be compared, "" if they can."""


SHARED = Numbered({}, {}, "")
"""Of views that have numbers which all members share."""


def numbered(visits: Iterable[Visit]) -> Numbered:
    """Return a number for each member's each view; all are 0 if it is unclear which is which."""
    by_member: dict[str, list[Visit]] = defaultdict(list)
    for visit in visits:
        if visit.label != 0:
            by_member[visit.member].append(visit)
    listed = any(visit.members for stays in by_member.values() for visit in stays)
    later: TopologicalSorter[tuple[str, int]] = TopologicalSorter()
    known: dict[tuple[str, Label], tuple[str, int]] = {}
    for member in sorted(by_member):
        stays = by_member[member]
        counted = all(isinstance(visit.label, int) for visit in stays)
        stays.sort(key=lambda visit: str(visit.label))
        order = sorted(stays, key=_number if counted else _place)
        if not counted and (unclear := _unordered(order)):
            return Numbered(dict.fromkeys(known, 0), {}, unclear)
        times: Counter[str] = Counter()
        before = None
        for visit in order:
            if listed and not visit.members:
                why = f"the log has no member list of view {visit.label} of {member}"
                return Numbered({}, {}, why)
            name = " ".join(sorted(visit.members)) if listed else str(visit.label)
            times[name] += 1
            which = known[member, visit.label] = (name, times[name] if listed else 1)
            later.add(which, *(() if before is None else (before,)))
            before = which
    try:
        ranked = _ranked(later)
    except CycleError:
        return Numbered({}, {}, "the members had these views in different orders")
    number = {which: place for place, which in enumerate(ranked, start=1)}
    names = {place: _name(which, listed) for which, place in number.items()}
    return Numbered({stay: number[which] for stay, which in known.items()}, names, "")


def _ranked(later: TopologicalSorter[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the views in an order that all members share; of those that may be next the first."""
    later.prepare()
    found: list[tuple[str, int]] = []
    ready: list[tuple[str, tuple[str, int]]] = []
    while later.is_active():
        for which in later.get_ready():
            heappush(ready, (str(which), which))
        _, which = heappop(ready)
        found.append(which)
        later.done(which)
    return found


def _number(visit: Visit) -> tuple[int, int]:
    return int(visit.label), 0


def _place(visit: Visit) -> tuple[int, int]:
    """Return how much had been delivered before the view, and whether anything was in it."""
    before = visit.after
    if before is None:
        before = visit.first - 1 if visit.first is not None else 0
    return before, visit.first is not None


def _unordered(order: list[Visit]) -> str:
    for visit in order if len(order) > 1 else ():
        if visit.after is None and visit.first is None:
            return (
                f"it is unclear when {visit.member} had view {visit.label}: nothing was delivered "
                "in it, and its row has no `after`"
            )
    for one, other in pairwise(order):
        if _place(one) == _place(other):
            return (
                f"it is unclear whether {one.member} had view {one.label} or {other.label} first: "
                "nothing was delivered between them"
            )
    return ""


def _name(which: tuple[str, int], listed: bool) -> str:
    name, times = which
    if not listed:
        return name
    return f"{{{name}}}" if times == 1 else f"occurrence {times} of {{{name}}}"
