"""The two ends of a connection of UNICAST, and the repairs that a test can undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .events import Gaps

_MAX_GAPS = 32  # the most gaps in one acknowledgement; the next one names the rest


class Sender:
    """The sending end of one connection: `sent` has the contents of acked + 1 .. seqno."""

    __slots__ = ("acked", "bytes", "connection", "consumed", "out", "sent", "seqno")

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.seqno = 0
        self.acked = 0
        self.out = 0  # transmitted up to here
        self.consumed = 0  # passed up at the other end, as far as acknowledgements say
        self.sent: dict[int, Any] = {}  # in the order of seqnos
        self.bytes = 0  # bytes of what is under way


class Receiver:
    """The receiving end of one connection."""

    __slots__ = ("arrived", "buffer", "connection", "consumed", "highest", "owed")

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.consumed = 0  # all up to here was passed up
        self.arrived = 0  # all up to here is in the buffer or passed up
        self.highest = 0
        self.buffer: dict[int, Any] = {}
        self.owed = False  # an acknowledgement

    def gaps(self) -> Gaps:
        """Return the gaps below the highest seqno seen."""
        gaps: list[tuple[int, int]] = []
        previous = self.arrived
        if self.highest == previous:
            return ()
        for seqno in sorted(s for s in self.buffer if s > previous):
            if seqno > previous + 1:
                gaps.append((previous + 1, seqno - 1))
                if len(gaps) == _MAX_GAPS:
                    break
            previous = seqno
        return tuple(gaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The repairs that make connections reliable, so that tests can undo them. Not public."""

    connection_ids: str = "newer"
    """ "newer": a datagram of an older connection is dropped, and does not revive it. "different":
    it begins a new one. "none": connections are not told apart."""
    ack_connection: bool = True
    """An acknowledgement counts for its own connection only."""
    remember_closed: bool = True
    """A late duplicate does not open a closed connection again."""
    ack_duplicates: bool = True
    """A duplicate is acknowledged: its sender has not received the first acknowledgement."""
    timer: bool = True
    """The oldest datagram is retransmitted though no acknowledgement names it as missing."""
    probe: bool = True
    """A datagram beyond a closed window asks for news of it."""
