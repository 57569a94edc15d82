"""The trace of a real NAKACK: its methods are watched, and each call is an event of the model.

It works as for UNICAST (`unicast_trace.py`). Signs of life also leave as heartbeats of the failure
detection, whose outbox is watched for that. If a multicast arrives, nobody knows which member sent
it again, so it is recorded as if its source had, which sent it to every member of the view once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from raincheck.impl.messages import Address, Digest, Endpoint, Payloads, View
from raincheck.impl.nakack.core import Nakack
from raincheck.impl.nakack.streams import Bundle, Stream
from raincheck.impl.recording.core import DATAGRAM, CallByCall, Parcel, Recorder
from raincheck.impl.recording.sequencer import Record
from raincheck.impl.stack.failure_detection import FailureDetection
from raincheck.impl.stack.timers import NEVER
from raincheck.impl.wire.headers import Alive, DataHeader, Fetch, Nak

from .nakack_parcels import Noting, parcel_of

_CALLS = (
    *("multicast", "receive_data", "receive_alive", "receive_nak", "deliver", "heard_of", "purge"),
    *("install_view", "join", "freeze", "fetch", "announce", "ask", "acknowledge_to"),
)


def described(me: Address) -> CallByCall:
    """Return the description of a process's NAKACK for its recorder; a founder begins otherwise."""
    tables: Record = {"acked": [], "owed": [], "stream": [], "departed": []}
    numbers: Record = {"view": 0, "members": [], "sent": 0}
    who: Record = {"node": me.node, "incarnation": me.incarnation, "status": "joining"}
    return CallByCall("nakack", {**who, **numbers, **tables})


class _Beats(Noting):
    """The failure detection's outbox: a sign of life is an event of its own."""

    def __init__(self, watch: Watch, detection: FailureDetection) -> None:
        super().__init__(detection.outbox)
        self._watch, self._detection = watch, detection

    def _note(self, header: Any, to: list[Address]) -> None:
        if isinstance(header, Alive):
            sent = [made for each in to if (made := parcel_of(header, each)) is not None]
            self._watch.note("Beat", {"to": [list(each) for each in to]}, (), sent=sent)

    def send_to(self, header: Any, endpoint: Endpoint) -> None:
        """Send to a former member, which may not know that it is one."""
        former = self._detection._former.items()
        self._note(header, [who for who, place in former if place == endpoint])
        super().send_to(header, endpoint)


