"""FLUSH: nobody multicasts while the view changes or the state is transferred; one member's part.

The twin of `spec/Flush.tla` (Bela Ban; seeds/flush.txt, the first design, repaired): one handler
per action, with the action's name in snake_case and its guard first. `handle` takes an event of
`flush_events.py` and returns the effects, to be carried out in order. A handler whose guard is
false raises NotEnabled and changes nothing; a message of another flush is no error and is ignored.

A flush: `Suspend` at the requester, START_FLUSH to all, block(), the latch closes and the digest is
taken in the same step, FLUSH_COMPLETED; where digests differ RECONCILE, fetching, and the answer;
`Suspended`. Then the view is installed by all, or the state transferred: `Resume`, STOP_FLUSH,
unblock(). Unicasts always pass.

What it assumes: control messages of one sender arrive in order; a member that is suspected has
crashed; one member at a time asks for a flush, the first one of the view that it does not suspect;
`Resume` comes when all members that stay have installed the view; block() returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest
from raincheck.impl.wire.headers import (
    Fetch,
    Fid,
    FlushBody,
    FlushCompleted,
    Reconcile,
    ReconcileOk,
    StartFlush,
    StopFlush,
)

from . import events as ev
from .digests import fetches_of, lacks
from .events import Effect, Event, Piggyback


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The repairs of the seed's holes, by the spec's constants. Only tests turn any of them off."""

    reconcile: bool = True
    flush_ids: bool = True
    block_once: bool = True
    freeze: bool = True
    restart: bool = True
    from_members: bool = True


