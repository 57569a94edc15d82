"""A case that holds is evidence only if each property was really asked (`check --sanity`)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.cases.tables import HOLDS, Case, load_cases
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.cells import tlc_cell
from raincheck.conformance.tlc.exercises import (
    Watch,
    exercised_names,
    reached,
    unexercised,
    watch_of,
)
from raincheck.conformance.tlc.tlc import TlcResult

LAMP = """------------------------------- MODULE Lamp -------------------------------
EXTENDS Naturals
CONSTANTS Most, Breaks
VARIABLES lit, switched, broken
vars == <<lit, switched, broken>>
Init == lit = FALSE /\\ switched = 0 /\\ broken = FALSE
Switch ==
    switched < Most /\\ ~broken /\\ lit' = ~lit /\\ switched' = switched + 1 /\\ broken' = broken
Break == Breaks /\\ switched > 3 /\\ broken' = TRUE /\\ lit' = lit /\\ switched' = switched
Spec == Init /\\ [][Switch \\/ Break]_vars /\\ WF_vars(Switch)
Never == Spec /\\ []<>(switched > Most)
Odd == lit => switched % 2 = 1
OddExercise == lit
Later == switched > 1 => switched # 7
LaterExercise == switched > 1
Ends == <>(switched = Most \\/ broken)
EndsExercise == switched < Most
BreaksExercise == broken
GoesExcused == <>(switched > 0)
Goes == Ends \\/ GoesExcused
GoesExercise == switched < Most
WholeExcused == <>broken
Whole == Ends \\/ WholeExcused
WholeExercise == switched < Most
FailsExcused == <>(switched = Most)
Fails == Ends \\/ FailsExcused
FailsExercise == switched < Most
Unasked == switched <= Most
=============================================================================
"""

TABLE = """
module = "Lamp"
specification = "Spec"
temporal = ["Ends"]
[usual]
Most = 2
Breaks = false
[case.two]
words = "switched twice"
ask = ["Odd", "Later", "Ends"]
holds = { distinct = 3 }
tier = "quick"
rule = "R1"
"""


@pytest.fixture
def lamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec" / "cases").mkdir(parents=True)
    (tmp_path / "spec" / "Lamp.tla").write_text(LAMP)
    table = tmp_path / "spec" / "cases" / "lamp.toml"
    table.write_text(TABLE)
    return table


def check(table: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict]:
    code = main(["check", "--catalog", str(table), "--json", *words])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    return code, result


def case_of(table: Path) -> Case:
    (case,) = load_cases(table)
    return case


@pytest.mark.java
def test_a_case_that_exercises_what_it_asks_holds(
    lamp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, first = check(lamp, capsys, "--sanity")
    assert (code, first["verdict"], first["distinct_states"]) == (0, "holds", 3)
    assert first["exercised"] == ["Odd", "Later", "Ends"]
    assert first["not_asked_in_arbitrary_states"] == ["Odd", "Later"]  # there is no model

    _, second = check(lamp, capsys, "--sanity")
    assert (second["cached"], second["exercised"]) == (True, ["Odd", "Later", "Ends"])


@pytest.mark.java
def test_without_sanity_nothing_is_asked_of_exercises(
    lamp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lamp.write_text(TABLE.replace("Most = 2", "Most = 1").replace("distinct = 3", "distinct = 2"))

    code, result = check(lamp, capsys)

    assert (code, result["verdict"], "exercised" in result) == (0, "holds", False)


@pytest.mark.java
@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("Most = 2", "Most = 1", "vacuous: no state of 2 exercises Later;"),
        ("Breaks = false", "Breaks = true", "vacuous: no state of 3 exercises Breaks;"),
        ('"Ends"', '"Goes"', "vacuous: Goes: no fair behaviour has to keep it"),
        ('"Odd", ', '"Unasked", ', "Unasked: no Exercise in Lamp.tla says"),
        ('"Spec"', '"Never"', "vacuous: Ends: no fair behaviour has to keep it"),
        ("holds = {", 'idle = ["Later"]\nholds = {', "exercises Later, which"),
    ],
)
def test_a_case_that_says_less_than_it_seems_to_is_inconclusive(
    lamp: Path, capsys: pytest.CaptureFixture[str], was: str, becomes: str, said: str
) -> None:
    lamp.write_text(TABLE.replace(was, becomes).replace("distinct = 3", ""))

    code, result = check(lamp, capsys, "--sanity")

    assert (code, result["verdict"]) == (2, "inconclusive")
    assert said in result["detail"]


@pytest.mark.java
def test_no_one_behaviour_need_refute_all_excuses(
    lamp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TABLE.replace("Most = 2", "Most = 5").replace("distinct = 3", "")
    text = text.replace("Breaks = false", "Breaks = true")
    asked = ("Whole", "Fails")
    lamp.write_text(text.replace('"Ends"', ", ".join(f'"{name}"' for name in asked)))

    code, result = check(lamp, capsys, "--sanity")

    assert (code, result["verdict"]) == (0, "holds"), result["detail"]
    watch = watch_of(case_of(lamp))
    together, apart = watch.impossible(case_of(lamp).configuration())
    assert (len(together), len(apart)) == (1, 2)


def test_a_property_of_steps_alone_needs_no_fair_behaviour() -> None:
    cases = {case.name: case for case in load_cases()}

    def asks(name: str) -> list[tuple[str, ...]]:
        found = watch_of(cases[name]).impossible(cases[name].configuration())
        return [tuple(each.text.split()[-1] for each in group) for group in found]

    assert "RefinesTotalOrder" in cases["total-join"].temporal
    assert asks("total-join") == []
    assert asks("sequencer-return-service") == []
    assert asks("sequencer-crash") == [("RaincheckExercisesImpossible",)], "it asks Validity too"
    assert asks("locks-crash") == [], "it asks for no temporal property"
    assert asks("raincore-want-arrives") == [("MCDeliveredExcused",)]


@pytest.mark.parametrize(
    ("fairness", "asked"),
    [
        ("", 0),
        (" /\\ WF_vars(Next)", 1),
        ("\n    /\\ WF_vars(Next)", 1),
        ("\n\n  /\\ WF_vars(Next)", 1),
    ],
)
def test_a_specification_with_fairness_is_no_property_of_steps(
    lamp: Path, fairness: str, asked: int
) -> None:
    spec = lamp.parents[1]
    (spec / "Bulb.tla").write_text(
        "---- MODULE Bulb ----\nVARIABLE lit\nvars == lit\nInit == lit = FALSE\n"
        f"Next == lit' = ~lit\nSpec == Init /\\ [][Next]_vars{fairness}\n\n====\n"
    )
    text = LAMP.replace(
        "Ends == <>", "Service == INSTANCE Bulb\nRefines == Service!Spec\nEnds == <>"
    )
    (spec / "Lamp.tla").write_text(text)
    lamp.write_text(TABLE.replace('"Ends"', '"Refines"'))
    case = case_of(lamp)

    assert case.temporal == {"Refines"}
    assert len(list(watch_of(case).impossible(case.configuration()))) == asked


@pytest.mark.java
def test_what_a_case_calls_idle_need_not_be_exercised(
    lamp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TABLE.replace("Most = 2", "Most = 1").replace("distinct = 3", "distinct = 2")
    lamp.write_text(text.replace("holds = {", 'idle = ["Later"]\nholds = {'))

    code, result = check(lamp, capsys, "--sanity")

    assert (code, result["verdict"], result["exercised"]) == (0, "holds", ["Odd", "Ends"])


def test_idle_names_what_the_case_has(lamp: Path) -> None:
    for idle in ('["Oddd"]', '["Odd", "Odd"]'):
        lamp.write_text(TABLE.replace("holds = {", f"idle = {idle}\nholds = {{"))
        with pytest.raises(UsageError, match=r"case two: idle has Odd+, "):
            load_cases(lamp)
    lamp.write_text(TABLE.replace("holds = { distinct = 3 }", 'idle = ["Odd"]\nbreaks = "Odd"'))
    with pytest.raises(UsageError, match="idle is for a case that holds"):
        load_cases(lamp)


def test_a_missed_exercise_is_named_whatever_else_was_reached(lamp: Path) -> None:
    case = case_of(lamp)
    found = TlcResult("holds", distinct_states=3, exercised=("OddExercise", "EndsExercise"))

    assert "exercises Later;" in unexercised(case, found)
    assert unexercised(replace(case, idle=frozenset({"Later"})), found) == ""
    assert "no fair behaviour has" in unexercised(
        replace(case, idle=frozenset({"Later"})), replace(found, fair=False)
    )
    assert exercised_names(case, found) == ["Odd", "Ends"]


def test_only_the_notes_of_exercises_count() -> None:
    output = (
        '<<"raincheck exercise", "OddExercise">>\n"OddExercise"\n<<"other", "LaterExercise">>\n'
        '<<"raincheck exercise", "EndsExercise">>\n<<"raincheck exercise", "OddExercise">>\n'
    )
    assert reached(output) == ("OddExercise", "EndsExercise")
    assert "TLCSet(1, FALSE)" in Watch("Lamp", ("OddExercise",)).text()


def test_a_property_that_no_instance_exercises_is_inconclusive_in_an_audit(lamp: Path) -> None:
    case = case_of(lamp)
    idle = replace(case, name="lamp-idle", idle=frozenset({"Later"}))
    entry = {"name": "", "protocol": "lamp", "verdict": "holds", "distinct_states": 3}
    checked = {"lamp-two": entry, "lamp-idle": entry}

    assert tlc_cell([idle], [idle], "Later", checked).verdict == "inconclusive"
    cell = tlc_cell([case, idle], [case, idle], "Later", checked)
    assert (cell.verdict, cell.text[:20]) == ("holds", "1 instances, 3 state")


def test_every_property_of_the_catalog_has_an_exercise() -> None:
    holding = [case for case in load_cases() if case.expected == HOLDS]
    assert len(holding) > 200
    for case in holding:
        assert "no Exercise" not in unexercised(case, TlcResult(HOLDS)), case.name
