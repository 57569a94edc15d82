"""The last word of a member that has stopped: it tells the others until one has heard it.

Who has a view without the leaver answers with Excluded. If nobody does for as long as a suspicion
takes, the others will find out by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from raincheck.impl.messages import Address
from raincheck.impl.wire.headers import Leaving

from .config import StackConfig
from .timers import NEVER, Outbox, Protocol


class Goodbye(Protocol):
    """Says Leaving again and again, for a while."""

    def __init__(self, me: Address, config: StackConfig, outbox: Outbox) -> None:
        super().__init__(me, config, outbox)
        self._others: Sequence[Address] = ()
        self._due = NEVER
        self._until = NEVER
        self.over = False
        """Nobody has answered."""

    def start(self, others: Sequence[Address], now: float) -> None:
        """Begin to tell the others."""
        self._others = others
        self._until = now + self.config.suspect_after
        self._due = now
        self.handle_timer(now)

    def stop(self) -> None:
        """Somebody has heard it."""
        self._due = NEVER

    def deadline(self) -> float:
        return self._due

    def handle_timer(self, now: float) -> None:
        if now >= self._until:
            self.over = True
            self._due = NEVER
            return
        self.outbox.multicast(self.outbox.encode(Leaving(self.me)), self._others)
        self._due = now + self.config.retransmit_after
