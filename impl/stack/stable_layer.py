"""STABLE in the stack: when digests and STABILITY go out, and what becomes of those that come in.

The votes are counted by the core, which knows no time. Here are the timer, the number of bytes
after which a digest is due, the random delay of STABILITY, and the datagrams. While this member
takes part in a flush (Quiet), nothing is voted upon.

Cost: a round is one datagram of two numbers per member from each member, and one STABILITY.
"""

from __future__ import annotations

from random import Random
from typing import Any

from raincheck.impl.messages import Address, Digest, View, ViewId
from raincheck.impl.sequencer.events import Stop
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

from .layer import Ground, Layer, Takes
from .passing import Bundle, Found, Install, Joined, Quiet
from .timers import NEVER


class StableLayer(Layer):
    """One member's STABLE, with its clock and its datagrams."""

    name = "stable"
    core: Stable

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.core = Stable(ground.me, repairs=ground.repairs.stable)
        self._random = Random(ground.seed + 1)
        self._view = ViewId(0, ground.me)
        self._bytes = 0  # delivered since the last digest
        self._bundles = 0
        self._digest_at = NEVER
        self._stability_at = NEVER
        self._flushing = False

    @property
    def takes(self) -> Takes:
        return {
            StableDigestHeader: lambda digest, _, __, now: self.receive_digest(digest, now),
            StabilityHeader: lambda stability, _, __, now: self.receive_stability(stability, now),
        }

    # ------------------------------------------------------------------ events

    def up(self, event: Any, now: float) -> None:
        """Views come this way."""
        if isinstance(event, Found | Joined | Install):
            placed = event.rsp.placed if isinstance(event, Joined) else event.placed
            self.install_view(placed.view, now)
        self.above.up(event, now)

    def pass_up(self, bundle: Bundle, now: float) -> None:
        """Count what is delivered."""
        self.delivered(len(bundle.raw), now)
        self.above.pass_up(bundle, now)

    def down(self, event: Any, now: float) -> None:
        """FLUSH tells when views do not change."""
        if isinstance(event, Quiet):
            self._flushing = not event.quiet
            self.stirred = True
            return
        if isinstance(event, Stop):
            self._digest_at = self._stability_at = NEVER
        self.below.down(event, now)

    def step(self, now: float) -> bool:
        """Do not vote during a flush."""
        self.stirred = False
        if self._flushing != self.core.suspended:
            if self._flushing:
                self.suspend()
            else:
                self.resume(now)
        return False

    def lacking(self) -> list[Address]:
        """The members whose votes are still to come in this round."""
        return sorted(self.core.heard_from)

    # ------------------------------------------------------------------ views

    def install_view(self, view: View, now: float) -> None:
        """The view is installed: count anew, among its members."""
        self._view = view.id
        self.stirred = True  # a core that counts anew is not suspended
        self._handle(InstallView(view.id.counter, view.members), now)
        self._start(now)

    def suspend(self) -> None:
        """A view change begins; what was to be sent is not."""
        if self.core.view:
            self._handle(Suspend(), 0.0)

    def resume(self, now: float) -> None:
        """The view change is over."""
        if self.core.suspended:
            self._handle(Resume(), now)
            self._start(now)

    # ------------------------------------------------------------------ what happens

    def delivered(self, size: int, now: float) -> None:
        """NAKACK has passed up a bundle of so many bytes (R2)."""
        self._bytes += size
        self._bundles += 1
        if (
            self._bytes >= self.config.stable_bytes
            or 8 * self._bundles >= self.config.retain_window
        ):
            self._digest_at = min(self._digest_at, now)

    def receive_digest(self, header: StableDigestHeader, now: float) -> None:
        """A digest has arrived."""
        source, view, delivered, received = (
            header.source,
            header.view,
            header.delivered,
            header.received,
        )
        if self._is_welcome(source, view):
            self._handle(ReceiveDigest(source, view.counter, delivered, received), now)

    def receive_stability(self, header: StabilityHeader, now: float) -> None:
        """STABILITY has arrived."""
        if self._is_welcome(header.source, header.view):
            event = ReceiveStability(header.source, header.view.counter, header.digest, Digest())
            self._handle(event, now)

    def _is_welcome(self, source: Address, view: ViewId) -> bool:
        """Whether it is of a member, in this very view.

        The core looks at the view as well. But an IP group carries what is for the members of one
        view to those of another too, and another side of a partition may give the number of this
        view to one of its own.
        """
        core = self.core
        if not core.view or source not in core.members or source == self.me:
            self.counters["stable_of_non_member"] += 1
            return False
        if view != self._view:
            self.counters["stable_of_other_view"] += 1
            return False
        return True

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
        """The next digest is due after a period; not all members' at the same moment."""
        self._bytes = self._bundles = 0
        self._digest_at = now + self.config.stable_period * self._random.uniform(0.75, 1.25)

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
            case Purge() | Heard():
                self.below.down(effect, now)
