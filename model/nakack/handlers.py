"""NAKACK: the twin of `spec/Nakack.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first,
conjunct by conjunct in the spec's words; messages and deliveries are outputs. The guarantees of the
layers around (that a view is flushed, that stable messages were delivered) are not a handler's
business: `system.py` upholds them. The spec quotes the rules N1 to N8.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from raincheck.model.machine.machine import Accepted, Refused, Value, refusal, state
from raincheck.model.machine.runs import Address

from . import events as on
from .events import Alive, Data, Delivered, Nak, Output

_new: Final = tuple.__new__  # half the time of a NamedTuple's own constructor


@dataclass(frozen=True, slots=True)
class Rules:
    """The bounds and the repairs that are switched on; the names are the spec's constants."""

    window: int = 128
    retain: int = 512
    announcing: bool = True
    vector: bool = True
    ask_holders: bool = True
    digest_means: str = "delivered"
    freezing: str = "gap"
    keep_departed: bool = True
    keep_undelivered: bool = True
    own_copy: bool = True
    view_tag: bool = True
    members_only: bool = True
    from_members: bool = True


@state
class Stream(NamedTuple):
    """A member's stream as another has it, with the spec's fields; `holder` None is nobody."""

    delivered: int = 0
    held: tuple[tuple[int, int], ...] = ()
    heard: int = 0
    holder: Address | None = None
    frozen: bool = False

    def has(self, seqno: int) -> bool:
        """Tell whether the multicast is kept."""
        held = self.held
        if not held or held[-1][0] < seqno:
            return False
        return held[bisect_left(held, (seqno,))][0] == seqno

    def tag(self, seqno: int) -> int:
        """Return the view in which the multicast was sent; 0 if it is not kept."""
        place = bisect_left(self.held, (seqno,))
        if place < len(self.held) and self.held[place][0] == seqno:
            return self.held[place][1]
        return 0

    def arrived(self) -> int:
        """Return up to where all of it is here without a gap."""
        at, held = self.delivered, self.held
        if not held or held[-1][0] <= at:
            return at
        place = bisect_left(held, (at + 1,))
        while place < len(held) and held[place][0] == at + 1:
            at, place = at + 1, place + 1
        return at

    def missing(self) -> tuple[int, ...]:
        """Return the known seqnos that are missing."""
        above = range(self.arrived() + 1, self.heard + 1)
        here = {k for k, _ in self.held} if above else ()
        return tuple(k for k in above if k not in here)

    def with_(self, seqno: int, view: int) -> Stream:
        """Return the stream with one more multicast kept."""
        delivered, held, heard, holder, frozen = self
        entry = (seqno, view)
        if not held or held[-1] < entry:
            held = (*held, entry)
        else:
            place = bisect_left(held, entry)
            if held[place] != entry:
                held = (*held[:place], entry, *held[place:])
        return _new(Stream, (delivered, held, heard, holder, frozen))


Streams: TypeAlias = tuple[tuple[Address, Stream], ...]
"""Streams by member, in the order of addresses."""


@state
class Local(NamedTuple):
    """A member's local state. `members` are those of its view, in the order of addresses."""

    node: str
    incarnation: int = 0
    status: str = "joining"
    view: int = 0
    members: tuple[Address, ...] = ()
    sent: int = 0
    acked: tuple[tuple[Address, int], ...] = ()
    owed: tuple[Address, ...] = ()
    stream: Streams = ()
    departed: Streams = ()


Answer: TypeAlias = Accepted[Local, Output] | Refused

_STREAM: Final = Local._fields.index("stream")


def address(me: Local) -> Address:
    """Return the member's address."""
    return Address(me.node, me.incarnation)


def running(me: Local) -> bool:
    """Tell whether the process takes part in the protocol."""
    return me.status == "member"


def founder(node: str, members: tuple[Address, ...]) -> Local:
    """Return the initial state of a member of the first view."""
    acked = tuple((m, 0) for m in members if m.node != node)
    streams = tuple((m, Stream()) for m in members)
    return Local(node, 0, "member", 1, members, 0, acked, (), streams)


def stream_of(streams: Streams, source: Address) -> Stream | None:
    """Return the stream of that member, None if there is none."""
    for entry in streams:
        if entry[0] == source:
            return entry[1]
    return None


def lowest(me: Local) -> int:
    """Return the seqno up to which all others have acknowledged."""
    return min([at for _, at in me.acked], default=me.sent)


def _put(streams: Streams, source: Address, stream: Stream) -> Streams:
    for place, entry in enumerate(streams):
        if entry[0] == source:
            return (*streams[:place], (source, stream), *streams[place + 1 :])
    return tuple(sorted([*streams, (source, stream)]))


