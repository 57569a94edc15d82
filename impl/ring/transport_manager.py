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

from collections import Counter, deque
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from raincheck.impl.errors import WireError
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.sealing.head import HEAD, refusal
from raincheck.impl.stack.reports import Dropped, Pace
from raincheck.impl.stack.timers import NEVER

from .config import RingConfig
from .door import Admit, Door
from .frames import (
    ACK,
    CLOSED,
    GONE,
    HELLO,
    MESSAGE,
    NAME_TAKEN,
    REFUSED,
    WANTED,
    WINDOW,
    Frame,
    Frames,
    cookie_of,
)
from .guests import MAX_REQUEST, Guests
from .transport_peers import (
    Acknowledged,
    Arrived,
    Found,
    Kept,
    Notice,
    Peer,
    Peers,
    Refused,
    Replaced,
    Sent,
    Undelivered,
    Wants,
)

MAX_UNDER_WAY = 32
"""The most unacknowledged messages to one peer; the oldest one fails if there are more."""
_TRIES = 3  # transmissions at least before a message fails: a process that slept has not tried
_REPORT_PAUSE = 10.0  # seconds between two reports of datagrams dropped for one reason

M = TypeVar("M")
B = TypeVar("B")
Decode: TypeAlias = Callable[[Address, Address, bytes, int], B]
"""Decodes a message's body, given source, receiver and offset; raises WireError."""


