"""TOTAL in the stack, in SEQUENCER's place: requests go by UNICAST, broadcasts by NAKACK.

One message of TOTAL is a bundle of the application's messages, which have numbers of their own.

What the layers below do already is not done twice. UNICAST loses no request, and NAKACK no
broadcast, so nobody asks for one, repeats one or tells the last id. A broadcast that a member got
otherwise than in its sequencer's stream would not be in the digests that FLUSH compares, and those
that survive the sequencer would not be given it. A request of a view that this member is about to
install waits in UNICAST's window: nothing is pulled while the latch is closed.

A new sequencer gives ids to all that it has not delivered itself as it installs its view. Its core
has that view once all of that can be multicast: FLUSH's latch is open and NAKACK's windows have
room. So whatever it has delivered is under way; a view change that comes before finds it undone.

What the sequencer keeps, and nobody asks for, is bounded: members acknowledge after an eighth of
`retain_window`, and no later than STABLE has a digest; beyond the window nothing is sequenced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from raincheck.impl.messages import Address, Digest, Payloads, Run, View
from raincheck.impl.sequencer.events import Data, JoinRsp, Leave, SendJoinRsp
from raincheck.impl.sequencer.events import Deliver as Delivered
from raincheck.impl.total.core import Total
from raincheck.impl.total.events import (
    Acknowledge,
    Bcast,
    CumSeqAck,
    Deliver,
    Effect,
    Forget,
    InstallView,
    Message,
    ReceiveBcast,
    ReceiveCumSeqAck,
    ReceiveRequest,
    Request,
    Send,
)
from raincheck.impl.wire.datagrams import HEADROOM
from raincheck.impl.wire.headers import (
    CONTROL,
    FORWARDS,
    Body,
    CumSeqAckBody,
    DataHeader,
    RequestBody,
)

from .layer import Ground
from .order_layer import OrderLayer
from .passing import Bundle, Found, Install, Joined, Mail
from .timers import NEVER


class Bunch(NamedTuple):
    """The content of a message of TOTAL: messages of its sender from number `first` on."""

    first: int
    payloads: Payloads


class TotalLayer(OrderLayer):
    """TOTAL as a layer."""

    name = "total"
    core: Total

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        config = self.config
        self.core = Total(ground.me, repairs=ground.repairs.total)
        self._said = 0  # messages of the application that TOTAL was given
        self._under_way = 0  # of them, those that are not delivered here
        self._bytes = 0  # of these
        self._placed: View | None = None  # installed, and the core does not have it yet
        self._next: dict[Address, tuple[int, int]] = {}  # of each sender in this view
        self._kept = 0  # bytes of the core's history
        self._acked, self._unacked, self._due = 0, 0, NEVER  # id; bytes since; when at the latest
        self._every = max(1, config.retain_window // 8)
        self._most = min(
            config.unicast_window,
            config.multicast_window,
            config.retain_window,
            config.multicast_window_bytes // config.max_bundle,
            config.retain_bytes // config.max_bundle,
        )  # bundles of this member that are under way: a new sequencer multicasts them at once

    # ------------------------------------------------------------------ views

    def up(self, event: Any, now: float) -> None:
        """Handle views and acknowledgements."""
        match event:
            case Mail(source, CumSeqAckBody() as body):
                self._receive_ack(source, body)
                return
            case Install(placed) if self._refused and self._refused[0] in placed.view.members:
                self._join_again(self._refused[0])
                return  # it is not in this view as the others are
            case Install() | Found() | Joined():
                view = (event.rsp if isinstance(event, Joined) else event).placed.view
                self._install(view, now)
                if isinstance(event, Install) and not event.placed.sides:
                    rsp = JoinRsp(view, (), Digest(), 0)
                    for joiner in view.joiners:
                        self.below.down(SendJoinRsp(joiner, rsp), now)
        self.above.up(event, now)

    def _install(self, view: View, now: float) -> None:
        self._placed = view
        self._turn = max(1, len(view.members) - 1)
        self._next.clear()
        self._kept = self._acked = self._unacked = 0
        self._due = NEVER
        self._begin(now)

    def _begin(self, now: float) -> None:
        """Let the core have the view, unless what it multicasts at once has to wait."""
        view, core = self._placed, self.core
        assert view is not None
        if core.forward_table and view.members[0] == self.me:
            room = self.may_multicast() and self.multicast_room() >= len(core.forward_table)
            if not room or self.ground.holding:
                return
        self._placed = None
        self.apply(core.handle(InstallView(view.id.counter, view.members)), now)
        left: list[Bunch] = [message.payload for message in core.forward_table]
        self._under_way = sum(each.payloads.count for each in left)
        self._bytes = sum(each.payloads.size for each in left)

    # ------------------------------------------------------------------ broadcasts

    def _pass_ordered(self, bundle: Bundle, now: float) -> None:
        """Hand a broadcast to TOTAL, whose sequencer has taken its own ones."""
        header, core = bundle.header, self.core
        if header.source == self.me:
            return
        if problem := self._cannot_be(header):
            self._refuse(header.source, problem, now)
            return
        message = Message(header.sender, header.clock, Bunch(header.first, bundle.payloads))
        self.apply(core.handle(ReceiveBcast(header.position, message, core.view)), now)
        self._unacked += bundle.payloads.size
        self._due = min(self._due, now + self.config.stable_period)
        much = self._unacked >= min(self.config.stable_bytes, self.config.retain_bytes // 8)
        if much or core.expected - 1 - self._acked >= self._every:
            self._acknowledge(now)

    def _cannot_be(self, header: DataHeader) -> str:
        """Return why that cannot be its sequencer's next broadcast; "" if it can be."""
        core, sender = self.core, header.sender
        if self._placed is not None or header.view.counter != core.view:
            return f"a broadcast of view {header.view.counter}"
        if header.source != core.members[0] or sender not in core.members:
            return f"a broadcast of {sender}'s, in {core.members[0]}'s place"
        if header.position != core.expected:
            return f"id {header.position} where {core.expected} follows"
        mine = [message[1] for message in core.forward_table[:1]]
        if sender == self.me and mine != [header.clock]:
            return f"this member's bundle {header.clock}"
        if not self._follows(sender, header.clock, header.first):
            return f"{sender}'s bundle {header.clock} from {header.first} on"
        return ""

    def _follows(self, sender: Address, number: int, first: int) -> bool:
        """Whether a bundle can be its sender's next one in this view."""
        return self._next.get(sender, (number, first)) == (number, first)

    # ------------------------------------------------------------------ requests

    def _may_take(self) -> bool:
        # What a leaving sequencer does not take is sent again by its senders.
        over = self.draining and self.core.is_sequencer and not self.core.forward_table
        return not over and self._placed is None

    def _may_sequence(self) -> bool:
        return self.may_multicast() and not self.ground.holding and not self._full()

    def _full(self) -> bool:
        """Whether the members have to acknowledge before more is sequenced."""
        config = self.config
        return len(self.core.history) >= config.retain_window or self._kept >= config.retain_bytes

    def _sequence(self, source: Address, body: Body, payloads: Payloads, now: float) -> bool:
        """Let the core take a request."""
        core = self.core
        if not isinstance(body, RequestBody) or not self.ground.lineage.has(body.view):
            return False
        number = body.view.counter
        if number > core.view:
            return False  # whoever has that view has seen this member flushed
        if number == core.view and core.is_sequencer:
            in_turn = body.tag == core.taken.get(source, 0) + 1
            if source not in core.members or not in_turn:
                return False
            if not self._follows(source, body.number, body.first):
                return False
        message = Message(source, body.number, Bunch(body.first, payloads))
        self.apply(core.handle(ReceiveRequest(source, message, body.tag, number)), now)
        return True

    # ------------------------------------------------------------------ sending

    def step(self, now: float) -> bool:
        """Begin in a view, sequence requests, and send this member's messages."""
        if self._placed is not None:
            self._begin(now)
            return self._placed is None
        if not (self._forwards or self._buffer or self._unordered):
            return False
        return self._in_turn(now)

    def _send_ordered(self, now: float) -> bool:
        core, config, buffer = self.core, self.config, self._buffer
        if not buffer or (self.ground.gathering and buffer.size < config.max_bundle):
            return False
        if core.is_sequencer:
            if not self._may_sequence():
                return False
        elif (
            len(core.forward_table) >= self._most
            or self.waiting(core.members[0], FORWARDS) >= config.unicast_window
        ):
            return False
        count = config.credit_messages - self._under_way
        if not self.latch_open() or count <= 0 or self._bytes >= config.credit:
            return False
        payloads = buffer.take(config.max_bundle - HEADROOM, count)
        bunch, self._said = Bunch(self._said + 1, payloads), self._said + payloads.count
        if not core.is_sequencer:
            self._under_way += payloads.count
            self._bytes += payloads.size
        self.apply(core.handle(Send(bunch)), now)
        return True

    def apply(self, effects: Iterable[Effect], now: float) -> None:
        """Carry out TOTAL's effects."""
        for effect in effects:
            match effect:
                case Deliver(Message(sender, number, bunch), view):
                    self._deliver(sender, number, bunch, view, now)
                case Bcast(_, id_, Message(sender, number, (first, payloads)), view):
                    self._kept += payloads.size
                    run = Run(sender, first, payloads.count)
                    self.multicast(Data(run, view, payloads, id_, number), now)
                case Request(to, Message(_, number, (first, payloads)), tag):
                    view_id = self.ground.lineage.latest
                    body = RequestBody(first, payloads.count, view_id, number, tag)
                    self.send(to, FORWARDS, body, now, payloads)
                case CumSeqAck(to, id_):
                    self.send(to, CONTROL, CumSeqAckBody(self.ground.lineage.latest, id_), now)
        core = self.core
        if core.history and core.members == (self.me,):
            core.handle(Forget())
            self._kept = 0

    def _deliver(self, sender: Address, number: int, bunch: Bunch, view: int, now: float) -> None:
        first, payloads = bunch
        self._next[sender] = number + 1, first + payloads.count
        if sender == self.me and not self.core.is_sequencer:
            self._under_way -= payloads.count
            self._bytes -= payloads.size
        self.above.up(Delivered(Run(sender, first, payloads.count), view, payloads), now)

    # ------------------------------------------------------------------ acknowledgements

    def _acknowledge(self, now: float) -> None:
        self._acked, self._unacked, self._due = self.core.expected - 1, 0, NEVER
        self.apply(self.core.handle(Acknowledge()), now)

    def _receive_ack(self, source: Address, body: CumSeqAckBody) -> None:
        core = self.core
        if body.view != self.ground.lineage.latest or self._placed is not None:
            self.counters["total_ack_of_other_view"] += 1
        elif source not in core.members or not core.is_sequencer or body.id >= core.next_id:
            self.ground.offends(source, f"an acknowledgement of id {body.id}")
        else:
            core.handle(ReceiveCumSeqAck(source, body.id, body.view.counter))
            self._kept = sum(message.payload.payloads.size for message in core.history.values())

    def deadline(self) -> float:
        """When to acknowledge at the latest."""
        return min(super().deadline(), self._due)

    def handle_timer(self, now: float) -> None:
        super().handle_timer(now)
        if self._due <= now:
            self._acknowledge(now)

    # ------------------------------------------------------------------ leaving

    def down(self, event: Any, now: float) -> None:
        """Note that this member leaves."""
        if isinstance(event, Leave):
            self.draining = True
        self.below.down(event, now)

    # ------------------------------------------------------------------ to look at

    @property
    def table(self) -> object:
        return self.core.view, self.core.expected

    @property
    def drained(self) -> bool:
        return self.draining and not self.core.forward_table

    @property
    def pending(self) -> int:
        return self._under_way + self._unheard

    def missing(self, now: float) -> Mapping[Address, str]:
        del now
        core = self.core
        if core.is_sequencer and self._full():
            acks = {m: core.acks.get(m, 0) for m in core.members if m != self.me}
            slow = (member for member, at in acks.items() if at == min(acks.values()))
            return dict.fromkeys(slow, "to acknowledge what it has delivered")
        members = self.membership.members
        if not core.forward_table or members[0] == self.me:
            return {}
        return {members[0]: "to sequence this member's messages"}

    def buffered(self) -> int:
        return len(self.core.history)
