"""Raincore's Transport Manager: unicasts a message reliably, or reports that it could not.

A message is acknowledged, sent again with back-off until it is, and given up after a time
(`give_up`): its sender is told either way. The report of a failure may be false (only the
acknowledgements were lost), but no message is taken twice: messages to one destination are
numbered, and each receiver remembers the last `WINDOW` of each sender. An acknowledgement tells of
all of them, so that the next one repairs the loss of one.

A peer is a node's name; only its latest life counts. Who is sent a message for an earlier life says
so, and the sender need not wait. There is no order between messages.

Law of this file: nothing received can raise; what cannot be taken is counted by reason. Memory is
bounded: by peers, by messages under way to each, and by what is remembered of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from .errors import WireError
from .messages import Address, Count, Endpoint
from .protocol import NEVER, Backoff
from .reports import Dropped, Pace
from .ring_config import RingConfig
from .ring_frames import ACK, GONE, HELLO, HERE, MESSAGE, WINDOW, Frame, Frames, Mask

MAX_PEERS = 1024
"""Peers that are remembered, the latest ones."""
MAX_UNDER_WAY = 32
"""Messages to one peer that wait for an acknowledgement; the oldest one fails if there are more."""
_TRIES = 3  # at least, before a message is given up: a process that slept has not tried
_MASK = (1 << WINDOW) - 1
_REPORT_PAUSE = 10.0  # seconds between two reports of datagrams dropped for one reason

M = TypeVar("M")
B = TypeVar("B")
Decode: TypeAlias = Callable[[Address, Address, bytes, int], B]
"""Reads the body of a message from one to another, from there on; or raises WireError."""


class Acknowledged(NamedTuple, Generic[M]):
    """The message has arrived."""

    to: Address
    message: M


class Undelivered(NamedTuple, Generic[M]):
    """The message was given up; it may have arrived all the same."""

    to: Address
    message: M


class Arrived(NamedTuple, Generic[B]):
    """A message has arrived, for the first time."""

    source: Address
    body: B


class Found(NamedTuple):
    """A member has answered HELLO; its token is of that epoch."""

    member: Address
    endpoint: Endpoint
    epoch: int


class Replaced(NamedTuple):
    """A later life has taken this member's name."""

    by: Address


Notice: TypeAlias = Acknowledged[M] | Undelivered[M] | Arrived[B] | Found | Replaced
"""What the Transport Manager tells its user, in the order in which it happened."""


class Kept(NamedTuple):
    """What the same life must find again after a restart, so that no message is taken twice."""

    floor: Count = 0
    peers: tuple[tuple[Address, Endpoint | None, Count, Count, Mask], ...] = ()
    """Of each peer: where it is, the last number sent to it, the highest received, and the mask."""


class _Sent(Generic[M]):
    """A message that is not acknowledged yet."""

    __slots__ = ("first", "frame", "give_up", "message", "tries")

    def __init__(self, message: M, frame: bytes, now: float, give_up: float) -> None:
        self.message = message
        self.frame = frame
        self.first = now
        self.give_up = now + give_up
        self.tries = 1


class _Peer(Generic[M]):
    """The latest life of a node, as far as it is known here."""

    __slots__ = (
        "address",
        "endpoint",
        "failed",
        "highest",
        "mask",
        "sent",
        "timer",
        "under_way",
    )

    def __init__(self, address: Address, endpoint: Endpoint | None, timer: Backoff) -> None:
        self.address = address
        self.endpoint = endpoint
        self.timer = timer
        self.sent = 0  # the number of the last message to it
        self.under_way: dict[int, _Sent[M]] = {}
        self.failed = False  # given up, and not heard of since
        self.highest = 0  # the highest number that arrived from it
        self.mask = 0  # bit i: number highest - i has arrived


