"""The direct checker: replay a whole trace in the global machine, along one linear extension.

Small, slow and undecomposed: it simulates every process and the network at once (`world.py`), in
the order of the Lamport clocks, and compares each record as a whole with the one that the machine
writes. Tests hold the decomposed checker's verdict against this one's. It wants records that are
in order and whole, since what is done about damaged files is decided before either checker.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from raincheck.conformance.mapping.sequencer_records import rules_of
from raincheck.model.runs import Address, Run

from .events import Args, Event, Footer, Header, MessageId, Record
from .findings import HOLDS, INCONCLUSIVE, VIOLATED
from .network import follows
from .world import Admit, NotEnabled, Packet, World

Members = tuple[Address, ...]


class Direct:
    """One replay."""

    def __init__(
        self, trace: Mapping[Address, list[Record]], crashed: Iterable[Address] = ()
    ) -> None:
        self.violated: list[tuple[Address, int, str]] = []
        self.unsure: list[tuple[Address, int, str]] = []
        self.broken: set[Address] = set()
        self.complete: set[Address] = set()
        self.stopped: set[Address] = set()
        self.views: dict[int, Members] = {}
        self.installed: dict[int, set[Address]] = {}
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
        crc = event.sent[0].crc if event.sent else 0
        at = dict(here.positions)
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
        for admit in self.world.answers.values():
            if admit.id in {sent.id for sent in event.sent}:
                admit.clock = event.clock
        if event.action in ("Send", "Resend", "InstallView", "Leave", "Stop", "Crash"):
            expected.args.crc = event.args.crc  # no payload is consumed: nothing to compare
        if _canonical(expected) != _canonical(event):
            return f"expected {expected}"
        if event.action == "Stop":
            self.stopped.add(who)
        if event.action in ("InstallView", "Join"):
            wrong = self._view(who, here.me.view, here.me.members)
            if wrong:
                return wrong
            for member in before:
                if member not in here.me.members:
                    self._left(who, member, at.get(member, 0))
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

    def _left(self, reader: Address, member: Address, position: int) -> None:
        """Whoever stopped had been read to the end by those who then lose it from their view."""
        unread = position < self.world.multicast.get(member, 0)
        if self.world.rules.drain_on_leave and member in self.stopped and unread:
            self.violated.append((member, 0, f"it stopped before {reader} had all of it"))

    def _close(self) -> None:
        for number, members in sorted(self.views.items()):
            old = self.views.get(number - 1)
            if old and not follows(old, members, set(self.installed[number - 1])):
                self.violated.append((members[0], 0, f"view {number} does not follow"))
            for member in members:
                if member not in self.world.processes and member not in self.killed:
                    self.unsure.append((member, 0, "it has no file"))
        for who, here in self.world.processes.items():
            if here.me.status in ("member", "leaving") and who in self.complete:
                for member in here.me.members:
                    if member != who:
                        self._left(who, member, here.positions.get(member, 0))


def _canonical(event: Event) -> tuple[Any, ...]:
    """The record without what carries no meaning: the order of one event's messages."""
    sent = sorted(event.sent, key=lambda message: [str(part) for part in message.id])
    plain = [(s.id, s.to, s.view, s.messages, s.crc, s.table, s.digest) for s in sent]
    head = (event.index, event.clock, event.action, event.received)
    return (*head, event.args, plain, event.changed)
