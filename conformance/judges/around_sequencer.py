"""Runs of SEQUENCER, and summaries of its members, that show what is kept for the judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import UNSET

from raincheck.conformance.spark.recount import compared, recounted
from raincheck.conformance.trace.events import Delivered, Event
from raincheck.conformance.trace.findings import VIOLATED, Finding
from raincheck.conformance.trace.run import check_paths, check_process
from raincheck.conformance.trace.sequencer.broken import kept
from raincheck.conformance.trace.sequencer.damage import copy
from raincheck.conformance.trace.sequencer.members import check_drained
from raincheck.conformance.trace.sequencer.promises import evaluate
from raincheck.conformance.trace.sequencer.rows import SEQNO_BITS, Rows
from raincheck.conformance.trace.sequencer.scripted import Script
from raincheck.conformance.trace.sequencer.summary import Cut, Departure, Installed, Summary
from raincheck.conformance.trace.sequencer.tracegen import Trace, write_trace
from raincheck.model.machine.runs import Address

from .planting import Ask, Complaints, Shown
from .sequencer_story import A, B, C, Story, event, sets, trace_of

Views: TypeAlias = Mapping[int, str]
"""The members of each view, by their letters."""


def _briefly(finding: Finding) -> str:
    """Return who did wrong, and what."""
    who = f"{finding.node}.{finding.incarnation} event {finding.index} {finding.action}"
    names = "".join(f", {each.name}" for each in finding.differences)
    return f"{who}: {finding.reason}{names}"


def _of(make: Callable[[], Trace]) -> Ask:
    """Ask what is violated in a run."""

    def ask(folder: Path) -> Complaints:
        write_trace(folder, make())
        (verdict,) = check_paths([folder])
        return [_briefly(each) for each in verdict.findings if each.verdict == VIOLATED]

    return ask


def _events(make: Callable[[], Trace]) -> Ask:
    """Ask how many events were read of a run, of which not all can be checked."""

    def ask(folder: Path) -> Complaints:
        write_trace(folder, make())
        (verdict,) = check_paths([folder])
        return [f"{verdict.verdict}, {verdict.events} events"]

    return ask


# ---------------------------------------------------------------------- runs


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


# ---------------------------------------------------------------------- summaries


def _member(
    name: str,
    views: Views,
    delivered: str = "",
    *,
    status: str = "in",
    end: str = "footer",
    **more: Any,
) -> tuple[Summary, bytes]:
    """Return a member that was in these views, and what it delivered: "1/x1 2/y1", or "1/x1-3"."""
    starts: list[tuple[int, int]] = []
    words: list[int] = []
    for each in delivered.split():
        number, _, messages = each.partition("/")
        first, _, last = messages[1:].partition("-")
        if not starts or starts[-1][1] != int(number):
            starts.append((len(words), int(number)))
        words.append("xy".index(messages[0]) << SEQNO_BITS | int(first))
        words += [int(first) - 1 - int(last)] if last else []
    summary = Summary(
        path=f"r1.{name}.jsonl",
        run="r1",
        node=name,
        incarnation=0,
        status=status,
        end=end,
        complete=end == "footer",
        seqno=9,
        addresses=[("x", 0), ("y", 0)],
        view_starts=starts,
        views=[
            Installed(view, tuple((each, 0) for each in members), view, view)
            for view, members in views.items()
        ],
        **more,
    )
    return summary, np.array(words, dtype=np.int64).tobytes()


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


def _over(*members: tuple[Summary, bytes]) -> Ask:
    """Ask over how much the order of these members is judged."""

    def ask(_: Path) -> Complaints:
        summaries = {summary.who: summary for summary, _ in members}
        found = evaluate(summaries, {summary.who: rows for summary, rows in members})
        return [f"{each.name}: {[*each.judged.values()]}" for each in found if "Order" in each.name]

    return ask


def _promised(*members: tuple[Summary, bytes]) -> Ask:
    """Ask which promises are broken between these members."""

    def ask(_: Path) -> Complaints:
        summaries = {summary.who: summary for summary, _ in members}
        logs = {summary.who: rows for summary, rows in members}
        return [
            f"{each.name}: {each.witness}"
            for each in evaluate(summaries, logs)
            if each.verdict == VIOLATED
        ]

    return ask


def _in_sql(*members: tuple[Summary, bytes]) -> Ask:
    """Ask the same in SQL."""

    def ask(_: Path) -> Complaints:
        summaries = {summary.who: summary for summary, _ in members}
        return recounted(summaries, {summary.who: rows for summary, rows in members})

    return ask


def _all_promises(folder: Path) -> Complaints:
    """Return the verdict on every promise, where two evaluations of one of them differ."""
    write_trace(folder, kept().files())
    (verdict,) = check_paths([folder])
    return [f"{each.name}: {each.verdict}" for each in compared(verdict, ["Fifo"]).promises]


def _drained(*summaries: Summary) -> Ask:
    """Ask whether all have read what those sent who stopped."""
    return lambda _: [
        _briefly(each) for each in check_drained({each.who: each for each in summaries})
    ]


def _reader(position: int, views: Views, *departures: Departure) -> Summary:
    """b, which has read a's stream up to there when it lost a in its second event."""
    lost = departures or (Departure(("a", 0), position, 2, 20),)
    return _member("b", views, departures=list(lost))[0]


def _stopped(multicast: int, views: Views, *cuts: Cut) -> Summary:
    return _member("a", views, status="left", stopped=True, multicast=multicast, cuts=list(cuts))[0]


