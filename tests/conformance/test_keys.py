"""A key that stands twice in an object of a log or trace: no reader takes the last one silently."""

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import raincheck
from raincheck.conformance.testing.growing import grown
from raincheck.conformance.trace import keys
from raincheck.conformance.trace.findings import INCONCLUSIVE
from raincheck.conformance.trace.keys import any_twice, twice
from raincheck.conformance.trace.live.live import Live
from raincheck.conformance.trace.ring.generator import record_ring
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.steady import write_steady

NAMES = st.sampled_from(["a", "a1", "a12", "b{", "}", ":", "\n", "[1]", "é", "", "a\\", '"'])
VALUES = st.recursive(
    st.none() | st.integers(-99, 99) | st.floats(-9, 9) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(NAMES, inner), max_size=3),
    max_leaves=12,
)


def written(value: Any, escaped: bool, space: str) -> str:
    """Return JSON, in which a list of pairs is an object, whose keys may come several times."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        pairs = (
            f"{json.dumps(k, ensure_ascii=escaped)}{space}:{written(v, escaped, space)}"
            for k, v in value
        )
        return f"{{{space}{f',{space}'.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(written(each, escaped, space) for each in value)}]"
    return json.dumps(value, ensure_ascii=escaped)


def said(text: str) -> bool:
    """Return whether a key stands twice, by another parser."""
    found: list[bool] = []

    def pairs(all_of_it: list[tuple[str, Any]]) -> None:
        found.append(len(dict(all_of_it)) < len(all_of_it))

    json.loads(text, object_pairs_hook=pairs)
    return any(found)


@given(
    st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from("  \t"),
)
def test_whatever_the_line_is_a_key_that_stands_twice_is_seen(
    pairs: list[tuple[str, Any]], escaped: bool, space: str
) -> None:
    text = written(pairs, escaped, space)
    line = text.encode()

    assert bool(twice(line)) == said(text)
    assert bool(twice(line + b"\n")) == said(text)
    assert any_twice(line + b"\n" + line + b"\n") >= said(text)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (b'{"a":1,"a":1}', "a"),
        (b'{"a":1,"b":[{"c":{"d":1, "e":2, "d" : 3}}]}', "d"),
        (b'{"a":1,"\\u0061":2}', "a"),
        (b'{"x1":1,"x2":2,"x1":1}', "x1"),
    ],
)
def test_the_key_is_named(line: bytes, key: str) -> None:
    assert twice(line) == f"the key {key!r} stands twice in one object"
    assert any_twice(line)


def test_what_only_looks_like_it_is_a_line_like_others() -> None:
    for line in (
        b'{"x1":1,"x2":2}',
        b'{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}',
        b'{"a":"\\"a\\":"}',
    ):
        assert not twice(line)


def test_no_more_forms_are_kept_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_MOST", 3)
    monkeypatch.setattr(keys, "_known", set())
    for letter in "abcdefgh":
        assert not twice(f'{{"{letter}":1}}'.encode())
        assert len(keys._known) <= 3


# ---------------------------------------------------------------- traces


def doubled(path: Path, old: bytes, new: bytes) -> int:
    """Write a key once more in the third line with it; return the line's number."""
    lines = path.read_bytes().splitlines(keepends=True)
    number = [n for n, line in enumerate(lines) if old in line][2]
    lines[number] = lines[number].replace(old, new, 1)
    path.write_bytes(b"".join(lines))
    return number + 1


def quarantined(verdicts: Iterable[Any]) -> list[tuple[int, str]]:
    return [(each.line, each.reason) for verdict in verdicts for each in verdict.problems]


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        (b'"action":', b'"action":"Send","action":', "action"),
        (b'"changed":{', b'"changed":{"view":1,"view":1,', "view"),
        (b'"view":', b'"view":1,"view":', "view"),
    ],
)
def test_a_record_of_a_trace_that_says_two_things_is_put_aside(
    tmp_path: Path, old: bytes, new: bytes, key: str
) -> None:
    path = write_steady(tmp_path / "t", 60)[1]
    assert check_paths([tmp_path / "t"])[0].verdict == "holds"
    line = doubled(path, old, new)

    [verdict] = check_paths([tmp_path / "t"])

    assert quarantined([verdict]) == [
        (line, f"not a trace record: the key {key!r} stands twice in one object")
    ]
    assert verdict.verdict == INCONCLUSIVE
    (tmp_path / "g").mkdir()
    live, now = Live([tmp_path / "g"]), 0.0
    for now in grown(tmp_path / "t", tmp_path / "g", Random(1)):
        live.turn(now)
    assert quarantined(live.close(now)) == quarantined([verdict])


def test_so_is_one_of_any_other_protocol(tmp_path: Path) -> None:
    record_ring(tmp_path, "ring", seed=1)
    path = sorted(tmp_path.glob("*.raincore.jsonl"))[0]
    line = doubled(path, b'"changed":{', b'"changed":{"seq":1,"seq":2,')

    [verdict] = check_paths([tmp_path])

    assert (line, "not a trace record: the key 'seq' stands twice in one object") in quarantined(
        [verdict]
    )
    assert verdict.verdict == INCONCLUSIVE


# ---------------------------------------------------------------- logs


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deliveries", '{"member":"p","sender":"a","message":1,"position":1,"message":2}'),
        ("deliveries", '{"member":"p","sender":"a","message":1,"position":1,"x":[{"y":1,"y":1}]}'),
        ("kafka", '{"topic":"t","partition":0,"offset":1,"offset":2}'),
        ("nats", '{"reply":"$JS.ACK.S.C.1.2.1.0.0","reply":"$JS.ACK.S.C.1.3.1.0.0"}'),
        ("jepsen", '{"type":"ok","f":"read","process":0,"value":[1],"value":[2]}'),
        ("otel", '{"context":{},"attributes":{"raincheck.message":1,"raincheck.message":2}}'),
    ],
)
def test_a_line_of_a_log_that_says_two_things_is_put_aside(
    tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f"{text}\n")

    found = raincheck.judge_logs(path, log_format=name)

    [problem] = found.problems
    assert problem.line == 1
    assert "stands twice in one object" in problem.reason
    assert found.verdict == INCONCLUSIVE


def test_so_is_a_column_that_stands_twice(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("member,sender,message,position,message\np,a,1,1,2\n")

    [problem] = raincheck.judge_logs(path).problems

    assert problem.reason == "columns that stand twice: message"


def test_so_is_an_attribute_of_a_span(tmp_path: Path) -> None:
    named = '{"key":"raincheck.message","value":{"intValue":"%d"}}'
    spans = f'{{"attributes":[{named % 1},{named % 2}]}}'
    path = tmp_path / "log.jsonl"
    path.write_text(f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}\n')

    [problem] = raincheck.judge_logs(path, log_format="otel").problems

    assert problem.reason == "an attribute stands twice in one list"
