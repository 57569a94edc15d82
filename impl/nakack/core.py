"""NAKACK: reliable, ordered multicasts of each member to all members of the view.

The twin of `spec/Nakack.tla`, where rules N1 to N8 are quoted: one handler per action, with the
action's name in snake_case and its guard first. `handle` takes an event of `events.py` and returns
the effects, to be carried out in order. A handler whose guard is false raises NotEnabled and
changes nothing.

Each member numbers its bundles 1, 2, 3 … in a stream of its own. A receiver that sees a gap asks
for what is missing (negative acknowledgement), again and again, until it has it. A sender whose
multicasts are not acknowledged announces how far its stream goes, and STABLE tells what others have
received (HeardOf), so that the loss of the last one is found too. Receivers acknowledge what they
delivered: that is flow control, and a sender stays within one window of it.

Members keep every bundle until STABLE says that all have delivered it (Purge). So when a sender has
left or crashed, whoever has more of its stream than another can hand it on (Fetch). A sender that
is too far ahead of what it has purged waits as well, which bounds what everybody keeps.

A bundle carries the counter of the view that it was sent in, and is not delivered before that view
is installed. A member's own multicasts reach it by the same path. Multicasts of non-members are
dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest

from .events import (
    Acknowledge,
    Alive,
    Announce,
    Ask,
    Beat,
    Data,
    Deliver,
    Delivered,
    Dropped,
    Effect,
    Event,
    Fetch,
    Freeze,
    HeardOf,
    InstallView,
    Join,
    Merge,
    Multicast,
    Nak,
    Purge,
    ReceiveAlive,
    ReceiveData,
    ReceiveNak,
)
from .streams import Held, Repairs, Stream

__all__ = ["Nakack", "Repairs"]

_ANY_VIEW = 1 << 62


class Nakack:
    """The streams of all members, as one has them; the attributes are the spec's variables."""

    def __init__(
        self, me: Address, *, window: int, retain: int, repairs: Repairs | None = None
    ) -> None:
        self.node = me.node
        self.incarnation = me.incarnation
        self.me = me
        self.window = window
        self.retain = retain
        self.repairs = repairs or Repairs()
        self.status = "joining"
        self.view = 0
        self._newest = 0  # the view whose bundles are passed up
        self.members: tuple[Address, ...] = ()
        self.others: tuple[Address, ...] = ()
        self.sent = 0
        self.acked: dict[Address, int] = {}  # how far each other member has delivered this stream
        self.lowest = 0  # the lowest of `acked`; `sent` if there is nobody else
        self.owed: set[Address] = set()  # members that are owed an acknowledgement
        self.stream: dict[Address, Stream] = {}
        self.departed: dict[Address, Stream] = {}  # kept until all are in this view
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            Multicast: self._multicast,
            Announce: self._announce,
            ReceiveData: self._receive_data,
            ReceiveAlive: self._receive_alive,
            Ask: self._ask,
            ReceiveNak: self._receive_nak,
            Deliver: self._deliver,
            Acknowledge: self._acknowledge,
            HeardOf: self._heard_of,
            Purge: self._purge,
            Freeze: self._freeze,
            Fetch: self._fetch,
            InstallView: self._install_view,
            Merge: self._merge,
            Join: self._join,
            Beat: self._beat,
        }

    def begin(self, view: int, members: tuple[Address, ...]) -> None:
        """Be a member of a first view from the start."""
        self.status = "member"
        self._be_in(view, members)
        self.acked = dict.fromkeys(self.others, 0)
        self._count()
        self.stream = {member: Stream() for member in members}

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        kind = type(event)
        if self.status != ("joining" if kind is Join else "member"):
            raise NotEnabled(kind.__name__, {"status[n]": self.status})
        return self._handlers[kind](event)

    # ------------------------------------------------------------------ to look at

    @property
    def open(self) -> bool:
        """Whether `Multicast` is enabled: the windows have room."""
        own = self.stream.get(self.me)
        return (
            own is not None
            and self.sent - self.lowest < self.window
            and len(own.buffer) + len(own.retained) < self.retain
        )

    @property
    def room(self) -> int:
        """How many times `Multicast` is enabled now, if nothing else happens."""
        own = self.stream.get(self.me)
        if own is None:
            return 0
        kept = len(own.buffer) + len(own.retained)
        return min(self.window - (self.sent - self.lowest), self.retain - kept)

    def lagging(self) -> tuple[Address, ...]:
        """The members that have not acknowledged all of this member's multicasts."""
        return tuple([member for member, at in self.acked.items() if at < self.sent])

    def next(self, source: Address) -> Held | None:
        """Return what `Deliver` would pass up of that stream."""
        stream = self.stream.get(source)
        return None if stream is None else stream.next(self._newest)

    def may_purge(self, source: Address, at: int) -> bool:
        """Whether `Purge` is enabled."""
        stream = self.stream.get(source)
        return stream is not None and (bool(self.departed) or stream.covers(at))

    # ------------------------------------------------------------------ sending

    def _multicast(self, event: Multicast) -> list[Effect]:
        """The layer above multicasts (N1, N7)."""
        self._guard("Multicast", "Open(n)", self.open, self.sent)
        self.sent = seqno = self.sent + 1
        self.stream[self.me].accept(seqno, Held(self.view, event.content, event.raw))
        if not self.others:
            self.lowest = seqno
            return []
        return [Data(self.others, self.me, seqno, self.view, event.raw)]

    def _announce(self, _event: Announce) -> list[Effect]:
        """Announce how far the stream goes: not all have acknowledged it."""
        lagging = self.lagging()
        text = "\\E m \\in DOMAIN acked[n] : acked[n][m] < sent[n]"
        self._guard("Announce", text, bool(lagging), self.sent)
        return [self._alive(lagging, asking=True)] if self.repairs.announcing else []

    def _beat(self, event: Beat) -> list[Effect]:
        """Return a sign of life for the failure detection."""
        return [self._alive(event.to)]

    def _alive(self, to: tuple[Address, ...], *, asking: bool = False) -> Effect:
        stream = self.stream
        delivered = tuple([(m, stream[m].delivered) for m in to if m in stream])
        return Alive(to, self.sent, asking, Digest(delivered))

    # ------------------------------------------------------------------ receiving

    def _receive_data(self, event: ReceiveData) -> list[Effect]:
        """A multicast arrives (N1, N8)."""
        sender, source, seqno, view, content, raw = event
        stream = self.stream.get(source)
        if stream is None:
            return [Dropped("multicast_of_non_member")]
        if self.repairs.from_members and sender not in self.stream:
            return [Dropped("multicast_from_stranger")]
        if source == self.me:
            return [Dropped("own_echo")]
        if seqno <= stream.arrived or seqno in stream.buffer:
            return [Dropped("multicast_duplicate")]
        if self._ends(stream) and seqno > stream.heard:
            return [Dropped("multicast_after_freeze")]
        if seqno > stream.delivered + 2 * self.window:
            self._hear(stream, seqno)
            return [Dropped("beyond_multicast_window")]
        stream.accept(seqno, Held(view, content, raw))
        return []

    def _receive_alive(self, event: ReceiveAlive) -> list[Effect]:
        """A sign of life arrives: it announces a stream, and acknowledges this member's."""
        sender, highest, asking, delivered = event
        stream = self.stream.get(sender)
        if stream is None or sender == self.me:
            return []
        if highest > stream.arrived:
            self._hear(stream, highest)
        elif asking:
            self.owed.add(sender)
        if self.acked[sender] < delivered <= self.sent:
            self.acked[sender] = delivered
            self._count()
        return []

    def _ask(self, event: Ask) -> list[Effect]:
        """Ask for what is missing of a stream (N2)."""
        source, to = event
        stream = self._other("Ask", source)
        gaps = stream.gaps()
        self._guard("Ask", "Missing(stream[n][s]) # {}", bool(gaps), stream.heard)
        known = to == source or (self.repairs.ask_holders and to == stream.holder)
        self._guard("Ask", "to = s \\/ (AskHolders /\\ to = stream[n][s].holder)", known, to)
        return [Nak(to, source, gaps)]

    def _receive_nak(self, event: ReceiveNak) -> list[Effect]:
        """A NAK arrives: retransmit the multicasts that are kept (N2)."""
        sender, source, missing = event
        stream = self.stream.get(source) or self.departed.get(source)
        if stream is None:
            return []
        return [
            Data((sender,), source, seqno, view, raw)
            for seqno, view, raw in stream.kept(missing, 2 * self.window)
        ]

    def _deliver(self, event: Deliver) -> list[Effect]:
        """Pass up the next multicast of a stream."""
        source = event.source
        held = self.next(source)
        if held is None:
            raise NotEnabled(
                "Deliver", {"k \\in DOMAIN stream[n][s].held, of no later view": source}
            )
        stream = self.stream[source]
        stream.deliver()
        if source != self.me:
            self.owed.add(source)
        return [Delivered(source, stream.delivered, held.view, held.content)]

    def _acknowledge(self, event: Acknowledge) -> list[Effect]:
        """Acknowledge what has been delivered of a stream."""
        source = event.source
        self._guard("Acknowledge", "s \\in owed[n]", source in self.owed, source)
        self.owed.discard(source)
        return [self._alive((source,))]

    # ------------------------------------------------------------------ what the layers around say

    def _heard_of(self, event: HeardOf) -> list[Effect]:
        """STABLE: another member has received more of a stream (N3)."""
        holder, source, at = event
        stream = self._other("HeardOf", source)
        self._other("HeardOf", holder)
        more = at > stream.arrived
        self._guard("HeardOf", "Arrived(stream[m][s]) > Arrived(stream[n][s])", more, at)
        if self.repairs.vector:
            self._hear(stream, at)
            stream.holder = stream.holder if holder == source else holder
        return []

    def _purge(self, event: Purge) -> list[Effect]:
        """STABLE: all members have delivered so much: forget it (N4).

        All have voted in this view, so nobody needs the streams of departed members any more.
        """
        source, at = event
        text = "(\\E k \\in DOMAIN stream[n][s].held : k <= at) \\/ DOMAIN departed[n] # {}"
        self._guard("Purge", text, self.may_purge(source, at), at)
        self.departed.clear()
        self.stream[source].purge(at, undelivered=not self.repairs.keep_undelivered)
        return []

    def _freeze(self, event: Freeze) -> list[Effect]:
        """The membership: a member is gone; accept no more of its stream."""
        stream = self._other("Freeze", event.source)
        self._guard("Freeze", "~stream[n][s].frozen", not stream.frozen, True)
        stream.frozen = True
        if self.repairs.freezing == "gap":
            stream.freeze()
        return []

    def _fetch(self, event: Fetch) -> list[Effect]:
        """FLUSH: a stream up to a cut belongs to this view, and somebody has it."""
        source, at, holder = event
        stream = self._other("Fetch", source)
        more = at > stream.arrived
        self._guard("Fetch", "next.cut[s] > Arrived(stream[n][s])", more, at)
        stream.heard = max(stream.heard, at)
        stream.holder = holder
        return []

    def _install_view(self, event: InstallView) -> list[Effect]:
        """The membership: the next view; joiners read on where this member's stream stands."""
        number, members, joiners = event
        self._guard("InstallView", "v = view[n] + 1", number == self.view + 1, number)
        self._guard("InstallView", "n \\in next.members", self.me in members, members)
        streams, acked, own = self.stream, self.acked, self.stream[self.me].delivered
        for gone in [member for member in streams if member not in members]:
            self.departed[gone] = streams.pop(gone)
        self._be_in(number, members)
        if not self.others or not self.repairs.keep_departed:
            self.departed.clear()
        new = {m for m in self.others if m in joiners or m not in streams}
        self.stream = {m: Stream() if m in new else streams[m] for m in members}
        self.acked = {m: own if m in new else acked[m] for m in self.others}
        self._count()
        self.owed.intersection_update(m for m in members if m not in new)
        for stream in self.stream.values():
            stream.holder = None
        return []

    def _merge(self, event: Merge) -> list[Effect]:
        """MERGE2 has made the view: the streams of the other sides are read on from their cuts."""
        number, members, joiners, digest = event
        self._guard("Merge", "v > view[n]", number > self.view, number)
        self._guard("Merge", "n \\in next.members", self.me in members, members)
        self.view = number - 1
        effects = self._install_view(InstallView(number, members, joiners))
        for member, at in digest.entries:
            if member in joiners:
                self.stream[member] = Stream(at)
        return effects

    def _join(self, event: Join) -> list[Effect]:
        """A joiner has its JOIN_RSP: it reads every stream on from the digest (N5)."""
        number, members, digest = event
        self.status = "member"
        self._be_in(number, members)
        places = dict(digest.entries)
        self.acked = dict.fromkeys(self.others, 0)
        self._count()
        self.stream = {m: Stream(places.get(m, 0) if m != self.me else 0) for m in members}
        return []

    # ------------------------------------------------------------------ their parts

    def _be_in(self, view: int, members: tuple[Address, ...]) -> None:
        self.view, self.members = view, members
        self._newest = view if self.repairs.view_tag else _ANY_VIEW
        self.others = tuple(member for member in members if member != self.me)

    def _count(self) -> None:
        self.lowest = min(self.acked.values(), default=self.sent)

    def _hear(self, stream: Stream, at: int) -> None:
        """Note that the stream goes up to `at`."""
        if not self._ends(stream):
            stream.heard = max(stream.heard, min(at, stream.delivered + 2 * self.window))

    def _ends(self, stream: Stream) -> bool:
        """Return whether nothing beyond `heard` is accepted any more."""
        return stream.frozen and self.repairs.freezing != "all"

    def _other(self, action: str, who: Address) -> Stream:
        """Return the stream of another member of the view."""
        stream = self.stream.get(who)
        if stream is None or who == self.me:
            raise NotEnabled(action, {"s \\in Others(n)": who})
        return stream

    def _guard(self, action: str, text: str, holds: bool, value: object) -> None:
        if not holds:
            raise NotEnabled(action, {text: value})
