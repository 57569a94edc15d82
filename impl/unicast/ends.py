"""The two ends of a connection of UNICAST, and the repairs that a test can undo."""

from __future__ import annotations

from dataclasses import dataclass

from raincheck.impl.messages import Payloads
from raincheck.impl.stack.timers import NEVER, Backoff
from raincheck.impl.wire.headers import Gaps, UnicastHeader

_MAX_GAPS = 32  # in one acknowledgement; the rest is asked for by the next one


class Sent:
    """A datagram that is not acknowledged yet: when it was sent first, and last sent again."""

    __slots__ = ("again", "data", "first")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.first = NEVER
        self.again = -NEVER


class Sender:
    """The sending end of one connection."""

    __slots__ = ("bytes", "connection", "consumed", "next_out", "sent", "seqno", "timer")

    def __init__(self, connection: int, timer: Backoff) -> None:
        self.connection = connection
        self.seqno = 0
        self.sent: dict[int, Sent] = {}  # in the order of seqnos; a few at the end not yet out
        self.next_out = 1
        self.bytes = 0  # out and not acknowledged
        self.consumed = 0
        self.timer = timer


class Receiver:
    """The receiving end of one connection."""

    __slots__ = ("ack_at", "arrived", "buffer", "connection", "consumed", "highest", "unacked")

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.consumed = 0  # all up to here was passed up
        self.arrived = 0  # all up to here is in the buffer or passed up
        self.highest = 0
        self.buffer: dict[int, tuple[UnicastHeader, Payloads | None]] = {}
        self.unacked = 0
        self.ack_at = NEVER

    def gaps(self) -> Gaps:
        """What is missing below the highest seqno seen."""
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
    """What makes the connections reliable, so that tests can undo it. Not public."""

    newer_only: bool = True
    """A datagram of an older connection is dropped, and does not revive it."""
    ack_connection: bool = True
    """An acknowledgement counts for its own connection only."""
    remember_closed: bool = True
    """A late duplicate does not open a closed connection again."""
    ack_duplicates: bool = True
    """A duplicate is acknowledged: its sender has not heard of it."""
    timer: bool = True
    """The oldest datagram is sent again though nobody misses it."""
    probe: bool = True
    """A datagram beyond a closed window asks for news of it."""
