"""STATE TRANSFER as a layer of the stack: its core, on UNICAST, with a timer.

It tells GMS when somebody waits for the group to be flushed (Wanted); GMS tells it when the group
stands still (Transfer), and is told when it may go on (Transferred). What is delivered comes by
here: while this member discards, it is in the state that the application will get.

What is for the application comes out of `poll`, in order, and behind the batches delivered before:
GetState, EndState, Begun, HandUp, Failed of `state_transfer.events`. The shell
(`aio/state_callbacks.py`) answers with `room`, `give`, `refuse`, `take` and `finish`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from raincheck.impl.flush.events import Suspect
from raincheck.impl.messages import UNORDERED, Address
from raincheck.impl.sequencer.events import Deliver
from raincheck.impl.state_transfer.core import StateTransfer
from raincheck.impl.state_transfer.events import (
    Ask,
    AskAnew,
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
    Merge,
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
    Take,
    TimeOut,
)
from raincheck.impl.state_transfer.events import Suspect as Gone
from raincheck.impl.wire.datagrams import HEADROOM
from raincheck.impl.wire.headers import STATE, PlacedView
from raincheck.impl.wire.state_bodies import (
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

from .layer import Ground, Layer
from .merged import yielding
from .passing import Discarded, Found, Install, Joined, Mail, Transfer, Transferred, Wanted
from .timers import NEVER


def cut_number(view: int, delivered: int, unordered: int = 0) -> int:
    """Return the number of a cut: after so many ordered and unordered messages of that view."""
    return ((view & 0xFFFF) << 44) + ((unordered & 0xFF) << 36) + delivered


class StateTransferLayer(Layer):
    """One member's part in state transfers."""

    name = "state_transfer"
    precedence = 5
    core: StateTransfer

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        window, repairs = self.config.state_window, ground.repairs.state
        self.core = StateTransfer(ground.me, window=window, repairs=repairs)
        self.core.counters = self.counters
        self.max_chunk = self.config.max_bundle - HEADROOM
        self._view = 0
        self._delivered = 0  # in this view, of the messages in the order of all
        self._unordered = 0  # of the others
        self._wanted = False
        self._silent_at = NEVER
        self._progress: tuple[object, ...] = ()
        self._owed = False  # this member's side has merged, and has to take the other one's state

    # ------------------------------------------------------------------ events

    def up(self, event: Any, now: float) -> None:
        """Handle deliveries, events of GMS, views, and the messages of UNICAST's lane STATE."""
        match event:
            case Deliver(messages, view, payloads):
                if messages.first == UNORDERED:
                    self._unordered += messages.size
                else:
                    self._delivered += messages.size
                passed = Discarded(messages, view, payloads) if self.core.discarding else event
                self.above.up(passed, now)
            case Mail(source, body) if isinstance(body, StateBody):
                self._do(self._event(source, body), now)
            case Suspect(member):
                self._do(Gone(member), now)
            case Transfer():
                self._do(Begin(self._cut()), now)
            case Found() | Joined() | Install():
                self._install(event, now)
                self.above.up(event, now)
            case _:
                self.above.up(event, now)

    def _install(self, event: Found | Joined | Install, now: float) -> None:
        placed = event.rsp.placed if isinstance(event, Joined) else event.placed
        view = placed.view
        self._view, self._delivered, self._unordered = view.id.counter, 0, 0
        if isinstance(event, Joined) and event.state:
            self.core.handle(Join(event.source, view.members, view.id.counter))
            self._noted(now)
        else:
            self._do(InstallView(view.members, view.id.counter), now)
            self._ask_anew(placed, now)
        for joiner in event.wanting if isinstance(event, Install) else ():
            self._do(ReceiveJoin(joiner), now)
        if placed.sides and self.config.on_merge == "state":
            self._merge(placed, now)

    def _ask_anew(self, placed: PlacedView, now: float) -> None:
        """Ask the first member for the state, if the one that was asked will not see to it.

        After a merge that may be a member that is there, and leads nobody any more.
        """
        members, asked = placed.view.members, self.core.leader
        parted = self._owed and asked not in members
        if self.core.phase == "asking" and (parted or (placed.sides and asked != members[0])):
            self._do(AskAnew(), now)

    def _merge(self, placed: PlacedView, now: float) -> None:
        """Have the sides of a merged view that do not prevail take the state of the one that does.

        Until they have it they are not given what is delivered: it is in that state.
        """
        first, taking = placed.view.members[0], yielding(placed)
        if self.me in taking:
            self._owed = True
            self._do(Merge(first), now)
        if first == self.me:
            for member in taking:
                self._do(ReceiveJoin(member), now)
        self._noted(now)

    def _cut(self) -> int:
        return cut_number(self._view, self._delivered, self._unordered)

    def ask(self, now: float) -> None:
        """Ask for the state; raises NotEnabled while a request is under way."""
        self._do(Ask(), now)

    @property
    def drained(self) -> bool:
        """Whether this member neither provides its state nor leads a transfer."""
        return not (self.core.serving or self.core.waiting)

    def missing(self, now: float) -> Mapping[Address, str]:
        del now
        return self.core.missing()

    # ------------------------------------------------------------------ for the shell

    def room(self, requester: Address) -> bool:
        """Whether that requester has credit for a chunk."""
        return self.core.room(requester)

    def give(self, requester: Address, payload: bytes, last: bool, now: float) -> None:
        """Send the next chunk of this member's state; requires `room`."""
        number = self.core.serving[requester].next
        self._do(Read(requester, number, self._cut(), last, payload), now)

    def refuse(self, requester: Address, now: float) -> None:
        """Refuse: the application cannot give its state."""
        if requester in self.core.serving:
            self._do(ReadFailed(requester), now)

    def take(self, now: float) -> None:
        """Note that the application has taken a chunk."""
        self._do(Take(), now)

    def finish(self, ok: bool, now: float) -> None:
        """Note that set_state has returned, or failed."""
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
                self.below.down(Transferred(), now)
            elif isinstance(effect, GetState) and self.core.discarding:
                # Of what it discards, this member's own state has nothing.
                todo.extend(self.core.handle(ReadFailed(effect.requester)))
            elif isinstance(effect, GetState | EndState | Begun | HandUp | Failed):
                self.indications.append(effect)
            else:
                body = _body(effect)
                if effect.to == self.me:  # messages to oneself arrive at once
                    todo.extend(self.core.handle(self._event(self.me, body)))
                else:
                    self.send(effect.to, STATE, body, now)
        core = self.core
        if self._owed and core.phase in ("set", "failed"):
            self._owed = False
            if core.phase == "failed":
                self.ground.out(
                    f"{self.me} has merged, and has not got the group's state; join again"
                )
        progress = (core.phase, core.attempt, core.next, core.granted)
        if progress != self._progress:
            # Silence counts only while the provider has credit: a slow application here is not its
            # fault.
            expecting = core.phase == "fetching" and core.next <= core.granted
            self._silent_at = now + self.config.state_timeout if expecting else NEVER
            self._progress = progress
        self._noted(now)

    def _noted(self, now: float) -> None:
        """Tell the layers what the core's state requires: deliveries held, requesters waiting."""
        core, holding = self.core, self.ground.holding
        if core.holding:
            holding.add(self.name)
        else:
            holding.discard(self.name)
        self.ground.stateless = core.holding or core.discarding
        wanted = bool(core.queue) and not core.waiting
        if wanted != self._wanted:
            self._wanted = wanted
            self.below.down(Wanted(wanted), now)

    def _event(self, source: Address, body: StateBody) -> Event:
        match body:
            case StateChunk(transfer, number, cut, crc, last, payload):
                sound = crc == checksum(transfer, number, cut, last, payload)
                return ReceiveChunk(source, transfer, number, cut, sound, last, payload)
            case StateCredit(transfer, upto):
                return ReceiveCredit(source, transfer, upto)
            case StateAsk():
                return ReceiveAsk(source)
            case StateGo(_, providers):  # the cut that counts is this member's own
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
