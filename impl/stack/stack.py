"""One member of a group: the protocols on top of each other, without I/O (docs/stack.md).

How a shell drives it. Time is an argument, `now`, in seconds of any monotonic clock.

    stack = Stack(Address("a", 0), StackConfig(cluster="orders", initial_hosts=(...)), seed=1)
    stack.ask_to_block()                   # if the application has a block()
    stack.want_state(now)                  # if it wants the group's state as it joins
    stack.start(now)                       # ask to join, or found the group
    stack.receive(batch, now)              # [(datagram, endpoint of its sender), ...]
    taken = stack.send_many(payloads)      # as many of the first ones as there is room for
    taken = stack.send_unordered(payloads) # the same, without a place in the order of all
    stack.flush(now)                       # what was sent leaves as one bundle
    stack.block_ok(now)                    # the answer to Block
    number = stack.send_large(payload)     # in fragments, until not stack.under_way(number)
    stack.send_to(member, payload)         # a unicast, of any size, if `room_to(member)`
    number = stack.call(payload, to, now)  # until the report CallOver, or stack.end_call(number)
    stack.reply(requested, payload, now)  # the answer to Requested
    stack.leave(now)                       # graceful; done when the report Left comes
    stack.handle_timer(now)                # at or after stack.deadline()
    stack.hold(now), stack.release(now)    # a slow application: deliver, and acknowledge, no more

After any of these but those that send, call or reply (`flush` follows them), in this order:
transmit `poll_datagrams()` (`to` empty: broadcast; `multicast`: the same to all of `to`), act on
`poll_reports()`, re-arm the one timer to `deadline()` (None: no timer), and wake who waits for
`writable`, `room_unordered` or `room_to`.

Reports: Batch, ViewInstalled, PrimaryChange, Requested, CallOver, Left, Suspected, Dropped,
Stopped; Block, Unblock, LatchOpened of FLUSH; GetState, EndState, Begun, HandUp, Failed of state
transfer, answered through `state`.

What comes in from the network never raises. `send` raises MessageTooLarge for a payload above
`max_whole`, `send_large` above `max_message`; both raise NotMember once the member is leaving or
out. Before the member has joined, and while windows or the latch are closed, what is sent waits in
the send buffer. For harnesses: `found` instead of `start` makes a founder of a given first view,
and `cores` is there to look at.
`max_bundle` must not exceed the transport's `max_datagram`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from raincheck.impl.errors import (
    MessageTooLarge,
    NotInView,
    NotMember,
    RaincheckError,
    WouldBlock,
)
from raincheck.impl.messages import Address, Endpoint, View
from raincheck.impl.recording.core import Recorder
from raincheck.impl.sequencer.core import Repairs, Sequencer
from raincheck.impl.wire.datagrams import HEADROOM, Codec

from .arrivals import Arrivals, Batch
from .calls import Replies
from .config import StackConfig
from .endpoints import UNKNOWN
from .group import LAYERS, Group, Kinds
from .layer import Ground
from .order_layer import OrderLayer
from .outbox import Outbox
from .repairs import LayerRepairs
from .reports import Outgoing, Report, Requested
from .sequencer_layer import SequencerLayer
from .state_transfer_layer import StateTransferLayer
from .timers import NEVER

_CALL_HEAD = 16
"""Bytes that a call or a reply is larger than its payload, or a few more."""


class Stack:
    """One member of a group, without I/O."""

    def __init__(
        self,
        address: Address,
        config: StackConfig,
        *,
        seed: int = 0,
        secret: bytes | None = None,
        recorder: Recorder | None = None,
        repairs: Repairs | None = None,
        layers: LayerRepairs | None = None,
        kinds: Kinds = LAYERS,
    ) -> None:
        """`kinds` are the layers, from the bottom to the top; any may be replaced.

        `secret` is what nobody else can know of this life, made from the seed in simulations;
        `recorder` is SEQUENCER's.
        """
        self.address = address
        self.config = config
        self.max_whole = config.max_bundle - HEADROOM - 4
        """The most bytes of a message that needs no fragments."""
        self._codec = Codec(config.cluster, config.max_bundle, sums=config.sums)
        self._outbox = Outbox(self._codec)
        self._ground = ground = Ground(
            address, config, self._outbox, seed, layers, repairs, recorder, secret
        )
        self._group = Group(ground, kinds)
        self._membership = ground.membership
        self._buffer = ground.buffer
        self.send_unasked: Callable[[bytes], None] = self._buffer.append
        """Take one message for which there is an `allowance`."""
        self._unordered = ground.unordered
        self._arrivals = Arrivals(self._group)
        self._transmit: Callable[[], None] = lambda: None

    # ------------------------------------------------------------------ what the user wants

    def start(self, now: float) -> None:
        """Ask to join; found a group when nobody answers."""
        self._group.joining.start(now)
        self._pump(now)

    def found(self, view: View, endpoints: Sequence[Endpoint], now: float) -> None:
        """Be a founder of this first view; all of its members must be given the same."""
        self._group.found(view, endpoints, now)
        self._pump(now)

    def send(self, payload: bytes) -> None:
        """Take one message of at most `max_whole` bytes; raises WouldBlock or NotMember."""
        self._may_send()
        if len(payload) > self.max_whole:
            raise MessageTooLarge(len(payload), self.max_whole)
        if not self._buffer.writable:
            raise WouldBlock("the send buffer is full; wait until the stack is writable")
        self._buffer.append(payload)

    def allowance(self, count: int) -> int:
        """Return how long messages may be of which `send_unasked` may be given `count` now.

        0 if there is not room for so many, or if `send` would raise. It counts until the next call
        of any other method that changes this member.
        """
        return max(0, min(self.max_whole, self.room // count - 4))

    def send_many(self, payloads: Sequence[bytes]) -> int:
        """Take as many of the first messages as there is room for; return how many.

        None of them may have more than `max_whole` bytes.
        """
        self._may_send()
        lengths = list(map(len, payloads))
        if lengths and max(lengths) > self.max_whole:
            raise MessageTooLarge(max(lengths), self.max_whole)
        return self._buffer.extend(payloads, lengths) if self._buffer.writable else 0

    def send_unordered(self, payloads: Sequence[bytes]) -> int:
        """Take messages without a place in the order of all, as `send_many` does.

        Raises MessageTooLarge above `max_whole`, for they go in no fragments, and NotMember.
        """
        self._may_send()
        self.check_unordered(payloads)
        lengths = list(map(len, payloads))
        return self._unordered.extend(payloads, lengths) if self._unordered.writable else 0

    def check_unordered(self, payloads: Sequence[bytes]) -> None:
        """Raise MessageTooLarge if `send_unordered` would."""
        largest = max(map(len, payloads), default=0)
        if largest > self.max_whole:
            advice = "an unordered one goes in one bundle; send it with order='total', or split it"
            raise MessageTooLarge(largest, self.max_whole, advice)

    def send_large(self, payload: bytes) -> int:
        """Take a message of any size up to `max_message`, to be sent in fragments.

        It is kept, uncopied, until this member has delivered it. Returns its number, for
        `under_way` and `give_up`; raises MessageTooLarge or NotMember.
        """
        self._may_send()
        if len(payload) > self.config.max_message:
            raise MessageTooLarge(len(payload), self.config.max_message)
        return self._group.frag.send_in_fragments(payload)

    def under_way(self, number: int) -> bool:
        """Whether that large message is not delivered here yet."""
        return self._group.frag.under_way(number)

    def give_up(self, number: int) -> bool:
        """Give a large message up, so that nobody delivers it; return False if it is too late."""
        return self._group.frag.give_up(number)

    def send_to(self, to: Address, payload: bytes) -> None:
        """Take a message to one member, of at most `max_message` bytes.

        Raises NotInView, MessageTooLarge, NotMember, and WouldBlock while `room_to` is 0.
        """
        self._may_send()
        self._may_send_to(to, payload)
        if self.room_to(to) <= 0:
            raise WouldBlock(f"the queue to {to} is full; wait until there is room")
        self._group.direct.queue(to, payload)

    def room_to(self, to: Address) -> int:
        """Bytes of messages to one member for which there is room; the last one may exceed it.

        Raises NotInView.
        """
        self._may_send_to(to, b"")
        return max(0, self._group.direct.room(to))

    def call(self, payload: bytes, to: Sequence[Address] | None, now: float) -> int:
        """Call these members of the view, or all; return the call's number.

        The caller sees that there is room for it. Raises NotInView, MessageTooLarge or NotMember,
        and then nobody is called.
        """
        self._may_send()
        self.check_call(payload)
        for member in to or ():
            self._may_send_to(member, payload)
        return self._group.calls.call(payload, to, now)

    def end_call(self, number: int) -> Replies:
        """End a call whose report CallOver has not come: who has not answered is late."""
        return self._group.calls.end(number)

    def reply(self, call: Requested, payload: bytes, now: float, *, failed: bool = False) -> None:
        """Reply to a call, if who has called is still a member; raises MessageTooLarge."""
        self.check_call(payload)
        to, view, number = call.sender, call.view, call.number
        self._group.calls.reply(to, number, view, payload, now, failed=failed)

    def check_call(self, payload: bytes) -> None:
        """Raise MessageTooLarge if `call` and `reply` would."""
        most = self.config.max_message - _CALL_HEAD
        if len(payload) > most:
            raise MessageTooLarge(len(payload), most)

    def ignore_own(self) -> None:
        """Ask no more this member itself in calls of all."""
        self._group.calls.ignores_own = True

    def _may_send_to(self, to: Address, payload: bytes) -> None:
        if to not in self._membership.members:
            where = self._membership.view or "no view yet"
            raise NotInView(f"{to} is not a member: {self.address} is in {where}")
        if len(payload) > self.config.max_message:
            raise MessageTooLarge(len(payload), self.config.max_message)

    def _may_send(self) -> None:
        if self._group.application.leaving or self._membership.status == "left":
            raise NotMember(self._why_not())

    def flush(self, now: float) -> None:
        """Transmit what was sent."""
        self._pump(now)

    def leave(self, now: float) -> None:
        """Leave: what was sent is delivered first. The report Left says that it is done."""
        self._group.application.leave()
        self._pump(now)

    def hold(self, now: float) -> None:
        """Stop deliveries; what arrives is not acknowledged, so its senders wait too."""
        self._group.application.hold(now)

    def tells_idle(self, idle: Callable[[], float]) -> None:
        """Take a function for how long the application has taken nothing (`hold`), in seconds."""
        self._group.application.idle = idle

    def tells_room(self, room: Callable[[], int]) -> None:
        """Take a function for the bytes of messages that the application has room for.

        Once the reports fill that room, deliveries pause until the shell has polled the reports
        and calls `go_on`.
        """
        self._group.application.room = room

    @property
    def pausing(self) -> bool:
        """Whether the reports fill the application's room, so that `go_on` is to be called."""
        return self._group.application.pausing

    def go_on(self, now: float) -> None:
        """Resume deliveries after `poll_reports`, unless the application holds them."""
        self._group.application.go_on()
        self._pump(now)

    def tells_refused(self, refused: Callable[[], Mapping[Endpoint, str]]) -> None:
        """Take a function for the endpoints that have another key: it founds no group beside."""
        self._ground.refused = refused

    def tells_ready(self, transmit: Callable[[], None]) -> None:
        """Take a function that transmits `poll_datagrams` while there are more steps to take."""
        self._transmit = transmit

    def tells_names(self, named: Callable[[], Sequence[Endpoint]]) -> None:
        """Take a function for the present addresses of initial hosts that are named.

        It is called at each round of asking, before it; `ask_anew` follows a change.
        """
        self._ground.named = named

    def ask_anew(self, now: float) -> None:
        """Ask at once: there are other initial hosts than before."""
        self._group.joining.ask_anew(now)
        self._group.others.ask_anew(now)
        self._pump(now)

    def release(self, now: float) -> None:
        """Resume deliveries."""
        self._group.application.release()
        self._pump(now)

    def ask_to_block(self) -> None:
        """Report Block before a view changes, and wait for `block_ok`, which ends block()."""
        self._group.flush.asks = True

    def block_ok(self, now: float) -> None:
        """Note that block() has returned."""
        self._group.flush.block_ok(now)
        self._pump(now)

    def want_state(self, now: float) -> None:
        """Ask for the group's state: with the join, or now."""
        if self.status == "joining":
            self._group.joining.wants_state = self._group.gms.wants_state = True
        else:
            self._group.state.ask(now)
            self._pump(now)

    @property
    def state(self) -> StateTransferLayer:
        """The layer by which the shell answers GetState, Begun, HandUp; call `flush` after it."""
        return self._group.state

    # ------------------------------------------------------------------ what arrives

    def receive(self, batch: Batch, now: float) -> None:
        """Handle datagrams, each with the endpoint it came from."""
        self._arrivals.receive(batch, now)
        self._pump(now)

    def handle_timer(self, now: float) -> None:
        """Handle the timers that are due."""
        self._group.handle_timer(now)
        self._pump(now)

    # ------------------------------------------------------------------ what follows

    def _pump(self, now: float) -> None:
        """Take all steps that are possible, then acknowledge and report."""
        group, ground = self._group, self._ground
        try:
            while group.advance(now):
                if self._outbox.busy and not self._buffer and not self._unordered:
                    self._transmit()  # others go on meanwhile, and this member's steps come after
        except RaincheckError as problem:
            ground.out(f"{problem}; it has to join again")
        if ground.membership.excluded and ground.membership.running:
            ground.out(ground.membership.excluded)
        group.settle(now)
        if ground.strangers or ground.offenders:
            self._arrivals.report_strangers(now)

    # ------------------------------------------------------------------ what goes out

    @property
    def busy(self) -> bool:
        """Whether `poll_datagrams` or `poll_reports` have something to return."""
        return bool(self._ground.reports) or self._outbox.busy

    def poll_datagrams(self) -> list[Outgoing]:
        """Return the datagrams to transmit, once."""
        return self._outbox.drain()

    def poll_reports(self) -> list[Report]:
        """Return the reports for the application, once."""
        reports = self._ground.reports
        if not reports:
            return []
        found = reports.copy()
        reports.clear()
        self._group.application.taken()
        return found

    def deadline(self) -> float | None:
        """Return when `handle_timer` is to be called; None for never."""
        due = self._group.deadline()
        return None if due == NEVER else due

    # ------------------------------------------------------------------ to look at

    @property
    def status(self) -> str:
        """ "joining", "member", "leaving" or "left"."""
        return "left" if self._membership.over else self._membership.status

    @property
    def cores(self) -> dict[str, Any]:
        """The protocols' cores by name, to be recorded or looked at."""
        layers = self._group.layers
        return {layer.name: layer.core for layer in layers if layer.core is not None}

    @property
    def sequencer(self) -> Sequencer:
        """SEQUENCER's core."""
        return self._group.find(SequencerLayer).core

    @property
    def table(self) -> object:
        """How far messages in order are delivered here; members at rest have the same."""
        return next(each.table for each in self._group.layers if isinstance(each, OrderLayer))

    @property
    def view(self) -> View | None:
        """The view that is installed, None before the first."""
        return self._membership.view

    @property
    def primary(self) -> bool:
        """Whether that view is primary; without `config.primary` every view is."""
        return not self._ground.not_primary

    @property
    def not_primary(self) -> str:
        """Why that view is not primary; "" if it is."""
        return self._ground.not_primary

    @property
    def members(self) -> tuple[Address, ...]:
        """The members of the view that is installed, none before the first."""
        return self._membership.members

    def places(self, here: Endpoint) -> list[tuple[Address, Endpoint]]:
        """Return the members of the view installed last with their endpoints; `here` is its own."""
        known = self._outbox.endpoints
        return [
            (member, here if member == self.address else known.get(member, UNKNOWN))
            for member in self.members
        ]

    @property
    def suspected(self) -> list[Address]:
        """The members of that view that are taken for crashed at this moment."""
        return [member for member in self.members if member in self._membership.suspected]

    @property
    def endpoints(self) -> list[Endpoint]:
        """The endpoints of the other members of the view installed last."""
        known = self._outbox.endpoints
        return [known[member] for member in self._membership.others if member in known]

    @property
    def counters(self) -> Counter[str]:
        """Counts of datagrams dropped, retransmitted, asked for …, by reason."""
        return self._outbox.counters

    @property
    def writable(self) -> bool:
        """Whether `send` takes another message."""
        return self._buffer.writable and self._takes

    @property
    def added(self) -> int:
        """How many messages, and fragments, have been put into the send buffer in all."""
        return self._buffer.added + self._unordered.added

    @property
    def bundled(self) -> bool:
        """Whether a full bundle waits, of messages with or without order."""
        return max(self._buffer.size, self._unordered.size) >= self.config.max_bundle

    @property
    def gathering(self) -> bool:
        """Whether only full bundles leave, because the shell will soon `flush` the rest."""
        return self._ground.gathering

    @gathering.setter
    def gathering(self, gathering: bool) -> None:
        self._ground.gathering = gathering

    @property
    def room(self) -> int:
        """Bytes of messages for which `send` has room, with 4 for the length of each."""
        return self._buffer.room if self.writable else 0

    @property
    def room_unordered(self) -> int:
        """The same of `send_unordered`."""
        return max(0, self._unordered.room) if self._takes else 0

    @property
    def _takes(self) -> bool:
        return not self._group.application.leaving and self._membership.status != "left"

    @property
    def blocked(self) -> bool:
        """Whether a view change or a state transfer keeps this member from sending now."""
        return not self._group.flush.quiet

    @property
    def needs_view(self) -> str:
        """Why what this member has sent is delivered in the next view only; "" if it need not be.

        Whoever sequences it is gone, as far as is known, or with safe delivery any member is.
        """
        membership = self._membership
        needed = membership.members if self.config.delivery == "safe" else membership.members[:1]
        gone = [who for who in needed if who in membership.suspected or who in membership.gone]
        return f"{gone[0]} is gone, which this view needs for it" if gone else ""

    @property
    def pending(self) -> int:
        """Messages sent and not yet delivered to this member itself."""
        return len(self._buffer) + len(self._unordered) + self._group.pending

    def missing(self, now: float) -> dict[Address, str]:
        """Return whom this member waits for, and for what."""
        return self._group.missing(now)

    def buffered(self) -> int:
        """Return how many datagrams all protocols keep; the windows bound it."""
        return self._group.buffered()

    def _why_not(self) -> str:
        if self._membership.excluded:
            return self._membership.excluded
        what = "is leaving" if self._group.application.leaving else "is out of"
        return f"{self.address} {what} the group: nothing can be sent any more"
