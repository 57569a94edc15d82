"""A member's part of all streams: what it has delivered, holds, and has purged.

Messages are numbers here: whoever drives the core keeps their contents, and drops what is no longer
held. There are no entries of 0, and no empty sets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from raincheck.impl.messages import Address, Digest

from .events import Delivered, Numbers


class Streams:
    """The streams of one member."""

    def __init__(self, lag: int, *, prompt: bool) -> None:
        """`lag`: how many delivered messages of each stream are kept whatever is stable."""
        self.lag = lag
        self.prompt = prompt
        self.delivered: dict[Address, int] = {}
        self.held: dict[Address, set[int]] = {}
        self.purged: dict[Address, int] = {}

    def stores(self, messages: Numbers) -> list[Delivered]:
        """Hold these messages unless they are old, and deliver what is next."""
        effects = []
        for sender, numbers in messages:
            at = self.delivered.get(sender, 0)
            new = {each for each in numbers if each > at}
            if not new:
                continue
            self.held.setdefault(sender, set()).update(new)
            if self.prompt and (upto := self.arrived(sender)) > at:
                self.delivered[sender] = upto
                effects.append(Delivered(sender, upto))
        return effects

    def arrived(self, sender: Address) -> int:
        """Return how far the sender's stream is there without a gap."""
        at, held = self.delivered.get(sender, 0), self.held.get(sender, ())
        while at + 1 in held:
            at += 1
        return at

    def purges(self, upto: Digest) -> None:
        """Forget what is stable and delivered here, but for the lag."""
        for sender, stable in upto.entries:
            at = min(stable, self.delivered.get(sender, 0)) - self.lag
            if at <= self.purged.get(sender, 0):
                continue
            self.purged[sender] = at
            left = {each for each in self.held.get(sender, ()) if each > at}
            if left:
                self.held[sender] = left
            else:
                self.held.pop(sender, None)

    def keeps(self, senders: Collection[Address]) -> None:
        """Forget the streams of all but these."""
        for table in (self.delivered, self.held, self.purged):
            for who in table.keys() - senders:
                del table[who]

    def missing(self, upto: Digest, *, unheld: bool) -> dict[Address, frozenset[int]]:
        """Return what is not delivered up to there; `unheld`: and not held either."""
        found = {}
        for sender, last in upto.entries:
            at = self.delivered.get(sender, 0)
            if last > at:
                numbers = frozenset(range(at + 1, last + 1))
                held = self.held.get(sender, ()) if unheld else ()
                found[sender] = numbers.difference(held)
        return found

    def found(self, wanted: Numbers) -> Numbers:
        """Return which of these messages are held."""
        return numbers_of((who, some & self.held.get(who, set())) for who, some in wanted)


def numbers_of(entries: Iterable[tuple[Address, Collection[int]]]) -> Numbers:
    """Return messages by sender, in order and without empty sets."""
    return tuple(sorted((who, frozenset(some)) for who, some in entries if some))


def digest_of(entries: Mapping[Address, int]) -> Digest:
    """Return a digest of these entries, in order and without zeros."""
    return Digest(tuple(sorted((who, at) for who, at in entries.items() if at)))


def lowest_of(one: Digest, other: Digest) -> Digest:
    """Return the smaller of both entries for each member; where one is missing there is none."""
    mine = dict(one.entries)
    return Digest(tuple((who, min(mine[who], at)) for who, at in other.entries if who in mine))
