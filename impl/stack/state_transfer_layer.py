"""STATE TRANSFER as a layer of the stack: its core, on UNICAST, with a timer.

How the stack drives it.

    layer.install(members, now)          each view, after SEQUENCER
    layer.suspect(member, now)           as GMS hears of it
    layer.joined(leader, members)        at JOIN_RSP, where the join asked for the state too
    layer.asked(joiner)                  at the leader: that JOIN asks for the state too
    layer.ask(now)                       a member's application wants the state
    layer.wanted                         at the leader: somebody waits for a flush and `begin`
    layer.begin(now)                     at the leader: flushed, the view is installed by all
    layer.resumed()                      at the leader: whether FLUSH may resume now; says so once
    layer.holding                        deliver no message now (as when the application is slow)
    layer.discarding                     what is delivered now is not for the application
    layer.handle(source, body, now)      what lane STATE brings, once this member has joined

What is for the application comes out of `poll`, in order, and behind the batches delivered before:
GetState, EndState, Begun, HandUp, Failed of `state_transfer_events`. The shell (`state_desk.py`)
answers with `room`, `give`, `refuse`, `take` and `finish`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeAlias

from raincheck.impl.messages import Address
from raincheck.impl.state_transfer.core import Repairs, StateTransfer
from raincheck.impl.state_transfer.events import (
    Ask,
    Begin,
    Begun,
    Effect,
    EndState,
    Event,
    Failed,
    GetState,
    HandUp,
    InstallView,
    Join,
    Read,
    ReadFailed,
    ReceiveAsk,
    ReceiveCancel,
    ReceiveChunk,
    ReceiveCredit,
    ReceiveDone,
    ReceiveGo,
    ReceiveJoin,
    ReceiveRefuse,
    ReceiveRequest,
    Resume,
    SendAsk,
    SendCancel,
    SendChunk,
    SendCredit,
    SendDone,
    SendGo,
    SendRefuse,
    SendRequest,
    StateSet,
    Suspect,
    Take,
    TimeOut,
)
from raincheck.impl.wire.datagrams import HEADROOM
from raincheck.impl.wire.headers import STATE

from .config import StackConfig
from .state_transfer_bodies import (
    StateAsk,
    StateBody,
    StateCancel,
    StateChunk,
    StateCredit,
    StateDone,
    StateGo,
    StateRefuse,
    StateRequest,
    checksum,
)
from .timers import NEVER, Outbox, Protocol
from .unicast_layer import UnicastLayer

Indication: TypeAlias = GetState | EndState | Begun | HandUp | Failed
"""What the application is told or asked."""


def cut_number(view: int, delivered: int) -> int:
    """Number the cut behind the first so many messages of a view: one number for each cut."""
    return ((view & 0xFFFFF) << 40) + delivered


class StateLayer(Protocol):
    """One member's part in state transfers. `cut` tells the number of the cut that it is at."""

    def __init__(
        self,
        me: Address,
        config: StackConfig,
        outbox: Outbox,
        unicast: UnicastLayer,
        cut: Callable[[], int],
        repairs: Repairs | None = None,
    ) -> None:
        super().__init__(me, config, outbox)
        self.core = StateTransfer(me, window=config.state_window, repairs=repairs)
        self.core.counters = outbox.counters
        self.max_chunk = config.max_bundle - HEADROOM
        self._unicast = unicast
        self._cut = cut
        self._indications: list[Indication] = []
        self._resume = False
        self._silent_at = NEVER
        self._progress: tuple[object, ...] = ()

    # ------------------------------------------------------------------ for the stack

    @property
    def holding(self) -> bool:
        """Whether no message may be delivered now."""
        return self.core.holding

    @property
    def discarding(self) -> bool:
        """Whether what is delivered now is in the state that the application will get."""
        return self.core.discarding

    @property
    def wanted(self) -> bool:
        """Whether it is somebody's turn, once the group is flushed."""
        return bool(self.core.queue) and not self.core.waiting

    @property
    def serving(self) -> bool:
        """Whether this member is sending its state, or waits for somebody to get one."""
        return bool(self.core.serving or self.core.waiting)

    def joined(self, leader: Address, members: Iterable[Address]) -> None:
        """Be admitted, by a leader that was asked for the state with the join."""
        self.core.handle(Join(leader, tuple(members)))

    def asked(self, joiner: Address) -> None:
        """A join asks for the state too."""
        self.core.handle(ReceiveJoin(joiner))

    def ask(self, now: float) -> None:
        """Ask for the state; raises NotEnabled while it is asked for already."""
        self._do(Ask(), now)

    def begin(self, now: float) -> None:
        """Let those fetch the state who asked; `resumed` says when they have done so."""
        self._do(Begin(self._cut()), now)

    def resumed(self) -> bool:
        """Whether nobody is waited for any more; True once for each `begin`."""
        resume, self._resume = self._resume, False
        return resume

    def suspect(self, member: Address, now: float) -> None:
        """That member is gone."""
        self._do(Suspect(member), now)

    def install(self, members: Iterable[Address], now: float) -> None:
        """Know the members of the next view."""
        self._do(InstallView(tuple(members)), now)

    def handle(self, source: Address, body: StateBody, now: float) -> None:
        """A message of state transfer arrives."""
        self._do(self._event(source, body), now)

    def poll(self) -> list[Indication]:
        """Return what is for the application, once."""
        found, self._indications = self._indications, []
        return found

    def missing(self) -> dict[Address, str]:
        """Whom this member waits for, each with what it waits for."""
        return self.core.missing()

    # ------------------------------------------------------------------ for the shell

    def room(self, requester: Address) -> bool:
        """Whether a chunk for that requester is wanted now."""
        return self.core.room(requester)

    def give(self, requester: Address, payload: bytes, last: bool, now: float) -> None:
        """Send the next chunk of this member's state; only where there is `room`."""
        number = self.core.serving[requester].next
        self._do(Read(requester, number, self._cut(), last, payload), now)

    def refuse(self, requester: Address, now: float) -> None:
        """The application cannot give its state."""
        if requester in self.core.serving:
            self._do(ReadFailed(requester), now)

    def take(self, now: float) -> None:
        """The application has taken a chunk."""
        self._do(Take(), now)

    def finish(self, ok: bool, now: float) -> None:
        """set_state has returned, or failed."""
        self._do(StateSet(ok), now)

    # ------------------------------------------------------------------ time

    def deadline(self) -> float:
        return self._silent_at

    def handle_timer(self, now: float) -> None:
        if self._silent_at <= now:
            self._do(TimeOut(), now)

    # ------------------------------------------------------------------ inside

    def _do(self, event: Event, now: float) -> None:
        self._carry_out(self.core.handle(event), now)

    def _carry_out(self, effects: Iterable[Effect], now: float) -> None:
        todo = deque(effects)
        while todo:
            effect = todo.popleft()
            if isinstance(effect, Resume):
                self._resume = True
            elif isinstance(effect, GetState | EndState | Begun | HandUp | Failed):
                self._indications.append(effect)
            else:
                body = _body(effect)
                if effect.to == self.me:  # such a message arrives at once
                    todo.extend(self.core.handle(self._event(self.me, body)))
                else:
                    self._unicast.send(effect.to, STATE, body, now)
        core = self.core
        progress = (core.phase, core.attempt, core.next, core.granted)
        if progress != self._progress:
            # Silence counts only while there is credit: a slow application is not the provider's
            # fault.
            expecting = core.phase == "fetching" and core.next <= core.granted
            self._silent_at = now + self.config.state_timeout if expecting else NEVER
            self._progress = progress

    def _event(self, source: Address, body: StateBody) -> Event:
        match body:
            case StateChunk(transfer, number, cut, crc, last, payload):
                sound = crc == checksum(transfer, number, cut, last, payload)
                return ReceiveChunk(source, transfer, number, cut, sound, last, payload)
            case StateCredit(transfer, upto):
                return ReceiveCredit(source, transfer, upto)
            case StateAsk():
                return ReceiveAsk(source)
            case StateGo(_, providers):  # what counts is where this member's own messages begin
                return ReceiveGo(source, self._cut(), providers)
            case StateDone(ok):
                return ReceiveDone(source, ok)
            case StateRequest(transfer, upto):
                return ReceiveRequest(source, transfer, upto)
            case StateRefuse(transfer):
                return ReceiveRefuse(source, transfer)
            case StateCancel(transfer):
                return ReceiveCancel(source, transfer)


_Message: TypeAlias = (
    SendAsk | SendGo | SendRequest | SendChunk | SendCredit | SendRefuse | SendCancel | SendDone
)


def _body(message: _Message) -> StateBody:
    """Return the body of a message."""
    match message:
        case SendChunk(_, transfer, number, cut, _, last, payload):
            crc = checksum(transfer, number, cut, last, payload)
            return StateChunk(transfer, number, cut, crc, last, payload)
        case SendCredit(_, transfer, upto):
            return StateCredit(transfer, upto)
        case SendAsk():
            return StateAsk()
        case SendGo(_, cut, providers):
            return StateGo(cut, providers)
        case SendDone(_, ok):
            return StateDone(ok)
        case SendRequest(_, transfer, upto):
            return StateRequest(transfer, upto)
        case SendRefuse(_, transfer):
            return StateRefuse(transfer)
        case SendCancel(_, transfer):
            return StateCancel(transfer)
