"""The verdict of one run of a protocol with a binding: its files, and what was between the nodes.

Nothing arrives before it was sent: the order of events, each node's own and each message's, must
have no circle. What rests on a file that is not there or not whole is inconclusive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from raincheck.conformance.trace.following.reports import FileReport
from raincheck.conformance.trace.ring.promises import ring_promises

from .batches import Problem
from .causality import HappensBefore
from .channels_compared import CONTENTS, UNNUMBERED, Compared, circle
from .checker import RunVerdict
from .columns import ends_of
from .findings import HOLDS, INCONCLUSIVE, VIOLATED, Finding, Promise
from .records import Address


def judge(
    run: str,
    protocol: str,
    reports: Iterable[FileReport],
    compared: Mapping[str, Compared],
    crashed: Collection[Address],
    problems: Iterable[Problem],
) -> RunVerdict:
    """Put together what the files say of one protocol of one run; every engine ends here."""
    by_who = {report.who: report for report in sorted(reports, key=lambda each: each.who)}
    problems = sorted(problems)
    found = [finding for report in by_who.values() for finding in report.findings]
    for channel, each in compared.items():
        found += _unsent(by_who, channel, each)
    for stuck in circle(compared):
        reason = f"{_name(stuck.channel, stuck.number)} was received before it was sent"
        found.append(_finding(by_who[stuck.who], reason, VIOLATED, stuck.index))
    found += _records(run, by_who, crashed)
    # Through JSON and back, so that a finding does not show which engine it came through.
    findings = msgspec.json.decode(msgspec.json.encode(found), type=list[Finding])
    # There are no clocks here: what a node did wrong comes before what others saw of it.
    findings.sort(key=lambda each: (each.verdict != VIOLATED, each.part != "local", each.place()))
    verdict = HOLDS
    if any(finding.verdict == VIOLATED for finding in findings):
        verdict = VIOLATED
    elif findings or problems or not any(report.events for report in by_who.values()):
        verdict = INCONCLUSIVE
    actions: dict[str, int] = {}
    for report in by_who.values():
        for action, count in report.actions.items():
            actions[action] = actions.get(action, 0) + count
    return RunVerdict(
        run=run,
        protocol=protocol,
        verdict=verdict,
        findings=findings,
        problems=problems,
        promises=_promises(by_who, compared, crashed, findings, complete=verdict == HOLDS),
        files=len(by_who),
        events=sum(report.events for report in by_who.values()),
        conforming={f"{n}.{i}": report.conforming for (n, i), report in by_who.items()},
        actions=dict(sorted(actions.items())),
    )


def _promises(
    reports: Mapping[Address, FileReport],
    compared: Mapping[str, Compared],
    crashed: Collection[Address],
    findings: Iterable[Finding],
    *,
    complete: bool,
) -> list[Promise]:
    """What was promised to the application, for protocols of which that can be seen in traces."""
    seen = {who: report.seen for who, report in reports.items() if report.seen is not None}
    if not seen:
        return []
    whole = all(finding.part == "local" for finding in findings)
    origins: dict[tuple[Address, int], list[tuple[Address, int]]] = {}
    for channel, each in compared.items():
        sender, receiver = ends_of(channel)
        for index, sent, _ in each.origins.tolist():
            origins.setdefault((receiver, index), []).append((sender, sent))
    return ring_promises(seen, HappensBefore(origins), crashed, complete=complete, whole=whole)


def _unsent(
    reports: Mapping[Address, FileReport], channel: str, each: Compared
) -> Iterator[Finding]:
    """Of messages that were received: that nothing shows their sending."""
    sender, receiver = ends_of(channel)
    for bad in each.bad:
        name, report = _name(channel, bad.number), reports[receiver]
        if bad.kind == CONTENTS:
            yield _finding(report, f"{name} was sent with other contents", VIOLATED, bad.index)
        elif sender in reports and reports[sender].complete:
            yield _finding(report, f"{name} was never sent", VIOLATED, bad.index)
        else:
            reason = f"{name}: the records of {sender[0]}.{sender[1]} do not show its sending"
            yield _finding(report, reason, INCONCLUSIVE, bad.index)


def _name(channel: str, number: int) -> str:
    """The id of a message: in a FIFO channel its number is a part of it."""
    return channel if number == UNNUMBERED else f"{channel[:-1]},{number}]"


def _records(
    run: str, reports: Mapping[Address, FileReport], crashed: Collection[Address]
) -> Iterator[Finding]:
    """What is missing: the end of a file, or a node's files."""
    for who, report in reports.items():
        if not report.complete and who not in crashed:
            yield _finding(report, "no footer: events may be missing at the end", INCONCLUSIVE)
    # Whom something was sent must have been there; not every name of the header ever comes.
    named = {node for report in reports.values() for node in report.sent_to}
    # Who was killed may have come to nothing before.
    there = {node for node, _ in reports} | {node for node, _ in crashed}
    for node in sorted(named - there):
        yield Finding(
            verdict=INCONCLUSIVE,
            part="records",
            reason=f"there is no file of node {node}",
            run=run,
            node=node,
            incarnation=0,
        )


def _finding(report: FileReport, reason: str, verdict: str, index: int = 0) -> Finding:
    return Finding(
        verdict=verdict,
        part="network" if index else "records",
        reason=reason,
        run=report.run,
        node=report.node,
        incarnation=report.incarnation,
        index=index or report.events,
        path=report.path,
    )
