"""UNICAST's binding: how its model and its core name the same things.

The core's peers have lanes; the spec has processes. Where the spec's cases are replayed there is
one lane. In the traces of a real process each lane of a peer is a peer of its own, and a content
describes its datagram (`of_datagrams`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, Final
from zlib import crc32

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address
from raincheck.impl.recording.writer import Record
from raincheck.impl.unicast import events as core_events
from raincheck.impl.unicast.core import Unicast
from raincheck.impl.unicast.ends import Receiver, Repairs, Sender
from raincheck.impl.unicast.events import Gaps, Peer
from raincheck.impl.wire.datagrams import Codec
from raincheck.model.machine.runs import Address as ModelAddress
from raincheck.model.unicast import events
from raincheck.model.unicast import field as field_model
from raincheck.model.unicast import handlers as model

from .invariants import INVARIANTS

_MOST = 4096  # of what an acknowledgement misses: whoever asks for more than any window holds
_REPAIRS: Final = tuple(repair.name for repair in fields(Repairs))


class Core(Unicast):
    """A core that, like the model, refuses an event that has no effect without a repair."""

    incarnation: int

    def handle(self, event: core_events.Event) -> list[core_events.Effect]:
        """Handle an event."""
        effects = super().handle(event)
        if isinstance(event, core_events.Retransmit) and not effects:
            raise NotEnabled("Retransmit", {"Timer, and Probe if it is behind the window": False})
        return effects


def make_core(rules: model.Rules, local: model.Local) -> Core:
    """Return a process's core in that local state, which has no connections."""
    repairs = Repairs(**{name: getattr(rules, name) for name in _REPAIRS})
    me = Address(*model.address(rules, local))
    core = Core(me, window=rules.window, repairs=repairs)
    core.up, core.incarnation = local.up, local.incarnation
    return core


def _process(peer: Peer) -> ModelAddress:
    return ModelAddress(*peer[:2])


def local_of(core: Unicast, name: Callable[[Peer], ModelAddress] = _process) -> model.Local:
    """Return the process's state as the model's Local."""

    def table(ends: Mapping[Peer, Any], read: Callable[[Any], Any]) -> tuple[Any, ...]:
        return tuple(sorted((name(peer), read(end)) for peer, end in ends.items()))

    return model.Local(
        core.me.node,
        core.up,
        getattr(core, "incarnation", core.me.incarnation),
        core.connections,
        table(core.senders, _sender),
        table(core.receivers, _receiver),
        table(core.closed, int),
    )


def _peer(who: ModelAddress) -> Peer:
    return Peer(who.node, who.incarnation, 0)


def _sender(end: Sender) -> model.Sender:
    at = end.connection, end.seqno, end.acked, end.out, end.consumed
    return model.Sender(*at, tuple(end.sent.values()))


def _receiver(end: Receiver) -> model.Receiver:
    buffer = tuple(sorted(end.buffer.items()))
    return model.Receiver(end.connection, end.arrived, end.consumed, buffer, end.owed)


def event_of(event: Any) -> Any:
    """Return the core's event for the model's input; its first field is a process."""
    made = getattr(core_events, type(event).__name__)(_peer(event[0]), *event[1:])
    if isinstance(made, core_events.ReceiveAck):
        return made._replace(missing=tuple((seqno, seqno) for seqno in event.missing))
    return made


def input_of(event: Any, name: Callable[[Peer], ModelAddress] = _process) -> Any:
    """Return the model's input for the core's event."""
    kind = field_model.INPUTS[type(event).__name__]
    if isinstance(event, core_events.Renew):
        return kind()
    if isinstance(event, core_events.ReceiveAck):
        at = event.connection, event.arrived, event.consumed, _seqnos(event.missing)
        return kind(name(event.sender), *at, tuple(event.lately))
    return kind(name(event[0]), *event[1:])


def _spec_input_of(event: Any) -> Any:
    """Return the model's input without what was sent again lately: the spec knows no time."""
    made = input_of(event)
    return events.ReceiveAck(*made[:-1]) if isinstance(event, core_events.ReceiveAck) else made


def output_of(effect: Any) -> Any:
    """Return the model's output for the core's effect."""
    if isinstance(effect, core_events.Dropped):
        return None
    made = getattr(events, type(effect).__name__)(_process(effect[0]), *effect[1:])
    return made._replace(missing=_seqnos(effect.missing)) if isinstance(made, events.Ack) else made


