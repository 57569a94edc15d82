"""SEQUENCER in the stack: what it sends goes to UNICAST and NAKACK, what they deliver goes to it.

While FLUSH's latch is closed nothing is multicast, so a coordinator pulls no FORWARD, and no member
hands SEQUENCER a new message: it would be forwarded twice, and sequenced in the next view. What is
forwarded again after a view change does pass, for it is a unicast (R5 of FLUSH). In a view that is
not primary nothing passes.

Unordered messages pass SEQUENCER by, down and up, as unicasts do (its R1): they go in bundles of
their sender's own stream, and NAKACK and FLUSH promise of them what they promise of every stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import UNORDERED, Address, Digest, Run
from raincheck.impl.recording.core import attach
from raincheck.impl.sequencer.core import Repairs, Sequencer
from raincheck.impl.sequencer.events import (
    Data,
    Deliver,
    Effect,
    Forward,
    InstallView,
    Join,
    JoinRsp,
    Leave,
    Merge,
    Multicast,
    ReceiveData,
    ReceiveForward,
    Resend,
    Send,
    SendForward,
    Stop,
)
from raincheck.impl.wire.datagrams import HEADROOM
from raincheck.impl.wire.headers import FORWARDS, ForwardBody, Lane, PlacedView

from .layer import Ground, Layer
from .merged import known, strangers
from .passing import AtCut, Bundle, Drain, Found, Install, Joined, Skipped, Unanswered
from .timers import NEVER


class SequencerLayer(Layer):
    """SEQUENCER as a layer."""

    name = "sequencer"
    core: Sequencer

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        repairs = ground.sequencer_repairs or Repairs()
        self.core = Sequencer(ground.me, repairs=replace(repairs, delivery=self.config.delivery))
        self.draining = False
        """Whether the member is leaving: a leaving coordinator sequences nothing more."""
        self._buffer = ground.buffer
        self._unordered = ground.unordered
        self._unheard = 0  # unordered messages of this member that have not come back to it
        self._sends = [self._send_ordered, self._send_unordered]  # whose turn it is, first
        self._forwards = False  # whether FORWARDs may wait to be pulled
        self._turn = 1  # how many FORWARDs are sequenced between two own turns
        self._sequenced: dict[Address, int] = {}  # in this view, of each sender, by its FORWARDs
        self._refused: tuple[Address, float] | None = None  # whose DATA was refused first, and when
        self._relayed = 0  # FORWARDs sequenced since the coordinator had its own turn

    # ------------------------------------------------------------------ events

    def up(self, event: Any, now: float) -> None:
        """Handle views."""
        match event:
            case Install(placed):
                if self._refused is not None and self._refused[0] in placed.view.members:
                    self._join_again(self._refused[0])
                    return  # it is not in this view as the others are
                self.apply(self._installed(placed, now), now)
            case AtCut(members):
                core = self.core
                event = AtCut(members, *core.at_cut(members), core.clock)
            case Joined(source, body):
                self._record()
                rsp = JoinRsp(body.placed.view, body.table, body.digest, body.clock)
                self.apply(self.core.handle(Join(source, rsp)), now)
            case Found(placed):
                self.core.found(placed.view)
                self._record()
        if isinstance(event, Install | Joined | Found):
            self._sequenced.clear()
        self._turn = max(1, len(self.core.members) - 1)
        self.above.up(event, now)

    def _installed(self, placed: PlacedView, now: float) -> list[Effect]:
        sides = strangers(placed, self.me)
        if not sides:
            return self.core.handle(InstallView(placed.view))
        table = known(placed, self.me)
        mine = dict(table).get(self.me, 0)
        for run, payloads in list(self.core.forward_table):
            if run.first <= mine:
                count = min(run.last, mine) + 1 - run.first
                self.above.up(Skipped(payloads.part(0, count)), now)
        digest = Digest(tuple(entry for side in sides for entry in side.digest.entries))
        clock = max(side.clock for side in sides)
        return self.core.handle(Merge(placed.view, table, digest, clock))

    def waits(self, lane: Lane) -> None:
        """Note that FORWARDs wait to be sequenced."""
        if lane == FORWARDS:
            self._forwards = True
        else:
            self.above.waits(lane)

    def pass_up(self, bundle: Bundle, now: float) -> None:
        """Hand a DATA to SEQUENCER; within a stream they come in order."""
        header = bundle.header
        if not header.first:
            self._pass_unordered(bundle, now)
            return
        run = Run(header.sender, header.first, header.size)
        data = Data(run, header.view.counter, bundle.payloads, header.position, header.clock)
        try:
            effects = self.core.handle(ReceiveData(header.source, data))
        except NotEnabled as refusal:
            self._refuse(header.source, refusal, now)
        else:
            self.apply(effects, now)

    def _pass_unordered(self, bundle: Bundle, now: float) -> None:
        """Pass unordered messages on: small ones of the member that has multicast them."""
        header, payloads = bundle.header, bundle.payloads
        source, run = header.source, Run(header.source, UNORDERED, header.size)
        if header.sender != source:
            self.ground.offends(source, f"unordered messages of {header.sender}")
        elif payloads.framed:
            self.ground.offends(source, "frames among unordered messages")
        else:
            if source == self.me:
                self._unheard -= run.size
            self.above.up(Deliver(run, self.core.view, payloads), now)

    def _refuse(self, source: Address, refusal: NotEnabled, now: float) -> None:
        """Drop a DATA that cannot be its source's next, and suspect the source.

        All that have it do the same, and go on without the source. If they have another one and
        keep the source, or if it is not the last one refused, this member lacks something that the
        others have: then it has to join again.
        """
        if source == self.me:
            raise refusal  # no datagram can do that
        self.ground.offends(source, f"DATA that cannot follow: {refusal}")
        self._refused = self._refused or (source, now)
        if self._refused[0] != source:
            self._join_again(source)
            return
        self.below.down(Unanswered({source: f"to send what can follow: {refusal}"}), now)

    def deadline(self) -> float:
        """When the others have kept for too long whom this member suspects."""
        if self._refused is None or self._refused[0] not in self.core.members:
            return NEVER
        return self._refused[1] + self.config.flush_timeout

    def handle_timer(self, now: float) -> None:
        if self._refused is not None and self.deadline() <= now:
            self._join_again(self._refused[0])

    def _join_again(self, source: Address) -> None:
        """Leave: what the others take of that member, this one cannot."""
        self.ground.out(f"{self.me} cannot take what {source} sends, the others do; join again")

    def down(self, event: Any, now: float) -> None:
        """Handle the steps of leaving."""
        match event:
            case Leave():
                self.core.handle(event)
                self.draining = True
            case Drain() if self.core.forward_table:
                return  # messages of this member are still to be multicast
            case Stop():
                self.core.handle(event)
                if self.ground.recorder is not None:
                    self.ground.recorder.footer(self.core)
        self.below.down(event, now)

    def _record(self) -> None:
        recorder = self.ground.recorder
        if recorder is not None:
            recorder.begin(self.core)
            attach(self.core, recorder)

    def step(self, now: float) -> bool:
        """Sequence FORWARDs, and send this member's messages."""
        waiting = self._forwards or self._buffer or self._unordered or self.core.resend
        if not waiting or self.ground.not_primary:
            return False
        if self.own_turn() and self.send_next(now):
            return True
        taken = self._forwards and self.take_forwards(now)
        if taken and self.own_turn():
            self.send_next(now)
        return taken or self.send_next(now)

    # ------------------------------------------------------------------ down

    def take_forwards(self, now: float) -> bool:
        """Sequence FORWARDs; return whether there were any."""
        sequencer = self.core
        # Messages that a leaving coordinator does not sequence are resent by their senders.
        if self.draining and sequencer.is_coordinator and not sequencer.forward_table:
            return False
        taken = False
        while self._relayed < self._turn and self.may_multicast() and self._room_for_early():
            forwarded = self.pull(FORWARDS, now)
            if forwarded is None:
                self._forwards = False
                break
            header, payloads = forwarded
            body = header.body
            if not self.membership.knows(header.source):
                self.ground.strangers.append((header.source, type(body).__name__))
            elif isinstance(body, ForwardBody) and payloads is not None:
                run = Run(header.source, body.first, body.size)
                forward = Forward(run, body.view.counter, payloads, body.position, body.clock)
                if self.ground.lineage.has(body.view) and self._can_be(forward):
                    self.apply(sequencer.handle(ReceiveForward(header.source, forward)), now)
                    self._relayed += 1
                    taken = True
                else:
                    self.ground.offends(header.source, "FORWARD that cannot be its next")
                    if self._refused is not None and forward.view == sequencer.view:
                        # It may be this member that lacks something.
                        self._join_again(header.source)
                        return False
        return taken

    def _can_be(self, forward: Forward) -> bool:
        """Whether a member that obeys the protocol can have sent that.

        A member is at most one view ahead, and leaves out none of its messages. A FORWARD that
        did would be sequenced, and then refused by all as DATA.
        """
        core, run = self.core, forward.messages
        if forward.view != core.view:
            return forward.view <= core.view + 1 or not core.repairs.view_tag
        known = max(core.received_table.get(run.sender, 0), self._sequenced.get(run.sender, 0))
        if run.first > known + 1 and core.repairs.exact_next and core.repairs.join_policy != "any":
            return False
        if core.is_coordinator:
            self._sequenced[run.sender] = max(known, run.last)
        return True

    def _room_for_early(self) -> bool:
        """Whether more FORWARDs of the next view can be kept; others wait in UNICAST's window."""
        early, config = self.core.early, self.config
        if not early:
            return True
        senders = len(self.core.members)
        return (
            len(early) < config.unicast_window * senders
            and sum(forward.payloads.size for forward in early)
            < config.unicast_window_bytes * senders
        )

    def own_turn(self) -> bool:
        """Whether the coordinator's own messages come first now.

        Under full load the window never stays open for long. If the FORWARDs of the others took
        every place in it, the coordinator's own messages would never leave, nor could it.
        """
        if self._relayed < self._turn or not self.may_multicast():
            return False
        self._relayed = 0
        return True

    def send_next(self, now: float) -> bool:
        """Send the next bundle, of messages with and without order in turn."""
        for at, send in enumerate(self._sends):
            if send(now):
                self._sends.append(self._sends.pop(at))
                return True
        return False

    def _send_unordered(self, now: float) -> bool:
        """Multicast the next bundle of unordered messages if latch and windows allow it."""
        if not self._unordered or not self.may_multicast_unordered():
            return False
        config = self.config
        if self.ground.gathering and self._unordered.size < config.max_bundle:
            return False
        bundle = self._unordered.take(config.max_bundle - HEADROOM, config.credit_messages)
        self._unheard += bundle.count
        self.multicast(Data(Run(self.me, 0, bundle.count), self.core.view, bundle, 0, 0), now)
        return True

    def _send_ordered(self, now: float) -> bool:
        """Resend or send the next bundle if latch, windows and credit allow it."""
        sequencer, config, buffer = self.core, self.config, self._buffer
        if not sequencer.resend and not buffer:
            return False
        if sequencer.is_coordinator:
            if not self.may_multicast():
                return False
        elif self.waiting(sequencer.members[0], FORWARDS) >= config.unicast_window:
            return False
        if sequencer.resend:
            self.apply(sequencer.handle(Resend()), now)
            return True
        if self.ground.gathering and buffer.size < config.max_bundle:
            return False
        count = config.credit_messages - sequencer.in_flight
        if not self.latch_open() or not sequencer.may_send or count <= 0:
            return False
        if sequencer.bytes_in_flight >= config.credit:
            return False
        bundle = buffer.take(config.max_bundle - HEADROOM, count)
        self.apply(sequencer.handle(Send(bundle)), now)
        return True

    def apply(self, effects: list[Effect], now: float) -> None:
        """Carry out SEQUENCER's effects."""
        for effect in effects:
            if isinstance(effect, Deliver):
                self.above.up(effect, now)
            elif isinstance(effect, Multicast):
                self.multicast(effect.data, now)
            elif isinstance(effect, SendForward):
                run, _, payloads, position, clock = effect.forward
                view = self.ground.lineage.latest
                body = ForwardBody(run.first, run.size, view, position, clock)
                self.send(effect.to, FORWARDS, body, now, payloads)
            else:
                self.below.down(effect, now)

    # ------------------------------------------------------------------ to look at

    @property
    def drained(self) -> bool:
        return self.core.status == "leaving" and not self.core.forward_table

    @property
    def pending(self) -> int:
        return self.core.in_flight + self._unheard

    def missing(self, now: float) -> Mapping[Address, str]:
        del now
        core = self.core
        if not core.in_flight or core.is_coordinator:
            return {}
        return {core.members[0]: "to sequence this member's messages"}
