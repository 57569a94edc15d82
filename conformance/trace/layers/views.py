"""The sequence of views of one member, as all of its protocols' files tell it.

A view is installed in all layers at once, so the n-th view of a life is the same in each of its
files. What a file does not say of a view (its number, the order of its members) another one may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from raincheck.conformance.trace.findings import FileReport
from raincheck.conformance.trace.records import Address

from .speaks import VIEW, Statement


class Place(NamedTuple):
    """A file's statement of a view."""

    report: FileReport
    said: Statement


class Different(NamedTuple):
    """A view that is another one in another file."""

    mine: Place | None
    """None: the file ends before it."""
    other: Place
    what: str
    recorded: Any
    expected: Any
    lacking: FileReport | None = None
    """The file that ends before it."""


def views_of(report: FileReport) -> list[Statement]:
    """Return the views that a file tells of."""
    return [each for each in report.said if each.topic == VIEW]


def between_layers(reports: Iterable[FileReport], whole: Mapping[str, bool]) -> list[Different]:
    """Compare the views of one member's files, place by place: the first difference of each."""
    files = [(report, views_of(report)) for report in reports]
    found = []
    for place in range(max((len(views) for _, views in files), default=0)):
        known: list[Place] = []
        for report, views in list(files):
            if place < len(views):
                mine = Place(report, views[place])
                different = _first(mine, known)
                if different is not None:
                    found.append(different)
                    files.remove((report, views))
                known.append(mine)
        for report, views in list(files):
            if place >= len(views) and known and whole[report.protocol]:
                other = known[0]
                found.append(Different(None, other, "view", None, other.said.value, report))
                files.remove((report, views))
    return found


def _first(mine: Place, known: Iterable[Place]) -> Different | None:
    number, members, ranked, *by = mine.said.value
    for other in known:
        its_number, its_members, its_ranked, *its_by = other.said.value
        if None not in (number, its_number) and number != its_number:
            return Different(mine, other, "view", number, its_number)
        if by and its_by and by != its_by:
            return Different(mine, other, "decided by", by[0], its_by[0])
        if members is None or its_members is None:
            continue
        both = ranked and its_ranked
        if (members if both else sorted(members)) != (its_members if both else sorted(its_members)):
            return Different(mine, other, "members", members, its_members)
    return None


def between_members(reports: Iterable[FileReport]) -> Iterator[Different]:
    """Compare the views of several members' files: one number means the same members.

    Where groups merge it does so in one line of views only, and the whole id is compared; files
    that do not have it are held against those of their own member that do (`between_layers`).
    """
    known: dict[str, Place] = {}
    for report in reports:
        for said in views_of(report):
            called = _called(report, said)
            if called is not None:
                other = known.setdefault(called, Place(report, said))
                different = _first(Place(report, said), [other])
                if different is not None:
                    yield different
                    break


def _called(report: FileReport, said: Statement) -> str | None:
    """Return what names a view among all members; None where the file does not say it."""
    number, _, _, *by = said.value
    if not report.merges or number is None:
        return None if number is None else str(number)
    return f"{number} {by[0]}" if by else None


def other_beginnings(reports: Iterable[FileReport]) -> Iterator[tuple[FileReport, FileReport]]:
    """Yield each file that begins in another view than a file before it.

    Views of one number have the same members. Of two members whose files begin in views of both,
    whatever the numbers, one goes through the other one's first view.
    """
    known: dict[str, Place] = {}
    began: dict[Address, Place] = {}
    for report in reports:
        views = views_of(report)
        if not views or views[0].index:
            continue
        mine = began[report.who] = Place(report, views[0])
        members, called = views[0].value[1], _called(report, views[0])
        other = mine if called is None else known.setdefault(called, mine)
        if _first(mine, [other]) is None:
            theirs = (began.get((node, life)) for node, life in members or ())
            other = next((each for each in theirs if each and _apart(mine, each)), mine)
        if other is not mine and _first(mine, [other]) is not None:
            yield report, other.report


def _apart(one: Place, other: Place) -> bool:
    """Whether two files begin in views of both members, and neither goes through the other's."""
    both = all(
        list(place.report.who) in (whose.said.value[1] or ())
        for place, whose in ((one, other), (other, one))
    )
    return both and not (_passes(one.report, other) or _passes(other.report, one))


def _passes(report: FileReport, view: Place) -> bool:
    """Whether the file goes through that view."""
    return any(_first(Place(report, said), [view]) is None for said in views_of(report))