def _changed(me: Local, source: Address, stream: Stream) -> Local:
    return _new(Local, (*me[:_STREAM], _put(me.stream, source, stream), me.departed))


def _owing(me: Local, source: Address) -> Local:
    """The member, which owes that one an acknowledgement."""
    if source in me.owed:
        return me
    return me._replace(owed=tuple(sorted((*me.owed, source))))


def _hear(rules: Rules, stream: Stream, k: int) -> Stream:
    """Return the stream, knowing from another member that it goes up to k."""
    if k <= stream.heard:
        return stream
    within = stream.delivered + 2 * rules.window
    if stream.frozen and rules.freezing != "all":
        within = stream.heard
    return stream._replace(heard=max(stream.heard, min(k, within)))


def _alive(me: Local, to: Address, asking: bool) -> Alive:
    stream = stream_of(me.stream, to)
    return Alive(to, me.sent, asking, stream.delivered if stream is not None else 0)


def _runs(me: Local) -> tuple[bool, str, Mapping[str, Value]]:
    return running(me), "Running(n)", {"status": me.status}


def _is_other(me: Local, who: Address) -> bool:
    return who in me.members and who != address(me)


# ---------------------------------------------------------------------- sending


def multicast(rules: Rules, me: Local, _event: on.Multicast) -> Answer:
    """The application multicasts (N1, N7)."""
    mine = address(me)
    own = stream_of(me.stream, mine) or Stream()
    enabled = me.sent - lowest(me) < rules.window and len(own.held) < rules.retain
    refused = (
        None
        if enabled and running(me)
        else refusal(
            _runs(me),
            (
                me.sent - lowest(me) < rules.window,
                "sent[n] - Lowest(n) < Window",
                {"sent": me.sent, "acked": me.acked},
            ),
            (
                len(own.held) < rules.retain,
                "Cardinality(DOMAIN stream[n][n].held) < Retain",
                {"held": own.held},
            ),
        )
    )
    if refused:
        return refused
    k = me.sent + 1
    view = me.view
    to = [m for m in me.members if m != mine or not rules.own_copy]
    outputs = tuple([_new(Data, (m, mine, k, view)) for m in to])
    if rules.own_copy:
        me = _changed(me, mine, own.with_(k, view)._replace(heard=k))
    me = me._replace(sent=k)
    return Accepted(me, outputs)


def announce(rules: Rules, me: Local, _event: on.Announce) -> Answer:
    """A multicast is not acknowledged by all: announce how far the stream goes."""
    lagging = [m for m, at in me.acked if at < me.sent]
    refused = refusal(
        _runs(me),
        (rules.announcing, "Announcing", {}),
        (
            bool(lagging),
            "\\E m \\in DOMAIN acked[n] : acked[n][m] < sent[n]",
            {"acked": me.acked, "sent": me.sent},
        ),
    )
    return refused or Accepted(me, tuple(_alive(me, m, True) for m in lagging))


# ---------------------------------------------------------------------- receiving


def receive_data(rules: Rules, me: Local, event: on.ReceiveData) -> Answer:
    """A multicast arrives (N1, N8)."""
    refused = None if running(me) else refusal(_runs(me))
    if refused:
        return refused
    sender, source, seqno, view = event
    own = rules.own_copy and source[0] == me.node and source == address(me)
    if own or (rules.from_members and sender not in me.members):
        return Accepted(me)
    stream = stream_of(me.stream, source)
    if stream is None:
        if rules.members_only:
            return Accepted(me)
        return Accepted(_changed(me, source, Stream(heard=seqno).with_(seqno, view)))
    new = seqno > stream.delivered and not stream.has(seqno)
    late = stream.frozen and rules.freezing != "all" and seqno > stream.heard
    if not new or late:
        return Accepted(me)
    if seqno > stream.delivered + 2 * rules.window:
        return Accepted(_changed(me, source, _hear(rules, stream, seqno)))
    if seqno > stream.heard:
        delivered, held, _, holder, frozen = stream
        stream = _new(Stream, (delivered, held, seqno, holder, frozen))
    return Accepted(_changed(me, source, stream.with_(seqno, view)))


def receive_alive(rules: Rules, me: Local, event: on.ReceiveAlive) -> Answer:
    """A sign of life may reveal a gap or ask for an acknowledgement; it also acknowledges."""
    refused = None if running(me) else refusal(_runs(me))
    if refused:
        return refused
    sender, highest, asking, delivered = event
    stream = stream_of(me.stream, sender)
    if stream is None or not _is_other(me, sender):
        return Accepted(me)
    if highest > stream.arrived():
        me = _changed(me, sender, _hear(rules, stream, highest))
    elif asking:
        me = _owing(me, sender)
    if delivered <= me.sent and any(m == sender and at < delivered for m, at in me.acked):
        acked = tuple((m, max(at, delivered) if m == sender else at) for m, at in me.acked)
        me = me._replace(acked=acked)
    return Accepted(me)


