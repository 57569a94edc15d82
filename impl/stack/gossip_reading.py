"""Gossips and requests as datagrams: how members and numbers stand in them, and what is a lie.

A datagram speaks of the members by their place in the view, which all that have the view know. What
cannot be true is refused: a number that no window allows would have the reader ask for as many
messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from raincheck.impl.messages import Address, Digest, ViewId
from raincheck.impl.pbcast.core import Pbcast
from raincheck.impl.pbcast.events import Gossip, Members, Numbers, ReceiveGossip
from raincheck.impl.pbcast.streams import digest_of, numbers_of
from raincheck.impl.wire.headers import GossipCopy, GossipRequest, Vector


class Lie(Exception):
    """A datagram says what cannot be true; `args` say what."""


class Reader:
    """Reads and writes the datagrams of one view."""

    def __init__(self, core: Pbcast, view: ViewId, members: Sequence[Address], window: int) -> None:
        """`window`: how far a member's stream may be ahead of what another has delivered of it."""
        self._core = core
        self._view = view
        self._members = tuple(members)
        self._ahead = 2 * window
        self._at = {member: place for place, member in enumerate(members)}

    def header_of(self, copy: Gossip) -> GossipCopy:
        """Return a copy as it is sent."""
        seen = 0
        for member in copy.seen:
            seen |= 1 << self._at[member]
        return GossipCopy(
            self._core.me,
            self._view,
            self._at[copy.origin],
            copy.number,
            seen.to_bytes((len(self._members) + 7) // 8, "little"),
            self._vector(copy.digest),
            self._vector(copy.lowest),
            self._vector(copy.has),
        )

    def copy_of(self, header: GossipCopy) -> ReceiveGossip:
        """Return the event of a copy that has arrived; raises Lie."""
        members, core = self._members, self._core
        vectors = header.digest, header.lowest, header.has
        if header.origin >= len(members) or {len(each) for each in vectors} != {len(members)}:
            raise Lie(f"a gossip of another view than {self._view.counter}")
        origin, seen = members[header.origin], self._seen(header.seen)
        if not {origin, header.source} <= seen:
            raise Lie(f"a gossip of {origin} that it has not seen, or {header.source} has not")
        if origin == core.me and header.number > core.number:
            raise Lie(f"gossip {header.number} of this member, which has begun {core.number}")
        if any(low > at for low, at in zip(header.lowest, header.digest, strict=True)):
            raise Lie("a gossip that gathers more than its origin has delivered")
        for member, *ats in zip(members, header.digest, header.has, strict=True):
            if max(ats) > self._most(member):
                raise Lie(f"a gossip with message {max(ats)} of {member}")
        left = core.members - seen
        digest, lowest, has = map(self._digest, vectors)
        number, view = header.number, header.view.counter
        return ReceiveGossip(header.source, origin, number, view, digest, seen, left, lowest, has)

    def request_of(self, wanted: Numbers) -> GossipRequest:
        """Return a request as it is sent."""
        asked = tuple((self._at[who], _ranges(some)) for who, some in wanted if who in self._at)
        return GossipRequest(self._core.me, self._view, asked)

    def wanted_of(self, header: GossipRequest) -> Numbers:
        """Return which messages a request names; raises Lie."""
        found: dict[Address, set[int]] = {}
        for place, ranges in header.wanted:
            if place >= len(self._members) or self._members[place] in found:
                raise Lie("a request for messages of nobody, or twice of one member")
            who = self._members[place]
            numbers = found[who] = set()
            for low, high in ranges:
                if high < low or high > self._most(who) or high - low > self._ahead:
                    raise Lie(f"a request for messages {low} to {high} of {who}")
                numbers.update(range(low, high + 1))
        return numbers_of(found.items())

    def _most(self, member: Address) -> int:
        """Return the highest number that a message of that member can have."""
        if member == self._core.me:
            return self._core.sent
        return self._core.streams.delivered.get(member, 0) + self._ahead

    def _vector(self, digest: Digest) -> Vector:
        known = dict(digest.entries)
        return tuple([known.get(member, 0) for member in self._members])

    def _digest(self, vector: Vector) -> Digest:
        return digest_of(dict(zip(self._members, vector, strict=True)))

    def _seen(self, bits: bytes) -> Members:
        number = int.from_bytes(bits, "little")
        if number >> len(self._members):
            raise Lie("a gossip seen by more than the view has")
        return frozenset(m for place, m in enumerate(self._members) if number >> place & 1)


def _ranges(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return the numbers as ranges, first and last."""
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return tuple(found)
