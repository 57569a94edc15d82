"""GMS: who is in the group, decided by one leader at a time; one member's part.

The twin of `spec/Gms.tla` (Bela Ban; seeds/flush.txt "FLUSH on view change" and design-issues.txt):
one handler per action, with the action's name in snake_case and its guard first. `handle` takes an
event of `events.py` and returns the effects, to be carried out in order. A handler whose guard
is false raises NotEnabled and changes nothing; a message of an earlier change is no error and is
ignored.

A view change. The leader is the first member that is not taken for gone. It bundles who joins,
leaves or is suspected, and has FLUSH suspend the survivors, who answer with the views they have. If
a view exists that not all have, it is proposed again, and the change begins anew behind it;
otherwise the leader decides V2 = M - S - L + J. NEW_VIEW goes to the survivors, who hold the view
ready (VIEW_ACK). Only when all do is it installed, by the leader and, on INSTALL, by the others: so
whoever installs a view knows that every survivor can tell the next leader of it, and no number is
ever given to two views, whoever dies. JOIN_RSP goes out at that point, built at the cut. When all
have installed the view (VIEW_ACK again), the state is transferred, if anybody wants it, and FLUSH
resumes.

What it assumes: control messages of one sender arrive in order, and who is suspected has crashed.
Without the second it promises less: a member that is taken for gone by mistake is excluded, and
comes back as another incarnation; each side of a partition goes on, with one history of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from raincheck.impl.messages import Address, View

from .events import (
    BeginChange,
    Effect,
    Event,
    Finish,
    GoneOn,
    InstallView,
    Leave,
    Out,
    Prepared,
    ProposeMerged,
    ReceiveAlive,
    ReceiveExcluded,
    ReceiveInstall,
    ReceiveJoin,
    ReceiveJoinRsp,
    ReceiveLeave,
    ReceiveNewView,
    ReceiveNotJoined,
    ReceivePrepare,
    ReceiveViewAck,
    RequestTransfer,
    SendExcluded,
    SendLeave,
    SendNotJoined,
    SendViewAck,
    Suspect,
    Suspended,
    Trust,
)
from .leader import Leader
from .views import Repairs, prevails

__all__ = ["Gms", "Repairs"]


class Gms(Leader):
    """One member: its events, and what it does at each."""

    def __init__(self, me: Address, *, repairs: Repairs | None = None) -> None:
        super().__init__(me, repairs=repairs)
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            ReceiveJoin: self._receive_join,
            ReceiveLeave: self._receive_leave,
            GoneOn: self._gone_on,
            Suspect: self._suspect,
            Trust: self._trust,
            RequestTransfer: self._request_transfer,
            BeginChange: self._begin_change,
            ReceivePrepare: self._receive_prepare,
            Suspended: self._suspended,
            ReceiveNewView: self._receive_new_view,
            ReceiveViewAck: self._receive_view_ack,
            InstallView: self._install_view,
            ProposeMerged: self._propose_merged,
            ReceiveInstall: self._receive_install,
            ReceiveJoinRsp: self._receive_join_rsp,
            ReceiveNotJoined: self._receive_not_joined,
            Finish: self._finish,
            Leave: self._leave,
            ReceiveAlive: self._receive_alive,
            ReceiveExcluded: self._receive_excluded,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    # ------------------------------------------------------------------ following a leader

    def _receive_prepare(self, event: ReceivePrepare) -> list[Effect]:
        """PREPARE: only this leader's views are taken from now on; members left out are gone."""
        sender, counter, participants = event
        if self.status == "joining":
            if not self.repairs.readmit:
                return []
            self.declined = max(self.declined, counter)
            return [SendNotJoined(sender, counter)]
        self._guard("ReceivePrepare", "Running(n)", self.running, self.status)
        assert self.view is not None
        if sender in self.gone or self.me not in participants or sender == self.me:
            return []
        if not any(sender in view.members for view in (self.view, *self.held)):
            return [SendExcluded(sender, self.view)]
        self.promised = sender
        self.suspects.discard(sender)
        for member in set(self.members) - set(participants) - set(self.unknown_to(counter)):
            self._is_gone(member)
        return [Prepared(sender, self.view, self.held)]

    def _receive_new_view(self, event: ReceiveNewView) -> list[Effect]:
        """NEW_VIEW: hold the view ready."""
        sender, view, merged = event
        self._guard("ReceiveNewView", "Running(n)", self.running, self.status)
        assert self.view is not None
        if self.repairs.flush and (sender != self.promised or sender in self.gone):
            return []  # of an earlier view change
        number, mine = view.id.counter, self.view.id.counter
        ack = SendViewAck(sender, number)
        if number <= mine:
            return [ack] if view.id == self.view.id else []
        if merged and self.me not in view.members:
            return []  # of a side that is not this member's
        if self.me not in view.members or (number > mine + 1 and not merged):
            return self._out(sender, view)
        if self.repairs.install_when == "held":
            self.held = (view,)
            return [ack]
        return [*self._install(view), ack]

    def _receive_install(self, event: ReceiveInstall) -> list[Effect]:
        """INSTALL: all survivors hold the view: install it, and acknowledge that."""
        sender, number = event
        self._guard("ReceiveInstall", "Running(n)", self.running, self.status)
        if sender != self.promised:
            return []
        ack = SendViewAck(sender, number)
        ready = [view for view in self.held if view.id.counter == number]
        if not ready:
            return [ack] if self.view is not None and self.view.id.counter == number else []
        return [*self._install(ready[0]), ack]

    def _receive_join_rsp(self, event: ReceiveJoinRsp) -> list[Effect]:
        """JOIN_RSP: this process is a member."""
        view = event.view
        waits = self.status == "joining" and view.id.counter > self.declined
        if not waits or self.me not in view.joiners:
            return []
        self.status = "member"
        return self._install(view)

    def _receive_not_joined(self, event: ReceiveNotJoined) -> list[Effect]:
        """NOT_JOINED: the joiner's leader crashed before JOIN_RSP; admit the joiner again."""
        sender, counter = event
        self._guard("ReceiveNotJoined", "Running(n)", self.running, self.status)
        if sender in self.members and self.view is not None and self.view.id.counter == counter:
            self._is_gone(sender)
            self._queue(sender)
        return []

    # ------------------------------------------------------------------ getting out

    def _leave(self, _event: Leave) -> list[Effect]:
        """This member has stopped: LEAVE to the others."""
        self._guard("Leave", "Running(n)", self.running, self.status)
        self._guard("Leave", 'phase[n] = "idle"', self.phase == "idle", self.phase)
        others = [m for m in self.members if m != self.me]
        self._ended("left")
        return [SendLeave(m) for m in others]

    def _receive_alive(self, event: ReceiveAlive) -> list[Effect]:
        """A process that is not in the view is alive: EXCLUDED tells it of the view."""
        self._guard("ReceiveAlive", "Running(n)", self.running, self.status)
        assert self.view is not None
        if event.sender in self.members:
            return []
        return [SendExcluded(event.sender, self.view)]

    def _receive_excluded(self, event: ReceiveExcluded) -> list[Effect]:
        """EXCLUDED: a view lacks this member, which is out if that view prevails."""
        sender, theirs = event
        self._guard("ReceiveExcluded", "Running(n)", self.running, self.status)
        assert self.view is not None
        if self.me in theirs.members or not prevails(sender, theirs, self.view):
            return []
        return self._out(sender, theirs)

    def _out(self, sender: Address, view: View) -> list[Effect]:
        self._ended("excluded")
        return [Out(sender, view)]

    def _ended(self, status: str) -> None:
        fresh = Gms(Address(self.node, self.incarnation), repairs=self.repairs)
        self.__dict__.update(fresh.__dict__ | {"status": status, "_handlers": self._handlers})
