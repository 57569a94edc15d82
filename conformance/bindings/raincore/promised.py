"""The judgements over the traces of a ring: the promises of Raincore."""

from __future__ import annotations

from typing import Final

from raincheck.conformance.trace.causality import HappensBefore
from raincheck.conformance.trace.findings import FileReport, Promise
from raincheck.conformance.trace.promised import Promised, Run
from raincheck.conformance.trace.records import Address
from raincheck.conformance.trace.ring.promises import ring_promises
from raincheck.conformance.trace.ring.seen import RingObserver, RingSeen


class RingReport(FileReport):
    """The report on a file of Raincore."""

    seen: RingSeen | None = None


def promises(run: Run) -> list[Promise]:
    """Judge what the ring promises, by what was before what."""
    seen = {who: report.seen for who, report in run.reports.items() if report.seen is not None}
    if not seen:
        return []
    # It brings NumPy, which a process that only records does without.
    from raincheck.conformance.trace.columns import ends_of

    origins: dict[tuple[Address, int], list[tuple[Address, int]]] = {}
    for channel, each in run.compared.items():
        sender, receiver = ends_of(channel)
        for index, sent, _ in each.origins.tolist():
            origins.setdefault((receiver, index), []).append((sender, sent))
    whole = all(finding.part == "local" for finding in run.findings)
    order = HappensBefore(origins)
    return ring_promises(seen, order, run.crashed, complete=run.complete, whole=whole)


PROMISED: Final = Promised(report=RingReport, observer=RingObserver, promises=promises)
