"""Traces of groups that merge: all protocols that are judged across a merge, side by side."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.campaigns.traced import TracedGroup, record_merges
from raincheck.conformance.damage.files import Files
from raincheck.conformance.damage.raw import KINDS
from raincheck.conformance.damage.suite import verdict_on
from raincheck.conformance.field.merging.traced import TRACED
from raincheck.conformance.field.stack.layer_traces import SEQUENCER
from raincheck.conformance.judges.around_runs import ENGINES
from raincheck.conformance.judges.planted_invariants import reported
from raincheck.conformance.judges.planted_sequencer_merging import told_of_more
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.tracegen import write_trace
from raincheck.impl.stack.config import StackConfig

Record = dict[str, Any]
Lie = Callable[[Record], bool]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Groups whose sides take a state when they merge."""
    folder = tmp_path_factory.mktemp("merges")
    record_merges(folder, TRACED, with_state=True)
    return folder


def judged(folder: Path) -> dict[str, RunVerdict]:
    return {each.protocol: each for each in check_paths([folder])}


def violated(folder: Path) -> dict[str, list[str]]:
    """By protocol, why it does not hold: promises and findings."""
    return {
        each.protocol: [
            *(promise.name for promise in each.promises if promise.verdict == "violated"),
            *(finding.reason for finding in each.findings if finding.verdict == "violated"),
        ]
        for each in check_paths([folder])
        if each.verdict == "violated" or any(p.verdict == "violated" for p in each.promises)
    }


def told(good: Path, there: Path, protocol: str, lie: Lie) -> Path:
    """The run with the first record of the protocol to which the lie can be told."""
    shutil.copytree(good, there)
    of_it = "" if protocol == SEQUENCER else f".{protocol}"
    for path in sorted(there.glob(f"run.?.?{of_it}.jsonl")):
        lines = path.read_text().splitlines()
        for place, line in enumerate(lines):
            record = json.loads(line)
            if lie(record):
                lines[place] = json.dumps(record)
                path.write_text("".join(f"{each}\n" for each in lines))
                return there
    raise AssertionError("the lie can be told to no record")


def test_every_protocol_that_is_traced_is_judged_and_all_agree(good: Path) -> None:
    found = judged(good)

    assert found.keys() == {*TRACED, "layers"}
    assert {name: each.verdict for name, each in found.items()} == dict.fromkeys(found, "holds")
    asked = {each.name for of in found.values() for each in of.promises if not each.idle}
    assert {each.verdict for of in found.values() for each in of.promises if not each.idle} == {
        "holds"
    }
    assert {
        "merge2.AcksBeforeResume",
        "gms.OneHistoryPerSide",
        "gms.AcksBeforeResume",
        "flush.Still",
        "state_transfer.SameCut",
        "OneSequenceOfViews",
        "ResumeIsGms",
    } <= asked
    # Two groups have two sequences of views, and none has the other's members.
    assert asked.isdisjoint({"gms.SingleSequenceOfViews", "gms.NobodyIsLost"})


def test_both_engines_say_the_same(good: Path) -> None:
    local, sparks = (engine([good]) for engine in ENGINES.values())

    assert local == sparks


def test_a_protocol_that_cannot_be_judged_across_a_merge_is_inconclusive(tmp_path: Path) -> None:
    protocol = "frag"
    record_merges(tmp_path, (protocol, "gms"))

    found = judged(tmp_path)

    assert protocol not in TRACED
    assert found["gms"].verdict == "holds"
    unjudged = found[protocol]
    assert (unjudged.verdict, unjudged.promises) == ("inconclusive", [])
    assert unjudged.events
    (finding,) = unjudged.findings
    assert finding.reason.startswith(f"traces of {protocol} in groups that merge cannot be judged")


# ------------------------------------------------------------------ lies


def other_leader(record: Record) -> bool:
    """It proposes what another leader has decided."""
    if record.get("action") != "ProposeMerged":
        return False
    view = [[record["args"]["view"][0][0], ["d", 0]], *record["args"]["view"][1:]]
    record["args"]["view"] = record["changed"]["proposal"] = view
    for sent in record["sent"]:
        sent["content"]["view"] = view
    return True


def not_later(record: Record) -> bool:
    lies = record.get("action") == "ProposeMerged"
    if lies:
        record["args"]["view"][0][0] = 1
    return lies


