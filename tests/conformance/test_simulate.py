"""A case that is too large is simulated: what is not found in random behaviours does not hold."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.cases.tables import (
    NOT_FOUND,
    Assumption,
    Case,
    Simulation,
    load_cases,
    select,
)
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.cells import mirror_cell, tlc_cell
from raincheck.conformance.evidence.needs import needs_of
from raincheck.conformance.tlc.tlc import Options, tlc_command
from raincheck.conformance.verbs.check import options_for

LAMP = """------------------------------- MODULE Lamp -------------------------------
EXTENDS Naturals
CONSTANT Most
VARIABLES lit, switched
Init == lit = FALSE /\\ switched = 0
Switch == switched < Most /\\ lit' = ~lit /\\ switched' = switched + 1
Spec == Init /\\ [][Switch]_<<lit, switched>>
Odd == lit => switched % 2 = 1
OddExercise == lit
Later == switched > 1 => switched # 9
LaterExercise == switched > 1
Ends == <>(switched = Most)
=============================================================================
"""

SIMULATED = """
module = "Lamp"
specification = "Spec"
[usual]
Most = 2
[case.two]
words = "switched twice"
ask = ["Odd", "Later"]
simulate = { behaviours = 40, depth = 6, seed = 3 }
tier = "full"
rule = "R1"
"""


@pytest.fixture
def lamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Lamp.tla").write_text(LAMP)
    table = tmp_path / "lamp.toml"
    table.write_text(SIMULATED)
    return table


def case_of(table: Path) -> Case:
    (case,) = load_cases(table)
    return case


def check(table: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict]:
    code = main(["check", "--catalog", str(table), "--tier", "full", "--json", "--sanity"])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    return code, result


@pytest.mark.java
def test_what_no_behaviour_breaks_is_not_found_and_does_not_hold(
    lamp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = check(lamp, capsys)

    assert (code, result["verdict"], result["expected"]) == (0, "not found", "not found")
    assert (result["behaviours"], result["exercised"]) == (40, ["Odd", "Later"])
    assert result["generated_states"] > 40


@pytest.mark.java
@pytest.mark.parametrize(
    ("was", "becomes", "code", "verdict"),
    [
        ("Most = 2", "Most = 1", 2, "inconclusive"),
        ("Most = 2", "Most = 8", 0, "not found"),
        ("Most = 2\n", "Most = 9\n", 1, "Later"),
        ("depth = 6", "depth = 1", 2, "inconclusive"),
    ],
)
def test_behaviours_that_ask_nothing_or_break_something_are_no_success(
    lamp: Path,
    capsys: pytest.CaptureFixture[str],
    was: str,
    becomes: str,
    code: int,
    verdict: str,
) -> None:
    text = SIMULATED.replace(was, becomes)
    lamp.write_text(text.replace("depth = 6", "depth = 12") if code == 1 else text)

    found, result = check(lamp, capsys)

    assert (found, result["verdict"]) == (code, verdict)


def test_the_behaviours_and_their_seed_are_in_the_question(lamp: Path) -> None:
    case = case_of(lamp)

    assert (case.expected, case.simulate) == (NOT_FOUND, Simulation(40, 6, 3))
    assert "no violation is found in 40 random behaviours" in case.cfg_text()
    options = Options(seed=9, simulate=case.simulate)
    command = tlc_command(Path("M.tla"), Path("M.cfg"), Path("."), options)
    assert "-simulate num=40 -depth 6 -workers 1 -seed 3" in " ".join(command)


def test_a_million_behaviours_are_a_long_run(lamp: Path) -> None:
    case = case_of(lamp)
    million = replace(case, simulate=Simulation(1_000_000, 6, 3))

    assert options_for(case, Options()).short
    assert not options_for(million, Options()).short


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("seed = 3", "seed = 0", "simulate needs behaviours, depth and seed, above 0"),
        (", seed = 3", "", "simulate needs behaviours, depth and seed, above 0"),
        ("simulate = {", "holds = {}\nsimulate = {", "give one key"),
        ('tier = "full"', 'tier = "quick"', "a quick case is checked, not simulated"),
        ('"Later"]', '"Later", "Ends"]', "Ends is temporal and cannot be simulated"),
    ],
)
def test_a_simulation_that_could_not_be_repeated_or_says_nothing_is_refused(
    lamp: Path, was: str, becomes: str, said: str
) -> None:
    text = SIMULATED.replace(
        'specification = "Spec"', 'specification = "Spec"\ntemporal = ["Ends"]'
    )
    if "Ends" not in becomes:
        text = SIMULATED
    lamp.write_text(text.replace(was, becomes))

    with pytest.raises(UsageError, match=said):
        load_cases(lamp)


def test_a_simulated_case_is_no_evidence_that_a_property_holds(lamp: Path) -> None:
    case = case_of(lamp)
    entry = {"name": "", "protocol": "lamp", "verdict": NOT_FOUND, "expected": NOT_FOUND}
    checked = {
        "lamp-two": entry,
        "lamp-all": {**entry, "verdict": "holds", "expected": "holds", "distinct_states": 3},
    }

    cell = tlc_cell([case], [case], "Later", checked)
    assert (cell.verdict, cell.text) == ("inconclusive", "not found in 40 behaviours")
    whole = replace(case, name="lamp-all", expected="holds", simulate=None)
    cell = tlc_cell([case, whole], [case, whole], "Later", checked)
    assert (cell.verdict, cell.text[:20]) == ("holds", "1 instances, 3 state")
    lacking = [Assumption("Most", "lamp", "", "")]
    assert mirror_cell([case], {}).verdict == "inconclusive"
    assert needs_of([replace(case, assumed={"Most": 3})], lacking) == {}


def test_a_simulated_case_has_no_graph_to_compare_or_to_replay(lamp: Path) -> None:
    case = case_of(lamp)

    assert select([case], tier="full") == (case,)
    with pytest.raises(UsageError):
        select([case], tier="full", modelled=True)
