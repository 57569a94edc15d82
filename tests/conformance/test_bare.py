"""`raincheck check SPEC.tla`: a specification of anybody, without a table of cases."""

import json
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.cases.bare import bare_cases
from raincheck.conformance.tlc.spec import check_constants

MODULE = r"""---- MODULE Clock ----
EXTENDS Naturals
CONSTANTS Procs, Max
VARIABLES clock, turn
Init == clock = [p \in Procs |-> 0] /\ turn \in Procs
Tick(p) == turn = p /\ clock[p] < Max /\ clock' = [clock EXCEPT ![p] = @ + 1] /\ UNCHANGED turn
Pass(p) == turn = p /\ turn' \in Procs \ {p} /\ UNCHANGED clock
Next == \E p \in Procs: Tick(p) \/ Pass(p)
Spec == Init /\ [][Next]_<<clock, turn>>
\* No clock runs away.
Small == \A p \in Procs: clock[p] < 3
====
"""
CFG = """SPECIFICATION Spec
CONSTANTS
  Procs = {p1, p2}
  p1 = p1
  p2 = p2
  Max = 2
INVARIANT Small
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as a TLA+ user has it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Clock.tla").write_text(MODULE)
    (tmp_path / "Clock.cfg").write_text(CFG)
    (tmp_path / "Fast.cfg").write_text(CFG.replace("Max = 2", "Max = 3"))
    (tmp_path / "Alone.cfg").write_text(CFG.replace("{p1, p2}", "{p1}"))
    return tmp_path


@pytest.mark.java
def test_one_configuration_that_cannot_be_used_does_not_cost_the_others_their_verdicts(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "Undef.cfg").write_text(f"{CFG}INVARIANT Nope\n")

    code = main(["check", "Clock.tla", "Clock.cfg", "Undef.cfg", "--json"])
    clock, undefined = json.loads(capsys.readouterr().out)["results"]

    assert code == 2
    assert (clock["verdict"], undefined["verdict"]) == ("holds", "inconclusive")
    assert "Nope" in undefined["detail"]


@pytest.mark.java
def test_each_configuration_is_checked_cached_and_left_as_evidence(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["check", "Clock.tla", "Clock.cfg", "Fast.cfg", "--json"])
    outcome = json.loads(capsys.readouterr().out)

    assert (code, outcome["verdict"]) == (1, "violated")
    assert outcome["reproduce"] == "raincheck check Clock.tla Clock.cfg Fast.cfg --seed 1"
    holds, violated = outcome["results"]
    assert (holds["name"], holds["verdict"]) == ("Clock", "holds")
    assert (holds["distinct_states"], holds["depth"]) == (18, 6)
    assert (violated["name"], violated["verdict"], violated["expected"]) == (
        "Fast",
        "Small",
        "holds",
    )
    latest = project / "runs" / "latest"
    for name in ("summary.json", "report.html", "junit.xml", "cfg/Fast.cfg"):
        assert (latest / name).is_file()
    story = (latest / "counterexamples" / "Fast.txt").read_text()
    assert "Small promises: No clock runs away." in story
    assert "seed's text" not in story
    assert "Tick(p1)\n       clock[p1]: 2 → 3" in story

    assert main(["check", "Clock.tla", "--json"]) == 0
    (again,) = json.loads(capsys.readouterr().out)["results"]
    assert again["cached"] is True

    assert main(["explain", "Clock.tla", "Fast.cfg"]) == 1
    assert " 3      ●       │    Tick(p1)" in capsys.readouterr().out


@pytest.mark.java
@pytest.mark.parametrize(
    ("spec", "how"),
    [
        ("Spec", "after 1 states nothing more need happen (stuttering)"),
        ("Spec /\\ WF_turn(\\E p \\in Procs: Pass(p))", "for ever"),
    ],
)
def test_a_broken_promise_of_progress_says_whether_it_stops_or_goes_round(
    project: Path, capsys: pytest.CaptureFixture[str], spec: str, how: str
) -> None:
    module = MODULE.replace("====", f"Live == {spec}\nRises == <>(clock[turn] = 1)\n====", 1)
    (project / "Clock.tla").write_text(module)
    cfg = CFG.replace("SPECIFICATION Spec", "SPECIFICATION Live") + "PROPERTY Rises\n"
    (project / "Live.cfg").write_text(cfg)

    assert main(["check", "Clock.tla", "Live.cfg", "--json"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["results"]

    assert result["verdict"] == "Rises"
    assert how in result["detail"]


@pytest.mark.java
def test_a_state_without_a_step_is_an_error_unless_it_is_meant(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ""

    def verdict(*words: str) -> str:
        nonlocal said
        main(["check", "Clock.tla", "Alone.cfg", "--json", *words])
        (result,) = json.loads(capsys.readouterr().out)["results"]
        said = result.get("detail", "")
        return str(result["verdict"])

    assert verdict() == "deadlock"
    assert said == "no step is possible after 3 states (deadlock), expected: holds"
    assert verdict("--no-deadlock") == "holds"
    alone = project / "Alone.cfg"
    alone.write_text(alone.read_text() + "CHECK_DEADLOCK FALSE\n")
    assert verdict() == "holds"


@pytest.mark.java
def test_a_module_that_cannot_be_read_is_said_with_its_line(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "Clock.tla").write_text(MODULE.replace("turn = p /\\ turn'", "trn = p /\\ turn'"))

    assert main(["check", "Clock.tla"]) == 3
    assert "Clock.tla, line 7, column 12: Unknown operator: `trn'." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["Clok.tla"], "There is no file Clok.tla"),
        (["Clock.tla", "Slow.cfg"], "There is no file Slow.cfg"),
        (["Fast.cfg"], "0 modules are named"),
        (["Clock.tla", "flush"], "flush is neither .tla nor .cfg"),
        (["Clock.tla", "Fast.cfg", "Fast.cfg"], "Two configurations are called Fast"),
        (["Lone.tla"], "There is no Lone.cfg"),
        (["Clock.tla", "Typo.cfg"], "Typo.cfg assigns to Mx"),
        (["Renamed.tla", "Clock.cfg"], "Renamed.tla has the module Clock: file and module"),
        (["Notes.tla", "Clock.cfg"], "Notes.tla is no TLA+ module: it has no line ---- MODULE"),
        (["Clock.tla", "Once.cfg"], "Once.cfg has Small as a PROPERTY, but it is a state pred"),
    ],
)
def test_wrong_files_are_answered_with_one_sentence(
    project: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "Lone.tla").write_text(MODULE)
    (project / "Typo.cfg").write_text(CFG.replace("Max", "Mx"))
    (project / "Renamed.tla").write_text(MODULE)
    (project / "Notes.tla").write_text("what a clock is")
    (project / "Once.cfg").write_text(CFG.replace("INVARIANT", "PROPERTY"))

    assert main(["check", *words]) == 3
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said
    assert not list((project / "runs").glob("*/summary.json"))


@pytest.mark.usefixtures("project")
def test_a_model_value_may_be_introduced_by_the_configuration() -> None:
    (case,) = bare_cases(["Clock.tla"])

    check_constants(case.module, case.configuration())


@pytest.mark.java
def test_a_failed_assert_is_a_violation_and_says_what_it_says(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = MODULE.replace("EXTENDS Naturals", "EXTENDS Naturals, TLC")
    asserts = '/\\ Assert(clock\'[p] < 3, "a clock runs away") /\\ UNCHANGED turn'
    (project / "Clock.tla").write_text(module.replace("/\\ UNCHANGED turn", asserts, 1))

    assert main(["check", "Clock.tla", "Clock.cfg", "Fast.cfg", "--json"]) == 1
    slow, fast = json.loads(capsys.readouterr().out)["results"]

    assert slow["verdict"] == "holds"
    assert fast["verdict"] == "Assert"
    assert "an Assert of the specification failed" in fast["detail"]
    assert "a clock runs away (Clock.tla, line 6)" in fast["detail"]


@pytest.mark.java
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("<<1>>[clock[p] + 1] = 1", "Clock.tla, line 6, column"),
        ("[a |-> 1].b = 1", 'nonexistent field "b"'),
    ],
)
def test_what_tlc_cannot_evaluate_after_some_steps_is_inconclusive_and_drawn(
    project: Path, capsys: pytest.CaptureFixture[str], wrong: str, said: str
) -> None:
    module = MODULE.replace("EXTENDS Naturals", "EXTENDS Naturals, Sequences")
    goes_wrong = f"/\\ (clock[p] = 1 => {wrong}) /\\ UNCHANGED turn"
    (project / "Clock.tla").write_text(module.replace("/\\ UNCHANGED turn", goes_wrong, 1))

    code = main(["check", "Clock.tla", "Clock.cfg", "--json", "--out", "evidence"])
    (result,) = json.loads(capsys.readouterr().out)["results"]

    assert (code, result["verdict"]) == (2, "inconclusive")
    assert said in result["detail"]
    assert "after 2 states" in result["detail"]
    story = (project / "evidence/counterexamples/Clock.txt").read_text()
    assert story.startswith("Clock: TLC cannot go on")
    assert "Tick" in story


@pytest.mark.java
def test_an_invariant_that_cannot_be_evaluated_is_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "Clock.tla").write_text(MODULE.replace("clock[p] < 3", "<<1>>[clock[p] + 1] = 1"))

    assert main(["check", "Clock.tla", "Clock.cfg", "--json"]) == 2
    (result,) = json.loads(capsys.readouterr().out)["results"]

    assert "Evaluating invariant Small failed" in result["detail"]
    assert "out of domain" in result["detail"]


@pytest.mark.parametrize(
    ("name", "advice"),
    [("SequencesExt", "one of the Community Modules"), ("Bose", "correct the name")],
)
@pytest.mark.java
def test_a_missing_module_is_said_where_it_is_asked_for(
    project: Path, capsys: pytest.CaptureFixture[str], name: str, advice: str
) -> None:
    (project / "Clock.tla").write_text(MODULE.replace("Naturals", f"Naturals,\n  {name}"))

    assert main(["check", "Clock.tla"]) == 3
    said = capsys.readouterr().err

    assert "Clock.tla, line 3: " in said
    assert name in said
    assert advice in said
