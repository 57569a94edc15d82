"""The verdict on the layers of one run: each member's files beside each other.

Only what both files say is compared; a layer that was not traced is named, and holds nothing
against the run. Where records are missing the layers are compared up to there, and the verdict is
inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from raincheck.conformance.bindings.binding import Binding, binding_of
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.trace.findings import (
    HOLDS,
    INCONCLUSIVE,
    VIOLATED,
    Difference,
    FileReport,
    Finding,
    Promise,
)
from raincheck.conformance.trace.records import Address

from .agreements import Agreement, Clash, Side
from .speaks import Speaks
from .views import Different, between_layers, between_members, views_of

LAYERS: Final = "layers"
"""In place of a protocol's name, where all protocols of a run are judged together."""
ONE_SEQUENCE: Final = "OneSequenceOfViews"
Find: TypeAlias = Callable[[str], Binding]
Reports: TypeAlias = Mapping[str, Mapping[Address, FileReport]]
"""By protocol and member."""


class Layered(NamedTuple):
    """The judgement of the layers of one run."""

    findings: list[Finding]
    promises: list[Promise]
    not_compared: list[str]
    """Agreements with a layer that was not traced."""


def speaks_of(protocol: str, find: Find = binding_of, *, merges: bool = False) -> Speaks | None:
    """Return what the protocol's records say of shared things; None if nothing."""
    try:
        binding = find(protocol)
    except (UsageError, Inconclusive):
        return None
    return binding.of_traces(real=True, merges=merges).speaks


def judges_merging(protocol: str, find: Find = binding_of) -> bool:
    """Return whether the protocol's traces of groups that merge can be judged."""
    return find(protocol).merging is not None


def slim(report: FileReport) -> FileReport:
    """Return what of a report is compared with other layers'."""
    return FileReport(
        run=report.run,
        protocol=report.protocol,
        node=report.node,
        incarnation=report.incarnation,
        path=report.path,
        nodes=report.nodes,
        merges=report.merges,
        events=report.events,
        conforming=report.conforming,
        end=report.end,
        complete=report.complete and not report.findings,
        said=report.said,
        tally=report.tally,
        tracks=report.tracks,
    )


def judge_layers(
    run: str,
    reports: Iterable[FileReport],
    crashed: Collection[Address],
    find: Find = binding_of,
) -> Layered | None:
    """Judge the layers of a run; None where only one protocol speaks of what others speak of."""
    by_protocol: dict[str, dict[Address, FileReport]] = {}
    for report in sorted(reports, key=lambda each: (each.protocol, each.who)):
        if speaks_of(report.protocol, find, merges=report.merges) is None:
            continue
        if not report.merges or judges_merging(report.protocol, find):
            by_protocol.setdefault(report.protocol, {})[report.who] = report
    if len(by_protocol) < 2:
        return None
    found = Layered([], [], [])
    _views(by_protocol, found)
    for protocol in by_protocol:
        merges = any(report.merges for report in by_protocol[protocol].values())
        speaks = speaks_of(protocol, find, merges=merges)
        for agreement in speaks.agrees if speaks is not None else ():
            _agreement(protocol, agreement, by_protocol, found)
    found.findings.extend(_missing(run, by_protocol, crashed))
    if any(finding.part == "records" for finding in found.findings):
        found.promises[:] = map(_as_far_as_compared, found.promises)
    return found


def _views(reports: Reports, found: Layered) -> None:
    """One sequence of views for all layers of a member, and for all members."""
    different: list[Different] = []
    members = {who for files in reports.values() for who in files}
    for who in sorted(members):
        mine = [files[who] for files in reports.values() if who in files]
        whole = {report.protocol: report.complete for report in mine}
        different += between_layers(mine, whole)
    between = [report for files in reports.values() for report in files.values()]
    different += between_members(between) if not different else ()
    for each in different:
        found.findings.append(_other_view(each))
    views = {said.value[0] for report in between for said in views_of(report)}
    judged = {"members": len(members), "views": len(views), "layers": len(reports)}
    found.promises.append(_promise(ONE_SEQUENCE, map(_other_view, different), judged))


