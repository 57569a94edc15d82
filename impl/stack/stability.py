"""The common ground of the two layers that find what all members have delivered.

STABLE does it by votes, PBCAST by gossip; NAKACK forgets what either says is stable. Both need the
view, the amount delivered since the last round, and to stand still while FLUSH prepares the next
view: what a joiner is promised must not be overtaken.
"""

from __future__ import annotations

from random import Random
from typing import Any

from raincheck.impl.messages import Address, Digest, View, ViewId
from raincheck.impl.sequencer.events import Stop

from .layer import Ground, Layer
from .passing import Bundle, Found, Install, Joined, Quiet


class StabilityLayer(Layer):
    """A layer that tells NAKACK what it may forget."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._random = Random(ground.seed + 1)
        self._view = ViewId(0, ground.me)
        self._members: tuple[Address, ...] = ()
        self._bytes = 0  # delivered since the last round began
        self._bundles = 0
        self._flushing = False

    # ------------------------------------------------------------------ events

    def up(self, event: Any, now: float) -> None:
        """Handle views."""
        match event:
            case Joined(rsp=rsp):
                self.enter(rsp.placed.view, now, rsp.bundles)
            case Found(placed) | Install(placed):
                self.enter(placed.view, now)
        self.above.up(event, now)

    def pass_up(self, bundle: Bundle, now: float) -> None:
        """Count what is delivered, and pass the multicast up."""
        self.delivered(bundle.header.source, len(bundle.raw), now)
        self.above.pass_up(bundle, now)

    def down(self, event: Any, now: float) -> None:
        """Note when a flush begins and ends."""
        if isinstance(event, Quiet):
            self._flushing = not event.quiet
            self.stirred = True
            return
        if isinstance(event, Stop):
            self.stop()
        self.below.down(event, now)

    def enter(self, view: View, now: float, digest: Digest = Digest()) -> None:  # noqa: B008
        """Enter a view; `digest`: where a joiner begins to read the streams."""
        self._view, self._members = view.id, view.members
        self._bytes = self._bundles = 0
        self.install_view(view, digest, now)

    # ------------------------------------------------------------------ for the protocols

    def install_view(self, view: View, digest: Digest, now: float) -> None:
        """Begin in the view that is entered."""
        raise NotImplementedError

    def delivered(self, source: Address, size: int, now: float) -> None:
        """Note that a bundle of so many bytes is delivered."""
        raise NotImplementedError

    def stop(self) -> None:
        """Begin no more rounds."""
        raise NotImplementedError

    def _counts(self, size: int) -> bool:
        """Count a delivered bundle; return whether so much is delivered that a round is due."""
        self._bytes += size
        self._bundles += 1
        config = self.config
        return self._bytes >= config.stable_bytes or 8 * self._bundles >= config.retain_window

    def _is_welcome(self, source: Address, view: ViewId) -> bool:
        """Whether a datagram is from another member of this very view.

        The cores check only the view's number. But an IP group carries the datagrams of all views,
        and the other side of a partition may use the same number for a view of its own.
        """
        if source not in self._members or source == self.me:
            self.counters[f"{self.name}_of_non_member"] += 1
            return False
        if view != self._view:
            self.counters[f"{self.name}_of_other_view"] += 1
            return False
        return True
