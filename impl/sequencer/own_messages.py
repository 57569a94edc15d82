"""A member's own messages, as runs in the order of seqnos: forwardTable and resend."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from raincheck.impl.messages import Payloads, Run


class Own(NamedTuple):
    """A run of this member's own messages."""

    run: Run
    payloads: Payloads


def remove(entries: deque[Own], first: int, last: int) -> int:
    """Take messages `first` .. `last` out; return the bytes that this frees."""
    freed = 0
    while entries and first <= entries[0].run.first and entries[0].run.last <= last:
        freed += entries.popleft().payloads.size  # the usual case: the oldest go
    if not entries or last < entries[0].run.first:
        return freed
    kept: list[Own] = []
    for own in entries:
        run, payloads = own
        if last < run.first or run.last < first:
            kept.append(own)
            continue
        freed += payloads.size
        for low, high in (
            (run.first, min(run.last, first - 1)),
            (max(run.first, last + 1), run.last),
        ):
            if low <= high:
                part = payloads.part(low - run.first, high - low + 1)
                freed -= part.size
                kept.append(Own(Run(run.sender, low, high - low + 1), part))
    entries.clear()
    entries.extend(kept)
    return freed


def intervals(entries: deque[Own]) -> list[list[int]]:
    """The seqnos of own messages, as few intervals as possible."""
    found: list[list[int]] = []
    for own in entries:
        if found and found[-1][1] == own.run.first - 1:
            found[-1][1] = own.run.last
        else:
            found.append([own.run.first, own.run.last])
    return found
