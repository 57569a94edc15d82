"""Evidence against the promises on views: one history, nobody unheard, no holes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, zip_longest
from typing import TypeAlias

from .known import Run, Witness, later, name, names
from .seen import Address, Commit

View: TypeAlias = tuple[Address, ...]
Committed: TypeAlias = dict[int, list[tuple[Address, Commit]]]


def by_place(run: Run) -> Committed:
    """Return the commits of each index, the earliest first as far as that is known."""
    found: Committed = {}
    for who, seen in run.seen.items():
        for commit in seen.commits:
            if commit.members:
                found.setdefault(commit.place, []).append((who, commit))
    for commits in found.values():
        commits.sort(key=lambda each: (each[1].at is None, each[1].at or 0.0))
    return dict(sorted(found.items()))


def consistent_history(run: Run) -> Iterator[Witness]:
    """Entries that are not NULL are the same at all members, in all lives, at all times."""
    for place, commits in by_place(run).items():
        first, one = commits[0]
        for who, other in commits:
            if other.members != one.members:
                facts = {
                    "index": place,
                    "members": [list(first), list(who)],
                    "events": [one.index, other.index],
                    "views": [names(one.members), names(other.members)],
                }
                yield Witness(later(one.at, other.at), facts)
                break


def held_by_all(run: Run) -> Iterator[Witness]:
    """No view is committed with a member that has never held the token before."""
    if not run.ordered:
        return
    for who, seen in run.seen.items():
        for commit in seen.commits:
            if not commit.index:
                continue  # the view that the trace begins in
            for member in commit.members:
                if not _held(run, member, who, commit.index):
                    facts = {
                        "index": commit.place,
                        "members": [list(who)],
                        "events": [commit.index],
                        "view": names(commit.members),
                        "lacking": f"{name(member)} had not held the token",
                    }
                    yield Witness(commit.at, facts)


def _held(run: Run, member: Address, who: Address, index: int) -> bool:
    """Whether the member had held the token before that event; what it has forgotten is nothing."""
    seen = run.seen.get(member)
    if seen is None:
        return False
    known = (event for event in reversed(seen.forgot) if run.before(member, event, who, index))
    life = next(known, -1)
    first = next((each.index for each in seen.eaten if each.index > life), None)
    return first is not None and run.before(member, first, who, index)


# ---------------------------------------------------------------- holes


def no_holes(run: Run) -> Iterator[Witness]:
    """Yield the members that lack a view that they are in although they have committed a later one.

    Also those that lack the last view at a time at which all agree.
    """
    if not run.ordered:
        return
    committed = by_place(run)
    for who, seen in run.seen.items():
        in_order = _in_order(seen.commits)
        highest = max((each.place for each in seen.commits), default=0)
        for place, commits in committed.items():
            if place >= highest:
                break  # it never had a later one
            for view in sorted({commit.members for _, commit in commits}):
                if who in view and in_order.get(place) != view:
                    yield from _hole(run, committed, who, place, view)
    yield from _lacking(run, committed)


def _in_order(commits: list[Commit]) -> dict[int, View]:
    """The entries that came before all later ones, and stayed."""
    found: dict[int, View] = {}
    highest = 0
    for each in commits:
        if each.place < highest:
            found[each.place] = ()
        else:
            found[each.place] = each.members
        highest = max(highest, each.place)
    return found


def _hole(
    run: Run, committed: Committed, who: Address, place: int, view: View
) -> Iterator[Witness]:
    """Look for a time at which it lacked this view, and had the next that was committed by then.

    Whatever is not ordered may have been seen in any order; so the earliest time counts at which
    it lacked the view and another had committed it.
    """
    own: dict[int, View] = {}
    groups = groupby(run.seen[who].commits, key=lambda each: each.index)
    states = [(index, list(changes)) for index, changes in groups]
    ends = [index for index, _ in states[1:]]
    for (index, changes), then in zip_longest(states, ends):
        own |= {each.place: each.members for each in changes}
        later_ones = [each for each, members in own.items() if each > place and members]
        if own.get(place) == view or not later_ones:
            continue
        for other, commit in committed[place]:
            if commit.members != view:
                continue
            if then is not None and run.before(who, then, other, commit.index):
                continue  # its history was another one by then
            known = ((who, index), (other, commit.index))
            if not _between(run, committed, place, min(later_ones), known):
                facts = {
                    "index": place,
                    "members": [list(who)],
                    "events": [index],
                    "view": names(view),
                    "lacking": f"{name(who)} has the one at {min(later_ones)}, and not this one",
                }
                yield Witness(later(changes[-1].at, commit.at), facts)
                return


def _between(
    run: Run, committed: Committed, low: int, high: int, known: tuple[tuple[Address, int], ...]
) -> bool:
    """Whether a view between the two was committed before one of these events."""
    return any(
        run.before(who, commit.index, *event)
        for place, commits in committed.items()
        if low < place < high
        for who, commit in commits
        for event in known
    )


def _lacking(run: Run, committed: Committed) -> Iterator[Witness]:
    """Yield the members of the last view that lack it although all agree."""
    for who, place, view, lacks in last_agreed(run, committed):
        if lacks:
            agreed = run.seen[who].agreed
            facts = {
                "index": place,
                "members": [list(who)],
                "view": names(view),
                "lacking": f"all agree, and {name(who)} has not the last one",
            }
            yield Witness(agreed.at if agreed is not None else None, facts)


def last_agreed(run: Run, committed: Committed) -> Iterator[tuple[Address, int, View, bool]]:
    """Yield the members of the last view when all agreed last, and whether each lacked it."""
    running, cut = _agreement(run)
    there = [
        (place, commit.members)
        for place, commits in committed.items()
        for who, commit in commits
        if commit.index <= cut.get(who, -1)
    ]
    last = max((place for place, _ in there), default=0)
    for view in sorted({members for place, members in there if place == last}):
        for who in view:
            if who in running:
                has = [c for c in run.seen[who].commits if c.place == last and c.index <= cut[who]]
                yield who, last, view, not has or has[-1].members != view


def _agreement(run: Run) -> tuple[View, dict[Address, int]]:
    """The list of all who ran, and a time at which all of them agreed on it, if there was one.

    The time has an event of each member: the last one before.
    """
    for members in sorted({each.agreed.members for each in run.seen.values() if each.agreed}):
        cut = _time_of(run, members)
        if cut:
            return members, cut
    return (), {}


def _time_of(run: Run, members: View) -> dict[Address, int]:
    begun = {}
    for who, seen in run.seen.items():
        if who not in members:
            if seen.up == "up" and who not in run.crashed:
                return {}
            begun[who] = seen.last
        elif seen.agreed is None or seen.agreed.members != members:
            return {}
        else:
            begun[who] = seen.agreed.start
    cut = dict(begun)
    for who, index in begun.items():
        for other, known in run.causality.known(who, index).items():
            cut[other] = max(cut.get(other, 0), known)
    for who in members:
        agreed = run.seen[who].agreed if who in run.seen else None
        if agreed is None or (agreed.end and cut[who] >= agreed.end):
            return {}
    return cut
