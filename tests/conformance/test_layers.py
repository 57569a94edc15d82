"""The layers of a member, traced side by side: none may say what another one denies."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.campaigns.traced import TracedGroup
from raincheck.conformance.judges.around_runs import ENGINES
from raincheck.conformance.testing.asserts import replayable
from raincheck.conformance.trace.findings import FileReport
from raincheck.conformance.trace.generator import record_walk
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.layers.speaks import Statement
from raincheck.conformance.trace.layers.views import other_beginnings
from raincheck.conformance.trace.located import located
from raincheck.conformance.trace.run import check_paths
from raincheck.impl.simulation.group import Link

LAYERS = ("sequencer", "unicast", "nakack", "stable", "gms", "flush", "state_transfer")
Record = dict[str, Any]
Lie = Callable[[Record], bool]
"""Changes a record, if it is one of those that it is about."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All layers of a group with load, a joiner, a crash, a return and a leaver."""
    folder = tmp_path_factory.mktemp("good")
    link = Link(loss=0.05, duplicate=0.05, delay=(0.0005, 0.01))
    group = TracedGroup(folder, LAYERS, seed=1, link=link, with_state=True)
    group.start("a", "b", "c")
    group.run_until(lambda: group.in_one_view("a", "b", "c"))
    for name in "abc":
        group.send(name, [bytes(700)] * 60)
        group.send_unordered(name, *[bytes(500)] * 200)
    group.at(0.3, lambda: group.start("d"))
    group.at(1.0, lambda: group.crash("b"))
    group.at(3.0, lambda: group.restart("b"))
    group.at(4.0, lambda: group.send("d", [bytes(700)] * 60))
    group.at(4.2, lambda: group.send_unordered("d", bytes(500)))
    group.at(4.5, lambda: group.want_state("d"))
    group.at(5.0, lambda: group.leave("c"))
    group.run(8.0)
    group.end()
    return folder


def judged(folder: Path) -> dict[str, RunVerdict]:
    return {each.protocol: each for each in check_paths([folder])}


def told(good: Path, there: Path, protocol: str, lie: Lie) -> Iterator[dict[str, RunVerdict]]:
    """Yield what is said of the run after each lie that the layer's own traces do not show."""
    ending = ".jsonl" if protocol == "sequencer" else f".{protocol}.jsonl"
    for path in sorted(good.glob(f"run.?.?{ending}")):
        lines = path.read_text().splitlines()
        for place, line in enumerate(lines):
            record = json.loads(line)
            if not lie(record):
                continue
            alone = there / protocol
            shutil.rmtree(there, ignore_errors=True)
            alone.mkdir(parents=True)
            for each in [*good.glob(f"run.?.?{ending}"), good / "faults.jsonl"]:
                shutil.copy(each, alone)
            changed = [*lines[:place], json.dumps(record), *lines[place + 1 :]]
            (alone / path.name).write_text("".join(f"{each}\n" for each in changed))
            alone_verdict = judged(alone)[protocol]
            if alone_verdict.verdict == "holds":
                whole = there / "all"
                shutil.copytree(good, whole)
                shutil.copy(alone / path.name, whole)
                yield judged(whole)


def test_the_layers_of_a_run_agree(good: Path) -> None:
    verdicts = judged(good)

    assert {each.verdict for each in verdicts.values()} == {"holds"}
    layers = verdicts["layers"]
    named = {each.name for each in layers.promises if not each.idle}
    unnamed = {each.name for each in layers.promises if each.idle}
    assert len(named) >= 12
    assert len(named | unnamed) == 17
    assert layers.not_compared == []
    assert all(bool(each.judged["members"]) == (each.name in named) for each in layers.promises)
    assert {each.verdict for each in layers.promises if each.idle} <= {"inconclusive"}


def test_a_cut_amid_a_view_is_the_number_of_messages_delivered_there(
    good: Path, tmp_path: Path
) -> None:
    def adds_one(record: Record) -> bool:
        amid = record.get("action") == "Begin" and record["args"]["cut"] % (1 << 36) > 0
        if amid:
            for each in (record["args"], *(sent["content"] for sent in record["sent"])):
                each["cut"] += 1
        return amid

    (layers,) = [said["layers"] for said in told(good, tmp_path / "t", "state_transfer", adds_one)]

    (wrong,) = [each for each in layers.promises if each.verdict == "violated"]
    assert wrong.name == "CutIsDelivered"


@pytest.mark.parametrize(
    ("action", "rule"),
    [("Multicast", "SequencedIsMulticast"), ("Deliver", "ReceivedIsDelivered")],
)
def test_what_sequencer_has_and_has_not_is_told_apart_in_the_streams(
    action: str, rule: str, good: Path, tmp_path: Path
) -> None:
    def ordered(record: Record) -> bool:
        lies = record.get("action") == action and not record["args"]["ordered"]
        if lies:
            record["args"]["ordered"] = True
        return lies

    layers = next(said["layers"] for said in told(good, tmp_path / "t", "nakack", ordered))

    wrong = {each.name for each in layers.promises if each.verdict == "violated"}
    assert wrong == {rule}


def test_a_layer_that_is_not_traced_is_named_and_holds_nothing_against_the_run(
    good: Path, tmp_path: Path
) -> None:
    for path in good.iterdir():
        if "nakack" not in path.name:
            (tmp_path / path.name).write_text(path.read_text().replace('"nakack",', "", 1))

    verdicts = judged(tmp_path)

    layers = verdicts["layers"]
    assert {each.verdict for each in verdicts.values()} == {"holds"}
    assert "FlushedIsReceived: nakack is not traced" in layers.not_compared


