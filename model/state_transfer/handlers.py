"""STATE TRANSFER: the twin of `spec/StateTransfer.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first
in the spec's words, followed by the effect of the spec's action on this member. Messages and calls
of the application are outputs. Rules S1 to S6 are at the head of the spec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from raincheck.model.machine.machine import Accepted, Refused, refusal, state
from raincheck.model.machine.runs import Address

from .events import (
    INPUTS,
    Ask,
    Begin,
    Begun,
    Deliver,
    EndState,
    Failed,
    GetState,
    HandUp,
    Output,
    Read,
    ReadFailed,
    ReceiveAsk,
    ReceiveCancel,
    ReceiveChunk,
    ReceiveCredit,
    ReceiveDone,
    ReceiveGo,
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

__all__ = ["HANDLERS", "INPUTS", "Local", "Rules", "Serving"]


@dataclass(frozen=True, slots=True)
class Rules:
    """The repairs that are switched on, and the window; the names are the spec's constants.

    AppliedFirst is a rule for the caller of the application, not for a member's handlers.
    """

    check_cut: bool = True
    check_chunk: bool = True
    transfer_ids: bool = True
    one_reading: bool = True
    hold_messages: bool = True
    next_provider: bool = True
    ask_again: bool = True
    living_leader: bool = True
    forget_gone: bool = True
    per_requester: bool = True
    credits: bool = True
    window: int = 2


@state
class Serving(NamedTuple):
    """A state that is being sent: its number, the next chunk, and how far the credit reaches."""

    transfer: int
    next: int
    upto: int


@state
class Local(NamedTuple):
    """A member's local state: its parts as a requester, as a provider, and as the leader.

    `members` are those who lead and have the state, in order of rank. `serving` is sorted.
    """

    address: Address
    members: tuple[Address, ...]
    suspects: frozenset[Address] = frozenset()
    phase: str = "idle"
    leader: Address | None = None
    attempt: int = 0
    provider: Address | None = None
    candidates: tuple[Address, ...] = ()
    cut: int = 0
    next: int = 1
    taken: int = 0
    granted: int = 0
    serving: tuple[tuple[Address, Serving], ...] = ()
    queue: tuple[Address, ...] = ()
    waiting: frozenset[Address] = frozenset()


Answer: TypeAlias = Accepted[Local, Output] | Refused
Step: TypeAlias = tuple[Local, tuple[Output, ...]]

# ------------------------------------------------------------------ the requester


def leader_without(members: tuple[Address, ...], gone: frozenset[Address]) -> Address | None:
    """Return the first member that is not gone."""
    return next((m for m in members if m not in gone), None)


def holding(rules: Rules, me: Local) -> bool:
    """Tell whether no message is delivered here."""
    return rules.hold_messages and me.phase in ("fetching", "setting")


def ask(_rules: Rules, me: Local, _event: Ask) -> Answer:
    """The application wants the state, or the process asks to join (S1)."""
    refused = refusal(
        (
            me.phase in ("idle", "set", "failed"),
            'requester[n].phase \\in {"idle", "set", "failed"}',
            {"phase": me.phase},
        )
    )
    return refused or Accepted(*asked(me))


def receive_go(rules: Rules, me: Local, event: ReceiveGo) -> Answer:
    """GO: the group is flushed."""
    if rules.living_leader and event.sender in me.suspects:
        return Accepted(me)
    if me.phase == "setting":
        return Accepted(me._replace(leader=event.sender))
    if me.phase not in ("asking", "fetching"):
        return Accepted(me, (SendDone(event.sender, me.phase == "set"),))
    cancel = _cancel(me)
    me = me._replace(leader=event.sender, cut=event.cut, candidates=event.providers)
    me, outputs = _tried(rules, me)
    return Accepted(me, cancel + outputs)


def receive_chunk(rules: Rules, me: Local, event: ReceiveChunk) -> Answer:
    """CHUNK: the next part of the state arrives."""
    mine = (event.sender, event.transfer) == (me.provider, me.attempt)
    if me.phase != "fetching" or (rules.transfer_ids and not mine):
        return Accepted(me)
    good = (
        (not rules.check_cut or event.cut == me.cut)
        and (not rules.check_chunk or (event.number == me.next and event.sound))
        and (not rules.credits or event.number <= me.granted)
    )
    if not good:
        return Accepted(*_rejected(rules, me))
    phase = "setting" if event.last else me.phase
    return Accepted(
        me._replace(next=me.next + 1, phase=phase), (HandUp(event.payload, event.last),)
    )


def take(rules: Rules, me: Local, _event: Take) -> Answer:
    """The application has taken a chunk: there is room for another one."""
    refused = refusal(
        (
            me.phase in ("fetching", "setting"),
            'requester[n].phase \\in {"fetching", "setting"}',
            {"phase": me.phase},
        ),
        (
            me.taken < me.next - 1,
            "requester[n].taken < requester[n].next - 1",
            {"taken": me.taken, "next": me.next},
        ),
    )
    if refused:
        return refused
    me = me._replace(taken=me.taken + 1)
    upto = me.taken + rules.window
    if (
        me.phase == "fetching"
        and me.provider is not None
        and upto - me.granted >= max(1, rules.window // 2)
    ):
        return Accepted(me._replace(granted=upto), (SendCredit(me.provider, me.attempt, upto),))
    return Accepted(me)


def receive_refuse(rules: Rules, me: Local, event: ReceiveRefuse) -> Answer:
    """REFUSE: the provider cannot give the state."""
    if me.phase != "fetching" or tuple(event) != (me.provider, me.attempt):
        return Accepted(me)
    return Accepted(*_tried(rules, me))


def time_out(rules: Rules, me: Local, _event: TimeOut) -> Answer:
    """The provider has been silent for too long."""
    refused = refusal(
        (me.phase == "fetching", 'requester[n].phase = "fetching"', {"phase": me.phase})
    )
    return refused or Accepted(*_rejected(rules, me))


def state_set(_rules: Rules, me: Local, event: StateSet) -> Answer:
    """The application has set the state that it was handed (S3), or has failed to."""
    refused = refusal(
        (
            me.phase == "setting" or (me.phase == "fetching" and not event.ok),
            'requester[n].phase = "setting" \\/ (requester[n].phase = "fetching" /\\ ~ok)',
            {"phase": me.phase, "ok": event.ok},
        )
    )
    outputs = _cancel(me) + _done(me, event.ok)
    return refused or Accepted(me._replace(phase="set" if event.ok else "failed"), outputs)


# ------------------------------------------------------------------ the provider


def receive_request(rules: Rules, me: Local, event: ReceiveRequest) -> Answer:
    """REQUEST: begin to read the application's state (S2)."""
    sender, transfer, upto = event
    if sender in me.suspects:
        return Accepted(me)
    if me.phase in ("fetching", "setting", "failed"):
        return Accepted(me, (SendRefuse(sender, transfer),))
    serving = dict(me.serving)
    old = serving.get(sender)
    if old is not None and old.transfer >= transfer:
        return Accepted(me)
    ended = [sender] if old is not None else []
    if not rules.per_requester:
        ended = list(serving)
        serving = {}
    serving[sender] = Serving(transfer, 1, upto)
    return Accepted(
        me._replace(serving=_sorted(serving)), (*map(EndState, ended), GetState(sender, transfer))
    )


