"""The Spark engine gives the local engine's verdicts, witnesses and quarantine."""

import json
import random
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from raincheck.__main__ import main
from raincheck.conformance.deliveries import properties_local
from raincheck.conformance.deliveries.logs import Row
from raincheck.conformance.deliveries.properties import NAMES, Facts
from raincheck.conformance.deliveries.sortedlog import SortedLog
from raincheck.conformance.importers.reading import read_imported
from raincheck.conformance.importers.said import Said
from raincheck.conformance.importers.table import importer_of
from raincheck.conformance.judges.delivery_log import log
from raincheck.conformance.judges.plan import plan
from raincheck.conformance.spark import recount
from raincheck.conformance.spark.packing import packed, unpacked
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.events import Event
from raincheck.conformance.trace.ring.generator import record_ring
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.broken import BROKEN
from raincheck.conformance.trace.sequencer.damage import FAULTS, damage
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.trace.sequencer.tracegen import Shape, Walk, write_trace
from raincheck.conformance.trace.tracefile import trace_files
from raincheck.model.sequencer.handlers import Rules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.filterwarnings("default")]
spark = pytest.mark.java
TRACES = Path(__file__).parents[1] / "traces" / "sequencer"
FOREIGN = Path(__file__).parent / "foreign"


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
    for seed in range(4):
        shape = Shape(steps=80, synchronous=True, rules=Rules(delivery="safe"))
        trace = Walk(seed, shape, run=f"safe{seed}").run().files()
        write_trace(tmp_path / f"safe{seed}", trace if seed % 2 else damage(trace, seed)[1])
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
    assert pipeline.check_paths(plan(), [tmp_path]) == local
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
    # Each promise is broken somewhere, and both evaluations have found it.
    asked = {promise.name for verdict in local for promise in verdict.promises}
    violated = {
        p.name for verdict in distributed for p in verdict.promises if p.verdict == "violated"
    }
    assert asked == {*recount.ASKED, "sequencer.GapFree", "sequencer.Fresh"}
    assert violated == asked


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
    session: "SparkSession", tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from raincheck.conformance.spark import logs
    from raincheck.conformance.spark.properties import check_deliveries

    rows = damaged_log(seed)
    half = len(rows) // 2
    for name, part in (("a", rows[:half]), ("b", rows[half:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    gone = ('{"member":"p","event":"crash"}\n', '{"member":"q","event":"safe"}\n')
    (tmp_path / "c.jsonl").write_text("".join(gone))
    with (tmp_path / "b.jsonl").open("a") as file:
        file.write("no row\n" * 30 + "\n{")
        monkeypatch.setattr(logs, "PART", file.tell() // 2)  # so that the file is split
    local = properties_local.check_deliveries([tmp_path])

    # All that the log is able to break is asked; what is not, is asked by name.
    assert {*NAMES} - {promise.name for promise in local.properties} == {"sending_view"}
    assert check_deliveries(session, [tmp_path]) == local
    asked = ["sending_view"]
    found = check_deliveries(session, [tmp_path], asked)
    assert found == properties_local.check_deliveries([tmp_path], asked)
    assert "violated" in {promise.verdict for promise in local.properties}
    assert [each.line for each in local.problems] == list(
        range(len(rows) - half + 1, len(rows) - half + 33)
    )


class Put:
    """Stands for the tables, and notes which questions are put to them; each finds nothing."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    def all(self, question: str) -> list[Any]:
        self.questions.append(question)
        return []

    def one(self, question: str) -> None:
        self.questions.append(question)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("total_order")])
def test_only_the_questions_of_a_property_that_is_asked_for_are_put(name: str) -> None:
    from raincheck.conformance.spark import overwhom, properties, queries

    wanted = {
        "agreement": [queries.AGREEMENT, queries.AGREEMENT_LAST],
        "uniform_agreement": [queries.LACKING],
        "no_duplication": [queries.DUPLICATE],
        "no_creation": [queries.CREATED, queries.EARLY],
        "sender_fifo": [queries.FIFO],
        "virtual_synchrony": [queries.VIEWS_DIFFER],
        "sending_view": [queries.SENT_ELSEWHERE],
        "gap_freeness": [queries.GAP],
        "state_cut": [queries.CUT],
    }
    tables: Any = Put()
    facts = Facts(sends=True, views=True, states=1)

    properties._answers(tables, [name], facts)

    assert tables.questions == [*wanted[name], overwhom.over_all([name])]
    assert overwhom.over_all([name]).count("as messages") == 1 + (name == "agreement")


@spark
@pytest.mark.parametrize(
    "lines",
    [
        ("p: z1 z2 a1 b1", "q: z1 z2 b1 c1", "r: z1 z2 c1 a1"),
        ("p: z1 a1 b1", "q: z1 b1 c1", "r: z1 a1 c1"),
        ("p: z1 a1 b1", "q: z1 a1 b1"),
    ],
)
def test_a_cycle_of_order_is_found_on_both_engines(
    session: "SparkSession", lines: tuple[str, ...]
) -> None:
    from raincheck.conformance.spark import queries, witnesses
    from raincheck.conformance.spark.tables import Tables

    rows = log(*lines)
    with Tables(session) as tables:
        given = [(row.member, row.view, row.sender, row.message, row.position) for row in rows]
        schema = "member string, view long, sender string, message string, position long"
        tables.made("d", [row for row in given if row[2]], schema)

        found = witnesses.total_order(tables, queries.UNIFORM_ORDER)

    assert found == properties_local.answer(rows).witnesses.get("total_order")
    assert (found is None) == (len(lines) == 2 or "c1 a1" not in lines[-1])


@spark
@pytest.mark.parametrize(
    "other",
    [
        "q: 2/=p2 2/a2 2/b2 2/a3 3/b3",
        "q: 1/a1 1/b1 2/=r3 2/a3 3/b3\nr: 2/=p3 2/a2 2/b2 2/a3 3/b3",
        "q: 1/a1 1/b1 2/=p1 2/a2 2/b2 2/a3 3/b3",
        "q: 2/=p1 2/a2\nr: 2/=p9 2/a2",
    ],
)
def test_what_is_in_a_state_and_what_is_in_neither_is_found_on_both_engines(
    session: "SparkSession", other: str
) -> None:
    from raincheck.conformance.spark import properties, queries, witnesses
    from raincheck.conformance.spark.tables import Tables

    rows = log("p: 1/a1 1/b1 2/a2 2/b2 2/a3 3/b3", *other.splitlines())
    with Tables(session) as tables:
        tables.made(
            "log",
            [msgspec.structs.astuple(row)[:7] for row in rows],
            "member string, position long, view long, sender string, message string, "
            "event string, after long",
        )
        states, unknown = properties.know_parts(tables)
        found = witnesses.cut(tables.one(queries.CUT))
        here = tables.all("select * from c")

    mine = SortedLog(rows)
    assert {(row.member, row.at, (row.sender, row.message), row.view) for row in here} == {
        (state.member, state.position, key, view)
        for state, inside in mine.contents.items()
        for key, view in inside.items()
    }
    assert (states, unknown) == (len(mine.states), mine.unknown)
    assert found == properties_local.answer(rows).witnesses.get("state_cut")
    assert (found is None) == ("p2" in other)


@spark
@pytest.mark.parametrize(
    ("lines", "lacks"),
    [
        (("p: 1/a1 2/b1", "q: 1/a1 2/b1", "r: 1/a1 1/b2"), ["r", "p"]),
        (("p: 1/a1 2/b1", "q: 2/b1", "r: 1/a1"), ["r", "q"]),
        (("p: 1/a1 2/b1", "q: 1/a1 2/b1", "r: 1/a1"), None),
        (("p: 1/a1 2/b1", "q: 2/=p1 2/b1", "r: 1/a1 2/b1"), None),
    ],
)
def test_what_only_who_is_gone_has_delivered_is_found_on_both_engines(
    session: "SparkSession", tmp_path: Path, lines: tuple[str, ...], lacks: list[str] | None
) -> None:
    from raincheck.conformance.spark import logs, properties

    rows = gone(tmp_path, *lines)
    asked = properties.ask(session, logs.load(session, [tmp_path / GONE]), ["uniform_agreement"])

    found = asked.witnesses.get("uniform_agreement")
    assert found == properties_local.answer(rows).witnesses.get("uniform_agreement")
    assert (found and found["members"]) == lacks


GONE = "log.jsonl"


def gone(folder: Path, *lines: str) -> list[Row]:
    """Write the log of a group with safe delivery in which r crashes, and return its rows."""
    rows = [*log(*lines), *(Row(name, 0, event="safe") for name in "pqr")]
    rows += [Row("q", 0, 1, event="view"), Row("r", 0, event="crash")]
    text = "".join(json.dumps(msgspec.to_builtins(row)) + "\n" for row in rows)
    (folder / GONE).write_text(text)
    return rows


@spark
@pytest.mark.parametrize("after", [0, 1])
def test_an_own_message_delivered_before_it_was_sent_is_found_on_both_engines(
    session: "SparkSession", tmp_path: Path, after: int
) -> None:
    from raincheck.conformance.spark import logs, witnesses
    from raincheck.conformance.spark.tables import Tables

    sends = [Row("a", 1, 1, "a", "1", "send", after), Row("b", 1, 1, "b", "1", "send")]
    rows = [*log("a: a1 b1", "b: a1 b1"), *sends]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(msgspec.to_builtins(row)) + "\n" for row in rows))
    with Tables(session) as tables:
        tables.table("log", logs.load(session, [path]))
        found = witnesses.no_creation(tables)

    assert found == properties_local.answer(rows).witnesses.get("no_creation")
    assert (found is not None) == bool(after)


@spark
@pytest.mark.parametrize(("line", "doubled"), [("p: a1 b1", False), ("p: a1 b1 a1", True)])
def test_a_record_that_is_there_twice_is_no_second_delivery_on_either_engine(
    session: "SparkSession", tmp_path: Path, line: str, doubled: bool
) -> None:
    from raincheck.conformance.spark import logs, queries, witnesses
    from raincheck.conformance.spark.tables import Tables

    rows = [*log(line), *log(line)]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(msgspec.to_builtins(row)) + "\n" for row in rows))
    with Tables(session) as tables:
        tables.table("log", logs.load(session, [path]))
        found = witnesses.duplicate(tables.one(queries.DUPLICATE))

    assert found == properties_local.answer(rows).witnesses.get("no_duplication")
    assert (found is not None) == doubled


@spark
@pytest.mark.parametrize("listed", [True, False])
def test_views_without_common_numbers_are_aligned_alike_on_both_engines(
    session: "SparkSession", tmp_path: Path, listed: bool
) -> None:
    from raincheck.conformance.spark import logs, properties
    from raincheck.conformance.spark.tables import Tables

    rows = [*log("p: 4/x1 5/p1 7/p2", "q: 1/p1 2/p2"), Row("p", 1, 4, "p", "1", "send")]
    lists = (("p", 4, "p"), ("p", 5, "p q"), ("p", 7, "p q"), ("q", 1, "p q"), ("q", 2, "p q"))
    for member, view, members in lists:
        words = tuple(members.split()) if listed else ()
        rows.append(Row(member, 0, view, event="view", members=words))
    if not listed:
        rows = [msgspec.structs.replace(row, view=row.view and f"v{row.view}") for row in rows]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(msgspec.to_builtins(row)) + "\n" for row in rows))

    with Tables(session) as tables:
        labelled = logs.load(session, [path])
        tables.table("labelled", labelled)
        frame, found = properties.numbered_views(tables, labelled, strange=True)
        theirs = [row for row in frame.collect() if row.event == "deliver"]

    mine = SortedLog(rows)
    assert found == mine.views
    assert found.names
    assert {(row.member, row.position): row.view for row in theirs} == {
        (member, position): view
        for member, delivered in mine.delivered.items()
        for position, view, _ in delivered
    }
    assert mine.sent["p", "1"] == (1, found.numbers["p", rows[-5].view])


@spark
def test_importers_give_the_same_rows_on_workers(session: "SparkSession", tmp_path: Path) -> None:
    from raincheck.conformance.spark import logs
    from raincheck.conformance.spark.parts import lines_numbered

    for folder in (FOREIGN / "corosync", FOREIGN / "otel"):
        importer = importer_of(folder.name)
        files, said = [], Said()
        problems: list[Problem] = []
        for source in sorted(folder.iterdir()):
            files.append(tmp_path / folder.name / source.name)
            files[-1].parent.mkdir(exist_ok=True)
            files[-1].write_text(source.read_text() + "neither this\n")
        local = [
            (row.member, row.position, str(row.view), row.sender, row.message, row.event, row.after)
            for path in files
            for row in read_imported(path, importer, problems.append, said.note)
        ]
        frame = logs.load(session, files, folder.name).collect()
        rows = [tuple(each)[:7] for each in frame if each.told is None and each.said is None]

        assert len(problems) == len(files)
        assert sorted(map(repr, rows)) == sorted(map(repr, local))
        assert lines_numbered(each.told for each in frame if each.told is not None) == problems
        joined = Said()
        for each in frame:
            if each.said is not None:
                joined.joined(msgspec.json.decode(each.said, type=Said))
        assert joined == said


@spark
@pytest.mark.parametrize("fault", ["lost", "alone"])
def test_imported_logs_get_the_same_verdicts_on_both_engines(
    session: "SparkSession", tmp_path: Path, fault: str
) -> None:
    from raincheck.conformance.spark import properties

    for source in (FOREIGN / "kafka").glob("*.jsonl"):
        shutil.copy(source, tmp_path)
    path = tmp_path / "billing.jsonl"
    if fault == "lost":
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:9] + lines[10:]))
    if fault == "alone":  # then nobody can tell a hole in its numbers from a loss
        for other in ("shop", "shipping"):
            (tmp_path / f"{other}.jsonl").unlink()
    names = ["agreement", "gap_freeness"]

    mine = properties_local.check_deliveries([tmp_path], names, log_format="kafka")
    theirs = properties.check_deliveries(session, [tmp_path], names, log_format="kafka")

    verdict = {"lost": "violated", "alone": "inconclusive"}[fault]
    assert mine["gap_freeness"].verdict == verdict
    assert "ask gap_freeness" in mine["agreement"].reason
    assert theirs == mine


@spark
def test_of_rows_whose_order_a_log_does_not_say_neither_engine_asks_the_order(
    session: "SparkSession", tmp_path: Path
) -> None:
    from raincheck.conformance.spark import properties

    lines = []
    for member, order in {"p": (1, 2), "q": (2, 1), "r": (2, 1, 3)}.items():
        for position, message in enumerate(order, 1):
            columns = {"member": member, "message": message, "sender": "a", "event": "deliver"}
            placed = columns | ({} if member == "r" else {"position": position})
            attributes = {f"raincheck.{name}": value for name, value in placed.items()}
            lines.append(json.dumps({"context": {}, "attributes": attributes}) + "\n")
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(lines))
    names = ["total_order", "no_duplication"]

    mine = properties_local.check_deliveries([path], names, log_format="otel")
    theirs = properties.check_deliveries(session, [path], names, log_format="otel")

    assert mine["total_order"].witness["members"] == ["q", "p"]
    assert mine["no_duplication"].judged["members"] == 3
    assert theirs == mine


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


@spark
def test_both_engines_give_the_same_verdicts_however_the_work_is_split(
    session: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    traced_protocols: list[str],
    write_walks: Callable[..., None],
    forget_a_change: Callable[[Path], tuple[str, int]],
) -> None:
    from raincheck.conformance.spark import pipeline

    for protocol in traced_protocols:
        write_walks(protocol, tmp_path / protocol, walks=2)
        folder = tmp_path / "damaged" / protocol
        write_walks(protocol, folder, walks=3, run=f"damaged-{protocol}")
        forget_a_change(folder)
    first = next((tmp_path / traced_protocols[0]).glob("*.[0-9].*.jsonl"))
    first.write_text(first.read_text() + "{nonsense\n")
    whole = next((tmp_path / traced_protocols[1]).glob("*.[0-9].*.jsonl"))
    whole.write_text(whole.read_text().replace('"version":1', '"version":2', 1))
    local = check_paths([tmp_path])

    undecided = {verdict.run for verdict in local if verdict.verdict == "inconclusive"}
    assert undecided == {path.name.partition(".")[0] for path in (first, whole)}
    violated = [verdict for verdict in local if verdict.verdict == "violated"]
    assert [verdict.protocol for verdict in violated] == traced_protocols
    assert all(verdict.run.startswith("damaged-") for verdict in violated)
    quarantined = {(Path(p.path), p.line) for verdict in local for p in verdict.problems}
    assert quarantined == {(first, len(first.read_text().splitlines())), (whole, 1)}
    assert pipeline.check_paths(session, [tmp_path]) == local
    monkeypatch.setattr(pipeline, "MEETING", 5_000)
    size = max(path.stat().st_size for path in trace_files([tmp_path]))
    assert pipeline.blocks_for(size) >= 4
    assert pipeline.check_paths(session, [tmp_path]) == local


@spark
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
            if (member, position) == ("s", 6):
                row = {"member": member, "view": view, "sender": "q", "event": "state"}
                rows.append({**row, "position": position, "after": 7})
                continue
            row = {"member": member, "view": view, "sender": sender, "message": message}
            rows.append({**row, "position": position})
        if rng.random() < 0.7:
            rows.append({"member": member, "event": "end", "position": len(mine)})
    for position, (sender, message) in enumerate(messages[1:], start=1):
        row = {"member": sender, "event": "send", "view": 1, "message": message}
        rows.append({**row, "position": position})
    rng.shuffle(rows)
    return rows


def other_view(records: list[dict[str, Any]]) -> None:
    record = next(each for each in records if "global_view" in each.get("changed", {}))
    record["changed"]["global_view"][0].reverse()


def delivered_again(records: list[dict[str, Any]]) -> None:
    told = [each for each in records if any(name == "Deliver" for name, _ in each.get("told", ()))]
    told[1]["told"] = [*told[0]["told"], *told[1]["told"]]
