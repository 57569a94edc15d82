"""The protocols of a member that is in a group, and how one hands over to the other.

UNICAST, NAKACK, MEMBERSHIP and SEQUENCER know nothing of the order in which things are done; it is
decided here, in `advance`, and always the same: control messages first, then the view change that
this member leads, then deliveries, then a view that is complete, then FORWARDs.
At a view change NAKACK learns the view, SEQUENCER handles InstallView, and then the application
sees the view. JOIN_RSP takes SEQUENCER's table and NAKACK's digest in that same step.
"""

from __future__ import annotations

from collections.abc import Sequence

from .effects import (
    Data,
    Deliver,
    Effect,
    Forward,
    InstallView,
    Join,
    JoinRsp,
    Multicast,
    ReceiveData,
    ReceiveForward,
    SendForward,
    SendJoinRsp,
)
from .headers import (
    CONTROL,
    FORWARDS,
    Body,
    ForwardBody,
    Installed,
    JoinRspBody,
    NewView,
    PlacedView,
    Prepare,
    Prepared,
)
from .membership import Membership
from .messages import Address, Batch, Endpoint, Run, View
from .nakack import Nakack
from .protocol import NEVER, Outbox
from .reports import Report, Suspected, ViewInstalled
from .sequencer import Sequencer
from .stack_config import StackConfig
from .tracing import Tracer
from .unicast import Unicast


