"""The points of a trace at which LOCKS' invariants are evaluated.

That a fence was told before another is known from what the posts leave possible. A holder cannot be
late then: whoever has a fence has read nothing of a newer epoch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, NamedTuple

from raincheck.conformance.bindings.conversion import fields_of
from raincheck.conformance.trace.invariants.asked import Invariants, OfMembers, OfState, Unshown
from raincheck.conformance.trace.invariants.moments import (
    Asking,
    Moments,
    Span,
    broken,
    event,
    name,
)
from raincheck.conformance.trace.records import Address
from raincheck.model.locks.events import Epoch, Fence, Request
from raincheck.model.locks.handlers import Rules
from raincheck.model.locks.promises import key, one_writes, passes_nobody, well_formed

from .notes import HOLDS, TABLES, TOLD, arrives, begins, departs, holds, recovers
from .posted import as_model, posts_of


class Told(NamedTuple):
    """A lock that an application was told to hold."""

    who: Address
    at: int
    request: tuple[int, int]
    """The session, and the request's number in it."""
    name: str
    mode: str
    fence: Fence


def _told(moments: Moments) -> Iterator[Told]:
    for who, each in moments.noted(TOLD):
        request, lock, mode, (epoch, place, turn), session = each.value
        fence = Fence(as_model(epoch, Epoch), place, turn)
        yield Told(who, each.index, (session, request), lock, mode, fence)


# ---------------------------------------------------------------- who holds a name


def one_current(moments: Moments) -> Asking:
    """No two members with a good table for one epoch hold a name at once, unless both read."""
    count = 0
    for topic in _held(moments):
        spans = [span for span in moments.spans(topic) if span.value is not None]
        if len({span.who for span in spans}) > 1 and any(map(_writes, spans)):
            count += len(spans)
        for one, other in moments.pairs(topic):  # in both orders
            epoch, its = one.value[0], other.value[0]
            if epoch is not None and epoch == its and _writes(one):
                lock = topic.removeprefix(HOLDS)
                but = f"{name(other.who)} holds it from its event {other.start} on"
                return Asking(count, broken(one, one.start, [lock, *one.value], but))
    return Asking(count)


def _held(moments: Moments) -> list[str]:
    notes = (note for report in moments.reports.values() for note in report.noted)
    return sorted({note.topic for note in notes if note.topic.startswith(HOLDS)})


def _writes(span: Span) -> bool:
    return any(mode == "write" for _, mode in span.value[1])


# ---------------------------------------------------------------- fences


def fences_differ(moments: Moments) -> Asking:
    """No two requests were told the same fence."""
    known: dict[Fence, Told] = {}
    count = 0
    for each in _told(moments):
        count += 1
        other = known.setdefault(each.fence, each)
        if (other.who, other.request) != (each.who, each.request):
            but = f"it was told to {name(other.who)} by its event {other.at}"
            return Asking(count, broken(each.who, each.at, list(key(each.fence)), but))
    return Asking(count if len({each.who for each in known.values()}) > 1 else 0)


def fences_grow(moments: Moments) -> Asking:
    """A fence is greater than all of its name that were told before, unless both are readers'."""
    by_name: dict[str, list[Told]] = {}
    for each in _told(moments):
        by_name.setdefault(each.name, []).append(each)
    count = 0
    for told in by_name.values():
        lives = _Lives(told)
        for each in told:
            earlier = lives.greatest(moments, each)
            if earlier is None:
                continue
            count += 1
            if key(earlier.fence) >= key(each.fence):
                there = event(earlier.who, earlier.at)
                but = f"{list(key(earlier.fence))} was told before ({there})"
                return Asking(count, broken(each.who, each.at, list(key(each.fence)), but))
    return Asking(count)


class _Lives:
    """What each process was told of one name: behind each event the greatest fence so far."""

    def __init__(self, told: list[Told]) -> None:
        self._known: dict[bool, dict[Address, tuple[list[int], list[Told]]]] = {}
        for reads in (True, False):
            lives = self._known[reads] = {}
            for who in {each.who for each in told}:
                # Of readers only writers are asked.
                mine = [t for t in told if t.who == who and not (reads and t.mode == "read")]
                mine.sort(key=lambda each: each.at)
                if mine:
                    lives[who] = ([each.at for each in mine], [*accumulate(mine, _greater)])

    def greatest(self, moments: Moments, told: Told) -> Told | None:
        """Return the greatest that was told before."""
        best: Told | None = None
        for who, (indices, greatest) in self._known[told.mode == "read"].items():
            if who == told.who:
                known = told.at - 1
            else:
                known = moments.order.known(told.who, told.at).get(who, -1)
            at = bisect_right(indices, known)
            if at and (best is None or key(greatest[at - 1].fence) > key(best.fence)):
                best = greatest[at - 1]
        return best


def _greater(one: Told, other: Told) -> Told:
    return other if key(other.fence) > key(one.fence) else one


# ---------------------------------------------------------------- tables


def faithful(moments: Moments) -> Asking:
    """A good table is what follows from all posts up to that place."""
    posts = posts_of(moments)
    count = 0
    for who, each in moments.noted(TABLES):
        epoch, place = as_model(each.value[0], Epoch), each.value[1]
        table = tuple([as_model(line, Request) for line in each.value[2]])
        count += 1
        true = posts.at(_rules(moments, who), epoch, place)
        if (true.base, true.table) != (epoch, table):
            but = f"what follows from the posts is {list(map(list, true.table))}"
            return Asking(count, broken(who, each.index, each.value[2], but))
    return Asking(count)


def _rules(moments: Moments, who: Address) -> Rules:
    """Return the rules that the file's header says."""
    given = moments.reports[who].constants
    return Rules(**{rule: on for rule, on in given.items() if rule in fields_of(Rules)})


INVARIANTS: Final = Invariants(
    changes=((("base",), begins), (("epoch", "base", "held"), holds)),
    says={"Arrive": arrives, "Depart": departs, "NewSession": recovers},
    of={
        "TypeOK": (
            OfState(
                reads=("base", "table", "wishes", "held", "requests"),
                holds=lambda rules, _, me: well_formed(rules, me),
                asked=lambda _, me: bool(me.table or me.wishes),
                how="what is held is wanted, and a request without a fence has one in its way",
            ),
        ),
        "OneWriterOrReaders": (
            OfState(
                reads=("held",),
                alone=lambda me: one_writes(me.held),
                asked=lambda _, me: bool(me.held),
                how="what one member holds",
            ),
            Unshown(
                why="two members hold a name in two epochs where one that runs was left out, and "
                "no record of LOCKS says so; OneCurrent and FenceUnique are judged"
            ),
        ),
        "OneCurrent": (
            OfMembers(
                judge=one_current,
                how="what two members hold at once that have a good table for one epoch, but what "
                "a killed one held last",
            ),
        ),
        "FenceUnique": (OfMembers(judge=fences_differ, how="all fences that were told"),),
        "FencesMonotone": (
            OfMembers(
                judge=fences_grow,
                how="each fence that was told, beside those of its name that were told before it",
            ),
        ),
        "NobodyPasses": (
            OfState(
                reads=("table",),
                alone=passes_nobody,
                asked=lambda _, me: len(me.table) > 1,
                how="whoever holds in the table has nobody before it that is in its way",
            ),
        ),
        "Faithful": (
            OfMembers(
                judge=faithful,
                how="each good table behind a post, beside what follows from all posts up to it",
            ),
        ),
    },
)
