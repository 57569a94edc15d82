"""The layers of one member as a whole: the list of them, and the loop that runs them.

A datagram is handed to the layer that takes it, a timer to all layers. Then steps are taken, from
the bottom to the top, until none is possible: what has arrived is passed up, then a view change
goes on, then waiting messages are multicast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from raincheck.impl.messages import Address, Endpoint, Payloads, View
from raincheck.impl.wire.headers import Header, PlacedView

from .application import Application
from .calls_layer import CallsLayer
from .direct_layer import DirectLayer
from .failure_detection import FailureDetection
from .flush_layer import FlushLayer
from .frag_layer import FragLayer
from .gms_layer import GmsLayer
from .gossip_layer import stability_layer
from .joining import Joining
from .layer import Floor, Ground, Layer, piled
from .merge2_layer import Merge2Layer
from .nakack_layer import NakackLayer
from .ordering import order_layer
from .other_groups import OtherGroups
from .passing import Found
from .primary_layer import primary_layer
from .state_transfer_layer import StateTransferLayer
from .unicast_layer import UnicastLayer

STATUSES = ("joining", "member", "leaving", "stopped", "left")
"""The statuses of a process, in the order in which it goes through them."""

L = TypeVar("L", bound=Layer)
Kinds: TypeAlias = Sequence[Callable[[Ground], Layer]]

LAYERS: Kinds = (
    Joining,
    OtherGroups,
    NakackLayer,
    UnicastLayer,
    stability_layer,
    FailureDetection,
    GmsLayer,
    FlushLayer,
    primary_layer,
    order_layer,
    Merge2Layer,
    FragLayer,
    StateTransferLayer,
    DirectLayer,
    CallsLayer,
)
"""The layers of a stack, from the bottom to the top; the application's is added on top."""


class Group:
    """The layers of one member."""

    def __init__(self, ground: Ground, kinds: Kinds = LAYERS) -> None:
        self.ground = ground
        self.membership = ground.membership
        self.layers = [kind(ground) for kind in kinds]
        self._floor, self.application = Floor(ground), Application(ground)
        piled([self._floor, *self.layers, self.application])
        self._stepping = self._having("step")
        self._timed = self._having("deadline")
        self._deadlines = {
            status: [layer.deadline for layer in layers] for status, layers in self._timed.items()
        }
        self._acknowledging = {
            status: [layer.acknowledge for layer in layers]
            for status, layers in self._having("acknowledge").items()
        }
        ground.drained = self._drained
        ground.unsent = self._unsent
        self._takes: dict[type[Any], Callable[[Any, Any, bytes, float], None]] = {}
        for layer in self.layers:
            self._takes |= layer.takes
        self.joining = self.find(Joining)
        self.others = self.find(OtherGroups)
        self.detection = self.find(FailureDetection)
        self.gms = self.find(GmsLayer)
        self.flush = self.find(FlushLayer)
        self.frag = self.find(FragLayer)
        self.merge = self.find(Merge2Layer)
        self.unicast = self.find(UnicastLayer)
        self.state = self.find(StateTransferLayer)
        self.direct = self.find(DirectLayer)
        self.calls = self.find(CallsLayer)

    def _having(self, method: str) -> dict[str, list[Layer]]:
        """Return the layers that implement a method, for each status of this process."""
        having = [
            layer
            for layer in [*self.layers, self.application]
            if getattr(type(layer), method) is not getattr(Layer, method)
        ]
        return {
            status: [layer for layer in having if status in layer.statuses] for status in STATUSES
        }

    def find(self, kind: type[L]) -> L:
        """Return the layer of that kind."""
        return next(layer for layer in self.layers if isinstance(layer, kind))

    # ------------------------------------------------------------------ events

    def found(self, view: View, endpoints: Sequence[Endpoint], now: float) -> None:
        """Install the first view."""
        self._floor.down(Found(PlacedView(view, tuple(endpoints))), now)

    def take(self, header: Header, payloads: Payloads | None, raw: bytes, now: float) -> None:
        """Hand a datagram to the layer that takes its header."""
        handler = self._takes.get(type(header))
        if handler is None:
            self.ground.outbox.counters["of_no_layer"] += 1
        else:
            handler(header, payloads, raw, now)

    # ------------------------------------------------------------------ one step after another

    def advance(self, now: float) -> bool:
        """Take one layer's steps; return whether more may be possible."""
        for layer in self._stepping[self.membership.status]:
            if layer.stirred and layer.step(now):
                return True
        return False

    def settle(self, now: float) -> None:
        """Acknowledge and report, once no more steps are possible.

        Retransmissions are left to the timer, which fires after all that has arrived is handled:
        the answer may be waiting in the socket.
        """
        if not self.membership.over:
            for acknowledge in self._acknowledging[self.membership.status]:
                acknowledge(now)
        for layer in self.layers:
            if layer.indications:
                self.ground.reports += layer.poll()

    def deadline(self) -> float:
        """Return when the next timer is due."""
        if self.membership.over:
            return self.application.deadline()
        return min([deadline() for deadline in self._deadlines[self.membership.status]])

    def handle_timer(self, now: float) -> None:
        """Let the layers handle their timers that are due."""
        if self.membership.over:
            self.application.handle_timer(now)
            return
        for layer in self._timed[self.membership.status]:
            if layer.deadline() <= now:
                layer.handle_timer(now)

    # ------------------------------------------------------------------ to look at

    def _drained(self) -> bool:
        return self.membership.running and all(layer.drained for layer in self.layers)

    def _unsent(self) -> bool:
        ground = self.ground
        waiting = bool(ground.buffer or ground.unordered)
        return waiting or any(layer.unsent for layer in self.layers)

    @property
    def pending(self) -> int:
        """The number of the application's messages that are under way."""
        return sum(layer.pending for layer in self.layers)

    def missing(self, now: float) -> dict[Address, str]:
        """Return whom this member waits for, and for what."""
        found: dict[Address, str] = {}
        if self.membership.running:
            for layer in sorted(self.layers, key=lambda layer: layer.precedence):
                found |= layer.missing(now)
        return found

    def buffered(self) -> int:
        """Return how many datagrams all layers keep."""
        return sum(layer.buffered() for layer in self.layers)
