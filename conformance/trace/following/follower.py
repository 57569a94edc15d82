"""The fold over one file, in blocks: the fast path takes what it can, the rest goes to `InFull`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import msgspec

from raincheck.conformance.bindings.conversion import ShapeError
from raincheck.conformance.trace.batches import Problem, Report
from raincheck.conformance.trace.findings import FileReport, Finding
from raincheck.conformance.trace.records import DECODER, Address, Header
from raincheck.conformance.trace.step import Step
from raincheck.conformance.trace.tracefile import decode_block, split_lines

from .fastpath import FastPath
from .forms import forms_of
from .in_full import InFull
from .lines import Lines
from .reports import Unusable
from .shared import Shared

_FOOTER: Final = b'{"kind":"footer"'
_ACTION: Final = attrgetter("action")


class Follower:
    """The fold over one file."""

    def __init__(self, path: Path, header: Header, problems: Report, shared: Shared) -> None:
        full = self.full = InFull(path, header, shared)
        self.path = path
        self.run, self.who, self.nodes, self.clock = header.run, full.report.who, header.nodes, 0
        self.columns = full.columns
        """The ends of its messages."""
        defaults = getattr(full.binding.local, "_field_defaults", {})
        self._unread = {name: defaults[name] for name in full.binding.unread}
        self._problem, self._shared = problems, shared
        self._fast: FastPath | None = None
        forms = forms_of(full.binding)
        if forms is not None:
            self._lines = Lines(header, forms.decoder)
            self._fast = shared.fast_path(full.binding, forms, full.rules)
            self._fast.begin(full.me, full.columns, full.heard, full.watch, merges=header.merges)
        self._counts: Counter[str] = Counter()

    def feed(self, line: int, block: bytes) -> None:
        """Check the records of a block of lines, the first of which is number `line`."""
        # The last line may be no event, but the footer.
        cut = block.rfind(b"\n", 0, -1) + 1
        events = block[:cut] if block.startswith(_FOOTER, cut) else block
        records = self._decoded(events)
        if records is not None:
            self._fold(line, records, events)
            line, block = line + len(records), block[len(events) :]
        for number, text in enumerate(split_lines(block), line):
            records = self._decoded(text)
            if records is not None:
                self._fold(number, records, text)
            else:
                self._judge(number, text)

    def _decoded(self, block: bytes) -> list[Any] | None:
        """The records, if all of them are events that are written as usual."""
        if self._fast is None or self.full.broken or self.full.ended:
            return None
        return self._lines.records(block)

    def _fold(self, line: int, records: list[Any], block: bytes) -> None:
        """Take the events that are what the model does as they come; judge the others."""
        assert self._fast is not None
        full, fast = self.full, self._fast
        lines: list[bytes] = []
        place, most = 0, len(records)
        while place < len(records):
            several = records[place : place + most]
            steps = fast.take(several, full.local, full.last)
            if steps:
                self._goes_on(several, steps)
                place += len(steps)
            most = 2 * most
            if len(steps) == len(several):
                continue
            lines = lines or split_lines(block)
            self._judge(line + place, lines[place])
            place += 1
            if full.broken or full.ended or self._fast is None:
                for number, text in enumerate(lines[place : len(records)], line + place):
                    self._judge(number, text)
                break
            self._lines.otherwise = True
            # Records behind it were handled in vain: where many differ, few are taken at once.
            most = 1
        if full.watch is not None:
            full.watch.settle()

    def _goes_on(self, records: list[Any], steps: list[Step]) -> None:
        """Note the events that are what the model does."""
        full = self.full
        local, last = steps[-1].after, steps[-1].at
        full.meet(steps)
        for step in steps if full.binding.relayed is not None else ():
            full.relays.take(step.at, step.event, step.outputs)
        self._counts.update(map(_ACTION, steps))
        full.report.events += len(steps)
        full.last = full.report.conforming = last
        if full.observer is not None:
            for step, record in zip(steps, records, strict=False):
                full.observer.take(step.after, step.at, record.at, step.outputs)
            full.recorded = local
        # Lists that only grow and that nobody reads are cleared now and then.
        full.local = local._replace(**self._unread) if self._unread else local

    def _judge(self, line: int, text: bytes) -> None:
        """Judge one record."""
        for batch in decode_block(self.path, line, text, self._problem, DECODER):
            for record in batch.records:
                try:
                    self.full.take(record, line)
                except (Unusable, ShapeError) as problem:
                    self._problem(Problem(str(self.path), line, str(problem)))
                    # Messages of which only the number was taken are found out in full alone.
                    self._fast = self._fast if self.columns.counted() else None

    @property
    def local(self) -> Any:
        """The member's state in the model, after the last event that was a step of the model."""
        return self.full.local

    @property
    def ended(self) -> bool:
        """Whether its footer was read."""
        return self.full.ended

    @property
    def events(self) -> int:
        """How many events were read."""
        return self.full.report.events

    @property
    def findings(self) -> Sequence[Finding]:
        """What was found in this file alone, so far."""
        return self.full.report.findings

    @property
    def members(self) -> Collection[Address]:
        """Nobody: its channels have one reader each."""
        return ()

    def so_far(self, *, whole: bool = True) -> FileReport:
        """Return the report as if the file ended here; more may be fed afterwards."""
        full = self.full
        actions = self._counts + Counter(full.report.actions)
        report = msgspec.structs.replace(
            full.report,
            actions=dict(actions),
            findings=list(full.report.findings),
            complete=full.ended,
            end="footer" if full.ended else "open",
            sent_to=tuple(sorted(self.columns.receivers())),
        )
        if (watch := full.watch) is not None:
            report.tested, report.noted = watch.tested, watch.noted_at(full.local)
        if not whole:
            return report
        if full.observer is not None:
            report.seen = full.observer.done()
        heard = full.heard
        report.said, report.tally, report.tracks = heard.said, heard.tally, heard.packed()
        if watch is not None:
            report.sequences = {name: rows.tobytes() for name, rows in watch.sequences.items()}
        return report

    def spill(self) -> None:
        """Keep all: what both ends of its channels have is compared at the end."""

    def done(self) -> FileReport:
        """Return the report, after the last record."""
        report = self.so_far()
        if self._fast is not None:
            self._shared.give_back(self._fast)
        return report
