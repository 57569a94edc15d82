"""The trace of a real UNICAST: its methods are watched, and each call is an event of the model.

`attach` sets a watch at each method that changes the class's state, and between it and its outbox.
The watch only looks. It reads the part of the state that a call can have touched, so that the cost
of a record does not depend on how much is kept; an unnoticed change shows at the next record of the
same connection.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zlib import crc32

from raincheck.impl.messages import Address, Payloads
from raincheck.impl.recording.core import DATAGRAM, CallByCall, Parcel, Recorder
from raincheck.impl.recording.sequencer import Record
from raincheck.impl.stack.timers import NEVER, Outbox
from raincheck.impl.unicast.core import Unicast
from raincheck.impl.unicast.ends import Receiver
from raincheck.impl.wire.headers import LANES, Body, Lane, UnicastAck, UnicastHeader
from raincheck.model.unicast.field import LANE

_Key = tuple[Address, Lane]
_MOST = 4096  # of the gaps in an acknowledgement: one that asks for more than any window holds


def described(me: Address) -> CallByCall:
    """Return the description of a process's UNICAST for its recorder."""
    numbers: Record = {"incarnation": me.incarnation, "connections": 0}
    tables: Record = {"senders": [], "receivers": [], "closed": []}
    return CallByCall("unicast", {"node": me.node, "up": True, **numbers, **tables})


class _Noting(Outbox):
    """An outbox that notes what passes through it to another one."""

    def __init__(self, inner: Outbox) -> None:
        self._inner = inner
        self.codec, self.endpoints, self.counters = inner.codec, inner.endpoints, inner.counters
        self.noted: list[Parcel] = []

    def send(self, data: bytes, to: Address) -> None:
        """Note what the bytes contain: they are what leaves."""
        header = self.codec.decode(data).header
        assert isinstance(header, UnicastHeader)
        self.noted.append(_message(header, data, to))
        self._inner.send(data, to)

    def send_header(self, header: Any, to: Address) -> None:
        """Note an acknowledgement."""
        self.noted.append(Parcel("Ack", to, _ack(header), DATAGRAM))
        self._inner.send_header(header, to)


