"""Timers of protocols: the time of a timer that is not set, and pauses that grow."""

from __future__ import annotations

NEVER = float("inf")
"""The deadline of a timer that is not set."""


class Backoff:
    """A timer whose pauses double while nothing answers.

    The first pause follows the measured round trips, as TCP's does (RFC 6298): their smoothed mean
    plus four times their deviation, between `first` and `last`. So nothing is retransmitted to a
    process that answers late because its machine is busy.
    """

    __slots__ = ("_deviation", "_first", "_floor", "_last", "_mean", "_pause", "due")

    def __init__(self, first: float, last: float) -> None:
        self._floor = self._first = self._pause = first
        self._last = last
        self._mean = -1.0
        self._deviation = 0.0
        self.due = NEVER

    def measured(self, trip: float) -> None:
        """Take in a round trip, of something that was sent only once."""
        if self._mean < 0:
            self._mean, self._deviation = trip, trip / 2
        else:
            self._deviation += (abs(trip - self._mean) - self._deviation) / 4
            self._mean += (trip - self._mean) / 8
        first = max(self._floor, self._mean + 4 * self._deviation)
        self._first = max(self._floor, min(first, self._last))

    def start(self, now: float) -> None:
        """Start, with the first pause."""
        self._pause = self._first
        self.due = now + self._first

    def start_if_idle(self, now: float) -> None:
        """Start unless it is running."""
        if self.due == NEVER:
            self.start(now)

    def again(self, now: float) -> None:
        """Restart after it fired, with a pause twice as long."""
        self._pause = min(2 * self._pause, self._last)
        self.due = now + self._pause

    def stop(self) -> None:
        """Stop: nothing is waited for."""
        self.due = NEVER
