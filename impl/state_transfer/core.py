"""STATE TRANSFER: a requester gets the application's state from a provider, at one cut.

The twin of `spec/StateTransfer.tla` (seeds/flush.txt, "on state transfer"): one handler per action.
Three roles, and a member may have all of them:

    requester  Ask -> GO -> REQUEST ... CHUNK, CREDIT ... -> set_state returns -> DONE
    provider   REQUEST -> chunks are read from its application, as far as credit goes
    leader     ASK -> its queue -> the group is flushed -> GO ... all DONE -> Resume

A cut is the number of messages that a member has delivered (in the stack, with the view's number).
A requester takes a chunk only of the very cut behind which its own messages begin, so what it knows
in the end is right even where the flush was not: then the transfer fails, and says so.

From GO until set_state has returned the requester delivers nothing (`holding`). Messages to oneself
are looped back. A handler whose guard is false raises NotEnabled and changes nothing; what arrives
too late, or is garbage, is counted in `counters` and never raises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address

from .events import (
    Ask,
    Begin,
    Begun,
    Deliver,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The repairs of the text's holes, by the spec's constants. Only tests turn any of them off."""

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


class Serving(NamedTuple):
    """A state that is being sent: its number, the next chunk, and how far credit goes."""

    transfer: int
    next: int
    upto: int


