"""The posts of a run of LOCKS, as the members noted them, and the tables that follow from them.

An epoch's posts stand behind those that were on the copy of which its token was made: its first
post says which epoch that was, and its place how many there were.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final, NamedTuple

from raincheck.conformance.bindings.addressed import Addressed
from raincheck.conformance.bindings.conversion import shaped
from raincheck.conformance.trace.invariants.moments import Moments
from raincheck.conformance.trace.layers.speaks import Statement
from raincheck.conformance.trace.promised import Run
from raincheck.conformance.trace.records import Address
from raincheck.model.locks import events
from raincheck.model.locks.handlers import Local, Rules, read

OVER: Final = Addressed(texts=frozenset({"name", "mode"}))
"""LOCKS' model over addresses."""
POSTS, READS, FOUNDS, RECOVERS = "posts", "reads", "founds", "recovers"
"""The topics of notes on a post, on what an `Arrive` has read, on the epoch in which a founder
begins, and on the next process of a member."""


class Posted(NamedTuple):
    """A post, and the event by which it was written."""

    who: Address
    at: int
    post: events.Post


class Good(NamedTuple):
    """The table at a place, and the epoch for which it is good."""

    place: int
    base: events.Epoch | None
    table: events.Table


class Posts:
    """The posts of a run, in the order of each epoch."""

    def __init__(self, noted: Iterable[tuple[Address, Statement]]) -> None:
        """`noted` are the notes of all members."""
        self._own: dict[events.Epoch, list[Posted]] = {}
        self._founded: set[events.Epoch] = set()
        self._orders: dict[events.Epoch, list[Posted]] = {}
        self._tables: dict[events.Epoch, list[Good]] = {}
        for who, each in noted:
            if each.topic == POSTS:
                post = as_model(each.value[0], events.Post)
                self._own.setdefault(post.epoch, []).append(Posted(who, each.index, post))
            elif each.topic == FOUNDS:
                self._founded.add(as_model(each.value, events.Epoch))
        for own in self._own.values():
            own.sort(key=attrgetter("post.place", "who", "at"))

    def twice(self) -> Iterator[tuple[Posted, Posted]]:
        """Yield the posts that stand where another one of their epoch does."""
        for own in self._own.values():
            for one, other in pairwise(own):
                if one.post.place == other.post.place:
                    yield one, other

    def order(self, epoch: events.Epoch) -> list[Posted]:
        """Return all posts on the token of that epoch, as far as they are known."""
        known = self._orders.get(epoch)
        if known is None:
            own, parent = self._own.get(epoch, []), self._parent(epoch)
            before: list[Posted] = []
            if parent is not None:
                first = own[0].post.place
                before = [each for each in self.order(parent) if each.post.place < first]
            known = self._orders[epoch] = [*before, *own]
        return known

    def between(self, epoch: events.Epoch, after: int, before: int) -> list[Posted]:
        """Return the posts on that token at the places between these two."""
        order = self.order(epoch)
        start = bisect_right(order, after, key=attrgetter("post.place"))
        found = []
        for each in order[start:]:
            if each.post.place >= before:
                break
            found.append(each)
        return found

    def at(self, rules: Rules, epoch: events.Epoch, place: int) -> Good:
        """Return the table that follows from the posts on that token up to a place."""
        known = self._tables.get(epoch)
        if known is None:
            known = self._tables[epoch] = [*self._folded(rules, epoch)]
        return known[bisect_right(known, place, lo=1, key=attrgetter("place")) - 1]

    def _folded(self, rules: Rules, epoch: events.Epoch) -> Iterator[Good]:
        own, parent = self._own.get(epoch, []), self._parent(epoch)
        good = Good(0, epoch if epoch in self._founded else None, ())
        if parent is not None:
            good = self.at(rules, parent, own[0].post.place - 1)
        yield good
        me: Any = Local("", base=good.base, table=good.table)
        for each in own:
            me = read(rules, me, each.post)
            yield Good(each.post.place, me.base, me.table)

    def _parent(self, epoch: events.Epoch) -> events.Epoch | None:
        """Return the epoch of the copy of which that token was made, if its first post is known."""
        own = self._own.get(epoch)
        parent = own[0].post.parent if own else None
        return parent if parent is not None and parent.n < epoch.n else None


def posts_of(run: Run | Moments) -> Posts:
    """Return the posts of a run."""
    return Posts((who, note) for who, report in run.reports.items() for note in report.noted)


def as_model(value: Any, kind: Any) -> Any:
    """Return a note as the model's type, over addresses where it has such."""
    node = value[1] if kind is events.Epoch else value[0]
    return shaped(value, kind if isinstance(node, str) else OVER.over(kind))
