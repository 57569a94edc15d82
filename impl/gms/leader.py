"""The leader of a view change: it collects requests, suspends the survivors, and decides."""

from __future__ import annotations

from collections.abc import Iterable

from raincheck.impl.messages import Address

from .events import (
    BeginChange,
    Effect,
    Finish,
    GoneOn,
    InstallView,
    ProposeMerged,
    ReceiveJoin,
    ReceiveLeave,
    ReceiveViewAck,
    RequestTransfer,
    Resume,
    SendInstall,
    SendJoinRsp,
    SendNewView,
    Suspect,
    Suspend,
    Suspended,
    Trust,
)
from .local import Local
from .views import next_view, replaced, unfinished


class Leader(Local):
    """The handlers of requests, and of the view changes that this member leads."""

    # ------------------------------------------------------------------ requests

    def _receive_join(self, event: ReceiveJoin) -> list[Effect]:
        """JOIN arrives at the leader; a repeated one changes nothing."""
        joiner = event.joiner
        self._guard("ReceiveJoin", "Running(n)", self.running, self.status)
        self._guard("ReceiveJoin", "Leader(n) = n", self.leader == self.me, self.leader)
        if self.refuses(joiner) is not None:
            return []
        for member in replaced(self.members, [joiner]):
            self._is_gone(member)
        # A member that asks has not had its JOIN_RSP yet; it answers NOT_JOINED when flushed.
        present = joiner in self.members and joiner not in self.gone
        if not present or not self.repairs.idempotent_join:
            self._queue(joiner)
        return []

    def _receive_leave(self, event: ReceiveLeave) -> list[Effect]:
        """LEAVE: a member has stopped."""
        self._guard("ReceiveLeave", "Running(n)", self.running, self.status)
        if event.sender in self.members:
            self._is_gone(event.sender)
        return []

    def _gone_on(self, event: GoneOn) -> list[Effect]:
        """A member has gone on without this one, which takes it for gone as if it had left."""
        self._guard("GoneOn", "Running(n)", self.running, self.status)
        if event.member in self.members:
            self._is_gone(event.member)
        return []

    def _suspect(self, event: Suspect) -> list[Effect]:
        """A member is suspected; finally so while this one leads a change, else awaited no more."""
        member = event.member
        known = member in self.members and member != self.me
        self._guard("Suspect", "Running(n)", self.running, self.status)
        self._guard("Suspect", "m \\in Members(view[n])", known, member)
        if self.decides:
            self._is_gone(member)
        elif member not in self.gone:
            self.suspects.add(member)
            self.waiting.discard(member)
        return []

    def _trust(self, event: Trust) -> list[Effect]:
        """A suspected member has been heard again, in time."""
        self._guard("Trust", "Running(n)", self.running, self.status)
        self.suspects.discard(event.member)
        return []

    def _request_transfer(self, _event: RequestTransfer) -> list[Effect]:
        """A state transfer needs the group flushed."""
        self._guard("RequestTransfer", "Running(n)", self.running, self.status)
        self.transfer = True
        return []

    # ------------------------------------------------------------------ leading a change

    def _begin_change(self, _event: BeginChange) -> list[Effect]:
        """The first member that is not gone begins; suspected members are gone from now on."""
        self._guard("BeginChange", "Running(n)", self.running, self.status)
        self._guard("BeginChange", 'phase[n] = "idle"', self.phase == "idle", self.phase)
        self._guard("BeginChange", "Leader(n) = n", self.leader == self.me, self.leader)
        self._guard("BeginChange", "Wanted(n)", self.wanted, False)
        self.gone |= self.suspects | replaced(self.members, self.joining)
        self.suspects = set()
        self.phase = "flushing"
        if not self.repairs.flush:
            return []
        self.promised = self.me
        return [Suspend(tuple(m for m in self.members if m not in self.gone))]

    def _suspended(self, event: Suspended) -> list[Effect]:
        """All survivors are suspended: propose a view again that not all have, or the next one."""
        self._guard("Suspended", 'phase[n] = "flushing"', self.phase == "flushing", self.phase)
        answers = [a for a in event.answers if a.member != self.me and a.member not in self.gone]
        self.phase = "installing"
        assert self.view is not None
        again = unfinished(self.repairs, self.view, self.held, answers)
        if again is not None:
            self.proposal = again
            return self._propose([a.member for a in answers if a.member in again.members])
        new = next_view(self.repairs, self.me, self.view, self.held, self.gone, self.joining)
        if new is None:
            self.phase = "finishing"  # nothing to install: the flush is for the state transfer
            return []
        self.proposal = new
        return self._propose(m for m in new.members if m not in new.joiners)

    def _propose(self, survivors: Iterable[Address]) -> list[Effect]:
        """NEW_VIEW to the survivors."""
        view, when = self.proposal, self.repairs.install_when
        assert view is not None
        others = [m for m in survivors if m != self.me]
        effects: list[Effect] = [SendNewView(m, view) for m in others]
        self.waiting = set(others) if self.repairs.view_acks else set()
        if when == "cast":  # a multicast, which comes back to its sender
            self.held = (*self.held, view)
            self.joining -= set(view.joiners)
            effects.append(SendNewView(self.me, view))
        elif when == "first":
            effects[:0] = self._install(view)
        return effects

    def _propose_merged(self, event: ProposeMerged) -> list[Effect]:
        """MERGE2: the side installs a merged view (R6 of `Merge2.tla`)."""
        view = event.view
        idle = self.phase == "finishing" and not self.waiting
        self._guard("ProposeMerged", "a side is suspended", idle, self.phase)
        self.phase = "installing"
        self.proposal = view
        return self._propose(m for m in view.members if m not in {*view.joiners, *self.gone})

    def _receive_view_ack(self, event: ReceiveViewAck) -> list[Effect]:
        """VIEW_ACK: a survivor holds the view ready, or has installed it."""
        view = self.proposal
        self._guard("ReceiveViewAck", "Running(n)", self.running, self.status)
        if view is not None and event.counter == view.id.counter:
            self.waiting.discard(event.sender)
        return []

    def _install_view(self, _event: InstallView) -> list[Effect]:
        """All survivors hold the view: install it, let them do so, and answer the joiners."""
        view = self.proposal
        self._guard("InstallView", "Running(n)", self.running, self.status)
        ready = self.phase == "installing" and view is not None
        self._guard("InstallView", 'phase[n] = "installing"', ready, self.phase)
        self._guard("InstallView", "waiting[n] = {}", not self.waiting, sorted(self.waiting))
        assert view is not None
        assert self.view is not None
        when = self.repairs.install_when
        stay = [m for m in view.members if m not in view.joiners and m != self.me]
        self.phase = "finishing"
        stay = [m for m in stay if m not in self.gone]
        effects: list[Effect] = []
        if when in ("last", "held") and self.view.id != view.id:
            effects = self._install(view)
        if when == "held":
            effects += [SendInstall(m, view.id.counter) for m in stay]
            self.waiting = set(stay) if self.repairs.view_acks else set()
        if view.id.coordinator == self.me:  # a leader that completes another one's change cannot
            effects += [SendJoinRsp(joiner, view) for joiner in view.joiners]
        return effects

    def _finish(self, _event: Finish) -> list[Effect]:
        """All have installed the view, and the state is transferred: the group resumes."""
        self._guard("Finish", "Running(n)", self.running, self.status)
        self._guard("Finish", 'phase[n] = "finishing"', self.phase == "finishing", self.phase)
        self._guard("Finish", "waiting[n] = {}", not self.waiting, sorted(self.waiting))
        self.phase = "idle"
        self.proposal = None
        self.transfer = False
        return [Resume()] if self.repairs.flush else []
