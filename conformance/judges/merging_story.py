"""A short good run of SEQUENCER's cores in two groups that merge, to plant faults in.

a and b are one group, c and d the other; each has sent something. They merge while b's second
message is on its way, so that b sends it again; c has something to say, and d leaves.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.trace.events import decode, encode
from raincheck.conformance.trace.sequencer.damage import copy
from raincheck.conformance.trace.sequencer.tracegen import Trace
from raincheck.impl import messages as wire
from raincheck.impl.messages import Payloads, View, ViewId
from raincheck.impl.recording.core import Recorder, attach
from raincheck.impl.recording.sequencer import sequencer_recorder
from raincheck.impl.sequencer import events as impl
from raincheck.impl.sequencer.core import Sequencer
from raincheck.model.machine.runs import Address

from .planting import Complaints, Plant
from .sequencer_story import Change, judged

NODES: Final = "abcd"


class Cores:
    """Cores whose messages are handed on by the story."""

    def __init__(self, *groups: str) -> None:
        self.cores: dict[str, Sequencer] = {}
        self._records: dict[str, list[Any]] = {}
        self._recorders: dict[str, Recorder] = {}
        self.forwards: list[tuple[str, str, impl.Forward]] = []
        """From whom, to whom, and what is under way."""
        self.streams: list[tuple[str, impl.Data]] = []
        for group in groups:
            first = self.view(1, group)
            for name in group:
                me = wire.Address(name, 0)
                core = self.cores[name] = Sequencer(me)
                core.found(first)
                records = self._records[name] = []
                recorder = sequencer_recorder("r1", me, NODES, records.append, merges=True)
                self._recorders[name] = recorder
                recorder.begin(core)
                attach(core, recorder)

    @staticmethod
    def view(number: int, members: str) -> View:
        """Return a view, which its first member has decided."""
        inside = tuple(wire.Address(name, 0) for name in members)
        return View(ViewId(number, inside[0]), inside)

    def do(self, name: str, event: impl.Event) -> None:
        """Let a core handle an event, and keep what it sends."""
        for effect in self.cores[name].handle(event):
            if isinstance(effect, impl.SendForward):
                self.forwards.append((name, effect.to.node, effect.forward))
            elif isinstance(effect, impl.Multicast):
                self.streams.append((name, effect.data))

    def send(self, name: str) -> None:
        """A member's application sends a message."""
        self.do(name, impl.Send(Payloads.pack([name.encode()])))

    def arrive(self, readers: str) -> None:
        """Let what is under way arrive: FORWARDs, then what that multicasts, at these members."""
        while self.forwards:
            sender, to, forward = self.forwards.pop(0)
            self.do(to, impl.ReceiveForward(wire.Address(sender, 0), forward))
        while self.streams:
            sender, data = self.streams.pop(0)
            for reader in readers:
                self.do(reader, impl.ReceiveData(wire.Address(sender, 0), data))

    def merge(self, number: int, *sides: str, beside: wire.Table = ()) -> None:
        """All install a merged view, in which each is given the other sides' cuts; `beside`: and
        that.
        """
        view = self.view(number, "".join(sides))
        cuts = {
            side: (
                self.cores[side[0]].at_cut(tuple(wire.Address(name, 0) for name in side)),
                max(self.cores[name].clock for name in side),
            )
            for side in sides
        }
        for side in sides:
            others = [cut for other, cut in cuts.items() if other != side]
            table = (*(row for (known, _), _ in others for row in known), *beside)
            digest = wire.Digest(tuple(row for (_, read), _ in others for row in read.entries))
            clock = max(clock for _, clock in others)
            for name in side:
                self.do(name, impl.Merge(view, table, digest, clock))

    def files(self) -> Trace:
        """Return the records of each file, with footers."""
        trace: Trace = {}
        for name, records in self._records.items():
            if self.cores[name].status != "left":
                self._recorders[name].footer(self.cores[name])
            trace[Address(name, 0)] = [decode(encode(record)) for record in records]
        return trace


def merging_story() -> Cores:
    """Return the run."""
    story = apart()
    story.send("b")
    story.merge(2, "ab", "cd")
    story.do("b", impl.Resend())
    story.send("c")
    story.arrive("abcd")
    story.do("d", impl.Leave())
    story.do("d", impl.Stop())
    view = story.view(3, "abc")
    for name in "abc":
        story.do(name, impl.InstallView(view))
    story.send("a")
    story.arrive("abc")
    return story


def apart() -> Cores:
    """Return the two groups, as they have said something and not met yet."""
    story = Cores("ab", "cd")
    story.send("a")
    story.send("b")
    story.arrive("ab")
    story.send("d")
    story.arrive("cd")
    return story


@cache
def trace_of() -> Trace:
    """Return the good run's files, which must not be changed."""
    return merging_story().files()


def good(folder: Path) -> Complaints:
    """Judge the good run."""
    return judged(folder, trace_of())


def plant(words: str, change: Change, **more: Any) -> Plant:
    """Plant a fault in the records of that run."""

    def bad(folder: Path) -> Complaints:
        trace = copy(trace_of())
        change(trace)
        return judged(folder, trace)

    return Plant(good=good, bad=bad, words=words, **more)
