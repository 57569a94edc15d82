"""GMS as a layer of the stack: its core, with FLUSH, failure detection and the leader's door.

Messages of UNICAST come by here first: who is no member may answer a join and begin a flush, else
nothing of it goes further up. `gms_effects.py` carries out what the core wants, `gms_merging.py`
has what MERGE2 asks for.

FLUSH is told to suspend the survivors and says when it has; STATE TRANSFER says whether anybody
wants the state, and when they have it. What is possible is looked at again when something that it
depends on has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raincheck.impl.flush.events import Suspended as Done
from raincheck.impl.gms.events import (
    BeginChange,
    Finish,
    InstallView,
    Leave,
    Prepared,
    ReceiveExcluded,
    ReceiveJoin,
    ReceiveJoinRsp,
    ReceiveLeave,
    ReceivePrepare,
    RequestTransfer,
    Suspect,
    Suspended,
    Trust,
)
from raincheck.impl.messages import Address, Endpoint, View
from raincheck.impl.sequencer.events import SendJoinRsp as Welcome
from raincheck.impl.sequencer.events import Stop
from raincheck.impl.wire.headers import (
    Body,
    GmsBody,
    JoinRspBody,
    NewViewBody,
    NotJoinedBody,
    PlacedView,
    StartFlush,
)

from .departures import LEFT
from .gms_bodies import answers_of, arrival
from .gms_merging import GmsMerging
from .layer import Ground
from .merged import local
from .passing import (
    Found,
    Install,
    InstallMerged,
    Joined,
    Mail,
    Merging,
    Quiet,
    SideInstalled,
    Transfer,
    Transferred,
    Unanswered,
    Wanted,
)
from .reports import Suspected as SuspectedReport


class GmsLayer(GmsMerging):
    """One member's part in the membership protocol."""

    name = "gms"
    precedence = 3

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._found: list[Suspect | Trust] = []  # by FAILURE DETECTION, for the next step
        self._proposed: tuple[Address, NewViewBody] | None = None
        self._unanswered: dict[Address, str] = {}
        self._transferring = False
        self._transferred = False

    # ------------------------------------------------------------------ events

    def up(self, event: Any, now: float) -> None:
        """Handle views, suspicions, and the messages of UNICAST's lane CONTROL."""
        match event:
            case Mail(source, body):
                self._mail(source, body, event, now)
                return
            case Suspect() | Trust():
                self._found.append(event)
                self.stirred = True
                return
            case Found(placed):
                self.core.begin(placed.view)
                self._install(placed)
            case Joined(rsp=rsp):
                self._install(rsp.placed)
            case Install(placed):
                self._install(placed)
                self._unresumed = placed.view if placed.sides else None
        self.above.up(event, now)

    def down(self, event: Any, now: float) -> None:
        """Handle the events of the layers above."""
        match event:
            case Done():
                self._suspended = event
            case Unanswered(members):
                self._unanswered |= members
            case Wanted(wanted):
                self._wanted = wanted
            case Transferred():
                self._transferred = True
            case Merging(wanted):
                self._merge(wanted, now)
            case InstallMerged(placed):
                self._install_merged(placed, now)
            case Welcome(to, rsp):
                bundles, placed = self.below.digests().delivered, self._places.of(rsp.view)
                body = JoinRspBody(placed, rsp.table, rsp.digest, bundles, rsp.clock)
                self._welcomes[to] = body
            case Quiet(True):
                self._unresumed = None  # FLUSH has let this member go on
                self.below.down(event, now)
            case Stop():
                self._handle(Leave())
                self.below.down(event, now)
            case _:
                self.below.down(event, now)
        self.stirred = True

    def _mail(self, source: Address, body: Body, mail: Mail, now: float) -> None:
        membership = self.membership
        if isinstance(body, JoinRspBody):
            self._join(source, body, now)
        elif isinstance(body, StartFlush):
            if membership.running and not membership.knows(source):
                self._stranger(source, body)  # a former member is answered EXCLUDED
            joining = membership.status == "joining" and self.me in body.participants
            if self.core.status in ("left", "excluded"):
                self.counters["not_a_member_any_more"] += 1
            elif (
                membership.running and source not in self.core.members and membership.knows(source)
            ):
                self._early = source, body  # of the other side in a merged view
                self.stirred = True
            elif membership.running or joining:
                self.start_flush(source, body, now)
        elif not membership.running:
            self.counters["not_a_member_yet"] += 1
        elif not membership.knows(source):
            self._stranger(source, body)
        elif isinstance(body, GmsBody):
            if isinstance(body, NotJoinedBody) and body.state:
                self.admission.wants_state.add(source)
            self.handle(source, body, now)
        else:
            self.above.up(mail, now)

    def _join(self, source: Address, rsp: JoinRspBody, now: float) -> None:
        joins = ReceiveJoinRsp(source, rsp.placed.view)
        if self.membership.status != "joining" or not self._handle(joins):
            self.counters["join_rsp_refused"] += 1
        else:
            self.below.down(Joined(source, rsp, self.wants_state), now)

    def leaving(self, member: Address, now: float) -> None:
        """Handle LEAVE: a member has stopped."""
        self._departures.note(member, LEFT)
        self._do(ReceiveLeave(member), now)

    # ------------------------------------------------------------------ what arrives

    def start_flush(self, source: Address, body: StartFlush, now: float) -> None:
        """Handle START_FLUSH, and pass it up to FLUSH only if GMS takes part."""
        event = ReceivePrepare(source, body.fid.view, body.participants)
        effects = self._handle(event)
        self._carry_out(effects, now)
        if any(isinstance(effect, Prepared) for effect in effects):
            # A leader in an earlier view does not know all members; they are not gone for FLUSH.
            everybody = (*body.participants, *self.core.unknown_to(body.fid.view))
            self.above.up(Mail(source, StartFlush(body.fid, everybody)), now)
        elif not effects:
            self.counters["start_refused"] += 1
        self._tell(now)

    def handle(self, source: Address, body: GmsBody, now: float) -> None:
        """Handle a message of GMS."""
        if isinstance(body, NewViewBody):
            self._proposed = source, body  # handled once the old view is delivered to its end
            self.stirred = True
        else:
            self._do(arrival(source, body), now)

    def request(self, joiner: Address, endpoint: Endpoint, state: bool, now: float) -> None:
        """Handle a JOIN at the leader that is not refused."""
        if self.admission.takes(joiner, endpoint, state):
            self._do(ReceiveJoin(joiner), now)

    def out(self, source: Address, view: View, now: float) -> None:
        """Handle EXCLUDED; several members may say so."""
        if self.core.running:
            self._do(ReceiveExcluded(source, view), now)

    # ------------------------------------------------------------------ views

    def _install(self, placed: PlacedView) -> None:
        """Learn the members' endpoints, and forget those of all but members and joiners."""
        membership, view = self.membership, placed.view
        staying = {self.me, *view.members, *self.core.joining}
        staying.update(member for held in self.core.held for member in held.members)
        self._places.keep(staying)
        if membership.status == "joining":  # what it has heard of places so far proves nothing
            unsaid = zip(view.members, placed.endpoints, strict=True)
            self._places.keep({self.me, *(member for member, place in unsaid if not place[1])})
        self._places.learn([placed])
        membership.view = view._replace(joiners=()) if placed.sides else view
        if membership.status == "joining":
            membership.become("member")

    # ------------------------------------------------------------------ one step after another

    def step(self, now: float) -> bool:
        """Take a step that is possible; whether one was taken."""
        self.stirred = False
        core = self.core
        if core.running:
            self._suspicions(now)
        if not core.running:
            return False
        suspended, self._suspended = self._suspended, None
        if suspended is not None and core.phase == "flushing":
            answers = []
            for member, views in suspended.answers:
                self._places.learn(views)
                answers.append((member, tuple(local(placed, self.me) for placed in views)))
            self._do(Suspended(answers_of(answers, self.me)), now)
            return True
        if self._proposed is not None and self._settled():
            (source, body), self._proposed = self._proposed, None
            self._hold(source, body, now)
            return True
        if self._early is not None and self._early[0] in core.members:
            early, self._early = self._early, None
            self.start_flush(*early, now)
            return True
        wanted = self._takes_state or self._merging == "wanted"
        if core.leader == self.me and wanted and not core.transfer:
            self._handle(RequestTransfer())
        if core.may_begin:
            self._do(BeginChange(), now)
            return True
        if core.may_install and self._settled():
            self._do(InstallView(), now)
            return True
        return core.may_finish and self._finish(now)

    def _suspicions(self, now: float) -> None:
        news, self._found = self._found, []
        for found in news:
            if found.member not in self.core.members:
                continue
            if isinstance(found, Suspect):
                self._suspected(SuspectedReport(found.member))
            else:
                self._departures.forget(found.member)
            self._do(found, now)
        unanswered, self._unanswered = self._unanswered, {}
        for member, what in unanswered.items():
            if member in self.core.members and member not in self.core.gone:
                self._suspected(SuspectedReport(member, f"it failed {what}"))
                self._do(Suspect(member), now)

    def _suspected(self, report: SuspectedReport) -> None:
        self.indications.append(report)
        self._departures.note(report.member, report.why)

    def _finish(self, now: float) -> bool:
        """Transfer the state if a member wants it, then let the group resume."""
        if not self._transferring and self._takes_state:
            self._transferring = True
            self.above.up(Transfer(), now)
        if self._transferring and not self._transferred:
            return False
        self._transferring = self._transferred = False
        if self._cutting:
            return self._stand_still(now)
        self._do(Finish(), now)
        if self._merging == "installing":
            self._merging = ""
            self.above.up(SideInstalled(), now)
        return True

    # ------------------------------------------------------------------ to look at

    @property
    def drained(self) -> bool:
        """Whether this member knows of no view change under way."""
        core = self.core
        return core.phase == "idle" and not core.held and self._proposed is None

    def missing(self, now: float) -> Mapping[Address, str]:
        del now
        found: dict[Address, str] = {}
        if self.core.waiting:
            ready = self.core.phase == "installing"
            words = "to hold the next view ready" if ready else "to install it"
            found |= dict.fromkeys(sorted(self.core.waiting), words)
        return found
