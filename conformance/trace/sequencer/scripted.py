"""Traces written step by step, where a walk at random would rarely pass.

A script drives `world.py` by hand: it decides who does what next, and is refused what the model's
handlers do not allow. The membership service and the network are the script's own, so it can let
them break what they promise.
"""

from collections.abc import Iterable
from typing import Any

from raincheck.conformance.bindings.sequencer.records import constants_of
from raincheck.conformance.trace.events import Event, Footer, Header, ViewRecord
from raincheck.model.machine.runs import Address
from raincheck.model.sequencer.handlers import Rules

from .direct_world import World
from .tracegen import REPAIRED, Trace


class Script:
    """A run of founders, and whoever joins them, as it is told."""

    def __init__(
        self, founders: str, *, rules: Rules = REPAIRED, synchronous: bool = True, run: str = "r1"
    ) -> None:
        """`founders` has a letter for each; not `synchronous`: the header does not claim it."""
        self.world = World(run, rules)
        self.first = tuple(Address(name, 0) for name in founders)
        self.world.found(self.first)
        self.synchronous = synchronous
        self.view = 1
        self.members = self.first
        self.events: list[Event] = []
        self.said: dict[Address, int] = {}
        """What lives that are not a node's first one know that its last one has said."""

    def step(self, who: Address, action: str, choice: Any = None, crc: int = 7) -> Event:
        """Let a process take a step; its record is the script's own."""
        event = self.world.perform(who, action, choice, crc)
        self.events.append(event)
        return event

    def do(self, who: str, action: str, choice: Any = None, crc: int = 7) -> "Script":
        """Let the latest life of a node take a step; a choice of a node means its address."""
        if isinstance(choice, str):
            choice = self.who(choice)
        self.step(self.who(who), action, choice, crc)
        return self

    def each(self, whom: str, action: str, choice: Any = None) -> "Script":
        """Let several do the same, one after the other."""
        for who in whom:
            self.do(who, action, choice)
        return self

    def decide(self, members: str) -> "Script":
        """The next view has these members; who is new among them asks to join."""
        for name in members:
            if all(who.node != name for who in self.world.processes):
                self.world.arrive(Address(name, 0))
        self.view += 1
        self.members = tuple(self.who(name) for name in members)
        return self

    def install(self, whom: str) -> "Script":
        """These install the view that was decided last."""
        return self.each(whom, "InstallView", (self.view, self.members))

    def leave(self, whom: str) -> "Script":
        """These leave, one after the other."""
        for who in whom:
            self.do(who, "Leave").do(who, "Stop")
        return self

    def again(self, name: str) -> "Script":
        """A process that has ended starts anew."""
        old = self.who(name)
        new = Address(name, old.incarnation + 1)
        self.said[new] = self.world.processes[old].me.said
        self.world.arrive(new, self.said[new])
        return self

    def who(self, name: str) -> Address:
        """The latest life of a node."""
        return max(who for who in self.world.processes if who.node == name)

    def files(self, open_ended: Iterable[str] = ()) -> Trace:
        """The records of each file; those of `open_ended` have no footer, as of one killed."""
        killed = {self.who(name) for name in open_ended}
        nodes = tuple(sorted({who.node for who in self.world.processes}))
        constants = constants_of(self.world.rules)
        if not self.synchronous:
            constants["VirtualSynchrony"] = False
        trace: Trace = {}
        for who, here in self.world.processes.items():
            initial = ViewRecord(1, self.first) if who in self.first else None
            header = Header(
                version=1,
                run=self.world.run,
                protocol="sequencer",
                node=who.node,
                incarnation=who.incarnation,
                nodes=nodes,
                constants=constants,
                initial=initial,
                said=self.said.get(who, 0),
            )
            mine = [e for e in self.events if (e.node, e.incarnation) == who]
            trace[who] = [header, *mine]
            if who not in killed:
                run = self.world.run
                footer = Footer(
                    run=run, node=who.node, incarnation=who.incarnation, index=here.index
                )
                trace[who].append(footer)
        return trace
