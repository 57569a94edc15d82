"""The whole group at once, on the model's handlers: what the trace checker's decomposition avoids.

It serves two purposes, both of which want it small and obvious rather than fast: random walks
through it are good traces (`tracegen.py`), and replaying a recorded trace in it is the direct
checker (`direct.py`) that the decomposed one is compared with.
Channels are between addresses, as in the trace: a process that comes back has new ones.
"""

from dataclasses import dataclass, field
from typing import Any

from raincheck.conformance.trace.events import (
    Args,
    Changed,
    Delivered,
    Event,
    MessageId,
    Released,
    Sent,
)
from raincheck.model.machine.machine import Refused
from raincheck.model.machine.runs import Address, Run
from raincheck.model.sequencer import handlers
from raincheck.model.sequencer.handlers import (
    Ack,
    Data,
    Deliver,
    Forward,
    JoinRsp,
    Local,
    Rules,
    Safe,
)

Members = tuple[Address, ...]


class NotEnabled(Exception):
    """The machine cannot take this step; the text says why."""


@dataclass(slots=True)
class Packet:
    """A network message: its id, its contents, and its sender's clock."""

    id: MessageId
    messages: Run
    view: int
    crc: int | None
    clock: int


@dataclass(slots=True)
class Admit:
    """A JOIN_RSP on its way."""

    id: MessageId
    view: int
    members: Members
    table: handlers.Table
    digest: tuple[tuple[str, int, int], ...]
    clock: int


@dataclass(slots=True)
class Process:
    """One (node, incarnation): its local state and its places in the streams."""

    me: Local
    clock: int = 0
    index: int = 0
    positions: dict[Address, int] = field(default_factory=dict)
    early_crcs: dict[Run, int | None] = field(default_factory=dict)