class Flush:
    """The state of one member; the attributes have the names of the spec's variables."""

    def __init__(
        self, me: Address, *, open_latch: bool = False, repairs: Repairs | None = None
    ) -> None:
        """`open_latch` allows `OpenLatch`, which trades virtual synchrony for progress."""
        self.me = me
        self.repairs = repairs or Repairs()
        self.open_latch = open_latch
        self.view = 0
        self.members: tuple[Address, ...] = ()
        self.latch = False  # closed: no multicast passes
        self.blocked = "no"  # "calling": START is not answered yet; "yes": it is
        self.flush: Fid | None = None  # the flush that this member takes part in
        self.suspects: set[Address] = set()
        self.frozen: set[Address] = set()  # left out of a flush; their streams have ended
        self.fetching: tuple[Fetch, ...] = ()  # what RECONCILE asked it to fetch
        # As a requester:
        self.asked: Fid | None = None
        self.participants: tuple[Address, ...] = ()
        self.completed: dict[Address, Digest] = {}
        self.target: tuple[Fetch, ...] = ()  # what RECONCILE asks members that lack it to fetch
        self.reconciled: set[Address] = set()
        self.suspended = False
        self.attempts = 0
        self._answers: dict[Address, Piggyback] = {}
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            ev.Suspend: self._suspend,
            ev.ReceiveStart: self._receive_start,
            ev.BlockOk: self._block_ok,
            ev.ReceiveCompleted: self._receive_completed,
            ev.ReceiveReconcile: self._receive_reconcile,
            ev.Reconciled: self._reconciled,
            ev.ReceiveReconciled: self._receive_reconciled,
            ev.Resume: self._resume,
            ev.ReceiveStop: self._receive_stop,
            ev.Suspect: self._suspect,
            ev.InstallView: self._install_view,
            ev.Yield: self._yield,
            ev.Multicast: self._multicast,
            ev.ReceiveMulticast: self._receive_multicast,
            ev.OpenLatch: self._open_latch,
            ev.PassLatch: self._pass_latch,
            ev.ReceiveFlushOk: self._receive_flush_ok,
        }

    def begin(self, view: int, members: tuple[Address, ...]) -> None:
        """Begin in a first view: a founder's, or JOIN_RSP's."""
        self.view, self.members = view, members

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    @property
    def open(self) -> bool:
        """Whether the latch is open."""
        return not self.latch

    def waiting(self) -> dict[Address, str]:
        """Return whom this member waits for, and for what."""
        if self.asked is not None and not self.suspended:
            if len(self.completed) < len(self.participants):
                words = "to answer START_FLUSH: its block() may not have returned"
                return {m: words for m in self.participants if m not in self.completed}
            words = "to fetch the multicasts that it lacks"
            return {m: words for m in self.participants if m not in self.reconciled}
        if self.blocked == "calling":
            return {self.me: "to return from block()"}
        if self.fetching:
            return {f.holder: f"to send the stream of {f.sender}" for f in self.fetching}
        if self.flush is not None and self.flush != self.asked:
            return {self.flush.requester: "to stop the flush"}
        return {}

    # ------------------------------------------------------------------ a participant

    def _receive_start(self, event: ev.ReceiveStart) -> list[Effect]:
        """START_FLUSH: members that are left out are gone, and their streams are frozen."""
        sender, fid, participants = event
        if sender in self.suspects or self.me not in participants:
            return []
        if self.repairs.from_members and sender not in self.members:
            return []  # a late one, of a member that has crashed and is out of the view
        effects: list[Effect] = []
        gone = [m for m in self.members if m not in participants]
        self.suspects.update(gone)
        if self.repairs.freeze:
            newly = tuple(m for m in gone if m not in self.frozen)
            self.frozen.update(newly)
            if newly:
                effects.append(ev.Freeze(newly))
        self.flush = fid
        self.fetching = ()
        if self.blocked == "no" or not self.repairs.block_once:
            effects.append(ev.Block())
        elif self.blocked == "yes":
            effects.append(ev.TakeDigest())
        self.blocked = "calling"
        return effects

    def _block_ok(self, event: ev.BlockOk) -> list[Effect]:
        """block() has returned: close the latch and answer, in one step."""
        flush = self.flush
        if self.blocked != "calling" or flush is None:
            raise NotEnabled("BlockOk", {'blocked[n] = "calling"': self.blocked})
        self.blocked = "yes"
        self.latch = True
        body = FlushCompleted(flush, event.digest, event.piggyback)
        return [ev.Control(flush.requester, body)]

    def _receive_reconcile(self, event: ev.ReceiveReconcile) -> list[Effect]:
        """RECONCILE: fetch what others have of the old view."""
        if self.blocked != "yes" or not self._current(event.fid, self.flush):
            return []
        self.fetching = event.fetches
        return [ev.FetchStreams(event.fetches)]

    def _reconciled(self, _event: ev.Reconciled) -> list[Effect]:
        """All that was to be fetched has arrived."""
        if not self.fetching or self.flush is None:
            raise NotEnabled("Reconciled", {"fetching[n] # {}": ()})
        self.fetching = ()
        return [ev.Control(self.flush.requester, ReconcileOk(self.flush))]

    def _receive_stop(self, event: ev.ReceiveStop) -> list[Effect]:
        """STOP_FLUSH: the latch opens."""
        if self.blocked != "yes" or not self._current(event.fid, self.flush):
            return []
        self._unblocked()
        return [ev.Unblock()]

    def _open_latch(self, _event: ev.OpenLatch) -> list[Effect]:
        """The policy: open the latch without STOP_FLUSH, and report it."""
        if not self.open_latch or self.blocked != "yes":
            held = {"OpenLatch": self.open_latch, 'blocked[n] = "yes"': self.blocked}
            raise NotEnabled("OpenLatch", held)
        waiting = tuple(self.waiting().items())
        self._unblocked()
        return [ev.Unblock(), ev.LatchOpened(waiting)]

    def _unblocked(self) -> None:
        self.blocked = "no"
        self.latch = False
        self.flush = None
        self.fetching = ()

    # ------------------------------------------------------------------ the requester

    def _suspend(self, event: ev.Suspend) -> list[Effect]:
        """The layer above wants a flush: START_FLUSH to all participants, this member included."""
        if self.asked is not None:
            raise NotEnabled("Suspend", {"asked[n] = NoFlush": self.asked})
        if self.me not in event.participants:
            raise NotEnabled("Suspend", {"n \\in participants": event.participants})
        return self._start(event.participants)

    def _start(self, participants: Iterable[Address]) -> list[Effect]:
        self.attempts += 1
        self.asked = fid = Fid(self.view, self.me, self.attempts)
        self.participants = tuple(participants)
        self._forget_answers()
        return self._to_all(StartFlush(fid, self.participants))

    def _receive_completed(self, event: ev.ReceiveCompleted) -> list[Effect]:
        """FLUSH_COMPLETED: when all are in, compare the digests."""
        sender = event.sender
        if not self._expected(event.fid, sender) or len(self.completed) == len(self.participants):
            return []
        self.completed[sender] = event.digest
        self._answers[sender] = event.piggyback
        return self._compare()

    def _compare(self) -> list[Effect]:
        """All digests are in: RECONCILE goes to members that lack something."""
        if len(self.completed) < len(self.participants):
            return []
        self.target = (
            fetches_of(self.participants, self.completed) if self.repairs.reconcile else ()
        )
        lacking = [m for m in self.participants if lacks(self.completed[m], self.target)]
        self.reconciled = {m for m in self.participants if m not in lacking}
        if not lacking:
            return self._suspended_now()
        assert self.asked is not None
        body = Reconcile(self.asked, self.target)
        return [ev.Control(member, body) for member in lacking]

    def _receive_reconciled(self, event: ev.ReceiveReconciled) -> list[Effect]:
        """A participant has fetched what it lacked."""
        if not self._expected(event.fid, event.sender) or not self.target:
            return []
        self.reconciled.add(event.sender)
        return self._finish()

    def _finish(self) -> list[Effect]:
        if not self.target or any(m not in self.reconciled for m in self.participants):
            return []
        return self._suspended_now()

    def _suspended_now(self) -> list[Effect]:
        assert self.asked is not None
        self.suspended = True
        return [ev.Suspended(self.asked, tuple((m, self._answers[m]) for m in self.participants))]

    def _resume(self, _event: ev.Resume) -> list[Effect]:
        """The layer above is done: STOP_FLUSH to all participants that are still members."""
        if not self.suspended or self.asked is None:
            raise NotEnabled("Resume", {"suspended[n]": self.suspended})
        self.participants = tuple(m for m in self.participants if m in self.members)
        effects = self._to_all(StopFlush(self.asked))
        self.asked = None
        self.participants = ()
        self._forget_answers()
        return effects

    def _yield(self, _event: ev.Yield) -> list[Effect]:
        """The merged view is another member's to flush, or is flushed anew by this one."""
        if self.asked is None:
            raise NotEnabled("Yield", {"asked[n] # <<>>": False})
        self.asked = None
        self.participants = ()
        self._forget_answers()
        return []

    def _forget_answers(self) -> None:
        self.completed = {}
        self._answers = {}
        self.target = ()
        self.reconciled = set()
        self.suspended = False

    # ------------------------------------------------------------------ anybody

    def _suspect(self, event: ev.Suspect) -> list[Effect]:
        """A member is gone. If its answer is missing, the flush begins again without it."""
        member = event.member
        self.suspects.add(member)
        if self.asked is None or member not in self.participants:
            return []
        left = tuple(m for m in self.participants if m != member)
        if self.repairs.restart and not self.suspended:
            return self._start(left)
        self.participants = left
        self.reconciled.discard(member)
        self._answers.pop(member, None)
        counted = len(self.completed) > len(left)
        self.completed.pop(member, None)
        if self.suspended:
            return []
        return self._finish() if counted or self.target else self._compare()

    def _install_view(self, event: ev.InstallView) -> list[Effect]:
        """The next view: forget processes that are not in it."""
        number, members, merged = event
        follows = number > self.view if merged else number == self.view + 1
        if not follows or self.me not in members:
            raise NotEnabled("InstallView", {"v = view[n] + 1": number})
        self.view, self.members = number, members
        self.suspects.intersection_update(event.members)
        self.frozen.intersection_update(event.members)
        return []

    def _multicast(self, _event: ev.Multicast) -> list[Effect]:
        """A multicast passes the open latch."""
        if self.latch:
            raise NotEnabled("Multicast", {"~latch[n]": self.latch})
        return []

    def _receive_multicast(self, event: ev.ReceiveMulticast) -> list[Effect]:
        """A multicast is taken, unless its stream is frozen and it is not to be fetched."""
        sender, position = event
        wanted = next((f.at for f in self.fetching if f.sender == sender), 0)
        if sender not in self.members or (sender in self.frozen and position > wanted):
            raise NotEnabled("ReceiveMulticast", {"c \\notin frozen[n]": sender})
        return []

    def _pass_latch(self, _event: ev.PassLatch) -> list[Effect]:
        """Never enabled: here a multicast is numbered in the step in which it passes."""
        raise NotEnabled("PassLatch", {"~NumberAtLatch": False})

    def _receive_flush_ok(self, _event: ev.ReceiveFlushOk) -> list[Effect]:
        """Never enabled: FLUSH_OK belongs to the changed design."""
        raise NotEnabled("ReceiveFlushOk", {'Design = "changed"': "first"})

    # ------------------------------------------------------------------ their parts

    def _current(self, fid: Fid, mine: Fid | None) -> bool:
        """Return whether a message belongs to the flush under way here, not to an earlier one."""
        return fid == mine or not self.repairs.flush_ids

    def _expected(self, fid: Fid, sender: Address) -> bool:
        return (
            self.asked is not None
            and not self.suspended
            and sender in self.participants
            and self._current(fid, self.asked)
        )

    def _to_all(self, body: FlushBody) -> list[Effect]:
        return [ev.Control(member, body) for member in self.participants]
