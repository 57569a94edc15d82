"""The verb conform: exit codes, quarantine and logs at the user's level, and TLC's opinion."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raincheck.__main__ import main
from raincheck.conformance.errors import UsageError
from raincheck.conformance.outcome import Outcome
from raincheck.conformance.trace.events import Event, Sent
from raincheck.conformance.trace.findings import Promise
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.trace.sequencer.tlatrace import write_tla_trace
from raincheck.conformance.trace.sequencer.tracegen import Shape, Walk, write_trace
from raincheck.conformance.verbs.conform import run_results
from raincheck.model.sequencer.state import Rules

HOLDS, VIOLATED, INCONCLUSIVE, USAGE = range(4)
Capture = pytest.CaptureFixture[str]

GOOD_LOG = """member,view,sender,message,position,event
p,1,a,1,1,deliver
p,1,a,2,2,deliver
q,1,a,1,1,deliver
q,1,a,2,2,deliver
p,2,,,,view
q,2,,,,view
p,1,,,2,end
q,1,,,2,end
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def conform(capsys: Capture, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and the results by name."""
    code = main(["conform", *words, "--out", "e", "--json"])
    out = capsys.readouterr().out
    answer = json.loads(out)
    return code, {result["name"]: result for result in answer["results"]}


def test_a_good_trace_holds_and_names_each_property(capsys: Capture) -> None:
    write_steady(Path("t"), 200)
    code, results = conform(capsys, "t")

    assert code == HOLDS
    assert {name for name, each in results.items() if "idle" in each} == {"steady: sequencer.Fresh"}
    assert results["steady: sequencer.Fresh"]["verdict"] == "inconclusive"
    assert {each["verdict"] for each in results.values() if "idle" not in each} == {"holds"}
    assert {"steady: sequencer", "steady: TotalOrder", "steady: Fifo"} <= set(results)
    assert results["steady: sequencer"]["quarantined"] == 0
    assert results["steady: sequencer"]["actions"]["ReceiveData"] == 126


def test_a_wrong_trace_is_violated_and_the_first_bad_event_is_named(capsys: Capture) -> None:
    [path, *_] = write_steady(Path("t"), 200)
    path.write_text(path.read_text().replace('"seqno":3,', '"seqno":4,', 1))
    code, results = conform(capsys, "t")

    assert code == VIOLATED
    assert results["steady: sequencer"]["first"]["node"] == "n00"
    assert results["steady: sequencer"]["first"]["action"] == "Send"
    assert "seqno" in results["steady: sequencer"]["detail"]
    assert "seqno" in Path("e/steady__sequencer.findings.txt").read_text()


def test_what_is_in_quarantine_is_counted_and_listed(capsys: Capture) -> None:
    [path, *_] = write_steady(Path("t"), 200)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], "{\n", "[]\n", *lines[3:]]))
    code, results = conform(capsys, "t")

    assert code == INCONCLUSIVE
    assert results["steady: sequencer"]["quarantined"] == 2
    listed = json.loads(Path("e/quarantine.json").read_text())
    assert [(Path(p["path"]).name, p["line"]) for p in listed] == [(path.name, 4), (path.name, 5)]


def test_an_undischarged_assumption_counts_only_with_strict(capsys: Capture) -> None:
    name = ""
    for seed in range(30):
        write_trace(Path(str(seed)), Walk(seed, Shape(), run="r").run().files())
        code, results = conform(capsys, str(seed))
        assumed = [n for n, r in results.items() if r.get("assumption") == "VirtualSynchrony"]
        if assumed:
            name = assumed[0]
            break

    assert results["r: sequencer"]["verdict"] == "holds"
    assert name.startswith("r: ")
    assert (code, results[name]["verdict"]) == (INCONCLUSIVE, "inconclusive")
    code, results = conform(capsys, str(seed), "--strict")
    assert (code, results[name]["verdict"]) == (VIOLATED, "violated")


def test_a_run_of_another_design_is_named_as_that_in_the_first_line(capsys: Capture) -> None:
    rules = replace(Rules(), own_table=False)
    write_trace(Path("t"), Walk(1, Shape(rules=rules), run="r").run().files())

    main(["conform", "t", "--out", "e"])
    text = capsys.readouterr().out
    _, results = conform(capsys, "t")

    assert results["r: sequencer"]["other_design"]["OwnTable"] is False
    assert "another design" in results["r: sequencer"]["answer"]
    assert "another design" in text.splitlines()[0]
    assert "OwnTable" in text.splitlines()[0]


@pytest.mark.parametrize("lacking", ["view_acks", "VirtualSynchrony"])
def test_a_broken_promise_that_a_header_excuses_is_inconclusive_and_never_a_pass(
    lacking: str,
) -> None:
    broken = Promise("gms.OneView", "violated", {"view": 2}, assumption=lacking)
    verdict = RunVerdict(
        run="r", protocol="gms", verdict="holds", findings=[], problems=[], promises=[broken],
        files=2, events=9, conforming={}, actions={}, other_design={lacking: False},
    )  # fmt: skip

    def code(strict: bool) -> int:
        return Outcome("conform", tuple(run_results(verdict, strict)), "").exit_code

    assert code(strict=False) == INCONCLUSIVE
    assert code(strict=True) == VIOLATED


def test_delivery_logs_hold_or_show_their_smallest_witness(capsys: Capture) -> None:
    Path("log.csv").write_text(GOOD_LOG)
    code, results = conform(capsys, "log.csv", "--log-format", "deliveries")
    assert code == HOLDS
    assert results["total_order"]["messages"] == 2

    Path("log.csv").write_text(
        GOOD_LOG.replace("q,1,a,1,1", "q,1,a,2,1", 1).replace("q,1,a,2,2", "q,1,a,1,2")
    )
    code, results = conform(capsys, "log.csv", "--log-format", "deliveries")
    assert code == VIOLATED
    assert results["total_order"]["verdict"] == "violated"
    assert results["total_order"]["witness"]


def test_bad_rows_of_a_delivery_log_are_counted(capsys: Capture) -> None:
    Path("log.csv").write_text(GOOD_LOG + "p,1,a,3,three,deliver\n")
    code, results = conform(capsys, "log.csv", "--log-format", "deliveries")

    assert code == INCONCLUSIVE
    assert {result["quarantined"] for result in results.values()} == {1}


@pytest.mark.parametrize(
    ("action", "field", "value", "word"),
    [
        ("ReceiveData", "from_", ("zz", 0), "args.from"),
        ("ReceiveData", "members", (("a", 0),), "args"),
        ("ReceiveData", "digest", (), "args"),
        ("Send", "view", 1, "args"),
        ("ReceiveForward", "position", 1, "args"),
    ],
)
def test_what_an_action_does_not_take_is_compared_too(
    capsys: Capture, action: str, field: str, value: object, word: str
) -> None:
    trace = Walk(3, Shape(steps=60, crashes=0, leavers=0), run="r").run().files()
    event = next(
        r
        for who in sorted(trace)
        for r in trace[who]
        if isinstance(r, Event) and r.action == action
    )
    setattr(event.args, field, value)
    write_trace(Path("t"), trace)
    code, results = conform(capsys, "t")

    assert code == VIOLATED
    found = results["r: sequencer"]["found"]
    assert len(found) == results["r: sequencer"]["findings"]
    assert all(each["line"] for each in found if each.get("index") and each.get("path"))
    assert (
        results["r: sequencer"]["first"]["node"],
        results["r: sequencer"]["first"]["index"],
    ) == (
        event.node,
        event.index,
    )
    assert word in results["r: sequencer"]["detail"]


def test_a_message_that_carries_more_than_the_model_sends_is_a_violation(capsys: Capture) -> None:
    trace = Walk(3, Shape(steps=60, crashes=0, leavers=0), run="r").run().files()
    sent: Sent = next(
        r.sent[0] for who in sorted(trace) for r in trace[who] if isinstance(r, Event) and r.sent
    )
    sent.table = ()
    write_trace(Path("t"), trace)
    code, results = conform(capsys, "t")

    assert code == VIOLATED
    assert "sent.table" in results["r: sequencer"]["detail"]


# ---------------------------------------------------------------------- as a TLA+ module


@pytest.mark.java
def test_tlc_walks_a_good_trace_to_its_end_and_stops_where_a_bad_one_goes_wrong() -> None:
    paths = write_steady(Path("t"), 30, change=False)
    reached, events = depth(paths)
    assert (reached, events) == (29, 28)  # the initial state counts as well

    lines = paths[0].read_text().splitlines(keepends=True)
    at = next(place for place, line in enumerate(lines) if '"ReceiveForward"' in line)
    paths[0].write_text("".join(lines[:at] + lines[at + 1 :]))
    reached, events = depth(paths)
    assert events == 27
    assert reached < 28


def depth(paths: list[Path]) -> tuple[int, int]:
    """How far TLC gets with these files, and how many events they hold."""
    from raincheck.conformance.tlc.tlc import run_tlc

    trace = write_tla_trace(Path("m"), paths)
    spec = Path(__file__).parents[2] / "spec"
    for name in ("Sequencer", "Network", "Views"):
        shutil.copy(spec / f"{name}.tla", "m")
    return run_tlc(trace.module, trace.cfg).depth, trace.events


def test_a_trace_that_tla_cannot_hold_is_refused_in_words() -> None:
    trace = Walk(7, Shape(steps=150)).run().files()
    write_trace(Path("t"), trace)
    with pytest.raises(UsageError, match="is no step that a TLA\\+ trace of founders can hold"):
        write_tla_trace(Path("m"), sorted(Path("t").iterdir()))

    (Path("t") / "bad.jsonl").write_text("{\n")
    with pytest.raises(UsageError, match=r"bad\.jsonl, line 1: not JSON"):
        write_tla_trace(Path("m"), [Path("t") / "bad.jsonl"])
