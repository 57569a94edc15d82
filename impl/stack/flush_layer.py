"""FLUSH as a layer of the stack: its core, on UNICAST and NAKACK, with the application's block().

How the stack drives it.

    layer.begin(view)                    a first view: a founder's, or JOIN_RSP's
    layer.install(view, now)             each further view, after NAKACK, UNICAST and STABLE
    layer.suspend(participants, now)     GMS wants a flush; `suspended` says when it is done
    layer.resume(now)                    ... and has what it wanted it for
    layer.suspect(member, now)           GMS takes a member for gone
    layer.handle(source, body, now)      each FlushBody, of UNICAST's lane CONTROL
    layer.advance(now)                   what is possible now: the end of a fetch
    layer.block_ok(now)                  block() has returned

The requester, who coordinates, is the last to close its latch: what the others' block() sends is
still sequenced, delivered in the old view, and may be waited for.

What is for the application comes out of `poll`, in order: Block, Unblock, LatchOpened of
`flush_events`. An application that did not ask for it (`asks`) is not asked: its messages wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeAlias

from raincheck.impl.flush.core import Flush, Repairs
from raincheck.impl.flush.events import (
    Block,
    BlockOk,
    Control,
    Effect,
    Event,
    FetchStreams,
    Freeze,
    InstallView,
    LatchOpened,
    Multicast,
    OpenLatch,
    Piggyback,
    Reconciled,
    Resume,
    Suspect,
    Suspend,
    Suspended,
    TakeDigest,
    Unblock,
    arrival,
)
from raincheck.impl.messages import Address, View
from raincheck.impl.wire.headers import CONTROL, Fid, FlushBody

from .config import StackConfig
from .nakack_layer import NakackLayer
from .timers import NEVER, Outbox, Protocol
from .unicast_layer import UnicastLayer

Indication: TypeAlias = Block | Unblock | LatchOpened
"""What the application is asked or told."""


class FlushLayer(Protocol):
    """One member's part in flushes."""

    def __init__(
        self,
        me: Address,
        config: StackConfig,
        outbox: Outbox,
        unicast: UnicastLayer,
        nakack: NakackLayer,
        piggyback: Callable[[], Piggyback],
        repairs: Repairs | None = None,
    ) -> None:
        super().__init__(me, config, outbox)
        self.core = Flush(me, open_latch=config.open_latch_after is not None, repairs=repairs)
        self.asks = False
        """Whether the application has a block() to be called."""
        self.suspended: Suspended | None = None
        """The flush that this member asked for is done; the stack takes it from here."""
        self.unanswered: dict[Address, str] = {}
        """Participants that let a flush wait for too long; the stack takes them from here."""
        self._unicast = unicast
        self._nakack = nakack
        self._piggyback = piggyback
        self._indications: list[Indication] = []
        self._returned = False  # block() has, and the answer is still to be given
        self._phase: tuple[object, ...] = ()  # what the requester waits for
        self._patience_at = NEVER
        self._part: Fid | None = None  # the flush that keeps this member blocked
        self._open_at = NEVER

    # ------------------------------------------------------------------ for the stack

    @property
    def open(self) -> bool:
        """Whether multicasts pass."""
        return self.core.open

    @property
    def quiet(self) -> bool:
        """Whether this member neither takes part in a flush nor runs one."""
        return self.core.blocked == "no" and self.core.asked is None

    def begin(self, view: View) -> None:
        """Be in a first view."""
        self.core.begin(view.id.counter, view.members)

    def install(self, view: View, now: float) -> None:
        """Know the next view."""
        self._do(InstallView(view.id.counter, view.members), now)

    def suspend(self, participants: Iterable[Address], now: float) -> None:
        """Begin a flush; who is left out is taken for gone."""
        self.suspended = None
        self._do(Suspend(tuple(participants)), now)

    def resume(self, now: float) -> None:
        """End it."""
        self._do(Resume(), now)

    def suspect(self, member: Address, now: float) -> None:
        """That member is gone."""
        self._do(Suspect(member), now)

    def handle(self, source: Address, body: FlushBody, now: float) -> None:
        """A message of FLUSH arrives, from a member of the view."""
        self._do(arrival(source, body), now)

    def multicast(self, now: float) -> None:
        """A multicast passes; raises NotEnabled while the latch is closed."""
        self._do(Multicast(), now)

    def block_ok(self, now: float) -> None:
        """block() has returned; harmless when nobody has called it."""
        if self.core.blocked == "calling":
            self._returned = True
            self._answer_in_turn(now)

    def advance(self, now: float) -> None:
        """Say so when everything that was to be fetched has arrived."""
        fetching = self.core.fetching
        if fetching and self._nakack.has(fetching):
            self._do(Reconciled(), now)

    def poll(self) -> list[Indication]:
        """Return what is for the application, once."""
        found, self._indications = self._indications, []
        return found

    def missing(self) -> dict[Address, str]:
        """Whom this member waits for, each with what it waits for."""
        waiting = self.core.waiting()
        if self._returned:
            waiting.pop(self.me, None)
        return waiting

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        return min(self._patience_at, self._open_at)

    def handle_timer(self, now: float) -> None:
        if self._patience_at <= now:
            # Only who does not answer START_FLUSH or RECONCILE is waited for here.
            late = {m: what for m, what in self.core.waiting().items() if m != self.me}
            self.counters["flush_unanswered"] += len(late)
            self.unanswered |= late
            self._patience_at = now + self.config.flush_timeout
        if self._open_at <= now:
            self.counters["latch_opened"] += 1
            self._do(OpenLatch(), now)

    # ------------------------------------------------------------------ inside

    def _do(self, event: Event, now: float) -> None:
        self._carry_out(self.core.handle(event), now)
        self._arm(now)
        self._answer_in_turn(now)

    def _arm(self, now: float) -> None:
        """Be patient anew with each attempt, and with each half of it."""
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
        """The latch closes and the digest is taken: one step, and the requester's is the last."""
        core = self.core
        if not self._returned or core.blocked != "calling":
            return
        if core.flush == core.asked and any(
            member not in core.completed for member in core.participants if member != self.me
        ):
            return
        self._returned = False
        self._do(BlockOk(self._nakack.received_digest(), self._piggyback()), now)

    def _carry_out(self, effects: Iterable[Effect], now: float) -> None:
        todo = deque(effects)
        while todo:
            effect = todo.popleft()
            if isinstance(effect, Control):
                if effect.to == self.me:  # such a message arrives at once
                    todo.extend(self.core.handle(arrival(self.me, effect.body)))
                else:
                    self._unicast.send(effect.to, CONTROL, effect.body, now)
            elif isinstance(effect, Block) and self.asks:
                self._indications.append(effect)
            elif isinstance(effect, Block | TakeDigest):
                self._returned = True
            elif isinstance(effect, Freeze):
                self._nakack.freeze(effect.gone)
            elif isinstance(effect, FetchStreams):
                self._nakack.fetch(effect.fetches, now)
            elif isinstance(effect, Suspended):
                self.suspended = effect
            else:
                self._indications.append(effect)
