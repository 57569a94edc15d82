"""Traces of any protocol by its binding: good ones conform, every kind of damage is found."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from raincheck.conformance.bindings.recorded import FromBinding
from raincheck.conformance.judges.pingpong_talk import files, known, note, talk
from raincheck.conformance.judges.pingpong_talk import judged as complaints_of
from raincheck.conformance.judges.sequencer_story import C, on, sets, trace_of
from raincheck.conformance.replay.cores import Cores
from raincheck.conformance.trace import channels_compared
from raincheck.conformance.trace.channels_compared import compare
from raincheck.conformance.trace.columns import Channel, Table, stable_digest
from raincheck.conformance.trace.explaintrace import describe
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.located import located
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.damage import copy
from raincheck.conformance.trace.sequencer.tracegen import write_trace
from raincheck.impl.messages import Address
from raincheck.impl.recording.core import Recorder, attach, detach
from raincheck.impl.recording.described import ByName, Described
from raincheck.impl.recording.writer import TraceWriter

Records = dict[str, list[dict[str, Any]]]
"""The records of each file, by the node's name."""


def recorded(
    toy: SimpleNamespace, folder: Path, described: Described | None = None, steps: int = 40
) -> list[Path]:
    """The traces of real cores on a random walk of the model's network."""
    system = toy.system.machine({"turns": 6})
    cores = Cores(toy.binding, system)
    (state,) = system.initial()
    cores.begin(state)
    writers, recorders = {}, {}
    for node, core in cores.cores.items():
        writer = TraceWriter(folder, "r1", Address(node, 0), protocol="handover")
        recorder = Recorder(
            described or FromBinding(toy.binding), "r1", Address(node, 0), system.nodes, writer
        )
        recorder.begin(core)
        attach(core, recorder)
        writers[node], recorders[node] = writer, recorder
    random = Random(1)
    for _ in range(steps):
        moves = [move for move in system.moves(state) if move.action != "Restart"]
        if not moves:
            break
        move = random.choice(moves)
        cores.perform(move)
        state = move.target
    for node, writer in writers.items():
        recorders[node].footer(cores.cores[node])
        writer.close()
    return [writer.path for writer in writers.values()]


@pytest.fixture
def traces(toy: SimpleNamespace, tmp_path: Path) -> Iterator[Records]:
    """A good run's records, to be damaged and then judged."""
    paths = recorded(toy, tmp_path)
    return {
        path.name.split(".")[1]: [json.loads(line) for line in path.read_text().splitlines()]
        for path in paths
    }  # type: ignore[return-value]


def judged(traces: Records, folder: Path, *more: dict[str, Any]) -> RunVerdict:
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for node, records in traces.items():
        lines = [each if isinstance(each, str) else json.dumps(each) for each in records]
        (folder / f"r1.{node}.0.handover.jsonl").write_text("".join(f"{x}\n" for x in lines))
    if more:
        (folder / "faults.jsonl").write_text("".join(json.dumps(each) + "\n" for each in more))
    (verdict,) = check_paths(sorted(folder.iterdir()))
    return verdict


def events(traces: Records, node: str, action: str) -> list[dict[str, Any]]:
    return [each for each in traces[node] if each.get("action") == action]


def test_a_good_run_conforms(traces: Records, tmp_path: Path) -> None:
    verdict = judged(traces, tmp_path / "t")

    assert (verdict.verdict, verdict.findings, verdict.problems) == ("holds", [], [])
    assert (verdict.run, verdict.protocol, verdict.files) == ("r1", "handover", 2)
    assert set(verdict.actions) == {"Pass", "ReceiveToken", "ReceiveThanks"}
    assert verdict.events == sum(verdict.conforming.values()) > 10


def test_the_names_of_a_core_are_enough_to_record_it(toy: SimpleNamespace, tmp_path: Path) -> None:
    by_name = ByName(
        protocol="handover",
        names=("node", "peers", "holds", "turn", "thanked"),
        channels={"Token": "datagram", "Thanks": "fifo"},
        renamed={"TokenBody": "Token"},
        extra=frozenset({"payload"}),
    )
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    named = recorded(toy, tmp_path / "a", by_name)
    from_faces = recorded(toy, tmp_path / "b")

    verdict = check_paths(named)[0]
    assert verdict.verdict == "holds", verdict.findings
    assert verdict.actions == check_paths(from_faces)[0].actions