def skips(record: Record) -> bool:
    """FLUSH installs a merged view as if it was the next of its own."""
    lies = record.get("action") == "InstallView" and record["args"].get("merged")
    if lies:
        record["args"]["merged"] = False
        record["args"]["view"] = record["changed"]["view"] = record["changed"]["view"] + 7
    return bool(lies)


def yields_nothing(record: Record) -> bool:
    lies = record.get("action") == "Resume"
    if lies:
        record["action"], record["sent"] = "Yield", []
    return lies


def old_channel(record: Record) -> bool:
    """It names no view in which both came together."""
    received = record.get("received")
    lies = received is not None and received[0].startswith("fifo ")
    if lies:
        received[0] = "fifo"
    return lies


def _at_merge(change: Callable[[Record], None]) -> Lie:
    """A member of SEQUENCER installs a merged view otherwise."""

    def lie(record: Record) -> bool:
        lies = record.get("action") == "Merge"
        if lies:
            change(record)
        return lies

    return lie


def _knows_less(record: Record) -> None:
    gone = record["args"]["table"].pop(0)
    record["changed"]["receivedTable"].remove(gone)


def _knows_more(record: Record) -> None:
    row = record["args"]["table"][0]
    record["changed"]["receivedTable"].remove(row)
    row[2] += 5
    record["changed"]["receivedTable"] = sorted([*record["changed"]["receivedTable"], row])


def _reads_on_later(record: Record) -> None:
    for row in (record["args"]["digest"][0], record["changed"]["position"][0]):
        row[2] += 1


def _other_members(record: Record) -> None:
    record["args"]["members"].pop()


def _stream_from_elsewhere(record: Record) -> None:
    """NAKACK reads a stream of another side from one bundle later."""
    (who, at), *others = record["args"]["digest"]
    record["args"]["digest"] = [[who, at + 1], *others]
    for name, numbers in record["changed"]["stream"]:
        if name == who:
            numbers[:2] = [at + 1, at + 1]
            numbers[3] = at + 1


def _skips_none(record: Record) -> None:
    record["action"] = "InstallView"
    del record["args"]["digest"]


def other_content(record: Record) -> bool:
    """UNICAST receives other bytes than were sent in a connection after a merge."""
    lies = record.get("action") == "Receive" and record["index"] > 40
    if lies:
        record["args"]["content"][3] += 1
    return lies


def another_state(record: Record) -> bool:
    lies = record.get("action") == "Merge"
    if lies:
        record["args"]["leader"] = ["d", 0]
    return lies


@pytest.mark.parametrize(
    ("protocol", "lie"),
    [
        ("gms", not_later),
        ("gms", other_leader),
        ("flush", skips),
        ("flush", yields_nothing),
        ("state_transfer", another_state),
        ("nakack", _at_merge(_stream_from_elsewhere)),
        ("nakack", _at_merge(_skips_none)),
        ("unicast", other_content),
        ("sequencer", _at_merge(_knows_less)),
        ("sequencer", _at_merge(_knows_more)),
        ("sequencer", _at_merge(_reads_on_later)),
        ("sequencer", _at_merge(_other_members)),
        ("sequencer", _at_merge(lambda record: record["changed"].pop("view"))),
        ("sequencer", _at_merge(lambda record: record["args"].update(view=1))),
    ],
)
def test_a_lie_about_a_merge_is_noticed(
    protocol: str, lie: Lie, good: Path, tmp_path: Path
) -> None:
    assert protocol in violated(told(good, tmp_path / "lie", protocol, lie))


def test_a_forward_comes_by_the_channel_that_the_views_give_it(good: Path, tmp_path: Path) -> None:
    def lie(record: Record) -> bool:
        lies = record.get("action") == "ReceiveForward" and record["received"][0] != "FORWARD 1"
        if lies:
            record["received"][0] = "FORWARD 1"
        return lies

    (reason,) = violated(told(good, tmp_path / "lie", SEQUENCER, lie))[SEQUENCER]

    assert reason == "received is not what the model expects"


@pytest.mark.parametrize("delivery", ["agreed", "safe"])
def test_sequencer_is_followed_through_merges(delivery: str, tmp_path: Path) -> None:
    record_merges(tmp_path, (SEQUENCER,), seed=3, delivery=delivery)

    (found,) = check_paths([tmp_path])

    assert found.verdict == "holds", found.first
    assert found.actions["Merge"] > 5
    assert {each.name: each.verdict for each in found.promises} == dict.fromkeys(
        ("Together", "OneOrder", "OneView", "InEachView"), "holds"
    )
    assert ENGINES["Spark's functions"]([tmp_path]) == ENGINES["local"]([tmp_path])


