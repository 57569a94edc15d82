"""The points of a trace at which STABLE's invariants are evaluated."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from raincheck.conformance.trace.findings import FileReport
from raincheck.conformance.trace.invariants.asked import (
    Invariants,
    OfMembers,
    OfState,
    OfStep,
    Unshown,
)
from raincheck.conformance.trace.invariants.moments import Asking, Moments, broken, name
from raincheck.conformance.trace.layers.speaks import VIEW
from raincheck.conformance.trace.records import Address
from raincheck.model.stable.events import StableDigest
from raincheck.model.stable.handlers import Local
from raincheck.model.stable.promises import well_formed


def _true_vote(_before: Local, event: Any, _after: Local, outputs: tuple[Any, ...]) -> bool | None:
    votes = [output for output in outputs if isinstance(output, StableDigest)]
    has = dict(event.delivered)
    return all(has.get(who, 0) >= at for each in votes for who, at in each[2]) if votes else None


class _Digests(NamedTuple):
    """A member's digests in one view."""

    indices: list[int]
    delivered: list[dict[Address, int]]


def _digests(report: FileReport) -> dict[int, _Digests]:
    found: dict[int, _Digests] = {}
    for said in report.said:
        if said.topic == "digest":
            view, delivered, _ = said.value
            mine = found.setdefault(view, _Digests([], []))
            mine.indices.append(said.index)
            mine.delivered.append({(who[0], who[1]): at for who, at in delivered})
    return found


def _purges(report: FileReport) -> Iterator[tuple[int, list[Address], int, Address, int]]:
    """Yield of each purge the view's number and members, the event, the source and the place."""
    view, members = 0, list[Address]()
    for said in report.said:
        if said.topic == VIEW:
            view, members = said.value[0], [(who[0], who[1]) for who in said.value[1]]
        elif said.topic == "purge":
            (node, life), at = said.value
            yield view, members, said.index, (node, life), at


def purged_was_delivered(moments: Moments) -> Asking:
    """A member purges only messages that every member of its view has delivered by then.

    A member's digests say how much it has delivered, which only grows. So a purge is wrong if the
    next digest of a member, after all that the purge could know of, still says less; it is right if
    the last one before says as much. In between nobody can tell.
    """
    digests = {who: _digests(report) for who, report in moments.reports.items()}
    count = 0
    for who, report in moments.reports.items():
        for view, members, index, source, at in _purges(report):
            for other in members:
                theirs = digests.get(other, {}).get(view)
                if theirs is None:
                    continue
                known = index if other == who else moments.order.known(who, index).get(other, 0)
                place = bisect_right(theirs.indices, known)
                if place and theirs.delivered[place - 1].get(source, 0) >= at:
                    count += 1
                elif place < len(theirs.indices) and theirs.delivered[place].get(source, 0) < at:
                    has = theirs.delivered[place].get(source, 0)
                    but = f"{name(other)} has delivered {has} by its event {theirs.indices[place]}"
                    return Asking(
                        count + 1, broken(who, index, {"source": name(source), "purged": at}, but)
                    )
    return Asking(count)


INVARIANTS: Final = Invariants(
    of={
        "TypeOK": (
            OfState(
                reads=("view", "members", "heard_from", "electorate"),
                alone=well_formed,
                asked=lambda _, me: me.view > 0,
                how="a member is in its view, and hears from its electorate; how much is delivered "
                "and purged is NAKACK's",
            ),
        ),
        "OnlyStablePurged": (
            OfMembers(
                judge=purged_was_delivered,
                how="each purge, beside the digests of all members around the consistent cut that "
                "it could know of",
            ),
        ),
        "NothingOutOfReach": (
            Unshown(
                why="a trace does not have when a killed member, and what it kept, was lost; "
                "OnlyStablePurged asks that nothing is purged too soon"
            ),
        ),
        "VotesAreTrue": (
            OfStep(
                actions=("SendDigest",),
                holds=_true_vote,
                how="a vote covers no more than its member has delivered; DigestIsOfTheStreams "
                "compares that with NAKACK",
            ),
        ),
    },
)