def test_recording_changes_nothing_and_can_be_ended(toy: SimpleNamespace) -> None:
    def core() -> Any:
        return toy.binding.make_core(toy.model.Rules(), toy.model.Local("a", ("b",), holds=True))

    records: list[Any] = []
    plain, watched = core(), core()
    attach(watched, Recorder(FromBinding(toy.binding), "r", Address("a", 0), ["a"], records.append))
    for event in (toy.core.Pass(Address("b", 0)), toy.core.ReceiveToken(Address("b", 0), 2)):
        assert watched.handle(event) == plain.handle(event)
    detach(watched)
    watched.handle(toy.core.ReceiveToken(Address("b", 0), 3))

    assert [record["kind"] for record in records] == ["header", "event", "event"]
    assert "handle" not in vars(watched)


def test_a_message_that_the_core_refuses_leaves_a_hole_in_its_channel(
    toy: SimpleNamespace,
) -> None:
    from raincheck.impl.errors import NotEnabled

    records: list[Any] = []
    core = toy.binding.make_core(toy.model.Rules(), toy.model.Local("a", ("b",)))
    attach(core, Recorder(FromBinding(toy.binding), "r", Address("a", 0), ["a"], records.append))
    core.handle(toy.core.ReceiveThanks(Address("b", 0), 1))
    with pytest.raises(NotEnabled):
        core.handle(toy.core.ReceiveThanks(Address("b", 0), 1))
    core.handle(toy.core.ReceiveThanks(Address("b", 0), 2))

    assert [record["received"][-1] for record in records[1:]] == [1, 3]


# ---------------------------------------------------------------- damage


def not_enabled(traces: Records) -> None:
    events(traces, "a", "ReceiveThanks")[1]["args"] = events(traces, "a", "ReceiveThanks")[0][
        "args"
    ]


def wrong_variable(traces: Records) -> None:
    events(traces, "b", "ReceiveToken")[0]["changed"]["turn"] = 9


def silent_variable(traces: Records) -> None:
    del events(traces, "b", "ReceiveToken")[0]["changed"]["turn"]


def invented_variable(traces: Records) -> None:
    events(traces, "b", "ReceiveToken")[0]["changed"]["colour"] = "red"


def unsent(traces: Records) -> None:
    events(traces, "b", "ReceiveToken")[0]["sent"].clear()


def wrong_content(traces: Records) -> None:
    events(traces, "b", "ReceiveToken")[0]["sent"][0]["content"]["turn"] = 9


def wrong_receiver(traces: Records) -> None:
    sent = events(traces, "b", "ReceiveToken")[0]["sent"][0]
    sent["to"], sent["id"][3] = ["b", 0], "b"


def wrong_start(traces: Records) -> None:
    traces["b"][0]["initial"]["turn"] = 3


def skipped_in_channel(traces: Records) -> None:
    for event in events(traces, "a", "ReceiveThanks"):
        event["received"][-1] += 1


def from_nobody(traces: Records) -> None:
    first = events(traces, "b", "ReceiveToken")[0]
    first["args"]["turn"] = first["received"][-1] = 5
    first["changed"]["turn"] = 5
    first["sent"][0]["content"]["turn"] = 5
    del traces["b"][traces["b"].index(first) + 1 : -1]
    traces["b"][-1]["index"] = first["index"]


def received_before_sent(traces: Records) -> None:
    """b's thanks for a turn come to a before a has passed the token."""
    mine = events(traces, "a", "ReceiveThanks")[0]
    traces["a"].remove(mine)
    traces["a"].insert(1, mine)
    for index, record in enumerate(traces["a"][1:-1], 1):
        record["index"] = index


