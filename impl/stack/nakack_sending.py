"""The stream that one member sends: its windows in bytes, and when to announce how far it goes.

Members that have not acknowledged everything are told how far the stream goes, after pauses that
grow while none of them answers.
"""

from __future__ import annotations

from collections import deque

from raincheck.impl.nakack.core import Nakack
from raincheck.impl.nakack.events import Alive, Announce

from .layer import Ground
from .nakack_reading import header_of
from .timers import Backoff


class Bytes:
    """The total size of this member's bundles, from the first that counts to the last one sent."""

    __slots__ = ("_at", "_sizes", "total")

    def __init__(self) -> None:
        self.total = 0
        self._at = 0
        self._sizes: deque[int] = deque()

    def add(self, size: int) -> None:
        """Count a bundle that is sent."""
        self.total += size
        self._sizes.append(size)

    def forget(self, upto: int) -> None:
        """Count the bundles up to that seqno no more."""
        while self._at < upto:
            self._at += 1
            self.total -= self._sizes.popleft()


class Sending:
    """The windows and the timer of a member's own stream."""

    def __init__(self, core: Nakack, ground: Ground) -> None:
        config = ground.config
        self._core = core
        self._config = config
        self._outbox = ground.outbox
        self._lineage = ground.lineage
        self._under_way = Bytes()
        self._retained = Bytes()
        self.timer = Backoff(config.retransmit_after, config.retransmit_max)
        """Due when the stream is to be announced."""
        self._announced = 0  # up to where `drain` has asked for acknowledgements

    def has_room(self) -> bool:
        """Whether the windows have room for another bundle."""
        config = self._config
        return (
            self._under_way.total + config.max_bundle <= config.multicast_window_bytes
            and self._retained.total + config.max_bundle <= config.retain_bytes
        )

    def room(self) -> int:
        """For how many more bundles of the largest size the windows have room."""
        config = self._config
        return min(
            (config.multicast_window_bytes - self._under_way.total) // config.max_bundle,
            (config.retain_bytes - self._retained.total) // config.max_bundle,
        )

    def sent(self, size: int) -> None:
        """Note that a bundle of so many bytes was sent."""
        self._under_way.add(size)
        self._under_way.forget(self._core.lowest)
        self._retained.add(size)

    def acknowledged(self) -> None:
        """Note that the others may have acknowledged more of the stream."""
        self._under_way.forget(self._core.lowest)

    def purged(self, upto: int) -> None:
        """Note that nothing is kept up to that seqno."""
        self._retained.forget(upto)

    def drain(self, now: float) -> None:
        """Ask for the acknowledgements of a leaver's last bundles, once."""
        if self._announced != self._core.sent and self._core.lagging():
            self._announced = self._core.sent
            self.announce(now)

    def announce(self, now: float) -> None:
        """Announce how far the stream goes to members that have not acknowledged all of it."""
        effects = self._core.handle(Announce()) if self._core.lagging() else []
        for effect in effects:
            assert isinstance(effect, Alive)
            sign = header_of(self._core, self._lineage.latest, effect)
            self._outbox.multicast(self._outbox.encode(sign), effect.to)
            self.timer.again(now)
        if not effects:
            self.timer.stop()