def test_a_joiner_of_a_primary_side_has_the_table_that_its_coordinator_sent(
    tmp_path: Path,
) -> None:
    """PRIMARY tells it of former members as well; to SEQUENCER they are nobody."""
    config = StackConfig(on_merge="state", primary="majority", expected_votes=4)
    group = TracedGroup(tmp_path, (SEQUENCER, "primary"), config=config, with_state=True)
    group.start(*"abcd", founders=True)
    group.run_until(lambda: group.in_one_view(*"abcd"))
    for name in "abcd":
        group.send(name, [b"x"] * 3)
    group.run(0.5)
    group.crash("d")
    group.run_until(lambda: group.in_one_view(*"abc"))
    group.send("a", [b"y"])
    group.run(0.5)
    group.restart("d")
    group.run_until(lambda: group.in_one_view(*"abcd"))
    group.run(0.5)
    group.end()

    found = judged(tmp_path)

    assert found[SEQUENCER].verdict == "holds", found[SEQUENCER].first
    assert found[SEQUENCER].actions["Join"] == 1


def test_raw_damage_to_sequencers_traces_of_merges_is_noticed(good: Path, tmp_path: Path) -> None:
    """But for what is a behaviour all the same: a member that crashed may have done less."""
    lines = sorted(good.glob("run.?.?.jsonl"))
    for path in [*lines, good / "faults.jsonl"]:
        shutil.copy(path, tmp_path / path.name)
    files = Files.read(tmp_path)
    outcomes = Counter[str]()
    for number, (name, kind) in enumerate(sorted(KINDS.items())):
        damaged = files.copy()
        if not kind.damage(Random(f"merges {number}"), damaged):
            continue
        damaged.write(tmp_path)
        verdict = verdict_on(tmp_path)
        outcomes[verdict] += 1
        assert not (kind.lost and verdict == "violated"), name
        if verdict == "holds":
            assert name in HARMLESS, name

    assert outcomes["violated"] > 8
    assert outcomes["inconclusive"] > 8


HARMLESS = {"the last event is missing", "somebody who has ended crashed"}
"""Kinds of damage after which a run can be a behaviour all the same."""


def test_a_channel_has_the_name_that_the_views_give_it(good: Path, tmp_path: Path) -> None:
    found = judged(told(good, tmp_path / "lie", "flush", old_channel))["flush"]

    assert found.verdict == "inconclusive"
    problem = found.problems[0]
    assert "is not an id of channel 'fifo 1'" in problem.reason


