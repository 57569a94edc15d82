"""One member of a ring, without sockets and clocks: core, Transport Manager, timers, multicasts.

A shell (`ring_driver.py`, or the simulator) hands in datagrams, the time, and what the application
wants; after each input it asks, in this order, what is to be written down (`kept_state`), sent
(`poll_datagrams`) and told (`poll_reports`), and when the next timer is due (`deadline`). What is
written down before anything is sent lets the same life come back later.

    node = RingNode(me, config, founders=[(me, here), (other, there)])
    node.start(now)

A token with nothing to do rests `eating` seconds; one with mail, or of a view that is not settled,
goes on at once. While the application has the lock it stays.
"""

from __future__ import annotations

import zlib
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from random import Random

from . import raincore_events as ev
from .errors import NotEnabled, NotMember
from .messages import Address, Endpoint
from .protocol import NEVER
from .raincore import Raincore, Repairs
from .raincore_events import Call911, Epoch, Event, Message, Nodelist, Token, arrival, failure
from .raincore_wire import Body, Named, RaincoreCodec
from .reports import Left
from .ring_config import HEADROOM, RingConfig
from .ring_kept import Keeper
from .ring_mailbox import Mailbox
from .ring_reports import Committed, Delivered, NameTaken, PassedOn, RingReport, StateChanged
from .ring_waits import waits_of
from .transport_manager import TransportManager
from .transport_peers import Acknowledged, Arrived, Found, Replaced, Undelivered

_FULL = HEADROOM // 2  # bytes of a token without its mail; who would make it longer has to wait
_DOUBLED = 3  # times that the starving timer doubles


