"""The verdict of one run of a protocol: its files, and what was between the nodes.

Nothing arrives before it was sent: the order of events, each node's own and each message's, must
have no circle. What rests on a file that is not there or not whole is inconclusive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import msgspec

from raincheck.conformance.bindings.binding import Binding, binding_of
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.trace.invariants.judged import evaluated
from raincheck.conformance.trace.layers.judged import LAYERS, judge_layers, judges_merging
from raincheck.conformance.trace.layers.views import other_beginnings

from .batches import Problem
from .channels_compared import CONTENTS, EARLY, UNNUMBERED, Bad, Compared, circle
from .columns import ends_of
from .events import NEVER_CAME, kind_of
from .findings import (
    HOLDS,
    INCONCLUSIVE,
    VIOLATED,
    Difference,
    FileReport,
    Finding,
    Promise,
    claims_synchrony,
)
from .promised import Promised, Run
from .records import Address

_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Where a new word begins in a specification's name."""


class RunVerdict(msgspec.Struct, kw_only=True):
    """The verdict on one protocol of one run."""

    run: str
    protocol: str
    verdict: str
    findings: list[Finding]
    problems: list[Problem]
    promises: list[Promise]
    files: int
    events: int
    conforming: dict[str, int]
    """Per node.incarnation the longest conforming prefix."""
    actions: dict[str, int]
    not_compared: list[str] = []
    """Of the layers of a run the agreements with a layer that was not traced."""
    other_design: dict[str, Any] = {}
    """The headers' constants that differ from the implemented protocol's: it was judged as that."""
    synchronous: bool = True
    """Whether the system that wrote the traces claims virtually synchronous views."""
    safe: bool = False
    """Whether the headers say that delivery is safe: then the uniform promises are owed."""

    @property
    def first(self) -> Finding | None:
        """The first bad event, by clock if there are clocks; or what made it inconclusive."""
        return self.findings[0] if self.findings else None


def promised_of(protocol: str, find: Callable[[str], Binding] = binding_of) -> Promised:
    """Return the protocol's part in judging its traces; of a protocol without one, nothing."""
    try:
        return find(protocol).promised or Promised()
    except (UsageError, Inconclusive):
        return Promised()


def other_design(
    protocol: str, reports: Iterable[FileReport], find: Callable[[str], Binding] = binding_of
) -> dict[str, Any]:
    """Return the constants by which headers say that repairs or assumptions are lacking."""
    try:
        binding = find(protocol)
    except (UsageError, Inconclusive):
        return {}
    repairs = {name for name, undone in binding.switches.items() if type(undone) is not int}
    repairs -= binding.chosen
    usual = {name: value for name, value in asdict(binding.rules()).items() if name in repairs}
    usual |= dict.fromkeys(("fifo_forward", "virtual_synchrony"), True)
    return {
        name: value
        for report in reports
        for name, value in sorted(report.constants.items())
        if usual.get(_WORD.sub("_", name).lower(), value) != value
    }


def invariants_of(
    protocol: str, run: Run, find: Callable[[str], Binding] = binding_of
) -> list[Promise]:
    """Return the verdicts on the protocol's own invariants."""
    try:
        return evaluated(find(protocol), run)
    except (UsageError, Inconclusive):
        return []


def judge(
    run: str,
    protocol: str,
    reports: Iterable[FileReport],
    compared: Mapping[str, Compared],
    crashed: Collection[Address],
    problems: Iterable[Problem],
    *,
    ended: bool = True,
) -> RunVerdict:
    """Put together what the files say of one protocol of one run; every engine ends here.

    Not `ended`: more may come, and what rests on all records being there is not asked.
    """
    by_who = {report.who: report for report in sorted(reports, key=lambda each: each.who)}
    problems = sorted(problems)
    if beyond := [*_beyond(protocol, by_who.values())]:
        return _unjudged(run, protocol, by_who.values(), problems, beyond)
    found = [finding for report in by_who.values() for finding in report.findings]
    promised = promised_of(protocol)
    for channel, each in compared.items():
        found += _unsent(by_who, channel, each, promised)
    lost = bool(problems) or any(finding.part == "records" for finding in found)
    for stuck in circle(compared):
        name = _name(stuck.channel, stuck.number)
        if lost:  # an earlier sending of it may be among the records that are missing
            reason = f"{name}: the records do not show its sending before it was received"
            found.append(_finding(by_who[stuck.who], reason, INCONCLUSIVE, stuck.index))
            continue
        reason = f"{name} was received before it was sent"
        found.append(_finding(by_who[stuck.who], reason, VIOLATED, stuck.index))
    found += _records(run, by_who, crashed)
    found += _other_system(by_who)
    found += _unknown(run, by_who, crashed)
    found += _other_beginning(by_who)
    found += promised.findings(Run(by_who, compared, crashed, found, complete=False))
    # Through JSON and back, so that a finding does not show which engine it came through.
    findings = msgspec.json.decode(msgspec.json.encode(found), type=list[Finding])
    findings.sort(key=_order)
    verdict = HOLDS
    if any(finding.verdict == VIOLATED for finding in findings):
        verdict = VIOLATED
    elif findings or problems or not any(report.events for report in by_who.values()):
        verdict = INCONCLUSIVE
    actions: dict[str, int] = {}
    for report in by_who.values():
        for action, count in report.actions.items():
            actions[action] = actions.get(action, 0) + count
    whole = Run(by_who, compared, crashed, findings, complete=ended and verdict == HOLDS)
    return RunVerdict(
        run=run,
        protocol=protocol,
        verdict=verdict,
        findings=findings,
        problems=problems,
        promises=[*promised.promises(whole), *invariants_of(protocol, whole)],
        files=len(by_who),
        events=sum(report.events for report in by_who.values()),
        conforming={f"{n}.{i}": report.conforming for (n, i), report in by_who.items()},
        actions=dict(sorted(actions.items())),
        other_design=other_design(protocol, by_who.values()),
        synchronous=all(claims_synchrony(report.constants) for report in by_who.values()),
        safe=any(report.constants.get("Delivery") == "safe" for report in by_who.values()),
    )


