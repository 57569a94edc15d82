"""One member's multicast stream as NAKACK keeps it: what is missing, waiting, and retained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from raincheck.impl.messages import Address

from .events import Gaps

_MAX_GAPS = 32  # the most gaps in one NAK; the next one asks for the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """Repairs of NAKACK that a test may undo; the names are those of `spec/Nakack.tla`."""

    announcing: bool = True
    vector: bool = True
    ask_holders: bool = True
    freezing: str = "gap"
    keep_departed: bool = True
    keep_undelivered: bool = True
    view_tag: bool = True
    from_members: bool = True


class Held(NamedTuple):
    """A buffered multicast: the view that it was sent in, its content, and its datagram."""

    view: int
    content: Any
    raw: bytes


class Stream:
    """A stream of bundles 1, 2, 3 …: purged <= delivered <= arrived <= heard."""

    __slots__ = (
        "arrived",
        "buffer",
        "delivered",
        "frozen",
        "heard",
        "holder",
        "purged",
        "retained",
    )

    def __init__(self, at: int = 0) -> None:
        """Begin behind bundle `at`."""
        self.purged = at  # stable up to here, and not kept
        self.delivered = at  # passed up to here
        self.arrived = at  # received up to here without a gap
        self.heard = at  # the highest number heard of
        self.frozen = False  # nothing beyond `heard` is accepted any more
        self.holder: Address | None = None  # a member that has more of it
        self.buffer: dict[int, Held] = {}  # not delivered yet
        # Delivered, in order, and not purged: view and datagram.
        self.retained: dict[int, tuple[int, bytes]] = {}

    def accept(self, seqno: int, held: Held) -> None:
        """Buffer a bundle that has not arrived before."""
        buffer = self.buffer
        buffer[seqno] = held
        self.heard = max(self.heard, seqno)
        while self.arrived + 1 in buffer:
            self.arrived += 1

    def next(self, view: int) -> Held | None:
        """Return the next bundle, unless it belongs to a view that is not installed."""
        held = self.buffer.get(self.delivered + 1)
        return held if held is not None and held.view <= view else None

    def deliver(self) -> None:
        """Pass the next bundle up, and retain it."""
        self.delivered += 1
        view, _, raw = self.buffer.pop(self.delivered)
        self.retained[self.delivered] = view, raw

    def kept(self, wanted: Gaps, most: int) -> Iterator[tuple[int, int, bytes]]:
        """Return those of the bundles that are kept, so many at most: number, view, datagram."""
        for low, high in wanted:
            for seqno in range(low, min(high, low + most) + 1):
                held = self.buffer.get(seqno) or self.retained.get(seqno)
                if held is not None and most > 0:
                    most -= 1
                    yield seqno, held[0], held[-1]

    def covers(self, stable: int) -> bool:
        """Return whether any bundle up to there is kept."""
        return next(iter(self.retained), stable + 1) <= stable or any(
            seqno <= stable for seqno in self.buffer
        )

    def purge(self, stable: int, *, undelivered: bool = False) -> None:
        """Forget stable bundles.

        A bundle that is not delivered here is kept in any case: nobody else may have it any more.
        """
        if undelivered:
            for seqno in [seqno for seqno in self.buffer if seqno <= stable]:
                del self.buffer[seqno]
            self.arrived = self.delivered
            while self.arrived + 1 in self.buffer:
                self.arrived += 1
        stable = min(stable, self.delivered)
        while self.purged < stable:
            self.purged += 1
            self.retained.pop(self.purged, None)

    def freeze(self) -> None:
        """End the stream at its first gap."""
        self.heard = self.arrived
        for seqno in [s for s in self.buffer if s > self.arrived]:
            del self.buffer[seqno]

    def gaps(self) -> Gaps:
        """Return what is missing up to the highest number heard of."""
        gaps: list[tuple[int, int]] = []
        previous = self.arrived
        for seqno in sorted(s for s in self.buffer if s > previous):
            if seqno > previous + 1:
                gaps.append((previous + 1, seqno - 1))
            previous = seqno
        if self.heard > previous:
            gaps.append((previous + 1, self.heard))
        return tuple(gaps[:_MAX_GAPS])