def leaves_out_a_view(path: Path) -> None:
    """The member's last view is in no record of this file, which looks whole."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    last = max(n for n, each in enumerate(records) if each.get("action") == "InstallView")
    kept = [each for n, each in enumerate(records) if n < last] + [
        {"kind": "footer", **{k: records[0][k] for k in ("run", "node", "incarnation")}}
    ]
    kept[-1]["index"] = sum(each["kind"] == "event" for each in kept)
    path.write_text("".join(json.dumps(each) + "\n" for each in kept))


@pytest.mark.parametrize("protocol", ["merge2", "stable"])
def test_a_view_that_one_layer_does_not_install_is_noticed(
    protocol: str, good: Path, tmp_path: Path
) -> None:
    there = shutil.copytree(good, tmp_path / "lie")
    leaves_out_a_view(there / f"run.d.0.{protocol}.jsonl")

    assert "OneSequenceOfViews" in violated(there)["layers"]


def test_who_decided_a_view_is_the_same_for_all_layers(good: Path, tmp_path: Path) -> None:
    there = shutil.copytree(good, tmp_path / "lie")
    path = there / "run.d.0.merge2.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    last = max(n for n, each in enumerate(records) if each.get("action") == "InstallView")
    for view in (records[last]["args"]["view"], records[last]["changed"]["view"]):
        view[0][1] = ["d", 0]
    path.write_text("".join(json.dumps(each) + "\n" for each in records))

    assert "OneSequenceOfViews" in violated(there)["layers"]


# ------------------------------------------------------------------ over several members

V1 = [[1, ["a", 0]], [["a", 0], ["b", 0]], []]
OF_A, OF_B = ([[2, [node, 0]], [[node, 0]], []] for node in "ab")
MERGED_AT_A, MERGED_AT_B = (
    [[3, ["a", 0]], [["a", 0], ["b", 0]], [[other, 0]]] for other in ("b", "a")
)


def test_the_sides_of_a_merged_view_have_their_own_joiners_and_one_membership() -> None:
    steps = [
        ("a", "step", 1, [V1, OF_A]),
        ("b", "step", 1, [V1, OF_B]),
        ("a", "step", 2, [OF_A, MERGED_AT_A]),
        ("b", "step", 2, [OF_B, MERGED_AT_B]),
    ]
    other = [*steps[:3], ("b", "step", 2, [OF_B, [MERGED_AT_B[0], [["b", 0]], []]])]

    assert reported("gms", steps, merges=True) == []
    (wrong,) = reported("gms", other, merges=True)
    assert wrong.startswith("gms.OneHistoryPerSide is violated")
    # Of one group that does not merge the same is no one sequence.
    assert any("SingleSequenceOfViews" in each for each in reported("gms", steps))


@pytest.mark.parametrize(
    ("notes", "held_against"),
    [
        ([], True),
        (
            [("a", "answered", 7, [["b", 0], MERGED_AT_B, []])],
            False,
        ),  # it has told a that it has it
        ([("a", "answered", 7, [["b", 0], OF_B, []])], True),  # it has told of another view
        ([("a", "answered", 9, [["b", 0], MERGED_AT_B, []])], True),  # later
        ([("a", "suspects", 3, ["b", 0])], False),
        ([("a", "suspects", 1, ["b", 0])], True),  # before both had the view together
        ([("a", "suspects", 9, ["b", 0])], True),
    ],
)
def test_who_resumes_in_a_merged_view_knows_that_others_have_it(
    notes: list[Any], held_against: bool
) -> None:
    view = [MERGED_AT_A[0], MERGED_AT_A[1], [["c", 0]]]
    steps = [("a", "step", 2, [OF_A, view]), ("b", "step", 5, [OF_A, view])]

    found = reported("gms", [*steps, ("a", "resume", 8, view), *notes], merges=True)

    wrong = "gms.AcksBeforeResume is violated: b.0 installs it by its event 5"
    assert (wrong in found) == held_against


def test_a_participant_that_nobody_has_parted_is_still_across_merges() -> None:
    fid = [2, ["a", 0], 1]
    suspended = ("a", "suspended", 3, [fid, [["a", 0], ["b", 0]]])
    still = [("a", "still", 2, fid), ("b", "still", 2, fid)]

    assert reported("flush", [suspended, *still], merges=True) == []
    # Another requester's flush keeps it still as well; without any it is not.
    of_another = [suspended, still[0], ("b", "still", 2, [2, ["c", 0], 1])]
    assert reported("flush", of_another, merges=True) == []
    (wrong,) = reported("flush", [suspended, still[0], ("b", "still", 2, None)], merges=True)
    assert wrong.startswith("flush.Still is violated: b.0 is not still")


def test_all_read_a_stream_on_from_one_place_in_a_merged_view() -> None:
    view = [3, [["a", 0], ["b", 0]]]
    told = [("a", "merged", 3, [view, [[["b", 0], 4]]])]

    assert reported("nakack", [*told, ("b", "merged", 3, told[0][3])], merges=True) == []
    (wrong,) = reported("nakack", [*told, ("b", "merged", 3, [view, [[["b", 0], 5]]])], merges=True)
    assert wrong == "nakack.Contiguous is violated: a.0: [[['b', 0], 4]]"
    # Of one group by its number alone, two sides would be held against each other.
    other = ("b", "merged", 3, [[3, [["b", 0]]], [[["b", 0], 5]]])
    assert reported("nakack", [*told, other], merges=True) == []


def test_the_binding_says_which_protocols_are_judged_across_a_merge() -> None:
    for protocol in TRACED:
        assert binding_of(protocol).merging is not None


def test_what_a_member_without_a_file_may_have_delivered_is_not_made_up(tmp_path: Path) -> None:
    """All are told of five messages of d, whose file shows one."""
    trace = told_of_more(True)
    with_it, without = tmp_path / "with", tmp_path / "without"
    made_up = "it takes for delivered what nobody has delivered"
    write_trace(with_it, trace)
    del trace["d", 0]
    write_trace(without, trace)

    assert violated(with_it) == {SEQUENCER: [made_up]}
    assert violated(without) == {}
    assert "a member of a view has no file" in [
        finding.reason for finding in judged(without)[SEQUENCER].findings
    ]
