"""Traces that are judged on Spark while they grow: the batch's verdict, also after a kill."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from raincheck.__main__ import main
from raincheck.conformance.damage.files import Files
from raincheck.conformance.damage.raw import KINDS
from raincheck.conformance.deliveries.properties import NAMES
from raincheck.conformance.deliveries.properties_local import check_deliveries
from raincheck.conformance.spark import followed as workers
from raincheck.conformance.spark.followed import LOGS, TRACES, Answer, DeliveryLogs, followed
from raincheck.conformance.spark.streaming import SparkStream
from raincheck.conformance.testing.growing import grown, violated
from raincheck.conformance.trace.findings import VIOLATED
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.layers.judged import LAYERS
from raincheck.conformance.trace.live.receiver import Receiver
from raincheck.conformance.trace.ring.generator import record_ring
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.trace.sequencer.tracegen import Shape, Walk, write_trace
from raincheck.conformance.verbs.following import about, miscounted
from raincheck.impl.recording.sending import Place, TraceSender

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("default")
Told = set[tuple[Any, ...]]


@pytest.fixture(autouse=True)
def _new_worker() -> Iterator[None]:
    """In a worker that has followed nothing."""
    forget()
    yield
    forget()


def forget() -> None:
    workers._followed.clear()
    workers._logs.clear()


def read(verdicts: list[RunVerdict]) -> int:
    return sum(each.events for each in verdicts if each.protocol != LAYERS)


def streamed(source: Path, place: Path, seed: int) -> Told:
    """Give a worker's function the files while they grow, sometimes in a new process that has only
    the state; it reads what there is once. Return what it told before the end.
    """
    draw, told = Random(seed), Told()
    ends: dict[str, int] = {}
    answer = None
    for _ in grown(source, place, Random(seed)):
        if draw.random() < 0.2:
            workers._followed.clear()
        ends |= {str(each): each.stat().st_size for each in place.iterdir()}
        answer = followed(str(place), "r", ends, 0.0)
        told |= {about(*each) for each in answer.findings} | violated(answer.verdicts)
    batch = check_paths([place])

    assert answer is not None
    assert answer.events == read(batch)
    assert told <= violated(batch)
    return told


@pytest.mark.parametrize("seed", range(3))
def test_good_files_are_read_once_in_whatever_workers(seed: int, tmp_path: Path) -> None:
    if seed:
        write_trace(tmp_path / "w", Walk(seed, Shape(synchronous=True), run="r").run().files())
    else:
        record_ring(tmp_path / "w")

    assert streamed(tmp_path / "w", tmp_path / "g", seed) == set()


def test_of_damaged_files_nothing_is_told_that_the_batch_does_not_say(tmp_path: Path) -> None:
    lies = damages = 0
    for seed, kind in enumerate(Random(2).sample(sorted(KINDS), 5)):
        good, bad = tmp_path / f"good{seed}", tmp_path / f"bad{seed}"
        write_trace(good, Walk(seed, Shape(synchronous=True), run="r").run().files())
        files = Files.read(good)
        if KINDS[kind].damage(Random(seed), files):
            damages += 1
            files.write(bad)
            lies += bool(streamed(bad, tmp_path / f"g{seed}", seed))
    assert (damages, lies) == (5, 3)


def test_a_wrong_count_of_events_is_no_pass(tmp_path: Path) -> None:
    write_steady(tmp_path / "t", 20)
    verdicts = check_paths([tmp_path / "t"])
    stream: SparkStream[RunVerdict] = SparkStream.__new__(SparkStream)
    stream._kind = TRACES
    events = read(verdicts)
    cases = [(events, True, 0), (events, False, 0), (events - 1, False, 0),
             (events - 1, True, 1), (events + 1, True, 1), (events + 1, False, 1)]  # fmt: skip
    for told, over, wrong in cases:
        answer = Answer("steady", told, over, 0.0, [], [])
        stream._answers = {"steady": answer}
        results = list(miscounted(stream.miscounted(verdicts)))
        assert len(results) == wrong
        for result in results:
            assert (result.name, result.verdict) == ("stream: steady", "inconclusive")
            assert f"they have {events}" in result.detail


# ---------------------------------------------------------------- delivery logs

LOGGED = DeliveryLogs((*NAMES,), False, "deliveries", "")


def logged(place: Path, orders: dict[str, tuple[int, ...]], at_first: int = 0) -> list[Path]:
    """Write the logs of members that have delivered a's messages in these orders, to their ends;
    or only so many rows of each.
    """
    place.mkdir(exist_ok=True)
    for member, numbers in orders.items():
        rows: list[dict[str, Any]] = [
            {"member": member, "view": 1, "sender": "a", "message": number, "position": at}
            for at, number in enumerate(numbers, 1)
        ]
        rows.append({"member": member, "event": "end", "position": len(numbers)})
        text = "".join(json.dumps(row) + "\n" for row in rows[: at_first or None])
        (place / f"{member}.jsonl").write_text(text)
    return sorted(place.iterdir())


@pytest.mark.parametrize(
    ("orders", "broken"),
    [
        ({"p": (1, 2, 3), "q": (1, 2, 3)}, set()),
        ({"p": (1, 2, 3), "q": (1, 3, 2)}, {"total_order", "sender_fifo", "uniform_total_order"}),
        ({"p": (1, 2, 4), "q": (1, 2, 4)}, {"gap_freeness"}),
        ({"p": (1, 2, 3), "q": (1, 2)}, set()),
    ],
)
def test_logs_are_read_once_in_whatever_workers(
    tmp_path: Path, orders: dict[str, tuple[int, ...]], broken: set[str]
) -> None:
    logged(tmp_path / "w", orders)
    draw, told, answer = Random(1), set[str](), None
    for _ in grown(tmp_path / "w", tmp_path / "g", Random(2), (9, 50)):
        if draw.random() < 0.2:
            forget()
        ends = {str(each): each.stat().st_size for each in (tmp_path / "g").iterdir()}
        answer = LOGGED.followed("stream", LOGS, ends, 0.0)
        told |= {each.name for verdicts in answer.verdicts for each in verdicts.properties}
    batch = check_deliveries([tmp_path / "g"], NAMES)

    assert answer is not None
    assert answer.over
    assert LOGGED.counted([batch]) == {LOGS: answer.events}
    assert told == broken
    assert told <= {each.name for each in batch.properties if each.verdict == VIOLATED}


def test_all_logs_are_one_run_of_the_source(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from raincheck.conformance.spark.growing_source import GrowingReader

    for name in ("a.jsonl", "b.csv", "c.parquet"):
        (tmp_path / name).write_text("half")
    growing = msgspec.json.decode(LOGGED.options["suffixes"], type=tuple[str, ...])
    reader = GrowingReader([tmp_path], growing, LOGGED.options["run"])
    rows, _ = reader.read({})

    assert [row[:3] for row in rows] == [
        (LOGS, str(tmp_path / name), 4) for name in ("a.jsonl", "b.csv")
    ]


# ---------------------------------------------------------------- the source


def test_the_source_says_how_far_files_have_grown_and_repeats_it(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from raincheck.conformance.spark.growing_source import GrowingReader

    reader = GrowingReader([tmp_path])
    start = reader.initialOffset()
    header = b'{"kind":"header","run":"r","protocol":"gms"'
    (tmp_path / "a.jsonl").write_bytes(header)
    (tmp_path / "b.jsonl").write_text("nonsense\n")
    (tmp_path / "c.parquet").write_text("at the end")
    assert reader.read(start)[1] == start  # whose run it is is not known yet, or nobody's
    (tmp_path / "a.jsonl").write_bytes(header + b"}\n")
    gone = '{"kind":"crash","run":"%s","node":"x","incarnation":0}\n'
    (tmp_path / "f.jsonl").write_text(gone % "r" + gone % "q")

    rows, end = reader.read(start)

    a, f = str(tmp_path / "a.jsonl"), str(tmp_path / "f.jsonl")
    sizes = {each: Path(each).stat().st_size for each in (a, f)}
    assert end == sizes
    told = [row[:3] for row in rows]
    assert told == [("r", a, sizes[a]), ("q", f, sizes[f]), ("r", f, sizes[f])]
    assert list(reader.read(end)[0]) == []
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(b"{}\n")
    again = GrowingReader([tmp_path]).readBetweenOffsets(start, end)
    assert [row[:3] for row in again] == told


# ---------------------------------------------------------------- on Spark


def lying(folder: Path) -> dict[str, bytes]:
    """A run's files, of which the first has a wrong number in its third message."""
    write_steady(folder, 200)
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    name = next(iter(files))
    files[name] = files[name].replace(b'"seqno":3,', b'"seqno":4,', 1)
    return files


