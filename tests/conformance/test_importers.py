"""Logs of other systems: what recorded ones are judged to be, and every fault planted in them."""

import json
import random
import re
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import raincheck
from raincheck.__main__ import main
from raincheck.conformance.errors import UsageError
from raincheck.conformance.importers import table
from raincheck.conformance.importers.edn import EdnError, read_edn
from raincheck.conformance.importers.found import Read, Refused
from raincheck.conformance.importers.table import OURS, importer_of, importers
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED

FOREIGN = Path(__file__).parent / "foreign"
IN_PARTITIONS = {"total_order", "no_duplication", "no_creation", "sender_fifo", "gap_freeness"}
IN_VIEWS = IN_PARTITIONS | {"agreement", "virtual_synchrony"}
HOLDING = {
    "corosync": IN_VIEWS,
    # JGroups has no FLUSH any more: its views are not virtually synchronous.
    "jgroups": IN_VIEWS - {"agreement", "virtual_synchrony"},
    "nats": IN_PARTITIONS,
    "kafka": IN_PARTITIONS,
    "otel": IN_PARTITIONS,
    "jepsen/broadcast.edn": {"agreement", "no_duplication", "no_creation"},
    "jepsen/kafka.edn": IN_PARTITIONS,
    "jepsen/kafka.jsonl": IN_PARTITIONS,
}
UNSAID = {
    "nats": {"agreement": "ask gap_freeness"},
    "kafka": {"agreement": "ask gap_freeness"},
    "otel": {"agreement": "end each member's log with a span whose raincheck.event is end"},
    "jepsen/broadcast.edn": dict.fromkeys(
        ("total_order", "sender_fifo", "gap_freeness"),
        "have each node log its deliveries in their order",
    ),
    "jepsen/kafka.edn": {"agreement": "ask gap_freeness"},
    "jepsen/kafka.jsonl": {"agreement": "ask gap_freeness"},
}


def format_of(name: str) -> str:
    """Return the format of a log among the recorded ones."""
    return name.partition("/")[0]


def judged(folder: Path, name: str, **options: Any) -> raincheck.Verdicts:
    """Judge one of these logs."""
    return raincheck.judge_logs(folder, log_format=format_of(name), **options)


@pytest.mark.parametrize("name", HOLDING)
def test_a_recorded_log_is_judged(name: str) -> None:
    found = judged(FOREIGN / name, name)

    assert found.problems == []
    verdicts = {each.name: each.verdict for each in found.properties}
    assert {name for name, verdict in verdicts.items() if verdict == HOLDS} == HOLDING[name]
    unsaid = UNSAID.get(name, {})
    assert {n for n, verdict in verdicts.items() if verdict == INCONCLUSIVE} == unsaid.keys()
    for property_, sentence in unsaid.items():
        assert sentence in found[property_].reason


def test_what_nobody_asks_of_a_format_is_not_held_against_it() -> None:
    found = judged(FOREIGN / "kafka", "kafka")
    assert found.verdict == HOLDS
    found.assert_holds()

    asked = judged(FOREIGN / "kafka", "kafka", properties=["agreement"])
    assert asked.verdict == INCONCLUSIVE
    with pytest.raises(AssertionError, match="ask gap_freeness"):
        asked.assert_holds()


def test_a_process_that_died_is_told_from_one_that_is_only_cut_off() -> None:
    read = importer_of("corosync").read
    ends = "confchg members 1:1 left 2:2/procdown 3:3/nodedown joined"
    lines = ["self 1:1", "confchg members 1:1 2:2 3:3 left joined 1:1", ends]

    found = [*read(enumerate(lines, start=1), "a")]

    events = [(each.columns["member"], each.columns["event"]) for each in found]  # type: ignore[union-attr]
    assert events == [("1:1", "view"), ("2:2", "crash"), ("1:1", "view")]


# ---------------------------------------------------------------------- planted faults

Plant = Callable[[list[str]], list[str]]


def swapped(pattern: str) -> Plant:
    """Return a fault: two neighbouring lines of this form, with other contents, change places."""

    def plant(lines: list[str]) -> list[str]:
        at = next(
            i
            for i, (one, other) in enumerate(pairwise(lines))
            if i > len(lines) // 3
            and re.match(pattern, one)
            and re.match(pattern, other)
            and same_partition(one) == same_partition(other)
        )
        return [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]

    return plant