@pytest.mark.parametrize(
    ("damage", "part", "reason"),
    [
        (not_enabled, "local", "ReceiveThanks is not enabled"),
        (wrong_variable, "local", "not what the model does"),
        (silent_variable, "local", "not what the model does"),
        (invented_variable, "local", "not what the model does"),
        (unsent, "local", "not what the model does"),
        (wrong_content, "local", "not what the model does"),
        (wrong_receiver, "local", "not what the model does"),
        (wrong_start, "local", "not what the model does"),
        (skipped_in_channel, "local", "message 1 of the channel is next, and this is 2"),
        (from_nobody, "network", "was never sent"),
        (received_before_sent, "network", "was received before it was sent"),
    ],
)
def test_a_violation_is_found_where_it_is(
    traces: Records, tmp_path: Path, damage: Callable[[Records], None], part: str, reason: str
) -> None:
    damage(traces)

    verdict = judged(traces, tmp_path / "t")

    assert verdict.verdict == "violated"
    assert any(f.part == part and reason in f.reason for f in verdict.findings), verdict.findings
    assert verdict.problems == []


def test_the_false_conjunct_is_named_with_its_values(traces: Records, tmp_path: Path) -> None:
    not_enabled(traces)

    first = judged(traces, tmp_path / "t").first

    assert first is not None
    (conjunct,) = first.conjuncts
    assert conjunct.text == "<<s, t>> \\notin thanked[n]"
    assert conjunct.values["thanked"]
    assert first.index == events(traces, "a", "ReceiveThanks")[1]["index"]


def test_a_difference_shows_both_sides(traces: Records, tmp_path: Path) -> None:
    wrong_content(traces)

    first = judged(traces, tmp_path / "t").first

    assert first is not None
    (difference,) = first.differences
    assert difference.name == "sent[1]"
    assert difference.expected == ["Thanks", "a", {"turn": 1}]
    assert difference.recorded == ["Thanks", ["a", 0], {"turn": 9}]


def test_contents_are_compared_at_both_ends(traces: Records, tmp_path: Path) -> None:
    """The sender's model and the receiver's are both content; only together they are not."""
    for event in events(traces, "a", "ReceiveThanks")[:1]:
        event["args"]["turn"] = 77
        event["changed"]["thanked"] = [["b", 77]]
    del traces["a"][traces["a"].index(event) + 1 : -1]
    traces["a"][-1]["index"] = event["index"]

    verdict = judged(traces, tmp_path / "t")

    assert any("was sent with other contents" in f.reason for f in verdict.findings)