def read(rules: Rules, me: Local, event: Read) -> Answer:
    """The next chunk is read from the application, and sent."""
    serving = dict(me.serving)
    mine = serving.get(event.requester)
    refused = refusal(
        (mine is not None, "r \\in DOMAIN serving[n]", {"r": event.requester}),
        (
            mine is None or mine.next == event.number,
            "the next chunk",
            {"number": event.number},
        ),
        (
            mine is None or not rules.credits or mine.next <= mine.upto,
            "Credits => serving[n][r].next <= serving[n][r].upto",
            {"serving": mine or ()},
        ),
    )
    if refused or mine is None:
        assert refused is not None
        return refused
    to, number, cut, last, payload = event
    if last:
        del serving[to]
    else:
        serving[to] = mine._replace(next=number + 1)
    chunk = SendChunk(to, mine.transfer, number, cut, True, last, payload)
    return Accepted(me._replace(serving=_sorted(serving)), (chunk,))


def read_failed(_rules: Rules, me: Local, event: ReadFailed) -> Answer:
    """The application cannot give its state."""
    serving = dict(me.serving)
    mine = serving.pop(event.requester, None)
    if mine is None:
        refused = refusal((False, "r \\in DOMAIN serving[n]", {"r": event.requester}))
        assert refused is not None
        return refused
    return Accepted(
        me._replace(serving=_sorted(serving)), (SendRefuse(event.requester, mine.transfer),)
    )


def receive_credit(_rules: Rules, me: Local, event: ReceiveCredit) -> Answer:
    """CREDIT: chunks up to there may be sent."""
    serving = dict(me.serving)
    mine = serving.get(event.sender)
    if mine is None or mine.transfer != event.transfer:
        return Accepted(me)
    serving[event.sender] = mine._replace(upto=max(mine.upto, event.upto))
    return Accepted(me._replace(serving=_sorted(serving)))


def receive_cancel(_rules: Rules, me: Local, event: ReceiveCancel) -> Answer:
    """CANCEL: the requester wants no more chunks."""
    serving = dict(me.serving)
    mine = serving.get(event.sender)
    if mine is None or mine.transfer != event.transfer:
        return Accepted(me)
    del serving[event.sender]
    return Accepted(me._replace(serving=_sorted(serving)), (EndState(event.sender),))


# ------------------------------------------------------------------ the leader


def receive_ask(_rules: Rules, me: Local, event: ReceiveAsk) -> Answer:
    """ASK, or JOIN: the requester gets its turn."""
    if event.sender in me.suspects or event.sender in me.waiting or event.sender in me.queue:
        return Accepted(me)
    return Accepted(me._replace(queue=(*me.queue, event.sender)))


