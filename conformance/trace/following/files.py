"""Part (a) for any protocol with `Binding`: one file of a trace against the model's handlers.

Law of this folder: it sees one node's records alone. It folds the handlers over them, compares what
was sent and what changed, and keeps what part (b) needs (`columns.py`). Nothing is dropped in
silence: a record that cannot be used is put into quarantine with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from raincheck.conformance.bindings.binding import Binding, bound_protocols
from raincheck.conformance.bindings.conversion import ShapeError
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.trace.batches import Problem, Report
from raincheck.conformance.trace.collector import no_collector
from raincheck.conformance.trace.columns import Columns
from raincheck.conformance.trace.events import FORMAT_VERSION
from raincheck.conformance.trace.findings import FileReport
from raincheck.conformance.trace.promised import Followed
from raincheck.conformance.trace.records import DECODER, Header
from raincheck.conformance.trace.tracefile import Blocks, decode_block, read_blocks

from .follower import Follower
from .reports import Unusable
from .shared import Shared


def check_file(
    path: Path, report: Report, shared: Shared | None = None
) -> tuple[FileReport, Columns] | None:
    """Check one file; None if it has no header that can be used.

    `shared` is given by who checks many files.
    """
    follower: Followed | None = None
    with no_collector():
        for follower in follow_file(path, report, shared or Shared()):  # noqa: B007 - the last one
            pass
    return None if follower is None else (follower.done(), follower.columns)


def follow_file(
    path: Path, report: Report, shared: Shared, blocks: Blocks | None = None
) -> Iterator[Followed]:
    """Check one file, and yield who follows it after each block of lines.

    `blocks` are its lines, where it is no file of this machine's.
    """
    feed = Feed(path, report, shared)
    for line, block in read_blocks(path, report) if blocks is None else blocks:
        feed.take(line, block)
        if feed.unusable:
            return
        if feed.follower is not None:
            yield feed.follower


class Feed:
    """Hands the blocks of lines of one file to who follows it, and begins with the header."""

    def __init__(self, path: Path, report: Report, shared: Shared) -> None:
        self.path = path
        self.follower: Followed | None = None
        self.unusable = False
        """Whether the first record is no header that can be used: nothing behind it is read."""
        self._report, self._shared = report, shared

    def take(self, line: int, block: bytes) -> None:
        """Check the records of a block of lines, the first of which is number `line`."""
        while self.follower is None and block and not self.unusable:
            head, newline, block = block.partition(b"\n")
            for batch in decode_block(self.path, line, head + newline, self._report, DECODER):
                self.follower = _begun(
                    self.path, batch.records[0], line, self._report, self._shared
                )
                self.unusable = self.follower is None
            line += 1
        if self.follower is not None and block:
            self.follower.feed(line, block)


def _begun(path: Path, record: Any, line: int, report: Report, shared: Shared) -> Followed | None:
    """Begin with the first record; None if it is no header that can be used."""
    try:
        header = _header(record, line)
        promised = _binding(header, shared).promised
        if promised is not None and promised.follow is not None:
            return promised.follow(path, header, report)
        return Follower(path, header, report, shared)
    except (Unusable, ShapeError) as problem:
        report(Problem(str(path), line, str(problem)))
        return None


def _binding(header: Header, shared: Shared) -> Binding:
    try:
        return shared.find(header.protocol)
    except (UsageError, Inconclusive) as lacking:
        known = ", ".join(bound_protocols())
        raise Unusable(f"protocol {header.protocol!r}: this reader knows {known}") from lacking


def _header(record: Any, line: int) -> Header:
    if not isinstance(record, Header) or line != 1:
        raise Unusable("the first record is not a header: nothing in this file can be checked")
    if record.version != FORMAT_VERSION:
        raise Unusable(f"version {record.version}: this reader knows version {FORMAT_VERSION}")
    if record.node not in record.nodes:
        raise Unusable(f"node {record.node!r} is not among the header's nodes")
    return record