class TransportManager(Generic[M, B]):
    """All messages from and to one member: those sent are an `M`, those that arrive a `B`."""

    def __init__(
        self,
        me: Address,
        config: RingConfig,
        decode: Decode[B],
        kept: Kept | None = None,
    ) -> None:
        self.me = me
        self.config = config
        self.counters: Counter[str] = Counter()
        self.answers_hello = False
        """Whether this is a member, whom joiners may ask."""
        self.epoch = 0
        """Told with HERE: of which epoch the token was that was here last."""
        self.changed = False
        """Whether `kept` has changed since this was set to False."""
        self.places = 0
        """Grows whenever it is known anew where a peer is."""
        self.closed = False
        """Takes no new message any more; what came before is still acknowledged."""
        self._decode = decode
        self._frames = Frames(config.ring, config.max_datagram)
        self._peers: dict[str, _Peer[M]] = {}  # the one heard of last stands last
        self._busy: dict[str, _Peer[M]] = {}  # those with messages under way
        self._floor = 0  # no number above it has been used for a peer that is not known
        self._outgoing: list[tuple[bytes, Endpoint]] = []
        self._notices: list[Notice[M, B]] = []
        self._dropped: list[Dropped] = []
        self._pace = Pace(_REPORT_PAUSE)
        if kept is not None:
            self._floor = kept.floor
            for address, endpoint, sent, highest, mask in kept.peers:
                peer = self._peer(address, endpoint)
                peer.sent, peer.highest, peer.mask = sent, highest, mask

    def kept(self) -> Kept:
        """What a restart of this same life needs, so that no message is taken twice."""
        peers = self._peers.values()
        return Kept(
            self._floor,
            tuple([(p.address, p.endpoint, p.sent, p.highest, p.mask) for p in peers]),
        )

    # ------------------------------------------------------------------ peers

    def learn(self, address: Address, endpoint: Endpoint) -> None:
        """Another member says where this one is found; what itself says counts more."""
        peer = self._peers.get(address.node)
        if peer is None or peer.address.incarnation < address.incarnation:
            if address.node != self.me.node:
                self._peer(address, endpoint)
        elif peer.endpoint is None and peer.address == address:
            peer.endpoint = endpoint
            self.places += 1

    def endpoint_of(self, address: Address) -> Endpoint | None:
        """Return where a member is found, None if that is not known (any more)."""
        peer = self._peers.get(address.node)
        return peer.endpoint if peer is not None and peer.address == address else None

    def _peer(self, address: Address, endpoint: Endpoint | None = None) -> _Peer[M]:
        """Return the peer; a life later than the one known replaces it."""
        known = self._peers.get(address.node)
        if known is not None and known.address.incarnation >= address.incarnation:
            return known
        if known is not None:
            self._end(known)
        elif len(self._peers) >= MAX_PEERS:
            idle = next((p for p in self._peers.values() if not p.under_way), None)
            if idle is not None:
                self._floor = max(self._floor, idle.sent)
                del self._peers[idle.address.node]
        timer = Backoff(self.config.retransmit_after, self.config.retransmit_max)
        peer: _Peer[M] = _Peer(address, endpoint, timer)
        peer.sent = self._floor
        self._peers[address.node] = peer
        self.places += 1
        self.changed = True
        return peer

    def _end(self, peer: _Peer[M]) -> None:
        """That life is over: nothing under way to it can arrive."""
        for number in list(peer.under_way):
            self._give_up(peer, number)
        self._busy.pop(peer.address.node, None)

    # ------------------------------------------------------------------ sending

    def send(self, to: Address, message: M, body: bytes, now: float) -> None:
        """Send a message, whose body is encoded already."""
        peer = self._peer(to)
        if to != peer.address:
            self.counters["to_old_life"] += 1
            self._notices.append(Undelivered(to, message))
            return
        if len(peer.under_way) >= MAX_UNDER_WAY:
            self._give_up(peer, next(iter(peer.under_way)))
        peer.sent += 1
        frame = self._frames.make(MESSAGE, self.me, to, peer.sent, 0, body)
        give_up = self.config.give_up_again if peer.failed else self.config.give_up
        peer.under_way[peer.sent] = _Sent(message, frame, now, give_up)
        self._busy[to.node] = peer
        peer.timer.start_if_idle(now)
        self.counters["sent"] += 1
        self.changed = True
        self._transmit(frame, peer)

    def hello(self, endpoint: Endpoint) -> None:
        """Ask who is there, and whether it is a member."""
        self._outgoing.append((self._frames.make(HELLO, self.me, None), endpoint))

    def _transmit(self, frame: bytes, peer: _Peer[M]) -> None:
        if peer.endpoint is None:
            self.counters["no_endpoint"] += 1
        else:
            self._outgoing.append((frame, peer.endpoint))

    def _give_up(self, peer: _Peer[M], number: int) -> None:
        sent = peer.under_way.pop(number)
        self.counters["given_up"] += 1
        self._notices.append(Undelivered(peer.address, sent.message))

    # ------------------------------------------------------------------ receiving

    def receive(self, datagram: bytes, source: Endpoint, now: float) -> None:
        """Take a datagram; what comes of it is in `poll_notices` and `poll_datagrams`."""
        try:
            self._take(self._frames.read(datagram), source, now)
        except WireError as problem:
            self._drop(problem.reason, source, problem.detail, now)

    def _take(self, frame: Frame, endpoint: Endpoint, now: float) -> None:
        sender, kind = frame.source, frame.kind
        if frame.to is None:
            self._greeted(frame, endpoint)
        elif sender.node == self.me.node or frame.to != self.me:
            self._astray(frame, endpoint, now)
        elif kind == MESSAGE:
            self._message(frame, endpoint)
        elif kind == GONE and frame.number > self.me.incarnation:
            self._notices.append(Replaced(Address(self.me.node, frame.number)))
        elif sender.node not in self._peers or self._peer(sender).address != sender:
            self.counters["stale"] += 1  # of no peer, or of an old life
        elif kind == ACK:
            peer = self._peers[sender.node]
            self._heard(peer, endpoint)
            self._acked(peer, frame, now)

    def _greeted(self, frame: Frame, endpoint: Endpoint) -> None:
        """HELLO or HERE. Who has this member's own name is told, and told of, all the same."""
        sender = frame.source
        if frame.kind == HELLO:
            if self.answers_hello and sender != self.me:
                here = self._frames.make(HERE, self.me, None, self.epoch)
                self._outgoing.append((here, endpoint))
        elif sender != self.me:
            if sender.node != self.me.node:
                self._heard(self._peer(sender), endpoint)
            self._notices.append(Found(sender, endpoint, frame.number))

    def _message(self, frame: Frame, endpoint: Endpoint) -> None:
        sender, number = frame.source, frame.number
        peer = self._peers.get(sender.node)
        if peer is not None and sender.incarnation < peer.address.incarnation:
            self.counters["old_life"] += 1
            later = self._frames.make(GONE, self.me, sender, peer.address.incarnation)
            self._outgoing.append((later, endpoint))
            return
        known = peer is not None and peer.address == sender
        behind = peer.highest - number if peer is not None and known else -number
        if behind >= WINDOW:
            # Whether it was taken is forgotten: not again, and its sender must not believe it was.
            self.counters["beyond_window"] += 1
            return
        if behind >= 0 and peer is not None and peer.mask >> behind & 1:
            self.counters["duplicate"] += 1
        elif self.closed:
            self.counters["closed"] += 1
            return
        else:
            message = self._decode(
                sender, self.me, frame.datagram, frame.body
            )  # nothing is kept of who sends what cannot be read
            peer = self._peer(sender)
            if behind < 0:
                peer.mask = (peer.mask << min(-behind, WINDOW) | 1) & _MASK
                peer.highest = number
            else:
                peer.mask |= 1 << behind
            self.changed = True
            self.counters["received"] += 1
            self._notices.append(Arrived(sender, message))
        self._heard(peer, endpoint)
        self._transmit(self._frames.make(ACK, self.me, sender, peer.highest, peer.mask), peer)

    def _heard(self, peer: _Peer[M], endpoint: Endpoint) -> None:
        peer.failed = False
        if peer.endpoint != endpoint:
            peer.endpoint = endpoint
            self.places += 1
        node = peer.address.node
        if next(reversed(self._peers)) != node:
            self._peers[node] = self._peers.pop(node)

    def _acked(self, peer: _Peer[M], frame: Frame, now: float) -> None:
        highest, mask, under_way = frame.number, frame.mask, peer.under_way
        if highest > peer.sent:
            self.counters["stale"] += 1
            return
        progress = False
        for number in list(under_way):
            behind = highest - number
            if 0 <= behind < WINDOW and mask >> behind & 1:
                sent = under_way.pop(number)
                progress = True
                if sent.tries == 1:
                    peer.timer.measured(now - sent.first)
                self._notices.append(Acknowledged(peer.address, sent.message))
        if not under_way:
            peer.timer.stop()
            self._busy.pop(peer.address.node, None)
        elif progress:
            peer.timer.start(now)

    def _astray(self, frame: Frame, endpoint: Endpoint, now: float) -> None:
        to = frame.to
        if (
            frame.kind == MESSAGE
            and to is not None
            and to.node == self.me.node != frame.source.node
            and to.incarnation < self.me.incarnation
        ):
            self.counters["for_old_life"] += 1
            gone = self._frames.make(GONE, self.me, frame.source)
            self._outgoing.append((gone, endpoint))
        elif to is not None and to.node == self.me.node and frame.kind != MESSAGE:
            self.counters["for_old_life"] += 1
        else:
            self._drop("not_for_me", endpoint, f"from {frame.source} to {to}", now)

    def _drop(self, reason: str, source: Endpoint, detail: str, now: float) -> None:
        self.counters[reason] += 1
        times = self._pace.count(reason, now)
        if times:
            self._dropped.append(Dropped(reason, source, detail, times))

    # ------------------------------------------------------------------ time and results

    def deadline(self) -> float:
        """When `tick` wants to be called, or NEVER."""
        return min((peer.timer.due for peer in self._busy.values()), default=NEVER)

    def tick(self, now: float) -> None:
        """Send again, or give up, what is due; harmless when nothing is."""
        for node, peer in list(self._busy.items()):
            if peer.timer.due > now:
                continue
            for number, sent in list(peer.under_way.items()):
                if now >= sent.give_up and sent.tries >= _TRIES:
                    self._give_up(peer, number)
                    peer.failed = True
                else:
                    sent.tries += 1
                    self.counters["retransmitted"] += 1
                    self._transmit(sent.frame, peer)
            if peer.under_way:
                peer.timer.again(now)
                last = min(sent.give_up for sent in peer.under_way.values())
                peer.timer.due = min(peer.timer.due, max(last, now + self.config.retransmit_after))
            else:
                peer.timer.stop()
                del self._busy[node]

    def has_failed(self, member: Address) -> bool:
        """Whether a message to it was given up, and nothing was heard of it since."""
        peer = self._peers.get(member.node)
        return peer is not None and peer.failed and peer.address == member

    def under_way(self) -> list[tuple[Address, M]]:
        """What is not acknowledged yet."""
        return [
            (peer.address, sent.message)
            for peer in self._busy.values()
            for sent in peer.under_way.values()
        ]

    def peers(self) -> int:
        """How many peers are remembered."""
        return len(self._peers)

    def poll_notices(self) -> list[Notice[M, B]]:
        """Return what has happened, once."""
        notices, self._notices = self._notices, []
        return notices

    def poll_datagrams(self) -> list[tuple[bytes, Endpoint]]:
        """Return what is to be sent, once."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def poll_dropped(self) -> list[Dropped]:
        """Return what was dropped and is worth a word, once."""
        dropped, self._dropped = self._dropped, []
        return dropped
