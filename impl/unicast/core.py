"""UNICAST: reliable, ordered datagrams from one member to another.

The twin of `spec/Unicast.tla`, whose rules U1 to U9 say why each thing is as it is: one handler per
action, with the action's name in snake_case and its guard first. `handle` takes an event of
`events.py` and returns the effects, to be carried out in order. A handler whose guard is false
raises NotEnabled and changes nothing.

A connection is one sender, one receiver, one lane. The sender numbers its datagrams 1, 2, 3 …,
keeps them until they are acknowledged, and sends again what is missing: at once when the receiver
tells of a gap, otherwise when its timer fires. The connection id lets the receiver recognise a
sender that has begun anew; a restarted process has another address anyway.

Flow control: a receiver acknowledges what has *arrived* and tells how much of it was *consumed*,
and a sender stays within one window of the latter, and within one of bytes. So what a busy
coordinator does not take up waits in bounded buffers at both ends. What lies beyond the window is
dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address

from .ends import Receiver, Repairs, Sender
from .events import (
    Ack,
    Acknowledge,
    Consume,
    Deliver,
    Dropped,
    Effect,
    Event,
    Forget,
    Message,
    Peer,
    Receive,
    ReceiveAck,
    Renew,
    Retransmit,
    Send,
)

__all__ = ["Repairs", "Unicast"]

_MAX_CLOSED = 4096  # the most closed connections that are remembered


class Unicast:
    """All connections of one process; the attributes have the names of the spec's variables."""

    def __init__(
        self,
        me: Address,
        *,
        window: int,
        window_bytes: int = 1 << 60,
        repairs: Repairs | None = None,
    ) -> None:
        self.me = me
        self.window = window
        self.window_bytes = window_bytes
        self.repairs = repairs or Repairs()
        self.up = True
        self.connections = 0
        self.senders: dict[Peer, Sender] = {}
        self.receivers: dict[Peer, Receiver] = {}
        self.closed: dict[Peer, int] = {}  # the latest connection closed here
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            Send: self._send,
            Receive: self._receive,
            Consume: self._consume,
            Acknowledge: self._acknowledge,
            ReceiveAck: self._receive_ack,
            Retransmit: self._retransmit,
            Forget: self._forget,
            Renew: self._renew,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        if not self.up:
            raise NotEnabled(type(event).__name__, {"up[n]": False})
        return self._handlers[type(event)](event)

    def next_to(self, to: Peer) -> tuple[int, int]:
        """Return the connection and the seqno of the next message to a peer."""
        sender = self.senders.get(to)
        return (
            (self.connections + 1, 1) if sender is None else (sender.connection, sender.seqno + 1)
        )

    # ------------------------------------------------------------------ the sending end

    def _send(self, event: Send) -> list[Effect]:
        """The layer above sends its next message (U1)."""
        to, content = event
        if to.node == self.me.node:
            raise NotEnabled("Send", {"n # p": to})
        sender = self.senders.get(to)
        if sender is None:
            self.connections += 1
            sender = self.senders[to] = Sender(self.connections)
        sender.seqno += 1
        sender.sent[sender.seqno] = content
        return self._push(sender, to)

    def _receive_ack(self, event: ReceiveAck) -> list[Effect]:
        """Forget what has arrived, retransmit what is missing, use the open window (U3, U6)."""
        to, connection, arrived, consumed, missing, lately = event
        sender = self.senders.get(to)
        if (
            sender is None
            or arrived > sender.out
            or (self._wire(sender.connection) != connection and self.repairs.ack_connection)
        ):
            return [Dropped("stale_ack")]
        sender.consumed = max(sender.consumed, min(consumed, arrived))
        sent, acked, out = sender.sent, sender.acked, sender.out
        while acked < arrived:
            acked += 1
            sender.bytes -= len(sent.pop(acked))
        sender.acked = acked
        if not missing:
            return self._push(sender, to)
        wanted = dict.fromkeys(
            seqno
            for low, high in missing
            for seqno in range(max(low, acked + 1), min(high, out) + 1)
            if seqno not in lately
        )
        again = [self._message(sender, to, seqno) for seqno in wanted]
        return again + self._push(sender, to)

    def _retransmit(self, event: Retransmit) -> list[Effect]:
        """The timer: the oldest message leaves again, as a probe if it is still behind the window.

        The oldest is enough: its acknowledgement names what else is missing (U4, U7).
        """
        to, repairs = event.to, self.repairs
        sender = self.senders.get(to)
        self._guard("Retransmit", "a \\in DOMAIN senders[n]", sender is not None, to)
        assert sender is not None
        oldest, out = sender.acked + 1, sender.out
        self._guard("Retransmit", "s.acked + 1 <= s.seqno", oldest <= sender.seqno, oldest)
        if not repairs.timer or not (repairs.probe or oldest <= out):
            return []
        if oldest > out:  # the acknowledgement that opened the window may be lost
            sender.out = oldest
            sender.bytes += len(sender.sent[oldest])
        return [self._message(sender, to, oldest)]

    def _push(self, sender: Sender, to: Peer) -> list[Effect]:
        """Transmit what the windows allow (U6)."""
        limit = min(sender.seqno, sender.consumed + self.window)
        messages: list[Effect] = []
        while sender.out < limit:
            size = len(sender.sent[sender.out + 1])
            if sender.bytes and sender.bytes + size > self.window_bytes:
                break
            sender.bytes += size
            sender.out += 1
            messages.append(self._message(sender, to, sender.out))
        return messages

    def _message(self, sender: Sender, to: Peer, seqno: int) -> Effect:
        connection = self._wire(sender.connection)
        return Message(to, connection, seqno, sender.sent[seqno])

    def _renew(self, _event: Renew) -> list[Effect]:
        """Start all connections anew: the group ignores what this process sent before it joined."""
        self.senders.clear()
        return []

    # ------------------------------------------------------------------ the receiving end

    def _receive(self, event: Receive) -> list[Effect]:
        """A message arrives (U2, U5, U6, U8)."""
        source, connection, seqno, content = event
        receiver, ids = self.receivers.get(source), self.repairs.connection_ids
        if connection <= self.closed.get(source, 0):
            return [Dropped("stale_connection")]
        if receiver is None or (connection != receiver.connection and ids != "none"):
            if receiver is not None and connection < receiver.connection and ids == "newer":
                return [Dropped("stale_connection")]
            receiver = self.receivers[source] = Receiver(connection)
        if seqno <= receiver.arrived or seqno in receiver.buffer:
            # Its sender has not received the acknowledgement.
            receiver.owed = receiver.owed or self.repairs.ack_duplicates
            return [Dropped("unicast_duplicate")]
        receiver.owed = True
        if seqno > receiver.consumed + self.window:
            return [Dropped("beyond_unicast_window")]  # its sender learns how far the window goes
        receiver.buffer[seqno] = content
        receiver.highest = max(receiver.highest, seqno)
        while receiver.arrived + 1 in receiver.buffer:
            receiver.arrived += 1
        return []

    def _consume(self, event: Consume) -> list[Effect]:
        """The layer above takes the next message of a connection (U2)."""
        receiver = self._receiver("Consume", event.source)
        waits = receiver.consumed < receiver.arrived
        self._guard("Consume", "r.consumed < r.arrived", waits, receiver.consumed)
        receiver.consumed += 1
        receiver.owed = True
        return [Deliver(event.source, receiver.buffer.pop(receiver.consumed))]

    def _acknowledge(self, event: Acknowledge) -> list[Effect]:
        """Send the acknowledgement that is owed (U3, U6)."""
        receiver = self._receiver("Acknowledge", event.source)
        self._guard("Acknowledge", "r.owed", receiver.owed, False)
        receiver.owed = False
        at = receiver.connection, receiver.arrived, receiver.consumed
        return [Ack(event.source, *at, receiver.gaps())]

    # ------------------------------------------------------------------ the membership

    def _forget(self, event: Forget) -> list[Effect]:
        """A process is gone (U9): remember it, lest a late duplicate be taken for a new message."""
        peer = event.peer
        known = peer in self.senders or peer in self.receivers
        self._guard("Forget", "a \\in DOMAIN senders[n] \\cup DOMAIN receivers[n]", known, peer)
        self.senders.pop(peer, None)
        receiver = self.receivers.pop(peer, None)
        if receiver is not None and self.repairs.remember_closed:
            self.closed.pop(peer, None)  # the latest ones come last
            self.closed[peer] = receiver.connection
            if len(self.closed) > _MAX_CLOSED:
                del self.closed[next(iter(self.closed))]
        return []

    # ------------------------------------------------------------------ their parts

    def _wire(self, connection: int) -> int:
        """Return a connection's number on the wire."""
        return 1 if self.repairs.connection_ids == "none" else connection

    def _receiver(self, action: str, source: Peer) -> Receiver:
        receiver = self.receivers.get(source)
        if receiver is None:
            raise NotEnabled(action, {"a \\in DOMAIN receivers[n]": source})
        return receiver

    def _guard(self, action: str, text: str, holds: bool, value: object) -> None:
        if not holds:
            raise NotEnabled(action, {text: value})
