"""NAKACK as a layer of the stack: its core, with timers, bytes and datagrams.

The core knows no time and no bytes. This layer has the datagrams and the order of deliveries;
`nakack_sending.py` has the windows in bytes and the timer of announcements, `nakack_reading.py`
the timers of gaps and acknowledgements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from raincheck.impl.flush.events import FetchStreams
from raincheck.impl.flush.events import Freeze as Freezing
from raincheck.impl.messages import Address, Digest, Payloads, View
from raincheck.impl.nakack.core import Nakack
from raincheck.impl.nakack.events import (
    Alive,
    Beat,
    Data,
    Deliver,
    Delivered,
    Dropped,
    Effect,
    Fetch,
    Freeze,
    HeardOf,
    InstallView,
    Join,
    Merge,
    Multicast,
    Purge,
    ReceiveAlive,
    ReceiveData,
    ReceiveNak,
)
from raincheck.impl.pbcast.events import Numbers
from raincheck.impl.sequencer.events import Data as Ordered
from raincheck.impl.stable.events import Heard
from raincheck.impl.stable.events import Purge as Stable
from raincheck.impl.wire import headers
from raincheck.impl.wire.headers import DataHeader
from raincheck.impl.wire.merge_bodies import Side

from .layer import Ground, Layer, Takes
from .merged import strangers
from .nakack_reading import Readings, header_of
from .nakack_sending import Sending
from .passing import (
    Arrived,
    Bundle,
    Digests,
    Drain,
    Fetched,
    Found,
    Install,
    Joined,
    Retransmit,
)


class NakackLayer(Layer):
    """The streams of all members, as one member has them."""

    name = "nakack"
    core: Nakack
    precedence = 1

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        config = ground.config
        self.core = Nakack(
            ground.me,
            window=config.multicast_window,
            retain=config.retain_window,
            repairs=ground.repairs.nakack,
        )
        self.sending = Sending(self.core, ground)
        self.reading = Readings(self.core, ground)
        self._ready: dict[Address, None] = {}  # streams that may have something to deliver
        self._fetches: tuple[headers.Fetch, ...] = ()  # what FLUSH waits for
        self._told = config.stability == "gossip"  # PBCAST hears of what arrives

    @property
    def takes(self) -> Takes:
        return {
            DataHeader: self.receive_data,
            headers.Alive: lambda alive, _, __, now: self.receive_alive(alive, now),
            headers.Nak: lambda nak, _, __, now: self.receive_nak(nak, now),
        }

    # ------------------------------------------------------------------ events

    def up(self, event: Any, now: float) -> None:
        """Handle views."""
        match event:
            case Install(placed):
                self.install_view(placed.view, now, strangers(placed, self.me))
            case Joined(rsp=rsp):
                self.join(rsp.placed.view, rsp.bundles, now)
            case Found(placed):
                self.begin(placed.view, now)
        self.above.up(event, now)

    def down(self, event: Any, now: float) -> None:
        """Handle what STABLE, FLUSH and the leaving application say of the streams."""
        match event:
            case Stable(digest):
                self.purge(digest)
            case Heard(holder, received):
                self.heard_of(holder, received, now)
            case Freezing(gone):
                self.freeze(gone)
            case Retransmit(to, wanted):
                self.retransmit(to, wanted)
            case FetchStreams(fetches):
                self._fetches = fetches
                self.fetch(fetches, now)
                self.stirred = True
            case Drain():
                self.sending.drain(now)
            case _:
                self.below.down(event, now)

    def step(self, now: float) -> bool:
        """Pass up the bundles that can be delivered, and the end of a fetch."""
        if self._fetches and self.has(self._fetches):
            fetched, self._fetches = Fetched(self._fetches), ()
            self.above.up(fetched, now)
        holding = self.ground.holding
        while not holding and (bundle := self.deliver()) is not None:
            self.above.pass_up(bundle, now)
        self.stirred = bool(self._ready or self._fetches)
        return False

    # ------------------------------------------------------------------ sending

    def may_multicast(self) -> bool:
        """Whether the windows allow another multicast."""
        return self.core.open and self.sending.has_room()

    def multicast_room(self) -> int:
        """How many more bundles of any size the windows allow."""
        return min(self.core.room, self.sending.room())

    @property
    def drained(self) -> bool:
        """Whether all members have delivered all of this member's multicasts."""
        core = self.core
        return core.stream[self.me].delivered == core.sent == core.lowest

    def multicast(self, data: Ordered, now: float) -> None:
        """Send a bundle to all members of the view."""
        core, run = self.core, data.messages
        header = DataHeader(
            self.me,
            core.sent + 1,
            run.sender,
            run.first,
            run.size,
            self.ground.lineage.latest,
            data.position,
            data.clock,
        )
        raw = self.outbox.encode(header, data.payloads)
        effects = core.handle(Multicast(Bundle(header, data.payloads, raw), raw))
        self.sending.sent(len(raw))
        self._ready[self.me] = None
        self.stirred = True
        for effect in effects:
            assert isinstance(effect, Data)
            to = effect.to
            if run.sender in to:  # whose message it is waits for it: it has not left more room
                to = (run.sender, *[member for member in to if member != run.sender])
            self.outbox.multicast(raw, to)
            self.sending.timer.start_if_idle(now)

    # ------------------------------------------------------------------ receiving

    def receive_data(self, header: DataHeader, payloads: Payloads, raw: bytes, now: float) -> None:
        """Handle a bundle, from its source or retransmitted by another member."""
        source = header.source
        stream = self.core.stream.get(source)
        arrived = stream.arrived if stream is not None else 0
        content = Bundle(header, payloads, raw)
        event = ReceiveData(source, source, header.seqno, header.view.counter, content, raw)
        dropped = self._count(self.core.handle(event))
        if stream is None or (dropped and dropped != "beyond_multicast_window"):
            return
        if stream.arrived > arrived:
            self.reading.stop_asking(source)  # `look` restarts it if something is still missing
        if stream.heard > stream.arrived:
            self._look(source, now)
        if not dropped:
            self._ready[source] = None
            self.stirred = True
            if self._told:
                self.above.up(Arrived(source, header.seqno), now)

    def _look(self, source: Address, now: float) -> None:
        """See to what is missing of a stream, unless PBCAST does: it leaves FLUSH's to NAKACK."""
        if self.config.repair == "requests" or any(f.sender == source for f in self._fetches):
            self.reading.look(source, now)

    def receive_alive(self, alive: headers.Alive, now: float) -> None:
        """Handle a sign of life: it announces the source's stream, and acknowledges this one's."""
        core, source = self.core, alive.source
        lowest = core.lowest
        delivered = alive.delivered.highest(self.me)
        core.handle(ReceiveAlive(source, alive.highest, alive.asking, delivered))
        if source not in self.reading:
            return
        if alive.highest > core.stream[source].arrived:
            self._look(source, now)
        elif alive.asking:
            self.reading.acknowledge_soon(source, now)
        if core.lowest > lowest:
            self.sending.acknowledged()
            if core.lowest < core.sent:
                self.sending.timer.start(now)
            else:
                self.sending.timer.stop()

    def receive_nak(self, nak: headers.Nak, now: float) -> None:
        """Handle a NAK: retransmit the bundles that are kept."""
        for effect in self.core.handle(ReceiveNak(nak.source, nak.sender, nak.missing)):
            assert isinstance(effect, Data)
            self.outbox.send(effect.raw, nak.source)
            self.counters["multicast_retransmitted"] += 1
        if nak.sender == self.me:
            self.sending.timer.start(now)

    def retransmit(self, to: Address, wanted: Numbers) -> None:
        """Send a member what is kept of these, as PBCAST says; as many as a NAK gets."""
        most = 2 * self.config.multicast_window
        for source, numbers in wanted:
            stream = self.core.stream.get(source)
            if stream is None:
                continue
            asked = tuple((number, number) for number in sorted(numbers)[:most])
            for _, _, raw in stream.kept(asked, len(asked)):
                self.outbox.send(raw, to)
                self.counters["multicast_retransmitted"] += 1
                most -= 1

    def heard_of(self, holder: Address, received: Digest, now: float) -> None:
        """Handle STABLE's news of what `holder` has received: ask for what is missing here."""
        for source, at in received.entries:
            known = source in self.reading and holder in self.reading
            if known and at > self.core.stream[source].arrived:
                self.core.handle(HeardOf(holder, source, at))
                self.reading.look(source, now)

    def deliver(self) -> Bundle | None:
        """Return the next bundle that can be passed up in this view, each stream in order."""
        core, ready = self.core, self._ready
        while ready:
            source = next(iter(ready))
            held = core.next(source)
            if held is None:
                del ready[source]
                continue
            (passed_up,) = core.handle(Deliver(source, held.content))
            assert isinstance(passed_up, Delivered)
            bundle: Bundle = passed_up.content
            self.reading.delivered(source, len(bundle.raw))
            return bundle
        return None

    def deliverable(self) -> bool:
        """Whether an arrived bundle can be passed up in this view."""
        return any(self.core.next(source) is not None for source in self.core.stream)

    # ------------------------------------------------------------------ what is stable

    def digests(self) -> Digests:
        """Return how far each stream is delivered here, and received without a gap."""
        streams = sorted(self.core.stream.items())
        return Digests(
            Digest(tuple([(member, stream.delivered) for member, stream in streams])),
            Digest(tuple([(member, stream.arrived) for member, stream in streams])),
        )

    def purge(self, stable: Digest) -> None:
        """Forget what all members have delivered, as STABLE says."""
        for source, at in stable.entries:
            if self.core.may_purge(source, at):
                self.core.handle(Purge(source, at))
        self.sending.purged(self.core.stream[self.me].purged)

    # ------------------------------------------------------------------ views

    def begin(self, view: View, _now: float) -> None:
        """Begin in a founder's first view."""
        self.core.begin(view.id.counter, view.members)
        self._read(view)

    def install_view(self, view: View, now: float, sides: Sequence[Side] = ()) -> None:
        """Install a view: joiners read this member's stream from where it stands now.

        Of a merged view, `sides` are the others, whose streams are read from their cuts.
        """
        core, at = self.core, (view.id.counter, view.members, view.joiners)
        if sides:
            cuts = Digest(tuple(entry for side in sides for entry in side.bundles.entries))
            core.handle(Merge(*at, cuts))
        else:
            core.handle(InstallView(*at))
        self.sending.acknowledged()
        self._read(view)
        if core.lagging():
            self.sending.timer.start_if_idle(now)
        else:
            self.sending.timer.stop()

    def join(self, view: View, digest: Digest, _now: float) -> None:
        """Join: read every stream from the digest on."""
        self.core.handle(Join(view.id.counter, view.members, digest))
        self._read(view)

    def _read(self, view: View) -> None:
        self.ground.lineage.install(view.id)
        self.reading.install(view)
        self._ready = dict.fromkeys(view.members)
        self.stirred = True

    def freeze(self, gone: Iterable[Address]) -> Digest:
        """Freeze these streams; return how far they and the departed ones have arrived."""
        core = self.core
        arrived = {member: stream.arrived for member, stream in core.departed.items()}
        for member in gone:
            if member in self.reading:
                stream = core.stream[member]
                if not stream.frozen:
                    core.handle(Freeze(member))
                    if stream.heard == stream.arrived:
                        self.reading.stop_asking(member)
                arrived[member] = stream.arrived
        return Digest(tuple(sorted(arrived.items())))

    def fetch(self, wanted: Iterable[headers.Fetch], now: float) -> None:
        """Ask the streams' holders for what this member lacks."""
        for sender, at, holder in wanted:
            stream = self.core.stream.get(sender)
            if stream is None or at <= stream.arrived:
                continue
            if sender not in self.reading:
                self.ground.offends(holder, f"RECONCILE with a stream of {sender}")
            else:
                self.core.handle(Fetch(sender, at, holder))
                self.reading.look(sender, now)

    def has(self, wanted: Iterable[headers.Fetch]) -> bool:
        """Whether all of that has arrived."""
        streams = self.core.stream
        return all(streams[sender].arrived >= at for sender, at, _ in wanted if sender in streams)

    # ------------------------------------------------------------------ time

    def alive(self, to: Collection[Address]) -> headers.Alive:
        """Return a sign of life, which announces and acknowledges streams."""
        (sign,) = self.core.handle(Beat(tuple(sorted(to))))
        assert isinstance(sign, Alive)
        return header_of(self.core, self.ground.lineage.latest, sign)

    def missing(self, now: float) -> Mapping[Address, str]:
        del now
        return dict.fromkeys(self.core.lagging(), "to acknowledge multicasts")

    def kept(self) -> Iterator[int]:
        """Yield the number of bundles kept, for each stream."""
        for streams in (self.core.stream, self.core.departed):
            yield from (len(s.buffer) + len(s.retained) for s in streams.values())

    def buffered(self) -> int:
        return sum(self.kept())

    def deadline(self) -> float:
        return min(self.sending.timer.due, self.reading.deadline())

    def handle_timer(self, now: float) -> None:
        if self.sending.timer.due <= now:
            self.sending.announce(now)
        self.reading.ask_where_due(now)
        self.reading.acknowledge(now)

    def acknowledge(self, now: float) -> None:
        self.reading.acknowledge(now)

    def _count(self, effects: list[Effect]) -> str:
        """Count a dropped datagram; return the reason, or "" if it was not dropped."""
        if not effects:
            return ""
        (dropped,) = effects
        assert isinstance(dropped, Dropped)
        self.counters[dropped.reason] += 1
        return dropped.reason