def _seqnos(gaps: Gaps) -> tuple[int, ...]:
    return tuple(k for low, high in gaps for k in range(low, min(high, low + _MOST) + 1))


_SPEC = Binding(
    protocol="unicast",
    rules=model.Rules,
    local=model.Local,
    inputs=model.INPUTS,
    handlers=model.HANDLERS,
    outputs=(events.Message, events.Ack, events.Deliver),
    make_core=make_core,
    events=vars(core_events),
    switches={
        "connection_ids": "different",
        "ack_connection": False,
        "remember_closed": False,
        "ack_duplicates": False,
        "timer": False,
        "probe": False,
        "window": 1,
    },
    channels={"Message": DATAGRAM, "Ack": DATAGRAM},
    arrives={"Message": "Receive", "Ack": "ReceiveAck"},
    local_of=local_of,
    event_of=event_of,
    input_of=_spec_input_of,
    output_of=output_of,
    invariants=INVARIANTS,
    end_of=_process,
    real=Binding(
        protocol="unicast",
        rules=field_model.Rules,
        local=model.Local,
        inputs=field_model.INPUTS,
        handlers=field_model.HANDLERS,
        outputs=(events.Message, events.Ack, events.Deliver),
        make_core=make_core,
        events=vars(core_events),
        channels={"Message": DATAGRAM, "Ack": DATAGRAM},
        arrives={"Message": "Receive", "Ack": "ReceiveAck"},
        told=frozenset({"Deliver"}),
        parts=field_model.parts,
        end_of=field_model.end_of,
        invariants=INVARIANTS,
    ),
)
BINDING = replace(_SPEC, merging=_SPEC.real)
"""A connection is of two lives of processes, and knows no views: a merge makes no difference."""


# ---------------------------------------------------------------------- traces of real processes


def of_datagrams(codec: Codec) -> Binding:
    """Return the binding for a core in a real process, whose contents are datagrams."""
    assert BINDING.real is not None

    def of_bytes(data: bytes) -> events.Content:
        header: Any = codec.decode(data).header
        return (header.lane, header.seqno, len(data), crc32(data))

    def received(content: Any) -> events.Content:
        """Return the content of a datagram that was decoded, by encoding it again."""
        return of_bytes(codec.encode(*content))

    def given(event: Any) -> Any:
        made = input_of(event, _named)
        match event:
            case core_events.Send(content=content):
                return made._replace(content=of_bytes(content))
            case core_events.Receive(content=content):
                return made._replace(content=received(content))
        return made

    def said(effect: Any) -> Any:
        made = output_of(effect)
        match effect:
            case core_events.Message(to=to, content=content):
                # The description comes from the bytes, since the bytes are what is sent.
                header: Any = codec.decode(content).header
                at = header.connection, header.seqno
                return events.Message(_named(to), *at, of_bytes(content))
            case core_events.Ack(to=to):
                return made._replace(to=_named(to))
            case core_events.Deliver(source=source, content=content):
                return made._replace(source=_named(source), content=received(content))
        return made

    return replace(
        BINDING.real,
        local_of=lambda core: local_of(core, _named),
        input_of=given,
        output_of=said,
        numbers=Numbers(),
    )


def _named(peer: Peer) -> ModelAddress:
    return ModelAddress(f"{peer.node}{field_model.LANE}{peer.lane}", peer.incarnation)


class Numbers:
    """A record's numbers for the connections that an event can have changed."""

    def whole(self, core: Unicast) -> Record:
        """Return the variables that are recorded whole."""
        return {"connections": core.connections}

    def touched(self, _core: Unicast, event: core_events.Event) -> Iterable[Peer] | None:
        """Return the peers whose connections it can have changed; None: all of them."""
        return None if isinstance(event, core_events.Renew) else (event[0],)

    def keys(self, core: Unicast) -> Iterable[Peer]:
        """Return all peers."""
        return {*core.senders, *core.receivers, *core.closed}

    def named(self, peer: Peer) -> list[Any]:
        """Return the peer as a record has it."""
        return list(_named(peer))

    def of(self, core: Unicast, peer: Peer) -> Record:
        """Return the peer's entry in each table, None where there is none."""
        sender, receiver = core.senders.get(peer), core.receivers.get(peer)
        return {
            "senders": sender
            and [sender.connection, sender.seqno, sender.acked, sender.out, sender.consumed],
            "receivers": receiver
            and [
                receiver.connection,
                receiver.arrived,
                receiver.consumed,
                len(receiver.buffer),
                receiver.owed,
            ],
            "closed": core.closed.get(peer),
        }
