"""The fast path: what it takes is what the follower would take, and it takes nearly everything."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.campaigns.traced import record_group
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.replay.replayable import nothing_undone, system_for
from raincheck.conformance.trace.following import follower
from raincheck.conformance.trace.generator import record_walk
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.ring.generator import record_ring
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.traceparquet import write_parquet
from raincheck.impl.simulation.group import Link

WALKED = ("flush", "gms", "nakack", "raincore", "stable", "state_transfer", "unicast")
LAYERS = ("unicast", "nakack", "stable", "gms", "flush", "state_transfer")


def walked(protocol: str, folder: Path) -> None:
    """Walks of the model's network, as its cores record them."""
    binding = binding_of(protocol)
    cases = [
        case
        for case in load_cases()
        if (case.protocol, case.tier, case.expected) == (protocol, "quick", "holds")
    ]
    systems = [system_for(case) for case in cases]
    system = next(each for each in systems if nothing_undone(binding, each.rules))
    for seed in range(2):
        record_walk(binding, system, folder, run=f"walk-{seed}", seed=seed)


def lived(protocol: str, folder: Path) -> None:
    """A life of real members in virtual time, or of a ring."""
    if protocol == "raincore":
        record_ring(folder)
        return
    link = Link(loss=0.05, duplicate=0.05, delay=(0.0005, 0.005))
    record_group(folder, (protocol,), link=link)


def verdicts(folder: Path) -> list[RunVerdict]:
    return check_paths([folder])


def in_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[RunVerdict]:
    """The verdicts without the fast path."""
    with monkeypatch.context() as patch:
        patch.setattr(follower, "forms_of", lambda _: None)
        return verdicts(folder)


def otherwise(value: Any, random: Random) -> Any:
    """Another value, most often of the same kind."""
    match value:
        case bool():
            return not value
        case int():
            return random.choice((value + 1, 0, -1, "x"))
        case str():
            return random.choice((value + "x", "a", "b", 0))
        case list():
            return random.choice(([], value[:-1], value + value[:1], value[::-1]))
        case dict():
            kept = {name: each for name, each in value.items() if random.random() < 0.7}
            return {**kept, "colour": 1} if random.random() < 0.3 else kept
        case _:
            return random.choice((0, "a", []))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where there is something in a record."""
    if not isinstance(value, dict | list):
        return [path]
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(place for key, each in inside for place in places(each, (*path, key)))]


def damaged(text: str, random: Random) -> str:
    """The file's text, with one of its events changed, taken out, doubled or moved."""
    lines = text.splitlines()
    at = random.randrange(1, len(lines)) if len(lines) > 1 else 0
    fault = random.random()
    if fault < 0.8:
        record = json.loads(lines[at])
        *way, last = random.choice([place for place in places(record) if place])
        parent = record
        for key in way:
            parent = parent[key]
        parent[last] = otherwise(parent[last], random)
        lines[at] = json.dumps(record, separators=(",", ":"))
    elif fault < 0.9:
        lines.insert(random.randrange(1, len(lines) + 1), lines.pop(at))
    else:
        lines[at : at + 1] = [lines[at]] * random.choice((0, 2))
    return "".join(f"{line}\n" for line in lines)


