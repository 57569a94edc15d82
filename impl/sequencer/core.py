"""SEQUENCER: total order by a coordinator that multicasts on behalf of all; one member's part.

The twin of `spec/Sequencer.tla` (Bela Ban, 2005; seeds/sequencer.txt): one handler per action, with
the action's name in snake_case and its guard first. `handle` takes an event of `effects.py` and
returns the effects, to be carried out in order. A handler whose guard is false raises NotEnabled
and changes nothing. Handlers take runs of messages; a run is as many single steps in a row.

It depends on no layer below. It assumes what UNICAST and NAKACK promise: FORWARDs of one sender
arrive in order, and each coordinator's DATA in order and without gaps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address, Digest, Payloads, Run, Table, View

from .events import (
    Acknowledge,
    Announce,
    Data,
    Deliver,
    Effect,
    Event,
    Forward,
    InstallView,
    Join,
    JoinRsp,
    Leave,
    Merge,
    Multicast,
    ReceiveAck,
    ReceiveData,
    ReceiveForward,
    ReceiveSafe,
    Resend,
    Send,
    SendAck,
    SendForward,
    SendJoinRsp,
    SendSafe,
    Stabilise,
    Stop,
)
from .held import Held
from .own_messages import Own, intervals, remove

__all__ = ["Own", "Repairs", "Sequencer", "intervals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The repairs of the seed's holes, by the spec's constants. Only tests turn any of them off."""

    view_tag: bool = True
    hold_sends: bool = True
    resend_always: bool = True
    own_table: bool = True
    keep_until: str = "delivered"
    exact_next: bool = True
    join_policy: str = "table"
    incarnations: bool = True
    prune_table: bool = True
    drain_on_leave: bool = True
    from_members: bool = True
    delivery: str = "agreed"
    """No repair but the group's choice: "agreed" or "safe"."""


