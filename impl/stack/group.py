"""The protocols of a member that is in a group, and how one hands over to the other.

No protocol knows of the order in which things are done; it is decided here, in `advance`, and
always the same: control messages first, then the end of a fetch, then deliveries, then the view
change that this member leads or follows, then FORWARDs.

A view goes up through NAKACK, UNICAST, STABLE, FLUSH, SEQUENCER, and then the application sees it.
It is installed only behind the last delivery of the old view. JOIN_RSP takes SEQUENCER's table and
NAKACK's digest in that same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from raincheck.impl.messages import Address, Endpoint, View
from raincheck.impl.recording.sequencer import Tracer
from raincheck.impl.sequencer.core import Sequencer
from raincheck.impl.sequencer.events import Join, JoinRsp, SendJoinRsp
from raincheck.impl.wire.headers import (
    CONTROL,
    STATE,
    Body,
    FlushBody,
    GmsBody,
    JoinRspBody,
    NotJoinedBody,
    PlacedView,
    StartFlush,
)

from .admission import Admission
from .config import StackConfig
from .flush_layer import FlushLayer
from .gms_layer import GmsLayer
from .nakack_layer import NakackLayer
from .repairs import LayerRepairs
from .reports import Report, ViewInstalled
from .sequencer_layer import Ordering
from .stable_layer import StableTimer
from .state_transfer_bodies import StateBody
from .state_transfer_layer import StateLayer, cut_number
from .timers import NEVER, Outbox
from .unicast_layer import UnicastLayer


class Group:
    """One member's protocols."""

    def __init__(
        self,
        me: Address,
        config: StackConfig,
        outbox: Outbox,
        sequencer: Sequencer,
        tracer: Tracer | None,
        random: Random,
        layers: LayerRepairs | None = None,
    ) -> None:
        self.me = me
        self.sequencer = sequencer
        self.reports: list[Report] = []
        undone = layers or LayerRepairs()
        self.unicast = unicast = UnicastLayer(me, config, outbox, repairs=undone.unicast)
        self.nakack = nakack = NakackLayer(me, config, outbox, repairs=undone.nakack)
        self.stable = StableTimer(me, config, outbox, nakack, random, repairs=undone.stable)
        self.gms = gms = GmsLayer(
            me, config, outbox, unicast, nakack.alive, self._install, undone.gms
        )
        self.flush = FlushLayer(me, config, outbox, unicast, nakack, gms.piggyback, undone.flush)
        self.ordering = Ordering(
            config, sequencer, unicast, nakack, self.stable, self.flush, self.reports, self._welcome
        )
        self.state = StateLayer(
            me,
            config,
            outbox,
            unicast,
            lambda: cut_number(sequencer.view, self.ordering.cut),
            undone.state,
        )
        self.ordering.discarding = lambda: self.state.discarding
        gms.flush, gms.state = self.flush, self.state
        self.admission = Admission(gms.core, outbox.endpoints, self.state)
        self.left = False
        self.asleep = False
        """The application takes no more for now."""
        self.strangers: list[tuple[Address, str]] = []
        """Who sent what only members may send; the stack takes them to report them."""
        self.last_members: tuple[Address, ...] = ()
        self._asked_for = 0
        self._outbox = outbox
        self._tracer = tracer

    @property
    def running(self) -> bool:
        """Whether this member takes part in the group."""
        return self.sequencer.running and not self.left

    @property
    def holding(self) -> bool:
        """Whether nothing may be delivered now."""
        return self.asleep or self.state.holding

    # ------------------------------------------------------------------ getting in and out

    def found(self, view: View, endpoints: Sequence[Endpoint], now: float) -> None:
        """Install the first view."""
        self._begin_trace(view)
        placed = PlacedView(view, tuple(endpoints))
        self.gms.core.begin(view)
        self.nakack.begin(view, now)
        self.sequencer.found(view)
        self._begin(placed, now)
        self.state.install(view.members, now)

    def _join(self, source: Address, body: JoinRspBody, now: float) -> None:
        view = body.placed.view
        if self.sequencer.status != "joining" or not self.gms.join(source, view):
            self._outbox.counters["join_rsp_refused"] += 1
            return
        self._begin_trace(None)
        self.unicast.renew()  # what it has said before, nobody who admits it has heard
        self.nakack.join(view, body.bundles, now)
        rsp = JoinRsp(view, body.table, body.digest, body.clock)
        self.sequencer.handle(Join(source, rsp))
        self._begin(body.placed, now)
        if self.gms.wants_state:
            self.state.joined(source, view.members)
        else:
            self.state.install(view.members, now)

    def _begin_trace(self, first: View | None) -> None:
        if self._tracer is not None:
            self._tracer.header(first)
            self.sequencer.recorder = self._tracer

    def _begin(self, placed: PlacedView, now: float) -> None:
        """Be in a first view: a founder's, or that of JOIN_RSP."""
        self.gms.install(placed, now)
        self.stable.install_view(placed.view, now)
        self.flush.begin(placed.view)
        self.last_members = placed.view.members
        self.reports.append(ViewInstalled(placed.view))

    def _install(self, placed: PlacedView, now: float) -> None:
        """The next view, in all layers from the bottom to the top."""
        view = placed.view
        self.nakack.install_view(view, now)
        self.gms.install(placed, now)
        self.stable.install_view(view, now)
        self.flush.install(view, now)
        self.ordering.install(view, now)
        self.state.install(view.members, now)
        self.admission.admitted(view)
        self.last_members = view.members
        self.reports.append(ViewInstalled(view))

    def _welcome(self, effect: SendJoinRsp) -> None:
        """Make JOIN_RSP at the cut; it leaves when GMS says so."""
        rsp = effect.rsp
        bundles = self.nakack.delivered_digest()
        body = JoinRspBody(self.gms.places.of(rsp.view), rsp.table, rsp.digest, bundles, rsp.clock)
        self.gms.welcomes[effect.to] = body

    def stopped(self) -> None:
        """SEQUENCER has stopped; the others have yet to be told."""
        self.gms.leave()
        self.stable.leave()
        if self._tracer is not None:
            self._tracer.footer()

    def ask_for_acknowledgements(self, now: float) -> None:
        """Once this member has multicast its last: do not wait until they come by themselves."""
        if self._asked_for != self.nakack.highest and self.nakack.lagging():
            self._asked_for = self.nakack.highest
            self.nakack.announce(now)

    def leave(self) -> None:
        """Be out of the group."""
        self.left = True

    @property
    def drained(self) -> bool:
        """Whether this member may stop: nothing that it sent or leads is under way."""
        return (
            self.running
            and self.sequencer.status == "leaving"
            and not self.sequencer.forward_table
            and self.nakack.drained
            and self.flush.quiet
            and self.gms.settled
            and not self.state.serving
            and not any(self.unicast.waiting(m, CONTROL) for m in self.sequencer.members)
        )

    # ------------------------------------------------------------------ one step after another

    def advance(self, now: float) -> bool:
        """Take what steps are possible; whether there may be more of them."""
        if self.left:
            return False
        while (datagram := self.unicast.consume(CONTROL, now)) is not None:
            header, _ = datagram
            self._on_control(header.source, header.body, now)
        if not self.running:
            return False
        while (datagram := self.unicast.consume(STATE, now)) is not None:
            header, _ = datagram
            self._on_state(header.source, header.body, now)
        self.flush.advance(now)
        if not self.holding:
            self.ordering.deliver(now)
        if self.flush.quiet:
            if self.stable.suspended:
                self.stable.resume(now)
        elif not self.stable.suspended:
            self.stable.suspend()
        settled = not self.holding or not self.nakack.deliverable
        if self.gms.advance(now, settled):
            return True
        return self.running and self.ordering.take_forwards(now)

    def settle(self, now: float) -> None:
        """No more steps: acknowledge, and tell what there is to tell.

        Nothing is sent again here: the answer may be waiting in the socket. The timer comes after
        all that has arrived.
        """
        if self.running:
            self.nakack.acknowledge(now)
        if not self.left and self.sequencer.status != "left":
            self.unicast.acknowledge(now)
        self.reports += self.gms.suspected
        self.gms.suspected.clear()
        self.reports += self.flush.poll()
        self.reports += self.state.poll()

    def _on_control(self, source: Address, body: Body, now: float) -> None:
        if isinstance(body, JoinRspBody):
            self._join(source, body, now)
        elif isinstance(body, StartFlush):
            if self.running and not self.knows(source):
                self._stranger(source, body)  # who was a member is told that it is none
            joining = self.sequencer.status == "joining" and self.me in body.participants
            if self.running or joining:
                self.gms.start_flush(source, body, now)
        elif not self.running:
            self._outbox.counters["not_a_member_yet"] += 1
        elif not self.knows(source):
            self._stranger(source, body)
        elif isinstance(body, FlushBody):
            self.flush.handle(source, body, now)
        elif isinstance(body, GmsBody):
            if isinstance(body, NotJoinedBody) and body.state:
                self.admission.wants_state.add(source)
            self.gms.handle(source, body, now)

    def _on_state(self, source: Address, body: Body, now: float) -> None:
        if not self.knows(source):
            self._stranger(source, body)
        elif isinstance(body, StateBody):
            self.state.handle(source, body, now)

    def knows(self, source: Address) -> bool:
        """Whether that is a member of this view, or of one that is about to be installed."""
        core = self.gms.core
        return source in core.members or any(source in view.members for view in core.held)

    def _stranger(self, source: Address, body: Body) -> None:
        self.strangers.append((source, type(body).__name__))

    # ------------------------------------------------------------------ time, and to look at

    def deadline(self) -> float:
        """When something is due."""
        if self.left or self.sequencer.status == "left":
            return NEVER
        layers = (self.unicast, self.nakack, self.stable, self.gms, self.flush, self.state)
        return min(layer.deadline() for layer in layers)

    def handle_timer(self, now: float) -> None:
        """Do what is due."""
        if self.deadline() > now:
            return
        self.unicast.handle_timer(now)
        if self.running:
            for layer in (self.nakack, self.stable, self.gms, self.flush, self.state):
                layer.handle_timer(now)

    def missing(self, now: float) -> dict[Address, str]:
        """Whom this member waits for, each with what it waits for."""
        if not self.running:
            return {}
        sequencer = self.sequencer
        found: dict[Address, str] = {}
        if sequencer.in_flight and not sequencer.is_coordinator:
            found[sequencer.members[0]] = "to sequence this member's messages"
        found |= dict.fromkeys(self.nakack.lagging(), "to acknowledge multicasts")
        return found | self.flush.missing() | self.gms.missing(now) | self.state.missing()

    def buffered(self) -> int:
        """Datagrams kept in all protocols."""
        return sum(self.unicast.buffered()) + sum(self.nakack.buffered())
