"""STABLE in the stack: when digests and STABILITY go out, and what becomes of those that come in.

The core counts the votes and knows no time. This layer has the timer, the number of bytes after
which a digest is due, the random delay of STABILITY, and the datagrams. While this member takes
part in a flush (Quiet), the core is suspended.

Cost: a round is one datagram of two numbers per member from each member, and one STABILITY. While
nothing is multicast and all is purged here, rounds are rare; a bundle that is delivered, or a
digest of somebody who may lack the last STABILITY, brings the next one forward.
"""

from __future__ import annotations

from raincheck.impl.messages import Address, Digest, View
from raincheck.impl.stable.core import Stable
from raincheck.impl.stable.events import (
    Effect,
    Event,
    Heard,
    InstallView,
    Purge,
    ReceiveDigest,
    ReceiveStability,
    Resume,
    SendDigest,
    SendStability,
    Stability,
    StableDigest,
    Suspend,
)
from raincheck.impl.wire.headers import Stability as StabilityHeader
from raincheck.impl.wire.headers import StableDigest as StableDigestHeader

from .layer import Ground, Takes
from .stability import StabilityLayer
from .timers import NEVER

_RARELY = 10
"""So many times longer are the pauses between two digests while there is nothing to purge."""


class StableLayer(StabilityLayer):
    """STABLE as a layer."""

    name = "stable"
    core: Stable

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.core = Stable(ground.me, repairs=ground.repairs.stable)
        self._digest_at = NEVER
        self._stability_at = NEVER
        self._purged = False  # all that was delivered here

    @property
    def takes(self) -> Takes:
        return {
            StableDigestHeader: lambda digest, _, __, now: self.receive_digest(digest, now),
            StabilityHeader: lambda stability, _, __, now: self.receive_stability(stability, now),
        }

    # ------------------------------------------------------------------ events

    def stop(self) -> None:
        self._digest_at = self._stability_at = NEVER

    def step(self, now: float) -> bool:
        """Suspend votes during a flush."""
        self.stirred = False
        if self._flushing != self.core.suspended:
            if self._flushing:
                self.suspend()
            else:
                self.resume(now)
        return False

    def lacking(self) -> list[Address]:
        """Return the members whose votes are missing in this round."""
        return sorted(self.core.heard_from)

    # ------------------------------------------------------------------ views

    def install_view(self, view: View, _digest: Digest, now: float) -> None:
        """Install a view: begin a round among its members."""
        self._purged = False
        self.stirred = True  # a core in a new view is not suspended
        self._handle(InstallView(view.id.counter, view.members), now)
        self._start(now)

    def suspend(self) -> None:
        """Suspend votes for a view change."""
        if self.core.view:
            self._handle(Suspend(), 0.0)

    def resume(self, now: float) -> None:
        """Resume votes after a view change."""
        if self.core.suspended:
            self._handle(Resume(), now)
            self._start(now)

    # ------------------------------------------------------------------ what happens

    def delivered(self, _source: Address, size: int, now: float) -> None:
        """Count a delivered bundle; after enough of them a digest is due (R2)."""
        if self._purged:
            self._hurry(now)
        if self._counts(size):
            self._digest_at = min(self._digest_at, now)

    def receive_digest(self, header: StableDigestHeader, now: float) -> None:
        """Handle a digest."""
        source, view, delivered, received = (
            header.source,
            header.view,
            header.delivered,
            header.received,
        )
        if self._is_welcome(source, view):
            if self._purged:
                self._hurry(now)
            self._handle(ReceiveDigest(source, view.counter, delivered, received), now)

    def receive_stability(self, header: StabilityHeader, now: float) -> None:
        """Handle STABILITY."""
        if self._is_welcome(header.source, header.view):
            event = ReceiveStability(header.source, header.view.counter, header.digest, Digest())
            self._handle(event, now)

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        if not self.core.view or self.core.suspended:
            return NEVER
        return min(self._digest_at, self._stability_at)

    def handle_timer(self, now: float) -> None:
        if self.deadline() > now:
            return
        if self._digest_at <= now:
            self._start(now)
            self._handle(SendDigest(*self.below.digests()), now)
        if self._stability_at <= now and self.core.pending is not None:
            self._handle(SendStability(), now)

    def _start(self, now: float) -> None:
        """Set the time of the next digest, at random so that members do not send at once."""
        self._bytes = self._bundles = 0
        pause = self.config.stable_period * self._random.uniform(0.75, 1.25)
        self._digest_at = now + (_RARELY * pause if self._purged else pause)

    def _hurry(self, now: float) -> None:
        """Send the next digest after the usual pause: there may be something to purge."""
        self._purged = False
        self._start(now)

    def _handle(self, event: Event, now: float) -> None:
        core = self.core
        for effect in core.handle(event):
            self._carry_out(effect, now)
        if core.pending is None:
            self._stability_at = NEVER
        elif self._stability_at == NEVER:  # randomly staggered (R4)
            self._stability_at = now + self._random.uniform(0.0, self.config.stable_delay)

    def _carry_out(self, effect: Effect, now: float) -> None:
        outbox, view = self.outbox, self._view
        match effect:
            case StableDigest(to, _, delivered, received):
                header = StableDigestHeader(self.me, view, delivered, received)
                outbox.multicast(outbox.encode(header), to)
                self.counters["stable_digests"] += 1
            case Stability(to, _, digest, _):
                outbox.multicast(outbox.encode(StabilityHeader(self.me, view, digest)), to)
                self.counters["stabilities"] += 1
            case Purge(digest):
                self.below.down(effect, now)
                self._purged = digest == self.below.digests().delivered
                if self._purged:
                    self._start(now)
            case Heard():
                self.below.down(effect, now)