class Sequencer:
    """The state of one member; the attributes have the names of the spec's variables."""

    def __init__(self, me: Address, *, repairs: Repairs | None = None, said: int = 0) -> None:
        self.node = me.node
        self.incarnation = me.incarnation
        self.repairs = repairs or Repairs()
        self.me = me if self.repairs.incarnations else Address(me.node, 0)
        self.status = "joining"
        self.view = 0
        self.members: tuple[Address, ...] = ()
        self.seqno = 0
        self.said = said
        self.forward_table: deque[Own] = deque()
        self.resend: deque[Own] = deque()
        self.received_table: dict[Address, int] = {}
        self.early: list[Forward] = []
        self.held = Held()
        self.told = 0
        self.heard: dict[Address, int] = {}
        self.announced = 0
        self.position: dict[Address, int] = {}
        self.multicasts = 0  # messages in this member's own stream
        self.forwards: dict[Address, int] = {}  # messages sent in each FORWARD channel
        self.clock = 0  # Lamport's clock, which every message carries
        self.pending_bytes = 0  # payload bytes in forward_table
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            Send: self._send,
            ReceiveForward: self._receive_forward,
            ReceiveData: self._receive_data,
            Stabilise: self._stabilise,
            Acknowledge: self._acknowledge,
            ReceiveAck: self._receive_ack,
            Announce: self._announce,
            ReceiveSafe: self._receive_safe,
            InstallView: self._install_view,
            Merge: self._merge,
            Join: self._join,
            Resend: self._resend,
            Leave: self._leave,
            Stop: self._stop,
        }

    def found(self, view: View) -> None:
        """Be a member of the first view from the start."""
        self.status = "member"
        self.view = view.id.counter
        self.members = view.members

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    @property
    def running(self) -> bool:
        """Whether the member takes part in the protocol."""
        return self.status in ("member", "leaving")

    @property
    def is_coordinator(self) -> bool:
        """Whether the member is the first one of its view."""
        return bool(self.members) and self.members[0] == self.me

    @property
    def may_send(self) -> bool:
        """Whether `Send` is enabled."""
        return self.status == "member" and not (self.repairs.hold_sends and self.resend)

    @property
    def in_flight(self) -> int:
        """Own messages sent and not yet delivered."""
        return self.seqno - self.received_table.get(self.me, 0) + self.held.count_of(self.me)

    @property
    def bytes_in_flight(self) -> int:
        """The payload bytes of these messages."""
        return self.pending_bytes + self.held.bytes_of(self.me)

    @property
    def safe_now(self) -> int:
        """How much of this coordinator's stream all members of its view are known to have."""
        places = [self.heard.get(each, 0) for each in self.members if each != self.me]
        return min([self.position.get(self.me, 0), *places])

    @property
    def received(self) -> int:
        """How much of its coordinator's stream has arrived here."""
        return self.position.get(self.members[0], 0) if self.members else 0

    @property
    def unacknowledged(self) -> int:
        """How much of its coordinator's stream has arrived here that was not acknowledged."""
        return self.received - self.told

    # ------------------------------------------------------------------ the handlers

    def _send(self, event: Send) -> list[Effect]:
        """The application multicasts messages (R2, R3)."""
        if not self.may_send:
            raise NotEnabled("Send", {"status": self.status, "resend": intervals(self.resend)})
        payloads = event.payloads
        run = Run(self.me, self.seqno + 1, payloads.count)
        self.clock += 1
        self.seqno = run.last
        self.said += payloads.count
        if self.repairs.own_table or not self.is_coordinator:
            self.forward_table.append(Own(run, payloads))
            self.pending_bytes += payloads.size
        return [self._pass_on(run, payloads)]

    def _receive_forward(self, event: ReceiveForward) -> list[Effect]:
        """A FORWARD arrives (R4)."""
        self._guard("ReceiveForward", "status", self.running, self.status)
        sender, forward = event
        self.clock = max(self.clock, forward.clock) + 1
        if self.repairs.from_members and forward.messages.sender != sender:
            return []  # somebody sends it in another's name
        if self.repairs.view_tag and forward.view > self.view:
            self.early.append(forward)
            return []
        if self.repairs.view_tag and forward.view < self.view:
            return []  # its sender resends it in this view
        if not self.is_coordinator or not self._may_forward(forward):
            return []
        return [self._multicast(forward.messages, forward.payloads)]

    def _receive_data(self, event: ReceiveData) -> list[Effect]:
        """The next DATA of a coordinator's stream arrives (R5, R6, R9)."""
        coordinator, data = event
        run, repairs = data.messages, self.repairs
        sender, first, last = run.sender, run.first, run.first + run.size - 1
        known = self.received_table.get(sender, 0)
        if not (
            self.running
            and coordinator in self.members
            and data.position == self.position.get(coordinator, 0) + 1
            and (not repairs.view_tag or data.view <= self.view)
            and (not repairs.exact_next or self._is_next(run, known))
        ):
            raise self._data_refused(coordinator, data, known)
        self.clock = max(self.clock, data.clock) + 1
        self.position[coordinator] = data.position + run.size - 1
        if sender == self.me and repairs.keep_until == "delivered":
            self._forget(first, last)
        if last <= known:
            return []
        self.received_table[sender] = last
        place, payloads = data.position, data.payloads
        if first <= known:  # the first ones were delivered before
            run = Run(sender, known + 1, last - known)
            place, payloads = place + known + 1 - first, payloads.part(known + 1 - first, run.size)
        if repairs.delivery == "safe":
            self.held.append(place, run, payloads)
            return []
        return [Deliver(run, self.view, payloads)]

    def _acknowledge(self, _event: Acknowledge) -> list[Effect]:
        """Safe delivery: the coordinator learns what has been received here."""
        self._guard_safe("Acknowledge")
        self._guard("Acknowledge", "~IsCoordinator(n)", not self.is_coordinator, self.members)
        self._guard("Acknowledge", "at > told[n]", self.unacknowledged > 0, self.told)
        self.clock += 1
        self.told = self.received
        return [SendAck(self.members[0], self.told, self.clock)]

    def _receive_ack(self, event: ReceiveAck) -> list[Effect]:
        """The acknowledgement of a member arrives; it covers those before it."""
        sender, place, clock = event
        self._guard_safe("ReceiveAck")
        self._guard("ReceiveAck", "n # s", sender != self.me, sender)
        self._guard("ReceiveAck", "IsCoordinator(n)", self.is_coordinator, self.members)
        inside, known = sender in self.members, self.heard.get(sender, 0)
        self._guard("ReceiveAck", "Address(s) in Members(CurrentView(n))", inside, sender)
        self._guard("ReceiveAck", "told[s] > Acknowledged(n, Address(s))", place > known, known)
        self.clock = max(self.clock, clock) + 1
        self.heard[sender] = place
        return []

    def _announce(self, _event: Announce) -> list[Effect]:
        """Safe delivery: all learn what every member of the view has received."""
        self._guard_safe("Announce")
        self._guard("Announce", "IsCoordinator(n)", self.is_coordinator, self.members)
        safe = self.safe_now
        self._guard("Announce", "all > announced[n]", safe > self.announced, safe)
        self.clock += 1
        self.announced = safe
        return [SendSafe(safe, self.clock)]

    def _receive_safe(self, event: ReceiveSafe) -> list[Effect]:
        """The coordinator's announcement arrives: what it covers is delivered."""
        coordinator, place, clock = event
        self._guard_safe("ReceiveSafe")
        of_view = coordinator in self.members[:1]
        self._guard("ReceiveSafe", "Coordinator(CurrentView(n)) = Address(c)", of_view, coordinator)
        self._guard("ReceiveSafe", "covered # {}", self.held.covers(place), place)
        self.clock = max(self.clock, clock) + 1
        return self._released(place)

    def _stabilise(self, event: Stabilise) -> list[Effect]:
        """All members of the view have delivered own messages: the design that keeps them so long.

        The implemented one forgets a message when it is delivered, because views are virtually
        synchronous.
        """
        kept = self.repairs.keep_until
        self._guard("Stabilise", 'KeepUntil = "stable"', kept == "stable", kept)
        self._guard("Stabilise", "status", self.running, self.status)
        table = intervals(self.forward_table)
        stable = bool(table) and table[0][0] <= event.seqno
        self._guard("Stabilise", "\\E m \\in forwardTable[n] : ~Kept(m)", stable, table)
        self.clock += 1
        self._forget(1, event.seqno)
        return []

    def _install_view(self, event: InstallView) -> list[Effect]:
        """The next view is installed (R7, R8); its coordinator answers the joiners."""
        view, repairs = event.view, self.repairs
        number, members = view.id.counter, view.members
        self._guard("InstallView", "status", self.running, self.status)
        self._guard("InstallView", "v = view[n] + 1", number == self.view + 1, number)
        self._guard("InstallView", "Address(n) in Members(new)", self.me in members, members)
        self.clock += 1
        if repairs.prune_table:
            table = self.received_table
            self.received_table = {a: table[a] for a in table if a in members}
        if repairs.resend_always or members[0] != self.members[0]:
            self.resend = deque(self.forward_table)
        waiting = [forward for forward in self.early if forward.view == number]
        self.early = [forward for forward in self.early if forward.view > number]
        passed = self._released(None)  # all survivors have it
        self.view, self.members = number, members
        self.heard.clear()
        self.told = self.received if repairs.delivery == "safe" else 0
        if not self.is_coordinator:
            return passed
        rsp = JoinRsp(view, self._join_table(), self._digest(), self.clock)
        effects = passed
        effects += [
            self._multicast(f.messages, f.payloads) for f in waiting if self._may_forward(f)
        ]
        effects += [SendJoinRsp(joiner, rsp) for joiner in view.joiners if joiner != self.me]
        return effects

    def at_cut(self, members: tuple[Address, ...]) -> tuple[Table, Digest]:
        """MERGE2: what is delivered of these members, and of their own streams, as a side tells."""
        table, mine = self.received_table, self.position
        return (
            tuple(sorted((m, table[m]) for m in members if table.get(m))),
            Digest(tuple(sorted((m, mine[m]) for m in members if mine.get(m)))),
        )

    def _merge(self, event: Merge) -> list[Effect]:
        """MERGE2 installs a merged view: all members know the cuts of all sides.

        If another side has delivered more of this one's messages, they are not sent again. Nobody
        waits for JOIN_RSP.
        """
        view, table, digest, clock = event
        number, members = view.id.counter, view.members
        self._guard("Merge", "status", self.running, self.status)
        self._guard("Merge", "v > view[n]", number > self.view, number)
        self._guard("Merge", "Address(n) in Members(new)", self.me in members, members)
        passed = self._released(None)  # in this side's old view
        self.view = number - 1
        self.clock = max(self.clock, clock)
        for member, last in table:
            self.received_table[member] = max(last, self.received_table.get(member, 0))
        self._forget(1, self.received_table.get(self.me, 0))
        self.position |= dict(digest.entries)
        return passed + self._install_view(InstallView(view._replace(joiners=())))

    def _join(self, event: Join) -> list[Effect]:
        """JOIN_RSP arrives: the joiner is a member."""
        rsp = event.rsp
        self._guard("Join", "status", self.status == "joining", self.status)
        self.clock = max(self.clock, rsp.clock) + 1
        self.status = "member"
        self.view, self.members = rsp.view.id.counter, rsp.view.members
        self.received_table = dict(rsp.table)
        self.position = dict(rsp.digest.entries)
        self.told = self.received if self.repairs.delivery == "safe" else 0
        return []

    def _resend(self, event: Resend) -> list[Effect]:
        """The next messages of forwardTable go out again after a view change (R7)."""
        self._guard("Resend", "status", self.running, self.status)
        self._guard("Resend", "resend[n] # <<>>", bool(self.resend), ())
        self.clock += 1
        run, payloads = self.resend.popleft()
        if event.size is not None and event.size < run.size:
            rest = Run(run.sender, run.first + event.size, run.size - event.size)
            self.resend.appendleft(Own(rest, payloads.part(event.size, rest.size)))
            run, payloads = run._replace(size=event.size), payloads.part(0, event.size)
        return [self._pass_on(run, payloads)]

    def _leave(self, _event: Leave) -> list[Effect]:
        """The application calls leave(): no new messages (R10)."""
        self._guard("Leave", "status", self.status == "member", self.status)
        self.clock += 1
        self.status = "leaving"
        return []

    def _stop(self, event: Stop) -> list[Effect]:
        """leave() returns; drained, only when nothing of the leaver is under way."""
        self._guard("Stop", "status", self.status == "leaving", self.status)
        if self.repairs.drain_on_leave:
            table = intervals(self.forward_table)
            self._guard("Stop", "forwardTable[n] = {}", not table, table)
            self._guard("Stop", "all have received all of my stream", event.drained, False)
        self.clock += 1
        self.status = "left"
        self.view = self.seqno = self.pending_bytes = self.told = self.announced = 0
        self.members = ()
        self.forward_table.clear()
        self.resend.clear()
        self.received_table.clear()
        self.early.clear()
        self.held.clear()
        self.heard.clear()
        self.position.clear()
        return []

    # ------------------------------------------------------------------ their parts

    def _released(self, place: int | None) -> list[Effect]:
        """Deliver what is held up to that place of the stream, all of it if there is none."""
        return [Deliver(run, self.view, load) for run, load in self.held.taken(place)]

    def _guard_safe(self, action: str) -> None:
        wanted = self.repairs.delivery
        self._guard(action, 'Delivery = "safe"', wanted == "safe", wanted)
        self._guard(action, "status", self.running, self.status)

    def _forget(self, first: int, last: int) -> None:
        """Take own messages out of forward_table, and out of what is to be resent."""
        self.pending_bytes -= remove(self.forward_table, first, last)
        if self.resend:
            remove(self.resend, first, last)

    def _pass_on(self, run: Run, payloads: Payloads) -> Effect:
        """Multicast own messages as the coordinator, forward them to it as anybody else."""
        if self.is_coordinator:
            return self._multicast(run, payloads)
        to = self.members[0]
        before = self.forwards.get(to, 0)
        self.forwards[to] = before + run.size
        return SendForward(to, Forward(run, self.view, payloads, before + 1, self.clock))

    def _multicast(self, run: Run, payloads: Payloads) -> Effect:
        before = self.multicasts
        self.multicasts += run.size
        return Multicast(Data(run, self.view, payloads, before + 1, self.clock))

    def _may_forward(self, forward: Forward) -> bool:
        """A FORWARD is heeded in the present view if its sender is a member of it."""
        return not self.repairs.from_members or forward.messages.sender in self.members

    def _is_next(self, run: Run, known: int) -> bool:
        """R6: "needs to be 1 higher"; for an unknown sender the join policy decides."""
        return run.first <= known + 1 or (
            self.repairs.join_policy == "any" and run.sender not in self.received_table
        )

    def _join_table(self) -> Table:
        if self.repairs.join_policy != "table":
            return ()
        return tuple(sorted(self.received_table.items()))

    def _digest(self) -> Digest:
        mine = self.position
        return Digest(tuple(sorted((m, mine[m]) for m in self.members if mine.get(m))))

    def _guard(self, action: str, text: str, holds: bool, value: object) -> None:
        if not holds:
            raise NotEnabled(action, {text: value})

    def _data_refused(self, coordinator: Address, data: Data, known: int) -> NotEnabled:
        at = self.position.get(coordinator, 0)
        conjuncts = {
            "Running(n)": (self.running, self.status),
            "c in NodesOf(CurrentView(n))": (coordinator in self.members, coordinator),
            "position[n][c] + 1": (data.position == at + 1, data.position),
            "ViewTag => d.view <= view[n]": (data.view <= self.view, data.view),
            "ExactNext => IsNext(n, m)": (self._is_next(data.messages, known), data.messages),
        }
        return NotEnabled("ReceiveData", {t: v for t, (holds, v) in conjuncts.items() if not holds})
