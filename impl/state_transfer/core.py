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

from collections.abc import Callable
from typing import Any

from raincheck.impl.messages import Address

from .events import (
    Ask,
    AskAnew,
    Begin,
    Deliver,
    Effect,
    EndState,
    Event,
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
    SendGo,
    StateSet,
    Suspect,
    Take,
    TimeOut,
)
from .local import Repairs, Serving
from .provider import Provider
from .requester import Requester

__all__ = ["Repairs", "Serving", "StateTransfer"]


class StateTransfer(Requester, Provider):
    """All roles of one member: requester, provider, and leader."""

    def __init__(
        self,
        me: Address,
        members: tuple[Address, ...] = (),
        *,
        window: int = 16,
        repairs: Repairs | None = None,
    ) -> None:
        super().__init__(me, members, window=window, repairs=repairs)
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
            Merge: self.merge,
            AskAnew: self.ask_anew,
            InstallView: self.install_view,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    # ------------------------------------------------------------------ the leader

    def receive_ask(self, event: ReceiveAsk) -> list[Effect]:
        """ASK: queue the requester."""
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
        """DONE: a requester has its state, or has given up."""
        if event.sender not in self.waiting:
            return self._count("state_done_unexpected")
        return self._no_more(event.sender)

    def suspect(self, event: Suspect) -> list[Effect]:
        """A member is gone: do not wait for it any more."""
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
        """Install a view; members of the last one that it lacks are gone."""
        before, self.members, self.view = self.members, event.members, event.view
        gone = [m for m in before if m not in self.members and m not in self.suspects]
        effects = [effect for member in gone for effect in self.suspect(Suspect(member))]
        # An address is of one life: a gone member does not come back under it.
        self.suspects = frozenset(m for m in self.suspects if m in self.members)
        return effects

    def join(self, event: Join) -> list[Effect]:
        """This process is admitted by that leader, after a JOIN that asked for the state."""
        self._guard("Join", "phase", self.phase == "idle", self.phase)
        self.members, self.view = event.members, event.view
        self.phase, self.leader = "asking", event.leader
        self.newcomer = True
        return []

    def merge(self, event: Merge) -> list[Effect]:
        """MERGE2: its side takes the state of another one; the merge was its ASK."""
        self.phase, self.leader = "asking", event.leader
        self.newcomer = True
        return []

    def ask_anew(self, _event: AskAnew) -> list[Effect]:
        """MERGE2: ask the next leader, which has not heard of it by the merge."""
        self._guard("AskAnew", 'requester[n].phase = "asking"', self.phase == "asking", self.phase)
        return self._ask()

    def receive_join(self, event: ReceiveJoin) -> list[Effect]:
        """A joiner whose JOIN asked for the state is admitted: queue it."""
        return self.receive_ask(ReceiveAsk(event.joiner))

    def _no_more(self, requester: Address) -> list[Effect]:
        self.waiting -= {requester}
        return [] if self.waiting else [Resume()]