@pytest.mark.parametrize(
    ("taken", "lag"), [("xyz", 0), ("yz", 1), ("z", 2), ("x", 0), ("xz", 0), ("w", 0)]
)
@pytest.mark.parametrize("few", [0, channels_compared.FEW])
def test_what_was_sent_before_a_process_was_a_member_is_passed_over(
    taken: str, lag: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts from the first that it takes; what is missing behind that is not made to fit."""
    monkeypatch.setattr(channels_compared, "FEW", few)

    def rows(contents: str) -> Table:
        channel = Channel('["fifo","a",0,"b",1]', fifo=True)
        for index, each in enumerate(contents, 1):
            channel.add(stable_digest(each.encode()), index, index)
        return channel.table()

    compared = compare(rows("xyz"), rows(taken), fifo=True)

    fits = [each for each in taken if "xyz".find(each) == taken.index(each) + lag]
    assert len(compared.bad) == len(taken) - len(fits)
    assert compared.origins.tolist() == [
        [taken.index(each) + 1, "xyz".index(each) + 1, taken.index(each) + 1] for each in fits
    ]


# ---------------------------------------------------------------- what nobody can tell


def test_a_hole_is_inconclusive_and_ends_the_conforming_prefix(
    traces: Records, tmp_path: Path
) -> None:
    del traces["b"][3]

    verdict = judged(traces, tmp_path / "t")

    assert verdict.verdict == "inconclusive"
    assert verdict.conforming["b.0"] == 2
    reason = "event 3 is missing: what follows cannot be checked"
    assert reason in {finding.reason for finding in verdict.findings}


def test_no_footer_is_inconclusive_unless_the_node_was_killed(
    traces: Records, tmp_path: Path
) -> None:
    traces["b"].pop()
    verdict = judged(traces, tmp_path / "t")
    assert verdict.verdict == "inconclusive"
    assert "no footer" in verdict.findings[0].reason

    crash = {"kind": "crash", "run": "r1", "node": "b", "incarnation": 0}
    assert judged(traces, tmp_path / "t", crash).verdict == "holds"


def test_a_missing_file_is_inconclusive(traces: Records, tmp_path: Path) -> None:
    del traces["a"]

    verdict = judged(traces, tmp_path / "t")

    assert verdict.verdict == "inconclusive"
    reasons = {finding.reason for finding in verdict.findings}
    assert "there is no file of node a" in reasons
    assert any("the records of a.0 do not show its sending" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ('{"kind":"event"}', "not a trace record"),
        ({"action": "Fly"}, "handover has no action 'Fly'"),
        ({"args": {"sender": "b"}}, "args: "),
        ({"args": {"sender": "b", "turn": "x"}}, "args: turn: 'x' is no int"),
        ({"args": {"sender": "b", "turn": 1, "colour": 2}}, "args: ReceiveThanks has no colour"),
        ({"received": None}, "consumes a message, and none is named"),
        ({"received": ["fifo", "c", 0, "a", 0, 1]}, "and the sender is"),
        ({"received": ["x", "b", 0, "a", 0, 1]}, "is not an id of channel 'fifo'"),
        ({"node": "b"}, "of another run, node or incarnation"),
        ({"protocol": "other"}, "an event of 'other'"),
        ({"index": 1}, "index 1 came before"),
    ],
)
def test_what_cannot_be_used_is_in_quarantine(
    traces: Records, tmp_path: Path, line: Any, reason: str
) -> None:
    place = traces["a"].index(events(traces, "a", "ReceiveThanks")[-1])
    bad = line if isinstance(line, str) else {**traces["a"][place], **line}
    traces["a"][place] = bad

    verdict = judged(traces, tmp_path / "t")

    assert verdict.verdict == "inconclusive"
    (problem,) = verdict.problems
    assert reason in problem.reason
    assert problem.line == place + 1


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"version": 2}, "version 2"),
        ({"protocol": "nothing"}, "protocol 'nothing': this reader knows flush, frag, gms"),
        ({"initial": None}, "in which state the node begins"),
        ({"initial": {"node": "a"}}, "initial: peers is missing"),
        ({"constants": {"luck": 1}}, "constants: "),
        ({"nodes": ["b"]}, "is not among the header's nodes"),
    ],
)
def test_a_header_that_cannot_be_used_puts_the_file_in_quarantine(
    traces: Records, tmp_path: Path, header: dict[str, Any], reason: str
) -> None:
    traces["a"][0] |= header
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in traces["a"]))

    (verdict,) = check_paths([folder / "a.jsonl"])

    assert verdict.verdict == "inconclusive"
    assert verdict.events == 0
    assert any(reason in problem.reason for problem in verdict.problems)


def test_a_second_file_of_a_process_is_not_used(traces: Records, tmp_path: Path) -> None:
    judged(traces, tmp_path / "t")
    (tmp_path / "t" / "twin.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in traces["a"])
    )

    (verdict,) = check_paths(sorted((tmp_path / "t").iterdir()))

    assert verdict.verdict == "inconclusive"
    assert "a second file for r1 a.0" in verdict.problems[0].reason


SEQUENCER_TRACES = Path(__file__).parents[1] / "traces" / "sequencer"


def test_the_verb_judges_the_protocols_of_a_mixed_folder_apart(
    traces: Records, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from raincheck.__main__ import main

    wrong_variable(traces)
    judged(traces, tmp_path / "t")
    for path in (SEQUENCER_TRACES / "holds-join").glob("*.jsonl"):
        (tmp_path / "t" / path.name).write_bytes(path.read_bytes())

    code = main(["conform", "--json", "--quiet", "--out", str(tmp_path / "o"), str(tmp_path / "t")])

    assert code == 1
    results = json.loads(capsys.readouterr().out)["results"]
    by_protocol = {r["protocol"]: r for r in results if ": " not in r["name"] or "events" in r}
    assert by_protocol["sequencer"]["verdict"] == "holds"
    assert by_protocol["handover"]["name"] == "r1: handover"
    assert by_protocol["handover"]["verdict"] == "violated"
    assert by_protocol["handover"]["first"]["index"] == 1
    text = (tmp_path / "o" / "r1__handover.findings.txt").read_text()
    assert "turn" in text


def test_a_lost_record_accuses_nobody(tmp_path: Path) -> None:
    for node in ("a", "b"):
        for place in range(1, len(talk()[node]) - 1):
            records = talk()
            del records[node][place]
            complaints = complaints_of(tmp_path, records)
            assert complaints[0] == "r1: inconclusive", (node, place, complaints)
            assert any("missing" in each for each in complaints), (node, place, complaints)
    records = files(note("a", 1, 1), note("a", 2, 2))
    del records["a"][1]
    assert complaints_of(tmp_path, records)[0] == "r1: inconclusive"


def test_a_constant_of_another_type_or_name_is_refused(tmp_path: Path) -> None:
    for constants in ({"luck": 1}, {"limit": "maybe"}):
        records = talk()
        records["b"][0]["constants"] = constants
        assert any("constants: " in each for each in complaints_of(tmp_path, records)), constants


def test_a_listed_node_without_a_file_is_missed_unless_it_is_said_to_be_absent(
    tmp_path: Path,
) -> None:
    records = talk()["a"]
    records = [records[0], records[3] | {"index": 1}, records[-1] | {"index": 1}]
    text = "".join(json.dumps(each) + "\n" for each in records)
    for folder in ("silent", "said"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "r1.a.jsonl").write_text(text)
    absent = json.dumps({"kind": "absent", "run": "r1", "node": "b"})
    (tmp_path / "said" / "faults.jsonl").write_text(absent + "\n")
    with known():
        (silent,) = check_paths([tmp_path / "silent"])
        (said,) = check_paths([tmp_path / "said"])

    assert [each.reason for each in silent.findings] == ["there is no file of node b"]
    assert silent.verdict == "inconclusive"
    assert (said.verdict, said.findings) == ("holds", [])


def test_a_life_between_two_others_is_missed(tmp_path: Path) -> None:
    header, *_, footer = talk()["a"]
    for life in (0, 2):
        mine = (header | {"incarnation": life}, footer | {"incarnation": life, "index": 0})
        text = "".join(json.dumps(each) + "\n" for each in mine)
        (tmp_path / f"r1.a.{life}.jsonl").write_text(text)
    with known():
        (verdict,) = check_paths([tmp_path])

    reasons = [each.reason for each in verdict.findings]
    assert "there is no file of life 1 of node a" in reasons
    assert "there is no file of life 0 of node a" not in reasons


def verdict_on(folder: Path, records: Records) -> RunVerdict:
    for node, lines in records.items():
        text = "".join(json.dumps(each) + "\n" for each in lines)
        (folder / f"r1.{node}.jsonl").write_text(text)
    with known():
        (verdict,) = check_paths([folder])
    return verdict


def test_contents_that_differ_are_in_the_finding_as_both_ends_have_them(tmp_path: Path) -> None:
    records = talk()
    records["a"][4]["args"]["number"] = 6
    records["a"][4]["told"] = [["Heard", [6]]]
    (finding,) = located(verdict_on(tmp_path, records)).findings

    assert finding.reason == '["fifo","b",0,"a",0,1] was sent with other contents'
    (difference,) = finding.differences
    assert (difference.name, difference.expected, difference.recorded) == (
        "contents",
        {"number": 5},
        {"number": 6},
    )
    text = describe(finding)
    assert 'contents: expected {"number":5}' in text
    assert 'recorded {"number":6}' in text
    assert finding.line == 5


def test_contents_of_a_run_of_messages_are_looked_up_in_the_run_that_holds_it(
    tmp_path: Path,
) -> None:
    trace = copy(trace_of(1))
    on(C, "ReceiveData", sets(args__crc=1))(trace)
    write_trace(tmp_path, trace)
    (verdict,) = check_paths([tmp_path])
    finding = next(each for each in located(verdict).findings if each.sent_by is not None)
    (difference,) = finding.differences

    assert difference.recorded == {"crc": 1}
    assert difference.expected["crc"] not in (1, None)
