"""Over how many members, views and messages a promise was judged: what makes its verdict worth."""

from collections.abc import Collection
from typing import Any, TypeAlias

import numpy as np

from raincheck.conformance.trace.events import Address

from .logs import Keys, Log

Judged: TypeAlias = dict[str, int]


def tallied(members: Collection[Address], views: int, messages: int) -> Judged:
    """The three counts, by name."""
    return {"members": len(members), "views": views, "messages": messages}


class Tally:
    """Counts what is compared in pairs: each member, view and message once.

    Two logs count only if both have `least` messages in common, and, if `changed`, one of the two
    members went from one view to another: else there was nothing in which they could differ.
    """

    def __init__(self, *, least: int, changed: bool = False) -> None:
        self.least, self.changed = least, changed
        self.members: set[Address] = set()
        self._seen: dict[Address, tuple[Log, Any]] = {}
        """Per member with which others were compared, which of its messages they have as well."""

    def add(self, p: Log, q: Log, places: tuple[Keys, Keys]) -> None:
        """These two were compared in the messages at those places of theirs."""
        mine, theirs = places
        if len(mine) < self.least or (self.changed and max(len(p.views), len(q.views)) < 2):
            return
        self.members |= {p.who, q.who}
        whole, seen = self._seen.get(q.who, (q, None))
        if seen is None or len(seen) < len(q.keys):
            grown = np.zeros(len(q.keys), dtype=bool)
            if seen is not None:
                grown[: len(seen)] = seen
            whole, seen = q, grown
        seen[theirs] = True
        self._seen[q.who] = (whole, seen)

    def judged(self) -> Judged:
        """The counts."""
        views: set[int] = set()
        distinct: list[Keys] = []
        for log, seen in self._seen.values():
            distinct.append(log.keys[: len(seen)][seen])
            ends = [place for place, _ in log.starts[1:]] + [len(log.keys)]
            for (begin, view), end in zip(log.starts, ends, strict=True):
                if seen[begin:end].any():
                    views.add(view)
        several = np.unique(np.concatenate(distinct)) if len(distinct) > 1 else None
        messages = len(several) if several is not None else sum(map(len, distinct))
        return tallied(self.members, len(views), messages)
