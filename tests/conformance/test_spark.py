"""The Spark engine gives the local engine's verdicts, witnesses and quarantine."""

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from raincheck.__main__ import main
from raincheck.conformance.deliveries import properties_local
from raincheck.conformance.deliveries.properties import NAMES
from raincheck.conformance.spark import recount
from raincheck.conformance.spark.packing import packed, unpacked
from raincheck.conformance.trace.broken import BROKEN
from raincheck.conformance.trace.damage import FAULTS, damage
from raincheck.conformance.trace.events import Event
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.steady import write_steady
from raincheck.conformance.trace.tracegen import Shape, Walk, write_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.filterwarnings("default")]
spark = pytest.mark.java
TRACES = Path(__file__).parents[1] / "traces" / "sequencer"


@pytest.fixture(scope="module")
def session() -> Iterator["SparkSession"]:
    """One small session for all tests; interpreted plans, since compiling each takes longer."""
    from raincheck.conformance.spark.session import spark_session

    with spark_session("local[2]", partitions=1, brief=True) as made:
        made.conf.set("spark.sql.codegen.wholeStage", "false")
        made.conf.set("spark.sql.adaptive.enabled", "false")
        yield made


@spark
def test_traces_get_the_same_verdicts_on_both_engines(
    session: "SparkSession", tmp_path: Path
) -> None:
    from raincheck.conformance.spark import pipeline

    for seed in range(9):
        trace = Walk(seed, Shape(steps=80), run=f"r{seed}").run().files()
        if seed % 3:
            _, trace = damage(trace, seed)
        write_trace(tmp_path / str(seed), trace)
    guard = Walk(7, Shape(steps=80), run="guard").run().files()
    event = [
        r for r in guard[sorted(guard)[1]] if isinstance(r, Event) and r.action == "ReceiveData"
    ][-1]
    event.args.view = 99
    write_trace(tmp_path / "guard", guard)
    for name, made in BROKEN.items():
        broken = made(name)
        write_trace(tmp_path / name, broken.trace, broken.killed)
    behind = Walk(1, Shape(steps=80, synchronous=True), run="behind").run().files()
    FAULTS["leave a message unread"](random.Random(1), behind)
    write_trace(tmp_path / "behind", behind)
    (tmp_path / "bad.jsonl").write_text("{nonsense\n")
    local = check_paths([tmp_path])

    assert {verdict.verdict for verdict in local} == {"holds", "violated", "inconclusive"}
    distributed = pipeline.check_paths(session, [tmp_path])
    assert distributed == local
    [named] = [verdict for verdict in distributed if verdict.run == "guard"]
    assert named.first is not None
    [conjunct] = named.first.conjuncts
    assert (named.verdict, named.first.node, named.first.index) == (
        "violated",
        event.node,
        event.index,
    )
    assert conjunct.text == "ViewTag => d.view <= view[n]"
    assert conjunct.values["d.view"] == 99
    [unread] = [verdict.first for verdict in distributed if verdict.run == "behind"]
    assert unread is not None
    assert unread.reason.endswith("with messages of an earlier view unread")
    # Each promise is broken somewhere, and SQL, which was asked as well, has found the same.
    asked = {promise.name for verdict in local for promise in verdict.promises}
    violated = {
        p.name for verdict in distributed for p in verdict.promises if p.verdict == "violated"
    }
    assert violated == asked == set(recount.ASKED)


def test_where_the_two_evaluations_of_a_promise_differ_nothing_holds(tmp_path: Path) -> None:
    broken = BROKEN["other_order"]("r1")
    write_trace(tmp_path, broken.trace, broken.killed)
    (verdict,) = check_paths([tmp_path])
    same = set(broken.promises)
    assert recount.compared(verdict, same) == verdict

    for told in (set(), same | {"Fifo"}):
        doubted = recount.compared(verdict, told)

        differing = {p.name for p in doubted.promises if "two evaluations" in p.reason}
        assert differing == told ^ same
        assert {p.verdict for p in doubted.promises if p.name in differing} == {"inconclusive"}
        assert {f.reason for f in doubted.findings} == {
            p.reason for p in doubted.promises if p.name in differing
        }
        assert (verdict.verdict, doubted.verdict) == ("holds", "inconclusive")


@spark
def test_a_stream_is_compared_across_its_blocks(
    session: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from raincheck.conformance.spark import pipeline

    monkeypatch.setattr(pipeline, "MEETING", 1 << 16)
    monkeypatch.setattr(pipeline, "PIECE", 4)
    monkeypatch.setattr(pipeline, "WHOLE", 256)
    paths = write_steady(tmp_path, 400)
    path, size = paths[0], sum(each.stat().st_size for each in paths)
    blocks = pipeline.blocks_for(size)
    assert blocks >= 4
    names = {str(path): str(path)}
    pieces = list(pipeline.file_pieces("steady", "sequencer", names, blocks, 4, 256))
    received = {piece[3] for piece in pieces if piece[4].startswith("received 4 ")}
    assert len(received) == blocks
    assert "report n00.0 256" in {piece[4] for piece in pieces}

    text = path.read_text()
    path.write_text(text.replace('"position":60,"crc":907060870', '"position":60,"crc":1'))
    local = check_paths([tmp_path])
    assert local[0].first is not None
    assert local[0].first.reason.endswith(" was sent with other contents")
    assert pipeline.check_paths(session, [tmp_path]) == local


@spark
@pytest.mark.parametrize("seed", [3])
def test_delivery_logs_get_the_same_witnesses_on_both_engines(
    session: "SparkSession", tmp_path: Path, seed: int
) -> None:
    from raincheck.conformance.spark.properties import check_deliveries

    rows = damaged_log(seed)
    half = len(rows) // 2
    for name, part in (("a", rows[:half]), ("b", rows[half:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    (tmp_path / "c.jsonl").write_text('{"member":"p","event":"crash"}\n')
    local = properties_local.check_deliveries([tmp_path], NAMES)

    assert check_deliveries(session, [tmp_path], NAMES) == local
    assert {promise.verdict for promise in local.properties} != {"holds"}


@spark
@pytest.mark.parametrize(
    ("name", "code"), [("holds-join", 0), ("violated-seqno", 1), ("inconclusive-no-footer", 2)]
)
def test_the_verb_gives_the_local_engines_answer(
    session: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    code: int,
) -> None:
    start = "raincheck.conformance.spark.session.spark_session"
    monkeypatch.setattr(start, lambda _master, **_: nullcontext(session))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(TRACES / name, "t")
    results = []
    for engine in ("local", "spark"):
        words = ["conform", "t", "--engine", engine, "--out", engine, "--json"]
        assert main(words) == code
        answer = json.loads(capsys.readouterr().out)
        for result in answer["results"]:
            result.pop("seconds", None)
        results.append(answer["results"])
        assert (tmp_path / engine / "quarantine.json").is_file()

    assert results[0] == results[1]


def test_packed_tables_come_back_as_they_were() -> None:
    rng = np.random.default_rng(1)
    full = rng.integers(-(1 << 63), (1 << 63) - 1, (1000, 4), dtype=np.int64)
    steps = np.cumsum(rng.integers(0, 100, (1000, 2)), axis=0)
    for rows in (full, steps, full[:1], full[:0], np.zeros((5, 2), dtype=np.int64)):
        assert (unpacked(packed(rows)) == rows).all()
        assert unpacked(packed(rows)).shape == rows.shape

    assert len(packed(steps)) < steps.nbytes / 7


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
