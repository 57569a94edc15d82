"""UNICAST: reliable, ordered datagrams from one member to another.

A connection is one sender, one receiver, one lane. The sender numbers its datagrams 1, 2, 3 …,
keeps them until they are acknowledged, and sends again what is missing: at once when the receiver
tells of a gap, otherwise on a timer with back-off. The connection id lets the receiver
recognise a sender that has begun anew; a restarted process has another address anyway.

Flow control: a receiver acknowledges what has *arrived* and tells how much of it was *consumed*,
and a sender stays within one window of the latter. So what a busy coordinator does not take up
waits in bounded buffers at both ends. What lies beyond the window is dropped and counted.

The methods are the actions of spec/Unicast.tla; its rules U1 to U9 say why each is as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from raincheck.impl.messages import Address, Payloads
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.timers import NEVER, Backoff, Outbox, Protocol
from raincheck.impl.wire.headers import LANES, Body, Lane, UnicastAck, UnicastHeader

from .ends import Receiver, Repairs, Sender, Sent

_MAX_CLOSED = 4096  # closed connections that are remembered, the latest ones
_ALL = Repairs()


class Unicast(Protocol):
    """All connections of one member."""

    def __init__(
        self, me: Address, config: StackConfig, outbox: Outbox, *, repairs: Repairs = _ALL
    ) -> None:
        super().__init__(me, config, outbox)
        self._repairs = repairs
        self._senders: dict[tuple[Address, Lane], Sender] = {}
        self._receivers: dict[tuple[Address, Lane], Receiver] = {}
        self._connections = 0
        self._closed: dict[tuple[Address, Lane], int] = {}  # the latest connection closed here
        self._ready: dict[tuple[Address, Lane], None] = {}  # receivers with something to consume

    # ------------------------------------------------------------------ sending

    def send(
        self, to: Address, lane: Lane, body: Body, now: float, payloads: Payloads | None = None
    ) -> None:
        """Send a body; it waits here while the window is closed."""
        sender = self._senders.get((to, lane))
        if sender is None:
            self._connections += 1
            timer = Backoff(self.config.retransmit_after, self.config.retransmit_max)
            sender = self._senders[to, lane] = Sender(self._connections, timer)
        sender.seqno += 1
        header = UnicastHeader(self.me, to, lane, sender.connection, sender.seqno, body)
        sender.sent[sender.seqno] = Sent(self.outbox.encode(header, payloads))
        self._push(sender, to, now)

    def waiting(self, to: Address, lane: Lane) -> int:
        """How many datagrams have not been acknowledged."""
        sender = self._senders.get((to, lane))
        return len(sender.sent) if sender is not None else 0

    def unacknowledged(self) -> list[Address]:
        """Return the members that have not acknowledged something."""
        return sorted({to for (to, _), sender in self._senders.items() if sender.sent})

    def receive_ack(self, ack: UnicastAck, now: float) -> None:
        """The other end tells what has arrived there."""
        sender = self._senders.get((ack.source, ack.lane))
        if (
            sender is None
            or ack.seqno >= sender.next_out
            or (sender.connection != ack.connection and self._repairs.ack_connection)
        ):
            self.counters["stale_ack"] += 1
            return
        progress = ack.consumed > sender.consumed
        sent_at = NEVER
        sender.consumed = max(sender.consumed, min(ack.consumed, ack.seqno))
        sent = sender.sent
        while sent:
            first = next(iter(sent))
            if first > ack.seqno:
                break
            entry = sent.pop(first)
            sender.bytes -= len(entry.data)
            sent_at = entry.first if entry.again == -NEVER else NEVER
            progress = True
        if sent_at != NEVER:  # the newest of them, unless sent twice: which of them was answered?
            sender.timer.measured(now - sent_at)
        for low, high in ack.missing:
            for seqno in range(max(low, 1), min(high, sender.next_out - 1) + 1):
                missed = sent.get(seqno)
                # What was sent again a moment ago may still be on its way.
                if missed is not None and now - missed.again >= self.config.ack_delay:
                    self._transmit_again(missed, ack.source, now)
        self._push(sender, ack.source, now)
        if not sent:
            sender.timer.stop()
        elif progress:
            sender.timer.start(now)

    def _push(self, sender: Sender, to: Address, now: float) -> None:
        """Transmit what the window allows."""
        config = self.config
        limit = sender.consumed + config.unicast_window
        while sender.next_out <= sender.seqno and sender.next_out <= limit:
            entry = sender.sent[sender.next_out]
            if sender.bytes and sender.bytes + len(entry.data) > config.unicast_window_bytes:
                break
            sender.bytes += len(entry.data)
            sender.next_out += 1
            entry.first = now
            self.outbox.send(entry.data, to)
        if sender.sent:
            sender.timer.start_if_idle(now)

    def _transmit_again(self, entry: Sent, to: Address, now: float) -> None:
        entry.again = now
        self.outbox.send(entry.data, to)
        self.counters["unicast_retransmitted"] += 1

    # ------------------------------------------------------------------ receiving

    def receive(self, header: UnicastHeader, payloads: Payloads | None, now: float) -> None:
        """A datagram of a connection to this member has arrived."""
        key = (header.source, header.lane)
        receiver = self._receivers.get(key)
        if receiver is None or header.connection != receiver.connection:
            if self._is_stale(receiver, key, header.connection):
                self.counters["stale_connection"] += 1
                return
            if receiver is not None:
                self.counters["connection_renewed"] += 1
            receiver = self._receivers[key] = Receiver(header.connection)
            self._ready.pop(key, None)
        seqno = header.seqno
        if seqno <= receiver.arrived or seqno in receiver.buffer:
            self.counters["unicast_duplicate"] += 1
            if self._repairs.ack_duplicates:
                receiver.ack_at = now  # its sender has not heard of it
            return
        if seqno > receiver.consumed + self.config.unicast_window:
            self.counters["beyond_unicast_window"] += 1
            receiver.ack_at = now  # tell it how far it may go
            return
        receiver.buffer[seqno] = (header, payloads)
        receiver.highest = max(receiver.highest, seqno)
        if seqno == receiver.arrived + 1:
            while receiver.arrived + 1 in receiver.buffer:
                receiver.arrived += 1
            self._ready[key] = None
        self._owe_ack(receiver, now)

    def _is_stale(
        self, receiver: Receiver | None, key: tuple[Address, Lane], connection: int
    ) -> bool:
        """Whether the connection is over, or older than the one that there is."""
        if connection <= self._closed.get(key, 0):
            return True
        return (
            receiver is not None and connection < receiver.connection and self._repairs.newer_only
        )

    def _owe_ack(self, receiver: Receiver, now: float) -> None:
        receiver.unacked += 1
        if (
            receiver.highest > receiver.arrived
            or 4 * receiver.unacked >= self.config.unicast_window
        ):
            receiver.ack_at = now
        else:
            receiver.ack_at = min(receiver.ack_at, now + self.config.ack_delay)

    def consume(self, lane: Lane, now: float) -> tuple[UnicastHeader, Payloads | None] | None:
        """Return the next datagram of that lane, each sender's in order, or None."""
        for key in self._ready:
            if key[1] == lane:
                break
        else:
            return None
        receiver = self._receivers[key]
        receiver.consumed += 1
        datagram = receiver.buffer.pop(receiver.consumed)
        # Take turns: who has more to give goes to the end of the line.
        del self._ready[key]
        if receiver.consumed < receiver.arrived:
            self._ready[key] = None
        self._owe_ack(receiver, now)
        return datagram

    # ------------------------------------------------------------------ members and time

    def forget(self, members: Iterable[Address]) -> None:
        """Close the connections with members that have left the view.

        A duplicate that comes late must not open one again and be taken for a new message.
        """
        for member in members:
            for lane in LANES:
                key = member, lane
                self._senders.pop(key, None)
                self._ready.pop(key, None)
                receiver = self._receivers.pop(key, None)
                if receiver is not None and self._repairs.remember_closed:
                    self._closed.pop(key, None)
                    self._closed[key] = receiver.connection
        while len(self._closed) > _MAX_CLOSED:
            del self._closed[next(iter(self._closed))]

    def renew(self) -> None:
        """Begin all connections from here anew; what is under way on the old ones is void."""
        self._senders.clear()

    def knows(self, member: Address) -> bool:
        """Whether that member has a connection to this one."""
        return any((member, lane) in self._receivers for lane in LANES)

    def connections(self) -> int:
        """How many connections lead here."""
        return len(self._receivers)

    def buffered(self) -> Iterator[int]:
        """The number of datagrams kept, for each end of a connection."""
        yield from (len(sender.sent) for sender in self._senders.values())
        yield from (len(receiver.buffer) for receiver in self._receivers.values())

    def deadline(self) -> float:
        timers = min((s.timer.due for s in self._senders.values()), default=NEVER)
        return min(timers, min((r.ack_at for r in self._receivers.values()), default=NEVER))

    def handle_timer(self, now: float) -> None:
        for (to, lane), sender in self._senders.items():
            if sender.timer.due <= now:
                self.retransmit(to, lane, now)
        self.acknowledge(now)

    def retransmit(self, to: Address, lane: Lane, now: float) -> None:
        """Send the oldest datagram of a connection again: its timer fired."""
        # The oldest is enough: the acknowledgement of it names what else is missing. If it is
        # still behind the window it is a probe: the news of the window may have been lost.
        sender = self._senders[to, lane]
        seqno, entry = next(iter(sender.sent.items()), (0, None))
        is_probe = seqno == sender.next_out
        if entry is not None and self._repairs.timer and (self._repairs.probe or not is_probe):
            if is_probe:
                sender.next_out += 1
                sender.bytes += len(entry.data)
            self._transmit_again(entry, to, now)
        self._push(sender, to, now)
        sender.timer.again(now)

    def acknowledge(self, now: float) -> None:
        """Send the acknowledgements that are due."""
        for (source, lane), receiver in self._receivers.items():
            if receiver.ack_at <= now:
                self._acknowledge(receiver, source, lane)

    def _acknowledge(self, receiver: Receiver, source: Address, lane: Lane) -> None:
        receiver.unacked = 0
        receiver.ack_at = NEVER
        self.outbox.send_header(
            UnicastAck(
                self.me,
                source,
                lane,
                receiver.connection,
                receiver.arrived,
                receiver.consumed,
                receiver.gaps(),
            ),
            source,
        )
