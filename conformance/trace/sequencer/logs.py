"""The deliveries of each member of a run, as far as the promises to survivors speak of them.

A promise is judged in every prefix of a run, as an invariant is in every state. A trace orders the
events of a run in part only, so "in a prefix" means: in some order that the records allow. Three
things follow, and this file is where they stand.

- Who has left delivered all that it did before it left: its whole log counts.
- Where the log of one that crashed ends (or breaks off) nobody knows whether it was still there
  when the others went on. It counts for the views that it went on from; the rest is for the uniform
  promises.
- Whoever is lost from a view is gone when the next one is decided, since suspicions are accurate:
  what a member delivers in a view that has lost another one is not held against that one's log.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from raincheck.conformance.trace.events import Address

from .rows import SEQNO_BITS
from .summary import Summary

Keys = npt.NDArray[np.int64]
CRASHED = "crashed"
OPEN = "open"


class Log(NamedTuple):
    """What one member delivered: a key per message, in order, and where its views begin."""

    who: Address
    keys: Keys
    starts: list[tuple[int, int]]
    views: dict[int, tuple[Address, ...]]
    """The members of each view that it was in."""
    survived: frozenset[int]
    """The views that it went on from, together with the next one."""
    ended: bool
    """Whether it is known to have been there until its log ends: it left, or runs on."""

    def upto(self, place: int) -> "Log":
        """Its first deliveries only."""
        if place >= len(self.keys):
            return self
        starts = [start for start in self.starts if start[0] < place]
        return self._replace(keys=self.keys[:place], starts=starts)

    def once(self) -> "Log":
        """The first delivery of each message only; a second one is against Integrity alone."""
        kept = np.unique(self.keys, return_index=True)[1]
        if len(kept) == len(self.keys):
            return self
        kept.sort()
        places = np.searchsorted(kept, [place for place, _ in self.starts])
        views = {int(place): view for place, (_, view) in zip(places, self.starts, strict=True)}
        return self._replace(keys=self.keys[kept], starts=sorted(views.items()))

    def begins(self, view: int) -> int:
        """How many messages it had delivered when it came to that view, or to a later one."""
        return next((place for place, number in self.starts if number >= view), len(self.keys))

    def firm(self) -> "Log":
        """What it delivered while it certainly took part."""
        if self.ended:
            return self
        return self.upto(self.begins(max(self.views))) if self.views else self.upto(0)

    def beside(self, other: "Log") -> "Log":
        """Return its deliveries up to the first view without the other member."""
        last = max(other.views, default=0)
        lost = (v for v, members in self.views.items() if v > last and other.who not in members)
        first = min(lost, default=None)
        return self if first is None else self.upto(self.begins(first))

    def within(self, view: int) -> Keys:
        """What it delivered in that view."""
        places = [place for place, _ in self.starts] + [len(self.keys)]
        for at, (_, number) in enumerate(self.starts):
            if number == view:
                return self.keys[places[at] : places[at + 1]]
        return self.keys[:0]

    def view_of_each(self) -> Keys:
        """The view that each message was delivered in."""
        places = np.array([place for place, _ in self.starts], dtype=np.int64)
        numbers = np.array([view for _, view in self.starts], dtype=np.int64)
        at = np.searchsorted(places, np.arange(len(self.keys)), side="right") - 1
        return numbers[at] if len(numbers) else np.zeros(len(self.keys), dtype=np.int64)


def logs_of(
    summaries: Mapping[Address, Summary], deliveries: dict[Address, Any]
) -> tuple[list[Log], list[Address]]:
    """Logs with one code per sender in the whole run, and the senders by code.

    It takes the rows out of `deliveries`, which would stay in memory beside what they become.
    """
    senders = sorted({a for summary in summaries.values() for a in summary.addresses})
    code = {sender: place for place, sender in enumerate(senders)}
    logs = []
    for who, summary in sorted(summaries.items()):
        keys, starts = _expanded(deliveries.pop(who), summary.view_starts)
        if summary.addresses:
            codes = np.array([code[a] for a in summary.addresses], dtype=np.int64)
            low = keys & ((1 << SEQNO_BITS) - 1)
            keys = codes[keys >> SEQNO_BITS] << SEQNO_BITS | low
        views = {place.view: place.members for place in summary.views}
        survived = frozenset(v for v in views if who in views[v] and who in views.get(v + 1, ()))
        ended = summary.status != CRASHED and summary.end != OPEN
        logs.append(Log(who, keys, starts, views, survived, ended))
    return logs, senders


def _expanded(rows: Any, starts: list[tuple[int, int]]) -> tuple[Keys, list[tuple[int, int]]]:
    """A key per message, where the rows have one per run and behind it, negative, its length."""
    words = np.frombuffer(rows, dtype=np.int64)
    if not len(words) or words.min() >= 0:
        return words.copy(), list(starts)
    is_key = words >= 0
    run = np.cumsum(is_key) - 1
    counts = np.ones(int(run[-1]) + 1, dtype=np.int64)
    counts[run[~is_key]] = -words[~is_key]
    ends = np.cumsum(counts)
    begins = ends - counts
    offsets = np.arange(int(ends[-1]), dtype=np.int64) - np.repeat(begins, counts)
    keys = np.repeat(words[is_key], counts) + offsets
    return keys, [(int(begins[run[row]]), view) for row, view in starts]
