"""Part (b) for any protocol with `Binding`: what is between the nodes, and the run's verdict.

A FIFO channel's messages arrive as they were sent, each once and in order, but for the last ones;
a datagram that arrives was sent. Neither arrives before it was sent: the order of events, each
node's own and each message's, must have no circle. What rests on a file that is not there or not
whole is inconclusive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

from raincheck.conformance.trace.ring.promises import ring_promises

from .batches import Problem
from .causality import Happened
from .checker import RunVerdict
from .findings import HOLDS, INCONCLUSIVE, VIOLATED, Finding, Promise
from .follower import Address, End, FileReport

_Channel: TypeAlias = tuple[Any, ...]
"""What the ids of its messages have in common: both ends, and its name."""
_Origins: TypeAlias = dict[tuple[Address, int], list[tuple[Address, int]]]
"""The events that sent what an event received."""


def judge(
    run: str,
    protocol: str,
    reports: Iterable[FileReport],
    crashed: Collection[Address],
    problems: Iterable[Problem],
) -> RunVerdict:
    """Put together what the files say of one protocol of one run; every engine ends here."""
    by_who = {report.who: report for report in sorted(reports, key=lambda each: each.who)}
    problems = sorted(problems)
    found = [finding for report in by_who.values() for finding in report.findings]
    between, origins = _between(by_who)
    found += between
    found += _circle(by_who, origins)
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
        promises=_promises(by_who, origins, crashed, findings, complete=verdict == HOLDS),
        files=len(by_who),
        events=sum(report.events for report in by_who.values()),
        conforming={f"{n}.{i}": report.conforming for (n, i), report in by_who.items()},
        actions=dict(sorted(actions.items())),
    )


def _promises(
    reports: Mapping[Address, FileReport],
    origins: _Origins,
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
    return ring_promises(seen, Happened(origins), crashed, complete=complete, whole=whole)


def _records(
    run: str, reports: Mapping[Address, FileReport], crashed: Collection[Address]
) -> Iterable[Finding]:
    """What is missing: the end of a file, or a node's files."""
    for who, report in reports.items():
        if not report.complete and who not in crashed:
            yield _finding(report, "no footer: events may be missing at the end", INCONCLUSIVE)
    # Whom something was sent must have been there; not every name of the header ever comes.
    named = {_receiver(end) for report in reports.values() for end in report.sent}
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


def _between(reports: Mapping[Address, FileReport]) -> tuple[list[Finding], _Origins]:
    """Compare both ends of every message; say of what arrived where it was sent."""
    found: list[Finding] = []
    # Of a datagram that was sent several times the first sending counts.
    datagrams: dict[tuple[str, str], tuple[Address, End]] = {}
    channels: dict[_Channel, dict[int, tuple[Address, End]]] = {}
    for who, report in reports.items():
        for end in report.sent:
            if end.fifo:
                channel, number = _place(end)
                channels.setdefault(channel, {}).setdefault(number, (who, end))
            else:
                datagrams.setdefault((end.id, end.digest), (who, end))
    origins: _Origins = {}
    for who, report in reports.items():
        placed = [(end, *_place(end)) if end.fifo else (end, (), 0) for end in report.received]
        lags = _lags(placed, channels)
        for end, channel, number in placed:
            if end.fifo:
                known = channels.get(channel, {}).get(number + lags[channel])
            else:
                known = datagrams.get((end.id, end.digest))
            if known is not None and known[1].digest != end.digest:
                found.append(
                    _finding(report, f"{end.id} was sent with other contents", VIOLATED, end)
                )
                continue
            if known is not None:
                origins.setdefault((who, end.index), []).append((known[0], known[1].index))
                continue
            sender = _sender(end)
            if sender in reports and reports[sender].complete:
                found.append(_finding(report, f"{end.id} was never sent", VIOLATED, end))
            else:
                reason = f"{end.id}: the records of {sender[0]}.{sender[1]} do not show its sending"
                found.append(_finding(report, reason, INCONCLUSIVE, end))
    return found, origins


def _lags(
    received: Iterable[tuple[End, _Channel, int]],
    channels: Mapping[_Channel, Mapping[int, tuple[Address, End]]],
) -> dict[_Channel, int]:
    """How many messages of each channel were sent before its receiver took any.

    A process takes nothing before it is a member, and counts from there; who sends may have taken
    it for one already. From then on nothing may be missing: one number fits a channel as a whole.
    """
    taken: dict[_Channel, list[tuple[int, str]]] = {}
    for end, channel, number in received:
        if end.fifo:
            taken.setdefault(channel, []).append((number, end.digest))
    lags = {}
    for channel, ends in taken.items():
        there = {number: end.digest for number, (_, end) in channels.get(channel, {}).items()}
        last = max(there, default=0)
        lags[channel] = next(
            (
                lag
                for lag in range(last)
                if all(there.get(number + lag, digest) == digest for number, digest in ends)
                and ends[0][0] + lag in there
            ),
            0,
        )
    return lags


def _place(end: End) -> tuple[_Channel, int]:
    """The channel of a message and its number there."""
    *channel, number = msgspec.json.decode(end.id)
    return tuple(channel), int(number)


def _receiver(end: End) -> str:
    _, _, _, node, *_ = msgspec.json.decode(end.id)
    return str(node)


def _sender(end: End) -> Address:
    _, node, incarnation, *_ = msgspec.json.decode(end.id)
    return (str(node), int(incarnation))


def _circle(
    reports: Mapping[Address, FileReport],
    origins: _Origins,
) -> Iterable[Finding]:
    """Let each node go on as far as what it receives was sent; who cannot end is in a circle."""
    needs = {
        who: deque(end for end in report.received if (who, end.index) in origins)
        for who, report in reports.items()
    }
    waiting: dict[Address, list[Address]] = {}
    ready = list(reports)
    while ready:
        who = ready.pop()
        while needs[who]:
            end = needs[who][0]
            blocked = next(
                (
                    sender
                    for sender, index in origins[who, end.index]
                    if needs[sender] and needs[sender][0].index <= index
                ),
                None,
            )
            if blocked is not None:
                waiting.setdefault(blocked, []).append(who)
                break
            needs[who].popleft()
            ready += waiting.pop(who, [])
        if not needs[who]:
            ready += waiting.pop(who, [])
    for who, left in needs.items():
        if left:
            reason = f"{left[0].id} was received before it was sent"
            yield _finding(reports[who], reason, VIOLATED, left[0])


def _finding(report: FileReport, reason: str, verdict: str, end: End | None = None) -> Finding:
    return Finding(
        verdict=verdict,
        part="records" if end is None else "network",
        reason=reason,
        run=report.run,
        node=report.node,
        incarnation=report.incarnation,
        index=end.index if end is not None else report.events,
        path=report.path,
    )
