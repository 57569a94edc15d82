"""SEQUENCER in the stack: what it sends goes to UNICAST and NAKACK, what they deliver goes to it.

The latch of FLUSH stands here. While it is closed nothing is multicast, so a coordinator takes no
FORWARD, and no member hands SEQUENCER a new message of its own: it would only be sequenced in the
next view, after having been forwarded twice. What is to be forwarded again after a view change does
pass, for it is a unicast (R5 of FLUSH).
"""

from __future__ import annotations

from collections.abc import Callable

from raincheck.impl.messages import Batch, Run, View
from raincheck.impl.sequencer.core import Sequencer
from raincheck.impl.sequencer.events import (
    Data,
    Deliver,
    Effect,
    Forward,
    InstallView,
    Multicast,
    ReceiveData,
    ReceiveForward,
    Resend,
    Send,
    SendForward,
    SendJoinRsp,
)
from raincheck.impl.wire.datagrams import HEADROOM
from raincheck.impl.wire.headers import FORWARDS, ForwardBody

from .bundling import SendBuffer
from .config import StackConfig
from .flush_layer import FlushLayer
from .nakack_layer import NakackLayer
from .reports import Report
from .stable_layer import StableTimer
from .unicast_layer import UnicastLayer


class Ordering:
    """SEQUENCER of one member, at its place in the stack."""

    def __init__(
        self,
        config: StackConfig,
        sequencer: Sequencer,
        unicast: UnicastLayer,
        nakack: NakackLayer,
        stable: StableTimer,
        flush: FlushLayer,
        reports: list[Report],
        welcome: Callable[[SendJoinRsp], None],
    ) -> None:
        self.sequencer = sequencer
        self.draining = False
        """The member is leaving: a coordinator on its way out sequences nothing more."""
        self.discarding: Callable[[], bool] = lambda: False
        """Whether what is delivered is not for the application."""
        self.cut = 0
        """Messages delivered in this view."""
        self._config = config
        self._unicast = unicast
        self._nakack = nakack
        self._stable = stable
        self._flush = flush
        self._reports = reports
        self._welcome = welcome
        self._relayed = 0  # FORWARDs sequenced since the coordinator had its own turn

    @property
    def open(self) -> bool:
        """Whether this member may multicast now."""
        return self._flush.open and self._nakack.open

    # ------------------------------------------------------------------ up

    def deliver(self, now: float) -> None:
        """Pass up all that can be delivered in this view."""
        while (bundle := self._nakack.deliver()) is not None:
            header = bundle.header
            run = Run(header.sender, header.first, header.size)
            data = Data(run, header.view, bundle.payloads, header.position, header.clock)
            self.apply(self.sequencer.handle(ReceiveData(header.source, data)), now)
            self._stable.delivered(len(bundle.raw), now)

    def install(self, view: View, now: float) -> None:
        """SEQUENCER handles InstallView."""
        self.cut = 0
        self.apply(self.sequencer.handle(InstallView(view)), now)

    # ------------------------------------------------------------------ down

    def take_forwards(self, now: float) -> bool:
        """Sequence what the others have forwarded; whether anything was taken."""
        sequencer = self.sequencer
        # Their senders will resend what a coordinator on its way out leaves.
        if self.draining and sequencer.is_coordinator and not sequencer.forward_table:
            return False
        taken = False
        while self.open and self._relayed < self._turn:
            datagram = self._unicast.consume(FORWARDS, now)
            if datagram is None:
                break
            header, payloads = datagram
            body = header.body
            if isinstance(body, ForwardBody) and payloads is not None:
                run = Run(header.source, body.first, body.size)
                forward = Forward(run, body.view, payloads, body.position, body.clock)
                self.apply(sequencer.handle(ReceiveForward(header.source, forward)), now)
                self._relayed += 1
                taken = True
        return taken

    def own_turn(self) -> bool:
        """Whether the coordinator's own messages come first now.

        Under full load the window never stays open for long. If the FORWARDs of the others took
        every place in it, the coordinator's own messages would never leave, nor could it.
        """
        if self._relayed < self._turn or not self.open:
            return False
        self._relayed = 0
        return True

    @property
    def _turn(self) -> int:
        return max(1, len(self.sequencer.members) - 1)

    def send_next(self, buffer: SendBuffer, now: float) -> bool:
        """Resend, or send, the next bundle if latch, windows and credit allow it."""
        sequencer, config = self.sequencer, self._config
        if not sequencer.resend and not buffer:
            return False
        if sequencer.is_coordinator:
            if not self.open:
                return False
        elif self._unicast.waiting(sequencer.members[0], FORWARDS) >= config.unicast_window:
            return False
        if sequencer.resend:
            self.apply(sequencer.handle(Resend()), now)
            return True
        count = config.credit_messages - sequencer.in_flight
        if not self._flush.open or not sequencer.may_send or count <= 0:
            return False
        if sequencer.pending_bytes >= config.credit:
            return False
        bundle = buffer.take(config.max_bundle - HEADROOM, count)
        self.apply(sequencer.handle(Send(bundle)), now)
        return True

    def apply(self, effects: list[Effect], now: float) -> None:
        """Carry out what SEQUENCER wants done."""
        for effect in effects:
            if isinstance(effect, Deliver):
                self.cut += effect.messages.size
                if not self.discarding():
                    self._reports.append(Batch(effect.messages, effect.view, effect.payloads))
            elif isinstance(effect, Multicast):
                self._flush.multicast(now)
                self._nakack.multicast(effect.data, now)
            elif isinstance(effect, SendForward):
                run, view, payloads, position, clock = effect.forward
                body = ForwardBody(run.first, run.size, view, position, clock)
                self._unicast.send(effect.to, FORWARDS, body, now, payloads)
            elif isinstance(effect, SendJoinRsp):
                self._welcome(effect)
