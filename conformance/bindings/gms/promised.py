"""The findings between members' files of GMS, beside what channels say: answers to PREPARE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from raincheck.conformance.trace.findings import VIOLATED, Difference, Finding
from raincheck.conformance.trace.promised import Promised, Run
from raincheck.conformance.trace.records import Address


def answers_given(run: Run) -> Iterator[Finding]:
    """Yield a finding for each answer that a leader takes a member to have given, and that this
    member's GMS did not give it.

    FLUSH carries the answers, and its messages do not say what is in them. Of a merged view the
    joiners are not compared: for each side they are the members of the others.
    """
    merges = any(report.merges for report in run.reports.values())
    given: dict[tuple[Address, Address], list[Any]] = {}
    for who, report in run.reports.items():
        for note in report.noted:
            if note.topic == "prepared":
                (node, life), *answer = _compared(note.value, merges)
                given.setdefault((who, (node, life)), []).append(answer)
    for who, report in run.reports.items():
        for note in report.noted:
            if note.topic != "answered":
                continue
            (node, life), *answer = _compared(note.value, merges)
            theirs = run.reports.get((node, life))
            if theirs is None or (node, life) == who or not theirs.complete or theirs.findings:
                continue
            gave = given.get(((node, life), who), [])
            if answer not in gave:
                last = gave[-1] if gave else None
                yield Finding(
                    verdict=VIOLATED,
                    part="network",
                    reason=f"{node}.{life} gave no such answer",
                    run=report.run,
                    node=report.node,
                    incarnation=report.incarnation,
                    index=note.index,
                    action="Suspended",
                    path=report.path,
                    differences=(Difference("answer", last, answer),),
                )


def _compared(said: Any, merges: bool) -> Any:
    """Return who answered, or was answered, and the views of the answer as far as all say them."""
    if not merges:
        return said
    who, view, held = said
    return who, view[:2], [each[:2] for each in held]


PROMISED: Final = Promised(findings=answers_given)
