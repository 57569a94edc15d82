"""`raincheck check` compares TLC with the catalog, both ways, and remembers only true answers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.cases.tables import Case, load_cases
from raincheck.conformance.evidence.store import Store
from raincheck.conformance.tlc.output import ActionCoverage, TlcState
from raincheck.conformance.tlc.resultcache import (
    as_json,
    keep_answer,
    known_answer,
    question_key,
    result_from,
)
from raincheck.conformance.tlc.spec import files_of
from raincheck.conformance.tlc.tlc import Options, TlcResult, run_tlc
from raincheck.conformance.verbs.check import Answer, judge

TOYS = Path(__file__).parent / "toys"

TABLE = """
module = "Counter"
specification = "Spec"

[fixed]
Nodes = ["a", "b"]

[usual]
Limit = 2

[case.two]
words = "up to two"
ask = "Small"
holds = { distinct = 9, depth = 5 }
tier = "quick"
rule = "R1"

[case.three]
words = "up to three"
with = { Limit = 3 }
breaks = "Small"
tier = "quick"
flaw = "CNT-F1"
rule = "R1"
note = "Three is too many."
"""

CASES = "spec/cases/counter.toml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    spec = tmp_path / "spec"
    (spec / "cases").mkdir(parents=True)
    for name in ("Counter.tla", "CounterBase.tla"):
        shutil.copy(TOYS / name, spec)
    (tmp_path / CASES).write_text(TABLE)
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict]:
    code = main(["check", "--catalog", CASES, "--json", *words])
    return code, json.loads(capsys.readouterr().out)


def of(answer: dict, name: str) -> dict:
    return next(each for each in answer["results"] if each["name"] == name)


@pytest.mark.java
def test_what_the_catalog_expects_is_found_and_then_remembered(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, first = check(capsys)

    assert (code, first["verdict"]) == (0, "holds")
    assert of(first, "counter-two")["distinct_states"] == 9
    assert of(first, "counter-two")["depth"] == 5
    assert of(first, "counter-three")["verdict"] == "Small"
    assert [each["cached"] for each in first["results"]] == [False, False]
    evidence = folder / "runs" / "latest" / "counterexamples"
    assert sorted(path.name for path in evidence.iterdir()) == [
        f"counter-three.{kind}" for kind in ("html", "json", "svg", "txt")
    ]
    assert (folder / "runs" / "latest" / "junit.xml").is_file()
    asked = {case.cfg_name: case.cfg_text() for case in load_cases(folder / CASES)}
    left = (folder / "runs" / "latest" / "cfg").iterdir()
    assert {path.name: path.read_text() for path in left} == asked

    code, second = check(capsys)

    assert code == 0
    assert [each["cached"] for each in second["results"]] == [True, True]
    assert (folder / "runs" / "latest" / "counterexamples" / "counter-three.txt").is_file()

    # A change in a module that is only extended must be noticed, in one that is not it must not.
    base = folder / "spec" / "CounterBase.tla"
    base.write_text(base.read_text().replace("n + 1", "n + 1 + 0"))
    (folder / "spec" / "Other.tla").write_text("nothing")
    _, third = check(capsys, "counter-two")

    assert [each["cached"] for each in third["results"]] == [False]

    _, fourth = check(capsys, "counter-two", "--no-cache")

    assert [each["cached"] for each in fourth["results"]] == [False]


@pytest.mark.java
def test_a_specification_that_cannot_be_read_ends_the_check_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = folder / "spec" / "Counter.tla"
    module.write_text(module.read_text().replace("< Limit", "< Limt"))

    code = main(["check", "--catalog", CASES])

    assert code == 3
    said = capsys.readouterr().err
    assert "Counter.tla, line 8, column 27: Unknown operator: `Limt'." in said
    assert "Traceback" not in said
    assert not (folder / "runs" / "latest").exists()
    assert not (folder / ".raincheck-cache").exists()


def test_a_dry_run_prints_the_java_lines_and_runs_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["check", "--catalog", CASES, "--dry-run"])

    assert code == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("tlc2.TLC" in line and "Counter.tla" in line for line in lines) == 2
    assert not (folder / "runs").exists()


@pytest.mark.java
def test_the_table_decides_what_tlc_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(capsys)[0] == 0

    table = folder / CASES
    table.write_text(table.read_text().replace("Limit = 2", "Limit = 1"))
    table.write_text(
        table.read_text().replace("distinct = 9, depth = 5", "distinct = 4, depth = 3")
    )
    code, found = check(capsys)

    assert code == 0
    assert of(found, "counter-two")["distinct_states"] == 4
    assert [each["cached"] for each in found["results"]] == [False, True]


@pytest.mark.java
def test_what_is_written_for_a_user_of_tla_is_opened_by_tlc(folder: Path) -> None:
    code = main(["check", "--catalog", CASES, "--write-cfg", "by-hand", "counter-three"])

    assert code == 0
    written = folder / "by-hand"
    names = ("Counter.tla", "CounterBase.tla", "counter-three.cfg")
    assert sorted(path.name for path in written.iterdir()) == sorted(names)
    assert not (folder / "runs").exists()
    command, why, *_ = (written / "counter-three.cfg").read_text().splitlines()
    assert command == (
        "\\* java -cp tla2tools.jar tlc2.TLC -deadlock -config counter-three.cfg Counter.tla"
    )
    assert why == "\\* -deadlock: a state without a next step is no error."
    found = run_tlc(written / "Counter.tla", written / "counter-three.cfg")
    assert (found.verdict, found.violated) == ("violated", "Small")


def test_all_cases_are_written_unless_some_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--catalog", CASES, "--write-cfg", "here", "--dry-run"]) == 0
    assert not (folder / "here").exists()
    assert "here/counter-two.cfg" in capsys.readouterr().out

    assert main(["check", "--catalog", CASES, "--write-cfg", "here"]) == 0
    written = (folder / "here").glob("*.cfg")
    # Two lines tell how to run TLC on it.
    texts = {path.name: path.read_text().split("\n", 2)[2] for path in written}
    assert texts == {case.cfg_name: case.cfg_text() for case in load_cases(folder / CASES)}
    assert len(texts) == 2
    modules = {path.name: path.read_text() for path in (folder / "here").glob("*.tla")}
    assert modules == {path.name: path.read_text() for path in (folder / "spec").glob("*.tla")}

    assert main(["check", "--catalog", CASES, "--write-cfg", "there", "counter-four"]) == 3
    assert "did you mean counter-two" in capsys.readouterr().err
    (folder / "file").touch()
    assert main(["check", "--catalog", CASES, "--write-cfg", "file"]) == 3
    assert "Cannot write into file" in capsys.readouterr().err


@pytest.fixture
def cases(folder: Path) -> dict[str, Case]:
    return {case.name: case for case in load_cases(folder / CASES)}


GOOD = TlcResult("holds", distinct_states=9, depth=5)
BAD = TlcResult("violated", violated="Small", kind="invariant", trace=(TlcState(1, "", "", ""),))


def test_a_wrong_pinned_count_is_a_failure(cases: dict[str, Case]) -> None:
    case = cases["counter-two"]

    assert judge(Answer(case, GOOD)).as_expected
    for wrong, said in ((8, "9 distinct states, pinned 8"), (10, "pinned 10")):
        result = judge(Answer(replace(case, distinct=wrong), GOOD))
        assert not result.as_expected
        assert result.verdict == "violated"
        assert said in result.detail
    assert "a depth of 5, pinned 6" in judge(Answer(replace(case, depth=6), GOOD)).detail


def test_an_expected_violation_that_is_not_found_is_a_failure(cases: dict[str, Case]) -> None:
    result = judge(Answer(cases["counter-three"], GOOD))

    assert not result.as_expected
    assert result.verdict == "holds"
    assert "no longer found" in result.detail


def test_a_violation_of_something_else_is_a_failure(cases: dict[str, Case]) -> None:
    assert judge(Answer(cases["counter-three"], BAD)).as_expected
    assert not judge(Answer(cases["counter-three"], replace(BAD, violated="Other"))).as_expected
    assert not judge(Answer(cases["counter-two"], BAD)).as_expected
    unnamed = replace(BAD, violated="", candidates=("Small", "Other"))
    assert not judge(Answer(cases["counter-three"], unnamed)).as_expected


def test_a_run_that_decides_nothing_is_inconclusive(cases: dict[str, Case]) -> None:
    for case in cases.values():
        result = judge(Answer(case, TlcResult("error", error="Java ran out of memory.")))

        assert (result.verdict, result.as_expected) == ("inconclusive", False)
        assert result.detail == "Java ran out of memory."


def test_a_result_comes_back_from_json_as_it_was() -> None:
    state = TlcState(2, "Count", "line 1", '/\\ x = 1\n/\\ log = <<"a",\n  "b">>', '"a"')
    result = replace(
        BAD,
        trace=(state,),
        back_to=1,
        coverage=(ActionCoverage("Count", "line 1", 2, 3),),
        warnings=("mind",),
        candidates=("A", "B"),
    )

    again = result_from(json.loads(json.dumps(as_json(result))))

    assert again.trace[0].variables == state.variables
    assert replace(again, trace=()) == replace(result, trace=())


def test_a_key_depends_on_all_that_the_answer_depends_on(folder: Path) -> None:
    spec = folder / "spec"
    files = files_of(spec / "Counter.tla")
    two, three = (case.cfg_text() for case in load_cases(folder / CASES))

    def key(cfg: str = two, jar: str = "j", java: int = 17, options: Options | None = None) -> str:
        return question_key(files, cfg, jar, java, options or Options())

    keys = [key(), key(cfg=three), key(jar="k"), key(java=21), key(options=Options(seed=2))]
    assert len(set(keys)) == len(keys)
    assert key() == keys[0]
    assert key(options=Options(heap="2g")) == keys[0]

    (spec / "CounterBase.tla").write_text("changed")
    assert key() != keys[0]


def test_the_cache_keeps_answers_only_and_survives_damage(tmp_path: Path) -> None:
    store = Store(tmp_path)
    keep_answer(store, "ab1", GOOD)
    keep_answer(store, "ab2", TlcResult("error", error="no"))

    assert known_answer(store, "ab1") == GOOD
    assert known_answer(store, "ab2") is None
    assert known_answer(store, "ab3") is None

    (path,) = (tmp_path / "tlc" / "ab").glob("*.json")
    whole = path.read_text()
    for damaged in (
        "",
        "[]",
        "{}",
        whole[: len(whole) // 2],
        whole.replace('"trace": []', '"t": 1'),
    ):
        path.write_text(damaged)
        assert known_answer(store, "ab1") is None


@pytest.mark.java
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_interrupted_check_leaves_no_process_and_no_evidence_that_looks_whole(
    folder: Path,
) -> None:
    table = folder / CASES
    table.write_text(
        table.read_text().replace("Limit = 2", "Limit = 3000").replace("Small", "Empty")
    )
    command = [sys.executable, "-m", "raincheck", "check", "--catalog", str(table)]
    temporary = folder / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [*command, "counter-two"],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not (jvms := _jvms(temporary)) and process.poll() is None:
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGINT)
        code = process.wait(60)
    finally:
        process.kill()
        process.wait()

    assert jvms
    assert code == 2
    assert _jvms(temporary) == []
    assert list(temporary.iterdir()) == []
    (run,) = (folder / "runs").glob("*-check")
    assert not (run / "summary.json").exists()
    assert (run / "INCOMPLETE").exists()
    assert not (folder / "runs" / "latest").exists()


def _jvms(temporary: Path) -> list[str]:
    """The JVMs that work in that folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if b"tlc2.TLC" in line and str(temporary).encode() in line:
            found.append(path.parent.name)
    return found
