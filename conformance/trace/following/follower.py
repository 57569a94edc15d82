"""The fold over one file, in blocks: the fast path takes what it can, the rest goes to `InFull`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from raincheck.conformance.bindings.conversion import ShapeError
from raincheck.conformance.trace.batches import Problem, Report
from raincheck.conformance.trace.columns import Columns, Digest, ends_of
from raincheck.conformance.trace.records import DECODER, Header
from raincheck.conformance.trace.tracefile import count_lines, decode_block, split_lines

from .fastpath import FastPath, Take
from .forms import forms_of
from .in_full import Find, InFull
from .reports import FileReport, Unusable

_FOOTER: Final = b'{"kind":"footer"'


class Follower:
    """The fold over one file."""

    def __init__(
        self, path: Path, header: Header, problems: Report, digest: Digest, find: Find
    ) -> None:
        full = self.full = InFull(path, header, digest, find)
        self.path = path
        self.header = header
        defaults = getattr(full.binding.local, "_field_defaults", {})
        self._unread = {name: defaults[name] for name in full.binding.unread}
        self._problem = problems
        forms = forms_of(full.binding)
        self._decode = None if forms is None else forms.decoder
        self._fast = (
            None
            if forms is None
            else FastPath(full.binding, forms, full.rules, full.me, full.columns)
        )
        self._takes: dict[type[Any], Take] = {}
        self._counts: Counter[type[Any]] = Counter()

    @property
    def columns(self) -> Columns:
        """The ends of its messages."""
        return self.full.columns

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
        full = self.full
        if self._decode is None or full.broken or full.ended or not block.endswith(b"\n"):
            return None
        try:
            str(block, "utf-8")
            records: list[Any] = self._decode.decode_lines(block)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return records if len(records) == count_lines(block) else None

    def _fold(self, line: int, records: list[Any], block: bytes) -> None:
        """Take the events that are what the model does as they come; judge the others."""
        full, header, takes = self.full, self.header, self._takes
        run, protocol = header.run, header.protocol
        node, incarnation = header.node, header.incarnation
        local, last, observer = full.local, full.last, full.observer
        judged: list[type[Any]] = []
        lines: list[bytes] = []
        for place, record in enumerate(records):
            kind = record.__class__
            answer = None
            if (
                record.index == last + 1
                and record.run == run
                and record.node == node
                and record.incarnation == incarnation
                and record.protocol == protocol
                and record.given is UNSET
            ):
                try:
                    answer = (takes.get(kind) or self._taking(kind))(record, local)
                except Exception:  # noqa: BLE001 - it is judged below, and then it is told
                    answer = None
            if answer is not None:
                last += 1
                local = answer[0]
                if observer is not None:
                    full.recorded = local
                    observer.take(local, last, record.at, answer[1])
                continue
            lines = lines or split_lines(block)
            judged.append(kind)
            self._goes_on(local, last)
            self._judge(line + place, lines[place])
            local, last = full.local, full.last
            if full.broken or full.ended:
                for number, text in enumerate(lines[place + 1 : len(records)], line + place + 1):
                    self._judge(number, text)
                records = records[: place + 1]
                break
        else:
            self._goes_on(local, last)
        full.report.events += len(records) - len(judged)
        self._counts.update(map(type, records))
        self._counts.subtract(judged)

    def _goes_on(self, local: Any, last: int) -> None:
        """Note how far the events are what the model does."""
        # What only grows, and nobody reads, is forgotten now and then.
        full = self.full
        full.local = local._replace(**self._unread) if self._unread else local
        if last > full.last:
            full.last = full.report.conforming = last

    def _taking(self, kind: type[Any]) -> Take:
        """What takes records of a type that has not come before."""
        assert self._fast is not None
        take = self._takes[kind] = self._fast.taking(kind)
        return take

    def _judge(self, line: int, text: bytes) -> None:
        """Judge one record."""
        for batch in decode_block(self.path, line, text, self._problem, DECODER):
            for record in batch.records:
                try:
                    self.full.take(record, line)
                except (Unusable, ShapeError) as problem:
                    self._problem(Problem(str(self.path), line, str(problem)))

    def done(self) -> FileReport:
        """Return the report; without a footer events may be missing at the end."""
        report = self.full.report
        for kind, count in self._counts.items():
            if count:
                action = kind.__struct_config__.tag
                report.actions[action] = report.actions.get(action, 0) + count
        report.complete = self.full.ended
        to = [ends_of(end.text)[1] for end in self.columns.sent.values() if end.rows]
        report.sent_to = tuple(sorted({node for node, _ in to}))
        if self.full.observer is not None:
            report.seen = self.full.observer.done()
        return report
