"""MEMBERSHIP: who is in the group, decided by the coordinator; simple, and honest about it.

The coordinator is the first member of the view. It admits who asks (JoinReq), takes out who has
left or been silent for too long, bundles such requests, and installs one view at a time: the next
one is decided when all survivors have installed the last. The first survivor takes over when all
members before it are suspected or have left.

A view change. A coordinator that stays decides the view at once. One that takes over first asks
the survivors (Prepare) to freeze the streams of those who are gone and to tell how much of them
has arrived (Prepared); nobody then lacks what any survivor has, because NewView names for each
stream a holder to fetch it from, and a member installs the view once it has it all. JOIN_RSP goes
to a joiner when all survivors have installed the view: whoever has joined is known to everybody.

What it does NOT guarantee. It is no virtual synchrony: what the old coordinator had sequenced and
no survivor received may have been delivered by members that crash; when the one who takes over, or
a holder, crashes during the change, survivors may differ in the old coordinator's last messages (a
member that would have to deliver past a hole leaves the group instead, and says so). There is no
agreement under partition: each side goes on with a view of its own, and sides do not merge; a
member that hears from a later or larger view without it leaves. A live but slow member can be
suspected; it is excluded all the same and must come back as a new incarnation.
"""

from __future__ import annotations

from collections.abc import Iterable

from .headers import (
    CONTROL,
    Alive,
    Excluded,
    Fetch,
    Installed,
    NewView,
    PlacedView,
    Prepare,
    Prepared,
)
from .messages import Address, Endpoint, View
from .nakack import Nakack
from .protocol import NEVER, Outbox, Protocol
from .stack_config import StackConfig
from .unicast import Unicast
from .view_change import Change

_HISTORY = 8  # views kept for members that missed some
_MAX_JOINING = 256


