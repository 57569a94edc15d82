"""The Spark engine gives the local engine's verdicts, witnesses and quarantine."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from raincheck.conformance.traces import checker, properties_local
from raincheck.conformance.traces.damage import damage
from raincheck.conformance.traces.tracegen import Shape, Walk, write_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def session() -> Iterator["SparkSession"]:
    """One small session for all tests."""
    from raincheck.conformance.spark.session import spark_session

    with spark_session("local[2]", partitions=1) as made:
        yield made


def test_traces_get_the_same_verdicts_on_both_engines(
    session: "SparkSession", tmp_path: Path
) -> None:
    from raincheck.conformance.spark import pipeline

    for seed in range(18):
        trace = Walk(seed, Shape(steps=80), run=f"r{seed}").run().files()
        if seed % 3:
            _, trace = damage(trace, seed)
        write_trace(tmp_path / str(seed), trace)
    (tmp_path / "bad.jsonl").write_text("{nonsense\n")
    local = checker.check_paths([tmp_path])

    assert {verdict.verdict for verdict in local} == {"holds", "violated", "inconclusive"}
    assert pipeline.check_paths(session, [tmp_path]) == local


def test_a_stream_is_compared_across_its_blocks(
    session: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from raincheck.conformance.spark import pipeline
    from raincheck.conformance.traces.steady import write_steady

    monkeypatch.setattr(pipeline, "BLOCK", 16)
    write_steady(tmp_path, 400)
    blocks = {
        row.block
        for row in pipeline.distribute(
            session, checker.index_runs(sorted(tmp_path.iterdir())).runs.values()
        )
        .select("block")
        .collect()
    }
    local = checker.check_paths([tmp_path])

    assert local[0].verdict == "holds"
    assert blocks
    assert pipeline.check_paths(session, [tmp_path]) == local


@pytest.mark.parametrize("seed", range(2))
def test_delivery_logs_get_the_same_witnesses_on_both_engines(
    session: "SparkSession", tmp_path: Path, seed: int
) -> None:
    from raincheck.conformance.spark.properties import check_deliveries

    rows = damaged_log(seed)
    half = len(rows) // 2
    for name, part in (("a", rows[:half]), ("b", rows[half:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    local = properties_local.check_deliveries([tmp_path])

    assert check_deliveries(session, [tmp_path]) == local
    assert {promise.verdict for promise in local.properties} != {"holds"}


def damaged_log(seed: int) -> list[dict[str, object]]:
    """A log of four members with swapped, lost and doubled deliveries, in random order."""
    rng = random.Random(seed)
    messages = [(sender, str(i)) for sender in "abc" for i in range(1, 6)]
    rows: list[dict[str, object]] = []
    for member in "pqrs":
        mine = [message for message in messages if rng.random() < 0.9]
        at = rng.randrange(len(mine) - 1)
        mine[at : at + 2] = reversed(mine[at : at + 2])
        if rng.random() < 0.5:
            mine.append(rng.choice(mine))
        view = 1
        for position, (sender, message) in enumerate(mine, start=1):
            view += rng.random() < 0.15
            row = {"member": member, "view": view, "sender": sender, "message": message}
            rows.append({**row, "position": position})
        if rng.random() < 0.7:
            rows.append({"member": member, "event": "end", "position": len(mine)})
    for position, (sender, message) in enumerate(messages[1:], start=1):
        row = {"member": sender, "event": "send", "view": 1, "message": message}
        rows.append({**row, "position": position})
    rng.shuffle(rows)
    return rows