class World:
    """Every process and the network between them; `perform` takes one step and records it."""

    def __init__(self, run: str, rules: Rules) -> None:
        self.run = run
        self.rules = rules
        self.processes: dict[Address, Process] = {}
        self.forwards: dict[tuple[Address, Address], list[Packet]] = {}
        self.forwarded: dict[tuple[Address, Address], int] = {}
        self.streams: dict[Address, list[Packet]] = {}
        self.multicast: dict[Address, int] = {}
        self.answers: dict[Address, Admit] = {}
        self.lost: dict[Address, int] = {}
        self.acks: dict[tuple[Address, Address], dict[int, int]] = {}
        """From whom, and to which coordinator: the places that were acknowledged, with the clocks.
        """
        self.safes: dict[Address, dict[int, int]] = {}
        """The places that each coordinator has announced, with the clocks."""
        self.taken: dict[MessageId, set[int]] = {}
        """The places that have arrived, by what names the messages and by who has them."""

    def found(self, members: Members, view: int = 1) -> None:
        """Let the founders start."""
        for who in members:
            me = handlers.founder(who.node, members)
            self.processes[who] = Process(me._replace(view=view, incarnation=who.incarnation))

    def arrive(self, who: Address, said: int = 0) -> None:
        """Let a process start that wants to join."""
        self.processes[who] = Process(handlers.joiner(who.node, who.incarnation, said))

    def next_data(self, who: Address, coordinator: Address) -> Packet | None:
        """The next multicast of that coordinator for this process."""
        at = self.processes[who].positions.get(coordinator, 0)
        stream = self.streams.get(coordinator, [])
        return next((packet for packet in _from(stream, at + 1)), None)

    def length(self, who: Address) -> int:
        """How many messages its stream has."""
        return self.multicast.get(who, 0) - self.lost.get(who, 0)

    def cut_off(self, who: Address, length: int) -> None:
        """Take away what its stream has beyond that: its coordinator has lost its role with it.

        Positions count multicasts, so that it must not multicast again if there was any.
        """
        kept = [packet for packet in self.streams.get(who, []) if last_of(packet) <= length]
        self.streams[who] = kept
        self.lost[who] = self.multicast.get(who, 0) - length

    def drained(self, who: Address) -> bool:
        """Whether everybody who might need it has read all of its stream."""
        at = [
            here.positions.get(who, 0)
            for here in self.processes.values()
            if handlers.running(here.me) and who in here.me.members
        ]
        at += [
            {row[:2]: row[2] for row in admit.digest}.get(who, 0)
            for admit in self.answers.values()
            if who in admit.members
        ]
        return all(place == self.length(who) for place in at)

    # ------------------------------------------------------------------ steps

    def perform(self, who: Address, action: str, choice: Any = None, crc: int | None = 0) -> Event:
        """Take the step and return its record; raise NotEnabled if it cannot be taken.

        `choice` is what the environment chooses: how many messages, from whom, or which view.
        """
        here = self.processes[who]
        old, old_positions = here.me, dict(here.positions)
        received: MessageId | None = None
        heard = 0
        crcs: list[int | None] = [crc]
        args = Args()
        match action:
            case "Send":
                answer = handlers.send(self.rules, old, choice)
                args.messages = (*who, old.seqno + 1, choice)
            case "Resend":
                low = old.resend[0][0] if old.resend else 0
                answer = handlers.resend(self.rules, old, choice)
                args.messages = (*who, low, choice)
            case "ReceiveForward":
                packet = self._head(choice, who)
                forward = Forward(packet.messages, packet.view, who)
                answer = handlers.receive_forward(self.rules, old, choice, forward)
                args, received, heard = _arguments(packet), packet.id, packet.clock
                args.from_ = choice
                crcs = [packet.crc]
                here.early_crcs[packet.messages] = packet.crc
            case "ReceiveData":
                found = self.next_data(who, choice)
                if found is None:
                    raise NotEnabled("nothing is in the stream there")
                packet = found
                data = Data(packet.messages, packet.view)
                place = int(packet.id[-1])
                answer = handlers.receive_data(self.rules, old, choice.node, data, place)
                args, received, heard = _arguments(packet), packet.id, packet.clock
                args.from_ = packet.messages.sender
                args.position = int(packet.id[-1])
            case "InstallView":
                number, members = choice
                place = here.positions.get(members[0], 0)
                answer = handlers.install_view(self.rules, old, number, members, place)
                args.view, args.members = number, members
                crcs = [
                    here.early_crcs.get(f.messages)
                    for f in old.early
                    if f.view == number and handlers.may_forward(self.rules, f, members)
                ]
            case "Join":
                admit = self.answers.get(who)
                if admit is None:
                    raise NotEnabled("no JOIN_RSP is under way")
                place = {(n, i): at for n, i, at in admit.digest}.get(admit.members[0], 0)
                answer = handlers.join(
                    self.rules, old, admit.view, admit.members, admit.table, place
                )
                args.view, args.members, args.digest = admit.view, admit.members, admit.digest
                args.table = _flat(admit.table)
                received, heard = admit.id, admit.clock
            case "Acknowledge":
                answer = handlers.acknowledge(self.rules, old, _received(here))
            case "Announce":
                answer = handlers.announce(self.rules, old, _received(here))
            case "ReceiveAck" | "ReceiveSafe":
                sender, place = choice
                args.from_, args.position = sender, place
                if action == "ReceiveAck":
                    received = ("ACK", *sender, *who, place)
                    known = self.acks.get((sender, who), {}).get(place)
                    answer = handlers.receive_ack(self.rules, old, sender, place)
                else:
                    received = ("SAFE", *sender, place)
                    known = self.safes.get(sender, {}).get(place)
                    answer = handlers.receive_safe(self.rules, old, sender, place)
                if known is None:
                    raise NotEnabled("nobody has said that")
                taken = self.taken.setdefault((*received[:-1], *who), set())
                if any(before >= place for before in taken):
                    raise NotEnabled("it has heard of that, or more, before")
                heard = known
            case "Leave":
                answer = handlers.leave(old)
            case "Stop":
                answer = handlers.stop(self.rules, old)
            case "Crash":
                answer = handlers.crash(old)
            case _:
                raise NotEnabled(f"unknown action {action}")
        if isinstance(answer, Refused):
            raise NotEnabled("; ".join(text for text, _ in answer.conjuncts))
        # From here on the step is taken.
        here.me = answer.local
        here.index += 1
        here.clock = max(here.clock, heard) + 1
        if action == "ReceiveForward":
            self.forwards[choice, who].pop(0)
        elif action == "ReceiveData":
            here.positions[choice] = here.positions.get(choice, 0) + packet.messages.size
        elif action in ("ReceiveAck", "ReceiveSafe"):
            taken.add(place)
        elif action == "Join":
            here.positions = {Address(n, i): at for n, i, at in self.answers.pop(who).digest}
        elif action in ("Stop", "Crash"):
            here.positions = {}
        sent, delivered = self._carry(who, here, old, answer.outputs, crcs)
        changed = _difference(old, here.me, old_positions, here.positions)
        if self.rules.delivery == "safe":
            changed.released = _released(answer.outputs) or changed.released
        elif delivered is not None:
            changed.delivered = delivered
        if action in ("ReceiveForward", "ReceiveData"):
            args.crc = packet.crc
        return Event(
            self.run,
            "sequencer",
            who.node,
            who.incarnation,
            here.index,
            here.clock,
            action,
            args,
            received,
            tuple(sent),
            changed,
        )

    def _head(self, sender: Address, receiver: Address) -> Packet:
        channel = self.forwards.get((sender, receiver))
        if not channel:
            raise NotEnabled("nothing is in the FORWARD channel")
        return channel[0]

    def _carry(
        self,
        who: Address,
        here: Process,
        old: Local,
        outputs: tuple[handlers.Output, ...],
        crcs: list[int | None],
    ) -> tuple[list[Sent], Delivered | None]:
        """Hand what the handler put out to the network."""
        sent: list[Sent] = []
        delivered: Delivered | None = None
        todo = iter(crcs)
        for output in outputs:
            match output:
                case Deliver(messages, view):
                    delivered = Delivered(view, _place(messages))
                case Ack(to, place):
                    self.acks.setdefault((who, to), {})[place] = here.clock
                    sent.append(Sent(("ACK", *who, *to, place), to))
                case Safe(place):
                    self.safes.setdefault(who, {})[place] = here.clock
                    sent.append(Sent(("SAFE", *who, place)))
                case Data(messages, view):
                    at = self.multicast.get(who, 0)
                    packet = Packet(("DATA", *who, at + 1), messages, view, next(todo), here.clock)
                    self.multicast[who] = at + messages.size
                    self.streams.setdefault(who, []).append(packet)
                    sent.append(Sent(packet.id, None, view, _place(messages), packet.crc))
                case Forward(messages, view, to):
                    at = self.forwarded.get((who, to), 0)
                    name = ("FORWARD", *who, *to, at + 1)
                    packet = Packet(name, messages, view, next(todo), here.clock)
                    self.forwarded[who, to] = at + messages.size
                    self.forwards.setdefault((who, to), []).append(packet)
                    sent.append(Sent(packet.id, to, view, _place(messages), packet.crc))
                case JoinRsp(view, table):
                    members = here.me.members
                    digest = tuple(
                        (*a, at) for a, at in sorted(here.positions.items()) if a in members
                    )
                    for joiner in sorted(set(members) - set(old.members)):
                        name = ("JOIN_RSP", *who, *joiner, view)
                        admit = Admit(name, view, members, table, digest, here.clock)
                        self.answers[joiner] = admit
                        sent.append(Sent(name, joiner, view, None, None, _flat(table), digest))
        return sent, delivered