def ask(rules: Rules, me: Local, event: on.Ask) -> Answer:
    """Ask for what is missing of a stream (N2)."""
    source, to = event
    stream = stream_of(me.stream, source) or Stream()
    missing = stream.missing()
    refused = refusal(
        _runs(me),
        (_is_other(me, source), "s \\in Others(n)", {"s": source, "members": me.members}),
        (bool(missing), "Missing(stream[n][s]) # {}", {"heard": stream.heard}),
        (
            to == source or (rules.ask_holders and to == stream.holder),
            "to = s \\/ (AskHolders /\\ to = stream[n][s].holder)",
            {"to": to, "holder": stream.holder or "nobody"},
        ),
    )
    return refused or Accepted(me, (Nak(to, source, missing),))


def receive_nak(_rules: Rules, me: Local, event: on.ReceiveNak) -> Answer:
    """Somebody asks for multicasts: send those again that are kept (N2)."""
    refused = None if running(me) else refusal(_runs(me))
    if refused:
        return refused
    sender, source, missing = event
    stream = stream_of(me.stream, source) or stream_of(me.departed, source) or Stream()
    wanted = frozenset(missing)
    again = [Data(sender, source, k, view) for k, view in stream.held if k in wanted]
    return Accepted(me, tuple(again))


def deliver(rules: Rules, me: Local, event: on.Deliver) -> Answer:
    """Pass up the next multicast of a stream."""
    source = event.source
    stream = stream_of(me.stream, source)
    k = stream.delivered + 1 if stream is not None else 0
    tag = stream.tag(k) if stream is not None else 0
    enabled = running(me) and tag > 0 and (tag <= me.view or not rules.view_tag)
    refused = (
        None
        if enabled
        else refusal(
            _runs(me),
            (stream is not None, "s \\in DOMAIN stream[n]", {"s": source}),
            (tag > 0, "k \\in DOMAIN stream[n][s].held", {"k": k}),
            (
                not rules.view_tag or tag <= me.view,
                "ViewTag => stream[n][s].held[k] <= view[n]",
                {"held[k]": tag, "view": me.view},
            ),
        )
    )
    if refused:
        return refused
    assert stream is not None
    me = _changed(me, source, _new(Stream, (k, *stream[1:])))
    if source != (me.node, me.incarnation):
        me = _owing(me, source)
    return Accepted(me, (_new(Delivered, (source, k, tag)),))


def acknowledge(_rules: Rules, me: Local, event: on.Acknowledge) -> Answer:
    """Acknowledge the delivered part of a stream."""
    source = event.source
    enabled = running(me) and source in me.owed
    refused = (
        None
        if enabled
        else refusal(_runs(me), (source in me.owed, "s \\in owed[n]", {"owed": me.owed}))
    )
    if refused:
        return refused
    me = me._replace(owed=tuple(m for m in me.owed if m != source))
    return Accepted(me, (_alive(me, source, False),))


# ---------------------------------------------------------------------- indications


def heard_of(rules: Rules, me: Local, event: on.HeardOf) -> Answer:
    """STABLE: another member has received more of a stream than this one (N3)."""
    holder, source, at = event
    stream = stream_of(me.stream, source) or Stream()
    refused = refusal(
        _runs(me),
        (rules.vector, "Vector", {}),
        (_is_other(me, source), "s \\in Others(n)", {"s": source, "members": me.members}),
        (_is_other(me, holder), "m \\in Others(n)", {"m": holder, "members": me.members}),
        (
            at > stream.arrived(),
            "Arrived(stream[m][s]) > Arrived(stream[n][s])",
            {"at": at, "Arrived": stream.arrived()},
        ),
    )
    if refused:
        return refused
    stream = _hear(rules, stream, at)
    if holder != source:
        stream = stream._replace(holder=holder)
    return Accepted(_changed(me, source, stream))


def purge(rules: Rules, me: Local, event: on.Purge) -> Answer:
    """STABLE: forget stable multicasts, and everything of members that are gone (N4)."""
    source, at = event
    stream = stream_of(me.stream, source)
    held = stream.held if stream is not None else ()
    refused = refusal(
        _runs(me),
        (stream is not None, "s \\in DOMAIN stream[n]", {"s": source}),
        (
            any(k <= at for k, _ in held) or bool(me.departed),
            "(\\E k \\in DOMAIN stream[n][s].held : k <= at) \\/ DOMAIN departed[n] # {}",
            {"held": held, "at": at},
        ),
    )
    if refused:
        return refused
    assert stream is not None
    up = min(at, stream.delivered) if rules.keep_undelivered else at
    left = tuple(entry for entry in held if entry[0] > up)
    return Accepted(_changed(me, source, stream._replace(held=left))._replace(departed=()))


