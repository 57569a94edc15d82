"""The findings between members' files of GMS, beside what channels say: answers to PREPARE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raincheck.conformance.trace.findings import VIOLATED, Difference, Finding
from raincheck.conformance.trace.promised import Promised, Run


def answers_given(run: Run) -> Iterator[Finding]:
    """What a leader takes for a member's answer is one that this member's GMS gave it.

    FLUSH carries the answers, and its messages do not say what is in them.
    """
    for who, report in run.reports.items():
        for note in report.noted:
            if note.topic != "answered":
                continue
            (node, life), view, held = note.value
            theirs = run.reports.get((node, life))
            if theirs is None or (node, life) == who or not theirs.complete or theirs.findings:
                continue
            gave = [
                each.value[1:]
                for each in theirs.noted
                if each.topic == "prepared" and each.value[0] == list(who)
            ]
            if [view, held] not in gave:
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
                    differences=(Difference("answer", last, [view, held]),),
                )


PROMISED: Final = Promised(findings=answers_given)