@pytest.mark.parametrize("engine", ENGINES.values(), ids=list(ENGINES))
@pytest.mark.parametrize("protocol", LAYERS)
def test_a_protocol_that_was_recorded_and_has_lost_all_its_files_is_named(
    good: Path, tmp_path: Path, protocol: str, engine: Callable[[list[Path]], list[RunVerdict]]
) -> None:
    ending = ".jsonl" if protocol == "sequencer" else f".{protocol}.jsonl"
    for path in set(good.iterdir()) - set(good.glob(f"run.?.?{ending}")):
        shutil.copy(path, tmp_path)

    (stray,) = [each for each in engine([tmp_path]) if each.verdict != "holds"]

    assert stray.verdict == "inconclusive"
    assert [each.reason for each in stray.problems] == [
        f"there is no file of {protocol} of run, which was recorded"
    ]


def _of(action: str) -> Callable[[Lie], Lie]:
    def about(lie: Lie) -> Lie:
        return lambda record: record.get("action") == action and lie(record)

    return about


@_of("Purge")
def purges_more(record: Record) -> bool:
    record["args"]["at"] += 5
    return True


@_of("InstallView")
def drops_the_first(record: Record) -> bool:
    del record["args"]["members"][0]
    record["changed"]["members"] = record["args"]["members"]
    return True


@_of("Suspect")
def suspects_nobody(record: Record) -> bool:
    record["args"]["member"] = ["z", 0]
    if "suspects" in record["changed"]:
        record["changed"]["suspects"] = [["z", 0]]
    return True


@_of("SendDigest")
def has_delivered_more(record: Record) -> bool:
    for each in record["args"]["delivered"]:
        each[1] += 1
    for sent in record["sent"]:
        sent["content"]["delivered"] = record["args"]["delivered"]
    if "vector" in record["changed"]:
        record["changed"]["vector"] = record["args"]["delivered"]
    return True


@pytest.mark.parametrize(
    ("protocol", "lie", "name"),
    [
        ("nakack", purges_more, "PurgedIsStable"),
        ("flush", drops_the_first, "OneSequenceOfViews"),
        ("state_transfer", drops_the_first, "OneSequenceOfViews"),
        ("state_transfer", suspects_nobody, "GoneIsFlush"),
        ("stable", has_delivered_more, "DigestIsOfTheStreams"),
    ],
)
def test_a_lie_that_is_consistent_within_its_file_is_told_by_another_layer(
    good: Path, tmp_path: Path, protocol: str, lie: Lie, name: str
) -> None:
    verdicts = next(told(good, tmp_path / "lies", protocol, lie))

    assert verdicts["layers"].verdict == "violated"
    assert [each.verdict for each in verdicts["layers"].promises if each.name == name] == [
        "violated"
    ]
    placed = located(verdicts["layers"])
    finding = next(each for each in placed.findings if name in each.reason)
    record = json.loads(Path(finding.path).read_text().splitlines()[finding.line - 1])
    assert (record["kind"], record["index"]) == ("event", finding.index)
    (difference,) = finding.differences
    assert difference.expected != difference.recorded


def begun(node: str, *views: tuple[int | None, str], joins: bool = False) -> FileReport:
    """The report on a file that goes through these views, the first of which it begins in."""
    said = [
        Statement("view", place + joins, [number, [[who, 0] for who in members], False])
        for place, (number, members) in enumerate(views)
    ]
    head: dict[str, Any] = {"run": "r1", "protocol": "state_transfer", "path": node}
    return FileReport(**head, node=node, incarnation=0, said=said)


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        (begun("a", (None, "ab")), begun("b", (None, "ab")), False),
        (begun("a", (None, "ab")), begun("b", (None, "abc")), True),
        (begun("a", (None, "ab"), (None, "abc")), begun("b", (None, "abc")), False),
        (begun("a", (None, "abc")), begun("b", (None, "ab"), (None, "abc")), False),
        (begun("a", (None, "ab")), begun("b", (None, "bc")), False),
        (begun("a", (None, "a")), begun("b", (None, "ab")), False),
        (begun("a", (None, "ab")), begun("b", (None, "abc"), joins=True), False),
        (begun("a", (1, "ab")), begun("b", (1, "ab")), False),
        (begun("a", (1, "ab")), begun("b", (3, "ab")), True),
        (begun("a", (1, "ab"), (2, "ab")), begun("b", (2, "ab")), False),
        (begun("a", (1, "ac")), begun("b", (1, "ab")), True),
    ],
)
def test_two_files_of_a_protocol_begin_in_one_sequence_of_views(
    one: FileReport, other: FileReport, differ: bool
) -> None:
    assert [*other_beginnings([one, other])] == ([(other, one)] if differ else [])


@pytest.mark.parametrize("protocol", ["nakack", "state_transfer"])
def test_a_file_that_begins_in_another_view_is_named(protocol: str, tmp_path: Path) -> None:
    system = next(
        each.system
        for instances in replayable(protocol).instances().values()
        for each in instances
        if {"a", "b"} <= {*each.system.constants.founders}
    )
    record_walk(binding_of(protocol), system, tmp_path, run="r1", seed=1)
    (verdict,) = check_paths([tmp_path])
    assert verdict.verdict == "holds"
    path = tmp_path / f"r1.b.0.{protocol}.jsonl"
    head, *rest = map(json.loads, path.read_text().splitlines())
    initial = head["initial"]
    if "view" in initial:
        initial["view"] += 9
    else:
        initial["members"] = [*initial["members"], ["z", 0]]
    path.write_text("".join(json.dumps(each) + "\n" for each in (head, *rest)))

    (verdict,) = check_paths([tmp_path])

    reasons = [each.reason for each in verdict.findings]
    assert verdict.verdict != "holds"
    assert any("it begins in another view than" in each for each in reasons)
