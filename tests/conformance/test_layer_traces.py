"""Whole stacks in virtual time, over a network that damages: what each layer did conforms."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.campaigns.traced import TracedGroup
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths
from raincheck.impl.primary import decision as primary
from raincheck.impl.simulation.group import Link
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.repairs import LayerRepairs
from raincheck.model.unicast.field import first_gaps

BAD = Link(loss=0.1, duplicate=0.1, delay=(0.0005, 0.02))
NARROW = StackConfig(
    max_bundle=4096, unicast_window=8, unicast_window_bytes=9000, state_window=4, join_timeout=1.0
)
"""Windows that close, in messages and in bytes."""


def life(group: TracedGroup) -> None:
    """Three members, load, a joiner that wants the state, a crash, and a return."""
    group.start("a", "b", "c")
    group.run_until(lambda: group.in_one_view("a", "b", "c"))
    for name in "abc":
        group.send(name, [bytes(700)] * 400)
    group.at(0.3, lambda: group.start("d"))
    group.at(1.0, lambda: group.crash("c"))
    group.at(3.0, lambda: group.restart("c"))
    group.at(4.0, lambda: group.send("d", [bytes(700)] * 400))
    group.run(8.0)


def judged(
    folder: Path, *layers: str, repairs: LayerRepairs | None = None, seed: int = 1
) -> dict[str, RunVerdict]:
    """Trace such a life, and say what each layer's traces are."""
    group = TracedGroup(
        folder, layers, seed=seed, link=BAD, config=NARROW, layers=repairs, with_state=True
    )
    try:
        life(group)
    except TimeoutError:
        assert repairs is not None  # without a repair a group may stand still
    group.end()
    return {each.protocol: each for each in check_paths([folder])}


def first_violated(layer: str, undone: LayerRepairs, folder: Path) -> RunVerdict:
    """The first life in which it shows, or the last of those that were tried."""
    for seed in (7, *range(1, 20)):
        (there := folder / str(seed)).mkdir()
        verdict = judged(there, layer, repairs=undone, seed=seed)[layer]
        if verdict.verdict == "violated":
            break
    return verdict


@pytest.mark.parametrize("seed", [1, 2])
def test_what_unicast_did_under_load_and_damage_conforms(seed: int, tmp_path: Path) -> None:
    verdict = judged(tmp_path, "unicast", seed=seed)["unicast"]

    assert (verdict.findings, verdict.problems) == ([], [])
    assert verdict.verdict == "holds"
    assert verdict.files == 5
    often = Counter(verdict.actions)
    assert min(often[name] for name in ("Send", "Receive", "Consume", "ReceiveAck")) > 100
    assert {"Acknowledge", "Retransmit", "Forget", "Renew"} <= often.keys()


@pytest.mark.parametrize("seed", [1, 2])
def test_what_nakack_did_under_load_and_damage_conforms(seed: int, tmp_path: Path) -> None:
    verdict = judged(tmp_path, "nakack", seed=seed)["nakack"]

    assert (verdict.findings, verdict.problems) == ([], [])
    assert verdict.verdict == "holds"
    assert verdict.files == 5
    often = Counter(verdict.actions)
    assert min(often[name] for name in ("Multicast", "ReceiveData", "Deliver", "Beat")) > 100
    assert {"Ask", "Announce", "HeardOf", "Purge", "Freeze", "InstallView", "Join"} <= often.keys()


def test_signs_of_life_conform_where_the_line_is_not_in_the_order_of_names(tmp_path: Path) -> None:
    """The first member comes back as the last one; what was sent tells the signs apart."""
    group = TracedGroup(tmp_path, ["nakack"], seed=1, link=BAD, config=NARROW)
    group.start("a", "b", "c", "d")
    group.run_until(lambda: group.in_one_view("a", "b", "c", "d"))
    group.crash("a")
    group.run_until(lambda: group.in_one_view("b", "c", "d"))
    group.restart("a")
    group.run_until(lambda: group.in_one_view("a", "b", "c", "d"))
    group.send("b", [b"x"] * 5)
    group.run(2.0)
    group.end()

    (verdict,) = (each for each in check_paths([tmp_path]) if each.protocol == "nakack")
    assert verdict.findings == []
    assert verdict.verdict == "holds"


