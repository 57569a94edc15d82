"""The hook of a binding: any protocol can have promises, and findings between members."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from raincheck.conformance.judges import pingpong
from raincheck.conformance.judges.pingpong_talk import Records, known, talk
from raincheck.conformance.trace.findings import (
    HOLDS,
    INCONCLUSIVE,
    VIOLATED,
    FileReport,
    Finding,
    Promise,
)
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.promised import Promised, Run
from raincheck.conformance.trace.run import check_paths


class Heard(FileReport):
    """The report on one file: the numbers that it heard, in order."""

    seen: list[int] = msgspec.field(default_factory=list)


class Listening:
    """Notes what the layer above was told."""

    def __init__(self, _local: Any) -> None:
        self.numbers: list[int] = []

    def take(self, _after: Any, _index: int, _at: float | None, outputs: Iterable[Any]) -> None:
        self.numbers += [each.number for each in outputs if isinstance(each, pingpong.Heard)]

    def done(self) -> list[int]:
        return self.numbers


def rising(run: Run) -> Iterator[Promise]:
    """Promised: what a node hears is more each time."""
    falling = [list(who) for who, each in run.reports.items() if sorted(each.seen) != each.seen]
    verdict = VIOLATED if falling else HOLDS if run.complete else INCONCLUSIVE
    yield Promise("Rising", verdict, {"members": falling} if falling else {})


def lonely(run: Run) -> Iterator[Finding]:
    """Found: a node that hears nothing."""
    for (node, incarnation), report in run.reports.items():
        if not report.seen:
            yield Finding(
                verdict=VIOLATED,
                part="network",
                reason="it hears nothing",
                run=report.run,
                node=node,
                incarnation=incarnation,
            )


@pytest.fixture(autouse=True)
def promising(monkeypatch: pytest.MonkeyPatch) -> None:
    """The protocol that exists only to be judged promises something."""
    hook = Promised(report=Heard, observer=Listening, findings=lonely, promises=rising)
    stranger = replace(pingpong.BINDING, promised=hook, invariants=None, real=None)
    monkeypatch.setattr(pingpong, "BINDING", stranger)


def judged(folder: Path, records: Records) -> RunVerdict:
    for node, lines in records.items():
        text = b"".join(msgspec.json.encode(each) + b"\n" for each in lines)
        (folder / f"r1.{node}.jsonl").write_bytes(text)
    with known():
        (verdict,) = check_paths([folder])
    return verdict


def test_a_promise_that_a_stranger_has_kept_holds(tmp_path: Path) -> None:
    verdict = judged(tmp_path, talk())

    assert (verdict.verdict, verdict.findings) == (HOLDS, [])
    assert verdict.promises == [Promise("Rising", HOLDS)]


def test_a_promise_that_a_stranger_has_broken_is_violated(tmp_path: Path) -> None:
    records = talk()
    head, note, hail, *_, footer = records["b"]
    assert [note["told"], hail["told"]] == [[["Heard", [1]]], [["Heard", [2]]]]
    records["b"] = [head, hail | {"index": 1}, note | {"index": 2}, footer | {"index": 2}]
    for record, count in zip(records["b"][1:3], (1, 2), strict=True):
        record["changed"] = {"heard": count}
    records["a"] = [*records["a"][:4], records["a"][-1] | {"index": 3}]
    verdict = judged(tmp_path, records)

    assert verdict.promises == [Promise("Rising", VIOLATED, {"members": [["b", 0]]})]


def test_a_finding_between_members_counts_and_no_promise_holds_then(tmp_path: Path) -> None:
    records = talk()
    records["a"] = [*records["a"][:4], records["a"][-1] | {"index": 3}]
    verdict = judged(tmp_path, records)

    assert verdict.verdict == VIOLATED
    assert [(each.node, each.reason) for each in verdict.findings] == [("a", "it hears nothing")]
    assert verdict.promises == [Promise("Rising", INCONCLUSIVE)]