def told_of(stream: SparkStream) -> list[tuple[str, str, str]]:
    stream._query.processAllAvailable()
    return [
        (protocol, each.action, each.differences[0].name)
        for protocol, each in stream.broken(whole=False).findings
        if each.differences
    ]


@pytest.mark.java
def test_a_lie_is_told_and_the_verdict_is_the_batchs(
    session: "SparkSession", tmp_path: Path
) -> None:
    place = tmp_path / "t"
    place.mkdir()
    for name, text in lying(tmp_path / "whole").items():
        (place / name).write_bytes(text)
    stream = SparkStream(session, [place], tmp_path / "c", TRACES)

    assert told_of(stream)[0] == ("sequencer", "Send", "seqno")
    assert stream.over
    assert_ends_as_the_batch(stream, place)


def assert_ends_as_the_batch(stream: SparkStream, place: Path) -> None:
    verdicts = stream.close(0.0)
    batch = check_paths([place])
    assert msgspec.json.encode(verdicts) == msgspec.json.encode(batch)
    assert batch[0].verdict == VIOLATED
    assert stream.events == read(batch)
    assert stream.miscounted(verdicts) == {}


@pytest.mark.java
@pytest.mark.slow
def test_a_stream_that_is_stopped_goes_on_with_what_it_knew(
    session: "SparkSession", tmp_path: Path
) -> None:
    place = tmp_path / "t"
    place.mkdir()
    files = lying(tmp_path / "whole")
    for name, text in files.items():
        (place / name).write_bytes(text[: text.find(b'"seqno":4,')])
    stream = SparkStream(session, [place], tmp_path / "c", TRACES)
    assert told_of(stream) == []
    before = stream.events
    assert before > 0
    stream._query.stop()

    for name, text in files.items():
        (place / name).write_bytes(text)
    stream = SparkStream(session, [place], tmp_path / "c", TRACES)
    assert stream.events == before
    assert told_of(stream)[0] == ("sequencer", "Send", "seqno")
    assert_ends_as_the_batch(stream, place)


