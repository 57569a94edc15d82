"""The cells that traces fill: what is judged one by one, and what no trace can show."""

from typing import Any

import pytest

from raincheck.conformance.cases.tables import HOLDS, load_cases
from raincheck.conformance.evidence.basis import Cell
from raincheck.conformance.evidence.tracecells import field_cell, trace_cell, traces_cell
from raincheck.conformance.evidence.witnesses import faults_of, witness
from raincheck.conformance.judges.planted_invariants import steps_tried
from raincheck.conformance.outcome import INCONCLUSIVE, VIOLATED
from raincheck.conformance.verbs.mutate import step_result


def result(protocol: str, name: str, verdict: str = HOLDS, **figures: Any) -> dict[str, Any]:
    return {"name": name, "protocol": protocol, "verdict": verdict, "expected": HOLDS, **figures}


def judged(*more: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Both engines' results of one run of GMS, SEQUENCER and others."""
    found = [
        result("gms", "r1: gms", events=40, files=2),
        result("gms", "r1: gms.SelfInclusion", judged={"members": 2, "states": 9, "pairs": 0}),
        result("sequencer", "r1: sequencer", events=70, files=2),
        result("sequencer", "r1: TotalOrder", judged={"members": 2, "views": 1, "messages": 5}),
        *more,
    ]
    each = {str(entry["name"]): entry for entry in found}
    return {"conform": each, "conform-spark": dict(each), "run": {}}


@pytest.mark.parametrize(
    ("protocol", "name", "verdict", "text"),
    [
        ("gms", "SelfInclusion", HOLDS, "1 runs, 40 events; judged over 2 members · 9 states"),
        ("gms", "NobodyIsLost", INCONCLUSIVE, "it asks nothing of these runs"),
        ("gms", "JoinerAtCut", INCONCLUSIVE, "no trace shows it: GMS's records do not have"),
        ("gms", "JoinCompletes", INCONCLUSIVE, "it speaks of what comes about in the end"),
        ("sequencer", "RefinesTotalOrder", INCONCLUSIVE, "a refinement is about the steps of all"),
        ("gms", "Beauty", INCONCLUSIVE, "no trace speaks of it"),
        ("stable", "VotesAreTrue", INCONCLUSIVE, "no trace of it"),
        ("sequencer", "TotalOrder", HOLDS, "1 runs, 70 events; judged over 2 members · 1 view"),
        ("sequencer", "NoCreation", HOLDS, "1 traces, 70 events, each one the model's"),
    ],
)
def test_a_cell_says_over_what_the_property_was_judged_or_why_it_was_not(
    protocol: str, name: str, verdict: str, text: str
) -> None:
    cell = traces_cell(judged(), name, protocol, field=True)

    assert cell.verdict == verdict
    assert text in cell.text
    assert field_cell(judged(), name, protocol) == cell


def test_an_invariant_that_a_trace_breaks_is_the_fault_of_that_property_alone() -> None:
    broken = result("gms", "r1: gms.SelfInclusion", VIOLATED, judged={"states": 9})
    by_name = judged(broken)

    assert traces_cell(by_name, "SelfInclusion", "gms", field=True).verdict == VIOLATED
    assert traces_cell(by_name, "NobodyIsLost", "gms", field=True) == Cell(
        INCONCLUSIVE, "it asks nothing of these runs"
    )


def in_parts(*runs: tuple[int, int], verdict: str = INCONCLUSIVE) -> Cell:
    """The cell of an invariant of two parts, each asked so often in each run."""
    found = []
    for number, counts in enumerate(runs, 1):
        idle = {} if all(counts) else {"verdict": verdict, "idle": verdict == INCONCLUSIVE}
        parts = dict(zip(("the one", "the other"), counts, strict=True))
        name = f"r{number}: nakack.Contiguous"
        found += [
            result("nakack", f"r{number}: nakack", events=9, files=2),
            result("nakack", name, judged={"states": sum(counts)}, parts=parts) | idle,
        ]
    return traces_cell(judged(*found), "Contiguous", "nakack", field=True)


@pytest.mark.parametrize(
    ("runs", "verdict", "text"),
    [
        ([(3, 1), (2, 2)], HOLDS, "2 runs, 18 events; judged over 8 states"),
        ([(3, 1), (2, 0)], HOLDS, "judged over 6 states; all of it asked in 1 of 2"),
        ([(3, 0), (0, 1)], HOLDS, "judged over 4 states; all of it asked in 0 of 2"),
        ([(3, 0), (2, 0)], INCONCLUSIVE, "these runs ask nothing of: the other; 2 runs"),
        ([(0, 0)], INCONCLUSIVE, "these runs ask nothing of: the one; the other; 1 runs"),
    ],
)
def test_a_cell_holds_only_if_each_part_of_the_invariant_was_asked(
    runs: list[tuple[int, int]], verdict: str, text: str
) -> None:
    cell = in_parts(*runs)

    assert cell.verdict == verdict
    assert text in cell.text


def test_a_part_that_nobody_asked_excuses_no_violation_of_another_one() -> None:
    assert in_parts((2, 0), verdict=VIOLATED).verdict == VIOLATED


def test_a_rule_of_which_no_run_says_anything_does_not_hold() -> None:
    silent = result("gms", "r1: gms.NobodyIsLost", INCONCLUSIVE, judged={"members": 0}, idle=True)
    cell = traces_cell(judged(silent), "NobodyIsLost", "gms", field=True)

    assert (cell.verdict, cell.text.partition(";")[0]) == (
        INCONCLUSIVE,
        "these runs ask nothing of: it",
    )


@pytest.mark.parametrize(
    ("runs", "verdict", "text"),
    [
        ([{}, {}], HOLDS, "2 runs, 80 events"),
        ([{}, {"ViewAcks": False}], HOLDS, "1 runs, 40 events"),
        ([{"ViewAcks": False}], INCONCLUSIVE, "no run is of the implemented design"),
    ],
)
def test_a_run_of_another_design_shows_nothing_of_the_implemented_one(
    runs: list[dict[str, Any]], verdict: str, text: str
) -> None:
    found = []
    for number, design in enumerate(runs):
        other = {"other_design": design} if design else {}
        found += [
            result("gms", f"r{number}: gms", events=40, files=2, **other),
            result("gms", f"r{number}: gms.OncePerView", judged={"states": 3}),
        ]
    by_name = {"conform": {str(entry["name"]): entry for entry in found}, "run": {}}

    cell = traces_cell(by_name, "OncePerView", "gms", field=True)
    assert (cell.verdict, text in cell.text) == (verdict, True)
    assert trace_cell(by_name, "gms").verdict == verdict


@pytest.mark.parametrize(("idle", "verdict"), [(True, HOLDS), (False, INCONCLUSIVE)])
def test_only_an_invariant_that_a_run_does_not_ask_casts_no_doubt_on_its_events(
    idle: bool, verdict: str
) -> None:
    undecided = result("gms", "r1: gms.NobodyIsLost", INCONCLUSIVE, idle=idle)

    assert trace_cell(judged(undecided), "gms").verdict == verdict
    assert traces_cell(judged(undecided), "NobodyIsLost", "gms", field=True).verdict == INCONCLUSIVE


def test_a_run_of_another_design_is_no_excuse_for_a_violation() -> None:
    other = result("gms", "r1: gms", events=40, files=2, other_design={"ViewAcks": False})
    broken = result("gms", "r1: gms.OncePerView", VIOLATED, judged={"states": 3})
    by_name = {"conform": {str(entry["name"]): entry for entry in (other, broken)}, "run": {}}

    assert traces_cell(by_name, "OncePerView", "gms", field=True).verdict == VIOLATED


def test_what_conformance_itself_asks_is_broken_by_an_event_that_is_not_the_models() -> None:
    by_name = judged(result("sequencer", "r1: sequencer", VIOLATED, events=70, files=2))

    assert traces_cell(by_name, "NoCreation", "sequencer", field=True).verdict == VIOLATED


def test_each_planted_step_is_a_witness_of_its_invariant() -> None:
    results = [step_result(each) for each in steps_tried()]
    entries = {each.name: each.as_json() for each in results}

    faults = faults_of({"judges": entries}, load_cases(), ())

    assert {each.verdict for each in results} == {HOLDS}
    found = witness(faults, "gms", "SelfInclusion", "traces", exact=True)
    assert found == "step gms.SelfInclusion 0"
    assert not witness(faults, "gms", "NobodyIsLost", "traces", exact=True)


def test_a_planted_step_that_is_not_noticed_is_a_failure() -> None:
    assert step_result(("gms", "SelfInclusion 0", False)).verdict == VIOLATED
