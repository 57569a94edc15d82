"""SEQUENCER in the stack: what it sends goes to UNICAST and NAKACK, what they deliver goes to it.

When it may send, and what becomes of unordered messages, stands in `order_layer.py`. What is
forwarded again after a view change passes while FLUSH's latch is closed, for it is a unicast (R5 of
FLUSH).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest, Payloads, Run
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
from raincheck.impl.wire.headers import FORWARDS, Body, ForwardBody, PlacedView

from .layer import Ground
from .merged import known, strangers
from .order_layer import OrderLayer
from .passing import AtCut, Bundle, Drain, Found, Install, Joined, Skipped


class SequencerLayer(OrderLayer):
    """SEQUENCER as a layer."""

    name = "sequencer"
    core: Sequencer

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        repairs = ground.sequencer_repairs or Repairs()
        self.core = Sequencer(ground.me, repairs=replace(repairs, delivery=self.config.delivery))
        self._sequenced: dict[Address, int] = {}  # in this view, of each sender, by its FORWARDs

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

    def _pass_ordered(self, bundle: Bundle, now: float) -> None:
        """Hand a DATA to SEQUENCER."""
        header = bundle.header
        run = Run(header.sender, header.first, header.size)
        data = Data(run, header.view.counter, bundle.payloads, header.position, header.clock)
        try:
            effects = self.core.handle(ReceiveData(header.source, data))
        except NotEnabled as refusal:
            if header.source == self.me:
                raise  # no datagram can do that
            self._refuse(header.source, refusal, now)
        else:
            self.apply(effects, now)

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
        return self._in_turn(now)

    # ------------------------------------------------------------------ down

    def _may_take(self) -> bool:
        # Messages that a leaving coordinator does not sequence are resent by their senders.
        core = self.core
        over = self.draining and core.is_coordinator and not core.forward_table
        return not over and self._room_for_early()

    def _sequence(self, source: Address, body: Body, payloads: Payloads, now: float) -> bool:
        """Sequence a FORWARD."""
        if not isinstance(body, ForwardBody):
            return False
        run = Run(source, body.first, body.size)
        forward = Forward(run, body.view.counter, payloads, body.position, body.clock)
        if not self.ground.lineage.has(body.view) or not self._can_be(forward):
            return False
        self.apply(self.core.handle(ReceiveForward(source, forward)), now)
        return True

    def _offended(self, source: Address, body: Body) -> bool:
        super()._offended(source, body)
        if self._refused is None or not isinstance(body, ForwardBody):
            return True
        if body.view.counter != self.core.view:
            return True
        self._join_again(source)  # it may be this member that lacks something
        return False

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
    def table(self) -> object:
        return self.core.received_table

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
