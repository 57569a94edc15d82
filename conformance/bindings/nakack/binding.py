"""NAKACK's binding: how its model and its core name the same things.

The core multicasts a datagram to several at once; the model has an output for each of them. The
core knows who joins with a view, the model only who was absent before; the two are the same, since
nobody else joins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, Final

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest
from raincheck.impl.nakack import events as core_events
from raincheck.impl.nakack.core import Nakack
from raincheck.impl.nakack.events import Gaps
from raincheck.impl.nakack.streams import Repairs, Stream
from raincheck.impl.recording.writer import Record
from raincheck.impl.wire.datagrams import Codec
from raincheck.model.machine.runs import Address as ModelAddress
from raincheck.model.nakack import events
from raincheck.model.nakack import field as field_model
from raincheck.model.nakack import handlers as model

from .invariants import INVARIANTS
from .merging import MERGING
from .speaks import OF_MERGES, SPEAKS, VIEWS

_MOST = 4096  # of what a NAK names: whoever asks for more than any window holds
_REPAIRS: Final = tuple(repair.name for repair in fields(Repairs))


class Core(Nakack):
    """A core that, like the model, refuses an event that has no effect without a repair."""

    def handle(self, event: core_events.Event) -> list[core_events.Effect]:
        """Handle an event."""
        if isinstance(event, core_events.HeardOf) and not self.repairs.vector:
            raise NotEnabled("HeardOf", {"Vector": False})
        if isinstance(event, core_events.Announce) and not self.repairs.announcing:
            raise NotEnabled("Announce", {"Announcing": False})
        return super().handle(event)


def make_core(rules: model.Rules, local: model.Local) -> Core:
    """Return a process's core in that state: of a founder, a joiner, or a process that is gone."""
    repairs = Repairs(**{name: getattr(rules, name) for name in _REPAIRS})
    me = Address(local.node, local.incarnation)
    core = Core(me, window=rules.window, retain=rules.retain, repairs=repairs)
    if local.members:
        core.begin(local.view, tuple(Address(*member) for member in local.members))
    core.status, core.sent = local.status, local.sent
    return core


def local_of(core: Nakack) -> model.Local:
    """Return the process's state as the model's Local."""
    return model.Local(
        core.node,
        core.incarnation,
        core.status,
        core.view,
        tuple(sorted(ModelAddress(*member) for member in core.members)),
        core.sent,
        tuple(sorted((ModelAddress(*who), at) for who, at in core.acked.items())),
        tuple(sorted(ModelAddress(*who) for who in core.owed)),
        _streams(core.stream),
        _streams(core.departed),
    )


def _streams(streams: dict[Address, Stream]) -> model.Streams:
    return tuple(sorted((ModelAddress(*who), _stream(each)) for who, each in streams.items()))


def _stream(stream: Stream) -> model.Stream:
    views = {seqno: held.view for seqno, held in stream.buffer.items()}
    views |= {seqno: view for seqno, (view, _) in stream.retained.items()}
    held = tuple(sorted(views.items()))
    holder = ModelAddress(*stream.holder) if stream.holder is not None else None
    return model.Stream(stream.delivered, held, stream.heard, holder, stream.frozen)


def event_of(event: Any) -> Any:
    """Return the core's event for the model's input."""
    kind = getattr(core_events, type(event).__name__)
    match event:
        case events.Multicast() | field_model.Multicast():
            return kind(None, b"")
        case field_model.Deliver(source):
            return kind(Address(*source))
        case events.ReceiveData(sender, source, seqno, view):
            return kind(Address(*sender), Address(*source), seqno, view, None, b"")
        case events.ReceiveNak(sender, source, missing):
            gaps = tuple((seqno, seqno) for seqno in missing)
            return kind(Address(*sender), Address(*source), gaps)
        case events.InstallView(view, members):
            return kind(view, tuple(Address(*member) for member in members))
        case events.Join(view, members, digest):
            places = Digest(tuple((Address(*who), at) for who, at in digest))
            return kind(view, tuple(Address(*member) for member in members), places)
    return kind(*(Address(*each) if isinstance(each, tuple) else each for each in event))


def input_of(event: Any) -> Any:
    """Return the model's input for the core's event."""
    kinds = {**field_model.OF_MERGES, **field_model.INPUTS, **model.INPUTS}
    kind = kinds[type(event).__name__]
    match event:
        case core_events.Merge(view, members, _, digest):
            return kind(view, tuple(sorted(members)), digest.entries)
        case core_events.ReceiveNak(sender, source, missing):
            return kind(sender, source, _seqnos(missing))
        case core_events.InstallView(view, members):
            return kind(view, tuple(sorted(members)))
        case core_events.Join(view, members, digest):
            return kind(view, tuple(sorted(members)), digest.entries)
    return kind(*event[: len(kind._fields)])


def field_input_of(event: Any) -> Any:
    """Return the input for the core's event in a real process, where multicasts have contents."""
    match event:
        case core_events.Multicast(content):
            return field_model.Multicast(_ordered(content))
        case core_events.Deliver(source, content):
            return field_model.Deliver(ModelAddress(*source), _ordered(content))
    return input_of(event)