class Watch:
    """The watch over one NAKACK, which must not have been used yet."""

    def __init__(
        self,
        nakack: Nakack,
        detection: FailureDetection,
        begun: CallByCall,
        recorder: Recorder,
    ) -> None:
        self.nakack = nakack
        self._detection, self._begun, self._recorder = detection, begun, recorder
        self._joining = False
        self._outbox = Noting(nakack.outbox)
        self._known: Record = {"status": "joining", "view": 0, "members": [], "sent": 0}
        self._tables: dict[str, dict[Address, Any]] = {"acked": {}, "stream": {}, "departed": {}}

    def attach(self) -> None:
        """Record every call from now on."""
        self.nakack.outbox = self._outbox
        self._detection.outbox = _Beats(self, self._detection)
        for name in _CALLS:
            setattr(self.nakack, name, self._between(getattr(self.nakack, name), name))

    def _between(self, inner: Any, name: str) -> Any:
        watch = getattr(self, f"_on_{name}")

        def watched(*given: Any, **named: Any) -> Any:
            return watch(inner, *given, **named)

        return watched

    # ------------------------------------------------------------------ the calls

    def _on_multicast(self, call: Any, data: Any, now: float) -> None:
        call(data, now)
        self.note("Multicast", {}, [self.nakack.me])

    def _on_receive_data(
        self, call: Any, header: DataHeader, payloads: Payloads, raw: bytes, now: float
    ) -> None:
        call(header, payloads, raw, now)
        source = header.source
        content: Record = {"source": list(source), "seqno": header.seqno, "view": header.view}
        args = {"sender": list(source), **content}
        self.note("ReceiveData", args, [source], Parcel("Data", source, content, DATAGRAM))

    def _on_receive_alive(self, call: Any, alive: Alive, now: float) -> None:
        call(alive, now)
        parcel = parcel_of(alive, self.nakack.me)
        assert parcel is not None
        args = {"sender": list(alive.source), **parcel.content}
        self.note("ReceiveAlive", args, [alive.source], parcel._replace(other=alive.source))

    def _on_receive_nak(self, call: Any, nak: Nak, now: float) -> None:
        call(nak, now)
        parcel = parcel_of(nak, self.nakack.me)
        assert parcel is not None
        args = {"sender": list(nak.source), **parcel.content}
        self.note("ReceiveNak", args, (), parcel._replace(other=nak.source))

    def _on_deliver(self, call: Any) -> Bundle | None:
        bundle: Bundle | None = call()
        if bundle is not None:
            header = bundle.header
            source = list(header.source)
            told = ["Delivered", [source, header.seqno, header.view]]
            self.note("Deliver", {"source": source}, [header.source], told=[told])
        return bundle

    def _on_heard_of(self, call: Any, holder: Address, received: Digest, now: float) -> None:
        streams, own = self.nakack._streams, self.nakack._own
        more = [
            (who, at)
            for who, at in received.entries
            if (stream := streams.get(who)) is not None and stream is not own
            if at > stream.arrived
        ]
        call(holder, received, now)
        for who, at in more:
            args = {"holder": list(holder), "source": list(who), "at": at}
            self.note("HeardOf", args, [who])

    def _on_purge(self, call: Any, stable: Digest) -> None:
        nakack = self.nakack
        gone = list(nakack._departed)
        news: list[tuple[Address, int]] = []
        for who, at in stable.entries:
            stream = nakack._streams.get(who)
            if stream is None:
                continue
            kept = min(next(iter(stream.retained), at + 1), min(stream.buffer, default=at + 1))
            if kept <= at or (gone and not news):
                news.append((who, at))
        call(stable)
        for who, at in news:
            self.note("Purge", {"source": list(who), "at": at}, [who, *gone])

    def _on_freeze(self, call: Any, gone: Iterable[Address]) -> Digest:
        streams, me = self.nakack._streams, self.nakack.me
        gone = list(gone)
        digest: Digest = call(gone)
        for who in gone:
            if who in streams and who != me:
                self.note("Freeze", {"source": list(who)}, [who])
        return digest

    def _on_fetch(self, call: Any, wanted: Iterable[Fetch], now: float) -> None:
        streams, wanted = self.nakack._streams, list(wanted)
        more = [
            each for each in wanted if each[0] in streams and each[1] > streams[each[0]].arrived
        ]
        call(wanted, now)
        for source, at, holder in more:
            args = {"source": list(source), "at": at, "holder": list(holder)}
            self.note("Fetch", args, [source])

    def _on_install_view(self, call: Any, placed: View, now: float) -> None:
        call(placed, now)
        if self._joining:
            return  # it is part of joining
        if not self._known["view"]:  # a founder begins in its first view
            self._initial()
            return
        members = [list(who) for who in sorted(placed.members)]
        self.note("InstallView", {"view": placed.id.counter, "members": members}, self._everybody())

    def _on_join(self, call: Any, view: View, digest: Digest, now: float) -> None:
        self._joining = True
        call(view, digest, now)
        self._joining = False
        members = [list(who) for who in sorted(view.members)]
        told = [[list(who), at] for who, at in digest.entries]
        args = {"view": view.id.counter, "members": members, "digest": told}
        self.note("Join", args, self._everybody())

    def _on_announce(self, call: Any, now: float) -> None:
        lagging = self.nakack.lagging()
        call(now)
        if lagging:
            self.note("Announce", {}, ())

    def _on_ask(self, call: Any, source: Address, to: Address, now: float) -> None:
        asks = bool(self.nakack._streams[source].gaps())
        call(source, to, now)
        if asks:
            self.note("Ask", {"source": list(source), "to": list(to)}, [source])

    def _on_acknowledge_to(self, call: Any, source: Address) -> None:
        call(source)
        self.note("Acknowledge", {"source": list(source)}, [source])

    # ------------------------------------------------------------------ the records

    def note(
        self,
        action: str,
        args: Record,
        touched: Iterable[Address],
        received: Parcel | None = None,
        told: list[Any] | None = None,
        sent: list[Parcel] | None = None,
    ) -> None:
        """Record an event, with the changes of the streams that it can have touched."""
        if sent is None:
            sent, self._outbox.noted = self._outbox.noted, []
        self._recorder.begin(self)
        changed = self._changed(sorted({*touched}))
        self._recorder.note(action, args, received, sent, changed, told)

    def _everybody(self) -> list[Address]:
        return [*self._tables["stream"], *self.nakack._streams, *self.nakack._departed]

    def _initial(self) -> None:
        """Set a founder's first state, which is that of its first view."""
        changed = self._changed(sorted({*self._everybody()}))
        streams = [[who, [0, [], 0, None, False]] for who, _ in changed["stream"]]
        tables = {"acked": changed.get("acked", []), "stream": streams}
        self._begun.initial.update({**self._known, **tables})
        self._recorder.begin(self)

    def _changed(self, touched: list[Address]) -> Record:
        nakack, found = self.nakack, Record()
        members = sorted(nakack.members)
        now: Record = {
            "status": "member" if nakack.view else "joining",
            "view": nakack.view,
            "members": [list(who) for who in members]
            if nakack.view != self._known["view"]
            else self._known["members"],
            "sent": nakack.highest,
        }
        for name, value in now.items():
            if value != self._known[name]:
                self._known[name] = found[name] = value
        for who in touched:
            own = nakack._streams.get(who), nakack._departed.get(who)
            values: Record = {
                "acked": nakack.window.acked.get(who),
                "stream": _numbers(own[0], own[0] is not nakack._own),
                "departed": _numbers(own[1], False),
            }
            for name, value in values.items():
                if value != self._tables[name].get(who):
                    found.setdefault(name, []).append([list(who), value])
                    self._tables[name][who] = value
        return found


def _numbers(stream: Stream | None, others: bool) -> list[Any] | None:
    if stream is None:
        return None
    holder = list(stream.holder) if stream.holder is not None else None
    owed = others and (stream.unacked > 0 or stream.ack_at != NEVER)
    kept = len(stream.buffer) + len(stream.retained)
    at = [stream.delivered, stream.arrived, kept, stream.highest]
    return [*at, holder, stream.frozen, owed]
