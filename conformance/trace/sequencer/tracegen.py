"""Good traces of SEQUENCER as records in memory, by random walks of the model's members alone.

`raincheck generate --traces` walks real cores (`conformance/trace/generator.py`). This walk has
what that one lacks: no implementation, so that nothing wrong with a core or its recorder can hide;
records that are ready to be damaged, with the machine (`direct_world.py`) that takes their steps
anew; and views that cut a living coordinator's stream.

A seed alone decides the walk. It stands in for the membership service: views are successors of one
another, suspicions are accurate, and one view at a time is decided, as in `Sequencer.tla`; and for
FLUSH, if its views are to be virtually synchronous.
"""

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raincheck.conformance.bindings.sequencer.records import constants_of
from raincheck.conformance.trace.events import (
    Crash,
    Event,
    Footer,
    Header,
    Record,
    ViewRecord,
    encode_lines,
)
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer import handlers
from raincheck.model.sequencer.handlers import Rules

from .direct_world import NotEnabled, World, last_of

Trace = dict[Address, list[Record]]
"""Per (node, incarnation) the records of its file, header first."""


REPAIRED = Rules()


@dataclass(frozen=True, slots=True)
class Shape:
    """What a walk is made of."""

    founders: int = 3
    joiners: int = 1
    steps: int = 120
    largest_run: int = 3
    crashes: int = 1
    leavers: int = 1
    returns: bool = True
    rules: Rules = REPAIRED
    synchronous: bool = False
    """Whether views are virtually synchronous; the headers say so."""


