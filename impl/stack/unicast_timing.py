"""The times of a connection's two ends: retransmission at one, acknowledgement at the other."""

from __future__ import annotations

from raincheck.impl.unicast.events import Gaps

from .timers import NEVER, Backoff


class Sending:
    """The times of one sending end: its timer, and when each datagram was transmitted."""

    __slots__ = ("again", "first", "timer")

    def __init__(self, timer: Backoff) -> None:
        self.timer = timer
        self.first: dict[int, float] = {}
        self.again: dict[int, float] = {}  # of retransmitted datagrams

    def acknowledged(self, before: int, upto: int, now: float) -> None:
        """Forget datagrams `before` + 1 .. `upto`, which have arrived; measure the round trip."""
        # Of one that was sent twice nobody knows which transmission was answered.
        if upto not in self.again:
            self.timer.measured(now - self.first[upto])
        for seqno in range(before + 1, upto + 1):
            self.first.pop(seqno, None)
            self.again.pop(seqno, None)

    def lately(self, missing: Gaps, now: float, pause: float) -> list[int]:
        """Return what is missing but was retransmitted less than a pause ago."""
        return [
            seqno
            for seqno, at in sorted(self.again.items())
            if now - at < pause and any(low <= seqno <= high for low, high in missing)
        ]


class Receiving:
    """The times of one receiving end: when its acknowledgement is due."""

    __slots__ = ("ack_at", "unacked")

    def __init__(self) -> None:
        self.ack_at = NEVER
        self.unacked = 0
