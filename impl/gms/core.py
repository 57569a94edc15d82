"""GMS: who is in the group, decided by one leader at a time; one member's part.

The twin of `spec/Gms.tla` (Bela Ban; seeds/flush.txt "FLUSH on view change" and design-issues.txt):
one handler per action, with the action's name in snake_case and its guard first. `handle` takes an
event of `gms_events.py` and returns the effects, to be carried out in order. A handler whose guard
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

from collections.abc import Callable, Iterable
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, View

from .events import (
    BeginChange,
    Effect,
    Event,
    Finish,
    Install,
    InstallView,
    Leave,
    Out,
    Prepared,
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
    Resume,
    SendExcluded,
    SendInstall,
    SendJoinRsp,
    SendLeave,
    SendNewView,
    SendNotJoined,
    SendViewAck,
    Suspect,
    Suspend,
    Suspended,
    Trust,
)
from .views import Repairs, next_view, prevails, replaced, unfinished

__all__ = ["Gms", "Repairs"]


class Gms:
    """The state of one member; the attributes have the names of the spec's variables."""

    def __init__(self, me: Address, *, repairs: Repairs | None = None) -> None:
        self.node = me.node
        self.incarnation = me.incarnation
        self.repairs = repairs or Repairs()
        self.me = me if self.repairs.incarnations else Address(me.node, 0)
        self.status = "joining"  # "member", "left", "excluded"
        self.view: View | None = None  # the view that is installed
        self.held: tuple[View, ...] = ()  # decided by a leader, and not installed here yet
        self.promised: Address | None = None  # the leader whose flush this member takes part in
        self.declined = 0  # as a joiner: takes no JOIN_RSP up to this view any more
        self.suspects: set[Address] = set()  # taken for crashed, until they are heard again
        self.gone: set[Address] = set()  # for good: left, replaced, or left out by a leader
        # As a leader:
        self.joining: set[Address] = set()  # who asks to be admitted
        self.transfer = False  # the state transfer wants the group flushed
        self.phase = "idle"  # "flushing", "installing", "finishing"
        self.proposal: View | None = None  # the view that the change is about
        self.waiting: set[Address] = set()  # who does not hold it, then who has not installed it
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            ReceiveJoin: self._receive_join,
            ReceiveLeave: self._receive_leave,
            Suspect: self._suspect,
            Trust: self._trust,
            RequestTransfer: self._request_transfer,
            BeginChange: self._begin_change,
            ReceivePrepare: self._receive_prepare,
            Suspended: self._suspended,
            ReceiveNewView: self._receive_new_view,
            ReceiveViewAck: self._receive_view_ack,
            InstallView: self._install_view,
            ReceiveInstall: self._receive_install,
            ReceiveJoinRsp: self._receive_join_rsp,
            ReceiveNotJoined: self._receive_not_joined,
            Finish: self._finish,
            Leave: self._leave,
            ReceiveAlive: self._receive_alive,
            ReceiveExcluded: self._receive_excluded,
        }

    def begin(self, view: View) -> None:
        """Be a member of a first view from the start."""
        self.status = "member"
        self.view = view

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    # ------------------------------------------------------------------ to look at

    @property
    def running(self) -> bool:
        """Whether it takes part in the protocol."""
        return self.status == "member"

    @property
    def members(self) -> tuple[Address, ...]:
        """The members of the installed view."""
        return self.view.members if self.view is not None else ()

    @property
    def leader(self) -> Address | None:
        """Who leads the next change, as far as this member knows."""
        out = self.suspects | self.gone
        return next((member for member in self.members if member not in out), None)

    @property
    def wanted(self) -> bool:
        """Whether there is something to be changed."""
        out = self.suspects | self.gone
        return bool(self.joining or self.transfer) or not out.isdisjoint(self.members)

    @property
    def may_begin(self) -> bool:
        """Whether `BeginChange` is enabled."""
        return self.running and self.phase == "idle" and self.leader == self.me and self.wanted

    @property
    def may_install(self) -> bool:
        """Whether `InstallView` is enabled."""
        return self.running and self.phase == "installing" and not self.waiting

    def unknown_to(self, counter: int) -> tuple[Address, ...]:
        """The members that a leader in view number `counter` cannot know, and does not leave out.

        Whoever has joined with a view that it has not installed yet.
        """
        view = self.view
        return view.joiners if view is not None and counter < view.id.counter else ()

    @property
    def may_finish(self) -> bool:
        """Whether `Finish` is enabled."""
        return self.running and self.phase == "finishing" and not self.waiting

    def refuses(self, joiner: Address) -> Address | None:
        """The member because of which a process cannot be admitted: a later life of its node."""
        later = [
            m for m in self.members if m.node == joiner.node and m.incarnation > joiner.incarnation
        ]
        return next((m for m in later if m not in self.gone), None)

    # ------------------------------------------------------------------ requests

    def _receive_join(self, event: ReceiveJoin) -> list[Effect]:
        """JOIN arrives at the leader; retried, it changes nothing more."""
        joiner = event.joiner
        self._guard("ReceiveJoin", "Running(n)", self.running, self.status)
        self._guard("ReceiveJoin", "Leader(n) = n", self.leader == self.me, self.leader)
        if self.refuses(joiner) is not None:
            return []
        for member in replaced(self.members, [joiner]):
            self._is_gone(member)
        # A member that asks has not had its JOIN_RSP yet; it says so when it is flushed.
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

    def _suspect(self, event: Suspect) -> list[Effect]:
        """A member is taken for crashed. While this one leads a change that is final."""
        member = event.member
        known = member in self.members and member != self.me
        self._guard("Suspect", "Running(n)", self.running, self.status)
        self._guard("Suspect", "m \\in Members(view[n])", known, member)
        if self.phase == "idle":
            if member not in self.gone:
                self.suspects.add(member)
        else:
            self._is_gone(member)
        return []

    def _trust(self, event: Trust) -> list[Effect]:
        """A suspected member has been heard again, in time."""
        self._guard("Trust", "Running(n)", self.running, self.status)
        self.suspects.discard(event.member)
        return []

    def _request_transfer(self, _event: RequestTransfer) -> list[Effect]:
        """A state transfer wants its turn in the queue."""
        self._guard("RequestTransfer", "Running(n)", self.running, self.status)
        self.transfer = True
        return []

    # ------------------------------------------------------------------ leading a change

    def _begin_change(self, _event: BeginChange) -> list[Effect]:
        """The first member that is not gone begins: who seems to have crashed is gone now."""
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
        """All survivors are suspended: propose again what not all have, or decide the next."""
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
            self.phase = "finishing"  # nothing to install: it was for the state transfer
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
        if view.id.coordinator == self.me:  # who leads a change for a dead leader cannot
            effects += [SendJoinRsp(joiner, view) for joiner in view.joiners]
        return effects

    def _finish(self, _event: Finish) -> list[Effect]:
        """The view is installed by all, the state transferred: the group goes on."""
        self._guard("Finish", "Running(n)", self.running, self.status)
        self._guard("Finish", 'phase[n] = "finishing"', self.phase == "finishing", self.phase)
        self._guard("Finish", "waiting[n] = {}", not self.waiting, sorted(self.waiting))
        self.phase = "idle"
        self.proposal = None
        self.transfer = False
        return [Resume()] if self.repairs.flush else []

    # ------------------------------------------------------------------ following a leader

    def _receive_prepare(self, event: ReceivePrepare) -> list[Effect]:
        """PREPARE: from now on only this leader's views are taken, and who is left out is gone."""
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
        self.gone |= set(self.members) - set(participants) - set(self.unknown_to(counter))
        self.suspects -= self.gone
        return [Prepared(sender, self.view, self.held)]

    def _receive_new_view(self, event: ReceiveNewView) -> list[Effect]:
        """NEW_VIEW: hold the view ready."""
        sender, view = event
        self._guard("ReceiveNewView", "Running(n)", self.running, self.status)
        assert self.view is not None
        if self.repairs.flush and (sender != self.promised or sender in self.gone):
            return []  # of an earlier change
        number, mine = view.id.counter, self.view.id.counter
        ack = SendViewAck(sender, number)
        if number <= mine:
            return [ack] if view.id == self.view.id else []
        if self.me not in view.members or number > mine + 1:
            return self._out(sender, view)
        if self.repairs.install_when == "held":
            self.held = (view,)
            return [ack]
        return [*self._install(view), ack]

    def _receive_install(self, event: ReceiveInstall) -> list[Effect]:
        """INSTALL: all survivors hold the view. That it is installed is acknowledged too."""
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
        """NOT_JOINED: its leader died before it could answer. It is admitted again."""
        sender, counter = event
        self._guard("ReceiveNotJoined", "Running(n)", self.running, self.status)
        if sender in self.members and self.view is not None and self.view.id.counter == counter:
            self._is_gone(sender)
            self._queue(sender)
        return []

    # ------------------------------------------------------------------ getting out

    def _leave(self, _event: Leave) -> list[Effect]:
        """This member has stopped, and says so."""
        self._guard("Leave", "Running(n)", self.running, self.status)
        self._guard("Leave", 'phase[n] = "idle"', self.phase == "idle", self.phase)
        others = [m for m in self.members if m != self.me]
        self._ended("left")
        return [SendLeave(m) for m in others]

    def _receive_alive(self, event: ReceiveAlive) -> list[Effect]:
        """Somebody who is not in the view lives: tell it of the view."""
        self._guard("ReceiveAlive", "Running(n)", self.running, self.status)
        assert self.view is not None
        if event.sender in self.members:
            return []
        return [SendExcluded(event.sender, self.view)]

    def _receive_excluded(self, event: ReceiveExcluded) -> list[Effect]:
        """EXCLUDED: somebody's view is without this member; it is out, if that view prevails."""
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

    # ------------------------------------------------------------------ their parts

    def _install(self, view: View) -> list[Effect]:
        """Be in the view; what was known of those who are not in it any more is forgotten."""
        self.view = view
        stay = set(view.members) - set(view.joiners)
        self.gone &= stay  # a joiner may have been in the view before, and never have learnt it
        self.suspects &= stay
        self.joining -= set(view.members)
        if self.repairs.pending == "updated":
            self.held = ()
        else:
            self.held = tuple(v for v in self.held if v.id.counter > view.id.counter)
        return [Install(view)]

    def _queue(self, joiner: Address) -> None:
        """Of each node the latest life is admitted."""
        same = {a for a in self.joining if a.node == joiner.node}
        if all(a.incarnation <= joiner.incarnation for a in same):
            self.joining = self.joining - same | {joiner}

    def _is_gone(self, member: Address) -> None:
        self.gone.add(member)
        self.suspects.discard(member)
        self.waiting.discard(member)

    def _guard(self, action: str, text: str, holds: bool, value: object) -> None:
        if not holds:
            raise NotEnabled(action, {text: value})