class Walk:
    """One random walk; `events` are in the order in which they happened."""

    def __init__(self, seed: int, shape: Shape, run: str = "r1") -> None:
        self.random = random.Random(seed)
        self.shape = shape
        names = [chr(ord("a") + i) for i in range(shape.founders + shape.joiners)]
        self.nodes = tuple(names)
        self.world = World(run, shape.rules)
        self.first = tuple(Address(n, 0) for n in names[: shape.founders])
        self.views: list[tuple[Address, ...]] = [self.first]
        self.world.found(self.first)
        self.said: dict[Address, int] = {}
        for name in names[shape.founders :]:
            self.world.arrive(Address(name, 0))
        self.crashes = shape.crashes
        self.leavers = shape.leavers
        self.cut_off: set[Address] = set()
        """Who lost its role, alive, and multicasts with it: a trace cannot number its next one."""
        self.events: list[Event] = []

    def run(self) -> "Walk":
        """Walk all the steps; stop early where nothing can happen."""
        for _ in range(self.shape.steps):
            if not self.step():
                break
        return self

    def step(self) -> bool:
        """Take one random step that is enabled."""
        choices = list(self._choices())
        self.random.shuffle(choices)
        choices.sort(key=lambda choice: self.random.random() * choice[3])
        for who, action, choice, _ in choices:
            if who is None:
                self._decide()
                return True
            try:
                event = self.world.perform(who, action, choice, self._crc(who, action, choice))
            except NotEnabled:
                continue
            self.crashes -= action == "Crash"
            self.leavers -= action == "Leave"
            self.events.append(event)
            return True
        return False

    def _crc(self, who: Address, action: str, choice: Any) -> int:
        """The CRC of invented payloads: a function of who sends what."""
        me = self.world.processes[who].me
        first = me.seqno + 1 if action == "Send" else me.resend[0][0] if me.resend else 0
        return zlib.crc32(repr((tuple(who), first, choice)).encode())

    def _choices(self) -> Iterator[tuple[Address | None, str, Any, float]]:
        """(who, action, choice, how unlikely)."""
        world = self.world
        for who, here in world.processes.items():
            me = here.me
            if me.status == "joining":
                yield who, "Join", None, 0.5
                continue
            if not handlers.running(me):
                continue
            latched = self._latched(me)
            if not latched:
                yield who, "Send", self.random.randint(1, self.shape.largest_run), 1.5
            if me.resend and not latched:
                low, high = me.resend[0]
                yield who, "Resend", self.random.randint(1, high - low + 1), 0.7
            for member in me.members:
                if self._in_view(who, member):
                    yield who, "ReceiveData", member, 0.5
            for (sender, receiver), channel in world.forwards.items():
                if receiver == who and channel and not (latched and channel[0].view == me.view):
                    yield who, "ReceiveForward", sender, 0.7
            if self.shape.rules.delivery == "safe":
                yield from self._of_safe(who)
            if me.view < len(self.views) and self._heard_out(who):
                yield who, "InstallView", (me.view + 1, self.views[me.view]), 0.8
            if self.leavers > 0:
                yield who, "Leave", None, 20
            if me.status == "leaving" and self._drained(who):
                yield who, "Stop", None, 0.5
            if self.crashes > 0:
                yield who, "Crash", None, 30
        if self._settled():
            # FLUSH does not wait until all that a coordinator had multicast has come.
            soon = self.shape.synchronous and not self._alive(self.views[-1][0])
            yield None, "ViewChange", None, 0.3 if soon else 3

    def _of_safe(self, who: Address) -> Iterator[tuple[Address, str, Any, float]]:
        """What safe delivery offers: any acknowledgement, and any announcement, may come late."""
        world = self.world
        yield who, "Acknowledge", None, 0.6
        yield who, "Announce", None, 0.6
        for (sender, coordinator), places in world.acks.items():
            if coordinator == who:
                yield who, "ReceiveAck", (sender, self.random.choice([*places])), 0.6
        for sender, places in world.safes.items():
            yield who, "ReceiveSafe", (sender, max(places)), 0.6

    def _drained(self, who: Address) -> bool:
        return not self.shape.rules.drain_on_leave or self.world.drained(who)

    def _latched(self, me: handlers.Local) -> bool:
        """Whether this is a coordinator that may not multicast any more in its view."""
        decided = self.shape.synchronous and me.view != len(self.views)
        return decided and handlers.is_coordinator(self.shape.rules, me)

    def _in_view(self, who: Address, coordinator: Address) -> bool:
        """Whether virtual synchrony lets it take the next multicast of that stream now."""
        if not self.shape.synchronous:
            return True
        packet = self.world.next_data(who, coordinator)
        return packet is not None and packet.view == self.world.processes[who].me.view

    def _heard_out(self, who: Address) -> bool:
        """Whether virtual synchrony lets it go on to the next view."""
        if not self.shape.synchronous:
            return True
        me = self.world.processes[who].me
        unread = [self.world.next_data(who, member) for member in me.members]
        return not any(packet is not None and packet.view <= me.view for packet in unread)

    def _alive(self, who: Address) -> bool:
        return handlers.running(self.world.processes[who].me)

    def _settled(self) -> bool:
        last = self.views[-1]
        for who, here in self.world.processes.items():
            if who not in last:
                continue
            if handlers.running(here.me) and here.me.view != len(self.views):
                return False
            if here.me.status == "joining" and (who in self.world.answers or self._alive(last[0])):
                return False
        return True

    def _decide(self) -> None:
        last = self.views[-1]
        staying = tuple(who for who in last if self._alive(who))
        if not staying:
            return
        if self.shape.returns:
            self._bring_back()
        asking = [w for w, h in self.world.processes.items() if h.me.status == "joining"]
        joiners = tuple(sorted(w for w in asking if self.random.random() < 0.7))
        if staying != last or joiners:
            self._install(staying + joiners)
        elif len(last) > 1 and self.random.random() < (0.5 if self.shape.synchronous else 0.2):
            self._install((*last[1:], last[0]))

    def _install(self, new: tuple[Address, ...]) -> None:
        """Decide that view, unless it would let somebody multicast who must not."""
        last = self.views[-1]
        old = last[0]
        if new[0] in self.cut_off:
            return
        self.views.append(new)
        if self.shape.synchronous and new[0] != old:
            survivors = [self.world.processes[who] for who in last if self._alive(who)]
            held = max((here.positions.get(old, 0) for here in survivors), default=0)
            ends = [last_of(packet) for packet in self.world.streams.get(old, [])]
            length = self.random.choice([held, *(end for end in ends if end > held)])
            if self._alive(old) and length < self.world.length(old):
                self.cut_off.add(old)
            self.world.cut_off(old, length)

    def _bring_back(self) -> None:
        """Let one process that has ended start again, under a new incarnation."""
        for who, here in list(self.world.processes.items()):
            again = Address(who.node, who.incarnation + 1)
            ended = here.me.status in ("crashed", "left") and who not in self.views[-1]
            if ended and again not in self.world.processes and again.incarnation < 3:
                self.said[again] = here.me.said
                self.world.arrive(again, here.me.said)
                return

    def files(self) -> Trace:
        """The walk as files: a header, the events, and a footer where the process still runs."""
        trace: Trace = {}
        for who in self.world.processes:
            initial = ViewRecord(1, self.first) if who in self.first else None
            assumed = {} if self.shape.synchronous else {"VirtualSynchrony": False}
            header = Header(
                version=1,
                run=self.world.run,
                protocol="sequencer",
                node=who.node,
                incarnation=who.incarnation,
                nodes=self.nodes,
                constants=constants_of(self.shape.rules) | assumed,
                initial=initial,
                said=self.said.get(who, 0),
            )
            trace[who] = [header]
        for event in self.events:
            trace[Address(event.node, event.incarnation)].append(event)
        for who, here in self.world.processes.items():
            footer = Footer(
                run=self.world.run, node=who.node, incarnation=who.incarnation, index=here.index
            )
            trace[who].append(footer)
        return trace


def write_trace(folder: Path, trace: Trace, crashed: tuple[Address, ...] = ()) -> list[Path]:
    """Write one JSON Lines file per (node, incarnation), and the faults if there are any."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for who, records in trace.items():
        head = records[0]
        run = head.run
        path = folder / f"{run}.{who.node}.{who.incarnation}.jsonl"
        path.write_bytes(encode_lines(records))
        paths.append(path)
    if crashed:
        faults = [Crash(run=run, node=who.node, incarnation=who.incarnation) for who in crashed]
        path = folder / "faults.jsonl"
        path.write_bytes(encode_lines(faults))
        paths.append(path)
    return paths