def broken_so_far(
    protocol: str,
    reports: Iterable[FileReport],
    compared: Mapping[str, Compared],
    crashed: Collection[Address],
) -> list[Finding]:
    """Return the violations in records that may go on: what stands whatever comes.

    It asks what is between files and streams, and neither promises nor the order of all events.
    """
    by_who = {report.who: report for report in sorted(reports, key=lambda each: each.who)}
    if [*_beyond(protocol, by_who.values())]:
        return []
    found = [finding for report in by_who.values() for finding in report.findings]
    promised = promised_of(protocol)
    for channel, each in compared.items():
        found += _unsent(by_who, channel, each, promised)
    found += promised.findings(Run(by_who, compared, crashed, found, complete=False))
    return [finding for finding in found if finding.verdict == VIOLATED]


def _beyond(
    protocol: str,
    reports: Iterable[FileReport],
    find: Callable[[str], Binding] = binding_of,
) -> Iterator[Finding]:
    """Of groups that merge, where the protocol's traces of such cannot be judged."""
    merging = next((report for report in reports if report.merges), None)
    if merging is not None and not judges_merging(protocol, find):
        reason = f"traces of {protocol} in groups that merge cannot be judged: its model has none"
        yield _finding(merging, reason, INCONCLUSIVE)


def _unjudged(
    run: str,
    protocol: str,
    reports: Collection[FileReport],
    problems: list[Problem],
    findings: list[Finding],
) -> RunVerdict:
    """Return that nobody can tell: what the model does not know is not held against the run."""
    return RunVerdict(
        run=run,
        protocol=protocol,
        verdict=INCONCLUSIVE,
        findings=findings,
        problems=problems,
        promises=[],
        files=len(reports),
        events=sum(report.events for report in reports),
        conforming={},
        actions={},
    )


def layers_of(
    run: str,
    reports: Collection[FileReport],
    crashed: Collection[Address],
    find: Callable[[str], Binding] = binding_of,
) -> Iterator[RunVerdict]:
    """Yield the verdict on the layers of a run, if several of them speak of the same things."""
    found = judge_layers(run, reports, crashed, find)
    if found is None:
        return
    findings = msgspec.json.decode(msgspec.json.encode(found.findings), type=list[Finding])
    findings.sort(key=_order)
    verdict = HOLDS
    if findings:
        violated = any(finding.verdict == VIOLATED for finding in findings)
        verdict = VIOLATED if violated else INCONCLUSIVE
    yield RunVerdict(
        run=run,
        protocol=LAYERS,
        verdict=verdict,
        findings=findings,
        problems=[],
        promises=found.promises,
        files=len(reports),
        events=0,
        conforming={},
        actions={},
        not_compared=found.not_compared,
    )


def _order(finding: Finding) -> tuple[object, ...]:
    """Violations first, by their clocks; without clocks what a node did, then what others saw."""
    seen_by_others = not finding.clock and finding.part != "local"
    return (finding.verdict != VIOLATED, finding.clock, seen_by_others, finding.place())


def _unsent(
    reports: Mapping[Address, FileReport], channel: str, each: Compared, promised: Promised
) -> Iterator[Finding]:
    """Of messages that were received: that nothing shows their sending."""
    sender, receiver = ends_of(channel)
    mine, other = reports[receiver], reports.get(sender)
    action = promised.arrives.get(kind_of(msgspec.json.decode(channel)), "")
    for bad in _counted(each):
        name = _name(channel, bad.number)
        if bad.kind == CONTENTS:
            reason = f"{name} was sent with other contents"
            by = None if other is None else (other.path, bad.sent_index)
            said = _instead(bad, sender)
            yield _received(mine, reason, VIOLATED, bad, action, *said, sent_by=by)
        elif bad.kind == EARLY:
            late = Difference("clock", f"greater than {bad.sent_clock}", bad.clock)
            reason = f"{name} was received before it was sent"
            yield _received(mine, reason, VIOLATED, bad, action, late)
        elif other is not None and (_whole(other) or 0 < bad.number <= _written(other, channel)):
            yield _received(mine, f"{name} was never sent", VIOLATED, bad, action)
        else:
            reason = f"{name}: the records of {sender[0]}.{sender[1]} do not show its sending"
            yield _received(mine, reason, INCONCLUSIVE, bad, action)