def same_partition(line: str) -> str:
    """Return what has an order of its own in a line of Kafka."""
    found = re.search(r'"partition":(\d+)', line)
    return found[1] if found else ""


def lost(pattern: str) -> Plant:
    """Return a fault: the middle one of the lines of this form is missing."""

    def plant(lines: list[str]) -> list[str]:
        of_form = [i for i, line in enumerate(lines) if re.match(pattern, line)]
        at = of_form[len(of_form) // 2]
        return lines[:at] + lines[at + 1 :]

    return plant


def doubled(pattern: str) -> Plant:
    """Return a fault: the middle one of the lines of this form is there twice."""

    def plant(lines: list[str]) -> list[str]:
        of_form = [i for i, line in enumerate(lines) if re.match(pattern, line)]
        at = of_form[len(of_form) // 2]
        return [*lines[: at + 1], *lines[at:]]

    return plant


def spans(change: Callable[[list[str]], list[str]]) -> Plant:
    """Return a fault: a consumer's spans are of other messages, each with its next position."""

    def plant(lines: list[str]) -> list[str]:
        found = [json.loads(line) for line in lines]
        ids = change([each["attributes"]["messaging.message.id"] for each in found])
        made = []
        for position, message in enumerate(ids, start=1):
            span = json.loads(lines[0])
            span["context"]["span_id"] = f"0x{position}"
            span["attributes"] |= {"messaging.message.id": message, "raincheck.position": position}
            made.append(json.dumps(span))
        return made

    return plant


def replaced(old: str, new: str, last: bool = False) -> Plant:
    """Return a fault: these words of a history, the last ones if wanted, read otherwise."""

    def plant(lines: list[str]) -> list[str]:
        text = "\n".join(lines)
        assert old in text
        at = text.rindex(old) if last else text.index(old)
        return (text[:at] + new + text[at + len(old) :]).split("\n")

    return plant


PLANTED = [
    ("corosync/a.log", swapped("deliver"), "total_order"),
    ("corosync/b.log", lost("deliver"), "gap_freeness"),
    ("corosync/c.log", lost("deliver"), "agreement"),
    ("corosync/a.log", doubled("deliver"), "no_duplication"),
    ("corosync/b.log", replaced("deliver", "deliver 9:9 1\ndeliver"), "no_creation"),
    ("jgroups/B.log", swapped("deliver"), "total_order"),
    ("jgroups/B.log", lost("deliver"), "gap_freeness"),
    ("jgroups/C.log", doubled("deliver"), "no_duplication"),
    ("nats/east.log", swapped("MSG"), "total_order"),
    ("nats/east.log", swapped("MSG"), "sender_fifo"),
    ("nats/west.log", lost("MSG"), "gap_freeness"),
    ("nats/west.log", doubled("MSG"), "no_duplication"),
    ("nats/publisher.log", lost("{"), "no_creation"),
    ("kafka/billing.jsonl", swapped("{"), "total_order"),
    ("kafka/billing.jsonl", swapped("{"), "sender_fifo"),
    ("kafka/shipping.jsonl", lost("{"), "gap_freeness"),
    ("kafka/audit@orders.log", lost("Create"), "gap_freeness"),
    ("kafka/audit@orders.log", doubled("Create"), "no_duplication"),
    ("otel/billing.jsonl", spans(lambda ids: ids[:4] + ids[5:3:-1] + ids[6:]), "total_order"),
    ("otel/billing.jsonl", spans(lambda ids: ids[:4] + ids[5:]), "gap_freeness"),
    ("otel/billing.jsonl", spans(lambda ids: ids[:5] + ids[4:]), "no_duplication"),
    ("otel/shop.jsonl", lost("{"), "no_creation"),
    ("jepsen/broadcast.edn", replaced(" 14", "", last=True), "agreement"),
    ("jepsen/broadcast.edn", replaced(" 14", " 14 14", last=True), "no_duplication"),
    ("jepsen/broadcast.edn", replaced(" 14", " 14 11", last=True), "no_creation"),
    ("jepsen/kafka.edn", replaced("[1 2] [2 4]", "[2 4] [1 2]"), "sender_fifo"),
    ("jepsen/kafka.edn", replaced("[1 2] [2 4]", "[2 4] [1 2]"), "total_order"),
    ("jepsen/kafka.edn", replaced("[1 2] ", ""), "gap_freeness"),
    ("jepsen/kafka.edn", replaced("[1 2] ", "[1 2] [1 2] "), "no_duplication"),
    ("jepsen/kafka.edn", replaced("[1 2] ", "[1 77] "), "no_creation"),
    ("jepsen/kafka.jsonl", replaced("[1, 2], ", ""), "gap_freeness"),
]


@pytest.mark.parametrize(("path", "plant", "property_"), PLANTED)
def test_a_planted_fault_is_found(tmp_path: Path, path: str, plant: Plant, property_: str) -> None:
    name = path if path.startswith("jepsen") else format_of(path)
    assert property_ in HOLDING[name]
    before, after = FOREIGN / path, tmp_path / Path(path).name
    for each in [before] if name == path else before.parent.iterdir():
        (tmp_path / each.name).write_bytes(each.read_bytes())
    after.write_text("".join(f"{line}\n" for line in plant(before.read_text().splitlines())))

    found = judged(tmp_path, name)

    assert found.problems == []
    assert found[property_].verdict == VIOLATED, found.text()
    assert found[property_].witness


def test_a_message_that_every_node_has_lost_is_found(tmp_path: Path) -> None:
    text = (FOREIGN / "jepsen" / "broadcast.edn").read_text()
    path = tmp_path / "history.edn"
    path.write_text(re.sub(r"(?m)^(.*\[.*) 14\b(.*:final\? true.*)$", r"\1\2", text))
    assert path.read_text() != text

    found = judged(path, "jepsen")

    assert found["agreement"].verdict == VIOLATED
    assert found["agreement"].witness["messages"] == [["2", "14"]]


@pytest.mark.parametrize(
    ("numbers", "verdict"),
    [
        ({"a": [1, 2, 5], "b": [1, 2, 5]}, HOLDS),
        ({"a": [1, 2, 5], "b": [1, 5]}, VIOLATED),
        ({"a": [1, 2], "b": [2, 5]}, HOLDS),
        ({"a": [1, 2, 5]}, INCONCLUSIVE),
    ],
)
def test_a_number_is_missing_only_if_somebody_has_it(
    tmp_path: Path, numbers: dict[str, list[int]], verdict: str
) -> None:
    for consumer, offsets in numbers.items():
        lines = [json.dumps({"topic": "t", "partition": 0, "offset": each}) for each in offsets]
        (tmp_path / f"{consumer}.jsonl").write_text("\n".join(lines) + "\n")

    assert judged(tmp_path, "kafka")["gap_freeness"].verdict == verdict


def test_wall_clocks_give_no_order(tmp_path: Path) -> None:
    for path in (FOREIGN / "otel").iterdir():
        text = re.sub(r', "raincheck.position": \d+', "", path.read_text())
        text = re.sub(r', \{"key": "raincheck.position", "value": \{[^}]*\}\}', "", text)
        (tmp_path / path.name).write_text(text)

    found = judged(tmp_path, "otel")

    for name in ("total_order", "sender_fifo"):
        assert found[name].verdict == INCONCLUSIVE
        assert "raincheck.position" in found[name].reason
    assert found["no_duplication"].verdict == HOLDS
    assert found.verdict == INCONCLUSIVE


# ---------------------------------------------------------------------- quarantine


@pytest.mark.parametrize("name", [name for name in HOLDING if name != "jepsen/kafka.jsonl"])
def test_what_is_no_line_of_the_format_goes_into_quarantine(tmp_path: Path, name: str) -> None:
    source = FOREIGN / name
    path = source if source.is_file() else sorted(source.iterdir())[0]
    copy = tmp_path / path.name
    lines = path.read_bytes().splitlines(keepends=True)
    other = b'{"member":"p","sender":"a","message":1,"position":1}\n'
    rubbish = [b"\xff\xfe\n", other, b"[1,\n", b"deliver\n"]
    copy.write_bytes(b"".join([*lines, *rubbish, lines[-1][: len(lines[-1]) // 2]]))

    found = judged(copy, name)

    behind = len(lines)
    assert {each.line for each in found.problems} >= {behind + 1, behind + 2, behind + 3}
    assert all(each.reason for each in found.problems)
    reasons = {each.line: each.reason for each in found.problems}
    assert reasons[behind + 1] == "not UTF-8"
    assert all(text.startswith("truncated last line: ") for at, text in reasons.items()
               if at == behind + len(rubbish) + 1)  # fmt: skip
    assert found.verdict == INCONCLUSIVE


def test_a_column_that_is_null_says_nothing(tmp_path: Path) -> None:
    row = '{"topic":"t","partition":0,"offset":%d,"consumer":"%s","producer":null}\n'
    (tmp_path / "a.jsonl").write_text(row % (1, "c") + row % (1, "d") + row % (1, "d"))
    found = judged(tmp_path, "kafka")

    assert not found.problems
    assert found["no_duplication"].verdict == VIOLATED


def test_a_second_life_in_a_log_is_not_judged_as_the_first(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("self A\nview [A|0] (1) [A]\ndeliver A 1\n" * 2)
    found = judged(tmp_path, "jgroups")

    assert [each.line for each in found.problems] == [4, 5, 6]
    assert found["no_duplication"].verdict == INCONCLUSIVE


def test_a_line_that_was_cut_off_is_no_other_message(tmp_path: Path) -> None:
    text = "self A\nview [A|0] (1) [A]\ndeliver A 1\ndeliver A 17\n"
    (tmp_path / "a.log").write_text(text[:-2])
    found = judged(tmp_path, "jgroups")

    assert [each.line for each in found.problems] == [4]
    assert "does not end with a newline" in found.problems[0].reason
    assert found["no_duplication"].verdict == INCONCLUSIVE


@pytest.mark.parametrize("name", OURS)
def test_an_empty_file_goes_into_quarantine(tmp_path: Path, name: str) -> None:
    path = tmp_path / "empty.log"
    path.write_text("\n \n")

    [problem] = judged(path, name).problems

    assert "empty or holds no record" in problem.reason


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("corosync", "deliver 1:1 1", "before the line self"),
        ("corosync", "self 1:1\ndeliver 1:1 1", "before the first line confchg"),
        ("corosync", "self 1:1\nself 2:2", "of 1:1 behind a second line self"),
        ("jgroups", "self A\nself A", "of A behind a second line self"),
        ("kafka", '{"topic":"t","partition":0,"offset":1,"consumer":0}', "consumer is no name: 0"),
        ("nats", '{"reply":"$JS.ACK.S.C.1.2.1.0.0","client":["a"]}', "client is no name"),
        ("jepsen", '{"process":"0","type":"ok","f":"read","value":[1]}', "not '0'"),
        ("jepsen", '{"process":true,"type":"ok","f":"read","value":[1]}', "not True"),
        ("jepsen", "{:process 0 :process 1 :type :ok :f :read :value [1]}", "a key twice"),
        ("corosync", "self 1:1\nconfchg members 1:1", "members, left and joined"),
        ("corosync", "self 1:1\nconfchg members 2:2 left joined", "neither among the members"),
        ("corosync", "self 1:1\nview [A|1] (1) [A]", "begins with none of"),
        ("jgroups", "self A\nview A|1 A B", "as JGroups does"),
        ("jgroups", "self A\nview [A|1] (1) [A]\ndeliver A", "begins with none of"),
        ("kafka", "Offset:1\tPartition:2", "neither JSON nor a line with Partition"),
        ("kafka", '{"topic":"t","partition":0}', "not a record of Kafka"),
        ("kafka", '{"topic":"t","partition":0,"offset":true}', "not a record of Kafka"),
        ("nats", "MSG orders 1 5", "no delivery of JetStream"),
        ("nats", "MSG orders 1 $JS.ACK.S.c.1.x.1.1.0 5", "no delivery of JetStream"),
        ("nats", "PUB orders 5", "neither a line MSG"),
        ("otel", "{}", "neither resourceSpans nor context"),
        ("otel", '{"resourceSpans":[{"scopeSpans":[{"spans":[7]}]}]}', "not the form"),
        ("otel", '{"context":{},"kind":"SpanKind.CONSUMER","attributes":'
         '{"service.name":"a","messaging.system":"x"}}', "messaging.message.id"),
        ("otel", '{"context":{},"attributes":{"raincheck.event":"deliver","raincheck.message":1}}',
         "no member"),
        ("otel", '{"context":{},"attributes":{"raincheck.event":"deliver","raincheck.message":1,'
         '"service.name":"a","raincheck.position":"first"}}', "is no whole number"),
        ("jepsen", "{:type :ok", "not closed"),
        ("jepsen", "[:ok]", "it is no map"),
        ("jepsen", '{"type":"done","f":"read","process":0}', "invoke, ok, fail or info"),
        ("jepsen", "{:type :ok, :f :cas, :value [1 2], :process 0}", "is of neither workload"),
        ("jepsen", "{:type :ok, :f :read, :value nil, :process 0}", "a list or a set"),
        ("jepsen", "{:type :ok, :f :read, :value [nil], :process 0}", "a number or a text"),
        ("jepsen", "{:type :invoke, :f :broadcast, :value nil, :process 0}", "a number or a text"),
        ("jepsen", "{:type :ok, :f :txn, :value [[:append 9 11]], :process 0}", "neither [:send"),
        ("jepsen", '{:type :ok, :f :poll, :value [[:poll {"8" [[1]]}]], :process 0}', "[offset"),
        ("jepsen", "{:type :ok, :f :send, :value 7, :process 0}", "have a list"),
        ("jepsen", "{:type :ok, :f :send, :value [[:send nil 7]], :process 0}", "a key or a"),
    ],
)  # fmt: skip
def test_each_reason_for_quarantine(tmp_path: Path, name: str, text: str, reason: str) -> None:
    path = tmp_path / "some.log"
    path.write_text(f"{text}\n")

    [problem] = judged(path, name).problems

    assert (problem.path, problem.line) == (str(path), text.count("\n") + 1)
    assert reason in problem.reason


def test_a_line_that_is_too_long_is_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raincheck.conformance.importers.reading.MAX_LINE", 200)
    good = '{"topic":"t","partition":0,"offset":%d}\n'
    path = tmp_path / "c.jsonl"
    path.write_text(good % 1 + " " * 900 + good % 2 + good % 3)

    found = judged(path, "kafka")

    assert [(each.line, each.reason) for each in found.problems] == [
        (2, "the line is longer than 200 bytes")
    ]
    assert found.facts.rows == 2


WORDS = ["self", "confchg", "deliver", "view", "[A|1] (1) [A]", "members", "left", "joined", "1:1",
         "MSG", "$JS.ACK.S.c.1.1.1.1.0", "Partition:0\tOffset:1", "{", "}", "[", "]", '"type"', ":",
         ":type", ":ok", ":f", ":poll", ":value", ":process", "0", '"', "\\", "#{", "#_", ";",
         '{"resourceSpans":', "null", ","]  # fmt: skip


@given(st.sampled_from(OURS), st.lists(st.lists(st.sampled_from(WORDS) | st.text(max_size=5))))
def test_an_importer_survives_whatever_it_is_given(name: str, lines: list[list[str]]) -> None:
    texts = [" ".join(words).replace("\n", " ").strip() for words in lines]
    numbered = [(number, text) for number, text in enumerate(texts, start=1) if text]

    found = [*importer_of(name).read(numbered, "some")]

    for each in found:
        if isinstance(each, Read | Refused):
            assert each.line in dict(numbered)


@given(st.sampled_from([name for name in HOLDING if name != "otel"]), st.randoms())
def test_a_damaged_log_is_quarantined_and_never_an_error(name: str, dice: random.Random) -> None:
    source = FOREIGN / name
    path = source if source.is_file() else dice.choice(sorted(source.iterdir()))
    text = path.read_text()[:4000]
    for _ in range(dice.randint(1, 5)):
        at = dice.randrange(len(text))
        text = text[:at] + dice.choice(["", "\n", "x", '"', "}", "1"]) + text[at + 1 :]
    lines = enumerate((line.strip() for line in text.split("\n")), start=1)

    for _ in importer_of(format_of(name)).read([each for each in lines if each[1]], path.stem):
        pass


# ---------------------------------------------------------------------- EDN

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=12,
)


def edn(value: Any, dice: random.Random) -> str:
    """Write a value with the freedoms that EDN has."""
    space = dice.choice([" ", ", ", "\n", " #_ [1 :a] ", " ; said\n", "  "])
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value}{dice.choice(['', 'N'])}"
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case list():
            opener, closer = dice.choice([("[", "]"), ("(", ")"), ("#{", "}"), ("#a.b/c [", "]")])
            return opener + space.join(edn(each, dice) for each in value) + closer
    pairs = (f"{edn(key, dice)}{space}{edn(each, dice)}" for key, each in value.items())
    return f"{dice.choice(['', '#jepsen.history.Op'])}{{{space.join(pairs)}}}"


@given(PLAIN, st.randoms())
def test_edn_is_read_as_it_was_written(value: Any, dice: random.Random) -> None:
    assert read_edn(edn(value, dice)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (":net/timeout", "net/timeout"),
        ("some-symbol", "some-symbol"),
        ("1.5e3", 1500.0),
        ("2.50M", 2.5),
        ("\\a", "a"),
        ("\\newline", "newline"),
        ('"a\\n\\u0041"', "a\nA"),
        ("#inst \"2026-01-01\"", 'inst "2026-01-01"'),
        ("#a #b [7]", [7]),
        ("##Inf", "Inf"),
        ("{[1 2] 3}", {"[1, 2]": 3}),
    ],
)  # fmt: skip
def test_the_other_forms_of_edn(text: str, value: Any) -> None:
    assert read_edn(text) == value


@pytest.mark.parametrize("text", ["", "[1", "1]", "{1}", "1 2", '"a', "[1}", "#_", "; said"])
def test_what_is_no_edn_is_refused(text: str) -> None:
    with pytest.raises(EdnError):
        read_edn(text)


# ---------------------------------------------------------------------- the table

MINE = """
from raincheck.conformance.importers.found import Importer, Read

def read(lines, file):
    for number, (line, text) in enumerate(lines, start=1):
        sender, message = text.split()
        yield Read(line, {"member": file, "sender": sender, "message": message, "position": number})

IMPORTER = Importer("mine", read, (".mine",), "my own")
OTHER = 7
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with an importer of one's own, and two logs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "mylogs_importer.py").write_text(MINE)
    (tmp_path / "p.mine").write_text("a 1\na 2\n")
    (tmp_path / "q.mine").write_text("a 2\na 1\n")
    return tmp_path


def test_an_importer_of_ones_own_is_found_by_its_place(mine: Path) -> None:
    place = "mylogs_importer:IMPORTER"
    assert main(["conform", str(mine), "--log-format", place, "--out", "e"]) == 1
    assert raincheck.judge_logs(mine, log_format=place)["total_order"].verdict == VIOLATED

    with pytest.raises(UsageError, match="no Importer"):
        importer_of("mylogs_importer:OTHER")
    with pytest.raises(UsageError, match="cannot be loaded"):
        importer_of("mylogs_importer:NOTHING")
    with pytest.raises(UsageError, match="cannot be loaded"):
        importer_of("no_such_module:IMPORTER")


def test_an_installed_package_adds_an_importer(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = EntryPoint("mine", "mylogs_importer:IMPORTER", table.GROUP)
    monkeypatch.setattr(table, "entry_points", lambda group: [added] * (group == table.GROUP))

    assert raincheck.judge_logs(mine, log_format="mine").facts.rows == 4
    assert "mine" in importers()

    twice = EntryPoint("kafka", "mylogs_importer:IMPORTER", table.GROUP)
    monkeypatch.setattr(table, "entry_points", lambda group: [twice] * (group == table.GROUP))
    with pytest.raises(UsageError, match="already: rename it"):
        importers()


def test_the_formats_are_listed(
    mine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine)
    assert main(["conform", "--list"]) == 0

    out = capsys.readouterr().out
    assert all(re.search(rf"(?m)^{name} +\w", out) for name in (*OURS, "deliveries", "trace"))
    assert not Path("runs").exists()


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean kafka"):
        raincheck.judge_logs(tmp_path, log_format="kafak")
    with pytest.raises(UsageError, match="holds no kafka log"):
        raincheck.judge_logs(tmp_path, log_format="kafka")
    with pytest.raises(UsageError, match="name files with logs"):
        raincheck.judge_logs(log_format="kafka")
    with pytest.raises(UsageError, match="log_format is 7"):
        raincheck.judge_logs(tmp_path, log_format=7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="complete is 7"):
        raincheck.judge_logs(tmp_path, complete=7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="There is no property order"):
        raincheck.judge_logs(FOREIGN / "nats", log_format="nats", properties=["order"])


# ---------------------------------------------------------------------- ids that are no texts


def span(**attributes: Any) -> str:
    """Return a span of a delivery by `service` of what was sent to `orders`."""
    given = {"service.name": "billing", "messaging.destination.name": "orders"}
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    kind = {"messaging.operation.type": "process"}
    return json.dumps({"context": {}, "attributes": given | kind | named})


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"messaging__message__id": 1}, "messaging.message.id is a text"),
        ({"messaging__message__id": True}, "messaging.message.id is a text"),
        ({"raincheck__message": "17"}, "a number, or a text that is none, not '17'"),
        ({"raincheck__message": 1.0}, "a number, or a text that is none, not 1.0"),
        ({"raincheck__message": True}, "a number, or a text that is none, not True"),
        ({"messaging__kafka__offset": "x"}, "a whole number, not 'x'"),
        ({"messaging__message__id": "1", "service__name": 7}, "service.name is a text, not 7"),
        ({"messaging__message__id": "1", "messaging__destination__name": 7}, "name is a text"),
        ({"messaging__message__id": "1", "messaging__kafka__partition": 1.0}, "a partition is"),
    ],
)
def test_an_id_of_another_kind_is_not_made_a_text(
    tmp_path: Path, attributes: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text(span(**attributes) + "\n")

    [problem] = judged(path, "otel").problems

    assert reason in problem.reason


def test_numbers_and_texts_of_batches_are_told_apart(tmp_path: Path) -> None:
    def attribute(name: str, **value: Any) -> dict[str, Any]:
        return {"key": name, "value": value}

    path = tmp_path / "spans.jsonl"
    lines = []
    for value in ({"intValue": "17"}, {"stringValue": "17"}, {"bytesValue": "MTc="}):
        named = [
            attribute("raincheck.member", stringValue="p"),
            attribute("raincheck.position", intValue="1"),
            attribute("raincheck.event", stringValue="deliver"),
            attribute("raincheck.sender", stringValue="q"),
            attribute("raincheck.message", **value),
        ]
        spans = {"scopeSpans": [{"spans": [{"attributes": named}]}]}
        lines.append(json.dumps({"resourceSpans": [spans]}) + "\n")
    path.write_text("".join(lines))

    found = judged(path, "otel")

    assert [each.line for each in found.problems] == [2, 3]
    assert found.facts.messages == 1


@pytest.mark.parametrize(
    ("values", "messages"),
    [
        ('1 "1" :a "a" ":a"', {"1", '"1"', ":a", "a", '":a"'}),
        ('"\\"1\\"" "1"', {'"\\"1\\""', '"1"'}),
        ("1 1N +1", {"1"}),
    ],
)
def test_values_of_a_history_that_differ_stay_different(
    tmp_path: Path, values: str, messages: set[str]
) -> None:
    path = tmp_path / "history.edn"
    path.write_text(f"{{:type :ok, :f :read, :process 0, :value [{values}], :final? true}}\n")

    found = [*importer_of("jepsen").read(enumerate(path.read_text().splitlines(), 1), "h")]

    rows = [each.columns for each in found if isinstance(each, Read)]
    assert {row["message"] for row in rows if row.get("message")} == messages
    assert judged(path, "jepsen")["no_duplication"].verdict == (
        VIOLATED if len(messages) == 1 else HOLDS
    )


@pytest.mark.parametrize("value", ["a", "\\a", '#inst "2020"', "1.0", "1/2"])
def test_a_value_that_names_no_message_goes_into_quarantine(tmp_path: Path, value: str) -> None:
    path = tmp_path / "history.edn"
    path.write_text(f"{{:type :ok, :f :read, :process 0, :value [{value}]}}\n")

    [problem] = judged(path, "jepsen").problems

    assert "a number or a text, or a keyword, not" in problem.reason


@pytest.mark.parametrize(("suffix", "same"), [(".edn", False), (".jsonl", True)])
def test_a_log_with_a_number_and_one_with_a_text_are_two_where_that_can_be_told(
    tmp_path: Path, suffix: str, same: bool
) -> None:
    edn = "{:type :%s, :f :%s, :process 0, :value [[:%s %s]]}\n"
    text = "".join(edn % each for each in (("ok", "send", "send", "8 [0 5]"),
                                           ("ok", "poll", "poll", '{"8" [[0 5]]}')))  # fmt: skip
    if same:
        text = '{"type":"ok","f":"send","process":0,"value":[["send",8,[0,5]]]}\n'
        text += '{"type":"ok","f":"poll","process":0,"value":[["poll",{"8":[[0,5]]}]]}\n'
    path = tmp_path / f"history{suffix}"
    path.write_text(text)

    rows = [e.columns for e in importer_of("jepsen").read(enumerate(text.splitlines(), 1), "h")
            if isinstance(e, Read)]  # fmt: skip

    assert [row["sender"] for row in rows] == (["8"] if same else ['"8"'])


# ---------------------------------------------------------------------- what a format cannot say


def placed(member: str, messages: str, first: int | None = 1) -> str:
    """Return the spans of a member's deliveries, with positions if these have a first one."""
    lines = []
    for at, message in enumerate(messages.split()):
        position = {} if first is None else {"raincheck.position": first + at}
        given = {"raincheck.member": member, "raincheck.message": int(message), **position}
        attributes = {"messaging.destination.name": "t", "raincheck.event": "deliver", **given}
        lines.append(json.dumps({"context": {}, "attributes": attributes}) + "\n")
    return "".join(lines)


@pytest.mark.parametrize(
    ("spans", "violated"),
    [
        (placed("p", "1 2 3") + placed("q", "1 3 2") + placed("r", "3 2 1", None), ["p", "q"]),
        (placed("p", "1 2 3") + placed("q", "1 2 3") + placed("r", "3 2 1", None), []),
        (placed("p", "1 2 3", None) + placed("q", "3 2 1", None), []),
    ],
)
def test_a_violation_among_what_is_said_stays_one(
    tmp_path: Path, spans: str, violated: list[str]
) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text(spans)

    found = judged(path, "otel")

    for name in ("total_order", "sender_fifo"):
        assert found[name].verdict == (VIOLATED if violated else INCONCLUSIVE), name
        assert {*found[name].witness.get("members", ())} <= {*violated}
        assert bool(found[name].reason) == (not violated)


def test_a_span_without_the_position_that_others_have_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text(placed("p", "1 3 2") + placed("p", "4", None))

    found = judged(path, "otel")

    [problem] = found.problems
    assert (problem.line, problem.reason) == (
        4,
        "no raincheck.position, which other spans of p have",
    )
    assert found["sender_fifo"].verdict == VIOLATED


def test_one_historys_unordered_reads_leave_the_order_in_another_one(tmp_path: Path) -> None:
    text = (FOREIGN / "jepsen" / "kafka.edn").read_text()
    (tmp_path / "kafka.edn").write_text(text.replace("[1 2] [2 4]", "[2 4] [1 2]", 1))
    (tmp_path / "b.edn").write_text((FOREIGN / "jepsen" / "broadcast.edn").read_text())

    found = judged(tmp_path, "jepsen")

    assert found["total_order"].verdict == VIOLATED
    assert not found["total_order"].idle
    assert {who.partition("@")[2] for who in found["total_order"].witness["members"]} == {'"8"'}


def test_a_difference_that_complete_logs_make_a_violation_stays_one(tmp_path: Path) -> None:
    for consumer, offsets in {"a": (1, 2), "b": (1,)}.items():
        lines = [json.dumps({"topic": "t", "partition": 0, "offset": each}) for each in offsets]
        (tmp_path / f"{consumer}.jsonl").write_text("\n".join(lines) + "\n")

    assert judged(tmp_path, "kafka")["agreement"].verdict == INCONCLUSIVE
    found = judged(tmp_path, "kafka", complete=True)["agreement"]
    assert (found.verdict, found.idle, found.witness["members"]) == (
        VIOLATED,
        False,
        ["a@t-0", "b@t-0"],
    )
