"""The command line keeps its contract: verbs, exit codes, one JSON object, no traceback."""

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from raincheck.__main__ import EXTRAS, VERBS, main
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui

Run = Callable[[argparse.Namespace, Ui], Outcome]
Plant = Callable[[Run], None]

CASES = {
    "holds": Result("one", "toy", "holds", figures={"distinct_states": 12}),
    "violated": Result("two", "toy", "violated", detail="state 1\nstate 2"),
    "inconclusive": Result("three", "toy", "inconclusive"),
}


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plant:
    """Put a verb of our own, `fake`, in the place of a real one, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def planted(run: Run) -> None:
        module = ModuleType("raincheck.conformance.verbs.fake")
        module.run = run  # type: ignore[attr-defined]
        module.add_arguments = lambda parser: parser.add_argument(  # type: ignore[attr-defined]
            "--tier", choices=["quick", "full"], help="how much"
        )
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(VERBS, "fake", ("fake", "do as the test says"))

    return planted


def saying(*results: Result) -> Run:
    return lambda _args, _ui: Outcome("fake", results, "raincheck fake --seed 1")


def raising(error: BaseException) -> Run:
    def run(_args: argparse.Namespace, _ui: Ui) -> Outcome:
        raise error

    return run


def test_there_are_ten_verbs_at_most() -> None:
    assert len(VERBS) == 10


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(
    verb: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    code = main([verb, "--help"])

    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    for option in ("--json", "--dry-run", "--seed", "--out", "--no-cache", "--quiet"):
        assert option in out


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0

    out = capsys.readouterr().out
    assert [verb for verb in VERBS if f"\n  {verb} " not in out] == []


@pytest.mark.parametrize(
    ("results", "code", "verdict"),
    [
        (["holds"], 0, "holds"),
        (["holds", "violated"], 1, "violated"),
        (["holds", "inconclusive"], 2, "inconclusive"),
        (["violated", "inconclusive"], 1, "violated"),
        ([], 2, "inconclusive"),
    ],
)
def test_the_exit_code_is_the_verdict(
    plant: Plant,
    capsys: pytest.CaptureFixture[str],
    results: list[str],
    code: int,
    verdict: str,
) -> None:
    plant(saying(*(CASES[each] for each in results)))

    assert main(["fake", "--json"]) == code

    out, _ = capsys.readouterr()
    answer = json.loads(out)
    assert out.count("\n") == 1
    assert list(answer) == ["verb", "verdict", "results", "reproduce"]
    assert answer["verdict"] == verdict
    summary = json.loads(Path("runs/latest/summary.json").read_text())
    assert {key: summary[key] for key in answer} == answer


def test_the_last_line_for_people_reproduces_the_result(
    plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(saying(CASES["holds"], CASES["violated"]))

    assert main(["fake"]) == 1

    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[-1] == "raincheck fake --seed 1"
    assert lines[0] == "✓ one: holds (distinct states 12)"
    assert "    state 2" in lines


def test_lines_for_people_leave_stdout_to_json(
    plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_args: argparse.Namespace, ui: Ui) -> Outcome:
        ui.say("working")
        with ui.progress(2, "cases") as steps:
            steps.advance()
            steps.advance(note="two")
        return Outcome("fake", (CASES["holds"],), "raincheck fake")

    plant(run)
    assert main(["--json", "fake"]) == 0

    out, err = capsys.readouterr()
    assert json.loads(out)["verb"] == "fake"
    assert err.startswith("working\ncases: 2/2 (")
    assert err.endswith("\nraincheck fake\n")


def test_quiet_leaves_the_verdict_only(plant: Plant, capsys: pytest.CaptureFixture[str]) -> None:
    plant(saying(CASES["holds"]))

    assert main(["fake", "--quiet"]) == 0

    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("holds: 1 of 1 results as expected; evidence in runs/")
    assert last == "raincheck fake --seed 1"


def test_a_dry_run_writes_nothing(plant: Plant, capsys: pytest.CaptureFixture[str]) -> None:
    def run(args: argparse.Namespace, ui: Ui) -> Outcome:
        assert args.dry_run
        ui.say("java -jar tla2tools.jar")
        return Outcome("fake", (), "raincheck fake")

    plant(run)
    assert main(["fake", "-n", "--quiet"]) == 0

    assert capsys.readouterr().out == "java -jar tla2tools.jar\n"
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["chek"], "There is no verb chek: did you mean check?"),
        (["xyz"], "There is no verb xyz: the verbs are check,"),
        (["--json"], "--json needs a verb"),
        (["fake", "--bad"], "unrecognized arguments: --bad; see raincheck fake --help."),
        (["fake", "--tier", "huge"], "argument --tier: invalid choice: 'huge'"),
        (["fake", "--seed", "x"], "argument --seed: invalid int value: 'x'"),
        (["fake", "--js"], "unrecognized arguments: --js"),
    ],
)
def test_a_wrong_call_gets_one_sentence(
    plant: Plant, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    plant(saying())

    assert main(arguments) == 3

    err = capsys.readouterr().err
    assert err.startswith(f"raincheck: {sentence}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (UsageError("There is no Java."), 3, "There is no Java."),
        (Inconclusive("Nothing was recorded."), 2, "Nothing was recorded."),
        (KeyboardInterrupt(), 2, "Interrupted."),
        (
            ModuleNotFoundError("No module named 'z3'", name="z3"),
            3,
            "raincheck fake needs the package z3: pip install 'raincheck[prove]'",
        ),
        (
            ModuleNotFoundError("No module", name="pyspark.sql"),
            3,
            "raincheck fake needs the package pyspark: pip install 'raincheck[spark]'",
        ),
    ],
)
def test_giving_up_is_one_sentence_and_one_object(
    plant: Plant,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    sentence: str,
) -> None:
    plant(raising(error))

    assert main(["fake", "--json"]) == code

    out, err = capsys.readouterr()
    assert err == f"raincheck: {sentence}\n"
    assert json.loads(out) == {
        "verb": "fake",
        "verdict": "error" if code == 3 else "inconclusive",
        "results": [],
        "reproduce": "raincheck fake --json",
        "error": sentence,
    }


@pytest.mark.parametrize(
    "error", [RuntimeError("a bug"), ImportError("cannot import", name="raincheck.nowhere")]
)
def test_a_bug_leaves_its_traceback_in_a_file(
    plant: Plant, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    plant(raising(error))

    assert main(["fake"]) == 3

    err = capsys.readouterr().err
    (crash,) = Path("runs").glob("*/crash.txt")
    assert (
        err == f"raincheck: This is a bug of raincheck: please report it with the file {crash}.\n"
    )
    assert "Traceback" in crash.read_text()
    assert str(error) in crash.read_text()


def test_what_was_not_decided_can_be_asked_again_and_leaves_no_folder(
    plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(raising(Inconclusive("Nobody answers.")))

    assert main(["fake", "--seed", "7"]) == 2

    out, err = capsys.readouterr()
    assert (out, err) == ("raincheck fake --seed 7\n", "raincheck: Nobody answers.\n")
    assert list(Path("runs").iterdir()) == []


def test_an_interrupted_run_is_marked_incomplete(
    plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(args: argparse.Namespace, _ui: Ui) -> Outcome:
        Evidence("fake", args.out).write_text("partial.txt", "half")
        raise KeyboardInterrupt

    plant(run)
    assert main(["fake", "--out", "here"]) == 2

    assert sorted(path.name for path in Path("here").iterdir()) == ["INCOMPLETE", "partial.txt"]
    assert capsys.readouterr().err == "raincheck: Interrupted.\n"


def test_a_refused_call_leaves_no_folder(plant: Plant) -> None:
    plant(raising(UsageError("no")))

    assert main(["fake"]) == 3

    assert list(Path("runs").iterdir()) == []


WAITING = """
import signal, sys
from types import ModuleType
from raincheck import __main__ as cli
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result