def _ordered(content: Any) -> bool:
    """Whether what is multicast is a DATA of SEQUENCER; in a bundle without order nothing is."""
    return content is None or bool(content.header.first)


def output_of(effect: Any) -> Any:
    """Return the model's outputs for the core's effect."""
    match effect:
        case core_events.Data(to, source, seqno, view):
            about = ModelAddress(*source), seqno, view
            return [events.Data(ModelAddress(*each), *about) for each in sorted(to)]
        case core_events.Alive(to, highest, asking, delivered):
            return [
                events.Alive(ModelAddress(*each), highest, asking, delivered.highest(each))
                for each in sorted(to)
            ]
        case core_events.Nak(to, source, missing):
            return events.Nak(ModelAddress(*to), ModelAddress(*source), _seqnos(missing))
        case core_events.Delivered(source, seqno, view):
            return events.Delivered(ModelAddress(*source), seqno, view)
    return None


def _seqnos(gaps: Gaps) -> tuple[int, ...]:
    return tuple(k for low, high in gaps for k in range(low, min(high, low + _MOST) + 1))


def assumes(_rules: Any, local: model.Local, event: Any) -> bool:
    """Return whether the input can occur: a joiner is a member of the view that admits it."""
    if isinstance(event, events.Join):
        return model.address(local) in event.members
    return True


class Numbers:
    """A record's numbers for the streams that an event can have changed."""

    def whole(self, core: Nakack) -> Record:
        """The variables that are recorded whole."""
        members = [list(who) for who in sorted(core.members)]
        return {"status": core.status, "view": core.view, "members": members, "sent": core.sent}

    def touched(self, core: Nakack, event: core_events.Event) -> Iterable[Address] | None:
        """Return the members whose streams the event can have changed; None: all of them."""
        match event:
            case core_events.Purge() | core_events.Join():
                return None
            case core_events.InstallView() | core_events.Merge():
                return None
            case core_events.Multicast():
                return (core.me,)
            case core_events.ReceiveAlive(sender=sender):
                return (sender,)
            case core_events.Announce() | core_events.Beat() | core_events.ReceiveNak():
                return ()
        return (event.source,)

    def keys(self, core: Nakack) -> Iterable[Address]:
        """Return all members."""
        return {*core.stream, *core.departed}

    def named(self, who: Address) -> list[Any]:
        """Return the member as a record has it."""
        return list(who)

    def of(self, core: Nakack, who: Address) -> Record:
        """Return the member's entry in each table, None where there is none."""
        return {
            "acked": core.acked.get(who),
            "stream": _numbers(core.stream.get(who), who in core.owed),
            "departed": _numbers(core.departed.get(who), False),
        }


def _numbers(stream: Stream | None, owed: bool) -> list[Any] | None:
    if stream is None:
        return None
    holder = list(stream.holder) if stream.holder is not None else None
    kept = len(stream.buffer) + len(stream.retained)
    at = [stream.delivered, stream.arrived, kept, stream.heard]
    return [*at, holder, stream.frozen, owed]


_SPEC = Binding(
    protocol="nakack",
    rules=model.Rules,
    local=model.Local,
    inputs=model.INPUTS,
    handlers=model.HANDLERS,
    outputs=(events.Data, events.Nak, events.Alive, events.Delivered),
    make_core=make_core,
    events=vars(core_events),
    switches={
        "window": 1,
        "retain": 1,
        "announcing": False,
        "vector": False,
        "ask_holders": False,
        "freezing": "all",
        "keep_departed": False,
        "keep_undelivered": False,
        "view_tag": False,
        "from_members": False,
    },
    channels={"Data": DATAGRAM, "Nak": DATAGRAM, "Alive": DATAGRAM},
    local_of=local_of,
    event_of=event_of,
    input_of=input_of,
    output_of=output_of,
    assumes=assumes,
    speaks=VIEWS,
    invariants=INVARIANTS,
)
_REAL = replace(
    _SPEC,
    rules=field_model.Rules,
    inputs=field_model.INPUTS,
    handlers=field_model.HANDLERS,
    input_of=field_input_of,
    told=frozenset({"Delivered"}),
    parts=field_model.parts,
    numbers=Numbers(),
    speaks=SPEAKS,
)
BINDING = replace(
    _SPEC,
    real=_REAL,
    merging=replace(
        _REAL,
        field_inputs=field_model.OF_MERGES,
        field_handlers=field_model.HANDLERS_OF_MERGES,
        speaks=OF_MERGES,
        invariants=MERGING,
    ),
)


def of_datagrams(codec: Codec) -> Binding:
    """Return how the core in a real process is recorded: what is said of what leaves is decoded."""
    assert BINDING.real is not None

    def said(effect: Any) -> Any:
        if isinstance(effect, core_events.Data):
            header: Any = codec.decode(effect.raw).header
            about = {"source": header.source, "seqno": header.seqno, "view": header.view.counter}
            return output_of(effect._replace(**about))
        return output_of(effect)

    return replace(BINDING.real, output_of=said)
