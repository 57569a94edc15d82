"""UNICAST as a layer of the stack: its core, with timers, lanes and datagrams.

The core knows no time. This layer has the datagrams, the lanes, and the timers of each connection
(`unicast_timing.py`): retransmissions back off, and acknowledgements are delayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from raincheck.impl.messages import Address, Payloads
from raincheck.impl.unicast.core import Unicast
from raincheck.impl.unicast.events import (
    Ack,
    Acknowledge,
    Consume,
    Deliver,
    Dropped,
    Effect,
    Forget,
    Message,
    Peer,
    Receive,
    ReceiveAck,
    Renew,
    Retransmit,
    Send,
)
from raincheck.impl.wire.headers import (
    CONTROL,
    LANES,
    PULLED,
    STATE,
    Body,
    Lane,
    UnicastAck,
    UnicastHeader,
)
from raincheck.impl.wire.state_bodies import StateBody

from .layer import Ground, Layer, Taken, Takes
from .passing import Ending, Found, Install, Joined, Mail
from .timers import NEVER, Backoff
from .unicast_timing import Receiving, Sending


class UnicastLayer(Layer):
    """All connections of one member."""

    name = "unicast"
    statuses = ("joining", "member", "leaving", "stopped")
    core: Unicast

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.core = Unicast(
            ground.me,
            window=self.config.unicast_window,
            window_bytes=self.config.unicast_window_bytes,
            repairs=ground.repairs.unicast,
        )
        self._sending: dict[Peer, Sending] = {}
        self._receiving: dict[Peer, Receiving] = {}
        self._ready: dict[Lane, dict[Peer, None]] = {lane: {} for lane in LANES}
        self._members: tuple[Address, ...] = ()  # of the view

    @property
    def takes(self) -> Takes:
        return {
            UnicastHeader: lambda header, payloads, _, now: self.receive(header, payloads, now),
            UnicastAck: lambda ack, _, __, now: self.receive_ack(ack, now),
        }

    def up(self, event: Any, now: float) -> None:
        """Handle views."""
        match event:
            case Install(placed):
                gone = tuple(who for who in self._members if who not in placed.view.members)
                if gone:
                    self.above.up(Ending(gone), now)
                self.forget(gone)
                self._members = placed.view.members
            case Joined(rsp=rsp):
                self.renew()
                self._members = rsp.placed.view.members
            case Found(placed):
                self._members = placed.view.members
        self.above.up(event, now)

    # ------------------------------------------------------------------ sending

    def send(
        self, to: Address, lane: Lane, body: Body, now: float, payloads: Payloads | None = None
    ) -> None:
        """Send a body; it waits here while the window is closed."""
        peer = _peer(to, lane)
        connection, seqno = self.core.next_to(peer)
        header = UnicastHeader(self.me, to, lane, connection, seqno, body)
        effects = self.core.handle(Send(peer, self.outbox.encode(header, payloads)))
        sending = self._sending.get(peer)
        if sending is None:
            timer = Backoff(self.config.retransmit_after, self.config.retransmit_max)
            sending = self._sending[peer] = Sending(timer)
        self._transmit(effects, sending, now)
        sending.timer.start_if_idle(now)

    def waiting(self, to: Address, lane: Lane) -> int:
        """How many datagrams have not been acknowledged."""
        sender = self.core.senders.get(_peer(to, lane))
        return len(sender.sent) if sender is not None else 0

    def receive_ack(self, ack: UnicastAck, now: float) -> None:
        """Handle an acknowledgement."""
        peer = _peer(ack.source, ack.lane)
        sender, sending = self.core.senders.get(peer), self._sending.get(peer)
        acked, consumed = (sender.acked, sender.consumed) if sender is not None else (0, 0)
        lately: list[int] = []
        if ack.missing and sending is not None:
            lately = sending.lately(ack.missing, now, self.config.ack_delay)
        at = ack.connection, ack.seqno, ack.consumed
        effects = self.core.handle(ReceiveAck(peer, *at, ack.missing, lately))
        if self._dropped(effects) or sender is None or sending is None:
            return
        if acked < sender.acked:
            sending.acknowledged(acked, sender.acked, now)
        self._transmit(effects, sending, now)
        if not sender.sent:
            sending.timer.stop()
        elif acked < sender.acked or consumed < sender.consumed:
            sending.timer.start(now)

    def _transmit(self, effects: Iterable[Effect], sending: Sending, now: float) -> None:
        for effect in effects:
            assert isinstance(effect, Message)
            if effect.seqno in sending.first or effect.seqno in sending.again:
                self._transmit_again(effect, sending, now)
            else:
                sending.first[effect.seqno] = now
                self.outbox.send(effect.content, _address(effect.to))

    def _transmit_again(self, message: Message, sending: Sending, now: float) -> None:
        sending.again[message.seqno] = now
        self.outbox.send(message.content, _address(message.to))
        self.counters["unicast_retransmitted"] += 1

    # ------------------------------------------------------------------ receiving

    def receive(self, header: UnicastHeader, payloads: Payloads | None, now: float) -> None:
        """Handle a datagram of a connection to this member."""
        core, peer = self.core, _peer(header.source, header.lane)
        before = core.receivers.get(peer)
        event = Receive(peer, header.connection, header.seqno, (header, payloads))
        effects = core.handle(event)
        receiver = core.receivers.get(peer)
        dropped = self._dropped(effects)
        if dropped == "stale_connection" or receiver is None:
            return
        if receiver is not before:
            if before is not None:
                self.counters["connection_renewed"] += 1
            self._receiving[peer] = Receiving()
            self._ready[header.lane].pop(peer, None)
        if not dropped:
            if receiver.consumed < receiver.arrived:
                self._ready[header.lane][peer] = None
                self.stirred = True
                if header.lane in PULLED:
                    self.above.waits(header.lane)
            self._owe_ack(peer, now)
        elif receiver.owed:
            self._receiving[peer].ack_at = now

    def _dropped(self, effects: list[Effect]) -> str:
        """Count a dropped datagram; return the reason, or "" if it was not dropped."""
        if not effects or not isinstance(effects[0], Dropped):
            return ""
        reason = effects[0].reason
        self.counters[reason] += 1
        return reason

    def _owe_ack(self, peer: Peer, now: float) -> None:
        receiver, receiving = self.core.receivers[peer], self._receiving[peer]
        receiving.unacked += 1
        full = 4 * receiving.unacked >= self.config.unicast_window
        if full or receiver.highest > receiver.arrived:
            receiving.ack_at = now
        else:
            receiving.ack_at = min(receiving.ack_at, now + self.config.ack_delay)

    def step(self, now: float) -> bool:
        """Pass up the messages of the lanes that are not pulled."""
        control, state = self._ready[CONTROL], self._ready[STATE]
        passed = bool(control) and self._pass_up(CONTROL, now)
        if state and self.membership.running:
            passed = self._pass_up(STATE, now) or passed
        self.stirred = bool(control or state)
        return passed

    def _pass_up(self, lane: Lane, now: float) -> bool:
        passed = False
        while (taken := self.pull(lane, now)) is not None:
            header, _ = taken
            if isinstance(header.body, StateBody) == (lane == STATE):
                self.above.up(Mail(header.source, header.body), now)
            passed = True
        return passed

    def pull(self, lane: Lane, now: float) -> Taken | None:
        """Return the next datagram of that lane, each sender's in order, or None."""
        ready = self._ready[lane]
        if not ready:
            return None
        peer = next(iter(ready))
        (passed_up,) = self.core.handle(Consume(peer))
        receiver = self.core.receivers[peer]
        # Round robin: a peer with more messages goes to the end of the queue.
        del ready[peer]
        if receiver.consumed < receiver.arrived:
            ready[peer] = None
        self._owe_ack(peer, now)
        assert isinstance(passed_up, Deliver)
        taken: Taken = passed_up.content
        return taken

    # ------------------------------------------------------------------ members and time

    def forget(self, members: Iterable[Address]) -> None:
        """Close the connections with members that have left the view."""
        core = self.core
        for member in members:
            for lane in LANES:
                peer = _peer(member, lane)
                if peer in core.senders or peer in core.receivers:
                    core.handle(Forget(peer))
                self._sending.pop(peer, None)
                self._receiving.pop(peer, None)
                self._ready[lane].pop(peer, None)

    def renew(self) -> None:
        """Start all connections from here anew; what is under way on the old ones is lost."""
        self.core.handle(Renew())
        self._sending.clear()

    def connections(self) -> int:
        """Return how many connections lead to this member."""
        return len(self.core.receivers)

    @property
    def drained(self) -> bool:
        """Whether the lane CONTROL is acknowledged; FORWARDs are SEQUENCER's business."""
        return not any(self.waiting(member, CONTROL) for member in self.membership.members)

    def kept(self) -> Iterator[int]:
        """Yield the number of datagrams kept, for each end of a connection."""
        yield from (len(sender.sent) for sender in self.core.senders.values())
        yield from (len(receiver.buffer) for receiver in self.core.receivers.values())

    def buffered(self) -> int:
        return sum(self.kept())

    def deadline(self) -> float:
        due = NEVER
        for sending in self._sending.values():
            due = min(due, sending.timer.due)
        for receiving in self._receiving.values():
            due = min(due, receiving.ack_at)
        return due

    def handle_timer(self, now: float) -> None:
        for peer, sending in self._sending.items():
            if sending.timer.due <= now:
                for effect in self.core.handle(Retransmit(peer)):
                    assert isinstance(effect, Message)
                    self._transmit_again(effect, sending, now)
                sending.timer.again(now)
        self.acknowledge(now)

    def acknowledge(self, now: float) -> None:
        """Send the acknowledgements that are due."""
        for peer, receiving in self._receiving.items():
            if receiving.ack_at <= now:
                receiving.unacked = 0
                receiving.ack_at = NEVER
                for effect in self.core.handle(Acknowledge(peer)):
                    assert isinstance(effect, Ack)
                    _, connection, arrived, consumed, missing = effect
                    to = _address(peer)
                    at = connection, arrived, consumed, missing
                    self.outbox.send_header(UnicastAck(self.me, to, peer.lane, *at), to)


@lru_cache(maxsize=1024)
def _peer(who: Address, lane: Lane) -> Peer:
    return Peer(who.node, who.incarnation, lane)


@lru_cache(maxsize=1024)
def _address(peer: Peer) -> Address:
    return Address(peer.node, peer.incarnation)
