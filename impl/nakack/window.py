"""The window of a member's own multicasts: how far the others have acknowledged them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from raincheck.impl.messages import Address


class Window:
    """Acknowledgements of one stream. They bound what is under way; they make nothing stable."""

    __slots__ = ("_sizes", "acked", "bytes", "highest", "lowest")

    def __init__(self) -> None:
        self.acked: dict[Address, int] = {}  # how far each other member has delivered it
        self.lowest = 0  # all others have acknowledged it
        self.highest = 0  # sent
        self.bytes = 0  # sent, and not acknowledged by all
        self._sizes: deque[int] = deque()  # of each of those

    def __len__(self) -> int:
        return self.highest - self.lowest

    def sent(self, size: int) -> None:
        """One more was multicast."""
        self.highest += 1
        self.bytes += size
        self._sizes.append(size)
        if not self.acked:
            self._advance()

    def acknowledge(self, member: Address, at: int) -> bool:
        """A member has delivered so much; whether that moves the window."""
        if not self.acked.get(member, at) < at <= self.highest:
            return False
        self.acked[member] = at
        return self._advance()

    def install(self, others: Collection[Address], joiners: Collection[Address], at: int) -> None:
        """The other members are these; the stream begins after `at` for those who are new."""
        known = self.acked
        self.acked = {m: at if m in joiners else known.get(m, at) for m in others}
        self._advance()

    def lagging(self) -> list[Address]:
        """The members that have not acknowledged everything."""
        return [member for member, at in self.acked.items() if at < self.highest]

    def _advance(self) -> bool:
        lowest = min(self.acked.values(), default=self.highest)
        moved = lowest > self.lowest
        while self.lowest < lowest:
            self.lowest += 1
            self.bytes -= self._sizes.popleft()
        return moved
