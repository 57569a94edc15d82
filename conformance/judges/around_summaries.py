"""Summaries of members of SEQUENCER, and which promises they break."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from raincheck.conformance.spark.recount import compared, recounted
from raincheck.conformance.trace.findings import VIOLATED
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.broken import kept
from raincheck.conformance.trace.sequencer.members import check_drained
from raincheck.conformance.trace.sequencer.promises import evaluate
from raincheck.conformance.trace.sequencer.rows import SEQNO_BITS
from raincheck.conformance.trace.sequencer.summary import Cut, Departure, Installed, Summary
from raincheck.conformance.trace.sequencer.tracegen import write_trace

from .around_sequencer import briefly
from .planting import Ask, Complaints, Shown

Views: TypeAlias = Mapping[int, str]
"""The members of each view, by their letters."""


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


def _by_messages(*members: tuple[Summary, bytes]) -> Ask:
    """Ask the same over the table of messages."""

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
        briefly(each) for each in check_drained({each.who: each for each in summaries})
    ]


def _reader(position: int, views: Views, *departures: Departure) -> Summary:
    """b, which has read a's stream up to there when it lost a in its second event."""
    lost = departures or (Departure(("a", 0), position, 2, 20),)
    return _member("b", views, departures=list(lost))[0]


def _stopped(multicast: int, views: Views, *cuts: Cut) -> Summary:
    return _member("a", views, status="left", stopped=True, multicast=multicast, cuts=list(cuts))[0]


_TWO: Final = {1: "ab", 2: "b"}

AROUND: Final[dict[str, dict[str, Shown]]] = {
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
            _by_messages(
                _member("p", {1: "pqz"}, "1/x1 1/y1"),
                _member("q", {1: "pqz"}, "1/y1 1/x1"),
            ),
            (
                "TotalOrder",
                "UniformTotalOrder",
            ),
        ),
        "a run of messages that another one delivered the other way round": Shown(
            _by_messages(
                _member("p", {1: "pq"}, "1/x3 1/x2"),
                _member("q", {1: "pq"}, "1/y1 1/x1-3"),
            ),
            (
                "TotalOrder",
                "UniformTotalOrder",
                "Fifo",
            ),
        ),
        "one that delivers otherwise in a view that has lost another": Shown(
            _by_messages(
                _member("r", {1: "rd"}, "1/x1 1/y1", status="left"),
                _member("d", {1: "rd", 2: "d"}, "2/y1 2/x1"),
            ),
            (
                "UniformTotalOrder",
                "UniformAgreement",
            ),
        ),
        "a message that all delivered, and one of them again in the next view": Shown(
            _by_messages(
                _member("p", {1: "pq", 2: "pq", 3: "pq"}, "1/x1 2/x1"),
                _member("q", {1: "pq", 2: "pq", 3: "pq"}, "1/x1"),
            ),
            (
                "Agreement",
                "UniformAgreement",
                "Integrity",
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
                "sequencer.GapFree: holds",
                "sequencer.Fresh: inconclusive",
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
