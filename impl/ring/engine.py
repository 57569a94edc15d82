"""A driver for a core: its messages go to the Transport Manager and come from it, its timers run,
its multicasts find their payloads, and what happens is reported. See `node.py`.
"""

from __future__ import annotations

import zlib
from collections import Counter, deque
from collections.abc import Callable, Sequence
from random import Random

from raincheck.impl.errors import ConfigError, NotEnabled, WireError
from raincheck.impl.locks.events import Post
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.raincore import events as ev
from raincheck.impl.raincore.core import Raincore, Repairs
from raincheck.impl.raincore.events import Call911, Effect, Event, Message, Nodelist, Token, arrival
from raincheck.impl.stack.reports import Left
from raincheck.impl.stack.timers import NEVER

from .bodies import Body, Named, asks_to_join
from .bounds import beyond
from .config import HEADROOM, RingConfig
from .door import Admit, Door
from .kept import Keeper
from .lock_desk import LockDesk
from .mailbox import Mailbox
from .posts import read_post
from .reports import Committed, Delivered, LockGranted, PassedOn, RingReport
from .transport_manager import TransportManager
from .wants import Told
from .wire import RaincoreCodec

_FULL = HEADROOM // 2  # bytes of a token without its mail; joiners wait for room
_STALL = 0.02  # the longest rest of a token where somebody joins or leaves
_BRIEF = 0.001  # the rest of a token that has brought a named lock, which may be given back at once
_GAP = 0.75  # of give_up: a member that stood still for longer may have been given up
_DOUBLED = 3  # times that the starving timer doubles