class StateTransfer:
    """The state of one member; the attributes have the names of the spec's variables."""

    def __init__(
        self,
        me: Address,
        members: tuple[Address, ...] = (),
        *,
        window: int = 16,
        repairs: Repairs | None = None,
    ) -> None:
        self.me = me
        self.window = window
        self.repairs = repairs or Repairs()
        self.members = members
        self.suspects: frozenset[Address] = frozenset()
        # the requester
        self.phase = "idle"  # "asking", "fetching", "setting", "set", "failed"
        self.leader: Address | None = None
        self.attempt = 0
        self.provider: Address | None = None
        self.candidates: tuple[Address, ...] = ()
        self.cut = 0
        self.next = 1
        self.taken = 0
        self.granted = 0
        # the provider, and the leader
        self.serving: dict[Address, Serving] = {}
        self.queue: tuple[Address, ...] = ()
        self.waiting: frozenset[Address] = frozenset()
        self.newcomer = False
        self.counters: Counter[str] = Counter()
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            Ask: self.ask,
            ReceiveAsk: self.receive_ask,
            Begin: self.begin,
            ReceiveGo: self.receive_go,
            ReceiveRequest: self.receive_request,
            Read: self.read,
            ReadFailed: self.read_failed,
            ReceiveChunk: self.receive_chunk,
            Take: self.take,
            ReceiveCredit: self.receive_credit,
            ReceiveRefuse: self.receive_refuse,
            ReceiveCancel: self.receive_cancel,
            TimeOut: self.time_out,
            StateSet: self.state_set,
            ReceiveDone: self.receive_done,
            Suspect: self.suspect,
            Deliver: self.deliver,
            ReceiveJoin: self.receive_join,
            Join: self.join,
            InstallView: self.install_view,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    @property
    def holding(self) -> bool:
        """Whether no message may be delivered: the state that it follows is not set yet."""
        return self.repairs.hold_messages and self.phase in ("fetching", "setting")

    @property
    def discarding(self) -> bool:
        """Whether what is delivered is not for the application: the state that it will get has it.

        So it is with a joiner whose leader is gone before the state was here.
        """
        return self.newcomer and self.phase == "asking"

    def room(self, requester: Address) -> bool:
        """Whether the next chunk for that requester may be read now."""
        serving = self.serving.get(requester)
        return serving is not None and not (self.repairs.credits and serving.next > serving.upto)

    def missing(self) -> dict[Address, str]:
        """Whom this member waits for, each with what it waits for."""
        found = dict.fromkeys(sorted(self.waiting), "to receive the state")
        if self.phase == "asking" and self.leader is not None:
            found[self.leader] = "to begin the state transfer"
        if self.phase == "fetching" and self.provider is not None:
            found[self.provider] = f"to send the state (chunk {self.next})"
        return found

    # ------------------------------------------------------------------ the requester

    def ask(self, _event: Ask) -> list[Effect]:
        """The application wants the group's state."""
        self._guard("Ask", "phase", self.phase in ("idle", "set", "failed"), self.phase)
        return self._ask()

    def receive_go(self, event: ReceiveGo) -> list[Effect]:
        """The group is flushed: fetch the state."""
        if self.repairs.living_leader and event.sender in self.suspects:
            return self._count("state_go_of_one_gone")  # DONE would reach nobody
        if self.phase == "setting":  # the state is here already, of this very cut
            self.leader = event.sender
            return []
        if self.phase not in ("asking", "fetching"):
            return [SendDone(event.sender, self.phase == "set")]
        effects = self._cancel()
        self.leader, self.cut = event.sender, event.cut
        self.candidates = event.providers
        return effects + self._try_next()

    def receive_chunk(self, event: ReceiveChunk) -> list[Effect]:
        """A part of the state: handed up if it is the next one, of this transfer and this cut."""
        repairs, mine = self.repairs, (self.provider, self.attempt)
        if self.phase != "fetching" or (
            repairs.transfer_ids and (event.sender, event.transfer) != mine
        ):
            return self._count("state_chunk_of_another_transfer")
        if repairs.check_cut and event.cut != self.cut:
            return self._reject("state_chunk_of_another_cut")
        if repairs.check_chunk and (event.number != self.next or not event.sound):
            return self._reject("state_chunk_damaged")
        if repairs.credits and event.number > self.granted:
            return self._reject("state_chunk_beyond_credit")
        self.next += 1
        if event.last:
            self.phase = "setting"
        return [HandUp(event.payload, event.last)]

    def take(self, _event: Take) -> list[Effect]:
        """The application has taken a chunk: there is room for more."""
        here = self.phase in ("fetching", "setting") and self.taken < self.next - 1
        self._guard("Take", "taken < next - 1", here, (self.phase, self.taken, self.next))
        self.taken += 1
        upto = self.taken + self.window
        if self.phase != "fetching" or self.provider is None:
            return []
        if upto - self.granted < max(1, self.window // 2):  # spare a datagram for each chunk
            return []
        self.granted = upto
        return [SendCredit(self.provider, self.attempt, upto)]

    def receive_refuse(self, event: ReceiveRefuse) -> list[Effect]:
        """The provider cannot: ask another one."""
        if self.phase != "fetching" or (event.sender, event.transfer) != (
            self.provider,
            self.attempt,
        ):
            return self._count("state_refusal_of_another_transfer")
        return self._try_next()

    def time_out(self, _event: TimeOut) -> list[Effect]:
        """The provider says nothing: ask another one."""
        self._guard("TimeOut", "phase", self.phase == "fetching", self.phase)
        return self._reject("state_provider_silent")

    def state_set(self, event: StateSet) -> list[Effect]:
        """set_state is over: the messages behind the cut may be delivered."""
        whole = self.phase == "setting" or (self.phase == "fetching" and not event.ok)
        self._guard("StateSet", "phase", whole, self.phase)
        effects = self._cancel()
        self.phase = "set" if event.ok else "failed"
        self.newcomer = False
        return effects + self._done(event.ok)

    # ------------------------------------------------------------------ the provider

    def receive_request(self, event: ReceiveRequest) -> list[Effect]:
        """A requester wants this member's state."""
        sender, transfer, upto = event
        if sender in self.suspects:
            return self._count("state_request_of_one_gone")
        if self.phase in ("fetching", "setting", "failed"):
            return [SendRefuse(sender, transfer)]  # it has no whole state itself
        old = self.serving.get(sender)
        if old is not None and old.transfer >= transfer:
            return self._count("state_request_outdated")
        ended: list[Address] = [sender] if old is not None else []
        if not self.repairs.per_requester:
            ended = list(self.serving)
        for requester in ended:
            del self.serving[requester]
        self.serving[sender] = Serving(transfer, 1, upto)
        return [*map(EndState, ended), GetState(sender, transfer)]

    def read(self, event: Read) -> list[Effect]:
        """The application has given the next chunk."""
        requester, number, cut, last, payload = event
        serving = self.serving.get(requester)
        fits = serving is not None and number == serving.next and self.room(requester)
        self._guard("Read", "number = next and next <= upto", fits, (number, serving))
        assert serving is not None
        if last:
            del self.serving[requester]
        else:
            self.serving[requester] = serving._replace(next=number + 1)
        return [SendChunk(requester, serving.transfer, number, cut, True, last, payload)]

    def read_failed(self, event: ReadFailed) -> list[Effect]:
        """The application cannot give its state."""
        serving = self.serving.pop(event.requester, None)
        self._guard("ReadFailed", "requester in serving", serving is not None, event.requester)
        assert serving is not None
        return [SendRefuse(event.requester, serving.transfer)]

    def receive_credit(self, event: ReceiveCredit) -> list[Effect]:
        """The requester has room for more chunks."""
        serving = self.serving.get(event.sender)
        if serving is None or serving.transfer != event.transfer:
            return self._count("state_credit_outdated")
        self.serving[event.sender] = serving._replace(upto=max(serving.upto, event.upto))
        return []

    def receive_cancel(self, event: ReceiveCancel) -> list[Effect]:
        """The requester wants no more."""
        serving = self.serving.get(event.sender)
        if serving is None or serving.transfer != event.transfer:
            return self._count("state_cancel_outdated")
        del self.serving[event.sender]
        return [EndState(event.sender)]

    # ------------------------------------------------------------------ the leader

    def receive_ask(self, event: ReceiveAsk) -> list[Effect]:
        """Somebody wants the state: it gets its turn in the queue."""
        if event.sender in self.suspects:
            return self._count("state_asked_by_one_gone")
        if event.sender not in self.queue and event.sender not in self.waiting:
            self.queue = (*self.queue, event.sender)
        return []

    def begin(self, event: Begin) -> list[Effect]:
        """The group is flushed: those who asked may fetch the state."""
        self._guard("Begin", "queue # <<>>", bool(self.queue), ())
        self._guard("Begin", "waiting = {}", not self.waiting, self.waiting)
        queue, self.queue = self.queue, ()
        providers = tuple(m for m in self.members if m not in queue and m not in self.suspects)
        self.waiting = frozenset(queue)
        return [SendGo(requester, event.cut, providers) for requester in queue]

    def receive_done(self, event: ReceiveDone) -> list[Effect]:
        """A requester has its state, or has given up."""
        if event.sender not in self.waiting:
            return self._count("state_done_unexpected")
        return self._no_more(event.sender)

    def suspect(self, event: Suspect) -> list[Effect]:
        """A member is gone: nobody waits for it any more."""
        gone = event.member
        self.suspects |= {gone}
        self.queue = tuple(m for m in self.queue if m != gone)
        effects: list[Effect] = []
        if self.serving.pop(gone, None) is not None:
            effects.append(EndState(gone))
        if self.repairs.forget_gone and gone in self.waiting:
            effects += self._no_more(gone)
        if self.phase not in ("asking", "fetching"):
            return effects
        if gone == self.leader and self.repairs.ask_again:
            return effects + self._cancel() + self._ask()
        if self.phase == "fetching" and gone == self.provider and self.repairs.next_provider:
            effects += self._try_next()
        return effects

    def deliver(self, _event: Deliver) -> list[Effect]:
        """A message may be delivered here; the stack asks `holding`, which is the same."""
        self._guard("Deliver", "~Holding(n)", not self.holding, self.phase)
        return []

    # ------------------------------------------------------------------ the view

    def install_view(self, event: InstallView) -> list[Effect]:
        """Know the members of the next view; who is not among them any more is gone."""
        before, self.members = self.members, event.members
        gone = [m for m in before if m not in self.members and m not in self.suspects]
        effects = [effect for member in gone for effect in self.suspect(Suspect(member))]
        # Addresses are of one life: who is gone and out of the view does not come back.
        self.suspects = frozenset(m for m in self.suspects if m in self.members)
        return effects

    def join(self, event: Join) -> list[Effect]:
        """Be admitted by that leader, whom this process asked for the state as it asked to join."""
        self._guard("Join", "phase", self.phase == "idle", self.phase)
        self.members = event.members
        self.phase, self.leader = "asking", event.leader
        self.newcomer = True
        return []

    def receive_join(self, event: ReceiveJoin) -> list[Effect]:
        """A joiner that asked for the state with its JOIN is admitted: as if it asked now."""
        return self.receive_ask(ReceiveAsk(event.joiner))

    # ------------------------------------------------------------------ their parts

    def _ask(self) -> list[Effect]:
        self.leader = next((m for m in self.members if m not in self.suspects), None)
        if self.leader is None:
            return self._fail()
        self.phase = "asking"
        return [SendAsk(self.leader)]

    def _cancel(self) -> list[Effect]:
        """Tell the provider, unless it is gone or has sent everything."""
        if self.phase != "fetching" or self.provider is None or self.provider in self.suspects:
            return []
        return [SendCancel(self.provider, self.attempt)]

    def _reject(self, reason: str) -> list[Effect]:
        self.counters[reason] += 1
        cancelled = self._cancel()
        if not self.repairs.next_provider:
            return cancelled
        return cancelled + self._try_next()

    def _try_next(self) -> list[Effect]:
        left = tuple(m for m in self.candidates if m not in self.suspects and m != self.me)
        if not left:
            return self._fail()
        self.provider, self.candidates = left[0], left[1:]
        self.phase = "fetching"
        self.attempt += 1
        self.next, self.taken, self.granted = 1, 0, self.window
        begun = [Begun(self.provider, self.attempt)] if self.repairs.one_reading else []
        return [*begun, SendRequest(self.provider, self.attempt, self.window)]

    def _fail(self) -> list[Effect]:
        self.phase = "failed"
        asked = "no member is left to ask" if self.leader is None else "no member could give it"
        return [Failed(f"{self.me} did not get the group's state: {asked}"), *self._done(False)]

    def _done(self, ok: bool) -> list[Effect]:
        if self.leader is None or self.leader in self.suspects:
            return []
        return [SendDone(self.leader, ok)]

    def _no_more(self, requester: Address) -> list[Effect]:
        self.waiting -= {requester}
        return [] if self.waiting else [Resume()]

    def _count(self, reason: str) -> list[Effect]:
        self.counters[reason] += 1
        return []

    def _guard(self, action: str, text: str, holds: bool, value: object) -> None:
        if not holds:
            raise NotEnabled(action, {text: value})