class RingNode:
    """One life of one member."""

    def __init__(
        self,
        me: Address,
        config: RingConfig,
        *,
        founders: Sequence[tuple[Address, Endpoint]] = (),
        contacts: Sequence[Endpoint] = (),
        state: bytes | None = None,
        endpoint: Endpoint | None = None,
        seed: int | None = None,
        repairs: Repairs | None = None,
    ) -> None:
        """It comes back with `state`, or founds the ring with `founders`, or asks `contacts`.

        Raises ConfigError for a state that cannot be used.
        """
        self.address = me
        self.config = config
        self.contacts = tuple(contacts)
        self.found: dict[Address, None] = {}
        """Members that have answered a joiner."""
        self.counters: Counter[str] = Counter()
        self.core = Raincore(me, repairs=repairs)
        self._here = endpoint
        codec = self._codec = RaincoreCodec(self._place, lambda: self.manager.peers.places)
        self._mailbox = Mailbox(me, config)
        self._keeper = Keeper(me, codec)
        kept = None if state is None else self._keeper.restore(state, self.core, self._mailbox)
        self.manager: TransportManager[Message, Body]
        self.manager = TransportManager(me, config, codec.decode, kept)
        self.manager.counters = self.counters
        self._founders = tuple([address for address, _ in founders])
        for address, place in founders:
            self.manager.learn(address, place)
            if address == me:
                self._here = place
        self._random = Random(zlib.crc32(str(me).encode()) if seed is None else seed)
        self._looped: deque[Message] = deque()
        self._reports: list[RingReport] = []
        self._roster: tuple[Named, ...] = ()  # the one learned last
        self._timer = ""  # which one runs
        self._due = NEVER
        self._hello_due = NEVER
        self._starved = 0  # 911s since the token was here
        self._has_token = False
        self._told = ("chaos", True)  # view state, and whether it starves
        self._view = max(
            (at for at, view in enumerate(self.core.global_view, 1) if view), default=0
        )
        self._wants = self._holds = self._leaves = self._stopped = False
        self._kept = False  # the token stays for the application
        self._lost = False  # ... but the ring has gone on with another one
        self._changed = True

    # ------------------------------------------------------------------ inputs

    def start(self, now: float) -> None:
        """Found the ring, look for it, or come back to it."""
        if self.core.up == "down":
            self._handle(ev.Recover(), now)
        elif self._founders:
            self._handle(ev.Initialise("founder", self._founders, ()), now)
        else:
            self._look_for_members(now)
        self._settle(now)

    def receive(self, datagrams: Iterable[tuple[bytes, Endpoint]], now: float) -> None:
        """Datagrams have arrived."""
        receive = self.manager.receive
        for data, source in datagrams:
            receive(data, source, now)
        self._settle(now)

    def handle_timer(self, now: float) -> None:
        """Do what is due; harmless when nothing is."""
        if self._hello_due <= now:
            if self.core.up == "new":
                self._look_for_members(now)
            else:
                self._ask_for_news(now)
        if self.manager.deadline() <= now:
            self.manager.tick(now)
        self._settle(now)

    def multicast(self, payload: bytes, now: float) -> None:
        """Send a message to all members, with the next token.

        Raises TooLargeForToken, WouldBlock, or NotMember once it leaves.
        """
        if self._leaves or self._stopped:
            raise NotMember(f"{self.address} leaves the ring, or has left it")
        self._mailbox.put(payload)
        self._hurry(now)

    def want_token(self, now: float) -> None:
        """Keep the token as soon as it may be locked, until `release`; see `granted`."""
        self._wants = True
        self._settle(now)

    def hold(self, now: float) -> None:
        """Keep the token when it is here next, locked or not, until `release`."""
        self._holds = True
        self._settle(now)

    def release(self, now: float) -> None:
        """End `want_token` and `hold`: a token that is here goes on at once."""
        self._wants = self._holds = False
        self._hurry(now)
        self._settle(now)

    def leave(self, now: float) -> None:
        """Leave the ring, once all that was multicast is on the token; `Left` tells when."""
        if not self._leaves and self.core.up == "up":
            self._leaves = True
            self._wants = self._holds = False
            self._hurry(now)
        elif self.core.up == "new":
            self._stop("")
        self._settle(now)

    # ------------------------------------------------------------------ what comes of them

    def kept_state(self) -> bytes | None:
        """Return what is to be written down before anything is sent; None: nothing new."""
        if self.core.up == "new" or not (self._changed or self.manager.changed):
            return None
        self._changed = self.manager.changed = False
        return self._keeper.state(self.core, self._mailbox, self.manager.kept())

    def poll_datagrams(self) -> list[tuple[bytes, Endpoint]]:
        """Return what is to be sent, once."""
        return self.manager.poll_datagrams()

    def poll_reports(self) -> list[RingReport]:
        """Return what the application is to be told, once."""
        self._reports += self.manager.poll_dropped()
        reports, self._reports = self._reports, []
        return reports

    def deadline(self) -> float | None:
        """When `handle_timer` wants to be called; None: never."""
        due = min(self.manager.deadline(), self._hello_due)
        if not self._kept_here():
            due = min(due, self._due)
        return None if due == NEVER else due

    # ------------------------------------------------------------------ what the member is

    @property
    def granted(self) -> tuple[Epoch, int] | None:
        """The number of the token that is locked for the application; None: it is not."""
        core = self.core
        locked = self._wants and core.locked and not self._lost
        return core.last_token.number if locked else None

    @property
    def writable(self) -> bool:
        """Whether `multicast` takes a message."""
        return self._mailbox.writable

    @property
    def pending(self) -> int:
        """How many messages wait for the token."""
        return self._mailbox.waiting

    @property
    def max_message(self) -> int:
        """The most bytes of one message."""
        return self.config.max_message

    @property
    def history(self) -> tuple[Nodelist, ...]:
        """The views by their index, from 1; the empty one is NULL."""
        return self.core.global_view

    @property
    def view_state(self) -> str:
        """ "agreement", "chaos" or "reserve"."""
        return self.core.view_state

    @property
    def token_state(self) -> str:
        """ "eating", "hungry" or "starving"."""
        return self.core.token_state

    def missing(self, now: float) -> dict[str, str]:
        """Whom this member waits for, each with what it waits for."""
        return waits_of(self, now)

    @property
    def leaving(self) -> bool:
        """Whether it wants to leave."""
        return self._leaves

    # ------------------------------------------------------------------ inside

    def _settle(self, now: float) -> None:
        """Handle all that has happened, and what is due; a token at most once."""
        self._drain(now)
        if self._due <= now and not self._kept_here():
            self._fire(now)
            self._drain(now)
        core = self.core
        if self._kept_here() != self._kept:
            self._kept = not self._kept
            self._hello_due = now + self.config.give_up if self._kept else NEVER
        state = (core.view_state, core.token_state == "starving")
        if state != self._told:
            self._told = state
            self._reports.append(StateChanged(core.view_state, core.token_state))

    def _drain(self, now: float) -> None:
        while True:
            notices = self.manager.poll_notices()
            for notice in notices:
                if isinstance(notice, Arrived):
                    self._arrived(notice.body, now)
                elif isinstance(notice, Acknowledged):
                    self._acknowledged(notice.message, now)
                elif isinstance(notice, Undelivered):
                    self._handle(failure(notice.message), now)
                elif isinstance(notice, Replaced):
                    self._replaced(notice)
                else:
                    self._found(notice, now)
            while self._looped:
                self._handle(arrival(self._looped.popleft()), now)
            if not notices:
                return

    def _arrived(self, body: Body, now: float) -> None:
        message = body.message
        if body.roster is not self._roster:
            self._roster = body.roster
            for node, incarnation, host, port in body.roster:
                if port:
                    self.manager.learn(Address(node, incarnation), (host, port))
        if isinstance(message, Token):
            if body.letters:
                self._mailbox.take(body.letters)
            self._handle(arrival(message), now)
            if self.core.last_token.number == message.number:
                self._mailbox.reserve = body.reserve
            self._mailbox.keep(self.core.last_token.mail)
        elif self._lets_in(message):
            self._handle(arrival(message), now)

    def _lets_in(self, call: Call911) -> bool:
        """Whether a 911 is of a member, or of somebody for whom there is room."""
        core = self.core
        if call.orig in core.last_token.nodelist or call.orig in core.new_nodes:
            return True
        if call.number > core.last_token.number and self.address in call.nodelist:
            return True
        members = len(core.last_token.nodelist) + len(core.new_nodes)
        if members < self.config.max_members and self._codec.token_size <= _FULL:
            return True
        self.counters["ring_full"] += 1
        return False

    def _acknowledged(self, message: Message, now: float) -> None:
        core = self.core
        if (
            core.leaving
            and core.token_state == "hungry"
            and isinstance(message, Token)
            and message.number == core.last_token.number
            and self.address not in core.last_token.nodelist
        ):
            self._handle(ev.TokenDelivered(), now)

    def _handle(self, event: Event, now: float) -> None:
        """Give the core an event, and carry out the effects."""
        core = self.core
        if self._stopped:
            return
        try:
            effects = core.handle(event)
        except NotEnabled as refusal:
            self.counters[f"not_enabled: {refusal.action}"] += 1
            return
        self._changed = True
        for effect in effects:
            match effect:
                case Token() | Call911():
                    self._send(effect, now)
                case ev.Timer(kind):
                    self._start(kind, now)
                case ev.Eats():
                    self._passed_on()
                    self._has_token = True
                    self._lost = False
                    self._starved = 0
                    self._reports.append(effect)
                case ev.Deliver(origin, k):
                    letter = self._mailbox.letters[origin, k]
                    self._reports.append(
                        Delivered(origin, k, letter.first, self._view, letter.payloads)
                    )
                case ev.Committed(at, nodelist):
                    self._view = max(self._view, at)
                    self._reports.append(Committed(at, nodelist))
        if core.token_state != "eating":
            self._passed_on()
        self.manager.epoch = core.last_token.epoch.n
        self.manager.answers_hello = core.up == "up" and self.address in core.last_token.nodelist
        if core.up == "left":
            self._stop("")

    def _passed_on(self) -> None:
        if self._has_token:
            self._has_token = False
            self._reports.append(PassedOn())

    def _send(self, message: Message, now: float) -> None:
        to = message.to
        if to == self.address:
            self._looped.append(message)
            return
        if isinstance(message, Token):
            self._starved = 0
        body = self._codec.encode(message, self._mailbox.letters, self._mailbox.reserve)
        self.manager.send(to, message, body, now)

    def _place(self, member: Address) -> Endpoint | None:
        return self._here if member == self.address else self.manager.endpoint_of(member)

    # ------------------------------------------------------------------ time

    def _start(self, kind: str, now: float) -> None:
        config = self.config
        self._timer = kind
        if kind == "eating":
            pause = config.eating if self._rests() else 0.0
        elif kind == "hungry":
            pause = config.hungry + (len(self.core.last_token.nodelist) - 1) * config.eating
        else:
            pause = config.starving * 2 ** min(self._starved, _DOUBLED)
            pause *= 1 + self._random.random() / 2
            self._starved += 1
        self._due = now + pause

    def _rests(self) -> bool:
        """Whether the token has nothing to do here, and nothing to carry on.

        Joining and leaving wait for the rest: without a majority they would wait in a busy loop.
        """
        token = self.core.last_token
        if self._mailbox.waiting:
            return False
        if len(token.nodelist) == 1:
            return True
        return not token.mail and self.core.view_state == "agreement"

    def _hurry(self, now: float) -> None:
        """A token that rests here has something to do now."""
        if self._timer == "eating":
            self._due = min(self._due, now)

    def _kept_here(self) -> bool:
        """Whether the token stays until the application lets it go."""
        core = self.core
        wanted = self._holds or (self._wants and core.locked)
        return wanted and core.token_state == "eating" and not self._lost

    def _fire(self, now: float) -> None:
        """The core's timer is due."""
        core = self.core
        self._due = NEVER
        if self._timer == "eating":
            if self._mailbox.pack(core.said + core.outbox + 1, core.last_token.nodelist):
                self._handle(ev.Multicast(), now)
            elif self._leaves and not core.leaving and not self._mailbox.waiting:
                self._handle(ev.Leave(), now)
            self._handle(ev.EatingTimeout(), now)
            self._mailbox.keep(core.last_token.mail)
        elif self._timer == "hungry":
            self._handle(ev.HungryTimeout(), now)
        else:
            if self.contacts and not core.last_token.nodelist:
                self._say_hello()
            self._handle(ev.StarvingTimeout(), now)

    # ------------------------------------------------------------------ joining

    def _look_for_members(self, now: float) -> None:
        """Ask those who may be members, until some have answered; then ask them to let it in."""
        if self.found:
            self._hello_due = NEVER
            self._handle(ev.Initialise("joiner", (), tuple(self.found)), now)
        else:
            self._hello_due = now + self.config.hello
            self._say_hello()

    def _ask_for_news(self, now: float) -> None:
        """While the token is kept here nothing is sent: do the others have another one?"""
        self._hello_due = now + self.config.give_up
        for member in self.core.last_token.nodelist:
            place = self.manager.endpoint_of(member)
            if place is not None and member != self.address:
                self.manager.hello(place)

    def _replaced(self, notice: Replaced) -> None:
        """Two processes with one name: the later one has it."""
        if self.core.up == "up":
            self._stop(f"another process has taken its name, as {notice.by}")

    def _stop(self, reason: str) -> None:
        self._stopped = True
        self._due = self._hello_due = NEVER
        self.manager.closed = True
        self.manager.answers_hello = False
        self._reports.append(Left(reason))

    def _say_hello(self) -> None:
        for endpoint in self.contacts:
            self.manager.hello(endpoint)

    def _found(self, found: Found, now: float) -> None:
        member = found.member
        if member.node == self.address.node:
            self._reports.append(NameTaken(member, found.endpoint))
            return
        core = self.core
        if self._kept and found.epoch > core.last_token.epoch.n:
            self._lost = True
            self._hurry(now)
            self.counters["token_lost"] += 1
            return
        if core.up == "new":
            self.found[member] = None
            if len(self.found) == len(self.contacts):
                self._look_for_members(now)
        elif not core.last_token.nodelist and all(map(self.manager.has_failed, core.contacts)):
            # All who had answered have gone. No event of the core's: it does not look for members.
            core.contacts = (member,)
