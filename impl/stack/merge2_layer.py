"""MERGE2 as a layer of the stack: its core, with the messages of coordinators, and its timers.

Which other groups there are is heard from their members, as after a partition, and from `Other
groups`; every member tells its coordinator. The coordinator with the smallest address leads. GMS is
told to suspend the side when its turn has come (`Merging`), and says when it stands still at a cut
(`AtCut`, to which SEQUENCER adds its part); it is given the merged view (`InstallMerged`), and says
when all of the side have it (`SideInstalled`). What other coordinators send has passed the door
(`merge_door.py`); what cannot be true of it is refused here (`merge_checks.py`).

Messages may be lost: what is not answered is sent again. A coordinator that answers nothing, not
even that it is still at it, for as long as a suspicion takes is waited for no longer, and then left
alone for a while. A side that does not come to an end of a merge within `flush_timeout` leaves.

A member that is leaving takes part like any other, until it has stopped. What it has sent may wait
for this very merge.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from raincheck.impl.merge2.core import Merge2
from raincheck.impl.merge2.events import (
    NO_MERGE,
    Answer,
    Decide,
    Effect,
    Event,
    Finish,
    Flushed,
    Install,
    InstallView,
    Merge,
    MergeId,
    ReceiveCancel,
    ReceiveInstalled,
    ReceiveInstallMergeView,
    ReceiveMergeReq,
    ReceiveMergeRsp,
    ReceiveResume,
    Resend,
    Resume,
    SendCancel,
    SendInstalled,
    SendInstallMergeView,
    SendMergeReq,
    SendMergeRsp,
    SendResume,
    Suspect,
    Suspend,
)
from raincheck.impl.merge2.events import SideInstalled as AllInstalled
from raincheck.impl.merge2.events import View as CoreView
from raincheck.impl.messages import Address, Digest, Endpoint, View, ViewId
from raincheck.impl.wire.headers import PlacedView
from raincheck.impl.wire.merge_bodies import (
    InstallMergeView,
    MergeAlive,
    MergeBody,
    MergeCancel,
    MergeInstalled,
    MergeReq,
    MergeResume,
    MergeRsp,
    Side,
)

from . import merge_checks as checks
from .endpoints import UNKNOWN
from .layer import Ground, Layer
from .merge_groups import PAUSE, Coordinators, FoundGroups
from .passing import AtCut, Found, InstallMerged, Joined, Merging, SideInstalled
from .passing import Install as Installing
from .primary_layer import FORMER
from .reports import Dropped
from .timers import NEVER


def _plain(view: View, merge: MergeId | None = None) -> CoreView:
    """Return the view as MERGE2 sees it."""
    return CoreView(view.id, view.members, merge or NO_MERGE)


class Merge2Layer(Layer):
    """One member's part in merges."""

    name = "merge2"
    precedence = 6
    core: Merge2

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.core = Merge2(ground.me, _plain(View(ViewId(0, ground.me), (ground.me,))))
        self._random = Random(ground.seed + 2)
        self.found = FoundGroups(ground)
        self.coordinators = Coordinators(ground)
        self._heard: dict[Address, float] = {}  # in the present merge
        self._sides: dict[Address, Side] = {}  # as the leader: the answers
        self._cut: Side | None = None  # this side's
        self._placed: PlacedView | None = None  # the merged view that this side is to install
        self._number = 0
        self._stage = ("idle", NO_MERGE)
        self._since = 0.0  # the present stage of the present merge
        self._try_at = NEVER
        self._resend_at = NEVER

    # ------------------------------------------------------------------ events

    def up(self, event: Any, now: float) -> None:
        """Handle views, and what GMS says of the side."""
        match event:
            case AtCut():
                self._at_cut(event, now)
                return
            case SideInstalled():
                if self.core.stage == "installing" and self.core.view.merge == self.core.merge:
                    self._do(AllInstalled(), now)
                return
            case Found() | Joined() | Installing():
                placed = event.rsp.placed if isinstance(event, Joined) else event.placed
                self.found.installed(placed.view)
                self._do(InstallView(_plain(placed.view, placed.merge)), now)
        self.above.up(event, now)

    def _at_cut(self, cut: AtCut, now: float) -> None:
        view = self.membership.view
        assert view is not None
        known, there = self.outbox.endpoints, cut.members
        places = tuple(known.get(member, UNKNOWN) for member in there)
        at = self.digests().received
        bundles = Digest(tuple(entry for entry in at.entries if entry[0] in there))
        of_primary = self.ground.standing(there), self.ground.delivered(there)
        self._cut = Side(
            self.me, view.id, there, places, cut.table, cut.digest, bundles, cut.clock, *of_primary
        )
        if self.core.stage != "flushing":
            self.below.down(Merging(False), now)  # the merge is over
            return
        self._sides[self.me] = self._cut
        self._do(Flushed(frozenset(there), bundles.entries), now)

    # ------------------------------------------------------------------ other groups

    def met(self, theirs: View, who: Address, place: Endpoint, via: Endpoint, now: float) -> bool:
        """Note another group, as `FoundGroups.met`, and try to merge soon."""
        ask = self.found.met(theirs, who, place, via, now)
        if self.found and self._try_at == NEVER:
            self._try_at = now + PAUSE * self._random.random()
        return ask

    def _try(self, now: float) -> None:
        """Lead a merge if this coordinator comes first of those that it has heard of lately."""
        ours = self.membership.members
        others = self.found.apart(ours, now)
        self._try_at = now + PAUSE * (1 + self._random.random()) if self.found else NEVER
        free = self.core.stage == "idle" and self.core.coordinates and not self._stands
        if not free or self.membership.gone:
            return
        sides = [ours, *(group.view.members for group in others.values())]
        detail = checks.too_many(sides, 0 if self.config.primary is None else FORMER)
        if others and detail:
            place = others[min(others)].place
            self.indications.append(Dropped("merge_refused", place, detail, 1))
        elif others and self.me < min(others):
            self.coordinators.begin({who: group.place for who, group in others.items()})
            self._sides = {}
            self._heard = dict.fromkeys(others, now)
            self._number += 1
            self._do(Merge(frozenset(others), self._number, True), now)

    @property
    def _stands(self) -> bool:
        """Whether this side stands still in a merged view, which some of it may not have yet."""
        return self.core.view.merge != NO_MERGE and not self.latch_open()

    # ------------------------------------------------------------------ what arrives

    def receive(self, source: Address, body: MergeBody, endpoint: Endpoint, now: float) -> str:
        """Handle a message of another coordinator; return what cannot be true of it."""
        core, merge = self.core, body.merge
        known = self.coordinators.learn(source, endpoint, self._heard)
        if merge == core.merge and source in self._heard:
            if not known:
                return "a message of a merge from another place than before"
            self._heard[source] = now
        match body:
            case MergeReq():
                return self._asked(source, merge, endpoint, now)
            case MergeRsp(_, side):
                return self._answered(source, merge, side, endpoint, now)
            case InstallMergeView():
                return self._decided(source, body, endpoint, now)
            case MergeInstalled(_, done):
                if merge == core.merge and source not in core.answers:
                    return "INSTALLED of a merge that it is not in"
                self._do(ReceiveInstalled(source, merge, done), now)
            case MergeResume():
                if merge.leader == source:
                    self._do(ReceiveResume(source, merge), now)
            case MergeCancel():
                if merge.leader == source:
                    self._do(ReceiveCancel(source, merge), now)
        return ""

    def _asked(self, source: Address, merge: MergeId, endpoint: Endpoint, now: float) -> str:
        if merge.leader != source or source in self.membership.members or source > self.me:
            return f"MERGE_REQ of a merge that {merge.leader} leads"
        if merge == self.core.merge:
            self.coordinators.send(source, MergeAlive(merge))
            return ""
        if self.core.stage == "idle":
            self.coordinators.begin({source: endpoint})
            self._heard, self._sides = {source: now}, {}
        self._do(ReceiveMergeReq(source, merge, self._stands), now)
        return ""

    def _answered(
        self, source: Address, merge: MergeId, side: Side | None, endpoint: Endpoint, now: float
    ) -> str:
        answer = None
        if side is not None:
            others = [m for who, each in self._sides.items() if who != source for m in each.members]
            ours = {*self.membership.members, *others}
            problem = "" if self.core.view.merge == merge else checks.side_of(source, side, ours)
            if problem:
                return problem
            answer = Answer(
                source, side.view.counter, frozenset(side.members), side.bundles.entries
            )
        waits = merge == self.core.merge and source in self.core.waiting
        if waits and side is not None and self.core.stage in ("flushing", "answered"):
            of = dict(zip(side.members, side.places, strict=True)) | {source: endpoint}
            self._sides[source] = side._replace(places=tuple(of.values()))
            self.found.answered(source)
        elif merge == self.core.merge:
            self.coordinators.send(source, MergeAlive(merge))
        self._do(ReceiveMergeRsp(source, merge, answer), now)
        return ""

    def _decided(
        self, source: Address, body: InstallMergeView, endpoint: Endpoint, now: float
    ) -> str:
        if body.merge.leader != source:
            return f"INSTALL_MERGE_VIEW of a merge that {body.merge.leader} leads"
        if body.merge == self.core.merge and self.core.stage == "answered":
            assert self._cut is not None
            problem = checks.installation(body, self._cut, source)
            if problem:
                return problem
            self._placed = self._place(body, source, endpoint)
        digest = tuple(sorted(at for side in body.sides for at in side.bundles.entries))
        view = _plain(body.view, body.merge)
        self._do(ReceiveInstallMergeView(source, body.merge, view, digest), now)
        return ""

    def _place(self, body: InstallMergeView, leader: Address, endpoint: Endpoint) -> PlacedView:
        """Return the merged view with the places of all members but this one."""
        known = self.outbox.endpoints
        of = {m: p for side in body.sides for m, p in zip(side.members, side.places, strict=True)}
        of[leader] = endpoint
        places = tuple(
            UNKNOWN if member == self.me else known.get(member, of[member])
            for member in body.view.members
        )
        return PlacedView(body.view, places, body.merge, body.sides)

    # ------------------------------------------------------------------ carrying out

    def _do(self, event: Event, now: float) -> None:
        core = self.core
        self._carry_out(core.handle(event), now)
        if core.may_decide:
            self._carry_out(core.handle(Decide()), now)
        if core.may_finish:
            self._carry_out(core.handle(Finish()), now)
        if (core.stage, core.merge) != self._stage:
            self._stage, self._since = (core.stage, core.merge), now
            busy = core.stage != "idle"
            self._resend_at = now + self._again if busy else NEVER
            if not busy and self.found:
                self._try_at = now + PAUSE * (1 + self._random.random())

    def _carry_out(self, effects: Iterable[Effect], now: float) -> None:
        for effect in effects:
            match effect:
                case Suspend():
                    self.below.down(Merging(True), now)
                case Resume():
                    self.below.down(Merging(False), now)
                case Install(view):
                    if self.core.leads:
                        body = self._installation(view)
                        self._placed = self._place(body, self.me, UNKNOWN)
                    assert self._placed is not None
                    self.below.down(InstallMerged(self._placed), now)
                case SendMergeReq(to, merge):
                    self.coordinators.send(to, MergeReq(merge))
                case SendMergeRsp(to, merge, answer):
                    self.coordinators.send(
                        to, MergeRsp(merge, None if answer is None else self._cut)
                    )
                case SendInstallMergeView(to, _, view):
                    self.coordinators.send(to, self._installation(view))
                case SendInstalled(to, merge, done):
                    self.coordinators.send(to, MergeInstalled(merge, done))
                case SendResume(to, merge):
                    self.coordinators.send(to, MergeResume(merge))
                case SendCancel(to, merge):
                    self.coordinators.send(to, MergeCancel(merge))

    def _installation(self, view: CoreView) -> InstallMergeView:
        sides = tuple(self._sides[who] for who in sorted(self.core.answers))
        return InstallMergeView(self.core.merge, View(view.id, view.members), sides)

    # ------------------------------------------------------------------ time

    @property
    def _again(self) -> float:
        return 2 * self.config.join_interval

    def deadline(self) -> float:
        return min(self._try_at, self._resend_at)

    def handle_timer(self, now: float) -> None:
        if self._try_at <= now:
            self._try(now)
        if self._resend_at <= now:
            self._resend_at = now + self._again
            self._give_up(now)
            core, cut = self.core, self._cut
            if core.waiting - {self.me} if core.leads else core.stage in ("answered", "installed"):
                there = frozenset[Address]() if cut is None else frozenset(cut.members)
                self._do(Resend(there, () if cut is None else cut.bundles.entries), now)

    def _give_up(self, now: float) -> None:
        """Wait no longer for whoever is silent, or for a merge without an end."""
        core, config = self.core, self.config
        patience = config.suspect_after + config.verify_after
        if core.stage in ("flushing", "answered"):
            awaited = sorted(core.waiting - {self.me}) if core.leads else [core.merge.leader]
            late = not core.leads and now - self._since > 3 * config.flush_timeout
            for who in awaited:
                if late or now - self._heard.get(who, self._since) > patience:
                    if core.leads:
                        self.found.in_vain(who, now)
                    self._do(Suspect(who), now)
        elif now - self._since > config.flush_timeout * (1 if core.stage == "installing" else 2):
            self.ground.out(f"{self.me} has seen no end of a merge that {core.merge.leader} leads")

    # ------------------------------------------------------------------ to look at

    @property
    def drained(self) -> bool:
        return self.core.stage == "idle"
