"""The damage suite: what it damages, who judges it, and that a bad checker would be seen."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from raincheck.__main__ import main
from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.cases.tables import load_cases, select
from raincheck.conformance.damage import suite
from raincheck.conformance.damage.files import Files
from raincheck.conformance.damage.kinds import altered
from raincheck.conformance.damage.lies import LIES, Liar
from raincheck.conformance.damage.outcome import judges_runs, result_of
from raincheck.conformance.damage.raw import KINDS
from raincheck.conformance.damage.second import BEHAVIOUR, INCOHERENT, NONE, OUTSIDE, Judge
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.protocols.registry import offering
from raincheck.conformance.replay.replayable import Replayable
from raincheck.conformance.trace.generator import record_walk
from raincheck.conformance.trace.run import check_paths
from raincheck.model.machine.composed import Composed

Capture = pytest.CaptureFixture[str]
PROTOCOLS = ("unicast", "nakack", "flush", "stable", "gms", "state_transfer", "merge2", "raincore")


@cache
def systems_of(protocol: str) -> list[Composed[Any, Any]]:
    found = Replayable(binding_of(protocol), select(load_cases(), names=[protocol])).instances()
    return [each.system for group in found.values() for each in group]


def walked(protocol: str, folder: Path, seed: int = 1) -> tuple[Composed[Any, Any], Files]:
    systems = systems_of(protocol)
    system = systems[seed % len(systems)]
    record_walk(binding_of(protocol), system, folder, seed=seed, steps=20)
    return system, Files.read(folder)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_second_judge_finds_good_walks_to_be_behaviours(protocol: str, tmp_path: Path) -> None:
    for seed in range(6):
        folder = tmp_path / str(seed)
        folder.mkdir()
        system, files = walked(protocol, folder, seed)

        assert Judge(binding_of(protocol), system).verdict(files) == BEHAVIOUR


def _another_state(files: Files) -> None:
    event = next(event for *_, event in files.events() if event["changed"])
    event["changed"] = dict.fromkeys(event["changed"], 99)


def _other_contents(files: Files) -> None:
    sent = next(event for *_, event in files.events() if event["sent"])["sent"]
    sent[0]["content"] = altered(Random(1), sent[0]["content"])


def _unnumbered(files: Files) -> None:
    next(iter(files.events()))[2]["index"] = 7


def _alone(files: Files) -> None:
    del files.records[files.nodes()[0]]


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (_another_state, NONE),
        (_other_contents, NONE),
        (_unnumbered, INCOHERENT),
        (_alone, INCOHERENT),
    ],
)
def test_the_second_judge_finds_a_lie(
    change: Callable[[Files], None], verdict: str, tmp_path: Path
) -> None:
    system, files = walked("flush", tmp_path, 3)
    change(files)

    assert Judge(binding_of("flush"), system).verdict(files) == verdict


def test_what_only_the_layers_around_could_deny_is_outside(tmp_path: Path) -> None:
    found = set()
    for seed in range(12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        system, files = walked("stable", folder, seed)
        liar = Liar(binding_of("stable"), system)
        if liar.tell(Random(seed), files, LIES["an event repeated, and what follows"]):
            found.add(Judge(binding_of("stable"), system).verdict(files))

    assert OUTSIDE in found
    assert INCOHERENT not in found


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_damage_changes_a_run(kind: str, tmp_path: Path) -> None:
    for seed in range(40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        _, files = walked("gms", folder, seed)
        damaged = files.copy()
        if any(files.events()) and KINDS[kind].damage(Random(seed), damaged):
            assert (damaged.records, damaged.raw) != (files.records, files.raw)
            assert files.records == Files.read(folder).records
            return
    pytest.fail(f"no run can have it: {kind}")


def test_the_checker_notices_nearly_all_and_accuses_nobody() -> None:
    tally = suite.tried(binding_of("unicast"), systems_of("unicast"), 58, 1)

    assert (tally.alarms, tally.count(suite.ACCUSED)) == ([], 0)
    assert tally.recall >= 0.95
    assert result_of(tally, 0.0).verdict == HOLDS


@pytest.mark.parametrize(
    ("always", "alarms"), [(HOLDS, False), (VIOLATED, True), (INCONCLUSIVE, False)]
)
def test_a_checker_that_always_says_the_same_is_found_out(
    always: str, alarms: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "found_on", lambda _folder: (always, set()))

    tally = suite.tried(binding_of("unicast"), systems_of("unicast"), 58, 1)

    assert bool(tally.alarms) == alarms
    assert (tally.recall == 0) == (always == HOLDS)
    assert bool(tally.count(suite.ACCUSED)) == alarms
    if always != INCONCLUSIVE:
        assert result_of(tally, 0.0).verdict == VIOLATED


def test_a_chunk_that_was_garbled_on_its_way_accuses_nobody(tmp_path: Path) -> None:
    binding, systems = binding_of("state_transfer"), systems_of("state_transfer")
    garbled = 0
    for number in range(19, 80, 6):
        folder = tmp_path / str(number)
        folder.mkdir()
        record_walk(binding, systems[number % 6], folder, seed=number, steps=20)
        garbled += '"sound":false' in "".join(path.read_text() for path in folder.iterdir())
        assert suite.verdict_on(folder) == HOLDS
    assert garbled


def test_the_verb_says_what_was_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)

    code = main(["mutate", "unicast", "--traces", "40", "--json", "--out", "found"])

    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (code, result["name"], result["verdict"]) == (0, "unicast-damage", "holds")
    assert result["good"] == result["damaged"] == 40
    kinds = json.loads((tmp_path / "found" / "damage.json").read_text())["kinds"]["unicast"]
    assert sum(sum(counted.values()) for counted in kinds.values()) == 40


@pytest.mark.parametrize("words", [["unicats", "--traces", "3"], ["--traces", "0"]])
def test_a_wrong_call_is_refused(words: list[str], capsys: Capture) -> None:
    assert main(["mutate", *words]) == 3
    assert "Traceback" not in capsys.readouterr().err


def test_only_a_protocol_that_promises_no_traces_is_left_out_of_the_suite() -> None:
    there = {each.name: each for each in offering("binding")}
    left_out = {name for name in there if not judges_runs(binding_of(name))}

    assert left_out == {"ring_start"}
    assert all("traces" not in there[name].links for name in left_out)


def test_how_a_life_without_events_begins_is_judged_too(tmp_path: Path) -> None:
    binding = binding_of("total")
    for seed in range(60):
        folder = tmp_path / str(seed)
        folder.mkdir()
        system, files = walked("total", folder, seed)
        name = next((n for n in files.nodes() if len(files.records[n]) <= 2), None)
        header = files.records[name][0] if name else {"initial": {"members": []}}
        if header["initial"]["members"]:
            break
    assert Judge(binding, system).verdict(files) == BEHAVIOUR

    header["initial"] |= {"members": [*reversed(header["initial"]["members"])], "next_id": 0}

    assert Judge(binding, system).verdict(files) != BEHAVIOUR


@pytest.mark.parametrize("members", [[], [["b", 0]]])
def test_a_node_that_begins_without_itself_is_a_finding(
    members: list[list[Any]], tmp_path: Path
) -> None:
    _, files = walked("total", tmp_path)
    header = next(files.records[name][0] for name in files.nodes() if name.startswith("walk.a."))
    header["initial"] |= {"members": members}
    files.write(tmp_path / "damaged")

    findings = [each for run in check_paths([tmp_path / "damaged"]) for each in run.findings]

    assert "a node does not begin like this" in {finding.reason for finding in findings}


def test_behind_a_hole_no_state_of_a_ring_is_guessed(tmp_path: Path) -> None:
    """Without its first event, what a member says later does not add up to a state."""
    holed = guessed = 0
    for seed in range(40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        _, files = walked("raincore", folder, seed)
        long = [name for name in files.nodes() if len(files.records[name]) > 3]
        for name in long:
            del files.records[name][1]
        files.write(folder / "damaged")

        found, broken = suite.found_on(folder / "damaged")
        assert found == INCONCLUSIVE or not long
        holed += len(long)
        guessed += len(broken)

    assert holed > 40
    assert guessed == 0
