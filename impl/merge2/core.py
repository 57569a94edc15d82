"""MERGE2: how the coordinators of several groups of one name make one group of them.

The twin of `spec/Merge2.tla` (Bela Ban, design-issues.txt "MERGE2 protocol"): one handler per
action, with the action's name in snake_case and its guard first. `handle` takes an event of
`events.py` and returns the effects, to be carried out in order. A handler whose guard is false
raises NotEnabled and changes nothing; a message of another merge than the one that this process is
in is no error.

A merge. Of the coordinators that know of each other the one with the smallest address leads. It
asks the others (MERGE_REQ), and each has its side suspended at a cut: there all of a side have
delivered the same. The answers (MERGE_RSP) say who is there and how far the streams have come.
With all of them here the leader decides: the members of all sides, sorted, and the largest counter
plus one. Each side holds that view ready and installs it (INSTALL_MERGE_VIEW), says so (INSTALLED),
and goes on when all have it (RESUME).

A merge is given up by suspicion only. A leader goes on without a side that it suspects, and tells
it (CANCEL); a side whose leader is suspected goes on as before, and says so. Whoever has taken part
in a merge never enters it again, however it has ended. With wrong suspicions a merge may be a half
one: who has the merged view then leaves out who has not, as GMS does after a crash, and the groups
merge again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, ViewId

from .events import (
    NO_MERGE,
    Answer,
    Decide,
    Digest,
    Effect,
    Event,
    Finish,
    Flushed,
    Install,
    InstallView,
    Merge,
    MergeId,
    ReceiveCancel,
    ReceiveFound,
    ReceiveInstalled,
    ReceiveInstallMergeView,
    ReceiveKnown,
    ReceiveMergeReq,
    ReceiveMergeRsp,
    ReceiveResume,
    Resend,
    Resume,
    SendCancel,
    SendFound,
    SendInstalled,
    SendInstallMergeView,
    SendMergeReq,
    SendMergeRsp,
    SendResume,
    SideInstalled,
    Suspect,
    Suspend,
    Suspended,
    View,
)

__all__ = ["MOST", "Merge2", "Repairs"]

MOST = 1024
"""Processes that are remembered: those that are known, and leaders whose merge was entered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The rules, by the spec's constants. Only tests turn any of them off."""

    one_merge: bool = True
    """A coordinator that takes part in a merge rejects another one."""
    tells_leader: bool = True
    """A coordinator that does not lead what it has found tells the one that should."""
    members_tell: bool = True
    """Members tell their coordinator whom they know."""
    stays_out: bool = True
    """Whoever has taken part in a merge never enters it again."""
    after_resume: bool = True
    """Whoever stands still in a merged view enters no other merge."""
    cancels: bool = True
    """The leader tells those without whom it goes on."""
    answered: bool = True
    """A side consists of those that are there, and not of all in its view."""
    frozen: bool = True
    """A side makes no view of its own while it takes part in a merge."""
    id_of_leader: bool = True
    """The merged view has the leader's address in its id, and not its first member's."""
    install_acks: bool = True
    """Nobody goes on before all sides have installed the merged view."""
    promotes: bool = True
    """The first member of a view is its coordinator, whatever it was before."""
    resends: bool = True
    """What is not answered is sent again."""