class Watch:
    """The watch over one UNICAST, which must not have been used yet."""

    def __init__(self, unicast: Unicast, recorder: Recorder) -> None:
        self.unicast = unicast
        self._recorder = recorder
        self._outbox = _Noting(unicast.outbox)
        self._known: dict[str, dict[_Key, Any]] = {"senders": {}, "receivers": {}, "closed": {}}
        self._connections = 0

    def attach(self) -> None:
        """Record every call from now on."""
        self.unicast.outbox = self._outbox
        names = ("send", "receive", "consume", "receive_ack", "retransmit", "forget", "renew")
        for name in (*names, "_acknowledge"):
            inner = getattr(self.unicast, name)
            watch = getattr(self, f"_on_{name.lstrip('_')}")
            setattr(self.unicast, name, _between(inner, watch))
        self._recorder.begin(self)

    # ------------------------------------------------------------------ the calls

    def _on_send(
        self,
        call: Any,
        to: Address,
        lane: Lane,
        body: Body,
        now: float,
        payloads: Payloads | None = None,
    ) -> None:
        call(to, lane, body, now, payloads)
        sender = self.unicast._senders[to, lane]
        content = _content(lane, sender.seqno, sender.sent[sender.seqno].data)
        self._note("Send", {"to": _peer(to, lane), "content": content}, [(to, lane)])

    def _on_receive(
        self, call: Any, header: UnicastHeader, payloads: Payloads | None, now: float
    ) -> None:
        call(header, payloads, now)
        message = _message(header, self._outbox.codec.encode(header, payloads), header.source)
        args = {"sender": _peer(header.source, header.lane), **message.content}
        self._note("Receive", args, [(header.source, header.lane)], message)

    def _on_consume(self, call: Any, lane: Lane, now: float) -> Any:
        datagram = call(lane, now)
        if datagram is not None:
            header, payloads = datagram
            data = self._outbox.codec.encode(header, payloads)
            source = _peer(header.source, header.lane)
            told = ["Deliver", [source, _content(header.lane, header.seqno, data)]]
            key = header.source, header.lane
            self._note("Consume", {"source": source}, [key], told=[told])
        return datagram

    def _on_acknowledge(self, call: Any, receiver: Receiver, source: Address, lane: Lane) -> None:
        call(receiver, source, lane)
        self._note("Acknowledge", {"source": _peer(source, lane)}, [(source, lane)])

    def _on_receive_ack(self, call: Any, ack: UnicastAck, now: float) -> None:
        key, content = (ack.source, ack.lane), _ack(ack)
        sent = sender.sent if (sender := self.unicast._senders.get(key)) is not None else {}
        delay = self.unicast.config.ack_delay
        lately = [k for k in content["missing"] if k in sent and now - sent[k].again < delay]
        call(ack, now)
        args = {"sender": _peer(*key), **content, "lately": lately}
        self._note("ReceiveAck", args, [key], Parcel("Ack", ack.source, content, DATAGRAM))

    def _on_retransmit(self, call: Any, to: Address, lane: Lane, now: float) -> None:
        call(to, lane, now)
        self._note("Retransmit", {"to": _peer(to, lane)}, [(to, lane)])

    def _on_forget(self, call: Any, members: Iterable[Address]) -> None:
        keys = [(member, lane) for member in members for lane in LANES]
        there = [k for k in keys if k in self.unicast._senders or k in self.unicast._receivers]
        call([member for member, lane in keys if lane == LANES[0]])
        for key in there:
            self._note("Forget", {"peer": _peer(*key)}, [key])

    def _on_renew(self, call: Any) -> None:
        keys = list(self.unicast._senders)
        call()
        self._note("Renew", {}, keys)

    # ------------------------------------------------------------------ the records

    def _note(
        self,
        action: str,
        args: Record,
        touched: Iterable[_Key],
        received: Parcel | None = None,
        told: list[Any] | None = None,
    ) -> None:
        sent, self._outbox.noted = self._outbox.noted, []
        self._recorder.note(action, args, received, sent, self._changed(touched), told)

    def _changed(self, touched: Iterable[_Key]) -> Record:
        unicast = self.unicast
        found: Record = {}
        if unicast._connections != self._connections:
            found["connections"] = self._connections = unicast._connections
        for key in sorted(touched):
            sender, receiver = unicast._senders.get(key), unicast._receivers.get(key)
            now: Record = {"senders": None, "receivers": None, "closed": unicast._closed.get(key)}
            if sender is not None:
                acked, out = sender.seqno - len(sender.sent), sender.next_out - 1
                now["senders"] = [sender.connection, sender.seqno, acked, out, sender.consumed]
            if receiver is not None:
                owed, kept = receiver.ack_at != NEVER, len(receiver.buffer)
                numbers = [receiver.connection, receiver.arrived, receiver.consumed, kept, owed]
                now["receivers"] = numbers
            for name, numbers in now.items():
                if numbers != self._known[name].get(key):
                    self._known[name][key] = numbers
                    found.setdefault(name, []).append([_peer(*key), numbers])
        return found


def _between(inner: Any, watch: Any) -> Any:
    def watched(*given: Any, **named: Any) -> Any:
        return watch(inner, *given, **named)

    return watched


def _peer(who: Address, lane: Lane) -> list[Any]:
    return [f"{who.node}{LANE}{lane}", who.incarnation]


def _content(lane: Lane, seqno: int, data: bytes) -> list[int]:
    return [lane, seqno, len(data), crc32(data)]


def _message(header: UnicastHeader, data: bytes, other: Address) -> Parcel:
    content = _content(header.lane, header.seqno, data)
    fields = {"connection": header.connection, "seqno": header.seqno, "content": content}
    return Parcel("Message", other, fields, DATAGRAM)


def _ack(ack: UnicastAck) -> Record:
    missing = [k for low, high in ack.missing for k in range(low, min(high, low + _MOST) + 1)]
    return {
        "connection": ack.connection,
        "arrived": ack.seqno,
        "consumed": ack.consumed,
        "missing": missing,
    }