_TWO: Final = {1: "ab", 2: "b"}

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
    "trace.sequencer.promises": {
        "two that differ where the one with most is lost": Shown(
            _promised(
                _member("r", {1: "rcd"}, "1/x1 1/y1 1/x2 1/x3", status="left"),
                _member("c", {1: "rcd"}, "1/x1 1/y1"),
                _member("d", {1: "rcd", 2: "cd"}, "2/y1 2/x1"),
            ),
            (
                "TotalOrder: {'members': [['d', 0], ['c', 0]], 'messages': [['y', 0, 1], "
                "['x', 0, 1]], 'order': 'd delivered them in this order, c in the other'}",
                "UniformTotalOrder: {'members': [['d', 0], ['r', 0]], 'messages': [['y', "
                "0, 1], ['x', 0, 1]], 'order': 'd delivered them in this order, r in the "
                "other'}",
                "UniformAgreement: {'members': [['c', 0], ['d', 0]], 'messages': [['x', 0, "
                "1]], 'view': 1, 'lacking': 'd did not deliver it in view 1'}",
                "VirtualSynchrony: {'members': [['d', 0], ['c', 0]], 'messages': [['y', 0, "
                "1]], 'views': [2, 1]}",
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
    "trace.sequencer.logs": {
        "a message that is delivered again is in no other order": Shown(
            _promised(
                _member("p", {1: "pq"}, "1/x1 1/y1 1/x1"), _member("q", {1: "pq"}, "1/x1 1/y1")
            ),
            (
                "Integrity: {'members': [['p', 0]], 'messages': [['x', 0, 1]], 'twice': True}",
                "Fifo: {'members': [['p', 0]], 'messages': [['x', 0, 1], ['x', 0, 1]]}",
            ),
        ),
    },
    "trace.sequencer.tallies": {
        "one that another one shares other messages with before and after": Shown(
            _over(
                _member("a", {1: "ar"}, "1/x1 1/y1"),
                _member("b", {2: "rb"}, "2/x2 2/y2"),
                _member("r", {1: "ar", 2: "rb"}, "1/x1 1/y1 2/x2 2/y2"),
            ),
            (
                "TotalOrder: [3, 2, 4]",
                "UniformTotalOrder: [3, 2, 4]",
            ),
        ),
    },
    "spark.recount": {
        "senders and members of views that have no file": Shown(
            _in_sql(
                _member("p", {1: "pqz"}, "1/x1 1/y1"),
                _member("q", {1: "pqz"}, "1/y1 1/x1"),
            ),
            (
                "TotalOrder",
                "UniformTotalOrder",
            ),
        ),
        "a run of messages that another one delivered the other way round": Shown(
            _in_sql(
                _member("p", {1: "pq"}, "1/x3 1/x2"),
                _member("q", {1: "pq"}, "1/y1 1/x1-3"),
            ),
            (
                "TotalOrder",
                "UniformTotalOrder",
                "Fifo",
            ),
        ),
        "a promise about which two evaluations differ, and the others": Shown(
            _all_promises,
            (
                "TotalOrder: holds",
                "UniformTotalOrder: holds",
                "Agreement: holds",
                "UniformAgreement: holds",
                "Integrity: holds",
                "Fifo: inconclusive",
                "InView: holds",
                "VirtualSynchrony: holds",
            ),
        ),
    },
    "trace.sequencer.members": {
        "who stopped was drained": Shown(_drained(_stopped(3, _TWO), _reader(3, _TWO)), ()),
        "who stopped was not drained": Shown(
            _drained(_stopped(3, _TWO), _reader(2, _TWO)),
            ("a.0 event 0 Stop: it stopped before every member had received all of its stream",),
        ),
        "where it was lost last is what counts": Shown(
            _drained(
                _stopped(3, {1: "ab", 3: "ab", 4: "b"}),
                _reader(
                    0,
                    {1: "ab", 2: "b", 3: "ab", 4: "b"},
                    Departure(("a", 0), 1, 2, 20),
                    Departure(("a", 0), 3, 4, 40),
                ),
            ),
            (),
        ),
        "who lost it and went on without it": Shown(
            _drained(_stopped(3, _TWO), _reader(1, {1: "ab", 2: "b", 3: "bc"})),
            ("a.0 event 0 Stop: it stopped before every member had received all of its stream",),
        ),
        "a view before its first one lost a joiner that never learnt of it": Shown(
            _drained(_stopped(3, {3: "ab"}), _reader(1, {2: "b"})), ()
        ),
    },
    "trace.sequencer.cuts": {
        "what was cut off with its role is not asked for when it stops": Shown(
            _drained(
                _stopped(3, {1: "ab", 2: "ba", 3: "b"}, Cut(1, 2, 20, (("a", 0, 2),), 3)),
                _member(
                    "b",
                    {1: "ab", 2: "ba", 3: "b"},
                    departures=[Departure(("a", 0), 2, 3, 30)],
                    cuts=[Cut(1, 2, 20, (("a", 0, 2),), 0)],
                )[0],
            ),
            (),
        ),
        "what was multicast is asked for if it stops without another view": Shown(
            _drained(
                _stopped(3, {1: "ab"}, Cut(1, 0, 0, (("a", 0, 3),), 3)),
                _member(
                    "b",
                    _TWO,
                    departures=[Departure(("a", 0), 2, 2, 20)],
                    cuts=[Cut(1, 2, 20, (("a", 0, 2),), 0)],
                )[0],
            ),
            ("a.0 event 0 Stop: it stopped before every member had received all of its stream",),
        ),
    },
}
