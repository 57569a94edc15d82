"""The verb generate on a protocol that has binding: its results, its evidence, its files."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from raincheck.__main__ import main
from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE
from raincheck.conformance.replay.replay import replay
from raincheck.conformance.trace.recorded_walks import TRACED, recorded
from raincheck.testing import assert_conforms


@pytest.fixture(autouse=True)
def catalog(toy: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raincheck.conformance.verbs.generate.load_cases", lambda: (toy.case,))


def generate(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, *words: str
) -> tuple[int, dict[str, Any], str]:
    code = main(
        ["generate", "--json", "--quiet", "--no-cache", "--out", str(tmp_path / "out"), *words]
    )
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else {}, said.err


def test_every_edge_every_guard_and_random_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, outcome, _ = generate(capsys, tmp_path, "--examples", "20")

    assert code == 0
    found = {result["name"]: result for result in outcome["results"]}
    assert list(found) == ["handover-small", "handover-lockstep", "handover-coverage"]
    assert found["handover-small"]["covered"] == found["handover-small"]["edges"] > 100
    assert found["handover-lockstep"]["examples"] == 20
    coverage = found["handover-coverage"]
    assert (coverage["reached"], coverage["actions"]) == (5, 5)
    assert (coverage["seen_false"], coverage["guards"]) == (3, 3)
    assert outcome["reproduce"] == "raincheck generate --examples 20"


def test_one_system_is_replayed_once_whatever_is_asked_of_it(
    toy: SimpleNamespace,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, value = next((k, v) for k, v in toy.case.constants.items() if type(v) is int)
    twin = replace(toy.case, name="handover-twin", properties=())
    other = replace(
        toy.case, name="handover-other", constants={**toy.case.constants, name: value + 1}
    )
    cases = (toy.case, twin, other)
    monkeypatch.setattr("raincheck.conformance.verbs.generate.load_cases", lambda: cases)
    replayed: list[str] = []

    def counted(prepared: Any, **how: Any) -> Any:
        replayed.append(prepared.name)
        return replay(prepared, **how)

    monkeypatch.setattr("raincheck.conformance.verbs.generate.replay", counted)

    code, outcome, _ = generate(capsys, tmp_path, "--examples", "0")

    assert code == 0
    found = {result["name"]: result for result in outcome["results"]}
    assert replayed == ["handover-small", "handover-other"]
    assert {**found["handover-twin"], "name": "handover-small"} == found["handover-small"]
    assert found["handover-other"]["edges"] != found["handover-small"]["edges"]

    assert generate(capsys, tmp_path, "--out-schedules", str(tmp_path / "walks"))[0] == 0
    assert replayed[2:] == ["handover-small", "handover-twin", "handover-other"]


def test_a_mismatch_is_kept_and_can_be_played_again(
    toy: SimpleNamespace,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(toy.core.Handover, "_receive_thanks", lambda *_: [])

    code, outcome, _ = generate(capsys, tmp_path)

    assert code == 1
    found = {result["name"]: result["verdict"] for result in outcome["results"]}
    assert found["handover-small"] == found["handover-lockstep"] == "violated"
    # What was not taken after that says nothing of its own.
    (covered,) = [each for each in outcome["results"] if each["name"] == "handover-coverage"]
    assert covered["verdict"] == "inconclusive"
    assert covered["detail"] == "not judged: a replay ended early, at a mismatch"
    words = outcome["reproduce"].split()
    assert words[:3] == ["raincheck", "generate", "handover-small"]
    text = (tmp_path / "out" / "handover-small.mismatch.txt").read_text()
    assert "thanked[a]: expected frozenset({('b', 1)}), is frozenset()" in text

    # ... as the command says, and from the schedule.
    assert generate(capsys, tmp_path, *words[2:])[0] == 1
    schedule = tmp_path / "out" / "handover-small.schedule.jsonl"
    assert generate(capsys, tmp_path, "--schedule", str(schedule))[0] == 1
    monkeypatch.undo()
    monkeypatch.setattr("raincheck.conformance.verbs.generate.load_cases", lambda: (toy.case,))
    assert generate(capsys, tmp_path, "--schedule", str(schedule))[0] == 0


def test_all_walks_can_be_written_and_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "walks.jsonl"
    assert generate(capsys, tmp_path, "--examples", "0", "--out-schedules", str(file))[0] == 0

    code, outcome, _ = generate(capsys, tmp_path, "--schedule", str(file))

    assert code == 0
    assert len(outcome["results"]) == len(file.read_text().splitlines()) > 10


def test_a_schedule_that_does_not_fit_is_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    record = {"protocol": "handover", "case": "handover-small", "steps": [{"action": "Fly"}]}
    file = tmp_path / "walks.jsonl"
    for steps, sentence in (
        ([{"args": []}], "has no action"),
        ([{"action": "Fly", "args": "a"}], "its args are no list"),
        ([{"action": "Fly", "args": []}], "step 1, Fly, is not possible in handover-small"),
    ):
        file.write_text(json.dumps({**record, "steps": steps}) + "\n")
        code, _, said = generate(capsys, tmp_path, "--schedule", str(file))
        assert code == 3
        assert sentence in said


def test_a_guard_that_is_never_false_is_a_finding(
    toy: SimpleNamespace,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guards = ("holds[n]", "never[n]")
    monkeypatch.setattr("raincheck.conformance.replay.coverage.guards_of", lambda _: guards)

    code, outcome, _ = generate(capsys, tmp_path, "--examples", "2")

    assert code == 1
    (coverage,) = [r for r in outcome["results"] if r["name"] == "handover-coverage"]
    assert coverage["detail"] == "never false: never[n]"
    assert toy.case.protocol == "handover"


def test_a_repair_that_the_implementation_cannot_undo_leaves_the_case_out(
    toy: SimpleNamespace,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dataclasses import replace

    monkeypatch.setattr(toy.mapping, "BINDING", replace(toy.binding, switches={}))
    monkeypatch.setattr(
        toy.system, "machine", lambda _: toy.system.System(rules=toy.model.Rules(thanks=False))
    )

    _, outcome, _ = generate(capsys, tmp_path, "--examples", "2")

    (coverage,) = outcome["results"]
    assert coverage["left_out"] == ["handover-small"]
    assert coverage["verdict"] == "violated"


def test_walks_of_a_whole_protocol_are_recorded_and_conform(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "traces"

    code, outcome, _ = generate(capsys, tmp_path, "--examples", "0", "--traces", str(folder))

    assert code == 0
    found = {result["name"]: result for result in outcome["results"]}["handover-traces"]
    assert (found["verdict"], found["walks"]) == (HOLDS, TRACED)
    assert found["steps"] > TRACED
    assert len(list(folder.glob("handover-1-*.a.0.*.jsonl"))) == TRACED
    assert_conforms(folder)
    assert f"--traces {folder}" in outcome["reproduce"]

    code, _, said = generate(capsys, tmp_path / "again", "--traces", str(folder))
    assert code == 3
    assert "is not empty: name another folder" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["handover-small"], "--traces records whole protocols"),
        (["handover-small", "--walk", "1"], "--traces records whole protocols"),
        (["--schedule", "x.jsonl"], "leave names, --walk and --traces out"),
    ],
)
def test_traces_that_would_not_be_recorded_are_refused(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, said = generate(capsys, tmp_path, *words, "--traces", str(tmp_path / "traces"))

    assert code == 3
    assert sentence in said
    assert not (tmp_path / "traces").exists()


def test_nothing_recorded_is_inconclusive(toy: SimpleNamespace, tmp_path: Path) -> None:
    nobody = recorded(toy.binding, [], 1, tmp_path / "traces")
    assert (nobody.verdict, nobody.figures["walks"]) == (INCONCLUSIVE, 0)
    assert nobody.detail == "no instance could be walked"

    system = toy.system.machine({})
    other = replace(toy.binding, promised=binding_of("sequencer").promised)
    foreign = recorded(other, [system], 1, tmp_path / "traces")
    assert (foreign.verdict, foreign.figures["walks"]) == (INCONCLUSIVE, 0)
    assert "a form of their own" in foreign.detail
    assert not (tmp_path / "traces").exists()
