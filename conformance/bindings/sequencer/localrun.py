"""Part (a) of checking SEQUENCER's traces: one node's events are a run of its local handlers.

Law of this file: it sees one file and nothing else, so it runs anywhere, once per file. What it
learns about other nodes leaves it as the ends of channels and as a summary.
After the first event that is no step of the model the local state is unknown; nothing behind that
event is checked, and the summary says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from raincheck.conformance.trace.batches import Problem, Report
from raincheck.conformance.trace.columns import Columns
from raincheck.conformance.trace.events import DECODER, Crash, Event, Footer, Record
from raincheck.conformance.trace.events import Header as HeaderRecord
from raincheck.conformance.trace.findings import INCONCLUSIVE, VIOLATED, Finding, Summary
from raincheck.conformance.trace.records import Header
from raincheck.conformance.trace.rows import Rows
from raincheck.conformance.trace.tracefile import decode_block

from .records import Wrong
from .trace import SequencerTrace


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
        )
        self.trace = SequencerTrace(header, self.summary, self.rows, self.columns)
        self.run, self.who, self.clock = header.run, self.summary.who, 0
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

    def done(self) -> Summary:
        """Close the books; call it once, after the last record."""
        summary = self.summary
        self.trace.finish()
        summary.actions = {action: n for action, n in self.counts.items() if n}
        if self.broken:
            summary.end = "broken"
        elif not self.ended and self.trace.me.status in ("crashed", "left"):
            summary.end = "ended"
        summary.complete = summary.end in ("footer", "ended")
        return summary

    def quarantine(self, line: int, reason: str) -> None:
        """Put one record aside; the run can no longer conform."""
        self.problems(Problem(str(self.path), line, reason))

    def _unusual(self, line: int, record: Record) -> None:
        """What is not the next event of this node, and why."""
        header = self.header
        if not isinstance(record, Event) or self.closed:
            self._other(line, record)
        elif record.action not in self.trace.steps:
            self.quarantine(line, f"unknown action {record.action!r}")
        elif (record.run, record.protocol, record.node, record.incarnation) != (
            header.run,
            header.protocol,
            header.node,
            header.incarnation,
        ):
            self.quarantine(line, "an event of another run, protocol, node or incarnation")
        elif record.index != self.summary.conforming + 1:
            self._out_of_sequence(line, record)
        else:
            text = f"the clock {record.clock} is not greater than {self.clock}, the one before"
            self._stop(line, record, Wrong(text))

    def _other(self, line: int, record: Record) -> None:
        if self.ended:
            self.quarantine(line, "a record after the footer")
        elif isinstance(record, Event):
            self.summary.events += 1
        elif isinstance(record, Footer):
            self._footer(line, record)
        elif isinstance(record, HeaderRecord):
            self.quarantine(line, "a second header")
        elif isinstance(record, Crash):
            self.quarantine(line, "a crash record belongs into a file of its own")

    def _footer(self, line: int, footer: Footer) -> None:
        header = self.header
        if (footer.run, footer.node, footer.incarnation) != (
            header.run,
            header.node,
            header.incarnation,
        ):
            self.quarantine(line, "a footer of another run, node or incarnation")
            return
        self.ended = self.closed = True
        self.summary.end = "footer"
        if not self.broken and footer.index != self.summary.conforming:
            reason = (
                f"the footer says that event {footer.index} is the last one, "
                f"the file ends with event {self.summary.conforming}: records are missing"
            )
            self._note(INCONCLUSIVE, "records", reason, line)
            self.broken = self.closed = True

    def _out_of_sequence(self, line: int, event: Event) -> None:
        expected = self.summary.conforming + 1
        if event.index < expected:
            self.quarantine(line, f"index {event.index} came before")
            return
        last = event.index - 1
        missing = f"event {last} is" if last == expected else f"events {expected} to {last} are"
        reason = f"{missing} missing: what follows cannot be checked"
        self._note(INCONCLUSIVE, "records", reason, line, event)
        self.broken = self.closed = True
        self.summary.events += 1

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