def _received(here: Process) -> int:
    """How much of its coordinator's stream it has received."""
    return here.positions.get(here.me.members[0], 0) if here.me.members else 0


def _released(outputs: tuple[handlers.Output, ...]) -> Released | None:
    """What safe delivery has delivered, message by message, in runs that cannot be longer."""
    singles = [
        (each.messages.sender, seqno)
        for each in outputs
        if isinstance(each, Deliver)
        for seqno in range(each.messages.first, each.messages.last + 1)
    ]
    if not singles:
        return None
    begins = [
        at
        for at, (sender, seqno) in enumerate(singles)
        if not at or singles[at - 1] != (sender, seqno - 1)
    ]
    runs = tuple(
        (*singles[at][0], singles[at][1], end - at)
        for at, end in zip(begins, [*begins[1:], len(singles)], strict=True)
    )
    return Released(next(each.view for each in outputs if isinstance(each, Deliver)), runs)


def last_of(packet: Packet) -> int:
    """The position of the packet's last message."""
    return int(packet.id[-1]) + packet.messages.size - 1


def _from(stream: list[Packet], position: int) -> list[Packet]:
    """The stream from that position on, found by bisection: positions increase."""
    low, high = 0, len(stream)
    while low < high:
        middle = (low + high) // 2
        if int(stream[middle].id[-1]) < position:
            low = middle + 1
        else:
            high = middle
    return stream[low : low + 1]


def _place(run: Run) -> tuple[str, int, int, int]:
    return (run.sender.node, run.sender.incarnation, run.first, run.size)


def _flat(table: handlers.Table) -> tuple[tuple[str, int, int], ...]:
    return tuple((who.node, who.incarnation, seqno) for who, seqno in table)


def _arguments(packet: Packet) -> Args:
    return Args(messages=_place(packet.messages), view=packet.view, crc=packet.crc)


def _difference(
    old: Local, new: Local, before: dict[Address, int], after: dict[Address, int]
) -> Changed:
    """What differs, in the trace's words."""
    changed = Changed()
    for name in ("status", "view", "seqno", "said", "forward_table", "resend"):
        if getattr(old, name) != getattr(new, name):
            setattr(changed, name, getattr(new, name))
    if old.received_table != new.received_table:
        changed.received_table = _flat(new.received_table)
    if old.early != new.early:
        changed.early = tuple((f.view, *_place(f.messages)) for f in new.early)
    if len(old.held) != len(new.held):
        changed.held = len(new.held)
    for name in ("told", "announced"):
        if getattr(old, name) != getattr(new, name):
            setattr(changed, name, getattr(new, name))
    if old.heard != new.heard:
        changed.heard = _flat(new.heard)
    moved = [
        (*who, after.get(who, 0))
        for who in sorted(set(before) | set(after))
        if after.get(who, 0) != before.get(who, 0)
    ]
    if moved:
        changed.position = tuple(moved)
    return changed
