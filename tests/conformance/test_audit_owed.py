"""A step of an audit that has lost, doubled or changed something of its evidence is a gap.

No verb runs here: each step's folder has a summary with all that the step owes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from raincheck.conformance.evidence.basis import Step
from raincheck.conformance.evidence.cells import found_in
from raincheck.conformance.evidence.checksum import checksum_of
from raincheck.conformance.evidence.folder import Evidence, Result
from raincheck.conformance.evidence.owed import Owed
from raincheck.conformance.evidence.plans import Plan, plans
from raincheck.conformance.outcome import INCONCLUSIVE, Outcome
from raincheck.conformance.verbs import auditowed, auditsteps, run

Json = dict[str, Any]
QUICK = {plan.name: plan for plan in plans("quick", 7, 1)}
FULL = {plan.name: plan for plan in plans("full", 7, 1)}


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    """A folder in which each run has left the first record of a trace."""
    for name in QUICK["conform"].after:
        (tmp_path / name / "traces").mkdir(parents=True)
    (tmp_path / "run" / "traces" / "run-7.a.0.flush.jsonl").write_text(
        json.dumps({"kind": "header", "run": "run-7", "protocol": "flush", "node": "a"}) + "\n"
    )
    return tmp_path


def left(plan: Plan, out: Path, results: tuple[Owed, ...] | None = None) -> Path:
    """Leave what the step's verb leaves if all is as expected; return the summary's path."""
    owed = auditowed.owes(plan, out).results if results is None else results
    found = [Result(name, protocol, each, each) for name, protocol, each in owed]
    evidence = Evidence(plan.words[0], out / plan.name)
    evidence.write_text("counterexamples/x.txt", "two states\n")
    evidence.finish(Outcome(plan.words[0], tuple(found), auditowed.reproduced(plan, out)))
    return out / plan.name / "summary.json"


def change(path: Path, how: Callable[[Json], object], *, checksum: bool = True) -> None:
    """Change the summary, and its checksum, as nobody does by accident."""
    summary = json.loads(path.read_text())
    how(summary)
    if checksum:
        summary["run"]["checksum"] = checksum_of(summary)
    path.write_text(json.dumps(summary))


def problem_of(plan: Plan, out: Path) -> str:
    step = auditsteps.read(plan, out, None)
    assert bool(step.problem) == (step.verdict != "holds")
    return step.problem


@pytest.mark.parametrize("plan", [*QUICK.values(), FULL["run-safe"]], ids=lambda plan: plan.name)
def test_a_step_owes_each_of_its_results(traced: Path, plan: Plan) -> None:
    summary = left(plan, traced)
    assert problem_of(plan, traced) == ""

    lost = json.loads(summary.read_text())["results"][-1]["name"]
    change(summary, lambda found: found["results"].pop())

    if plan.words[0] == "conform":  # whose only result it was
        found = json.loads(summary.read_text())
        assert found["results"] == []
        change(summary, lambda each: each.update(verdict=INCONCLUSIVE))
        assert f"it has no result of {lost}" in auditsteps.read(plan, traced, None).problem
    else:
        assert problem_of(plan, traced) == f"it has no result of {lost}"


def test_the_full_steps_owe_more(tmp_path: Path) -> None:
    for name in ("check", "mirror", "mutate"):
        quick, full = (auditowed.owes(each[name], tmp_path).results for each in (QUICK, FULL))
        assert {*quick} < {*full}, name
    assert {"stable-properties", "stable-actions"} <= {each.name for each in full}


def test_a_graph_that_mirror_says_it_left_out_is_not_owed(tmp_path: Path) -> None:
    *others, last = auditowed.owes(QUICK["mirror"], tmp_path).results
    summary = left(QUICK["mirror"], tmp_path, tuple(others))
    assert problem_of(QUICK["mirror"], tmp_path) == f"it has no result of {last.name}"

    reason = {"name": last.name, "reason": "the model has more than 200000 states"}
    change(summary, lambda found: found.update(left_out=[reason]))

    assert problem_of(QUICK["mirror"], tmp_path) == ""


def another(found: Json) -> None:
    found["results"].append({**found["results"][0], "name": "sequencer-beyond"})


def doubled(found: Json) -> None:
    found["results"].append(found["results"][0])


def broken_and_expected(found: Json) -> None:
    found["results"][0] |= {"verdict": "TotalOrder", "expected": "TotalOrder"}


def new_word(found: Json) -> None:
    found["results"][0] |= {"verdict": "passed", "expected": "passed"}


def not_asked(found: Json) -> None:
    found["results"][0] |= {"verdict": "inconclusive", "idle": True}


def of_another(found: Json) -> None:
    found["results"][0]["protocol"] = "nobody"


FAULTS: dict[str, Callable[[Json], object]] = {
    "the catalog expects something else of": broken_and_expected,
    "the catalog expects something else of ": new_word,
    "it says that nothing asks": not_asked,
    "it has several results of": doubled,
    "it has results that nobody asked for: sequencer-beyond": another,
    "it has no result of": of_another,
}


@pytest.mark.parametrize("words", FAULTS)
@pytest.mark.parametrize("step", ["mirror", "prove"])
def test_a_result_that_is_not_what_was_asked_for_is_a_gap(
    tmp_path: Path, step: str, words: str
) -> None:
    change(left(QUICK[step], tmp_path), FAULTS[words])

    assert words in problem_of(QUICK[step], tmp_path)


def test_a_run_may_say_more_of_what_it_promises_but_nothing_else(tmp_path: Path) -> None:
    summary, plan = left(QUICK["run"], tmp_path), QUICK["run"]
    shown = {"name": "UniformAgreement", "protocol": "sequencer", "verdict": "not promised"}
    change(summary, lambda found: found["results"].append({**shown, "expected": "not promised"}))
    assert problem_of(plan, tmp_path) == ""

    shown |= {"name": "Uniformity", "verdict": "violated", "expected": "violated", "property": "x"}
    change(summary, lambda found: found["results"].append(shown))

    assert "it has results that nobody asked for: Uniformity" in problem_of(plan, tmp_path)


def test_of_somebody_elses_processes_nothing_is_owed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = SimpleNamespace(module=lambda _: SimpleNamespace())
    monkeypatch.setattr(run, "_chosen", lambda _: theirs)
    monkeypatch.setattr(auditowed, "_known", lambda *words: auditowed._owes(*words[:2]))
    plan = replace(QUICK["run"], words=("run", "sequencer"))

    left(plan, tmp_path, (Owed("anything", "theirs", "as they say"),))

    assert problem_of(plan, tmp_path) == ""


ACCIDENTS: dict[str, Callable[[Json], object]] = {
    "results in another order": lambda found: found["results"].reverse(),
    "a figure": lambda found: found["results"][0].update(distinct_states=1),
    "a witness": lambda found: found["results"][0].pop("protocol"),
    "the time": lambda found: found["run"].update(seconds=0),
    "the sources": lambda found: found["run"].update(sources=""),
    "a file's hash": lambda found: found["run"]["files"].clear(),
    "no checksum": lambda found: found["run"].pop("checksum"),
    "the command": lambda found: found.update(reproduce="raincheck check"),
}


@pytest.mark.parametrize("accident", ACCIDENTS)
def test_a_summary_that_was_changed_is_a_gap(tmp_path: Path, accident: str) -> None:
    change(left(QUICK["damage"], tmp_path), ACCIDENTS[accident], checksum=False)

    step = auditsteps.read(QUICK["damage"], tmp_path, None)
    assert step.verdict == INCONCLUSIVE
    assert "its summary.json is not as its verb has left it" in step.problem or (
        accident == "a witness" and "cannot be read" in step.problem
    )


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (Path.unlink, "it has lost counterexamples/x.txt"),
        (lambda path: path.write_text("two st"), "left it: counterexamples/x.txt"),
        (lambda path: (path.unlink(), path.mkdir()), "it has lost counterexamples/x.txt"),
    ],
)
def test_a_file_that_is_gone_or_cut_is_a_gap(
    tmp_path: Path, how: Callable[[Path], object], words: str
) -> None:
    left(QUICK["damage"], tmp_path)
    how(tmp_path / "damage" / "counterexamples" / "x.txt")

    assert words in problem_of(QUICK["damage"], tmp_path)


def test_a_step_in_whose_folder_another_run_was_begun_is_a_gap(tmp_path: Path) -> None:
    left(QUICK["damage"], tmp_path)
    (tmp_path / "damage" / "INCOMPLETE").touch()

    assert "has not ended" in problem_of(QUICK["damage"], tmp_path)


@pytest.mark.parametrize(
    ("step", "other"),
    [
        ("generate", {plan.name: plan for plan in plans("quick", 8, 1)}["generate"]),
        ("check", FULL["check"]),
        ("run", {plan.name: plan for plan in plans("quick", 7, 2)}["run"]),
        ("damage", FULL["damage"]),
        ("conform-spark", QUICK["conform"]),
    ],
)
def test_a_step_of_another_seed_tier_or_kind_is_a_gap(traced: Path, step: str, other: Plan) -> None:
    left(replace(other, name=step), traced)

    assert problem_of(QUICK[step], traced).startswith("it was made as `raincheck ")


def test_traces_may_be_judged_in_another_folder(traced: Path) -> None:
    summary = left(QUICK["conform"], traced)
    change(
        summary, lambda found: found.update(reproduce=found["reproduce"].replace(str(traced), "x"))
    )

    assert problem_of(QUICK["conform"], traced) == ""


# ---------------------------------------------------------------------- steps beside each other


def step(name: str, *results: Json, verb: str = "") -> Step:
    return Step(name, verb or name, "", "holds", 1.0, name, tuple(results))


def entry(name: str, **figures: object) -> Json:
    return {"name": name, "protocol": "flush", "verdict": "holds", **figures}


RUN = step("run", entry("run-7", events=3, plan={}))
JUDGED = (entry("run-7: flush", events=2), entry("run-7: layers", events=1))


def problems(*steps: Step) -> dict[str, str]:
    return {each.name: each.problem for each in auditowed.beside_each_other(steps)}


def test_judges_that_say_the_same_of_the_runs_are_sound() -> None:
    assert set(
        problems(RUN, step("conform", *JUDGED), step("conform-spark", *JUDGED)).values()
    ) == {""}


def test_a_judge_that_lacks_what_the_other_one_says_is_a_gap() -> None:
    promise = entry("run-7: Agreement")

    found = problems(RUN, step("conform", *JUDGED), step("conform-spark", *JUDGED, promise))

    assert found["conform"] == (
        "it has no result of run-7: Agreement, of which conform-spark has one"
    )
    assert not found["conform-spark"]


def test_a_judge_of_the_traces_of_another_run_is_a_gap() -> None:
    found = auditowed.beside_each_other((RUN, step("conform", JUDGED[0])))

    assert found[1].problem == "it judged 2 events of run-7, which recorded 3"
    assert found[1].verdict == INCONCLUSIVE


def test_the_results_of_several_runs_with_one_name_all_count() -> None:
    broken = {**entry("Trace"), "verdict": "violated"}
    runs = [step(f"run-{n}", each, verb="run") for n, each in
            enumerate((entry("Trace"), broken, entry("Trace")))]  # fmt: skip

    found = found_in(runs).by_name["run"]

    assert sorted(each["verdict"] for each in found.values()) == ["holds", "holds", "violated"]
