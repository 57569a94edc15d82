"""Part (b) for SEQUENCER in groups that merge: views by their ids, cuts, and what the sides know.

Views of two groups have the same numbers, so that a view is its whole id here, and the view after
another one is the one that a member went on to. A merged view has many that it follows. Law of this
file: it sees summaries, never events, as `members.py` and `cuts.py`, which are for one line of
views.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np

from raincheck.conformance.trace.events import Address
from raincheck.conformance.trace.findings import (
    INCONCLUSIVE,
    VIOLATED,
    Difference,
    FalseConjunct,
    Finding,
)

from .rows import SEQNO_BITS
from .summary import Cut, Departure, Installed, Merged, Summary, ViewId

Summaries = Mapping[Address, Summary]
WIDTH: Final = 1 << SEQNO_BITS
GUARD: Final = "SameMessages: who goes on from a view with others has read as much of it as they"


def check_merging(summaries: Summaries, crashed: Iterable[Address]) -> list[Finding]:
    """Return what is wrong between the members of groups that merge."""
    return [
        *_views(summaries),
        *_missing(summaries, crashed),
        *_cuts(summaries),
        *_sides(summaries),
        *_made_up(summaries, set(crashed)),
        *_drained(summaries),
    ]


def _views(summaries: Summaries) -> Iterator[Finding]:
    """An id means the same members everywhere."""
    known: dict[ViewId, Installed] = {}
    for who, place in _installed(summaries):
        first = known.setdefault(place.called, place)
        if first.members != place.members:
            reason = f"view {place.view} has other members here than elsewhere"
            different = Difference("value", first.members, place.members)
            yield _found(summaries[who], place.index, place.clock, reason, different)


def _installed(summaries: Summaries) -> list[tuple[Address, Installed]]:
    found = [(who, place) for who, each in summaries.items() for place in each.views]
    return sorted(found, key=lambda each: (each[1].clock, each[0]))


def _missing(summaries: Summaries, crashed: Iterable[Address]) -> Iterator[Finding]:
    """Members of a view whose records are missing altogether."""
    run = next(iter(summaries.values())).run
    for node, life in sorted(_absent(summaries, crashed)):
        yield Finding(
            verdict=INCONCLUSIVE,
            part="records",
            reason="a member of a view has no file",
            run=run,
            node=node,
            incarnation=life,
        )


def _absent(summaries: Summaries, crashed: Iterable[Address]) -> set[Address]:
    everybody = {member for _, place in _installed(summaries) for member in place.members}
    return everybody - set(summaries) - set(crashed)


def _steps(summary: Summary) -> Iterator[tuple[Installed, Installed, Cut]]:
    """Yield each view that the member went on from, the next one, and where it stood then."""
    cuts = {cut.index: cut for cut in summary.cuts if cut.index}
    for old, new in pairwise(summary.views):
        if new.index in cuts:
            yield old, new, cuts[new.index]


def _cuts(summaries: Summaries) -> Iterator[Finding]:
    """Members that go on together have read the same of each stream of the view they leave."""
    together: dict[tuple[ViewId, ViewId], list[tuple[Address, Cut, Installed]]] = {}
    for who, summary in sorted(summaries.items()):
        for old, new, cut in _steps(summary):
            together.setdefault((old.called, new.called), []).append((who, cut, old))
    for (_, (number, _)), members in sorted(together.items(), key=repr):
        read = {who: {(n, i): at for n, i, at in cut.positions} for who, cut, _ in members}
        needed = _needed(members, read)
        for who, cut, _ in members:
            unread = [
                (c, far, by) for c, (far, by) in sorted(needed.items()) if read[who].get(c, 0) < far
            ]
            if unread:
                reason = f"it installed view {number} with messages of an earlier view unread"
                conjuncts = tuple(
                    FalseConjunct(
                        GUARD,
                        {
                            "c": list(c),
                            "position[n][c]": read[who].get(c, 0),
                            "needed": far,
                            "known": by,
                        },
                    )
                    for c, far, by in unread
                )
                yield _found(summaries[who], cut.index, cut.clock, reason, conjuncts=conjuncts)


def _needed(
    members: list[tuple[Address, Cut, Installed]], read: Mapping[Address, Mapping[Address, int]]
) -> dict[Address, tuple[int, str]]:
    """Return how far each stream was read by anybody, or written by who goes on; and by whom."""
    needed: dict[Address, tuple[int, str]] = {}
    for who, cut, old in members:
        for c in old.members:
            at, by = read[who].get(c, 0), f"read by {who[0]}.{who[1]}"
            if c == who and cut.multicast > at:
                at, by = cut.multicast, f"multicast by {who[0]}.{who[1]}"
            if at > needed.get(c, (0, ""))[0]:
                needed[c] = at, by
    return needed


def _sides(summaries: Summaries) -> Iterator[Finding]:
    """In a merged view all know the same of each member, itself included: what its side knew at
    its cut, or more, and how far its stream was.
    """
    first: dict[ViewId, tuple[Address, Merged]] = {}
    for who, merged in sorted(
        ((who, each) for who, summary in summaries.items() for each in summary.merged),
        key=lambda found: (found[1].clock, found[0]),
    ):
        other, theirs = first.setdefault(merged.called, (who, merged))
        for name in ("table", "positions"):
            mine, known = getattr(merged, name), getattr(theirs, name)
            if mine != known:
                reason = f"it knows otherwise than {other[0]}.{other[1]} what was before the merge"
                different = Difference(name, known, mine)
                yield _found(
                    summaries[who], merged.index, merged.clock, reason, different, action="Merge"
                )
                break


def _made_up(summaries: Summaries, crashed: Collection[Address]) -> Iterator[Finding]:
    """Nothing counts as delivered that nobody has delivered: it would be lost."""
    whole = all(each.complete or who in crashed for who, each in summaries.items())
    if not whole or _absent(summaries, crashed):
        return  # who has delivered it may be among those whose records are missing
    highest: dict[Address, int] = {}
    for summary in summaries.values():
        for sender, seqno in _highest(summary):
            highest[sender] = max(seqno, highest.get(sender, 0))
    for _, summary in sorted(summaries.items()):
        for merged in summary.merged:
            for node, life, last in merged.table:
                known = highest.get((node, life), 0)
                if last > known:
                    reason = "it takes for delivered what nobody has delivered"
                    different = Difference("table", [node, life, known], [node, life, last])
                    yield _found(
                        summary, merged.index, merged.clock, reason, different, action="Merge"
                    )
                    return


def _highest(summary: Summary) -> Iterator[tuple[Address, int]]:
    """Yield the last message that the member has delivered of each run, as `rows.py` packs them."""
    words = np.frombuffer(summary.delivered, dtype=np.int64)
    for place in np.flatnonzero(words >= 0).tolist():
        key = int(words[place])
        longer = place + 1 < len(words) and words[place + 1] < 0
        last = (key & (WIDTH - 1)) + (-int(words[place + 1]) - 1 if longer else 0)
        yield summary.addresses[key >> SEQNO_BITS], last


def _drained(summaries: Summaries) -> Iterator[Finding]:
    """Who stopped was drained: the members of its last view, as they leave it, have read it all."""
    for who, summary in sorted(summaries.items()):
        if not summary.stopped or not summary.views:
            continue
        if summary.constants.get("DrainOnLeave", True) is False:
            continue
        last = summary.views[-1].called
        for reader in (each for _, each in sorted(summaries.items())):
            for left in reader.departures:
                if left.member != who or left.position >= summary.multicast:
                    continue
                if _left_from(reader, left) != last or (left.index == 0 and not reader.complete):
                    continue
                text = "DrainOnLeave => position[p][n] = Len(stream[n])"
                values: dict[str, Any] = {
                    "p": list(reader.who),
                    "position[p][n]": left.position,
                    "Len(stream[n])": summary.multicast,
                }
                reason = "it stopped before every member had received all of its stream"
                yield _found(
                    summary,
                    summary.conforming,
                    left.clock,
                    reason,
                    action="Stop",
                    conjuncts=(FalseConjunct(text, values),),
                )


def _left_from(reader: Summary, left: Departure) -> ViewId | None:
    """Return the view in which the reader was until it lost that member."""
    if left.index == 0:
        return reader.views[-1].called if reader.views else None
    return next((old.called for old, new, _ in _steps(reader) if new.index == left.index), None)


def _found(
    mine: Summary,
    index: int,
    clock: int,
    reason: str,
    *differences: Difference,
    action: str = "InstallView",
    conjuncts: tuple[FalseConjunct, ...] = (),
) -> Finding:
    return Finding(
        verdict=VIOLATED,
        part="network",
        reason=reason,
        run=mine.run,
        node=mine.node,
        incarnation=mine.incarnation,
        index=index,
        clock=clock,
        action=action,
        path=mine.path,
        conjuncts=conjuncts,
        differences=differences,
    )