class RingEngine:
    """The core of one life of one member, with its codec, mailbox and timers."""

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
        admit: Admit | None = None,
    ) -> None:
        """Come back with `state`, found the ring with `founders`, or ask `contacts`.

        `admit` decides which processes may join by this member.
        Raises ConfigError for a state that cannot be used.
        """
        if len(founders) > config.max_members:
            raise ConfigError(
                f"{len(founders)} founders are more than max_members ({config.max_members}); "
                f"raise max_members, or found the ring with fewer and let the others join"
            )
        self.address = me
        self.config = config
        self.contacts = tuple(contacts)
        self.named: Callable[[], Sequence[Endpoint]] | None = None
        """Returns the contacts at the addresses of this moment, if some of them are named."""
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
        self.manager = TransportManager(
            me,
            config,
            codec.decode,
            kept,
            door=Door(endpoint, seed),
            is_request=asks_to_join,
            admit=admit,
        )
        self.manager.peers.only(self._known())
        self.manager.door.secret = codec.secret
        self.manager.counters = self.counters
        self.manager.can_spare = self._can_spare
        self._founders = tuple([address for address, _ in founders])
        self.locks = self._open_desk(founds=bool(founders) and state is None)
        self._posts: list[Post] = []  # on the token that is taken
        self._brings = False  # the token that is here has brought a named lock
        for address, place in founders:
            if address == me:
                self._here = place
            else:
                self.manager.peers.learn(address, place)
        self.manager.door.here = self._here
        self._random = Random(zlib.crc32(str(me).encode()) if seed is None else seed)
        self._looped: deque[Message] = deque()
        self._reports: list[RingReport] = []
        self._roster: tuple[Named, ...] = ()  # the last one learnt
        self._nodelist: Nodelist = ()  # the last one of which no member is a guest
        self._timer = ""  # the running timer
        self._due = NEVER
        self._hello_due = NEVER
        self._starved = 0  # 911s sent since the token was here
        self._has_token = False
        self._reported = ("chaos", True)  # view state, and whether it is starving
        self._view = max(
            (at for at, view in enumerate(self.core.global_view, 1) if view), default=0
        )
        self._seen = NEVER  # when the last input came
        self._taken = self._doubts = False  # the lock has been taken; ... and there was a gap since
        self._wants = self._holds = self._leaves = self._closes = self._stopped = False
        self._kept = False  # the token is kept for the application
        self._lost = False  # ... but the ring has regenerated it
        self._committed = False  # with the last event: the next member may not have committed yet
        self._told = Told(me)
        self._on_token: Nodelist = ()  # who wants the token that is sent
        self._changed = True

    def _open_desk(self, *, founds: bool) -> LockDesk:
        """Return the desk of named locks of this process, which is another session than before."""
        copy = self.core.last_token
        return LockDesk(
            self.address,
            self.config,
            self.counters,
            session=self._keeper.session + 1,
            epoch=copy.epoch if founds or copy.nodelist else None,
            founds=founds,
        )

    def _known(self) -> set[Address]:
        """Return the members on any list of the last token, and those that were asked."""
        token = self.core.last_token
        lists = (token.nodelist, token.settled.nodelist, token.before.nodelist, *token.pending)
        known = {member for each in lists for member in each}
        return known.union(self.core.contacts, (member for member, _ in token.acks))

    def _arrived(self, body: Body, now: float, *, guest: bool) -> None:
        message = body.message
        if message.current not in message.nodelist and self._foreign(message):
            self._drop("foreign", message, type(message).__name__, now)
            return
        if far := beyond(message, self.core):
            self._drop("out_of_bounds", message, far, now)
            return
        if body.roster is not self._roster and not guest:
            self._roster = body.roster
            for node, incarnation, host, port in body.roster:
                if port and node != self.address.node:
                    self.manager.peers.learn(Address(node, incarnation), (host, port))
        if isinstance(message, Token):
            if body.letters:
                self._mailbox.take(body.letters)
            before, self._mailbox.reserve = self._mailbox.reserve, body.reserve
            self._take(message, now)
            if self.core.last_token.number != message.number:
                self._mailbox.reserve = before
            else:
                if body.secret:
                    self.manager.door.secret = self._codec.secret = body.secret
                if body.wants:
                    self._hear_wants(body.wants, now)
            self._mailbox.keep(self.core.last_token.mail)
        elif self._lets_in(message):
            waiting = self.core.new_nodes
            self._take(message, now)
            if self.core.new_nodes is not waiting:
                self._told.calls = True
                if self._timer == "eating":
                    self._due = min(self._due, now + _STALL)

    def _hear_wants(self, members: Sequence[Address], now: float) -> None:
        """Let the core know that other members want the token."""
        core = self.core
        nodelist, heard = core.last_token.nodelist, core.awaited
        if core.up != "up" or self._stopped:
            return
        for member in members:
            if member != core.me and member not in heard and member in nodelist:
                core.handle(ev.Wanted(member))  # it has no effects
        if core.awaited and not self._brings:
            self._hurry(now)

    def _tell_wants(self) -> None:
        """Tell the others that the token is wanted here, if they do not know."""
        core, told = self.core, self._told
        if core.token_state != "hungry" or not (told.calls or self._needs_token()):
            return
        nodelist = core.last_token.nodelist
        if core.me in nodelist:
            for member in told.to_tell(nodelist):
                self.manager.want(member)

    def _needs_token(self) -> bool:
        """Whether the application wants the token."""
        return self._wants or self._mailbox.waiting > 0 or self.locks.pending

    def _take(self, message: Message, now: float) -> None:
        """Give the core what has arrived; a guard that it makes false is no defect here."""
        if self._stopped:
            return
        try:
            effects = self.core.handle(arrival(message))
        except NotEnabled as refusal:
            self._drop("refused", message, str(refusal), now)
        else:
            self._carry_out(effects, now)

    def _drop(self, reason: str, message: Message, detail: str, now: float) -> None:
        """Count a message that is not taken, and report who sent it."""
        sender = message.current
        place = self.manager.peers.endpoint_of(sender) or ("", 0)
        self.manager.drop(reason, place, f"{detail} of {sender}", now)

    def _foreign(self, message: Message) -> bool:
        """Whether the sender is neither in the ring nor a joiner."""
        who, core = message.current, self.core
        if who in core.last_token.nodelist:
            return False
        if isinstance(message, Call911):
            return who != message.orig and who not in core.contacts
        lists = (
            message.settled.nodelist,
            *message.pending,
        )  # a leaver is not on its last token's list
        return not any(who in each for each in lists)

    def _lets_in(self, call: Call911) -> bool:
        """Whether a 911 is from a member, or from a joiner for whom there is room."""
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
        if self._stopped:
            return
        try:
            effects = self.core.handle(event)
        except NotEnabled as refusal:
            self.counters[f"not_enabled: {refusal.action}"] += 1
            return
        self._carry_out(effects, now)

    def _carry_out(self, effects: list[Effect], now: float) -> None:
        core = self.core
        self._changed = True
        self._committed = False
        for effect in effects:
            match effect:
                case Token() | Call911():
                    self._send(effect, now)
                case ev.Timer(kind):
                    self._start(kind, now)
                case ev.Eats():
                    self._passed_on()
                    self._told.arrived()
                    self._taken = self._doubts = False
                    self._has_token = True
                    self._lost = False
                    self._starved = 0
                    self._reports.append(effect)
                    self.locks.arrive(effect.epoch, self._posts)
                    told = self.locks.poll_reports()
                    self._brings = any(isinstance(each, LockGranted) for each in told)
                    self._reports += told
                    self._posts.clear()
                case ev.Deliver(origin, k):
                    self._deliver(origin, k)
                case ev.Committed(at, nodelist):
                    self._view = max(self._view, at)
                    self._committed = True
                    self._reports.append(Committed(at, nodelist))
        if core.last_token.nodelist is not self._nodelist:
            self._nodelist = core.last_token.nodelist
            self.manager.peers.admit(self._nodelist)
        if core.token_state != "eating":
            self._passed_on()
        members = len(core.last_token.nodelist) + len(core.new_nodes)
        self.manager.has_room = members < self.config.max_members
        self.manager.epoch = core.last_token.epoch.n
        self.manager.answers_hello = core.up == "up" and self.address in core.last_token.nodelist
        if core.up == "left":
            self._stop("")

    def _deliver(self, origin: Address, k: int) -> None:
        letter = self._mailbox.letters[origin, k]
        if not letter.post:
            self._reports.append(Delivered(origin, k, letter.first, self._view, letter.payloads))
        elif origin != self.address:  # it knows what it has posted
            try:
                self._posts.append(read_post(origin, letter.payloads.unpack()[0]))
            except WireError as problem:
                self.counters[problem.reason] += 1

    def _post(self, now: float) -> None:
        """Let the locks say what they have to, as the first batch of this visit."""
        core, desk = self.core, self.locks
        if desk.quiet or core.leaving:  # the others take back what a leaver held
            return
        token = core.last_token
        members = frozenset(token.nodelist).union(core.new_nodes)
        self._told.used |= desk.pending
        place, room = token.top + core.outbox + 1, self._mailbox.room
        said = desk.depart(place, members, core.last_ordinal, room)
        self._reports += desk.poll_reports()
        if said is not None:
            self._mailbox.post(core.said + core.outbox + 1, said)
            self._handle(ev.Multicast(), now)

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
            self.manager.door.make_secret()
            self._codec.secret = self.manager.door.secret
        mailbox = self._mailbox
        body = self._codec.encode(message, mailbox.letters, mailbox.reserve, self._on_token)
        try:
            self.manager.send(to, message, body, now)
        except ValueError as problem:  # more members died unsettled than admission allows for
            self._stop(f"its token cannot be sent any more: {problem}")

    def _place(self, member: Address) -> Endpoint | None:
        return self._here if member == self.address else self.manager.peers.endpoint_of(member)

    # ------------------------------------------------------------------ time

    def _start(self, kind: str, now: float) -> None:
        config = self.config
        self._timer = kind
        if kind == "eating":
            pause = config.eating if self._rests() else 0.0
            if self._brings and self.core.view_state == "agreement":
                pause = max(pause, min(_BRIEF, config.eating))
            if self.core.new_nodes or self._leaves:
                pause = min(pause, _STALL)
        elif kind == "hungry":
            pause = config.hungry + (len(self.core.last_token.nodelist) - 1) * config.eating
        else:
            pause = config.starving * 2 ** min(self._starved, _DOUBLED)
            pause *= 1 + self._random.random() / 2
            self._starved += 1
        self._due = now + pause

    def _rests(self) -> bool:
        """Whether the token has nothing to do here, and nothing to carry.

        Joining and leaving wait for the rest: without a majority they would wait in a busy loop.
        """
        token = self.core.last_token
        if len(token.nodelist) == 1 and self._mailbox.reserve.size:
            return True  # what is to be said does not fit, and nobody takes mail off the token
        waits = self._mailbox.waiting or self.locks.pending
        if waits or self._closes or self.core.awaited:
            return False
        if len(token.nodelist) == 1:
            return True
        more = self._mailbox.reserve.member in token.nodelist
        settled = self.core.view_state == "agreement" and not self._committed
        return settled and not token.mail and not more

    def _hurry(self, now: float) -> None:
        """Let a token that rests here go on: it has something to do now."""
        if self._timer == "eating":
            self._due = min(self._due, now)

    def late(self, now: float) -> bool:
        """Whether this member has stood still for so long that the others may have given it up."""
        return now - self._seen > _GAP * self.config.give_up

    def _minds_gap(self, now: float) -> bool:
        """Notice a gap; what was granted before it stays, and nothing else is."""
        late, self._seen = self.late(now), now
        core = self.core
        if not late or core.up != "up" or self._stopped:
            return late
        self.counters["gaps"] += 1
        if self._taken:
            self._doubts = True
            self._ask_for_news(now)
        elif core.last_token.nodelist != (core.me,) or core.view_state != "agreement":
            self._handle(ev.Gap(), now)
            self._hurry(now)
        return late

    def _ask_for_news(self, now: float) -> None:
        """While the token is kept here, ask the others whether they have a newer one."""
        self._hello_due = now + self.config.give_up
        for member in self.core.last_token.nodelist:
            place = self.manager.peers.endpoint_of(member)
            if place is not None and member != self.address:
                self.manager.hello(place)

    def _kept_here(self) -> bool:
        """Whether the token stays until the application releases it."""
        core = self.core
        wanted = self._holds or (self._wants and core.locked)
        return wanted and core.token_state == "eating" and not self._lost

    def _fire(self, now: float) -> None:
        """Handle the core's timer."""
        core = self.core
        self._due = NEVER
        if self._timer == "eating":
            self._brings = False
            self._post(now)
            kept = self.locks.reserve
            if self._mailbox.pack(core.said + core.outbox + 1, core.last_token.nodelist, kept):
                self._told.used = True
                self._handle(ev.Multicast(), now)
            elif self._leaves and not core.leaving and not self._mailbox.waiting:
                self._handle(ev.Leave(), now)
            self._on_token = self._told.on_token(
                core.awaited, core.last_token.nodelist, wants=self._needs_token()
            )
            self._handle(ev.EatingTimeout(), now)
            self._on_token = ()
            self._mailbox.keep(core.last_token.mail)
        elif self._timer == "hungry":
            self._handle(ev.HungryTimeout(), now)
        else:
            if not core.last_token.nodelist:
                self._say_hello()
            self._handle(ev.StarvingTimeout(), now)

    def _failed(self, member: Address) -> bool:
        return self.manager.peers.has_failed(member)

    def _can_spare(self, member: Address) -> bool:
        """Whether those on the list that are there are a majority without this member."""
        nodelist = self.core.last_token.nodelist
        there = [each for each in nodelist if each != member and not self._failed(each)]
        return 2 * len(there) > len(nodelist)

    def _say_hello(self) -> None:
        if self.named is not None:
            self.contacts = tuple(self.named())
        known = map(self.manager.peers.endpoint_of, self.core.contacts)
        for endpoint in dict.fromkeys((*self.contacts, *known)):
            if endpoint is not None:
                self.manager.hello(endpoint)

    def _stop(self, reason: str) -> None:
        self._stopped = True
        self._due = self._hello_due = NEVER
        self.manager.close()
        self._reports.append(Left(reason))
