"""Trace files: what is read, what is put aside, and that memory stays flat."""

import tracemalloc
from pathlib import Path

import msgspec
import pytest

from raincheck.conformance.errors import UsageError
from raincheck.conformance.trace import tracefile
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.events import (
    Event,
    Header,
    channel_of,
    decode,
    encode,
    well_formed,
)
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.trace.sequencer.tracegen import Shape, Walk, write_trace
from raincheck.conformance.trace.tracefile import read_records
from raincheck.conformance.trace.traceparquet import write_parquet

DOCUMENT = Path(__file__).parents[2] / "docs" / "trace-format.md"
TRACES = Path(__file__).parents[1] / "traces" / "sequencer"


def records_of(path: Path) -> tuple[list[object], list[Problem]]:
    """Everything that a file holds, and everything that was put aside."""
    problems: list[Problem] = []
    return [r for batch in read_records(path, problems.append) for r in batch.records], problems


def checked(folder: Path) -> RunVerdict:
    """The verdict on the one run of a folder."""
    return check_paths([folder])[0]


def edit(folder: Path, old: str, new: str, count: int = 1) -> None:
    """Replace text in one member's file."""
    path = folder / "steady.n01.0.jsonl"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, count))


@pytest.fixture
def steady(tmp_path: Path) -> Path:
    """A small conforming run of three members."""
    write_steady(tmp_path, 60)
    return tmp_path


def test_a_record_survives_the_round_trip() -> None:
    for records in Walk(11, Shape()).run().files().values():
        for record in records:
            assert decode(encode(record)) == record


def test_the_example_of_the_document_conforms(tmp_path: Path) -> None:
    blocks = DOCUMENT.read_text().split("```json\n")[1:]
    for name, block in zip("ab", blocks, strict=True):
        (tmp_path / f"r1.{name}.0.jsonl").write_text(block.split("```")[0])
    result = checked(tmp_path)

    assert result.verdict == HOLDS, result
    assert result.events == 4


def test_parquet_says_what_json_lines_say(tmp_path: Path) -> None:
    trace = Walk(11, Shape()).run().files()
    (tmp_path / "json").mkdir()
    write_trace(tmp_path / "json", trace)
    (tmp_path / "parquet").mkdir()
    for who, records in trace.items():
        path = tmp_path / "parquet" / f"r1.{who.node}.{who.incarnation}.parquet"
        assert write_parquet(path, records) == len(records)
        assert records_of(path) == (records, [])

    assert checked(tmp_path / "parquet") == checked(tmp_path / "json")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{nonsense}\n", "not JSON"),
        (b"\n", "empty line"),
        (b'{"kind":"event"}\n', "missing required field"),
        (b'{"kind":"poem"}\n', "Invalid value 'poem'"),
        (b'\xff\xfe{"kind"\n', "not JSON"),
        (b"[" * 100_000 + b"\n", "not"),
        (b'{"kind":"footer","run":"r","node":"a","incarnation":-1,"index":1}\n', ">= 0"),
        (b'{"kind":"footer","run":"r","node":"a","incarnation":0,"index":"1"}\n', "Expected `int`"),
    ],
)
def test_a_bad_line_is_put_aside_with_its_number(tmp_path: Path, line: bytes, reason: str) -> None:
    footer = b'{"kind":"footer","run":"r","node":"a","incarnation":0,"index":1}\n'
    path = tmp_path / "x.jsonl"
    path.write_bytes(footer * 3 + line + footer)
    records, problems = records_of(path)

    assert len(records) == 4
    [problem] = problems
    assert problem.line == 4
    assert reason in problem.reason


def test_fields_that_nobody_compares_are_errors_and_annotations_are_not(steady: Path) -> None:
    edit(steady, '"clock":', '"wall":"12:00","clock":')
    assert checked(steady).verdict == HOLDS

    edit(steady, '"seqno":1,', '"seqno":1,"mood":1,')
    result = checked(steady)
    assert result.verdict == INCONCLUSIVE
    assert "mood" in result.problems[0].reason


