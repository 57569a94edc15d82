"""UNICAST's binding: the model's actions are made by the methods of the real class.

The class knows time, lanes and bytes; the spec does not. Here one lane is used, every action has
a time of its own, later than any timer, and a datagram's bytes carry its header as it is.
What the class leaves to its caller is asked here: who a datagram is for, and whether there is
anything to consume, to acknowledge or to send again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.timers import NEVER, Outbox
from raincheck.impl.unicast.core import Unicast
from raincheck.impl.unicast.ends import Receiver, Repairs, Sender
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import FORWARDS, UnicastAck, UnicastHeader
from raincheck.model.machine.runs import Address as ModelAddress
from raincheck.model.unicast import events
from raincheck.model.unicast import field as field_model
from raincheck.model.unicast import handlers as model

_LANE: Final = FORWARDS
_LATER: Final = 1000.0
"""Between two actions: any timer that is set is due, and nothing was sent a moment ago."""


class Parcel(bytes):
    """A datagram that was not encoded."""

    header: UnicastHeader | UnicastAck


class Parcels(Outbox):
    """An outbox that keeps headers as they are, to whatever address."""

    def __init__(self) -> None:
        super().__init__(Codec("x", 60_000))
        self.sent: list[UnicastHeader | UnicastAck] = []

    def encode(self, header: Any, payloads: Any = None) -> bytes:
        """Return the header as if it were bytes."""
        del payloads
        made = Parcel(b"x")
        made.header = header
        return made

    def send(self, data: bytes, to: Address) -> None:
        """Keep what is sent."""
        assert isinstance(data, Parcel)
        assert data.header.to == to
        self.sent.append(data.header)

    def send_header(self, header: Any, to: Address) -> None:
        """Keep what is sent."""
        self.send(self.encode(header), to)

    def taken(self) -> list[Any]:
        """Return what was sent, once."""
        sent, self.sent = self.sent, []
        return [_output(header) for header in sent]


class Core:
    """One process: its UNICAST, or nothing while it is down."""

    def __init__(self, rules: model.Rules, local: model.Local) -> None:
        """Begin in that local state, which has no connections."""
        self.node, self.up, self.incarnation = local.node, local.up, local.incarnation
        self.now = 0.0
        self.outbox = Parcels()
        self.numbered = rules.connection_ids != "none"
        config = StackConfig(unicast_window=rules.window)
        repairs = Repairs(
            newer_only=rules.connection_ids == "newer",
            ack_connection=rules.ack_connection,
            remember_closed=rules.remember_closed,
            ack_duplicates=rules.ack_duplicates,
            timer=rules.timer,
            probe=rules.probe,
        )
        self.me = Address(*model.address(rules, local))
        self.unicast = Unicast(self.me, config, self.outbox, repairs=repairs)
        self._actions: Mapping[str, Callable[[Any], list[Any]]] = {
            "Send": self.send,
            "Receive": self.receive,
            "Consume": self.consume,
            "Acknowledge": self.acknowledge,
            "ReceiveAck": self.receive_ack,
            "Retransmit": self.retransmit,
            "Forget": self.forget,
        }

    def handle(self, event: Any) -> list[Any]:
        """Let the class do it, and return what it puts out; NotEnabled where it has no cause."""
        action = type(event).__name__
        self._require(action, self.up, "up[n]")
        self.now += _LATER
        passed_up = self._actions[action](event)
        return [*passed_up, *map(self._unnumbered, self.outbox.taken())]

    def _unnumbered(self, output: Any) -> Any:
        """The datagram without its connection's id, if it is to have none: the class has no
        switch for that."""
        if self.numbered or isinstance(output, events.Ack):
            return output
        return output._replace(connection=1)

    def _require(self, action: str, holds: bool, text: str) -> None:
        if not holds:
            raise NotEnabled(action, {text: False})

    def send(self, event: events.Send) -> list[Any]:
        """The application sends a message."""
        self._require("Send", event.to.node != self.node, "n # p")
        body: Any = event.content
        self.unicast.send(Address(*event.to), _LANE, body, self.now)
        return []

    def receive(self, event: events.Receive) -> list[Any]:
        """A datagram with a message arrives."""
        source, body = Address(*event.sender), event.content
        header = UnicastHeader(source, self.me, _LANE, event.connection, event.seqno, body)  # type: ignore[arg-type]
        self.unicast.receive(header, None, self.now)
        return []

    def consume(self, event: events.Consume) -> list[Any]:
        """The layer above takes a message of that source, whose turn it is."""
        key = Address(*event.source), _LANE
        ready = self.unicast._ready
        self._require("Consume", key in ready, "r.consumed < r.arrived")
        self.unicast._ready = {key: None, **ready}
        datagram = self.unicast.consume(_LANE, self.now)
        assert datagram is not None
        header, _ = datagram
        content: Any = header.body
        return [events.Deliver(ModelAddress(*header.source), content)]

    def acknowledge(self, event: events.Acknowledge) -> list[Any]:
        """The acknowledgement that is owed leaves; others that are owed may wait."""
        receivers = self.unicast._receivers
        receiver = receivers.get((Address(*event.source), _LANE))
        self._require("Acknowledge", receiver is not None and receiver.ack_at != NEVER, "r.owed")
        others = {each: each.ack_at for each in receivers.values() if each is not receiver}
        for each in others:
            each.ack_at = NEVER
        self.unicast.acknowledge(self.now)
        for each, ack_at in others.items():
            each.ack_at = ack_at
        return []

    def receive_ack(self, event: events.ReceiveAck) -> list[Any]:
        """An acknowledgement arrives."""
        gaps = tuple((seqno, seqno) for seqno in event.missing)
        source, connection = Address(*event.sender), event.connection
        sender = self.unicast._senders.get((source, _LANE))
        if sender is not None and not self.numbered:
            connection = sender.connection
        ack = UnicastAck(source, self.me, _LANE, connection, event.arrived, event.consumed, gaps)
        self.unicast.receive_ack(ack, self.now)
        return []

    def retransmit(self, event: events.Retransmit) -> list[Any]:
        """The timer of a connection fires, if it is set."""
        to = Address(*event.to)
        sender = self.unicast._senders.get((to, _LANE))
        self._require(
            "Retransmit", sender is not None and sender.timer.due <= self.now, "a timer is set"
        )
        self.unicast.retransmit(to, _LANE, self.now)
        self._require("Retransmit", bool(self.outbox.sent), "there is what may be sent again")
        return []

    def forget(self, event: events.Forget) -> list[Any]:
        """The membership says that a process is gone."""
        peer = Address(*event.peer)
        ends = {*self.unicast._senders, *self.unicast._receivers}
        self._require("Forget", (peer, _LANE) in ends, "there is a connection")
        self.unicast.forget([peer])
        return []


def _output(header: UnicastHeader | UnicastAck) -> Any:
    to = ModelAddress(*header.to)
    if isinstance(header, UnicastAck):
        missing = tuple(k for low, high in header.missing for k in range(low, high + 1))
        return events.Ack(to, header.connection, header.seqno, header.consumed, missing)
    content: Any = header.body
    return events.Message(to, header.connection, header.seqno, content)


def _sender(end: Sender) -> model.Sender:
    parcels = [entry.data for entry in end.sent.values()]
    sent = tuple(parcel.header.body for parcel in parcels if isinstance(parcel, Parcel))  # type: ignore[union-attr]
    seqno, acked = end.seqno, end.seqno - len(sent)
    return model.Sender(end.connection, seqno, acked, end.next_out - 1, end.consumed, sent)  # type: ignore[arg-type]


def _receiver(end: Receiver) -> model.Receiver:
    buffer: Any = tuple(sorted((seqno, header.body) for seqno, (header, _) in end.buffer.items()))
    owed = end.ack_at != NEVER
    return model.Receiver(end.connection, end.arrived, end.consumed, buffer, owed)


def _table(ends: Mapping[Any, Any], read: Callable[[Any], Any]) -> tuple[Any, ...]:
    return tuple(sorted((ModelAddress(*peer), read(end)) for (peer, _), end in ends.items()))


def local_of(core: Core) -> model.Local:
    """Return the process's state as the model's Local."""
    unicast = core.unicast
    return model.Local(
        core.node,
        core.up,
        core.incarnation,
        unicast._connections,
        _table(unicast._senders, _sender),
        _table(unicast._receivers, _receiver),
        _table(unicast._closed, int),
    )


SPEC = Binding(
    protocol="unicast",
    rules=model.Rules,
    local=model.Local,
    inputs=model.INPUTS,
    handlers=model.HANDLERS,
    outputs=(events.Message, events.Ack, events.Deliver),
    make_core=Core,
    events=vars(events),
    switches={
        "connection_ids": "different",
        "ack_connection": False,
        "remember_closed": False,
        "ack_duplicates": False,
        "timer": False,
        "probe": False,
        "window": 1,
    },
    unhandled=frozenset({"Crash", "Restart"}),
    channels={"Message": DATAGRAM, "Ack": DATAGRAM},
    arrives={"Message": "Receive", "Ack": "ReceiveAck"},
    local_of=local_of,
    event_of=lambda event: event,
    output_of=lambda output: output,
)

REAL = replace(
    SPEC,
    rules=field_model.Rules,
    inputs=field_model.INPUTS,
    handlers=field_model.HANDLERS,
    told=frozenset({"Deliver"}),
    parts=field_model.parts,
    end_of=field_model.end_of,
)
BINDING = replace(SPEC, real=REAL)