def begin(_rules: Rules, me: Local, event: Begin) -> Answer:
    """The group is flushed (S1): those that asked may fetch the state."""
    refused = refusal(
        (bool(me.queue), "queue[n] # <<>>", {"queue": me.queue}),
        (not me.waiting, "waiting[n] = {}", {"waiting": me.waiting}),
    )
    if refused:
        return refused
    providers = tuple(m for m in me.members if m not in me.suspects and m not in me.queue)
    go = tuple(SendGo(to, event.cut, providers) for to in me.queue)
    return Accepted(me._replace(queue=(), waiting=frozenset(me.queue)), go)


def receive_done(_rules: Rules, me: Local, event: ReceiveDone) -> Answer:
    """DONE: the leader no longer waits for that requester."""
    if event.sender not in me.waiting:
        return Accepted(me)
    return Accepted(*_no_more(me, event.sender))


def suspect(rules: Rules, me: Local, event: Suspect) -> Answer:
    """A member is gone."""
    gone = event.member
    outputs: tuple[Output, ...] = ()
    serving = dict(me.serving)
    if serving.pop(gone, None) is not None:
        outputs = (EndState(gone),)
    me = me._replace(
        suspects=me.suspects | {gone},
        queue=tuple(m for m in me.queue if m != gone),
        serving=_sorted(serving),
    )
    if rules.forget_gone and gone in me.waiting:
        me, resumed = _no_more(me, gone)
        outputs += resumed
    more: tuple[Output, ...] = ()
    if me.phase in ("asking", "fetching") and gone == me.leader and rules.ask_again:
        me, more = asked(me)
    elif me.phase == "fetching" and gone == me.provider and rules.next_provider:
        me, more = _tried(rules, me)
    return Accepted(me, outputs + more)


def deliver(rules: Rules, me: Local, _event: Deliver) -> Answer:
    """Deliver the group's next message; a requester delivers none before its state is set."""
    refused = refusal((not holding(rules, me), "~Holding(n)", {"phase": me.phase}))
    return refused or Accepted(me)


def crash(me: Local) -> Local:
    """The process crashes; whom it knew to be gone is kept, for the sake of the spec."""
    return Local(me.address, me.members, me.suspects)


# ------------------------------------------------------------------ their parts


def asked(me: Local) -> Step:
    leader, cancel = leader_without(me.members, me.suspects), _cancel(me)
    if leader is None:
        return me._replace(phase="failed", leader=None), (*cancel, Failed())
    return me._replace(phase="asking", leader=leader), (*cancel, SendAsk(leader))


def _tried(rules: Rules, me: Local) -> Step:
    left = tuple(m for m in me.candidates if m not in me.suspects and m != me.address)
    if not left:
        return me._replace(phase="failed"), (Failed(), *_done(me, False))
    attempt = me.attempt + 1
    me = me._replace(
        phase="fetching",
        provider=left[0],
        candidates=left[1:],
        attempt=attempt,
        next=1,
        taken=0,
        granted=rules.window,
    )
    begun = (Begun(left[0], attempt),) if rules.one_reading else ()
    return me, (*begun, SendRequest(left[0], attempt, rules.window))


def _rejected(rules: Rules, me: Local) -> Step:
    cancel = _cancel(me)
    if not rules.next_provider:
        return me, cancel
    me, outputs = _tried(rules, me)
    return me, cancel + outputs


def _cancel(me: Local) -> tuple[Output, ...]:
    if me.phase != "fetching" or me.provider is None or me.provider in me.suspects:
        return ()
    return (SendCancel(me.provider, me.attempt),)


def _done(me: Local, ok: bool) -> tuple[Output, ...]:
    if me.leader is None or me.leader in me.suspects:
        return ()
    return (SendDone(me.leader, ok),)


def _no_more(me: Local, requester: Address) -> Step:
    waiting = me.waiting - {requester}
    return me._replace(waiting=waiting), () if waiting else (Resume(),)


def _sorted(serving: Mapping[Address, Serving]) -> tuple[tuple[Address, Serving], ...]:
    return tuple(sorted(serving.items()))


HANDLERS: Mapping[str, Callable[[Rules, Local, Any], Answer]] = {
    "Ask": ask,
    "ReceiveAsk": receive_ask,
    "Begin": begin,
    "ReceiveGo": receive_go,
    "ReceiveRequest": receive_request,
    "Read": read,
    "ReadFailed": read_failed,
    "ReceiveChunk": receive_chunk,
    "Take": take,
    "ReceiveCredit": receive_credit,
    "ReceiveRefuse": receive_refuse,
    "ReceiveCancel": receive_cancel,
    "TimeOut": time_out,
    "StateSet": state_set,
    "ReceiveDone": receive_done,
    "Suspect": suspect,
    "Deliver": deliver,
}