class Merge2:
    """One process: its events, and what it does at each.

    The attributes have the names of the spec's variables. All but a coordinator have `stage`
    "idle".
    """

    def __init__(self, me: Address, view: View, *, repairs: Repairs | None = None) -> None:
        self.me = me
        self.node = me.node
        self.repairs = repairs or Repairs()
        self.view = view
        self.coordinates = view.members[0] == me
        self.known: dict[Address, None] = dict.fromkeys(view.members)  # in the order of hearing
        self.entered: dict[Address, int] = {}  # the number of the last merge entered, by its leader
        self.stage = "idle"  # "flushing", "answered", "installing", "cancelled", "installed"
        self.merge = NO_MERGE
        self.waiting: set[Address] = set()  # as a leader: whose answers are missing
        self.answers: dict[Address, Answer] = {}  # as a leader; then, who is in the merge
        self.absent: set[Address] = set()
        """As a leader: coordinators whose sides do not have the merged view. GMS leaves those sides
        out before anybody goes on, and then there is nothing to Finish."""
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            ReceiveKnown: self._receive_known,
            Merge: self._merge,
            ReceiveFound: self._receive_found,
            ReceiveMergeReq: self._receive_merge_req,
            Flushed: self._flushed,
            ReceiveMergeRsp: self._receive_merge_rsp,
            Decide: self._decide,
            ReceiveInstallMergeView: self._receive_install_merge_view,
            InstallView: self._install_view,
            SideInstalled: self._side_installed,
            ReceiveInstalled: self._receive_installed,
            Finish: self._finish,
            ReceiveResume: self._receive_resume,
            Suspect: self._suspect,
            ReceiveCancel: self._receive_cancel,
            Resend: self._resend,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    @property
    def leads(self) -> bool:
        """Whether this process leads the merge that it takes part in."""
        return self.merge.leader == self.me

    @property
    def may_decide(self) -> bool:
        """Whether `Decide` is enabled."""
        return self.leads and self.stage == "answered" and not self.waiting

    @property
    def may_finish(self) -> bool:
        """Whether all sides have the merged view; else, once nobody is waited for, GMS makes the
        next view.
        """
        installed = self.leads and self.stage == "installed" and not self.waiting
        return installed and not self.absent

    @property
    def busy(self) -> bool:
        """Whether the side makes no view of its own, as long as the merge's leader is there."""
        done = self.leads and self.stage == "installed" and not self.waiting
        return self.stage != "idle" and not done

    # ------------------------------------------------------------------ discovery

    def _receive_known(self, event: ReceiveKnown) -> list[Effect]:
        """A member tells whom it knows."""
        sender, known = event
        self._guard("ReceiveKnown", "MembersTell", self.repairs.members_tell)
        self._guard("ReceiveKnown", "coordinates[n]", self.coordinates)
        self._guard("ReceiveKnown", "m \\in Side(n)", sender in self.view.members)
        new = known.difference(self.known)
        self._guard("ReceiveKnown", "~(known[m] \\subseteq known[n])", bool(new))
        self._learn(sorted(new))
        return []

    def _merge(self, event: Merge) -> list[Effect]:
        """MERGE: the leader asks the others; another one tells the leader."""
        others, number, is_known, stands = event
        waits = self.repairs.after_resume and stands
        self._guard("Merge", "coordinates[n]", self.coordinates)
        self._guard("Merge", 'stage[n] = "idle"', self.stage == "idle")
        self._guard("Merge", "AfterResume => ~Stands(n)", not waits)
        self._guard("Merge", "Others(n) # {}", bool(others))
        leader = min(others)
        if self.me < leader:
            self.stage, self.merge = "flushing", MergeId(self.me, number)
            self.waiting = {*others, self.me}
            return [*(SendMergeReq(to, self.merge) for to in sorted(others)), Suspend()]
        self._guard("Merge", "TellsLeader", self.repairs.tells_leader)
        self._guard("Merge", "n \\notin known[l]", not is_known)
        return [SendFound(leader)]

    def _receive_found(self, event: ReceiveFound) -> list[Effect]:
        """FOUND: another coordinator is known."""
        self._learn([event.sender])
        return []

    # ------------------------------------------------------------------ answers

    def _receive_merge_req(self, event: ReceiveMergeReq) -> list[Effect]:
        """MERGE_REQ: the side is flushed, or the request rejected."""
        sender, merge, stands = event
        if merge == self.merge:
            return []
        free = self.stage == "idle"
        if not self.repairs.one_merge and self.stage == "answered" and not self.leads:
            free = True
        been = self.repairs.stays_out and self.entered.get(merge.leader, 0) >= merge.number
        waits = self.repairs.after_resume and stands
        if not self.coordinates or not free or been or waits:
            return [SendMergeRsp(sender, merge, None)]
        self.stage, self.merge = "flushing", merge
        self._enter(merge)
        return [Suspend()]

    def _flushed(self, event: Flushed) -> list[Effect]:
        """The side is suspended: the answer goes to the leader."""
        self._guard("Flushed", 'stage[n] = "flushing"', self.stage == "flushing")
        self.stage = "answered"
        answer = self._answer(event.members, event.digest)
        if not self.leads:
            rsp = SendMergeRsp(self.merge.leader, self.merge, answer)
            return [rsp, Suspended(self.merge)]
        self.answers[self.me] = answer
        self.waiting.discard(self.me)
        return [Suspended(self.merge)]

    def _receive_merge_rsp(self, event: ReceiveMergeRsp) -> list[Effect]:
        """MERGE_RSP: an answer, a rejection, or what comes too late."""
        sender, merge, answer = event
        current = merge == self.merge
        if current and sender in self.waiting and self.stage in ("flushing", "answered"):
            self.waiting.discard(sender)
            if answer is not None:
                self.answers[sender] = answer
            return []
        if answer is None or not self.repairs.cancels or (current and sender in self.answers):
            return []
        return [SendCancel(sender, merge)]

    # ------------------------------------------------------------------ decision, installation

    def _decide(self, _event: Decide) -> list[Effect]:
        """No answer is missing: the merged view, or nothing."""
        self._guard("Decide", 'stage[n] = "answered"', self.stage == "answered")
        self._guard("Decide", "Leads(n)", self.leads)
        self._guard("Decide", "waiting[n] = {}", not self.waiting)
        others = sorted(self.answers.keys() - {self.me})
        if not others:
            self._idle()
            return [Resume()]
        view, digest = self._merged()
        self.stage, self.absent = "installing", set()  # who has not answered is not in the merge
        if self.repairs.install_acks:
            self.waiting = set(self.answers)
        sent = (SendInstallMergeView(to, self.merge, view, digest) for to in others)
        return [*sent, Install(view, digest)]

    def _merged(self) -> tuple[View, Digest]:
        """Return the view that the answers make together, and from where its streams are read."""
        answers = self.answers.values()
        members = tuple(sorted(frozenset[Address]().union(*(each.members for each in answers))))
        counter = max(each.counter for each in answers) + 1
        by = self.me if self.repairs.id_of_leader else members[0]
        digest: dict[Address, int] = {}
        for answer in answers:
            for member, read in answer.digest:
                digest[member] = max(read, digest.get(member, 0))
        return View(ViewId(counter, by), members, self.merge), tuple(sorted(digest.items()))

    def _receive_install_merge_view(self, event: ReceiveInstallMergeView) -> list[Effect]:
        """INSTALL_MERGE_VIEW: the side installs it, or the leader learns that it is not in it."""
        sender, merge, view, digest = event
        if merge != self.merge:
            if not self.repairs.install_acks:
                return []
            return [SendInstalled(sender, merge, self.view.merge == merge)]
        if self.stage != "answered":
            return []
        self.stage = "installing"
        return [Install(view, digest)]

    def _install_view(self, event: InstallView) -> list[Effect]:
        """A view is installed; one of another merge than this one's ends its part in it."""
        view = event.view
        own = view.merge == NO_MERGE
        ends = self.repairs.frozen and self.stage != "flushing" if own else True
        self.view = view
        first = view.members[0] == self.me
        self.coordinates = first and (own or self.repairs.promotes or self.coordinates)
        self._learn(view.members)
        if ends and view.merge != self.merge:
            self._idle()
        return []

    def _side_installed(self, _event: SideInstalled) -> list[Effect]:
        """All of the side have the merged view, and wait to go on."""
        installs = self.stage in ("installing", "cancelled")
        self._guard("SideInstalled", 'stage[n] \\in {"installing", "cancelled"}', installs)
        self._guard("SideInstalled", "view[n].merge = merge[n]", self.view.merge == self.merge)
        merge = self.merge
        if not self.repairs.install_acks:
            self._idle()
            return [Resume()]
        if self.stage == "cancelled":
            self._idle()
            return []
        self.stage = "installed"
        self.waiting.discard(self.me)
        return [] if self.leads else [SendInstalled(merge.leader, merge, True)]

    def _receive_installed(self, event: ReceiveInstalled) -> list[Effect]:
        """INSTALLED: a side has the view, or is not in the merge."""
        sender, merge, done = event
        if merge == self.merge:
            if self.stage in ("installing", "installed"):
                self.waiting.discard(sender)
                if not done:
                    self.absent.add(sender)
            return []
        if done and self.view.merge == merge:
            return [SendResume(sender, merge)]
        return [SendCancel(sender, merge)] if done and self.repairs.cancels else []

    def _finish(self, _event: Finish) -> list[Effect]:
        """All have installed the merged view: everybody goes on."""
        self._guard("Finish", 'stage[n] = "installed"', self.stage == "installed")
        self._guard("Finish", "Leads(n)", self.leads)
        self._guard("Finish", "waiting[n] = {}", not self.waiting)
        others = sorted(self.answers.keys() - {self.me})
        sent = [SendResume(to, self.merge) for to in others]
        self._idle()
        return [*sent, Resume()]

    def _receive_resume(self, event: ReceiveResume) -> list[Effect]:
        """RESUME: the side goes on."""
        merge = event.merge
        if merge != self.view.merge:
            return []
        if merge == self.merge:
            self._idle()
        return [Resume()]

    # ------------------------------------------------------------------ those that do not answer

    def _suspect(self, event: Suspect) -> list[Effect]:
        """A process is waited for no longer: a leader goes on, another one gives the merge up."""
        member = event.member
        if self.leads and member in self.waiting:
            self.waiting.discard(member)
            self.absent.add(member)
            return [SendCancel(member, self.merge)] if self.repairs.cancels else []
        self._guard("Suspect", "merge[n][1] = p", self.merge.leader == member)
        before = self.stage in ("flushing", "answered")
        self._guard("Suspect", 'stage[n] \\in {"flushing", "answered"}', before)
        rejection = SendMergeRsp(member, self.merge, None)
        self._idle()
        return [rejection, Resume()]

    def _receive_cancel(self, event: ReceiveCancel) -> list[Effect]:
        """CANCEL: this process is not in that merge."""
        if event.merge != self.merge:
            return []
        if self.stage in ("installing", "cancelled"):
            self.stage = "cancelled"  # the view is installed before GMS leaves this side out
            return []
        before = self.stage != "installed"
        self._idle()
        return [Resume()] if before else []

    def _resend(self, event: Resend) -> list[Effect]:
        """Requests without an answer are sent again."""
        self._guard("Resend", "Resends", self.repairs.resends)
        sent = self._unanswered(event)
        self._guard("Resend", "Unanswered(n) # {}", bool(sent))
        return sent

    def _unanswered(self, event: Resend) -> list[Effect]:
        missing, merge = sorted(self.waiting - {self.me}), self.merge
        if self.leads and self.stage in ("installing", "installed"):
            view, digest = self._merged()
            return [SendInstallMergeView(to, merge, view, digest) for to in missing]
        if self.leads:
            return [SendMergeReq(to, merge) for to in missing]
        if self.stage == "answered":
            answer = self._answer(event.members, event.digest)
            return [SendMergeRsp(merge.leader, merge, answer)]
        if self.stage == "installed":
            return [SendInstalled(merge.leader, merge, True)]
        return []

    # ------------------------------------------------------------------ their parts

    def _guard(self, action: str, text: str, holds: bool) -> None:
        if not holds:
            raise NotEnabled(action, {text: holds})

    def _answer(self, members: frozenset[Address], digest: Digest) -> Answer:
        there = members if self.repairs.answered else frozenset(self.view.members)
        return Answer(self.me, self.view.id.counter, there, digest)

    def _learn(self, processes: Iterable[Address]) -> None:
        """Remember processes; of too many, those that were heard of first are forgotten."""
        self.known.update(dict.fromkeys(processes))
        spare = (each for each in list(self.known) if each not in self.view.members)
        while len(self.known) > MOST and (oldest := next(spare, None)) is not None:
            del self.known[oldest]

    def _enter(self, merge: MergeId) -> None:
        """Remember a merge; a leader's numbers rise, so its last one stands for all before."""
        self.entered.pop(merge.leader, None)
        self.entered[merge.leader] = merge.number
        if len(self.entered) > MOST:
            del self.entered[next(iter(self.entered))]

    def _idle(self) -> None:
        self.stage, self.merge = "idle", NO_MERGE
        self.waiting, self.absent, self.answers = set(), set(), {}
