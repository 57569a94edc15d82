"""A short good run of SEQUENCER in which everything happens, to plant faults in.

a, b and c found the group, and a numbers their messages. b sends its third message a second time,
because its view changes before it has received the message; d joins. a leaves, c crashes and comes
back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from raincheck.conformance.trace.events import Event, Footer, Record
from raincheck.conformance.trace.findings import INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.damage import copy
from raincheck.conformance.trace.sequencer.scripted import Script
from raincheck.conformance.trace.sequencer.tracegen import Trace, write_trace
from raincheck.model.machine.runs import Address

from .planting import Ask, Complaints, Plant, sentences

A, B, C, D = (Address(node, 0) for node in "abcd")
C1 = Address("c", 1)
VIEWS = {2: (A, B, C, D), 3: (B, C, D), 4: (B, D), 5: (B, D, C1)}


class Story:
    """A script whose steps are at hand as records, to be changed."""

    def __init__(self, synchronous: bool = False) -> None:
        self.script = Script("abc", synchronous=synchronous)
        self.world = self.script.world
        self.world.arrive(D)

    def do(self, who: Address, action: str, choice: Any = None) -> Event:
        """Take a step; every message has its own contents."""
        return self.script.step(who, action, choice, 100 + len(self.script.events))

    def all_receive(self, coordinator: Address, *readers: Address) -> None:
        """Let the readers read that stream to its end."""
        for who in readers:
            while self.world.next_data(who, coordinator) is not None:
                self.do(who, "ReceiveData", coordinator)

    def install(self, view: int, *members: Address, of: tuple[Address, ...] = ()) -> None:
        """Let these members install a view."""
        for who in members:
            self.do(who, "InstallView", (view, of or VIEWS[view]))

    def files(self) -> Trace:
        """Return the run so far as files with footers."""
        return copy(self.script.files())


def story_until(chapter: int) -> Story:
    """Return the run up to the end of that chapter, 1 to 4."""
    story = Story()
    do = story.do
    do(A, "Send", 2)
    do(B, "Send", 2)
    do(A, "ReceiveForward", B)
    story.all_receive(A, A, B, C)
    if chapter == 1:
        return story
    do(B, "Send", 1)
    do(A, "ReceiveForward", B)
    story.install(2, B)
    do(B, "Resend", 1)
    do(A, "ReceiveForward", B)
    story.all_receive(A, A)
    story.install(2, A)
    do(D, "Join")
    story.all_receive(A, A, B)
    do(C, "ReceiveData", A)
    story.install(2, C)
    story.all_receive(A, C, D)
    if chapter == 2:
        return story
    do(D, "Send", 2)
    do(A, "ReceiveForward", D)
    story.all_receive(A, A, B, C, D)
    do(A, "Leave")
    do(A, "Stop")
    story.install(3, B, C, D)
    if chapter == 3:
        return story
    do(B, "Send", 1)
    story.all_receive(B, B, C, D)
    do(C, "Send", 1)
    do(C, "Crash")
    story.install(4, B, D)
    story.script.again("c")
    story.install(5, B, D)
    do(C1, "Join")
    do(C1, "Send", 1)
    do(B, "ReceiveForward", C1)
    story.all_receive(B, B, D, C1)
    return story


@cache
def trace_of(chapter: int) -> Trace:
    """Return the good run's files, which must not be changed."""
    return story_until(chapter).files()


Change = Callable[[Trace], Any]
Spoil = Callable[[Path], Any]


def judged(folder: Path, trace: Trace, spoil: Spoil | None = None) -> Complaints:
    """Return the checker's complaints about a trace, and about its files if they were spoiled."""
    write_trace(folder, trace)
    if spoil is not None:
        spoil(folder)
    return sentences(check_paths([folder]))


@cache
def good(chapter: int = 4) -> Ask:
    """Judge the good run."""
    return lambda folder: judged(folder, trace_of(chapter))


def plant(
    words: str,
    change: Change | None = None,
    *,
    spoil: Spoil | None = None,
    chapter: int = 4,
    verdict: str = VIOLATED,
    **more: Any,
) -> Plant:
    """Plant a fault in the records of the good run, or in its files."""

    def bad(folder: Path) -> Complaints:
        trace = copy(trace_of(chapter))
        if change is not None:
            change(trace)
        return judged(folder, trace, spoil)

    return Plant(good=good(chapter), bad=bad, words=words, verdict=verdict, **more)


def unsure(words: str, change: Change | None = None, **more: Any) -> Plant:
    """Plant a fault after which nobody can tell whether the run was good."""
    return plant(words, change, verdict=INCONCLUSIVE, **more)


def event(trace: Trace, who: Address, action: str, number: int = 0) -> Event:
    """Return one of the events of that kind, by default the first."""
    return [e for e in trace[who] if isinstance(e, Event) and e.action == action][number]


def story_plant(
    words: str, make: Callable[[bool], Trace], *, verdict: str = VIOLATED, **more: Any
) -> Plant:
    """Plant a run of its own, with the fault or without."""
    return Plant(
        good=lambda folder: judged(folder, make(False)),
        bad=lambda folder: judged(folder, make(True)),
        words=words,
        verdict=verdict,
        **more,
    )


def on(
    who: Address,
    action: str,
    change: Callable[[Event], Any],
    number: int = 0,
    *,
    last: bool = False,
) -> Change:
    """Change one event; with `last`, the file ends after it."""

    def changed(trace: Trace) -> None:
        found = event(trace, who, action, number)
        change(found)
        if last:
            cut_behind(trace[who], found)

    return changed


def cut_behind(records: list[Record], found: Event) -> None:
    """Let a file end, with a footer, at that event."""
    del records[records.index(found) + 1 :]
    records.append(
        Footer(run=found.run, node=found.node, incarnation=found.incarnation, index=found.index)
    )


def sets(**values: Any) -> Callable[[Any], None]:
    """Return a change that sets new values; `args__view` is `view` of `args`."""

    def change(record: Any) -> None:
        for name, value in values.items():
            target = record
            *path, field = name.split("__")
            for each in path:
                target = getattr(target, each)
            setattr(target, field, value)

    return change
