"""GMS as a layer of the stack: its core, bound to FLUSH, failure detection and state transfer.

How the stack drives it.

    layer.core.begin(view)                a first view: a founder's
    layer.join(source, view)              JOIN_RSP; whether this process is a member now
    layer.install(placed, now)            each view, after NAKACK has it
    layer.leaving(member)                 LEAVE
    layer.start_flush(source, body, now)  START_FLUSH of another member, before FLUSH sees it
    layer.handle(source, body, now)       each GmsBody, of UNICAST's lane CONTROL
    layer.advance(now, settled)           what is possible now; `settled`: nothing that belongs to
                                          the old view is still to be delivered here

A view is installed by calling `install`, in the very step in which GMS says so: the layers take it
over in their order, and JOIN_RSP is made of their state (`welcome`), to leave right after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from raincheck.impl.flush.events import Piggyback
from raincheck.impl.gms.core import Gms, Repairs
from raincheck.impl.gms.events import (
    BeginChange,
    Effect,
    Event,
    Finish,
    Install,
    InstallView,
    Leave,
    Out,
    Prepared,
    ReceiveAlive,
    ReceiveExcluded,
    ReceiveJoinRsp,
    ReceiveLeave,
    ReceivePrepare,
    RequestTransfer,
    Resume,
    SendExcluded,
    SendInstall,
    SendJoinRsp,
    SendLeave,
    SendNewView,
    SendNotJoined,
    SendViewAck,
    Suspect,
    Suspend,
    Suspended,
)
from raincheck.impl.messages import Address, Endpoint, View
from raincheck.impl.wire.headers import (
    CONTROL,
    Alive,
    Excluded,
    GmsBody,
    JoinRspBody,
    NewViewBody,
    PlacedView,
    StartFlush,
)

from .config import StackConfig
from .endpoints import Places
from .failure_detection import FailureDetection
from .flush_layer import FlushLayer
from .gms_bodies import answers_of, arrival, body_of
from .reports import Suspected as SuspectedReport
from .state_transfer_layer import StateLayer
from .timers import Outbox, Protocol
from .unicast_layer import UnicastLayer


class GmsLayer(Protocol):
    """One member's part in the membership."""

    def __init__(
        self,
        me: Address,
        config: StackConfig,
        outbox: Outbox,
        unicast: UnicastLayer,
        alive: Callable[[Collection[Address]], Alive],
        install: Callable[[PlacedView, float], None],
        repairs: Repairs | None = None,
    ) -> None:
        super().__init__(me, config, outbox)
        self.core = Gms(me, repairs=repairs)
        self.detection = FailureDetection(me, config, outbox, alive)
        self.flush: FlushLayer
        self.state: StateLayer
        self.view: View | None = None
        """The view installed last, kept when this member is out."""
        self.suspected: list[SuspectedReport] = []
        """Newly; the stack takes them to report them."""
        self.wants_state = False
        """This process asks for the group's state as it joins."""
        self.excluded = ""
        """Why this member is out."""
        self.welcomes: dict[Address, JoinRspBody] = {}
        """JOIN_RSPs, made when the view was installed."""
        self.places = Places(outbox.endpoints)
        self._unicast = unicast
        self._install_all = install
        self._told: set[Address] = set()  # who is gone, and FLUSH and STATE TRANSFER know it
        self._proposed: tuple[Address, NewViewBody] | None = None
        self._transferring = False

    # ------------------------------------------------------------------ getting in and out

    def join(self, source: Address, view: View) -> bool:
        """JOIN_RSP has arrived; whether it makes this process a member."""
        return bool(self.core.handle(ReceiveJoinRsp(source, view)))

    def leaving(self, member: Address, now: float) -> None:
        """LEAVE: a member has stopped."""
        self._do(ReceiveLeave(member), now)

    def leave(self) -> None:
        """This member has stopped; `goodbye` tells the others."""
        self.core.handle(Leave())

    # ------------------------------------------------------------------ what arrives

    def start_flush(self, source: Address, body: StartFlush, now: float) -> None:
        """START_FLUSH: GMS sees it first, and FLUSH only if GMS takes part."""
        event = ReceivePrepare(source, body.fid.view, body.participants)
        effects = self.core.handle(event)
        self._carry_out(effects, now)
        if any(isinstance(effect, Prepared) for effect in effects):
            # FLUSH must not take those for left out whom a leader that is behind cannot know.
            everybody = (*body.participants, *self.core.unknown_to(body.fid.view))
            self.flush.handle(source, StartFlush(body.fid, everybody), now)
        elif not effects:
            self.counters["start_refused"] += 1
        self._tell(now)

    def handle(self, source: Address, body: GmsBody, now: float) -> None:
        """A message of GMS."""
        if isinstance(body, NewViewBody):
            self._proposed = source, body  # once the old view is delivered to its end
        else:
            self._do(arrival(source, body), now)

    def alive(self, source: Address, endpoint: Endpoint) -> None:
        """A sign of life of somebody who is not in the view."""
        for effect in self.core.handle(ReceiveAlive(source)):
            if isinstance(effect, SendExcluded):
                self.outbox.send_to(Excluded(self.me, source, effect.view), endpoint)

    def out(self, source: Address, view: View, now: float) -> None:
        """EXCLUDED."""
        self._do(ReceiveExcluded(source, view), now)

    def piggyback(self) -> Piggyback:
        """What goes with FLUSH_COMPLETED: the installed view, then those that are held."""
        view = self.core.view
        return tuple(map(self.places.of, (view, *self.core.held))) if view is not None else ()

    # ------------------------------------------------------------------ views

    def install(self, placed: PlacedView, now: float) -> None:
        """Learn where the members are found, and forget who is out."""
        view, old = placed.view, self.view
        self.detection.watch(view.members, view.joiners, now)
        out = set(old.members) - set(view.members) - {self.me} if old is not None else set()
        self.places.forget(out)
        self._unicast.forget(out)
        self.places.learn([placed])
        self.view = view

    # ------------------------------------------------------------------ one step after another

    def advance(self, now: float, settled: bool) -> bool:
        """Take what steps are possible; whether one was taken."""
        core = self.core
        if not core.running:
            return False
        self._suspicions(now)
        if not core.running:
            return False
        suspended, self.flush.suspended = self.flush.suspended, None
        if suspended is not None and core.phase == "flushing":
            for _, views in suspended.answers:
                self.places.learn(views)
            self._do(Suspended(answers_of(suspended.answers, self.me)), now)
            return True
        if self._proposed is not None and settled:
            (source, body), self._proposed = self._proposed, None
            self.places.learn([body.placed])
            self._do(arrival(source, body), now)
            return True
        if core.leader == self.me and self.state.wanted and not core.transfer:
            core.handle(RequestTransfer())
        if core.may_begin:
            self._do(BeginChange(), now)
            return True
        if core.may_install and settled:
            self._do(InstallView(), now)
            return True
        return core.may_finish and self._finish(now)

    def _suspicions(self, now: float) -> None:
        for found in self.detection.take():
            if found.member not in self.core.members:
                continue
            if isinstance(found, Suspect):
                self.suspected.append(SuspectedReport(found.member))
            self._do(found, now)
        unanswered, self.flush.unanswered = self.flush.unanswered, {}
        for member, what in unanswered.items():
            if member in self.core.members and member not in self.core.gone:
                self.suspected.append(SuspectedReport(member, f"it failed {what}"))
                self._do(Suspect(member), now)

    def _finish(self, now: float) -> bool:
        """Transfer the state if anybody wants it, then let the group go on."""
        if not self._transferring and self.state.wanted:
            self.state.begin(now)
            self._transferring = True
        if self._transferring and not self.state.resumed():
            return False
        self._transferring = False
        self._do(Finish(), now)
        return True

    # ------------------------------------------------------------------ carrying out

    def _do(self, event: Event, now: float) -> None:
        self._carry_out(self.core.handle(event), now)
        self._tell(now)

    def _carry_out(self, effects: Iterable[Effect], now: float) -> None:
        for effect in effects:
            if isinstance(effect, Install):
                self.welcomes.clear()
                self._install_all(self.places.of(effect.view), now)
            elif isinstance(effect, SendNewView | SendViewAck | SendInstall | SendNotJoined):
                self._unicast.send(
                    effect.to, CONTROL, body_of(effect, self.places.of, self.wants_state), now
                )
            elif isinstance(effect, Suspend):
                self.flush.suspend(effect.participants, now)
            elif isinstance(effect, Resume):
                self.flush.resume(now)
            elif isinstance(effect, SendJoinRsp):
                body = self.welcomes.pop(effect.to, None)
                if body is not None:
                    self._unicast.send(effect.to, CONTROL, body, now)
            elif isinstance(effect, SendExcluded):
                self.outbox.send_header(Excluded(self.me, effect.to, effect.view), effect.to)
            elif isinstance(effect, Out):
                self.excluded = (
                    f"excluded from the group: {effect.sender} decided {effect.prevails}"
                )
            else:
                assert isinstance(effect, Prepared | SendLeave)  # of FLUSH, and of `goodbye`

    def _tell(self, now: float) -> None:
        """Who is newly taken for gone is not waited for any more."""
        core = self.core
        for member in sorted(core.gone - self._told):
            self._told.add(member)
            self.flush.suspect(member, now)
            self.state.suspect(member, now)
        self._told &= core.gone

    # ------------------------------------------------------------------ time, and to look at

    def deadline(self) -> float:
        return self.detection.deadline() if self.core.running else float("inf")

    def handle_timer(self, now: float) -> None:
        if self.core.running:
            self.detection.handle_timer(now)

    @property
    def settled(self) -> bool:
        """Whether no view change is under way, as far as this member knows."""
        core = self.core
        return core.phase == "idle" and not core.held and self._proposed is None

    def missing(self, now: float) -> dict[Address, str]:
        """Whom this member waits for, each with what it waits for."""
        found: dict[Address, str] = {}
        if self.core.waiting:
            words = "hold the next view ready" if self.core.phase == "installing" else "install it"
            found |= dict.fromkeys(sorted(self.core.waiting), f"to {words}")
        silent = self.detection.silence(now)
        return found | {m: f"silent for {s:.1f} s" for m, s in silent.items()}
