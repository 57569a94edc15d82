"""FLUSH as a layer of the stack: its core, on UNICAST and NAKACK, with the application's block().

GMS wants a flush (Suspend) and is told when it is done (Suspended), or who lets it wait
(Unanswered); Resume ends it. While the latch is closed no multicast passes from above.

The requester, who coordinates, is the last to close its latch: what the others' block() sends is
still sequenced, delivered in the old view, and may be waited for.

A joiner takes no part in the flush that admits it, and its latch is open. What it multicasts itself
would reach members that stand still, in the middle of a state transfer. So it waits until it is
told, too, that the flush is over: by the same STOP_FLUSH, which FLUSH's core does not see.

What is for the application comes out of `poll`, in order: Block, Unblock, LatchOpened of
`flush.events`. An application that did not ask for it (`asks`) is not asked: its messages wait.
A member whose block() does not return within `application_timeout` leaves the group, its own
coordinator included: for the others, and for the specification, it has crashed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from raincheck.impl.flush.core import Flush
from raincheck.impl.flush.events import (
    Block,
    BlockOk,
    Control,
    Effect,
    Event,
    FetchStreams,
    Freeze,
    InstallView,
    Multicast,
    OpenLatch,
    Reconciled,
    Resume,
    Suspect,
    Suspend,
    Suspended,
    TakeDigest,
    Yield,
    arrival,
)
from raincheck.impl.messages import Address
from raincheck.impl.sequencer.events import Data
from raincheck.impl.wire.headers import CONTROL, Fid, FlushBody, StopFlush

from .layer import Ground, Layer
from .passing import Fetched, Found, Install, Joined, Mail, Quiet, Unanswered
from .reports import Stopped
from .timers import NEVER

_MULTICAST = Multicast()


class FlushLayer(Layer):
    """One member's part in flushes."""

    name = "flush"
    core: Flush
    precedence = 2

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        opens = self.config.open_latch_after is not None
        self.core = Flush(ground.me, open_latch=opens, repairs=ground.repairs.flush)
        self.asks = False
        """Whether the application has a block() to be called."""
        self._quiet = True
        self._newcomer = False  # the flush that has admitted this member may still be on
        self._others: frozenset[Address] = frozenset()  # of the other sides, which flush them
        self._returned = False  # block() has returned, and BlockOk is still to be handed in
        self._phase: tuple[object, ...] = ()  # what the requester waits for
        self._patience_at = NEVER
        self._part: Fid | None = None  # the flush that keeps this member blocked
        self._open_at = NEVER
        self._hung_at = NEVER  # when block() has not returned in time

    # ------------------------------------------------------------------ events

    def up(self, event: Any, now: float) -> None:
        """Handle GMS's requests, views, and FLUSH's messages."""
        match event:
            case Mail(_, StopFlush(fid)) if self._newcomer and fid != self.core.flush:
                self._newcomer = False
            case Mail(source, body) if isinstance(body, FlushBody):
                self._do(arrival(source, body), now)
                if self.core.asked is not None and self.core.flush != self.core.asked:
                    self._do(Yield(), now)  # its side has become a part of another group
            case Fetched(fetches):
                if self.core.fetching == fetches:
                    self._do(Reconciled(), now)
            case Suspend():
                if self.core.asked is not None:
                    self._do(Yield(), now)  # of a merge that this view change goes on from
                self._others = frozenset()
                self._do(event, now)
            case Resume():
                self._resume(event, now)
            case Suspect():
                self._do(event, now)
                self.above.up(event, now)
            case Install(placed):
                view, merged = placed.view, bool(placed.sides)
                self._others = frozenset(view.joiners if merged else ())
                self._do(InstallView(view.id.counter, view.members, merged), now)
                self.above.up(event, now)
            case Found() | Joined():
                view = (event.rsp if isinstance(event, Joined) else event).placed.view
                self.core.begin(view.id.counter, view.members)
                self._newcomer = isinstance(event, Joined)
                self.above.up(event, now)
            case _:
                self.above.up(event, now)

    def _resume(self, event: Resume, now: float) -> None:
        """End the flush, and tell so the members that came during it, too."""
        core, fid = self.core, self.core.asked
        if fid is None:
            return  # another member's flush has taken its place
        known = {*core.participants, *core.suspects, *self._others}
        joiners = [member for member in core.members if member not in known]
        self._do(event, now)
        for member in joiners:
            self.below.send(member, CONTROL, StopFlush(fid), now)

    def may_multicast_unordered(self) -> bool:
        """Whether the latch is open, also to what a joiner multicasts itself."""
        return not self._newcomer and self.may_multicast()

    def latch_open(self) -> bool:
        """Whether this member may send new messages."""
        return self.core.open

    def may_multicast(self) -> bool:
        """Whether the latch is open, and the layers below let it pass."""
        return self.core.open and self.below.may_multicast()

    def multicast(self, data: Data, now: float) -> None:
        """Pass a multicast down; raises NotEnabled while the latch is closed."""
        self.core.handle(_MULTICAST)  # which changes nothing: there is nothing to follow
        self.below.multicast(data, now)

    # ------------------------------------------------------------------ for the application

    @property
    def quiet(self) -> bool:
        """Whether this member neither takes part in a flush nor runs one."""
        return self.core.blocked == "no" and self.core.asked is None

    @property
    def drained(self) -> bool:
        return self.quiet

    def block_ok(self, now: float) -> None:
        """Note that block() has returned; no effect if it was not called."""
        if self.core.blocked == "calling":
            self._returned = True
            self._hung_at = NEVER
            self._answer_in_turn(now)

    def missing(self, now: float) -> Mapping[Address, str]:
        del now
        waiting = self.core.waiting()
        if self._returned:
            waiting.pop(self.me, None)
        if self._newcomer and self.ground.unordered:
            waiting.setdefault(self.core.members[0], "to stop the flush")
        return waiting

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        return min(self._patience_at, self._open_at, self._hung_at)

    def handle_timer(self, now: float) -> None:
        if self._hung_at <= now:
            self.counters["application_hung"] += 1
            self.ground.hung("has not returned from block()")
            return
        if self._patience_at <= now:
            # This timer covers only members that owe an answer to START_FLUSH or RECONCILE.
            late = {m: what for m, what in self.core.waiting().items() if m != self.me}
            self.counters["flush_unanswered"] += len(late)
            self.below.down(Unanswered(late), now)
            self._patience_at = now + self.config.flush_timeout
        if self._open_at <= now:
            self.counters["latch_opened"] += 1
            self._do(OpenLatch(), now)

    # ------------------------------------------------------------------ inside

    def _do(self, event: Event, now: float) -> None:
        self._carry_out(self.core.handle(event), now)
        self._arm(now)
        self._answer_in_turn(now)
        if self.quiet != self._quiet:
            self._quiet = not self._quiet
            self.below.down(Quiet(self._quiet), now)

    def _arm(self, now: float) -> None:
        """Restart the timers when the flush enters another phase."""
        core, config = self.core, self.config
        phase = (core.asked, core.suspended, len(core.completed) == len(core.participants))
        if phase != self._phase:
            self._phase = phase
            waits = core.asked is not None and not core.suspended
            self._patience_at = now + config.flush_timeout if waits else NEVER
        part = core.flush if core.blocked == "yes" else None
        if part != self._part:
            self._part = part
            after = config.open_latch_after
            self._open_at = now + after if part is not None and after is not None else NEVER

    def _answer_in_turn(self, now: float) -> None:
        """Close the latch and take the digest, in one step; the requester is the last to do so."""
        core = self.core
        if not self._returned or core.blocked != "calling":
            return
        if core.flush == core.asked and any(
            member not in core.completed for member in core.participants if member != self.me
        ):
            return
        self._returned = False
        member, received = self.membership, self.below.digests().received
        views = (member.view, *member.held) if member.view is not None else ()
        self._do(BlockOk(received, tuple(map(self.ground.places.of, views))), now)

    def _carry_out(self, effects: Iterable[Effect], now: float) -> None:
        todo = deque(effects)
        while todo:
            effect = todo.popleft()
            if isinstance(effect, Control):
                if effect.to == self.me:  # messages to oneself arrive at once
                    todo.extend(self.core.handle(arrival(self.me, effect.body)))
                else:
                    self.below.send(effect.to, CONTROL, effect.body, now)
            elif isinstance(effect, Block) and self.asks:
                self.ground.reports.append(effect)
                self._hung_at = now + self.config.application_timeout
            elif isinstance(effect, Block | TakeDigest):
                if isinstance(effect, Block):
                    self.ground.reports.append(Stopped())
                self._returned = True
            elif isinstance(effect, Freeze | FetchStreams | Suspended):
                self.below.down(effect, now)
            else:
                self._newcomer = False  # it was unblocked
                self.ground.reports.append(effect)
