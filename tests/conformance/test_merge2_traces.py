"""Traces of groups that merge: MERGE2's, of members that are named by their addresses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from raincheck.conformance.campaigns.traced import record_merges
from raincheck.conformance.damage.files import Files, Record
from raincheck.conformance.damage.raw import KINDS
from raincheck.conformance.judges.around_runs import ENGINES
from raincheck.conformance.judges.planted_invariants import reported
from raincheck.conformance.trace.following import follower
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths

UNNOTICED = {
    "a message has another id": "behind its ends the name of a datagram is for people",
    "an event happens twice": "a view is installed, or known of, again",
    "an event is left out": "a view is not installed, which the files of other protocols deny",
    "another message came": "behind its ends the name of a datagram is for people",
    "somebody who has ended crashed": "its file is whole all the same",
    "the last event is missing": "of one who crashed it may be",
}
"""The kinds of damage that MERGE2's records alone need not show, and why."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("merges")
    record_merges(folder, ("merge2",))
    return folder


def verdict(folder: Path) -> RunVerdict:
    (found,) = check_paths([folder])
    return found


def violated(folder: Path) -> dict[str, Any]:
    """The promises that are violated, with what contradicts the record."""
    return {
        each.name.removeprefix("merge2."): each.witness
        for each in verdict(folder).promises
        if each.verdict == "violated"
    }


def test_every_event_of_a_merge_is_the_models_and_all_that_can_be_asked_holds(good: Path) -> None:
    found = verdict(good)

    assert (found.verdict, found.findings, found.problems) == ("holds", [], [])
    assert found.files == 5  # b has two lives
    assert {"Merge", "ReceiveMergeReq", "Flushed", "Decide", "InstallView", "Finish"} <= {
        *found.actions
    }
    held = {each.name for each in found.promises if each.verdict == "holds"}
    (unasked,) = {each.name for each in found.promises} - held
    assert unasked == "merge2.FewMerges"  # it is asked of groups that leave nobody out
    judged = {each.name: each.judged for each in found.promises}
    assert judged["merge2.AllOrNothing"]["pairs"] >= 5
    assert judged["merge2.AcksBeforeResume"]["pairs"] >= 4


def test_both_engines_say_the_same(good: Path) -> None:
    local, sparks = (engine([good]) for engine in ENGINES.values())

    assert local == sparks


def test_the_fast_path_says_the_same(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = verdict(good)
    monkeypatch.setattr(follower, "forms_of", lambda _: None)

    assert verdict(good) == fast


def noticed(folder: Path) -> bool:
    """Whether something does not hold."""
    return any(
        found.verdict != "holds" or any(each.verdict == "violated" for each in found.promises)
        for found in check_paths([folder])
    )


def test_damaged_records_are_noticed(good: Path, tmp_path: Path) -> None:
    whole, there = Files.read(good), tmp_path / "damaged"
    unnoticed = set()
    for name, kind in KINDS.items():
        files, seeds = whole.copy(), iter(range(50))
        while not kind.damage(Random(f"{name} {next(seeds)}"), files):
            pass
        files.write(there)
        if not noticed(there):
            unnoticed.add(name)
    assert unnoticed <= UNNOTICED.keys()
    assert len(unnoticed) <= 0.1 * len(KINDS)


# ------------------------------------------------------------------ lies that one file cannot show


def view_of(record: Record) -> list[Any] | None:
    """The merged view that the record installs."""
    view: list[Any] | None = None
    if record.get("action") == "InstallView" and record["args"]["view"][2][1]:
        view = record["args"]["view"]
    return view


def other_members(record: Record) -> bool:
    """It installs the merged view without its last member."""
    view = view_of(record)
    if view is None or record["node"] == view[1][-1][0]:
        return False
    view[1] = view[1][:-1]
    record["changed"]["view"] = view
    return True


def another_life(record: Record) -> bool:
    """It installs the merged view with another life of a member."""
    view = view_of(record)
    if view is None or ["b", 1] not in view[1] or record["node"] == "b":
        return False
    view[1] = [["b", 0] if each == ["b", 1] else each for each in view[1]]
    record["changed"]["view"] = view
    return True


def told(good: Path, there: Path, lie: Callable[[Record], bool]) -> Path:
    """The run with the first record to which the lie can be told, and all after it as they were."""
    files = Files.read(good)
    place = next(record for _, _, record in files.events() if lie(record))
    assert place
    files.write(there)
    return there


@pytest.mark.parametrize("lie", [other_members, another_life])
def test_a_member_that_installs_another_view_under_the_id_is_found(
    lie: Callable[[Record], bool], good: Path, tmp_path: Path
) -> None:
    broken = violated(told(good, tmp_path / "lie", lie))

    assert {"OneViewPerId", "OneViewPerMerge"} <= broken.keys()


def test_a_request_that_nobody_has_sent_is_found(good: Path, tmp_path: Path) -> None:
    def of_another_life(record: Record) -> bool:
        received = record.get("received")
        if record.get("action") != "ReceiveMergeReq" or received is None:
            return False
        received[2] += 1
        record["args"]["sender"][1] += 1
        return True

    (finding,) = verdict(told(good, tmp_path / "lie", of_another_life)).findings

    assert (
        finding.reason == '["SendMergeReq","a",1,"c",0]: the records of a.1 do not show its sending'
    )


# ------------------------------------------------------------------ who is excused from a merge

MERGE = [["a", 0], 1]
MERGED = [[2, ["a", 0]], [["a", 0], ["b", 0]], MERGE]
DECIDED = ("a", "decided", 4, [MERGED, [["a", 0], ["b", 0]]])
NOWHERE = ("b", "ends", 9, ["", 0])
"""b is in no merge in the end."""


@pytest.mark.parametrize(
    ("notes", "crashed", "said"),
    [
        ([], "", True),
        ([], "b", False),  # it crashed, and had not installed the view
        ([], "a", False),
        ([("a", "ends", 9, ["", 0])], "a", True),  # a was through by then
        ([("b", "suspects", 6, [MERGE, ["a", 0]])], "", False),
        ([("a", "suspects", 6, [MERGE, ["b", 0]])], "", False),
        ([("b", "left out", 6, [MERGE, [["a", 0]]])], "", False),  # a live member was left out
        ([("b", "left out", 6, [MERGE, []])], "", True),  # a side made a view although frozen
        ([("b", "left out", 6, [[["a", 0], 2], [["a", 0]]])], "", True),  # of another merge
    ],
)
def test_who_is_out_of_a_decided_merge_without_its_view_must_have_a_reason(
    notes: list[Any], crashed: str, said: bool
) -> None:
    still = [] if any(each[1] == "ends" for each in notes) else [("a", "ends", 9, MERGE)]
    whole = [DECIDED, ("a", "view", 5, MERGED), NOWHERE, *still, *notes]

    found = reported("merge2", whole, crashed=crashed)

    wrong = "merge2.AllOrNothing is violated: b.0 has not installed it and is in that merge no more"
    assert (wrong in found) == said


def test_the_records_name_processes_by_their_addresses(good: Path) -> None:
    header = json.loads((good / "run.b.1.merge2.jsonl").read_text().splitlines()[0])

    assert header["merges"]
    assert header["initial"]["node"] == ["b", 1]
    assert header["initial"]["merge"] == ["", 0]
