"""The judgements over the traces of SEQUENCER: its views, drained leavers, and its promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, Finding, Promise
from raincheck.conformance.trace.promised import Promised, Run
from raincheck.conformance.trace.sequencer.across import evaluate_across
from raincheck.conformance.trace.sequencer.cuts import check_cuts
from raincheck.conformance.trace.sequencer.logs import logs_of
from raincheck.conformance.trace.sequencer.members import check_drained, check_members, check_views
from raincheck.conformance.trace.sequencer.merging import check_merging
from raincheck.conformance.trace.sequencer.promises import evaluate_logs
from raincheck.conformance.trace.sequencer.summary import Summary
from raincheck.conformance.trace.sequencer.unbroken import evaluate_streams

from .localrun import LocalRun


def findings(run: Run) -> Iterator[Finding]:
    """Check what holds between the members of a run."""
    if not run.reports:
        return
    if merges(run):
        yield from check_merging(run.reports, run.crashed)
        return
    views = check_views(run.reports)
    yield from views.findings
    yield from check_members(run.reports, views, run.crashed)
    yield from check_drained(run.reports)
    yield from check_cuts(run.reports)


def promises(run: Run) -> list[Promise]:
    """Judge what was promised, as far as the records go."""
    if not run.reports:
        return []
    reports = run.reports
    deliveries = {who: _log_of(each) for who, each in reports.items()}
    if merges(run):
        found = evaluate_across(reports, deliveries)
        return [promise if run.complete else _as_far_as_checked(promise) for promise in found]
    logs, senders = logs_of(reports, deliveries)
    founding = {who for who, each in reports.items() if each.views and not each.views[0].index}
    found = evaluate_logs(reports, logs, senders)
    found += evaluate_streams(logs, founding, senders)
    return [promise if run.complete else _as_far_as_checked(promise) for promise in found]


def merges(run: Run) -> bool:
    """Return whether the run is of groups that merge: some of its promises are others."""
    return any(report.merges for report in run.reports.values())


def _log_of(report: Summary) -> bytes:
    """The delivery log, which would stay in memory beside what becomes of it."""
    log, report.delivered = report.delivered, b""
    return log


def _as_far_as_checked(promise: Promise) -> Promise:
    """Without all records there and in order nothing holds: what is missing might violate it."""
    if promise.verdict == HOLDS:
        reason = "not every record was checked"
        return msgspec.structs.replace(promise, verdict=INCONCLUSIVE, reason=reason)
    return promise


def again(run: Run) -> list[str]:
    """Evaluate the promises a second time; those of groups that merge are asked once."""
    if merges(run):
        return []
    from raincheck.conformance.spark.recount import recounted

    return recounted(run.reports, {who: each.delivered for who, each in run.reports.items()})


PROMISED: Final = Promised(
    report=Summary,
    follow=LocalRun,
    arrives={
        "DATA": "ReceiveData",
        "FORWARD": "ReceiveForward",
        "JOIN_RSP": "Join",
        "ACK": "ReceiveAck",
        "SAFE": "ReceiveSafe",
    },
    findings=findings,
    promises=promises,
    again=again,
)