def test_a_truncated_last_line_is_reported_as_such(steady: Path) -> None:
    path = steady / "steady.n01.0.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    result = checked(steady)

    assert result.verdict == INCONCLUSIVE
    assert result.problems[0].reason.startswith("truncated last line")


@pytest.mark.parametrize(
    ("old", "new", "verdict", "words"),
    [
        ('"version":1', '"version":2', INCONCLUSIVE, "this reader knows version 1"),
        ('"protocol":"sequencer"', '"protocol":"paxos"', INCONCLUSIVE, "this reader knows"),
        ('"action":"Send"', '"action":"Sing"', INCONCLUSIVE, "unknown action 'Sing'"),
        ('"index":3,', '"index":2,', INCONCLUSIVE, "index 2 came before"),
        ('"index":3,', '"index":4,', INCONCLUSIVE, "event 3 is missing"),
        ('"clock":7', '"clock":1', VIOLATED, "is not greater than"),
    ],
)
def test_a_wrong_field_never_conforms(
    steady: Path, old: str, new: str, verdict: str, words: str
) -> None:
    edit(steady, old, new)
    verdicts = check_paths([steady])
    told = [p.reason for v in verdicts for p in v.problems]
    told += [finding.reason for v in verdicts for finding in v.findings]

    assert verdicts[0].verdict == verdict
    assert any(words in reason for reason in told), told


def test_two_files_of_one_incarnation_do_not_conform(steady: Path) -> None:
    text = (steady / "steady.n01.0.jsonl").read_bytes()
    (steady / "z-copy.jsonl").write_bytes(text)
    result = checked(steady)

    assert result.verdict == INCONCLUSIVE
    assert "a second file" in result.problems[0].reason


def test_an_overlong_line_is_skipped_without_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracefile, "MAX_LINE", 1 << 20)
    footer = b'{"kind":"footer","run":"r","node":"a","incarnation":0,"index":1}\n'
    path = tmp_path / "x.jsonl"
    with path.open("wb") as file:
        file.write(footer)
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(b"\n" + footer)
    tracemalloc.start()
    records, problems = records_of(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(records) == 2
    assert [(p.line, "longer than" in p.reason) for p in problems] == [(2, True)]
    assert peak < 8 << 20


def test_reading_takes_no_more_memory_for_a_longer_file(tmp_path: Path) -> None:
    peaks = []
    for events in (2_000, 20_000):
        path = write_steady(tmp_path / str(events), events, members=2)[0]
        tracemalloc.start()
        for _ in read_records(path, lambda problem: pytest.fail(problem.reason)):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < 1.5 * peaks[0]


def test_an_absent_path_or_an_empty_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        check_paths([tmp_path / "absent"])
    with pytest.raises(UsageError, match="holds no trace file"):
        check_paths([tmp_path])


def test_ids_have_one_shape_per_kind() -> None:
    assert channel_of(("DATA", "a", 0, 7)) == (("DATA", "a", 0), 7)
    assert well_formed(("FORWARD", "a", 0, "b", 1, 3))
    assert not well_formed(("FORWARD", "a", 0, "b", 3))
    assert not well_formed(("DATA", 0, "a", 3))
    assert not well_formed(())


@pytest.mark.parametrize("name", sorted(path.name for path in TRACES.iterdir()))
def test_the_kept_traces_get_the_verdict_in_their_name(name: str) -> None:
    verdicts = {verdict.verdict for verdict in check_paths([TRACES / name])}

    assert verdicts == {name.split("-")[0]}


def test_headers_and_events_are_what_they_say() -> None:
    header = decode(
        b'{"kind":"header","version":1,"run":"r","protocol":"sequencer","node":"a",'
        b'"incarnation":0,"nodes":["a"]}'
    )

    assert isinstance(header, Header)
    assert header.constants == {}
    with pytest.raises(msgspec.ValidationError):
        decode(b'{"kind":"event","run":1}')
    assert Event.__struct_config__.tag == "event"
