"""SEQUENCER with safe delivery: what members tell their coordinator, and what it tells them.

A member says how much of its coordinator's stream it has received (RECEIVED_UP_TO), the coordinator
how much all of the view have (SAFE_UP_TO). Both are datagrams, sent once for all that a turn has
brought. Each covers those before it, so the next one makes good for a lost one; a member that holds
messages, and hears nothing, says again what it has received, and its coordinator answers.

What is held is bounded: beyond `retain_window` bundles or `retain_bytes` NAKACK passes nothing up,
acknowledges nothing, and its windows stop the coordinator. While the latch is closed all passes,
since the next view delivers it.

A state is of one cut of deliveries. So GO and REQUEST of STATE TRANSFER, which come when all
members have received the same, wait here until what was received before them is delivered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from raincheck.impl.messages import Address
from raincheck.impl.sequencer.events import (
    Acknowledge,
    Announce,
    ReceiveAck,
    ReceiveSafe,
    SendAck,
    SendSafe,
)
from raincheck.impl.wire.headers import ReceivedUpTo, SafeUpTo
from raincheck.impl.wire.state_bodies import StateBody, StateGo, StateRequest

from .layer import Ground, Takes
from .passing import Bundle, Found, Install, Joined, Mail, Transfer
from .sequencer_layer import SequencerLayer
from .timers import Backoff

_LATE = 64
"""The most messages of state transfer that wait for deliveries, of one member."""


class SafeLayer(SequencerLayer):
    """SEQUENCER as a layer, in a group that delivers what every member of the view has received."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._received: ReceivedUpTo | None = None  # said last, in this view
        self._safe: SafeUpTo | None = None  # heard last, or said here, in this view
        self._again = Backoff(self.config.retransmit_after, self.config.retransmit_max)
        self._late: deque[tuple[int, Transfer | Mail]] = deque()  # each with its place

    @property
    def takes(self) -> Takes:
        return {
            ReceivedUpTo: lambda header, _, __, now: self.receive_ack(header, now),
            SafeUpTo: lambda header, _, __, now: self.receive_safe(header, now),
        }

    # ------------------------------------------------------------------ events

    def up(self, event: Any, now: float) -> None:
        """Handle views, and let state transfers wait for deliveries."""
        if isinstance(event, Transfer | Mail) and self._is_late(event):
            return
        super().up(event, now)
        if isinstance(event, Found | Joined | Install):
            self._received = self._safe = None
            self._again.stop()
            self._hand_on(now)

    def _is_late(self, event: Transfer | Mail) -> bool:
        """Whether that waits for deliveries; a member's messages do not overtake each other."""
        before = [late for _, late in self._late if isinstance(late, Mail)]
        if isinstance(event, Mail):
            if not isinstance(event.body, StateBody):
                return False
            ahead = sum(late.source == event.source for late in before)
            if not ahead and not isinstance(event.body, StateGo | StateRequest):
                return False
            if ahead >= _LATE:
                self.ground.offends(event.source, f"more than {_LATE} messages of state transfer")
                return True
        if not self.core.held and not self._late:
            return False
        self._late.append((self.core.received, event))
        return True

    def _hand_on(self, now: float) -> None:
        """Pass on the state transfers before which everything is delivered."""
        while self._late and not self.core.held.covers(self._late[0][0]):
            self.above.up(self._late.popleft()[1], now)

    def pass_up(self, bundle: Bundle, now: float) -> None:
        """Take a multicast, and no more of them while too much is held."""
        super().pass_up(bundle, now)
        if self._full():
            self.ground.holding.add(self.name)

    def _full(self) -> bool:
        held, config = self.core.held, self.config
        much = len(held) >= config.retain_window or held.size >= config.retain_bytes
        return much and self.latch_open()

    # ------------------------------------------------------------------ what is told

    def step(self, now: float) -> bool:
        """Tell what has been received, and what is safe; deliver that; then send as usual."""
        self._tell(now)
        released = self._release(now)
        holding = self.ground.holding
        if self.name in holding and not self._full():
            holding.discard(self.name)
            released = True
        if self._late:
            self._hand_on(now)
        return super().step(now) or released

    def _tell(self, now: float) -> None:
        core, view = self.core, self.ground.lineage.latest
        if core.is_coordinator:
            if core.safe_now > core.announced:
                for effect in core.handle(Announce()):
                    assert isinstance(effect, SendSafe)
                    self._safe = SafeUpTo(self.me, view, effect.place, effect.clock)
                    others = self.membership.others
                    self.outbox.multicast(self.outbox.encode(self._safe), others)
                    self.counters["safe_announced"] += 1
        elif core.unacknowledged > 0:
            for effect in core.handle(Acknowledge()):
                assert isinstance(effect, SendAck)
                self._received = ReceivedUpTo(self.me, view, effect.place, effect.clock)
                self.outbox.send_header(self._received, effect.to)
                self.counters["safe_acknowledged"] += 1
            if core.held:
                self._again.start_if_idle(now)

    def _release(self, now: float) -> bool:
        """Deliver what is safe, unless deliveries are held up; return whether there was any."""
        core, safe = self.core, self._safe
        if safe is None or not core.held.covers(safe.place) or self.ground.holding - {self.name}:
            return False
        effects = core.handle(ReceiveSafe(safe.source, safe.place, safe.clock))
        if core.held and not core.is_coordinator:
            self._again.start(now)
        else:
            self._again.stop()
        self.apply(effects, now)
        return True

    # ------------------------------------------------------------------ what arrives

    def receive_ack(self, header: ReceivedUpTo, _now: float) -> None:
        """Note what a member has received; one that says so again has not heard what is safe."""
        core, source, place = self.core, header.source, header.place
        if not self._is_welcome(source, header):
            return
        if not core.is_coordinator:
            self.ground.offends(source, "an acknowledgement that is for the coordinator")
        elif place > core.multicasts:
            self.ground.offends(source, f"an acknowledgement of {place} of {core.multicasts}")
        elif place > core.heard.get(source, 0):
            core.handle(ReceiveAck(source, place, header.clock))
        elif self._safe is not None:
            self.outbox.send_header(self._safe, source)
            self.counters["safe_repeated"] += 1

    def receive_safe(self, header: SafeUpTo, _now: float) -> None:
        """Note what all have received; it is delivered in the next step."""
        core, source, place = self.core, header.source, header.place
        if not self._is_welcome(source, header):
            return
        if source != core.members[0]:
            self.ground.offends(source, "an announcement that only the coordinator makes")
        elif place > core.told:
            self.ground.offends(source, f"that all have received {place}, of {core.told} here")
        elif self._safe is None or place > self._safe.place:
            self._safe = header

    def _is_welcome(self, source: Address, header: ReceivedUpTo | SafeUpTo) -> bool:
        """Whether that is of another member, and of this very view."""
        if source not in self.core.members or source == self.me:
            self.counters["safe_of_non_member"] += 1
            return False
        if header.view != self.ground.lineage.latest:
            self.counters["safe_of_other_view"] += 1
            return False
        return True

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        """When to say again what has been received."""
        return min(super().deadline(), self._again.due)

    def handle_timer(self, now: float) -> None:
        super().handle_timer(now)
        if self._again.due > now:
            return
        if self.core.held and self._received is not None:
            self.outbox.send_header(self._received, self.core.members[0])
            self.counters["safe_asked"] += 1
            self._again.again(now)
        else:
            self._again.stop()

    # ------------------------------------------------------------------ to look at

    @property
    def drained(self) -> bool:
        core = self.core
        others_wait = core.is_coordinator and bool(core.held)
        return super().drained and not core.in_flight and not others_wait

    def missing(self, now: float) -> Mapping[Address, str]:
        core = self.core
        if not core.held:
            return super().missing(now)
        if not core.is_coordinator:
            return {core.members[0]: "to announce what all have received"}
        slow = (m for m in core.members if m != self.me and core.heard.get(m, 0) < core.received)
        return dict.fromkeys(slow, "to acknowledge what it has received")

    def buffered(self) -> int:
        return len(self.core.held)