def without(layer: str, repair: str) -> LayerRepairs:
    """All repairs but this one."""
    whole = LayerRepairs()
    return replace(whole, **{layer: replace(getattr(whole, layer), **{repair: False})})


@pytest.mark.parametrize(
    ("layer", "repair", "action"),
    [
        ("unicast", "remember_closed", "Forget"),
        ("unicast", "ack_duplicates", "Receive"),
        ("unicast", "probe", "Retransmit"),
        ("nakack", "announcing", "Announce"),
        ("nakack", "vector", "HeardOf"),
        ("nakack", "keep_departed", "InstallView"),
    ],
)
def test_a_repair_undone_is_found(layer: str, repair: str, action: str, tmp_path: Path) -> None:
    verdict = first_violated(layer, without(layer, repair), tmp_path)

    assert verdict.verdict == "violated"
    assert (verdict.findings[0].part, verdict.findings[0].action) == ("local", action)


Traces = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Traces]:
    """A good run's records by layer and file, to be damaged."""
    folder = tmp_path_factory.mktemp("good")
    good = judged(folder, "unicast", "nakack", seed=2)
    assert {each.verdict for each in good.values()} == {"holds"}
    return {
        layer: {
            path.name: [json.loads(line) for line in path.read_text().splitlines()]
            for path in (*folder.glob(f"*.{layer}.jsonl"), folder / "faults.jsonl")
        }
        for layer in ("unicast", "nakack")
    }


