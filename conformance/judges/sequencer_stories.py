"""Runs of SEQUENCER with one fault, on which nothing afterwards depends."""

from __future__ import annotations

from raincheck.conformance.trace.events import Changed, Event
from raincheck.conformance.trace.sequencer.damage import copy
from raincheck.conformance.trace.sequencer.tracegen import Trace

from .sequencer_story import A, B, C, D, Story, event, story_until


def late_forward(bad: bool) -> Trace:
    """b receives what c sent in its first life after what c sent in its second."""
    story = story_until(4)
    if bad:
        story.do(B, "ReceiveForward", C)
    return story.files()


def for_another(bad: bool) -> Trace:
    """d receives a FORWARD that is for b."""
    story = story_until(4)
    if bad:
        taken = story.do(B, "ReceiveForward", C)
        story.world.processes[B].index -= 1
        story.world.processes[D].index += 1
        taken.node, taken.index = "d", story.world.processes[D].index
    return story.files()


def skipped_forward(bad: bool) -> Trace:
    """a receives b's second FORWARD, and never its first."""
    story = Story()
    story.do(B, "Send", 1)
    story.do(B, "Send", 1)
    if bad:
        story.world.forwards[B, A].pop(0)
        story.do(A, "ReceiveForward", B)
    return story.files()


def skipped_data(bad: bool) -> Trace:
    """c reads a's second message, and never its first."""
    story = Story()
    story.do(A, "Send", 1)
    story.do(B, "Send", 1)
    story.do(A, "ReceiveForward", B)
    if bad:
        story.world.processes[C].positions[A] = 1
        story.do(C, "ReceiveData", A).changed.position = (("a", 0, 1),)
    return story.files()


def early_in_silence(bad: bool) -> Trace:
    """a keeps a FORWARD for the next view without recording it."""
    story = Story()
    story.do(B, "Send", 1)
    story.do(A, "ReceiveForward", B)
    story.install(2, B)
    story.do(B, "Resend", 1)
    kept = story.do(A, "ReceiveForward", B)
    if bad:
        kept.changed = Changed()
    return story.files()


def kept_to_itself(bad: bool) -> Trace:
    """a does not pass on b's message."""
    story = Story()
    story.do(B, "Send", 1)
    passed = story.do(A, "ReceiveForward", B)
    if bad:
        passed.sent = ()
    return story.files()


def not_sent(bad: bool) -> Trace:
    """b records that it sends, and hands nothing to the network."""
    story = Story()
    said = story.do(B, "Send", 1)
    if bad:
        said.sent = ()
    return story.files()


def after_the_end(trace: Trace) -> None:
    """a receives a FORWARD after it has stopped."""
    (taken,) = copy({A: [event(trace, A, "ReceiveForward", 3)]})[A]
    assert isinstance(taken, Event)
    taken.received = ("FORWARD", "d", 0, "a", 0, 3)
    taken.index = taken.clock = 99
    footer = trace[A].pop()
    taken.index, footer.index = footer.index + 1, footer.index + 1  # type: ignore[union-attr]
    trace[A] += [taken, footer]


def read_too_late(bad: bool) -> Trace:
    """c reads a's multicast in the view before; when a lost its role nobody had read it."""
    story = Story(synchronous=True)
    story.do(A, "Send", 1)
    story.install(2, A, B, C, of=(B, C, A))
    if bad:
        story.do(C, "ReceiveData", A)
    return story.files()