class TransportManager(Generic[M, B]):
    """All messages from and to one member: it sends an `M`, and receives a `B`."""

    def __init__(
        self,
        me: Address,
        config: RingConfig,
        decode: Decode[B],
        kept: Kept | None = None,
        *,
        door: Door | None = None,
        is_request: Callable[[B], bool] = lambda _body: False,
        admit: Admit | None = None,
    ) -> None:
        """`is_request` tells requests to join; `admit` decides who may."""
        self.me = me
        self.config = config
        self.counters: Counter[str] = Counter()
        self.answers_hello = False
        """Whether this is a member that joiners may ask."""
        self.has_room = True
        """Whether a guest may become a member."""
        self.epoch = 0
        """The epoch of the last token that was here, which HERE carries."""
        self.can_spare: Callable[[Address], bool] = lambda _member: True
        """Tells whether the others can go on without a member; else its return is waited for."""
        self.closed = False
        """Whether new messages are refused; duplicates of earlier ones are still acknowledged."""
        self.door = door or Door(None)
        self._decode = decode
        self._is_request = is_request
        name = f"{config.ring} {config.identity}" if config.identity else config.ring
        self._frames = Frames(name, config.max_datagram, sums=config.sums)
        self.peers: Peers[M] = Peers(config, self._ended)
        self._guests = Guests(config, self.peers, admit)
        self._busy: dict[str, Peer[M]] = {}  # peers with messages under way
        self._outgoing: list[tuple[bytes, Endpoint]] = []
        self._notices: list[Notice[M, B]] = []
        self._ended_before: deque[tuple[float, Undelivered[M]]] = deque()
        """Messages sent to a life that was over, and when their failure is reported."""
        self._dropped: list[Dropped] = []
        self._pace = Pace(_REPORT_PAUSE)
        if kept is not None:
            self.peers.restore(kept)

    def kept(self) -> Kept:
        """Return what a restart of this life needs to detect duplicates."""
        return self.peers.kept()

    # ------------------------------------------------------------------ sending

    def send(self, to: Address, message: M, body: bytes, now: float) -> None:
        """Send a message with an encoded body."""
        peer = self.peers.latest(to)
        if to != peer.address:
            # Reported a moment later: a member alone that asks the next one would loop for ever.
            self.counters["to_old_life"] += 1
            told = now + self.config.retransmit_after
            self._ended_before.append((told, Undelivered(to, message)))
            return
        if len(peer.under_way) >= MAX_UNDER_WAY:
            self._give_up(peer, next(iter(peer.under_way)))
        peer.sent += 1
        shown = self.door.proof or peer.cookie
        frame = self._frames.make(MESSAGE, self.me, to, peer.sent, shown, body)
        give_up = self.config.give_up_again if peer.failed else self.config.give_up
        if peer.closed:  # unless it is back by then
            give_up = self.config.retransmit_after
        peer.under_way[peer.sent] = Sent(message, frame, now, give_up)
        self._busy[to.node] = peer
        peer.timer.start_if_idle(now)
        self.counters["sent"] += 1
        self.peers.changed = True
        self._transmit(frame, peer)

    def hello(self, endpoint: Endpoint) -> None:
        """Send HELLO to an endpoint: who is there, and is it a member?"""
        question = self.door.question(endpoint)
        self._outgoing.append((self._frames.make(HELLO, self.me, None, 0, question), endpoint))

    def want(self, to: Address) -> None:
        """Tell a peer that this member wants the token; nobody acknowledges it."""
        peer = self.peers.by_name.get(to.node)
        if peer is not None and peer.address == to:
            self.counters["told_wanted"] += 1
            self._transmit(self._frames.make(WANTED, self.me, to), peer)

    def close(self) -> None:
        """Take no more messages."""
        self.closed = True
        self.answers_hello = False

    def say_closed(self) -> None:
        """Tell the members that it takes no more messages, so that they need not find out by
        waiting; nobody acknowledges it.
        """
        for peer in self.peers.by_name.values():
            if not peer.guest:
                self._transmit(self._frames.make(CLOSED, self.me, peer.address, peer.sent), peer)

    def _transmit(self, frame: bytes, peer: Peer[M]) -> None:
        if peer.endpoint is None:
            self.counters["no_endpoint"] += 1
        else:
            self._outgoing.append((frame, peer.endpoint))

    def _ended(self, peer: Peer[M]) -> None:
        """Fail all that is under way to a life that is over."""
        for number in list(peer.under_way):
            self._give_up(peer, number)
        self._busy.pop(peer.address.node, None)

    def _give_up(self, peer: Peer[M], number: int) -> None:
        sent = peer.under_way.pop(number)
        self.counters["given_up"] += 1
        self._notices.append(Undelivered(peer.address, sent.message))

    # ------------------------------------------------------------------ receiving

    def receive(self, datagram: bytes, source: Endpoint, now: float) -> None:
        """Handle a datagram; see `poll_notices` and `poll_datagrams` for the outcome."""
        try:
            self._take(self._frames.read(datagram), source, now)
        except WireError as problem:
            self.drop(problem.reason, source, problem.detail, now)
            if problem.reason == "sealed" and len(datagram) > HEAD.size:  # no refusal itself
                self._outgoing.append((refusal(), source))

    def _take(self, frame: Frame, endpoint: Endpoint, now: float) -> None:
        sender, kind = frame.source, frame.kind
        if frame.to is None:
            self._greeted(frame, endpoint, now)
        elif sender.node == self.me.node or frame.to != self.me:
            self._astray(frame, endpoint, now)
        elif kind == MESSAGE:
            self._message(frame, endpoint, now)
        else:
            self._answer(frame, endpoint, now)

    def _answer(self, frame: Frame, endpoint: Endpoint, now: float) -> None:
        """Handle ACK, GONE, REFUSED, WANTED or CLOSED: of a peer, from where it is."""
        sender, kind = frame.source, frame.kind
        peer = self.peers.by_name.get(sender.node)
        if peer is None or peer.endpoint != endpoint:
            self.drop("stranger", endpoint, f"kind {kind} of {sender}", now)
            return
        if kind == GONE and sender.incarnation > peer.address.incarnation:
            peer = self.peers.latest(sender)
            peer.guest = True
        if peer.address != sender:
            self.counters["stale"] += 1  # of an old life
        elif kind == GONE and frame.number > self.me.incarnation and not peer.guest:
            self._notices.append(Replaced(Address(self.me.node, frame.number)))
        elif kind == CLOSED:
            self._closed(peer, frame.number, now)
        else:
            self.peers.heard(peer, endpoint, now)
            if kind == ACK:
                if not self.door.secret and not peer.guest:
                    self.door.secret = frame.datagram[frame.body :]
                self._acked(peer, frame, now)
            elif kind == REFUSED:
                taken = frame.mask == NAME_TAKEN
                taker = Address(self.me.node, frame.number) if taken else None
                self._notices.append(Refused(sender, endpoint, taker))
            elif kind == WANTED and not peer.guest:
                self.counters["heard_wanted"] += 1
                self._notices.append(Wants(sender))

    def _closed(self, peer: Peer[M], sent: int, now: float) -> None:
        """Handle CLOSED of a peer that had sent so many messages: what is sent to it fails soon.

        An old one, of before the peer came back, is known by what the peer has sent since. If it
        has sent nothing, a failure may be reported wrongly, as after any time-out.
        """
        if peer.guest or peer.highest > sent:
            self.counters["stale"] += 1
        elif self.can_spare(peer.address):
            self.counters["heard_closed"] += 1
            peer.closed = peer.failed = True
            # Not at once: what is on its way now would be taken by a process that is back at once.
            soon = now + self.config.retransmit_after
            for each in peer.under_way.values():
                each.give_up = min(each.give_up, soon)
            if peer.under_way:
                peer.timer.due = soon

    def _greeted(self, frame: Frame, endpoint: Endpoint, now: float) -> None:
        """Handle HELLO or HERE, also of another process with this member's name."""
        sender = frame.source
        if frame.kind == HELLO:
            if self.answers_hello and sender != self.me:
                cookie = self.door.cookie(endpoint)
                here = self._frames.here(self.me, self.epoch, frame.mask, cookie)
                self._outgoing.append((here, endpoint))
            return
        if frame.mask != self.door.question(endpoint):
            self.drop("unasked", endpoint, f"HERE of {sender}", now)
        elif sender != self.me:
            if sender.node != self.me.node:
                known = self.peers.by_name.get(sender.node)
                if known and known.endpoint not in (None, endpoint) and not known.failed:
                    self.drop("stranger", endpoint, f"{sender} is elsewhere", now)
                    return
                peer = self.peers.latest(sender)
                if peer.address == sender:  # otherwise it is of an old life
                    peer.cookie = cookie_of(frame)
                    self.peers.heard(peer, endpoint, now)
            self._notices.append(Found(sender, endpoint, frame.number))

    def _message(self, frame: Frame, endpoint: Endpoint, now: float) -> None:
        sender, number = frame.source, frame.number
        latest = self.peers.by_name.get(sender.node)
        if latest is not None and sender.incarnation < latest.address.incarnation:
            self.counters["old_life"] += 1
            later = self._frames.make(GONE, self.me, sender, latest.address.incarnation)
            self._outgoing.append((later, endpoint))
            return
        known = self.peers.get(sender)
        at_home = known is not None and known.endpoint == endpoint
        member = at_home and known is not None and not known.guest
        member = member or self.door.proves(frame.mask, endpoint)
        if not member and not self._may_ask(frame, endpoint, at_home=at_home):
            self.drop("stranger", endpoint, f"a message of {sender}", now)
            return
        has = False if known is None else known.has(number)
        if has is None:
            # Too old to know whether it is a duplicate: neither take nor acknowledge it.
            self.counters["beyond_window"] += 1
            return
        if has:
            self.counters["duplicate"] += 1
        elif self.closed:
            self.counters["closed"] += 1
            return
        else:
            # Nothing is remembered of the sender of an unreadable message.
            body = self._decode(sender, self.me, frame.datagram, frame.body)
            # A process that asks anew may have the secret: it is a guest all the same.
            member = member and (at_home or not self._is_request(body))
            if not member and not self._asked(frame, body, endpoint, now, at_home=at_home):
                return
            peer = self.peers.latest(sender)
            peer.guest = not member
            peer.take(number)
            self.peers.changed = True
            self.counters["received"] += 1
            self._notices.append(Arrived(sender, body, not member))
        peer = self.peers.latest(sender)
        if has and not member and not at_home:
            return  # it repeats what another process has sent
        self.peers.heard(peer, endpoint, now)
        # A guest may be put on a list and asked for its promise before it has had a token.
        secret = self.door.secret if peer.guest and self.has_room else b""
        ack = self._frames.make(ACK, self.me, sender, peer.highest, peer.mask, secret)
        self._transmit(ack, peer)

    def _may_ask(self, frame: Frame, endpoint: Endpoint, *, at_home: bool) -> bool:
        """Whether a datagram of no member may be a request to join."""
        if len(frame.datagram) > MAX_REQUEST:
            return False
        return at_home or frame.mask == self.door.cookie(endpoint)

    def _asked(
        self, frame: Frame, body: B, endpoint: Endpoint, now: float, *, at_home: bool
    ) -> bool:
        """Return whether a message of no member is a request to join, and taken."""
        sender = frame.source
        if not self._is_request(body):
            self.drop("stranger", endpoint, f"a message of {sender}", now)
            return False
        refusal = None if at_home else self._guests.refusal(sender, endpoint, now)
        if refusal is None:
            return True
        self.drop(refusal.reason, endpoint, refusal.detail, now)
        if refusal.ask is not None:
            self.hello(refusal.ask)
        if refusal.answer:
            holder = self.peers.by_name.get(sender.node)
            number = holder.address.incarnation if holder and refusal.answer == NAME_TAKEN else 0
            answer = self._frames.make(REFUSED, self.me, sender, number, refusal.answer)
            self._outgoing.append((answer, endpoint))
        return False

    def _acked(self, peer: Peer[M], frame: Frame, now: float) -> None:
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
            self.drop("not_for_me", endpoint, f"from {frame.source} to {to}", now)

    def drop(self, reason: str, source: Endpoint, detail: str, now: float) -> None:
        """Count a dropped datagram or message, and report its sender."""
        self.counters[reason] += 1
        times = self._pace.count(reason, now)
        if times:
            self._dropped.append(Dropped(reason, source, detail, times))

    # ------------------------------------------------------------------ time and results

    def deadline(self) -> float:
        """Return when `tick` is to be called, or NEVER."""
        told = self._ended_before[0][0] if self._ended_before else NEVER
        return min([told, *(peer.timer.due for peer in self._busy.values())])

    def tick(self, now: float) -> None:
        """Retransmit or give up what is due; no effect if nothing is."""
        while self._ended_before and self._ended_before[0][0] <= now:
            self._notices.append(self._ended_before.popleft()[1])
        for node, peer in list(self._busy.items()):
            if peer.timer.due > now:
                continue
            for number, sent in list(peer.under_way.items()):
                if now >= sent.give_up and (peer.closed or sent.tries >= _TRIES):
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

    def under_way(self) -> list[tuple[Address, M]]:
        """Return the unacknowledged messages."""
        return [
            *((notice.to, notice.message) for _, notice in self._ended_before),
            *(
                (peer.address, sent.message)
                for peer in self._busy.values()
                for sent in peer.under_way.values()
            ),
        ]

    def poll_notices(self) -> list[Notice[M, B]]:
        """Return the notices, once."""
        notices, self._notices = self._notices, []
        return notices

    def poll_datagrams(self) -> list[tuple[bytes, Endpoint]]:
        """Return the datagrams to be sent, once."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def poll_dropped(self) -> list[Dropped]:
        """Return the reports of dropped datagrams, once."""
        dropped, self._dropped = self._dropped, []
        return dropped