def of(records: list[dict[str, Any]], action: str) -> dict[str, Any]:
    """A record of that action, from the middle of the file."""
    found = [each for each in records if each.get("action") == action]
    return found[len(found) // 2]


def wider(records: list[dict[str, Any]]) -> None:
    records[0]["constants"]["window_bytes"] = 1 << 20


def denied(records: list[dict[str, Any]]) -> None:
    next(each for each in records if each.get("args", {}).get("lately"))["args"]["lately"] = []


def swapped(records: list[dict[str, Any]]) -> None:
    of(records, "Consume")["told"][0][1][1][3] += 1


def altered(records: list[dict[str, Any]]) -> None:
    """It is passed up as it came, so that only its sender says otherwise."""
    content = of(records, "Consume")["told"][0][1][1]
    for each in records[1:]:
        if each.get("args", {}).get("content") == content and each["action"] == "Receive":
            each["args"]["content"] = [*content[:3], content[3] + 1]
    for each in records[1:]:
        if each.get("action") == "Consume" and each["told"][0][1][1] == content:
            each["told"][0][1][1] = [*content[:3], content[3] + 1]


def unowed(records: list[dict[str, Any]]) -> None:
    of(records, "Receive")["changed"]["receivers"] = [[["b#1", 0], [9, 9, 9, 9, True]]]


def silent(records: list[dict[str, Any]]) -> None:
    of(records, "Acknowledge")["sent"].clear()


def overlooked(records: list[dict[str, Any]]) -> None:
    of(records, "Deliver")["told"].clear()


def another_view(records: list[dict[str, Any]]) -> None:
    """It is old, so that nothing becomes of it."""
    first = next(each for each in records if each.get("action") == "ReceiveData")
    again = json.loads(json.dumps(first))
    again["args"]["view"] += 1
    again["changed"] = {}
    records.insert(records.index(first) + 1, again)
    for index, record in enumerate(records[1:], 1):
        record["index"] = min(index, len(records) - 2)


def unheard(records: list[dict[str, Any]]) -> None:
    of(records, "Deliver")["changed"].clear()


def unasked(records: list[dict[str, Any]]) -> None:
    of(records, "Ask")["sent"][0]["content"]["missing"].append(10**6)


LOCAL = ("local", "not what the model does")
UNSENT = ("network", "was never sent")


@pytest.mark.parametrize(
    ("layer", "damage", "where"),
    [
        ("unicast", wider, LOCAL),
        ("unicast", denied, LOCAL),
        ("unicast", swapped, LOCAL),
        ("unicast", altered, UNSENT),
        ("unicast", unowed, LOCAL),
        ("unicast", silent, LOCAL),
        ("nakack", silent, LOCAL),
        ("nakack", overlooked, LOCAL),
        ("nakack", unheard, LOCAL),
        ("nakack", unasked, LOCAL),
        ("nakack", another_view, UNSENT),
    ],
)
def test_a_damaged_trace_is_found(
    layer: str,
    damage: Callable[[list[dict[str, Any]]], None],
    where: tuple[str, str],
    good: dict[str, Traces],
    tmp_path: Path,
) -> None:
    for name, records in good[layer].items():
        copied = json.loads(json.dumps(records))
        if name == f"run.b.0.{layer}.jsonl":
            damage(copied)
        (tmp_path / name).write_text("".join(json.dumps(each) + "\n" for each in copied))

    (verdict,) = (each for each in check_paths([tmp_path]) if each.protocol == layer)

    part, reason = where
    assert verdict.verdict == "violated"
    assert any(f.part == part and reason in f.reason for f in verdict.findings), verdict.findings
    assert verdict.problems == []


def test_an_acknowledgement_names_its_first_gaps() -> None:
    missing = (1, 2, 3, 7, 9, 10, 20)

    assert [tuple(first_gaps(missing, most)) for most in (1, 2, 3, 9)] == [
        (1, 2, 3), (1, 2, 3, 7), (1, 2, 3, 7, 9, 10), missing,
    ]  # fmt: skip


PRIMARY = StackConfig(on_merge="state", primary="majority", expected_votes=4)


def partitions(folder: Path, **settings: Any) -> RunVerdict:
    """Trace PRIMARY in a group that is cut, merges, is lost, and is founded anew; judge it."""
    group = TracedGroup(folder, ("primary",), seed=1, with_state=True, config=PRIMARY, **settings)
    group.start(*"abcd")
    group.run_until(lambda: group.in_one_view(*"abcd"))
    group.run(0.5)
    for parts in (("abc", "d"), ("ab", "c", "d"), ("ac", "bd"), ("abcd",)):
        group.partition(*parts)
        group.run(3.0)
    for name in "abd":
        group.crash(name)
    group.run(2.0)
    group.settings["d"] = {"found": True}
    for name in "abd":
        group.restart(name)
    group.heal()
    group.run(3.0)
    group.partition("abd", "c")
    group.run(3.0)
    group.end()
    (verdict,) = check_paths([folder])
    return verdict


def test_what_primary_did_across_partitions_conforms(tmp_path: Path) -> None:
    verdict = partitions(tmp_path, link=Link(loss=0.02, duplicate=0.02, delay=(0.0005, 0.01)))

    assert (verdict.findings, verdict.problems) == ([], [])
    assert verdict.verdict == "holds"
    often = Counter(verdict.actions)
    assert min(often[name] for name in ("InstallView", "Decide", "Form")) > 15


@pytest.mark.parametrize("undone", [{"tie": "half"}, {"two_rounds": False}, {"lives": False}])
def test_a_rule_of_primary_that_is_taken_back_shows_in_its_traces(
    undone: dict[str, Any], tmp_path: Path
) -> None:
    repairs = LayerRepairs(primary=primary.Repairs(**undone))
    verdict = partitions(tmp_path, layers=repairs)

    assert verdict.verdict == "violated"
    assert verdict.findings[0].reason == "not what the model does"
    assert verdict.findings[0].action == "Decide"
