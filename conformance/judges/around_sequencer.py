"""Runs of SEQUENCER that show what is kept of them for the judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET

from raincheck.conformance.trace.events import Delivered, Event
from raincheck.conformance.trace.findings import VIOLATED, Finding
from raincheck.conformance.trace.run import check_paths, check_process
from raincheck.conformance.trace.sequencer.damage import copy
from raincheck.conformance.trace.sequencer.rows import Rows
from raincheck.conformance.trace.sequencer.scripted import Script
from raincheck.conformance.trace.sequencer.tracegen import Trace, write_trace
from raincheck.model.machine.runs import Address

from .planting import Ask, Complaints, Shown
from .sequencer_story import A, B, C, Story, event, sets, trace_of


def briefly(finding: Finding) -> str:
    """Return who did wrong, and what."""
    who = f"{finding.node}.{finding.incarnation} event {finding.index} {finding.action}"
    names = "".join(f", {each.name}" for each in finding.differences)
    return f"{who}: {finding.reason}{names}"


def _of(make: Callable[[], Trace]) -> Ask:
    """Ask what is violated in a run."""

    def ask(folder: Path) -> Complaints:
        write_trace(folder, make())
        (verdict,) = check_paths([folder])
        return [briefly(each) for each in verdict.findings if each.verdict == VIOLATED]

    return ask


def _events(make: Callable[[], Trace]) -> Ask:
    """Ask how many events were read of a run, of which not all can be checked."""

    def ask(folder: Path) -> Complaints:
        write_trace(folder, make())
        (verdict,) = check_paths([folder])
        return [f"{verdict.verdict}, {verdict.events} events"]

    return ask


def _never_went_on() -> Trace:
    """c has read a's message and ends there; b goes on to the view of both without it."""
    story = Story(synchronous=True)
    story.do(A, "Send", 1)
    story.do(C, "ReceiveData", A)
    story.install(2, B, of=(B, C, A))
    return story.files()


def _crashed_before() -> Trace:
    """The same, but c crashes."""
    story = Story(synchronous=True)
    story.do(A, "Send", 1)
    story.do(C, "ReceiveData", A)
    story.do(C, "Crash")
    story.install(2, B, of=(B, C, A))
    return story.files()


def _still_there() -> Trace:
    """a stops and c goes on, while b ends without having read a's message."""
    story = Story()
    story.do(A, "Send", 1)
    story.all_receive(A, A, C)
    story.do(A, "Leave")
    story.do(A, "Stop")
    story.install(2, C, of=(B, C))
    return story.files()


def _partly_known() -> Trace:
    """a has delivered the first of two messages that come to it again as one run."""
    script = Script("abc", synchronous=False)
    script.do("c", "Send", 1).do("c", "Send", 1).do("a", "ReceiveForward", "c")
    script.do("a", "ReceiveData", "a").decide("bca").install("bca")
    script.do("c", "Resend", 2).do("b", "ReceiveForward", "c").each("abc", "ReceiveData", "b")
    return script.files()


def _changed(who: Address, action: str, number: int = 0, **values: object) -> Callable[[], Trace]:
    """Return the long story with other values in one event."""

    def make() -> Trace:
        trace = copy(trace_of(4))
        sets(**values)(event(trace, who, action, number))
        return trace

    return make


def _miscounted(folder: Path) -> Complaints:
    """Return where the reports say other numbers of deliveries than the records of the files."""
    write_trace(folder, trace_of(4))
    told: list[Any] = []
    for who, records in trace_of(4).items():
        counts: Counter[str] = Counter()
        for record in records:
            if isinstance(record, Event) and record.changed.delivered is not UNSET:
                delivered = record.changed.delivered
                counts[f"delivered {delivered.view}"] += delivered.messages[3]
        checked = check_process([folder / f"r1.{who.node}.{who.incarnation}.jsonl"], told.append)
        assert checked is not None
        tally = {what: count for what, count in checked[0].tally.items() if "delivered" in what}
        told += [] if tally == counts else [f"{who.node}: {tally}, not {dict(counts)}"]
    return told