class Membership(Protocol):
    """The membership of one member that is in a group."""

    def __init__(
        self, me: Address, config: StackConfig, outbox: Outbox, unicast: Unicast, nakack: Nakack
    ) -> None:
        super().__init__(me, config, outbox)
        self._unicast = unicast
        self._nakack = nakack
        self.view: View | None = None
        self.history: list[PlacedView] = []
        self.change: Change | None = None
        self.suspected: list[Address] = []  # newly; the stack takes them to report them
        self.excluded = ""  # why this member is out
        self._heard: dict[Address, float] = {}
        self._silent: set[Address] = set()  # suspected, until they are heard again
        self._condemned: set[Address] = set()  # gone for good
        self._attempts = 0
        self._joining: dict[Address, Endpoint] = {}
        self._asked: dict[Address, int] = {}  # joiners of this view that still ask
        self._upcoming: list[PlacedView] = []
        self._fetch: tuple[Fetch, ...] = ()
        self._heartbeat_at = NEVER

    # ------------------------------------------------------------------ views

    def installed(self, placed: PlacedView, now: float) -> None:
        """This member has installed a view: the first one, or what `next_view` returned."""
        old = self.view.members if self.view is not None else ()
        view = placed.view
        self.view = view
        self.history = [*self.history, placed][-_HISTORY:]
        gone = set(old) - set(view.members)
        for member in gone:
            if member != self.me:
                self.outbox.endpoints.pop(member, None)
        self._unicast.forget(gone - {self.me})
        # A joiner may have been in the view before, and never have learnt of it.
        self._condemned &= set(view.members) - set(view.joiners)
        self._silent &= set(view.members) - set(view.joiners)
        self._asked.clear()
        for member in view.members:
            self._heard.setdefault(member, now)
            self._joining.pop(member, None)
        self._heard = {m: self._heard[m] for m in view.members if m not in gone}
        self._heard |= dict.fromkeys(view.joiners, now)
        self.place(placed)
        if self._heartbeat_at == NEVER:
            self._heartbeat_at = now
        leader = view.id.coordinator
        if leader != self.me and leader in view.members and len(self._upcoming) == 0:
            self._unicast.send(leader, CONTROL, Installed(view.id.counter), now)

    def place(self, placed: PlacedView) -> None:
        """Learn where the members of a view are found."""
        for member, endpoint in zip(placed.view.members, placed.endpoints, strict=True):
            if endpoint[1]:
                self.outbox.endpoints.setdefault(member, endpoint)

    def next_view(self) -> PlacedView | None:
        """Return the next view to install now, if there is one and all it needs is here.

        The stack first delivers what it can, then installs the view in every protocol. Who leads
        the change is the last to install it: were it the first and died, nobody would know of its
        view, and the next leader would give that number to another one.
        """
        if not self._upcoming or not self._nakack.has(self._fetch):
            return None
        if self.latched and self.change is not None and self.change.waiting:
            return None
        return self._upcoming.pop(0)

    @property
    def latched(self) -> bool:
        """Whether this member has decided a view that it has not installed yet.

        It multicasts nothing then: survivors that have installed the view would take it there.
        """
        return self.change is not None and not self.change.preparing and bool(self._upcoming)

    @property
    def settled(self) -> bool:
        """Whether everybody has installed the view that this member decided, if any."""
        return self.change is None or not (
            self.change.preparing or self.change.waiting or self._upcoming
        )

    # ------------------------------------------------------------------ what arrives

    def heard(self, member: Address, now: float) -> None:
        """A datagram of that member has arrived."""
        if member in self._heard:
            self._heard[member] = now
            self._silent.discard(member)

    def handle_alive(self, alive: Alive, endpoint: Endpoint) -> None:
        """A sign of life of somebody who is not in the view: tell it so."""
        view = self.view
        if view is not None and alive.source not in view.members and alive.source != self.me:
            self.outbox.send_to(Excluded(self.me, alive.source, view), endpoint)

    def handle_excluded(self, notice: Excluded) -> None:
        """Somebody's view is without this member: it is out, if that view prevails."""
        mine, theirs = self.view, notice.view
        if mine is None or notice.to != self.me or self.me in theirs.members:
            return
        if notice.source in mine.members and _rank(theirs) > _rank(mine):
            self.excluded = f"excluded from the group: {notice.source} has {theirs}"

    def handle_join(self, joiner: Address, endpoint: Endpoint) -> str:
        """Somebody asks to be admitted; returns why that cannot be, or nothing."""
        assert self.view is not None
        for member in self.view.members:
            if member.node != joiner.node or member in self._condemned:
                continue
            if member.incarnation < joiner.incarnation:
                self.condemn([member])  # its process has been replaced
            elif member.incarnation > joiner.incarnation:
                return f"{member} is a member, a later incarnation of {joiner.node}"
            elif self.outbox.endpoints.get(member) != endpoint:
                host, port = self.outbox.endpoints.get(member, ("?", 0))
                return f"{member} is a member already, at {host}:{port}; choose another name"
            elif not self._admitted_in_vain(member):
                return ""  # its JOIN_RSP is under way
        if len(self._joining) < _MAX_JOINING:
            self._joining[joiner] = endpoint
        return ""

    def _admitted_in_vain(self, joiner: Address) -> bool:
        """Whether a joiner's JOIN_RSP died with the coordinator: then it is admitted again."""
        assert self.view is not None
        if joiner not in self.view.joiners or self.view.id.coordinator == self.me:
            return False
        # One request may have been under way for long; one that has joined sends no more.
        self._asked[joiner] = self._asked.get(joiner, 0) + 1
        if self._asked[joiner] < 3:
            return False
        self.condemn([joiner])
        return True

    def handle_leaving(self, member: Address) -> None:
        """A member has stopped."""
        self.condemn([member])

    def condemn(self, members: Iterable[Address]) -> None:
        """Take these for gone, for good."""
        if self.view is not None:
            self._condemned |= {m for m in members if m in self.view.members and m != self.me}

    def handle_prepare(self, source: Address, prepare: Prepare, now: float) -> None:
        """Whoever takes over asks how far this member is."""
        if self.view is None or not self._may_lead(source):
            return
        self.condemn(prepare.gone)
        if self.me in prepare.gone:
            return
        self._upcoming = []  # if anybody has installed it, the next decision includes it
        self._unicast.send(source, CONTROL, self._prepared(prepare.attempt, prepare.gone), now)

    def _may_lead(self, source: Address) -> bool:
        """Only members lead, and nobody who is gone."""
        members = self.view.members if self.view is not None else ()
        return source in members and source not in self._condemned

    def _prepared(self, attempt: int, gone: Iterable[Address]) -> Prepared:
        frozen = self._nakack.freeze({*gone, *self._condemned})
        return Prepared(attempt, frozen, tuple(self.history))

    def handle_prepared(self, source: Address, answer: Prepared, now: float) -> None:
        """A survivor has frozen the streams of those who are gone."""
        change = self.change
        if change is None or not change.preparing or answer.attempt != change.attempt:
            return
        change.answers[source] = answer
        change.waiting.discard(source)
        self._decide_if_ready(now)

    def handle_new_view(self, source: Address, order: NewView, now: float) -> None:
        """The leader of a change has decided."""
        assert self.view is not None
        last = order.views[-1].view
        if not self._may_lead(source) or last.id.coordinator != source:
            self.counters["view_refused"] += 1
            return
        views = [p for p in order.views if p.view.id.counter > self.view.id.counter]
        expected = range(self.view.id.counter + 1, last.id.counter + 1)
        if [p.view.id.counter for p in views] != list(expected):
            self.excluded = f"it missed a view before {last}"
            return
        if any(self.me not in p.view.members for p in views):
            self.excluded = f"excluded from the group: {source} decided {last}"
            return
        for placed in views:
            self.place(placed)
        self._upcoming, self._fetch = views, order.fetch
        self._nakack.fetch(order.fetch, now)
        if not views:
            self._unicast.send(source, CONTROL, Installed(last.id.counter), now)

    def handle_installed(self, source: Address, counter: int) -> None:
        """A survivor has installed the view."""
        change = self.change
        if change is not None and not change.preparing and counter >= change.counter:
            change.waiting.discard(source)

    # ------------------------------------------------------------------ leading a change

    def advance(self, now: float) -> bool:
        """Lead a view change if it is this member's turn; whether one has just been completed."""
        view = self.view
        if view is None or self.excluded:
            return False
        gone = self._gone()
        self._give_up_upcoming(gone)
        if self.change is not None:
            self.change.waiting -= gone
            if self.change.preparing:
                if gone <= self.change.gone:
                    self._decide_if_ready(now)
                    return False
                self.change = None  # somebody else is gone: begin again
            elif self.change.waiting or self._upcoming:
                return False  # this member may be the last one, if it has to fetch something
            else:
                self.change = None
                return True
        survivors = [member for member in view.members if member not in gone]
        if survivors[0] != self.me or not (gone or self._joining) or self._upcoming:
            return False
        self._condemned |= gone
        self._attempts += 1
        change = self.change = Change(self._attempts, gone, survivors[1:])
        if view.coordinator == self.me:
            self._decide([], (Fetch(self.me, self._nakack.highest, self.me),), now)
            return False
        for member in survivors[1:]:
            body = Prepare(change.attempt, tuple(sorted(gone)))
            self._unicast.send(member, CONTROL, body, now)
        change.answers[self.me] = self._prepared(change.attempt, gone)
        self._decide_if_ready(now)
        return False

    def _gone(self) -> set[Address]:
        return self._condemned | self._silent

    def _give_up_upcoming(self, gone: set[Address]) -> None:
        """A view that cannot be completed, because its leader or a holder is gone, is dropped."""
        if not self._upcoming:
            return
        leader = self._upcoming[-1].view.id.coordinator
        holders = {holder for _, _, holder in self._fetch}
        if leader in gone or (leader == self.me and holders & gone):
            self._upcoming = []
            self.change = None

    def _decide_if_ready(self, now: float) -> None:
        change, view = self.change, self.view
        if change is None or not change.preparing or change.waiting or view is None:
            return
        self._decide(*change.survey(view), now)

    def _decide(self, before: list[PlacedView], fetch: tuple[Fetch, ...], now: float) -> None:
        """Decide the next view, after the views that only other survivors have installed."""
        change, view = self.change, self.view
        assert change is not None
        assert view is not None
        new = change.decide(self.me, view, before, self._joining)
        for joiner in new.joiners:
            self.outbox.endpoints[joiner] = self._joining.pop(joiner)
        stay = [member for member in new.members if member not in new.joiners]
        views = [*before, self.placed(new)]
        # Survivors may have missed views that this member has.
        known = tuple({p.view.id.counter: p for p in [*self.history, *views]}.values())
        for member in stay:
            if member != self.me:
                self._unicast.send(member, CONTROL, NewView(known, fetch), now)
        self._upcoming, self._fetch = views, fetch
        self._nakack.fetch(fetch, now)

    def placed(self, view: View) -> PlacedView:
        """Add the endpoints of a view's members."""
        known = self.outbox.endpoints
        return PlacedView(view, tuple(known.get(m, ("unknown", 0)) for m in view.members))

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        return self._heartbeat_at

    def handle_timer(self, now: float) -> None:
        """Give a sign of life and look for those who give none."""
        if self.view is None or now < self._heartbeat_at:
            return
        if now - self._heartbeat_at >= self.config.suspect_after / 2:
            # This process was asleep: what others sent meanwhile has still to be read.
            self._heard = dict.fromkeys(self._heard, now)
        self._heartbeat_at = now + self.config.heartbeat
        others = [member for member in self.view.members if member != self.me]
        self.outbox.multicast(self.outbox.encode(self._nakack.alive()), others)
        silent = [
            member
            for member in others
            if now - self._heard[member] >= self.config.suspect_after and member not in self._gone()
        ]
        self.suspected += silent
        self._silent |= set(silent)

    def silence(self, now: float) -> dict[Address, float]:
        """The members that have missed a few signs of life, and for how long they are silent."""
        limit = min(3 * self.config.heartbeat, self.config.suspect_after)
        others = [m for m in (self.view.members if self.view else ()) if m != self.me]
        return {m: now - self._heard[m] for m in others if now - self._heard[m] >= limit}

    def leader(self) -> Address | None:
        """Who decides the next view, as far as this member knows."""
        gone = self._gone()
        members = self.view.members if self.view is not None else ()
        return next((member for member in members if member not in gone), None)

    def missing(self) -> list[Address]:
        """The members that the running view change waits for."""
        return sorted(self.change.waiting) if self.change is not None else []


def _rank(view: View) -> tuple[int, int, Address]:
    return (view.id.counter, len(view.members), view.id.coordinator)
