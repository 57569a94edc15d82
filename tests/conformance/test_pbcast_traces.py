"""PBCAST's traces of whole stacks in virtual time: they conform, and what is wrong is noticed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.campaigns.traced import TracedGroup
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths
from raincheck.impl.pbcast.core import Repairs
from raincheck.impl.simulation.group import Link
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.repairs import LayerRepairs

BAD = Link(loss=0.15, duplicate=0.1, delay=(0.0005, 0.02))
LAYERS = ("pbcast", "nakack", "gms", "flush")
ALWAYS = {"Multicast", "Arrive", "Deliver", "SendGossip", "ReceiveGossip", "Forward", "InstallView"}


def life(folder: Path, repair: str, seed: int = 1, repairs: Repairs | None = None) -> None:
    """Members under load, a joiner, a crash and a return; each layer's traces."""
    config = StackConfig(max_bundle=4096, join_timeout=1.0, stability="gossip", repair=repair)
    layers = None if repairs is None else LayerRepairs(pbcast=repairs)
    group = TracedGroup(folder, LAYERS, seed=seed, link=BAD, config=config, layers=layers)
    group.start("a", "b", "c")
    group.run_until(lambda: group.in_one_view("a", "b", "c"))
    for name in "abc":
        group.send(name, [bytes(700)] * 200)
    group.at(0.3, lambda: group.start("d"))
    group.at(1.0, lambda: group.crash("c"))
    group.at(3.0, lambda: group.restart("c"))
    group.at(4.0, lambda: group.send("d", [bytes(700)] * 200))
    group.run(8.0)
    group.end()


def judged(folder: Path) -> dict[str, RunVerdict]:
    return {each.protocol: each for each in check_paths([folder])}


@pytest.mark.parametrize("repair", ["requests", "gossip"])
def test_what_pbcast_did_conforms_and_agrees_with_nakack(repair: str, tmp_path: Path) -> None:
    life(tmp_path, repair)
    verdicts = judged(tmp_path)

    assert {each.verdict for each in verdicts.values()} == {"holds"}
    pbcast, layers = verdicts["pbcast"], verdicts["layers"]
    asked = {"ReceiveRequest"} if repair == "gossip" else set()
    assert Counter(pbcast.actions).keys() == ALWAYS | asked
    assert pbcast.files == 5
    promises = {each.name: each for each in (*pbcast.promises, *layers.promises)}
    for name in ("pbcast.OnlyStablePurged", "CollectedIsPurged", "GossipIsOfTheStreams"):
        assert promises[name].verdict == "holds"
        assert promises[name].judged.get("statements", promises[name].judged.get("pairs", 0)) > 3


def test_a_gossip_that_gathers_nothing_is_found_by_conformance(tmp_path: Path) -> None:
    life(tmp_path, "gossip", repairs=Repairs(gathers=False))
    verdict = judged(tmp_path)["pbcast"]

    assert verdict.verdict == "violated"
    assert (verdict.findings[0].part, verdict.findings[0].action) == ("local", "ReceiveGossip")


def records_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_purged_too_soon_breaks_the_promise_though_the_traces_conform(
    tmp_path: Path,
) -> None:
    for seed in range(1, 20):
        (folder := tmp_path / str(seed)).mkdir()
        life(folder, "gossip", seed, Repairs(gathers=False))
        for path in folder.glob("*.pbcast.jsonl"):  # they say that this repair is lacking
            header, *records = records_of(path)
            header["constants"]["gathers"] = False
            lines = [json.dumps(each) for each in (header, *records)]
            path.write_text("\n".join(lines) + "\n")
        verdict = judged(folder)["pbcast"]
        assert verdict.findings == []
        (promise,) = (p for p in verdict.promises if p.name == "pbcast.OnlyStablePurged")
        if promise.verdict == "violated":
            break
    assert promise.verdict == "violated"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    life(folder, "gossip")
    return folder


def of(records: list[dict[str, Any]], action: str) -> dict[str, Any]:
    """A record of that action, from the middle of the file, that has changed something."""
    found = [each for each in records if each.get("action") == action and each["changed"]]
    return found[len(found) // 2]


def further(records: list[dict[str, Any]]) -> None:
    of(records, "Deliver")["changed"]["stream"][0][1][0] += 1


def earlier(records: list[dict[str, Any]]) -> None:
    of(records, "ReceiveGossip")["changed"]["gossip"][0][1][0] -= 1


def unsaid(records: list[dict[str, Any]]) -> None:
    of(records, "Forward")["sent"].clear()


def unsent(records: list[dict[str, Any]]) -> None:
    """What a member that has not crashed asked for is not what it has sent."""
    requests = [each for each in records if each.get("action") == "ReceiveRequest"]
    asked = next(each for each in requests if each["args"]["sender"][0] != "c")
    asked["args"]["wanted"] = []
    asked["sent"].clear()


@pytest.mark.parametrize(
    ("damage", "part"),
    [(further, "local"), (earlier, "local"), (unsaid, "local"), (unsent, "network")],
)
def test_a_damaged_trace_is_found(
    damage: Callable[[list[dict[str, Any]]], None], part: str, good: Path, tmp_path: Path
) -> None:
    damaged = False
    for path in (*good.glob("*.pbcast.jsonl"), good / "faults.jsonl"):
        records = records_of(path)
        if not damaged and path.name.startswith("run.a.0"):
            damage(records)
            damaged = True
        (tmp_path / path.name).write_text("".join(json.dumps(each) + "\n" for each in records))
    verdict = judged(tmp_path)["pbcast"]

    assert verdict.verdict == "violated"
    assert verdict.findings[0].part == part
