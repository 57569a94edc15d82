"""Part (a) of checking SEQUENCER's traces: one node's events are a run of its local handlers.

Law of this file: it sees one file and nothing else, so it runs anywhere, once per file. What it
learns about other nodes leaves it as the ends of channels and as a summary.
After the first event that is no step of the model the local state is unknown; nothing behind that
event is checked, and the summary says so.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.trace.batches import Problem, Report
from raincheck.conformance.trace.columns import Columns
from raincheck.conformance.trace.events import DECODER, Address, Crash, Event, Footer, Record
from raincheck.conformance.trace.findings import INCONCLUSIVE, VIOLATED, Finding
from raincheck.conformance.trace.following.order import check_place, gap
from raincheck.conformance.trace.following.reports import Unusable
from raincheck.conformance.trace.records import Header
from raincheck.conformance.trace.sequencer.rows import Rows
from raincheck.conformance.trace.sequencer.summary import Summary
from raincheck.conformance.trace.tracefile import decode_block
from raincheck.model.sequencer.handlers import Local

from .records import Wrong
from .safe import SafeTrace
from .trace import SequencerTrace

SPILL: Final = 1 << 17
"""Words of a delivery log that are kept in memory while its file grows."""


def follower_of(header: Header, summary: Summary, rows: Rows, columns: Columns) -> SequencerTrace:
    """Return who follows the file: with safe delivery there are more events."""
    kind = SafeTrace if header.constants.get("Delivery") == "safe" else SequencerTrace
    return kind(header, summary, rows, columns)


class LocalRun:
    """Checks the events of one (node, incarnation) as they come."""

    def __init__(self, path: Path, header: Header, report: Report) -> None:
        self.header = header
        self.problems = report
        self.path = path
        self.rows = Rows()
        self.columns = Columns()
        self.summary = Summary(
            path=str(path),
            run=header.run,
            node=header.node,
            incarnation=header.incarnation,
            nodes=tuple(sorted(header.nodes)),
            constants=header.constants,
            merges=header.merges,
        )
        self.trace = follower_of(header, self.summary, self.rows, self.columns)
        self.run, self.who, self.clock = header.run, self.summary.who, 0
        self.nodes = header.nodes
        self.counts = dict.fromkeys(self.trace.steps, 0)
        self.ended = False
        self.broken = False
        self.closed = False
        """Ended or broken: no event is checked any more."""

    def feed(self, line: int, block: bytes) -> None:
        """Check the records of a block of lines, the first of which is number `line`."""
        for batch in decode_block(self.path, line, block, self.problems, DECODER):
            self.check(batch.line, batch.records)

    def check(self, line: int, records: list[Any]) -> None:
        """Check records of consecutive lines, the first of which is number `line`."""
        header, summary, steps = self.header, self.summary, self.trace.steps
        run, protocol = header.run, header.protocol
        node, incarnation = header.node, header.incarnation
        index, clock, counts = summary.conforming, self.clock, self.counts
        for number, event in enumerate(records, line):
            if (
                event.__class__ is not Event
                or event.index != index + 1
                or event.clock <= clock
                or event.incarnation != incarnation
                or event.node != node
                or (step := steps.get(event.action)) is None
                or event.run != run
                or event.protocol != protocol
                or self.closed
            ):
                self._unusual(number, event)
                continue
            wrong = step(event)
            if wrong is not None:
                self._stop(number, event, wrong)
                continue
            self.clock = clock = event.clock
            summary.conforming = summary.events = index = event.index
            counts[event.action] += 1

    @property
    def local(self) -> Local:
        """The member's state in the model, after the last event that was a step of the model."""
        return self.trace.me

    @property
    def events(self) -> int:
        """How many events were read."""
        return self.summary.events

    @property
    def findings(self) -> Sequence[Finding]:
        """What was found in this file alone, so far."""
        return self.summary.findings

    @property
    def members(self) -> Collection[Address]:
        """The members of its last view."""
        return self.summary.views[-1].members if self.summary.views else ()

    def so_far(self, *, whole: bool = True) -> Summary:
        """Return the summary as if the file ended here; more may be fed afterwards."""
        summary = self.trace.so_far(whole=whole)
        summary.actions = {action: n for action, n in self.counts.items() if n}
        if self.broken:
            summary.end = "broken"
        elif not self.ended and self.trace.me.status in ("crashed", "left"):
            summary.end = "ended"
        summary.complete = summary.end in ("footer", "ended")
        return summary

    def spill(self) -> None:
        """Move a long delivery log to the disk."""
        if len(self.rows.delivered) > SPILL:
            self.rows.spill()

    def done(self) -> Summary:
        """Return the summary, after the last record."""
        return self.so_far()

    def quarantine(self, line: int, reason: str) -> None:
        """Put one record aside; the run can no longer conform."""
        self.problems(Problem(str(self.path), line, reason))

    def _unusual(self, line: int, record: Record) -> None:
        """What is not the next event of this node, and why."""
        if isinstance(record, Crash):
            self.quarantine(line, "a crash record belongs into a file of its own")
            return
        if self.broken and not self.ended and isinstance(record, Event):
            self.summary.events += 1
            return
        last = self.summary.conforming
        try:
            check_place(self.header, record, last, self.ended)
        except Unusable as problem:
            self.quarantine(line, str(problem))
            return
        if isinstance(record, Footer):
            self.ended = self.closed = True
            self.summary.end = "footer"
            if not self.broken:
                self._missing(line, gap(record, last))
        elif isinstance(record, Event):
            if record.action not in self.trace.steps:
                self.quarantine(line, f"unknown action {record.action!r}")
            elif missing := gap(record, last):
                self._missing(line, missing, record)
                self.summary.events += 1
            else:
                text = f"the clock {record.clock} is not greater than {self.clock}, the one before"
                self._stop(line, record, Wrong(text))

    def _missing(self, line: int, missing: str, event: Event | None = None) -> None:
        if missing:
            self.broken = self.closed = True
            self._note(INCONCLUSIVE, "records", missing, line, event)

    def _stop(self, line: int, event: Event, wrong: Wrong) -> None:
        self.broken = self.closed = True
        self.summary.events += 1
        self._note(VIOLATED, "local", wrong.reason, line, event, wrong)

    def _note(
        self,
        verdict: str,
        part: str,
        reason: str,
        line: int,
        event: Event | None = None,
        wrong: Wrong | None = None,
    ) -> None:
        finding = Finding(
            verdict=verdict,
            part=part,
            reason=reason,
            run=self.header.run,
            node=self.header.node,
            incarnation=self.header.incarnation,
            index=event.index if event else self.summary.conforming + 1,
            clock=event.clock if event else self.clock,
            action=event.action if event else "",
            path=str(self.path),
            line=line,
            conjuncts=wrong.conjuncts if wrong else (),
            differences=wrong.differences if wrong else (),
        )
        self.summary.findings.append(finding)
