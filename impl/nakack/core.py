"""NAKACK: reliable, ordered multicasts of each member to all members of the view.

Each member numbers its bundles 1, 2, 3 … in a stream of its own. A receiver that sees a gap asks
for what is missing (negative acknowledgement), again and again with back-off, until it has it.
A sender whose multicasts are not acknowledged announces how far its stream goes, and STABLE tells
what others have received (`heard_of`), so that the loss of the last one is found too. Receivers
acknowledge what they delivered: that is flow control, and a sender stays within one window of it.

Members keep every bundle until STABLE says that all have delivered it (`purge`). So when a sender
has left or crashed, whoever has more of its stream than another can hand it on (`fetch`). A sender
that is too far ahead of what it has purged waits as well, which bounds what everybody keeps.

A bundle carries the counter of the view that it was sent in, and is not delivered before that view
is installed. A member's own multicasts reach it by the same path. Multicasts of non-members are
counted and dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from raincheck.impl.messages import Address, Digest, Payloads, View
from raincheck.impl.sequencer.events import Data
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.timers import Backoff, Outbox, Protocol
from raincheck.impl.wire.headers import Alive, DataHeader, Fetch, Gaps, Nak

from .streams import Bundle, Repairs, Stream
from .window import Window


class Nakack(Protocol):
    """The streams of all members, as one member has them."""

    def __init__(
        self, me: Address, config: StackConfig, outbox: Outbox, *, repairs: Repairs | None = None
    ) -> None:
        super().__init__(me, config, outbox)
        self._repairs = repairs or Repairs()
        self.view = 0
        self._newest = 0  # the view whose bundles are passed up
        self.members: tuple[Address, ...] = ()
        self._others: tuple[Address, ...] = ()
        self._streams: dict[Address, Stream] = {}
        self._departed: dict[Address, Stream] = {}  # kept until all are in this view
        self._own = self._new_stream()
        self.window = Window()
        self._retained_bytes = 0  # of its own
        self._announce = Backoff(config.retransmit_after, config.retransmit_max)
        self._ready: dict[Address, None] = {}  # streams that may have something to deliver

    def _new_stream(self) -> Stream:
        return Stream(Backoff(self.config.nak_delay, self.config.retransmit_max))

    # ------------------------------------------------------------------ sending

    @property
    def open(self) -> bool:
        """Whether another multicast is allowed: not too many under way, nor kept."""
        config, own, window = self.config, self._own, self.window
        return (
            len(window) < config.multicast_window
            and own.highest - own.purged < config.retain_window
            and window.bytes + config.max_bundle <= config.multicast_window_bytes
            and self._retained_bytes + config.max_bundle <= config.retain_bytes
        )

    @property
    def drained(self) -> bool:
        """Whether all members have delivered all of this member's multicasts."""
        return self._own.delivered == self._own.highest and not self.window.lagging()

    @property
    def highest(self) -> int:
        """The number of this member's latest bundle."""
        return self._own.highest

    def multicast(self, data: Data, now: float) -> None:
        """Send a bundle to all members of the view."""
        own = self._own
        run = data.messages
        header = DataHeader(
            self.me,
            own.highest + 1,
            run.sender,
            run.first,
            run.size,
            data.view,
            data.position,
            data.clock,
        )
        raw = self.outbox.encode(header, data.payloads)
        self.window.sent(len(raw))
        self._retained_bytes += len(raw)
        own.accept(Bundle(header, data.payloads, raw))
        self._ready[self.me] = None
        if self._others:
            self.outbox.multicast(raw, self._others)
            self._announce.start_if_idle(now)

    # ------------------------------------------------------------------ receiving

    def receive_data(self, header: DataHeader, payloads: Payloads, raw: bytes, now: float) -> None:
        """A bundle has arrived."""
        stream = self._streams.get(header.source)
        if stream is None or stream is self._own:
            self.counters["own_echo" if stream else "multicast_of_non_member"] += 1
            return
        seqno = header.seqno
        if seqno <= stream.arrived or seqno in stream.buffer:
            self.counters["multicast_duplicate"] += 1
            return
        if seqno > stream.limit:
            self.counters["multicast_after_freeze"] += 1
            return
        if seqno > stream.delivered + 2 * self.config.multicast_window:
            self.counters["beyond_multicast_window"] += 1
            self._heard(stream, seqno, now)
            return
        arrived = stream.arrived
        stream.accept(Bundle(header, payloads, raw))
        if stream.arrived > arrived:
            stream.nak.stop()  # progress: if something is still missing, begin anew
        stream.heard(seqno, now)
        self._ready[header.source] = None

    def receive_alive(self, alive: Alive, now: float) -> None:
        """An announcement: it may show that something is missing; and an acknowledgement."""
        source = alive.source
        stream = self._streams.get(source)
        if stream is None or stream is self._own:
            return
        if alive.highest > stream.arrived:
            self._heard(stream, alive.highest, now)
        elif alive.asking:
            stream.ack_at = now
        if self.window.acknowledge(source, alive.delivered.highest(self.me)):
            if len(self.window):
                self._announce.start(now)
            else:
                self._announce.stop()

    def receive_nak(self, nak: Nak, now: float) -> None:
        """Somebody lacks bundles of a stream: send again what is kept of them."""
        stream = self._streams.get(nak.sender) or self._departed.get(nak.sender)
        if stream is None:
            return
        for raw in stream.kept(nak.missing, 2 * self.config.multicast_window):
            self.outbox.send(raw, nak.source)
            self.counters["multicast_retransmitted"] += 1
        if stream is self._own:
            self._announce.start(now)

    def heard_of(self, holder: Address, received: Digest, now: float) -> None:
        """STABLE says that `holder` has received so much: ask for what is missing here."""
        for sender, at in received.entries if self._repairs.vector else ():
            stream = self._streams.get(sender)
            if stream is not None and stream is not self._own and at > stream.arrived:
                stream.holder = stream.holder if holder == sender else holder
                self._heard(stream, at, now)

    def _heard(self, stream: Stream, at: int, now: float) -> None:
        within = stream.delivered + 2 * self.config.multicast_window
        stream.heard(min(at, stream.limit, within), now)

    def deliver(self) -> Bundle | None:
        """Return the next bundle that can be passed up in this view, each stream in order."""
        while self._ready:
            source = next(iter(self._ready))
            stream = self._streams.get(source)
            bundle = stream.next(self._newest) if stream is not None else None
            if stream is None or bundle is None:
                del self._ready[source]
                continue
            if stream is not self._own:
                stream.unacked += 1
                stream.unacked_bytes += len(bundle.raw)
            return bundle
        return None

    @property
    def deliverable(self) -> bool:
        """Whether something that has arrived could be passed up in this view."""
        return any(stream.ready(self._newest) for stream in self._streams.values())

    # ------------------------------------------------------------------ what is stable

    def delivered_digest(self) -> Digest:
        """How far each member's stream is delivered here."""
        return Digest(tuple(sorted((m, s.delivered) for m, s in self._streams.items())))

    def received_digest(self) -> Digest:
        """How far each member's stream is here without a gap."""
        return Digest(tuple(sorted((m, s.arrived) for m, s in self._streams.items())))

    def purge(self, stable: Digest) -> None:
        """STABLE says that all members have delivered so much: forget it.

        All have said so in this view: nobody needs the streams of those who are gone any more.
        """
        self._departed.clear()
        for sender, at in stable.entries:
            stream = self._streams.get(sender)
            if stream is not None:
                freed = stream.purge(at, undelivered=not self._repairs.keep_undelivered)
                if stream is self._own:
                    self._retained_bytes -= freed

    # ------------------------------------------------------------------ views

    def install_view(self, placed: View, now: float) -> None:
        """The view is installed: joiners read on where this member's stream stands now."""
        self.view = placed.id.counter
        self._newest = self.view if self._repairs.view_tag else 1 << 62
        self.members = members = placed.members
        self._others = tuple(member for member in members if member != self.me)
        for member in members:
            if member == self.me:
                self._streams.setdefault(member, self._own)
            elif member not in self._streams:
                self._streams[member] = self._new_stream()
        for gone in [member for member in self._streams if member not in members]:
            self._departed[gone] = self._streams.pop(gone)
        if not self._others or not self._repairs.keep_departed:
            self._departed.clear()
        for joiner in placed.joiners:
            if joiner != self.me:
                self._streams[joiner] = self._new_stream()
        for stream in self._streams.values():
            stream.holder = None
        self.window.install(self._others, placed.joiners, self._own.delivered)
        self._ready = dict.fromkeys(members)
        if self.window.lagging():
            self._announce.start_if_idle(now)
        else:
            self._announce.stop()

    def join(self, view: View, digest: Digest, now: float) -> None:
        """This member joins: it reads every stream on from the digest."""
        self.install_view(view, now)
        for member in self._others:
            self._streams[member].begin(digest.highest(member))

    def freeze(self, gone: Iterable[Address]) -> Digest:
        """Take nothing more of these streams; return how far they and departed ones arrived."""
        arrived = {member: stream.arrived for member, stream in self._departed.items()}
        for member in gone:
            stream = self._streams.get(member)
            if stream is not None and stream is not self._own:
                stream.freeze(anyway=self._repairs.freezing == "all")
                arrived[member] = stream.arrived
        return Digest(tuple(sorted(arrived.items())))

    def fetch(self, wanted: Iterable[Fetch], now: float) -> None:
        """Ask the holder of a stream for what this member lacks of it."""
        for sender, at, holder in wanted:
            stream = self._streams.get(sender)
            if stream is not None and at > stream.arrived:
                stream.limit = max(stream.limit, at) if stream.frozen else stream.limit
                stream.holder = holder
                stream.heard(at, now)

    def has(self, wanted: Iterable[Fetch]) -> bool:
        """Whether all that was to be fetched has arrived."""
        return all(
            self._streams[sender].arrived >= at
            for sender, at, _ in wanted
            if sender in self._streams
        )

    # ------------------------------------------------------------------ time

    def alive(self, *, asking: bool = False) -> Alive:
        """A sign of life, with all that others need to know of this member's streams."""
        delivered = tuple([(m, self._streams[m].delivered) for m in self._others])
        return Alive(self.me, self.view, self._own.highest, asking, Digest(delivered))

    def lagging(self) -> list[Address]:
        """The members that have not acknowledged all of this member's multicasts."""
        return self.window.lagging()

    def buffered(self) -> Iterator[int]:
        """The number of bundles kept, for each stream."""
        for streams in (self._streams, self._departed):
            yield from (len(s.buffer) + len(s.retained) for s in streams.values())

    def deadline(self) -> float:
        due = self._announce.due
        for source in self._others:
            stream = self._streams[source]
            due = min(due, stream.nak.due, stream.ack_at)
        return due

    def handle_timer(self, now: float) -> None:
        if self._announce.due <= now:
            self.announce(now)
        for source in self._others:
            if self._streams[source].nak.due <= now:
                holders = self._repairs.ask_holders
                self.ask(source, self._streams[source].whom(source) if holders else source, now)
        self.acknowledge(now)

    def announce(self, now: float) -> None:
        """Tell those who have not acknowledged everything how far this member's stream goes."""
        lagging = self.window.lagging()
        if lagging and self._repairs.announcing:
            self.outbox.multicast(self.outbox.encode(self.alive(asking=True)), lagging)
            self._announce.again(now)
        else:
            self._announce.stop()

    def ask(self, source: Address, to: Address, now: float) -> None:
        """Ask for what is missing of a stream: its sender, or who has more of it."""
        stream = self._streams[source]
        gaps: Gaps = stream.gaps()
        if not gaps:
            stream.nak.stop()
            return
        self.counters["naks"] += 1
        self.outbox.send_header(Nak(self.me, source, gaps), to)
        stream.nak.again(now)

    def acknowledge(self, now: float) -> None:
        """All that could be delivered was: send the acknowledgements that are due."""
        for source in self._others:
            stream = self._streams[source]
            if stream.unacked:
                stream.owe_ack(self.config, now)
            if stream.ack_at <= now:
                self.acknowledge_to(source)

    def acknowledge_to(self, source: Address) -> None:
        """Tell a sender how far its stream is delivered here."""
        self._streams[source].acknowledged()
        self.outbox.send_header(self.alive(), source)