def _gap() -> Trace:
    """An event in the middle of a's file is missing."""
    trace = copy(trace_of(4))
    del trace[A][3]
    return trace


def _kept_for_the_next_view() -> Trace:
    """a passes on a message that it had kept for the view that it was sent in."""
    story = Story()
    story.install(2, B)
    story.do(B, "Send", 1)
    story.do(A, "ReceiveForward", B)
    story.install(2, A)
    return story.files()


def _kept_and_changed() -> Trace:
    """The same, with other contents."""
    trace = copy(_kept_for_the_next_view())
    (passed,) = (each for each in event(trace, A, "InstallView").sent if each.id[0] == "DATA")
    sets(crc=1)(passed)
    return trace


def _delivered(_: Path) -> Complaints:
    """The words of deliveries: runs that go on, in another view, and a second time."""
    rows = Rows()
    for view, key, count in ((1, 7, 1), (1, 8, 1), (1, 9, 2), (1, 9, 1), (2, 10, 1), (2, 11, 3)):
        rows.deliver(view, key, count)
    return [f"{[*rows.delivered]} {rows.view_starts} {rows.by_view()}"]


def _exchanged() -> Trace:
    """c has taken a's message for b's, and b's for a's; both are alike but for their senders."""
    script = Script("abc").do("a", "Send", 1).do("b", "Send", 1).do("a", "ReceiveForward", "b")
    trace = script.each("ca", "ReceiveData", "a").each("ca", "ReceiveData", "a").files()
    one, two = (event(trace, C, "ReceiveData", number) for number in (0, 1))
    for each, sender in ((one, B), (two, A)):
        run = (*sender, 1, 1)
        sets(args__messages=run, args__from_=sender, changed__delivered=Delivered(1, run))(each)
    sets(changed__received_table=((*B, 1),))(one)
    return trace


_SENT: Final = event(trace_of(4), B, "Send").sent

AROUND: Final[dict[str, dict[str, Shown]]] = {
    "bindings.sequencer.localrun": {
        "what follows a wrong event is counted": Shown(
            _events(_changed(B, "Send", args__view=9)), ("violated, 51 events",)
        ),
        "what follows a gap is counted": Shown(_events(_gap), ("inconclusive, 50 events",)),
        "an event of a clock too low is counted": Shown(
            _events(_changed(A, "ReceiveData", clock=1)), ("violated, 51 events",)
        ),
    },
    "bindings.sequencer.trace": {
        "a run of which the first message is known": Shown(_of(_partly_known), ()),
    },
    "bindings.sequencer.views": {
        "what a member had read that never went on": Shown(
            _of(_never_went_on),
            (
                "b.0 event 1 InstallView: it installed view 2 with messages of an earlier "
                "view unread",
            ),
        ),
        "what a member had read that crashed": Shown(
            _of(_crashed_before),
            (
                "b.0 event 1 InstallView: it installed view 2 with messages of an earlier "
                "view unread",
            ),
        ),
        "a message that was kept for its view": Shown(_of(_kept_for_the_next_view), ()),
        "the same with other contents": Shown(
            _of(_kept_and_changed),
            ("a.0 event 2 InstallView: it sent something else than the model sends, sent.crc",),
        ),
    },
    "bindings.sequencer.follower": {
        "what a member had not read that never lost who stopped": Shown(
            _of(_still_there),
            ("a.0 event 4 Stop: it stopped before every member had received all of its stream",),
        ),
        "how much each delivered in each view": Shown(_miscounted, ()),
        "what was sent beside another change": Shown(
            _of(_changed(C, "InstallView", changed__view=3, sent=_SENT)),
            (
                "c.0 event 4 InstallView: the variables changed otherwise than in the "
                "model, view, sent",
            ),
        ),
    },
    "trace.sequencer.rows": {
        "deliveries as words": Shown(
            _delivered, ("[7, -4, 9, 10, -4] [(0, 1), (3, 2)] {1: 5, 2: 4}",)
        ),
        "two messages that are alike but for their senders": Shown(
            _of(_exchanged),
            (
                'c.0 event 1 ReceiveData: ["DATA","a",0,"c",0,1] was sent with other '
                "contents, contents",
            ),
        ),
    },
}
