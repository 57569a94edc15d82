"""Whether what is sent leaves when a round of the event loop is over, or waits for a bundle."""

from __future__ import annotations

IDLE = 0.0005
"""Seconds after which nothing is waited for: what is sent next leaves at once."""
ROUNDS = 16
"""Rounds of the loop for which what is sent may wait for more."""
LONGEST = 0.005
"""Seconds for which it may wait."""


class Gathering:
    """Looks after each round of the loop whether the application goes on sending.

    The messages of one round leave together. Once a round after another brings something, it is
    worth waiting for a full bundle: a bundle costs much more than a message.
    """

    __slots__ = ("_added", "_rounds", "_since", "grew")

    def __init__(self) -> None:
        self.grew = False
        """Whether the round before the last look has brought something."""
        self._added = 0
        self._rounds = 0
        self._since = 0.0

    def waits(self, added: int, now: float) -> bool:
        """Look: `added` were sent in all. Return whether that waits for the next round."""
        before, self.grew = self.grew, added > self._added
        self._added = added
        if before and self.grew and self._rounds < ROUNDS and now - self._since < LONGEST:
            self._rounds += 1
            return True
        self.begin(now)
        return False

    def left(self, added: int) -> None:
        """Note that all of `added` has left before the round is over."""
        self._added = added
        self.grew = False

    def begin(self, now: float) -> None:
        """Begin to wait anew: something has left."""
        self._rounds = 0
        self._since = now
