"""Every protocol that has binding: its real cores' traces conform, and on Spark too."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from raincheck.conformance.bindings.binding import Binding, binding_of
from raincheck.conformance.cases.tables import Case, load_cases
from raincheck.conformance.replay.replayable import nothing_undone, system_for
from raincheck.conformance.trace.generator import record_walk
from raincheck.conformance.trace.ring.generator import record_ring
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.tracefile import trace_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = load_cases()
PROTOCOLS = sorted(
    protocol
    for protocol in {case.protocol for case in CATALOG} - {"sequencer"}
    if importlib.util.find_spec(f"raincheck.conformance.bindings.{protocol}")
)


def case_of(binding: Binding) -> Case:
    """The largest quick case with all repairs on."""
    cases = [
        case
        for case in CATALOG
        if (case.protocol, case.tier, case.expected) == (binding.protocol, "quick", "holds")
        and nothing_undone(binding, system_for(case).rules)
    ]
    return max(cases, key=lambda case: case.distinct or 0)


def write_walks(protocol: str, folder: Path, walks: int = 5, run: str = "") -> None:
    binding = binding_of(protocol)
    system = system_for(case_of(binding))
    steps = sum(
        record_walk(binding, system, folder, run=f"{run or protocol}-{seed}", seed=seed)
        for seed in range(walks)
    )
    assert steps > 5 * walks


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_the_cores_do_conforms(protocol: str, tmp_path: Path) -> None:
    write_walks(protocol, tmp_path)

    verdicts = check_paths([tmp_path])

    assert len(verdicts) == 5
    for verdict in verdicts:
        assert (verdict.findings, verdict.problems) == ([], []), verdict.run
        assert verdict.verdict == "holds"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_changed_variable_is_found(protocol: str, tmp_path: Path) -> None:
    write_walks(protocol, tmp_path, walks=1)
    damaged = forget_a_change(tmp_path)

    (verdict,) = check_paths([tmp_path])

    assert verdict.verdict == "violated"
    assert verdict.first is not None
    assert (verdict.first.node, verdict.first.index) == damaged
    assert "unchanged" in {each.recorded for each in verdict.first.differences}


def forget_a_change(folder: Path) -> tuple[str, int]:
    """Take the last change out of the longest file; return where."""
    path = max(folder.glob("*.[0-9].*.jsonl"), key=lambda each: each.stat().st_size)
    records: list[dict[str, Any]] = list(map(json.loads, path.read_text().splitlines()))
    record = [each for each in records if each.get("changed")][-1]
    record["changed"].popitem()
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return record["node"], record["index"]


@pytest.fixture(scope="module")
def session() -> Iterator["SparkSession"]:
    from raincheck.conformance.spark.session import spark_session

    with spark_session("local[2]", partitions=1, brief=True) as made:
        made.conf.set("spark.sql.codegen.wholeStage", "false")
        made.conf.set("spark.sql.adaptive.enabled", "false")
        yield made


@pytest.mark.java
@pytest.mark.filterwarnings("default")
def test_both_engines_give_the_same_verdicts_however_the_work_is_split(
    session: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from raincheck.conformance.spark import pipeline

    for protocol in PROTOCOLS:
        write_walks(protocol, tmp_path / protocol, walks=2)
        folder = tmp_path / "damaged" / protocol
        write_walks(protocol, folder, walks=3, run=f"damaged-{protocol}")
        forget_a_change(folder)
    first = next((tmp_path / PROTOCOLS[0]).glob("*.[0-9].*.jsonl"))
    first.write_text(first.read_text() + "{nonsense\n")
    whole = next((tmp_path / PROTOCOLS[1]).glob("*.[0-9].*.jsonl"))
    whole.write_text(whole.read_text().replace('"version":1', '"version":2', 1))
    local = check_paths([tmp_path])

    undecided = {verdict.run for verdict in local if verdict.verdict == "inconclusive"}
    assert undecided == {path.name.partition(".")[0] for path in (first, whole)}
    violated = [verdict for verdict in local if verdict.verdict == "violated"]
    assert [verdict.protocol for verdict in violated] == PROTOCOLS
    assert all(verdict.run.startswith("damaged-") for verdict in violated)
    quarantined = {(Path(p.path), p.line) for verdict in local for p in verdict.problems}
    assert quarantined == {(first, len(first.read_text().splitlines())), (whole, 1)}
    assert pipeline.check_paths(session, [tmp_path]) == local
    monkeypatch.setattr(pipeline, "MEETING", 100_000)
    size = sum(path.stat().st_size for path in trace_files([tmp_path]))
    assert pipeline.blocks_for(size) >= 4
    assert pipeline.check_paths(session, [tmp_path]) == local


@pytest.mark.java
@pytest.mark.filterwarnings("default")
def test_both_engines_say_the_same_of_every_promise_of_the_ring(
    session: "SparkSession", tmp_path: Path
) -> None:
    from raincheck.conformance.spark import pipeline

    for place, fault in enumerate((None, other_view, delivered_again), 1):
        record_ring(tmp_path, f"ring-{place}", seed=place)
        if fault is not None:
            path = tmp_path / f"ring-{place}.b.0.raincore.jsonl"
            records = list(map(json.loads, path.read_text().splitlines()))
            fault(records)
            path.write_text("".join(json.dumps(each) + "\n" for each in records))
    local = check_paths([tmp_path])

    found = {
        verdict.run: {each.name for each in verdict.promises if each.verdict == "violated"}
        for verdict in local
    }
    assert found["ring-1"] == set()
    assert {each.verdict for each in local[0].promises} == {"holds"}
    assert "ConsistentHistory" in found["ring-2"]
    assert "Integrity" in found["ring-3"]
    assert pipeline.check_paths(session, [tmp_path]) == local


def other_view(records: list[dict[str, Any]]) -> None:
    record = next(each for each in records if "global_view" in each.get("changed", {}))
    record["changed"]["global_view"][0].reverse()


def delivered_again(records: list[dict[str, Any]]) -> None:
    told = [each for each in records if any(name == "Deliver" for name, _ in each.get("told", ()))]
    told[1]["told"] = [*told[0]["told"], *told[1]["told"]]
