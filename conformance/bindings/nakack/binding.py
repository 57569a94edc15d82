"""NAKACK's binding: the model's actions are made by the methods of the real class.

The class knows time, bytes and runs of messages; the spec does not. Here every action has a time
of its own, later than any timer, a bundle is one message, and a datagram's bytes carry its header
as it is. What the class leaves to its caller is asked here: whether there is anything to deliver,
to ask for, to acknowledge or to announce.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from raincheck.conformance.bindings.binding import DATAGRAM, Binding
from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest, Payloads, Run, View, ViewId
from raincheck.impl.nakack.core import Nakack
from raincheck.impl.nakack.streams import Repairs, Stream
from raincheck.impl.sequencer.events import Data as Bundled
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.timers import NEVER, Outbox
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import Alive, DataHeader, Fetch, Nak
from raincheck.model.machine.runs import Address as ModelAddress
from raincheck.model.nakack import events
from raincheck.model.nakack import field as field_model
from raincheck.model.nakack import handlers as model

_LATER: Final = 1000.0
"""Between two actions: any timer that is set is due."""

_PAYLOADS: Final = Payloads.pack([b"x"])

SWITCHES: Final[Mapping[str, Any]] = {
    "window": 1,
    "retain": 1,
    "announcing": False,
    "vector": False,
    "ask_holders": False,
    "freezing": "all",
    "keep_departed": False,
    "keep_undelivered": False,
    "view_tag": False,
}


class Parcel(bytes):
    """A datagram that was not encoded."""

    header: DataHeader | Nak | Alive


class Parcels(Outbox):
    """An outbox that keeps headers as they are, to whatever address."""

    def __init__(self) -> None:
        super().__init__(Codec("x", 60_000))
        self.sent: list[events.Datagram] = []

    def encode(self, header: Any, payloads: Any = None) -> bytes:
        """Return the header as if it were bytes."""
        del payloads
        made = Parcel(b"x")
        made.header = header
        return made

    def send(self, data: bytes, to: Address) -> None:
        """Keep what is sent."""
        self.sent.append(_output(_header(data), to))

    def send_header(self, header: Any, to: Address) -> None:
        """Keep what is sent."""
        self.sent.append(_output(header, to))

    def multicast(self, data: bytes, to: Any) -> None:
        """Keep what is sent, one datagram for each member."""
        self.sent += [_output(_header(data), member) for member in sorted(to)]

    def taken(self) -> list[events.Datagram]:
        """Return what was sent, once."""
        sent, self.sent = self.sent, []
        return sent


class Core:
    """One process: its NAKACK, or nothing while it is not a member."""

    def __init__(self, rules: model.Rules, local: model.Local) -> None:
        """Begin in that local state: a founder's, a joiner's, or that of one that is gone."""
        self.node, self.incarnation, self.status = local.node, local.incarnation, local.status
        self.rules = rules
        self.now = 0.0
        self.outbox = Parcels()
        self.me = Address(local.node, local.incarnation)
        config = StackConfig(multicast_window=rules.window, retain_window=rules.retain)
        repairs = Repairs(
            announcing=rules.announcing,
            vector=rules.vector,
            ask_holders=rules.ask_holders,
            freezing=rules.freezing,
            keep_departed=rules.keep_departed,
            keep_undelivered=rules.keep_undelivered,
            view_tag=rules.view_tag,
        )
        self.nakack = Nakack(self.me, config, self.outbox, repairs=repairs)
        if local.members:
            self.nakack.install_view(_view(local.view, local.members, ()), 0.0)
        self._actions: Mapping[str, Callable[[Any], list[events.Output]]] = {
            "Multicast": self.multicast,
            "Announce": self.announce,
            "ReceiveData": self.receive_data,
            "ReceiveAlive": self.receive_alive,
            "Ask": self.ask,
            "ReceiveNak": self.receive_nak,
            "Deliver": self.deliver,
            "Acknowledge": self.acknowledge,
            "HeardOf": self.heard_of,
            "Purge": self.purge,
            "Freeze": self.freeze,
            "Fetch": self.fetch,
            "InstallView": self.install_view,
            "Join": self.join,
        }

    def handle(self, event: Any) -> list[events.Output]:
        """Let the class do it, and return what it puts out; NotEnabled where it has no cause."""
        action = type(event).__name__
        _require(action, (self.status == "member") == (action != "Join"), "Running(n)")
        self.now += _LATER
        passed_up = self._actions[action](event)
        return [*passed_up, *self.outbox.taken()]

    def _stream(self, source: Any) -> Stream | None:
        return self.nakack._streams.get(Address(*source))

    def _other(self, action: str, source: Any) -> Stream:
        """Return the stream of another member of the view."""
        stream = self._stream(source)
        _require(action, stream is not None and source != self.me, "s \\in Others(n)")
        assert stream is not None
        return stream

    # ------------------------------------------------------------------ sending and receiving

    def multicast(self, _event: events.Multicast) -> list[events.Output]:
        """The application multicasts."""
        nakack = self.nakack
        _require("Multicast", nakack.open, "Open(n)")
        place = nakack.highest + 1
        data = Bundled(Run(self.me, place, 1), nakack.view, _PAYLOADS, place, 1)
        nakack.multicast(data, self.now)
        return []

    def announce(self, _event: events.Announce) -> list[events.Output]:
        """The timer of what is not acknowledged has fired."""
        _require("Announce", bool(self.nakack.lagging()), "acked[n][m] < sent[n]")
        self.nakack.announce(self.now)
        _require("Announce", bool(self.outbox.sent), "Announcing")
        return []

    def receive_data(self, event: events.ReceiveData) -> list[events.Output]:
        """A multicast arrives."""
        _, source, seqno, view = event
        header = DataHeader(Address(*source), seqno, Address(*source), seqno, 1, view, seqno, 1)
        self.nakack.receive_data(header, _PAYLOADS, self.outbox.encode(header), self.now)
        return []

    def receive_alive(self, event: events.ReceiveAlive) -> list[events.Output]:
        """A sign of life arrives."""
        sender, highest, asking, delivered = event
        digest = Digest(((self.me, delivered),))
        alive = Alive(Address(*sender), self.nakack.view, highest, asking, digest)
        self.nakack.receive_alive(alive, self.now)
        return []

    def ask(self, event: events.Ask) -> list[events.Output]:
        """The timer of a gap has fired."""
        source, to = event
        stream = self._other("Ask", source)
        _require("Ask", bool(stream.gaps()), "Missing(stream[n][s]) # {}")
        asked = {Address(*source)} | {stream.whom(Address(*source)) for _ in range(2)}
        _require("Ask", Address(*to) in asked, "to = s \\/ to = stream[n][s].holder")
        _require("Ask", to == source or self.rules.ask_holders, "AskHolders")
        self.nakack.ask(Address(*source), Address(*to), self.now)
        return []

    def receive_nak(self, event: events.ReceiveNak) -> list[events.Output]:
        """Somebody asks for multicasts."""
        sender, source, missing = event
        gaps = tuple((seqno, seqno) for seqno in missing)
        self.nakack.receive_nak(Nak(Address(*sender), Address(*source), gaps), self.now)
        return []

    def deliver(self, event: events.Deliver) -> list[events.Output]:
        """The next multicast of that source is passed up, whatever else is ready."""
        nakack, source = self.nakack, Address(*event.source)
        stream = self._stream(source)
        _require(
            "Deliver", stream is not None and stream.ready(nakack._newest), "k \\in DOMAIN held"
        )
        nakack._ready = {source: None, **nakack._ready}
        bundle = nakack.deliver()
        assert bundle is not None
        header = bundle.header
        return [events.Delivered(ModelAddress(*source), header.seqno, header.view)]

    def acknowledge(self, event: events.Acknowledge) -> list[events.Output]:
        """An acknowledgement that is owed leaves."""
        stream = self._stream(event.source)
        _require("Acknowledge", stream is not None and _owed(stream), "s \\in owed[n]")
        self.nakack.acknowledge_to(Address(*event.source))
        return []

    # ------------------------------------------------------------------ what the others say

    def heard_of(self, event: events.HeardOf) -> list[events.Output]:
        """STABLE tells what another has received."""
        holder, source, at = event
        stream = self._other("HeardOf", source)
        self._other("HeardOf", holder)
        _require("HeardOf", at > stream.arrived, "Arrived(stream[m][s]) > Arrived(stream[n][s])")
        _require("HeardOf", self.rules.vector, "Vector")
        told = Digest(((Address(*source), at),))
        self.nakack.heard_of(Address(*holder), told, self.now)
        return []

    def purge(self, event: events.Purge) -> list[events.Output]:
        """STABLE tells what is stable."""
        source, at = event
        stream = self._stream(source)
        _require("Purge", stream is not None, "s \\in DOMAIN stream[n]")
        assert stream is not None
        held = any(seqno <= at for seqno in (*stream.buffer, *stream.retained))
        _require("Purge", held or bool(self.nakack._departed), "there is what can go")
        self.nakack.purge(Digest(((Address(*source), at),)))
        return []

    def freeze(self, event: events.Freeze) -> list[events.Output]:
        """The membership says that a member is gone."""
        stream = self._other("Freeze", event.source)
        _require("Freeze", not stream.frozen, "~stream[n][s].frozen")
        self.nakack.freeze([Address(*event.source)])
        return []

    def fetch(self, event: events.Fetch) -> list[events.Output]:
        """FLUSH says what belongs to the view and who has it."""
        source, at, holder = event
        stream = self._other("Fetch", source)
        _require("Fetch", at > stream.arrived, "next.cut[s] > Arrived(stream[n][s])")
        self.nakack.fetch([Fetch(Address(*source), at, Address(*holder))], self.now)
        return []

    def install_view(self, event: events.InstallView) -> list[events.Output]:
        """The next view."""
        number, members = event
        _require("InstallView", number == self.nakack.view + 1, "v = view[n] + 1")
        known = [Address(*member) for member in members]
        _require("InstallView", self.me in known, "n \\in next.members")
        joiners = [member for member in known if member not in self.nakack.members]
        self.nakack.install_view(_view(number, members, joiners), self.now)
        return []

    def join(self, event: events.Join) -> list[events.Output]:
        """JOIN_RSP arrives."""
        number, members, digest = event
        _require("Join", self.status == "joining", 'status[n] = "joining"')
        self.status = "member"
        told = Digest(tuple((Address(*who), at) for who, at in digest))
        self.nakack.join(_view(number, members, [self.me]), told, self.now)
        return []


def _require(action: str, holds: bool, text: str) -> None:
    if not holds:
        raise NotEnabled(action, {text: False})


def _view(number: int, members: Any, joiners: Any) -> View:
    known = tuple(Address(*member) for member in members)
    new = tuple(Address(*member) for member in joiners)
    return View(ViewId(number, known[0]), known, new)


def _header(data: bytes) -> DataHeader | Nak | Alive:
    assert isinstance(data, Parcel)
    return data.header


def _output(header: DataHeader | Nak | Alive, to: Address) -> events.Datagram:
    whom = ModelAddress(*to)
    if isinstance(header, DataHeader):
        return events.Data(whom, ModelAddress(*header.source), header.seqno, header.view)
    if isinstance(header, Alive):
        return events.Alive(whom, header.highest, header.asking, header.delivered.highest(to))
    missing = tuple(k for low, high in header.missing for k in range(low, high + 1))
    return events.Nak(whom, ModelAddress(*header.sender), missing)


def _owed(stream: Stream) -> bool:
    return stream.unacked > 0 or stream.ack_at != NEVER


def _stream(stream: Stream) -> model.Stream:
    held = {seqno: bundle.header.view for seqno, bundle in stream.buffer.items()}
    for seqno, raw in stream.retained.items():
        header = _header(raw)
        assert isinstance(header, DataHeader)
        held[seqno] = header.view
    holder = ModelAddress(*stream.holder) if stream.holder is not None else None
    kept = tuple(sorted(held.items()))
    return model.Stream(stream.delivered, kept, stream.highest, holder, stream.frozen)


def _streams(streams: Mapping[Address, Stream]) -> model.Streams:
    return tuple(sorted((ModelAddress(*who), _stream(stream)) for who, stream in streams.items()))


def local_of(core: Core) -> model.Local:
    """Return the process's state as the model's Local."""
    nakack = core.nakack
    others = (member for member in nakack.members if member != core.me)
    return model.Local(
        core.node,
        core.incarnation,
        core.status,
        nakack.view,
        tuple(sorted(ModelAddress(*member) for member in nakack.members)),
        nakack.highest,
        tuple(sorted((ModelAddress(*who), at) for who, at in nakack.window.acked.items())),
        tuple(sorted(ModelAddress(*m) for m in others if _owed(nakack._streams[m]))),
        _streams(nakack._streams),
        _streams(nakack._departed),
    )


def assumes(_rules: Any, local: model.Local, event: Any) -> bool:
    """Nobody else multicasts in a member's name, and no digest counts what was never sent."""
    if isinstance(event, events.ReceiveData):
        return event.source != model.address(local) or event.seqno <= local.sent
    if isinstance(event, events.Join):
        return model.address(local) in event.members
    return True


SPEC = Binding(
    protocol="nakack",
    rules=model.Rules,
    local=model.Local,
    inputs=model.INPUTS,
    handlers=model.HANDLERS,
    outputs=(events.Data, events.Nak, events.Alive, events.Delivered),
    make_core=Core,
    events=vars(events),
    switches=SWITCHES,
    channels={"Data": DATAGRAM, "Nak": DATAGRAM, "Alive": DATAGRAM},
    local_of=local_of,
    event_of=lambda event: event,
    output_of=lambda output: output,
    assumes=assumes,
)

REAL = replace(
    SPEC,
    rules=field_model.Rules,
    inputs=field_model.INPUTS,
    handlers=field_model.HANDLERS,
    told=frozenset({"Delivered"}),
    parts=field_model.parts,
)
BINDING = replace(SPEC, real=REAL)