def freeze(rules: Rules, me: Local, event: on.Freeze) -> Answer:
    """The membership: a member is gone; take no more of its stream."""
    source = event.source
    stream = stream_of(me.stream, source) or Stream()
    refused = refusal(
        _runs(me),
        (_is_other(me, source), "s \\in Others(n)", {"s": source, "members": me.members}),
        (not stream.frozen, "~stream[n][s].frozen", {}),
    )
    if refused:
        return refused
    stream = stream._replace(frozen=True)
    if rules.freezing == "gap":
        arrived = stream.arrived()
        within = tuple(entry for entry in stream.held if entry[0] <= arrived)
        stream = stream._replace(heard=arrived, held=within)
    return Accepted(_changed(me, source, stream))


def fetch(_rules: Rules, me: Local, event: on.Fetch) -> Answer:
    """FLUSH: a stream up to a cut belongs to this view, and `holder` has it."""
    source, at, holder = event
    stream = stream_of(me.stream, source) or Stream()
    refused = refusal(
        _runs(me),
        (_is_other(me, source), "s \\in Others(n)", {"s": source, "members": me.members}),
        (
            at > stream.arrived(),
            "next.cut[s] > Arrived(stream[n][s])",
            {"cut[s]": at, "Arrived": stream.arrived()},
        ),
    )
    if refused:
        return refused
    fetched = stream._replace(heard=max(stream.heard, at), holder=holder)
    return Accepted(_changed(me, source, fetched))


def install_view(rules: Rules, me: Local, event: on.InstallView) -> Answer:
    """The membership: the next view."""
    number, members = event
    mine = address(me)
    refused = refusal(
        _runs(me),
        (number == me.view + 1, "v = view[n] + 1", {"v": number, "view": me.view}),
        (mine in members, "n \\in next.members", {"members": members}),
    )
    if refused:
        return refused
    own = stream_of(me.stream, mine) or Stream()
    acked, streams = dict(me.acked), dict(me.stream)
    departed: Streams = ()
    if rules.keep_departed and members != (mine,):
        gone = {m: s for m, s in me.stream if m in me.members and m not in members}
        departed = tuple(sorted({**dict(me.departed), **gone}.items()))
    me = me._replace(
        view=number,
        members=members,
        acked=tuple((m, acked.get(m, own.delivered)) for m in members if m != mine),
        owed=tuple(m for m in me.owed if m in members),
        stream=tuple((m, streams.get(m, Stream())._replace(holder=None)) for m in members),
        departed=departed,
    )
    return Accepted(me)


def join(rules: Rules, me: Local, event: on.Join) -> Answer:
    """A joiner has its JOIN_RSP: its reading begins behind the digest (N5)."""
    number, members, digest = event
    refused = refusal((me.status == "joining", 'status[n] = "joining"', {"status": me.status}))
    if refused:
        return refused
    told = dict(digest)
    begins = {m: _first(rules, told[m]) if m in told else 0 for m in members}
    me = me._replace(
        status="member",
        view=number,
        members=members,
        acked=tuple((m, 0) for m in members if m != address(me)),
        stream=tuple((m, Stream(begins[m], (), begins[m])) for m in members),
    )
    return Accepted(me)


def _first(rules: Rules, at: int) -> int:
    if rules.digest_means == "expected":
        return max(at - 1, 0)
    return at + 1 if rules.digest_means == "more" else at


def crash(_rules: Rules, me: Local, _event: on.Crash) -> Answer:
    """The process crashes."""
    return refusal(_runs(me)) or Accepted(Local(me.node, me.incarnation, "crashed", sent=me.sent))


HANDLERS: Final[Mapping[str, Callable[[Rules, Local, Any], Answer]]] = {
    "Multicast": multicast,
    "Announce": announce,
    "ReceiveData": receive_data,
    "ReceiveAlive": receive_alive,
    "Ask": ask,
    "ReceiveNak": receive_nak,
    "Deliver": deliver,
    "Acknowledge": acknowledge,
    "HeardOf": heard_of,
    "Purge": purge,
    "Freeze": freeze,
    "Fetch": fetch,
    "InstallView": install_view,
    "Join": join,
    "Crash": crash,
}

INPUTS: Final[Mapping[str, type[Any]]] = {name: getattr(on, name) for name in HANDLERS}