def _other_view(each: Different) -> Finding:
    mine = each.mine.report if each.mine is not None else each.lacking
    assert mine is not None
    other = each.other
    where = f"{other.report.protocol} of {_name(other.report)}, event {other.said.index}"
    if each.mine is None:
        reason = f"a view is not installed here, and is by {where}"
    else:
        reason = f"another view than by {where}"
    index = each.mine.said.index if each.mine is not None else mine.events
    return _finding(mine, f"{ONE_SEQUENCE}: {reason}", index, each.what, *each[-3:-1])


def _agreement(protocol: str, agreement: Agreement, reports: Reports, found: Layered) -> None:
    theirs = reports.get(agreement.other)
    compared = members = 0
    wrong: list[Finding] = []
    for who, report in reports[protocol].items():
        other = theirs.get(who) if theirs is not None else None
        if other is None:
            continue
        mine = Side(report, agreement.topic, report.complete)
        result = agreement.compare(mine, Side(other, agreement.its, other.complete))
        compared += result.compared
        members += bool(result.compared)
        wrong += [_clashing(report, agreement, clash) for clash in result.clashes]
    found.findings.extend(wrong)
    if theirs is None:
        found.not_compared.append(_uncompared(agreement))
    else:
        judged = {"members": members, "statements": compared}
        found.promises.append(_promise(agreement.name, wrong, judged))


def _promise(name: str, findings: Iterable[Finding], judged: dict[str, int]) -> Promise:
    """Return the verdict on one rule of the layers, with the first finding against it."""
    for first in findings:
        (values,) = first.differences
        witness = {
            "file": first.path,
            "event": first.index,
            "what": values.name,
            "recorded": values.recorded,
            "expected": values.expected,
        }
        return Promise(name, VIOLATED, witness, judged=judged)
    if not all(judged.values()):
        reason = "nothing is said of it in this run"
        return Promise(name, INCONCLUSIVE, reason=reason, judged=judged, idle=True)
    return Promise(name, HOLDS, judged=judged)


def _clashing(report: FileReport, agreement: Agreement, clash: Clash) -> Finding:
    where = f", event {clash.other}" if clash.other else ""
    reason = f"{agreement.name}: {agreement.rule}; {agreement.other} says otherwise{where}"
    return _finding(report, reason, clash.event, clash.what, clash.recorded, clash.expected)


def _uncompared(agreement: Agreement) -> str:
    """Return why nothing of that was compared."""
    return f"{agreement.name}: {agreement.other} is not traced"


def _missing(run: str, reports: Reports, crashed: Collection[Address]) -> Iterator[Finding]:
    """Name the files and the ends of files that are not there: what they said is not compared."""
    everybody = {
        (str(node), int(life))
        for files in reports.values()
        for report in files.values()
        for said in views_of(report)
        for node, life in said.value[1] or ()
    }
    for protocol, files in reports.items():
        for who, report in files.items():
            if not report.complete and who not in crashed:
                reason = f"not every record of {protocol} was checked"
                yield _finding(report, reason, report.conforming, verdict=INCONCLUSIVE)
        for node, life in sorted(everybody - files.keys() - set(crashed)):
            yield Finding(
                verdict=INCONCLUSIVE,
                part="records",
                reason=f"there is no file of {protocol} of a member of a view",
                run=run,
                node=node,
                incarnation=life,
            )


def _as_far_as_compared(promise: Promise) -> Promise:
    if promise.verdict == HOLDS:
        reason = "not every record was checked"
        return msgspec.structs.replace(promise, verdict=INCONCLUSIVE, reason=reason)
    return promise


def _name(report: FileReport) -> str:
    return f"{report.node}.{report.incarnation}"


def _finding(
    report: FileReport,
    reason: str,
    index: int,
    what: str = "",
    recorded: Any = None,
    expected: Any = None,
    verdict: str = VIOLATED,
) -> Finding:
    return Finding(
        verdict=verdict,
        part=LAYERS if verdict == VIOLATED else "records",
        reason=reason,
        run=report.run,
        node=report.node,
        incarnation=report.incarnation,
        index=index,
        path=report.path,
        differences=(Difference(what, expected, recorded),) if what else (),
    )