class Group:
    """One member's protocols."""

    def __init__(
        self,
        me: Address,
        config: StackConfig,
        outbox: Outbox,
        sequencer: Sequencer,
        tracer: Tracer | None,
    ) -> None:
        self.me = me
        self.sequencer = sequencer
        self.unicast = Unicast(me, config, outbox)
        self.nakack = Nakack(me, config, outbox)
        self.membership = Membership(me, config, outbox, self.unicast, self.nakack)
        self.reports: list[Report] = []
        self.left = False
        self.draining = False
        self.holding = False
        self.last_members: tuple[Address, ...] = ()
        self._outbox = outbox
        self._tracer = tracer
        self._welcomes: list[tuple[Address, JoinRspBody]] = []
        self.relayed = 0
        """FORWARDs sequenced since the coordinator had its own turn."""

    @property
    def running(self) -> bool:
        """Whether this member takes part in the group."""
        return self.sequencer.running and not self.left

    # ------------------------------------------------------------------ getting in and out

    def found(self, view: View, endpoints: Sequence[Endpoint], now: float) -> None:
        """Install the first view."""
        if self._tracer is not None:
            self._tracer.header(view)
            self.sequencer.recorder = self._tracer
        placed = PlacedView(view, tuple(endpoints))
        self.sequencer.found(view)
        self.nakack.install_view(view, now)
        self._installed(placed, now)

    def _join(self, source: Address, body: JoinRspBody, now: float) -> None:
        view = body.placed.view
        if self.sequencer.status != "joining" or self.me not in view.members:
            self._outbox.counters["join_rsp_refused"] += 1
            return
        if self._tracer is not None:
            self._tracer.header(None)
            self.sequencer.recorder = self._tracer
        self.nakack.join(view, body.bundles, now)
        rsp = JoinRsp(view, body.table, body.digest, body.clock)
        self.sequencer.handle(Join(source, rsp))
        self._installed(body.placed, now)

    def stopped(self) -> None:
        """SEQUENCER has stopped; the others have yet to be told."""
        if self._tracer is not None:
            self._tracer.footer()

    def leave(self) -> None:
        """Be out of the group."""
        self.left = True

    @property
    def open(self) -> bool:
        """Whether this member may multicast now."""
        return self.nakack.open and not self.membership.latched

    @property
    def drained(self) -> bool:
        """Whether this member may stop: nothing that it sent or sequenced is under way."""
        return (
            self.running
            and self.sequencer.status == "leaving"
            and not self.sequencer.forward_table
            and self.nakack.drained
            and self.membership.settled
            and not self._welcomes
            and not any(self.unicast.waiting(m, CONTROL) for m in self.sequencer.members)
        )

    # ------------------------------------------------------------------ one step after another

    def advance(self, now: float) -> bool:
        """Take what steps are possible; whether there may be more of them."""
        if self.left:
            return False
        self._control(now)
        if not self.running:
            return False
        if self.membership.advance(now):
            self._send_welcomes(now)
            return True
        if self.holding:
            return self._take_forwards(now)
        self._deliver(now)
        placed = self.membership.next_view()
        if placed is not None:
            self._install(placed, now)
            return True
        return self._take_forwards(now)

    def settle(self, now: float) -> None:
        """No more steps: acknowledge, and tell what there is to tell.

        Nothing is sent again here: the answer may be waiting in the socket. The timer comes after
        all that has arrived.
        """
        if self.running:
            self.nakack.stable_by_acks()
            self.nakack.acknowledge(now)
        if not self.left and self.sequencer.status != "left":
            self.unicast.acknowledge(now)
        for member in self.membership.suspected:
            self.reports.append(Suspected(member))
        self.membership.suspected.clear()

    def _control(self, now: float) -> None:
        while (datagram := self.unicast.consume(CONTROL, now)) is not None:
            header, _ = datagram
            self._on_control(header.source, header.body, now)

    def _on_control(self, source: Address, body: Body, now: float) -> None:
        membership = self.membership
        if isinstance(body, JoinRspBody):
            self._join(source, body, now)
        elif not self.running:
            self._outbox.counters["not_a_member_yet"] += 1
        elif isinstance(body, Prepare):
            membership.handle_prepare(source, body, now)
        elif isinstance(body, Prepared):
            membership.handle_prepared(source, body, now)
        elif isinstance(body, NewView):
            membership.handle_new_view(source, body, now)
        elif isinstance(body, Installed):
            membership.handle_installed(source, body.counter)

    def _deliver(self, now: float) -> None:
        while (bundle := self.nakack.deliver()) is not None:
            header = bundle.header
            run = Run(header.sender, header.first, header.size)
            data = Data(run, header.view, bundle.payloads, header.position, header.clock)
            self.apply(self.sequencer.handle(ReceiveData(header.source, data)), now)

    def _install(self, placed: PlacedView, now: float) -> None:
        self.nakack.install_view(placed.view, now)
        effects = self.sequencer.handle(InstallView(placed.view))
        self._installed(placed, now)
        self.apply(effects, now)

    def _installed(self, placed: PlacedView, now: float) -> None:
        self.membership.installed(placed, now)
        self.last_members = placed.view.members
        self.reports.append(ViewInstalled(placed.view))

    def _take_forwards(self, now: float) -> bool:
        sequencer = self.sequencer
        # A coordinator on its way out sequences nothing more: their senders will resend it.
        if self.draining and sequencer.is_coordinator and not sequencer.forward_table:
            return False
        taken = False
        turn = max(1, len(sequencer.members) - 1)
        while self.open and self.relayed < turn:
            datagram = self.unicast.consume(FORWARDS, now)
            if datagram is None:
                break
            header, payloads = datagram
            body = header.body
            if isinstance(body, ForwardBody) and payloads is not None:
                run = Run(header.source, body.first, body.size)
                forward = Forward(run, body.view, payloads, body.position, body.clock)
                self.apply(sequencer.handle(ReceiveForward(header.source, forward)), now)
                self.relayed += 1
                taken = True
        return taken

    def own_turn(self) -> bool:
        """Whether the coordinator's own messages come first now.

        Under full load the window never stays open for long. If the FORWARDs of the others took
        every place in it, the coordinator's own messages would never leave, nor could it.
        """
        if self.relayed < max(1, len(self.sequencer.members) - 1) or not self.open:
            return False
        self.relayed = 0
        return True

    def apply(self, effects: list[Effect], now: float) -> None:
        """Carry out what SEQUENCER wants done."""
        for effect in effects:
            if isinstance(effect, Deliver):
                self.reports.append(Batch(effect.messages, effect.view, effect.payloads))
            elif isinstance(effect, Multicast):
                self.nakack.multicast(effect.data, now)
            elif isinstance(effect, SendForward):
                run, view, payloads, position, clock = effect.forward
                body = ForwardBody(run.first, run.size, view, position, clock)
                self.unicast.send(effect.to, FORWARDS, body, now, payloads)
            elif isinstance(effect, SendJoinRsp):
                self._welcome(effect)

    def _welcome(self, effect: SendJoinRsp) -> None:
        """Make JOIN_RSP now; it leaves when all survivors have installed the view."""
        rsp = effect.rsp
        placed = self.membership.placed(rsp.view)
        body = JoinRspBody(placed, rsp.table, rsp.digest, self.nakack.delivered_digest(), rsp.clock)
        self._welcomes.append((effect.to, body))

    def _send_welcomes(self, now: float) -> None:
        welcomes, self._welcomes = self._welcomes, []
        for joiner, body in welcomes:
            if joiner in self.sequencer.members:
                self.unicast.send(joiner, CONTROL, body, now)

    # ------------------------------------------------------------------ time, and to look at

    def deadline(self) -> float:
        """When something is due."""
        if self.left or self.sequencer.status == "left":
            return NEVER
        return min(self.unicast.deadline(), self.nakack.deadline(), self.membership.deadline())

    def handle_timer(self, now: float) -> None:
        """Do what is due."""
        if self.deadline() > now:
            return
        self.unicast.handle_timer(now)
        if self.running:
            self.nakack.handle_timer(now)
            self.membership.handle_timer(now)

    def missing(self, now: float) -> dict[Address, str]:
        """Whom this member waits for, each with what it waits for."""
        if not self.running:
            return {}
        sequencer = self.sequencer
        found: dict[Address, str] = {}
        if sequencer.in_flight and not sequencer.is_coordinator:
            found[sequencer.members[0]] = "to sequence this member's messages"
        found |= dict.fromkeys(self.nakack.lagging(), "to acknowledge multicasts")
        found |= dict.fromkeys(self.membership.missing(), "to install the next view")
        found |= {m: f"silent for {s:.1f} s" for m, s in self.membership.silence(now).items()}
        return found

    def buffered(self) -> int:
        """Datagrams kept in all protocols."""
        return sum(self.unicast.buffered()) + sum(self.nakack.buffered())