def steady(folder: Path, events: int) -> list[tuple[str, bytes]]:
    write_steady(folder, events)
    return [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]


@pytest.mark.java
@pytest.mark.slow
def test_a_stream_that_is_killed_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    files = steady(tmp_path / "whole", 400)
    place = tmp_path / "t"
    place.mkdir()
    for name, text in files:
        (place / name).write_bytes(text[: len(text) // 2])
    words = [sys.executable, "-m", "raincheck", "conform", str(place), "--engine", "spark"]
    words += ["--master", "local[2]", "--stream", "--checkpoint", str(tmp_path / "c"), "--json"]
    with subprocess.Popen(
        [*words, "--out", str(tmp_path / "e")], start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        while not list((tmp_path / "c" / "answers").glob("*.json")):
            assert process.poll() is None
            os.sched_yield()
        os.killpg(process.pid, signal.SIGKILL)
    for name, text in files:
        wrong = text.replace(b'"seqno":20,', b'"seqno":21,', 1)
        assert wrong[: len(text) // 2] == text[: len(text) // 2]
        (place / name).write_bytes(wrong)

    ended = subprocess.run(
        [*words, "--out", str(tmp_path / "f")], capture_output=True, text=True, check=False
    )

    answer = json.loads(ended.stdout)
    batch = check_paths([place])
    assert ended.returncode == 1, ended.stderr
    assert answer["results"][0]["events"] == read(batch)
    assert answer["follow"]["told"] >= 1
    assert not [each for each in answer["results"] if each["name"].startswith("stream: ")]
    assert "after it was written" in ended.stderr


@pytest.mark.java
@pytest.mark.slow
def test_delivery_logs_are_streamed_to_the_batchs_verdict_also_from_a_checkpoint(
    session: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    start = "raincheck.conformance.spark.session.spark_session"
    monkeypatch.setattr(start, lambda _master, **_: nullcontext(session))
    monkeypatch.chdir(tmp_path)
    orders = {"p": (1, 2, 3), "q": (1, 3, 2)}
    logged(tmp_path / "logs", orders, at_first=2)
    stream = SparkStream(session, [tmp_path / "logs"], tmp_path / "c", LOGGED)
    stream._query.processAllAvailable()
    assert (stream.events, stream.over, stream.broken(whole=True).verdicts[0].properties) == (
        4,
        False,
        [],
    )
    stream._query.stop()
    logged(tmp_path / "logs", orders)

    words = ["--log-format", "deliveries", "--properties", "total_order,agreement", "--json"]
    spark = ["--engine", "spark", "--stream", "--checkpoint", "c"]
    answers = []
    for more in ([], spark):
        assert main(["conform", "logs", *more, *words, "--out", "e"]) == 1
        out, err = capsys.readouterr()
        answers.append(json.loads(out))
        for each in answers[-1]["results"]:
            each.pop("seconds", None)

    assert answers[0]["results"] == answers[1]["results"]
    assert answers[1]["follow"]["told"] == 1
    assert "after it was written" in err


# ---------------------------------------------------------------- what cannot be


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--stream"], "--stream is for --engine spark"),
        (["--stream", "--follow"], "--stream takes the place of --follow"),
        (["--checkpoint", "c"], "--checkpoint is for --stream"),
        (["--stream", "--engine", "spark", "--log-format", "nits"], "There is no log format nits"),
        (["--stream", "--engine", "spark", "--master", "yarn"], "--stream is for Spark in this"),
        (["--stream", "--engine", "spark", "--remote", "sc://x"], "--stream is for Spark in this"),
    ],
)
def test_what_cannot_be_streamed_is_said(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", str(tmp_path), *words, "--out", str(tmp_path / "e")]) == 3
    assert said in capsys.readouterr().err
    assert not (tmp_path / "e").exists()


@pytest.mark.sockets
def test_a_receiver_that_comes_again_goes_on_with_its_files(tmp_path: Path) -> None:
    write_steady(tmp_path / "whole", 60)
    path = sorted((tmp_path / "whole").iterdir())[0]
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for part in (records[1:30], records[30:]):
        receiver = Receiver([Place("127.0.0.1", 0)], tmp_path / "got", [].append)
        sender = TraceSender(receiver.places[0])
        for record in (records[0], *part):
            sender(record)
        while sender.pending:
            sender.flush()
        sender.close()
        receiver.close()

    [got] = (tmp_path / "got").iterdir()
    assert [json.loads(line) for line in got.read_text().splitlines()] == records
