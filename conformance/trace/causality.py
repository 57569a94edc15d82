"""The happened-before relation of a run: the order of each process, and its messages.

Nothing else counts, least of all clocks. Of a datagram that was sent several times the first
sending counts, so what is said to have happened before really has.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

Who = TypeVar("Who", bound=Hashable)
Origins: TypeAlias = Mapping[tuple[Who, int], Sequence[tuple[Who, int]]]
"""For each event that received something, the events that sent it."""


class HappensBefore(Generic[Who]):
    """Vector clocks, kept for the events at which a process learns of another."""

    def __init__(self, origins: Origins[Who]) -> None:
        self._places: dict[Who, list[int]] = {}
        self._clocks: dict[Who, list[dict[Who, int]]] = {}
        self.whole = self._follow(origins)
        """Whether the order has no circle; otherwise nothing is known beyond where it begins."""

    def before(self, who: Who, index: int, other: Who, later: int) -> bool:
        """Whether event `index` of `who` happened before event `later` of `other`, or is it."""
        if who == other:
            return index <= later
        return self.known(other, later).get(who, -1) >= index

    def place(self, who: Who, index: int) -> int:
        """A number that is larger at every event that this one happened before."""
        return index + sum(self.known(who, index).values())

    def known(self, who: Who, index: int) -> Mapping[Who, int]:
        """The last event of each other process that this one could know of."""
        at = bisect_right(self._places.get(who, ()), index)
        return self._clocks[who][at - 1] if at else {}

    def _follow(self, origins: Origins[Who]) -> bool:
        events: dict[Who, list[int]] = {}
        for who, index in origins:
            events.setdefault(who, []).append(index)
        for each in events.values():
            each.sort()
        done = dict.fromkeys(events, 0)
        waiting: dict[Who, set[Who]] = {}
        ready: list[Who] = list(events)
        while ready:
            who = ready.pop()
            mine = events[who]
            while done[who] < len(mine):
                index = mine[done[who]]
                senders = origins[who, index]
                blocked = self._blocked(senders, events, done)
                if blocked is not None:
                    waiting.setdefault(blocked, set()).add(who)
                    break
                self._learn(who, index, senders)
                done[who] += 1
                ready += waiting.pop(who, ())
        return all(done[who] == len(mine) for who, mine in events.items())

    @staticmethod
    def _blocked(
        senders: Iterable[tuple[Who, int]],
        events: Mapping[Who, Sequence[int]],
        done: Mapping[Who, int],
    ) -> Who | None:
        """A sender that has not come as far as what it sent here."""
        for sender, index in senders:
            theirs, at = events.get(sender, ()), done.get(sender, 0)
            if at < len(theirs) and theirs[at] <= index:
                return sender
        return None

    def _learn(self, who: Who, index: int, senders: Iterable[tuple[Who, int]]) -> None:
        clock = dict(self.known(who, index))
        for sender, sent in senders:
            known = self.known(sender, sent)
            for other, last in (*known.items(), (sender, sent)):
                if other != who and last > clock.get(other, -1):
                    clock[other] = last
        self._places.setdefault(who, []).append(index)
        self._clocks.setdefault(who, []).append(clock)