def run(args, ui):
    Evidence("fake", args.out)
    print("ready", flush=True)
    sys.stdin.readline()
    results = tuple(Result(f"case {n} \u2713", "toy", "holds") for n in range(5000))
    return Outcome("fake", results, "raincheck fake")

fake = ModuleType("raincheck.conformance.verbs.fake")
fake.run, fake.add_arguments = run, lambda parser: None
sys.modules[fake.__name__] = fake
cli.VERBS["fake"] = ("fake", "wait")
sys.exit(cli.main())
"""


def waiting(tmp_path: Path, **environ: str) -> subprocess.Popen[bytes]:
    """Start a run in a process of its own; it works until it reads a line."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", WAITING, "fake", "--out", "e"],
        cwd=tmp_path,
        env={"PATH": "", **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_with_a_sentence(tmp_path: Path, number: signal.Signals) -> None:
    with waiting(tmp_path) as process:
        process.send_signal(number)
        out, err = process.communicate()

    assert (process.returncode, out, err) == (2, b"", b"raincheck: Interrupted.\n")
    assert [path.name for path in (tmp_path / "e").iterdir()] == ["INCOMPLETE"]


def test_a_reader_that_goes_away_is_no_bug(tmp_path: Path) -> None:
    with waiting(tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b"go\n")
        process.stdin.close()
        assert process.stderr.read() == b""

    assert process.returncode == 2
    assert (tmp_path / "e" / "summary.json").is_file()


def test_a_terminal_without_our_signs_shows_others(tmp_path: Path) -> None:
    with waiting(tmp_path, PYTHONIOENCODING="ascii") as process:
        out, err = process.communicate(b"go\n")

    assert (process.returncode, err) == (0, b"")
    assert out.startswith(b"? case 0 ?: holds\n")


PLAIN = f"""
import sys
for name in {sorted(EXTRAS)!r}:
    sys.modules[name] = None  # which is how Python marks what cannot be imported
from raincheck.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def plain(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run raincheck as an installation without the extra would."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PLAIN, *arguments],
        cwd=tmp_path,
        env={"PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_plain_install_has_help(tmp_path: Path) -> None:
    done = plain(tmp_path, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert "usage: raincheck VERB" in done.stdout


def test_a_plain_install_says_what_to_install(tmp_path: Path) -> None:
    done = plain(tmp_path, "prove")

    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "pip install 'raincheck[prove]'" in done.stderr


def test_a_plain_install_has_a_doctor(tmp_path: Path) -> None:
    done = plain(tmp_path, "doctor", "--json")

    assert done.returncode == 3
    answer = json.loads(done.stdout)
    found = {each["name"] for each in answer["results"] if each["verdict"] == "holds"}
    assert found == {"python", "raincheck", "msgspec"}
    assert answer["verdict"] == "inconclusive"


@pytest.mark.parametrize(
    "words",
    [
        "check flush --timeout 30 --tier full",
        "check flush --sanity",
        "prove sequencer --timeout 30 --seeds 3",
        "run --no-check --members 3",
        "run raincore --no-check --members 3",
        "mirror flush --limit 77 --tier full",
    ],
)
def test_the_last_line_repeats_the_options_that_decide(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main([*words.split(), "--dry-run", "--json"]) == 0

    again = json.loads(capsys.readouterr().out)["reproduce"].split()
    assert set(words.split()) <= set(again)
