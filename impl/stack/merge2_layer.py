"""MERGE2 as a layer of the stack: its core, with the messages of coordinators, and its timers.

Which other groups there are is heard from their members, as after a partition, and from `Other
groups`; every member tells its coordinator. The coordinator with the smallest address leads. GMS is
told to suspend the side when its turn has come (`Merging`), and says when it stands still at a cut
(`AtCut`, to which SEQUENCER adds its part); it is given the merged view (`InstallMerged`), and says
when all of the side have it (`SideInstalled`). What other coordinators send has passed the door
(`merge_door.py`); what cannot be true of it is refused here (`merge_checks.py`).

Messages may be lost: what is not answered is sent again. A coordinator that answers nothing, not
even that it is still at it, for as long as a suspicion takes is waited for no longer. A side that
does not come to an end of a merge within `flush_timeout` leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

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
from raincheck.impl.wire.headers import JoinHint, MergeMessage, PlacedView
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
from .passing import AtCut, Found, InstallMerged, Joined, Merging, SideInstalled
from .passing import Install as Installing
from .reports import Dropped
from .timers import NEVER

_KNOWN = 64
"""The most coordinators of other groups that are kept in mind."""
_BYTES = 450
"""As many bytes of a message of a merge may belong to one member."""
_FRESH = 3.0
"""So long after it was heard of is another group taken for one that is there."""
_PAUSE = 0.5
"""At least so long is the time between two attempts to merge, at most twice as long."""


class _Group(NamedTuple):
    """Another group: its view, where its coordinator is found, and when that was heard."""

    view: View
    place: Endpoint
    at: float


def _bound(table: dict[Any, Any]) -> None:
    """Forget the first entry of a table that has grown too large."""
    if len(table) > _KNOWN:
        del table[next(iter(table))]


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
        self._merges = self.config.on_merge != "leave"
        self._groups: dict[Address, _Group] = {}  # the other ones, by their coordinators
        self._places: dict[Address, Endpoint] = {}  # of coordinators in a merge
        self._cookies: dict[Endpoint, int] = {}
        self._last: dict[Endpoint, tuple[Address, MergeBody]] = {}  # what was sent there last
        self._told: dict[Endpoint, float] = {}  # when the coordinator was told of a group there
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
                self._do(InstallView(_plain(placed.view, placed.merge)), now)
        self.above.up(event, now)

    def _at_cut(self, cut: AtCut, now: float) -> None:
        view = self.membership.view
        assert view is not None
        known, there = self.outbox.endpoints, cut.members
        places = tuple(known.get(member, UNKNOWN) for member in there)
        at = self.digests().received
        bundles = Digest(tuple(entry for entry in at.entries if entry[0] in there))
        self._cut = Side(self.me, view.id, there, places, cut.table, cut.digest, bundles, cut.clock)
        if self.core.stage != "flushing":
            self.below.down(Merging(False), now)  # the merge is over
            return
        self._sides[self.me] = self._cut
        self._do(Flushed(frozenset(there), bundles.entries), now)

    # ------------------------------------------------------------------ other groups

    def met(self, theirs: View, who: Address, place: Endpoint, via: Endpoint, now: float) -> bool:
        """Note another group: `who`, found at `via`, has told its view, and where its leader is.

        Returns whether the leader is still to be asked, which has to say so itself.
        """
        first = self.membership.members[0]
        if first != self.me:
            if self.seldom(place, now):
                self.outbox.send_header(JoinHint(self.me, *place, 0, 0), first)
        elif place != via:
            return self.seldom(place, now)
        elif who == theirs.members[0]:
            if who in self._groups or len(self._groups) < _KNOWN:
                self._groups[who] = _Group(theirs, place, now)
            if self._try_at == NEVER:
                self._try_at = now + _PAUSE * self._random.random()
        return False

    def seldom(self, place: Endpoint, now: float) -> bool:
        """Whether nothing was said about that place for a while."""
        if now - self._told.get(place, float("-inf")) < _PAUSE:
            return False
        self._told[place] = now
        _bound(self._told)
        return True

    def _try(self, now: float) -> None:
        """Lead a merge if this coordinator comes first of those that it has heard of lately."""
        self._groups = {
            who: group for who, group in self._groups.items() if now - group.at < _FRESH
        }
        self._try_at = now + _PAUSE * (1 + self._random.random()) if self._groups else NEVER
        free = self.core.stage == "idle" and self.core.coordinates and not self.membership.gone
        if not free or self.membership.status != "member":
            return
        ours = self.membership.members
        others = {
            who: group.place
            for who, group in self._groups.items()
            if not checks.overlap(group.view, ours)
        }
        most = self.config.max_bundle // _BYTES
        everybody = len(ours) + sum(len(self._groups[who].view.members) for who in others)
        if others and everybody > most:
            detail = f"{everybody} members are too many to merge, at most {most} are not"
            self.indications.append(Dropped("merge_refused", min(others.values()), detail, 1))
        elif others and self.me < min(others):
            self._places = dict(others)
            self._sides = {}
            self._heard = dict.fromkeys(others, now)
            self._number += 1
            self._do(Merge(frozenset(others), self._number, True), now)

    # ------------------------------------------------------------------ what arrives

    def proved(self, endpoint: Endpoint, cookie: int) -> None:
        """Take the cookie that a coordinator has given to this one, and send what it refused."""
        if self._cookies.get(endpoint) != cookie and endpoint in self._last:
            self._cookies[endpoint] = cookie
            _bound(self._cookies)
            self._transmit(*self._last[endpoint], endpoint)

    def receive(self, source: Address, body: MergeBody, endpoint: Endpoint, now: float) -> str:
        """Handle a message of another coordinator; return what cannot be true of it."""
        core, merge = self.core, body.merge
        if merge == core.merge and source in self._heard:
            if self._places.get(source, endpoint) != endpoint:
                return "a message of a merge from another place than before"
            self._heard[source] = now
        if source not in self._places:
            if len(self._places) >= _KNOWN:
                spare = (who for who in self._places if who not in self._heard)
                self._places.pop(next(spare, source), None)
            self._places[source] = endpoint
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
            self._send(source, MergeAlive(merge))
            return ""
        if self.membership.status != "member":
            self._send(source, MergeRsp(merge, None))
            return ""
        self._places[source] = endpoint
        if self.core.stage == "idle":
            self._heard, self._sides = {source: now}, {}
        self._do(ReceiveMergeReq(source, merge), now)
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
        elif merge == self.core.merge:
            self._send(source, MergeAlive(merge))
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
            if not busy and self._merges and self._groups:
                self._try_at = now + _PAUSE * (1 + self._random.random())

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
                    self._send(to, MergeReq(merge))
                case SendMergeRsp(to, merge, answer):
                    self._send(to, MergeRsp(merge, None if answer is None else self._cut))
                case SendInstallMergeView(to, _, view):
                    self._send(to, self._installation(view))
                case SendInstalled(to, merge, done):
                    self._send(to, MergeInstalled(merge, done))
                case SendResume(to, merge):
                    self._send(to, MergeResume(merge))
                case SendCancel(to, merge):
                    self._send(to, MergeCancel(merge))

    def _installation(self, view: CoreView) -> InstallMergeView:
        sides = tuple(self._sides[who] for who in sorted(self.core.answers))
        return InstallMergeView(self.core.merge, View(view.id, view.members), sides)

    def _send(self, to: Address, body: MergeBody) -> None:
        place = self._places.get(to)
        if place is not None:
            self._last[place] = to, body
            _bound(self._last)
            self._transmit(to, body, place)

    def _transmit(self, to: Address, body: MergeBody, place: Endpoint) -> None:
        cookie = self._cookies.get(place, 0)
        question = self.ground.cookies.merge_question(place)
        header = MergeMessage(self.me, to, cookie, question, self.config.on_merge, body)
        self.outbox.send_to(header, place)

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
                    self._do(Suspect(who), now)
        elif now - self._since > config.flush_timeout * (1 if core.stage == "installing" else 2):
            self.ground.out(f"{self.me} has seen no end of a merge that {core.merge.leader} leads")

    # ------------------------------------------------------------------ to look at

    @property
    def drained(self) -> bool:
        return self.core.stage == "idle"
