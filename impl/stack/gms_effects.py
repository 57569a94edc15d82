"""GMS's core in the stack, and what becomes of its effects.

A view that GMS wants to be installed goes down, and comes up through all layers in that very step;
JOIN_RSP is made of their state (`welcomes`), to leave right after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from raincheck.impl.flush import events as flush
from raincheck.impl.flush.events import Suspended as Done
from raincheck.impl.gms.core import Gms
from raincheck.impl.gms.events import (
    Effect,
    Event,
    Out,
    Prepared,
    ReceiveAlive,
    Resume,
    SendExcluded,
    SendInstall,
    SendJoinRsp,
    SendLeave,
    SendNewView,
    SendNotJoined,
    SendViewAck,
    Suspend,
)
from raincheck.impl.gms.events import Install as Decided
from raincheck.impl.messages import Address, Endpoint, View
from raincheck.impl.wire.headers import (
    CONTROL,
    Body,
    Excluded,
    JoinRspBody,
)

from .admission import Admission
from .departures import Departures
from .gms_bodies import body_of
from .layer import Ground, Layer
from .passing import (
    Install,
)


class GmsEffects(Layer):
    """The core, and the carrying out of what it wants."""

    core: Gms

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.core = Gms(ground.me, repairs=ground.repairs.gms)
        self.admission = Admission(self.core, self.outbox.endpoints, self.config)
        self.wants_state = False
        """Whether this process asks for the group's state as it joins."""
        self._welcomes: dict[Address, JoinRspBody] = {}  # made with the installed view
        self._places = ground.places
        self._announced: set[Address] = set()  # members that the layers above know to be gone
        self._departures = Departures()
        self._suspended: Done | None = None
        self._unresumed: View | None = None  # a merged view in which nobody has gone on yet

    def _do(self, event: Event, now: float) -> None:
        self._carry_out(self._handle(event), now)
        self._tell(now)

    def _handle(self, event: Event) -> list[Effect]:
        effects = self.core.handle(event)
        self._changed()
        return effects

    def _changed(self) -> None:
        core, membership = self.core, self.membership
        membership.held, membership.suspected, membership.gone = core.held, core.suspects, core.gone
        self.stirred = True

    def _carry_out(self, effects: Iterable[Effect], now: float) -> None:
        for effect in effects:
            if isinstance(effect, Decided):
                self._welcomes.clear()
                view = effect.view
                wanting = self.admission.admitted(view)
                departures = self._departures.between(self.membership.view, view)
                self.below.down(Install(self._places.of(view), wanting, departures), now)
                self._departures.installed(view)
            elif isinstance(effect, SendNewView | SendViewAck | SendInstall | SendNotJoined):
                departed = partial(self._departures.between, self.membership.view)
                body = body_of(effect, self._places.of, self.wants_state, departed)
                self.send(effect.to, CONTROL, body, now)
            elif isinstance(effect, Suspend):
                self._suspended = None
                self.above.up(flush.Suspend(effect.participants), now)
            elif isinstance(effect, Resume):
                if self._unresumed is None:  # else all sides go on together
                    self.above.up(flush.Resume(), now)
            elif isinstance(effect, SendJoinRsp):
                rsp = self._welcomes.pop(effect.to, None)
                if rsp is not None:
                    self.send(effect.to, CONTROL, rsp, now)
            elif isinstance(effect, SendExcluded):
                self.outbox.send_header(self._notice(effect.to, effect.view), effect.to)
            elif isinstance(effect, Out):
                self.membership.excluded = (
                    f"excluded from the group: {effect.sender} decided {effect.prevails}"
                )
            else:
                # FLUSH sends the answer, and `application.py` Leaving.
                assert isinstance(effect, Prepared | SendLeave)

    def _tell(self, now: float) -> None:
        """Tell the layers above of members that are newly taken for gone."""
        core = self.core
        for member in sorted(core.gone - self._announced):
            self._announced.add(member)
            self.above.up(flush.Suspect(member), now)
        self._announced &= core.gone

    def heard_alive(self, source: Address, endpoint: Endpoint) -> None:
        """Handle a sign of life of a process that is not in the view."""
        for effect in self._handle(ReceiveAlive(source)):
            if isinstance(effect, SendExcluded):
                self.outbox.send_to(self._notice(source, effect.view), endpoint)

    def _notice(self, to: Address, view: View) -> Excluded:
        """Return EXCLUDED, with the place of whoever leads this group."""
        here = "here", 0
        leader = self.core.leader or self.me
        place = here if leader == self.me else self.outbox.endpoints.get(leader, here)
        return Excluded(self.me, to, view, self.config.merging, *place)

    def _stranger(self, source: Address, body: Body) -> None:
        self.ground.strangers.append((source, type(body).__name__))

    def _settled(self) -> bool:
        """Whether all multicasts of the old view are delivered here."""
        settled = not self.ground.holding or not self.deliverable()
        self.stirred = self.stirred or not settled  # check again in the next step
        return settled
