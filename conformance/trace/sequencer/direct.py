"""The direct checker: replay a whole trace in the global machine, along one linear extension.

Small, slow and undecomposed: it simulates every process and the network at once (`world.py`), in
the order of the Lamport clocks, and compares each record as a whole with the one that the machine
writes. Tests hold the decomposed checker's verdict against this one's. It wants records that are
in order and whole, since what is done about damaged files is decided before either checker.
Law of this file: with what it is held against (`members.py`, `cuts.py`, `bindings/sequencer`) it
shares the model's handlers and the shapes of records, and no rule: what a view may follow, what had
to be read and who was drained it says in its own way, in sets of messages, where that one counts
positions.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import Any

from raincheck.conformance.bindings.sequencer.records import rules_of
from raincheck.conformance.trace.events import Args, Event, Footer, Header, MessageId, Record
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.model.machine.runs import Address, Run

from .direct_world import Admit, NotEnabled, Packet, World, last_of

Members = tuple[Address, ...]
Numbered = tuple[Address, int]
"""One message of a stream: whose stream it is, and its place there."""


class Direct:
    """One replay."""

    def __init__(
        self, trace: Mapping[Address, list[Record]], crashed: Iterable[Address] = ()
    ) -> None:
        self.violated: list[tuple[Address, int, str]] = []
        self.unsure: list[tuple[Address, int, str]] = []
        self.broken: set[Address] = set()
        self.files = set(trace)
        self.complete: set[Address] = set()
        self.stopped: set[Address] = set()
        self.views: dict[int, Members] = {}
        self.installed: dict[int, set[Address]] = {}
        self.synchronous = True
        self.read: dict[Address, set[Numbered]] = defaultdict(set)
        """What each process has read, whoever's stream it was in."""
        self.behind: dict[tuple[Address, int], set[Numbered]] = {}
        """What it had read when it left that view, by going on to the next or by ending."""
        self.went_on: set[tuple[Address, int]] = set()
        """Who left that view by going on."""
        self.departed: dict[tuple[Address, Address], tuple[int, set[Numbered]]] = {}
        """What the first had read when the second was out of its view, where that was the last, and
        the first view without it."""
        self.joined: dict[Address, int] = {}
        """The view with which a member began."""
        self.events: list[Event] = []
        self.world = World("", rules_of({}))
        for who, records in sorted(trace.items()):
            self._take(who, records)
        for who in trace:
            if who not in self.complete and who not in self.broken and who not in set(crashed):
                self.unsure.append((who, 0, "the file has no footer"))
        self.killed = set(crashed)
        self.replay()

    @property
    def verdict(self) -> str:
        """Three-valued, as the decomposed checker's."""
        if self.violated:
            return VIOLATED
        return INCONCLUSIVE if self.unsure or not self.events else HOLDS

    def _take(self, who: Address, records: list[Record]) -> None:
        header = records[0]
        assert isinstance(header, Header)
        self.world.run = header.run
        self.world.rules = rules_of(header.constants)
        self.synchronous = header.constants.get("VirtualSynchrony", True) is not False
        if header.initial is None:
            self.world.arrive(who, header.said)
        else:
            members = tuple(Address(*member) for member in header.initial.members)
            self.world.found(members, header.initial.id)
            self._view(who, header.initial.id, members)
        clock = index = 0
        for record in records[1:]:
            if isinstance(record, Footer):
                self.complete.add(who)
                if record.index != index and who not in self.broken:
                    self.unsure.append((who, index, "records are missing at the end"))
                    self.broken.add(who)
            elif isinstance(record, Event) and who not in self.broken:
                if record.index != index + 1:
                    self.unsure.append((who, index, "records are missing"))
                    self.broken.add(who)
                    continue
                if record.clock <= clock:
                    self.violated.append((who, record.index, "the clock does not increase"))
                    self.broken.add(who)
                    continue
                clock, index = record.clock, record.index
                self.events.append(record)
                if record.action in ("Stop", "Crash"):
                    self.complete.add(who)
        self.complete -= self.broken

    def replay(self) -> None:
        """Take every event in an order that the clocks allow."""
        order = sorted(self.events, key=lambda e: (e.clock, e.node, e.incarnation, e.index))
        frozen: set[Address] = set()
        for event in order:
            who = Address(event.node, event.incarnation)
            if who in frozen:
                continue
            # A node that goes on beyond what can be checked sends messages that nobody saw sent.
            why = self._step(who, event)
            if why:
                self.violated.append((who, event.index, why))
                frozen.add(who)
                self.complete.discard(who)
                self.broken.add(who)
        self._close()

    def _step(self, who: Address, event: Event) -> str:
        """Take one event; return what is wrong with it."""
        here = self.world.processes[who]
        before = here.me.members
        choice, missing = self._choice(who, event)
        if missing:
            return missing
        view = here.me.view
        taken = self.world.next_data(who, choice) if event.action == "ReceiveData" else None
        if self.synchronous and taken is not None and taken.view != view:
            return f"a message of view {taken.view} is read in view {view}"
        crc = event.sent[0].crc if event.sent else 0
        had = set(self.read[who])
        try:
            expected = self.world.perform(who, event.action, choice, crc)
        except NotEnabled as error:
            return str(error)
        if expected.clock > event.clock:
            return f"the clock {event.clock} is not after what it received"
        here.clock = expected.clock = event.clock
        for packets in (self.world.streams.get(who, []), *self._mine(who)):
            for packet in packets:
                if packet.clock > event.clock or packet.id in {sent.id for sent in event.sent}:
                    packet.clock = event.clock
        for sent in event.sent:
            if sent.id[0] == "ACK" and sent.to is not None:
                self.world.acks[who, Address(*sent.to)][int(sent.id[-1])] = event.clock
            elif sent.id[0] == "SAFE":
                self.world.safes[who][int(sent.id[-1])] = event.clock
        for admit in self.world.answers.values():
            if admit.id in {sent.id for sent in event.sent}:
                admit.clock = event.clock
        if event.action in ("Send", "Resend", "InstallView", "Leave", "Stop", "Crash"):
            expected.args.crc = event.args.crc  # no payload is consumed: nothing to compare
        if _canonical(expected) != _canonical(event):
            return f"expected {expected}"
        if taken is not None:
            numbers = range(int(taken.id[-1]), last_of(taken) + 1)
            self.read[who] |= {(choice, number) for number in numbers}
        if event.action == "Join":
            self.read[who] = {(c, n) for c, at in here.positions.items() for n in range(1, at + 1)}
        if event.action == "Stop":
            self.stopped.add(who)
        if event.action in ("Stop", "Crash"):
            self.behind[who, view] = had
        if event.action == "InstallView":
            self.behind[who, view] = had
            self.went_on.add((who, view))
        if event.action in ("InstallView", "Join"):
            for member in here.me.members:
                self.departed.pop((who, member), None)
            for member in before:
                if member not in here.me.members:
                    self.departed[who, member] = (here.me.view, had)
            self.joined.setdefault(who, here.me.view)
            return self._view(who, here.me.view, here.me.members)
        return ""

    def _mine(self, who: Address) -> list[list[Packet]]:
        return [packets for (sender, _), packets in self.world.forwards.items() if sender == who]

    def _choice(self, who: Address, event: Event) -> tuple[Any, str]:
        """What the environment chose, read off the record."""
        args, received = event.args, event.received
        match event.action:
            case "Send" | "Resend":
                return (args.messages or ("", 0, 0, 1))[3], ""
            case "InstallView":
                return (args.view, tuple(Address(*m) for m in args.members or ())), ""
            case "ReceiveForward" | "ReceiveData":
                if not received or args.messages is None or args.view is None:
                    return None, "no message is named"
                sender = Address(str(received[1]), int(received[2]))
                here = self.world.processes[who]
                if event.action == "ReceiveData":
                    packet = self.world.next_data(who, sender)
                    at = here.positions.get(sender, 0)
                else:
                    waiting = self.world.forwards.get((sender, who), [])
                    packet = waiting[0] if waiting else None
                    at = self._forwarded(sender, who)
                if packet is None and self._trusted(sender, int(received[-1]), at):
                    self._invent(who, sender, received, args)
                return sender, ""
            case "ReceiveAck" | "ReceiveSafe":
                if not received or args.from_ is None or args.position is None:
                    return None, "no message is named"
                sender, place = Address(str(received[1]), int(received[2])), int(received[-1])
                safe = event.action == "ReceiveSafe"
                said = (
                    self.world.safes.setdefault(sender, {})
                    if safe
                    else self.world.acks.setdefault((sender, who), {})
                )
                if place not in said and self._might_have_said(sender, place, said):
                    said[place] = 0
                return (sender, place), ""
            case "Join":
                if not received or args.view is None or not args.members:
                    return None, "no message is named"
                sender = Address(str(received[1]), int(received[2]))
                if who not in self.world.answers and self._trusted(sender, 1, 0):
                    members = tuple(Address(*m) for m in args.members)
                    table = tuple((Address(*row[:2]), row[2]) for row in args.table or ())
                    self.world.answers[who] = Admit(
                        received, args.view, members, table, args.digest or (), 0
                    )
                return None, ""
        return None, ""

    def _forwarded(self, sender: Address, who: Address) -> int:
        return self.world.forwarded.get((sender, who), 0)

    def _trusted(self, sender: Address, position: int, at: int) -> bool:
        """Whether a message that nobody recorded may have been sent after the records end."""
        if sender in self.complete or position != at + 1:
            return False
        self.unsure.append((sender, 0, "its sending is not recorded"))
        return True

    def _might_have_said(self, sender: Address, place: int, said: Mapping[int, int]) -> bool:
        """Whether an ACK or SAFE that nobody recorded may have been sent after the records end.

        Those that are recorded have a clock.
        """
        if sender in self.complete or any(each >= place for each, clock in said.items() if clock):
            return False
        self.unsure.append((sender, 0, "its sending is not recorded"))
        return True

    def _invent(self, who: Address, sender: Address, name: MessageId, args: Args) -> None:
        """Take the receiver's word for a message whose sender's records are incomplete."""
        assert args.messages is not None
        node, life, first, count = args.messages
        run = Run(Address(node, life), first, count, 0)
        packet = Packet(name, run, args.view or 0, args.crc, 0)
        if name[0] == "DATA":
            self.world.streams.setdefault(sender, []).append(packet)
        else:
            self.world.forwards.setdefault((sender, who), []).append(packet)
            self.world.forwarded[sender, who] = int(name[-1]) + count - 1

    def _view(self, who: Address, number: int, members: Members) -> str:
        """One sequence of views."""
        if self.views.setdefault(number, members) != members:
            return "the view has other members elsewhere"
        self.installed.setdefault(number, set()).add(who)
        return ""

    def _close(self) -> None:
        for who, here in self.world.processes.items():
            if here.me.status in ("member", "leaving"):
                self.behind[who, here.me.view] = self.read[who]
                if who in self.complete:
                    for member in here.me.members:
                        self.departed[who, member] = (here.me.view + 1, self.read[who])
        lost: set[Numbered] = set()
        for number, members in sorted(self.views.items()):
            old = self.views.get(number - 1)
            if old and not may_follow(old, members, self.installed[number - 1]):
                self.violated.append((members[0], 0, f"view {number} does not follow"))
            if old and self.synchronous:
                lost |= self._changed_view(number, old, members)
            for member in members:
                if member not in self.files and member not in self.killed:
                    self.unsure.append((member, 0, "it has no file"))
        if self.world.rules.drain_on_leave:
            for (reader, member), (number, had) in self.departed.items():
                if number < self.joined.get(member, 0):
                    continue  # without having learnt of its admission, it was no member
                if member in self.stopped and self._stream(member) - lost - had:
                    self.violated.append((member, 0, f"it stopped before {reader} had all of it"))

    def _stream(self, c: Address, view: int | None = None) -> set[Numbered]:
        """Every message of c's stream; or those of them that it multicast in that view."""
        return {
            (c, number)
            for packet in self.world.streams.get(c, [])
            if view is None or packet.view == view
            for number in range(int(packet.id[-1]), last_of(packet) + 1)
        }

    def _changed_view(self, number: int, old: Members, new: Members) -> set[Numbered]:
        """Require that all who go on to a view have read the same of the old one.

        Return the multicasts of a former coordinator that nobody had: they are lost to it.
        """
        behind = {w: had for (w, view), had in self.behind.items() if view == number - 1}
        going = [who for who in behind if (who, number - 1) in self.went_on]
        wanted: set[Numbered] = set()
        for who, had in behind.items():
            for c, place in had:
                may_be_lost = c == old[0] != new[0] and who not in new
                if c in old and not may_be_lost:
                    wanted.add((c, place))
        if old[0] == new[0]:
            wanted |= self._stream(old[0], number - 1)
        for who in going:
            if wanted - behind[who]:
                self.violated.append((who, 0, f"it left view {number - 1} with messages unread"))
        demoted = old[0] != new[0] and old[0] in new
        if not demoted or not going:
            return set()
        return self._stream(old[0]) - set[Numbered]().union(*(behind[who] for who in going))


def may_follow(old: Members, new: Members, installed: Collection[Address]) -> bool:
    """Whether the membership may decide that view after the old one, by trying all that it may.

    Who has installed the old view is in it, and cannot join.
    """
    if list(new) == [*old[1:], *old[:1]]:
        return True
    for size in range(1, len(old) + 1):
        for kept in combinations(old, size):
            joiners = set(new) - set(kept)
            in_order = list(new) == [*kept, *(who for who in new if who in joiners)]
            nodes = {who.node for who in new}
            if in_order and len(nodes) == len(new) and joiners.isdisjoint(installed):
                return True
    return False


def _canonical(event: Event) -> tuple[Any, ...]:
    """The record without what carries no meaning: the order of one event's messages."""
    sent = sorted(event.sent, key=lambda message: [str(part) for part in message.id])
    plain = [(s.id, s.to, s.view, s.messages, s.crc, s.table, s.digest) for s in sent]
    head = (event.index, event.clock, event.action, event.received)
    return (*head, event.args, plain, event.changed)