def _whole(report: FileReport) -> bool:
    """Whether the file has all of the node's events, from the first to the footer."""
    return report.complete and all(finding.part != "records" for finding in report.findings)


def _received(
    report: FileReport,
    reason: str,
    verdict: str,
    bad: Bad,
    action: str,
    *instead: Difference,
    sent_by: tuple[str, int] | None = None,
) -> Finding:
    return msgspec.structs.replace(
        _finding(report, reason, verdict, bad.index),
        clock=bad.clock,
        action=action,
        differences=instead,
        sent_by=sent_by,
    )


def _counted(each: Compared) -> list[Bad]:
    """Of a stream its reader's first message that is wrong: the next ones may be so for it."""
    of_stream = each.bad and each.bad[0].clock
    return [min(each.bad, key=lambda bad: bad.number)] if of_stream else each.bad


def _written(report: FileReport, channel: str) -> int:
    """Return up to where a stream was written; in channels that are no streams nobody counts."""
    alone = msgspec.json.encode(msgspec.json.decode(channel)[:3]).decode()
    return report.written.get(channel, report.written.get(alone, 0))


def _instead(bad: Bad, sender: Address) -> Iterator[Difference]:
    """Say whose contents are expected; `located` looks up both."""
    text = f"those that event {bad.sent_index} of {sender[0]}.{sender[1]} has sent"
    yield Difference("contents", text, f"those of event {bad.index} here")


def _name(channel: str, number: int) -> str:
    """The id of a message: in a FIFO channel its number is a part of it."""
    return channel if number == UNNUMBERED else f"{channel[:-1]},{number}]"


_COUNTED: Final = 1 << 20
"""An incarnation below this is a life's number, as a harness gives it; others are times."""


def _records(
    run: str, reports: Mapping[Address, FileReport], crashed: Collection[Address]
) -> Iterator[Finding]:
    """What is missing: the end of a file, or a node's files."""
    for who, report in reports.items():
        if report.end == "open" and who not in crashed:
            yield _finding(report, "no footer: events may be missing at the end", INCONCLUSIVE)
    # A process that was killed may have done nothing before; of a node that never came the
    # harness says so.
    there = {node for node, _ in reports} | {node for node, _ in crashed}
    listed = {node for report in reports.values() for node in report.nodes}
    for node in sorted(listed - there):
        yield _lacking(run, node, 0, f"there is no file of node {node}")
    # A life to which something was sent was there, and so was the one before a return.
    named = {who for report in reports.values() for who in report.sent_to}
    named |= {(node, life - 1) for node, life in reports if 0 < life < _COUNTED}
    for node, life in sorted(named - reports.keys() - set(crashed)):
        if node in there:
            yield _lacking(run, node, life, f"there is no file of life {life} of node {node}")
    for node, life in sorted(crashed):
        if life == NEVER_CAME and any(who == node for who, _ in reports):
            reason = f"node {node} is said never to have come, and has a file"
            yield _lacking(run, node, 0, reason)


def _lacking(run: str, node: str, life: int, reason: str) -> Finding:
    return Finding(
        verdict=INCONCLUSIVE,
        part="records",
        reason=reason,
        run=run,
        node=node,
        incarnation=life,
    )


def _other_system(reports: Mapping[Address, FileReport]) -> Iterator[Finding]:
    """All files of a run have the same constants and nodes."""
    for each in reports.values():
        first = next(iter(reports.values()))
        if (each.constants, sorted(each.nodes)) != (first.constants, sorted(first.nodes)):
            yield Finding(
                verdict=INCONCLUSIVE,
                part="records",
                reason=f"other constants or nodes than {Path(first.path).name}",
                run=each.run,
                node=each.node,
                incarnation=each.incarnation,
                path=each.path,
            )


def _unknown(
    run: str, reports: Mapping[Address, FileReport], crashed: Collection[Address]
) -> Iterator[Finding]:
    """Nobody is killed who is no node of the run."""
    nodes = {node for report in reports.values() for node in report.nodes}
    for node, life in sorted(crashed) if reports else ():
        if node not in nodes and life != NEVER_CAME:
            yield _lacking(run, node, life, "a crash of a node that no header names")


def _other_beginning(reports: Mapping[Address, FileReport]) -> Iterator[Finding]:
    """Files that begin in views of one number begin in views of the same members."""
    for report, other in other_beginnings(reports.values()):
        reason = f"it begins in another view than {Path(other.path).name}"
        yield _finding(report, reason, INCONCLUSIVE)


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