def slow_events(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The events that the fast path does not take."""
    judged: list[bytes] = []
    judge = follower.Follower._judge

    def watched(self: Any, line: int, text: bytes) -> None:
        judged.append(text)
        judge(self, line, text)

    with monkeypatch.context() as patch:
        patch.setattr(follower.Follower, "_judge", watched)
        verdicts(folder)
    return [text for text in judged if b'"kind":"event"' in text]


DAMAGES = {walked: 20, lived: 6}
SOURCES = [*((walked, each) for each in WALKED), *((lived, each) for each in (*LAYERS, "raincore"))]


@pytest.mark.parametrize(
    ("source", "protocol"), SOURCES, ids=[f"{each.__name__}-{name}" for each, name in SOURCES]
)
def test_the_fast_path_changes_no_verdict(
    source: Callable[[str, Path], None],
    protocol: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source(protocol, tmp_path)
    good = {path: path.read_text() for path in sorted(tmp_path.glob("*.[0-9].*.jsonl"))}
    assert {each.verdict for each in verdicts(tmp_path)} == {"holds"}
    seen = set()

    for seed in range(DAMAGES[source]):
        random = Random(f"{protocol}/{seed}")
        path = random.choice(sorted(good))
        path.write_text(damaged(good[path], random))
        found = verdicts(tmp_path)
        assert found == in_full(tmp_path, monkeypatch), (seed, path)
        seen |= {each.verdict for each in found}
        path.write_text(good[path])

    assert seen - {"holds"}


@pytest.mark.parametrize(
    ("source", "protocol"), SOURCES, ids=[f"{each.__name__}-{name}" for each, name in SOURCES]
)
def test_what_a_recorder_writes_is_taken_by_the_fast_path(
    source: Callable[[str, Path], None],
    protocol: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source(protocol, tmp_path)

    assert sum(each.events for each in verdicts(tmp_path)) > 5
    assert slow_events(tmp_path, monkeypatch) == []


def in_parquet(folder: Path) -> None:
    """Write the folder's records in Parquet, and remove the lines."""
    for path in folder.glob("*.jsonl"):
        records = [json.loads(line) for line in path.read_bytes().splitlines()]
        write_parquet(path.with_suffix(".parquet"), records)
        path.unlink()


RECORDED = [
    *((protocol, walked) for protocol in (*WALKED, "sequencer")),
    *((protocol, lived) for protocol in (*LAYERS, "raincore")),
]


@pytest.mark.parametrize(
    ("protocol", "record"), RECORDED, ids=[f"{name}-{how.__name__}" for name, how in RECORDED]
)
def test_rows_of_parquet_are_taken_like_lines(
    protocol: str, record: Callable[[str, Path], None], tmp_path: Path
) -> None:
    record(protocol, tmp_path)
    before = verdicts(tmp_path)
    in_parquet(tmp_path)

    assert {each.verdict for each in before} == {"holds"}
    assert verdicts(tmp_path) == before


def test_what_is_wrong_in_a_column_that_most_records_lack_is_found(tmp_path: Path) -> None:
    lived("nakack", tmp_path)
    path = next(path for path in tmp_path.glob("*.jsonl") if '"told"' in path.read_text())
    records = [json.loads(line) for line in path.read_text().splitlines()]
    record = next(record for record in records if "told" in record)
    record["told"] = [["Delivered", [["b", 0], 7, 7]]]
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    before = [(each.reason, each.index) for each in verdicts(tmp_path)[0].findings]
    in_parquet(tmp_path)

    assert before
    assert [(each.reason, each.index) for each in verdicts(tmp_path)[0].findings] == before


def test_parquet_without_the_columns_of_optional_fields_is_read(tmp_path: Path) -> None:
    lived("flush", tmp_path)
    before = verdicts(tmp_path)
    in_parquet(tmp_path)
    for path in tmp_path.glob("*.parquet"):
        pq.write_table(pq.read_table(path).drop_columns(["told", "given", "at"]), path)

    assert verdicts(tmp_path) == before


Record = dict[str, Any]


def sends(record: Record) -> bool:
    return bool(record.get("sent"))


def sends_twice(record: Record) -> bool:
    sent = record.get("sent", ())
    return len(sent) > 1 and sent[0]["content"] == sent[1]["content"]


def is_quiet(record: Record) -> bool:
    return record["kind"] == "event" and not sends(record) and "told" not in record


def twice_to_one(record: Record) -> None:
    record["sent"][1] = record["sent"][0]


FAULTS: dict[str, tuple[str, Callable[[Record], bool], Callable[[Record], Any]]] = {
    "one message too many": ("nakack", sends, lambda r: r["sent"].append(r["sent"][-1])),
    "a copy too few": ("stable", sends_twice, lambda r: r["sent"].pop()),
    "two copies to one": ("stable", sends_twice, twice_to_one),
    "a message where none is": (
        "nakack",
        is_quiet,
        lambda r: r["sent"].append(
            {"id": ["Nak", "a", 0, "b", 0], "to": ["b", 0], "message": "Nak",
             "content": {"source": ["b", 0], "missing": [1]}}
        ),
    ),
    "a word where none is": ("nakack", is_quiet, lambda r: r.update(told=[["Delivered", []]])),
    "a word of who has none": ("flush", is_quiet, lambda r: r.update(told=[["Block", []]])),
    "another name": ("flush", sends, lambda r: r["sent"][0].update(message="Stroll")),
    "a field too many": ("flush", sends, lambda r: r["sent"][0].update(colour=1)),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_message_or_indication_beyond_the_model_is_not_taken(fault: str, tmp_path: Path) -> None:
    protocol, fits, change = FAULTS[fault]
    lived(protocol, tmp_path)
    path = next(tmp_path.glob("*.a.0.*.jsonl"))
    records = [json.loads(line) for line in path.read_text().splitlines()]
    change(next(record for record in records if fits(record)))
    lines = [json.dumps(each, separators=(",", ":")) for each in records]
    path.write_text("".join(f"{line}\n" for line in lines))

    (verdict,) = verdicts(tmp_path)

    assert verdict.problems or verdict.findings[0].part == "local"


@pytest.mark.parametrize("protocol", WALKED)
def test_the_order_of_a_records_parts_does_not_matter(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived(protocol, tmp_path)
    before = verdicts(tmp_path)
    for path in tmp_path.glob("*.jsonl"):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        turned = [dict(reversed(record.items())) for record in records]
        lines = [json.dumps(each, separators=(",", ":")) for each in turned]
        path.write_text("".join(f"{line}\n" for line in lines))

    assert verdicts(tmp_path) == before
    assert slow_events(tmp_path, monkeypatch) == []
