"""TLC is read as it is meant, its complaints are sentences, and it leaves nothing behind."""

import os
import shutil
import signal
import threading
import time
import zipfile
from pathlib import Path

import pytest

from raincheck.conformance.errors import UsageError
from raincheck.conformance.tlc.errors import complaint
from raincheck.conformance.tlc.output import read_output
from raincheck.conformance.tlc.spec import code_of, comment_above, files_of
from raincheck.conformance.tlc.tlc import Options, TlcResult, dump_graph, run_tlc
from raincheck.conformance.tools.java import find_java
from raincheck.conformance.tools.processes import Finished, Processes, Stopped

HERE = Path(__file__).parent
TOYS = HERE / "toys"
CONSTANTS = 'CONSTANTS Limit = 3\n  Nodes = {"a", "b"}\n'


def golden(name: str) -> str:
    return (HERE / "golden" / f"{name}.txt").read_text(encoding="utf-8")


def toy(folder: Path, cfg: str) -> tuple[Path, Path]:
    """The counter and a configuration of it."""
    for name in ("Counter.tla", "CounterBase.tla"):
        shutil.copy(TOYS / name, folder)
    (folder / "Counter.cfg").write_text(cfg, encoding="utf-8")
    return folder / "Counter.tla", folder / "Counter.cfg"


def test_a_run_without_an_error_gives_its_counts_and_its_coverage() -> None:
    report = read_output(golden("holds-2.15"))

    assert report.finished
    assert (report.kind, report.violated, report.trace) == ("", "", ())
    assert (report.distinct, report.generated, report.depth) == (16, 33, 7)
    assert {each.action: (each.distinct, each.total) for each in report.coverage} == {
        "Init": (1, 1),
        "Count": (15, 24),
        "Reset": (0, 8),
    }
    assert report.warnings == ()
    assert report.version.startswith("2.15")


@pytest.mark.parametrize(
    ("name", "kind", "violated", "actions"),
    [
        ("invariant-2.15", "invariant", "Small", ["", "Count", "Count", "Count"]),
        ("initial-2.15", "invariant", "Started", [""]),
        ("action-property-2.15", "property", "Growing", ["", "Count", "Count", "Count", "Reset"]),
        ("temporal-back-2.15", "temporal", "", ["", "Count", "Count", "Count"]),
        ("temporal-stutter-2.15", "temporal", "", ["", "Count", "Count"]),
    ],
)
def test_a_violation_is_read_with_its_name_and_its_trace(
    name: str, kind: str, violated: str, actions: list[str]
) -> None:
    report = read_output(golden(name))

    assert (report.kind, report.violated) == (kind, violated)
    assert [state.action for state in report.trace] == actions
    assert [state.number for state in report.trace] == list(range(1, len(actions) + 1))
    assert report.trace[0].variables["log"] == ()
    assert not report.finished


def test_a_state_has_its_values_and_the_place_of_its_action() -> None:
    last = read_output(golden("invariant-2.15")).trace[-1]

    assert last.location == "line 8, col 13 to line 10, col 25 of module Counter"
    assert last.raw["count"].startswith("[a |-> ")
    assert 3 in last.variables["count"].values()  # type: ignore[union-attr]


def test_how_an_endless_behaviour_goes_on_is_read() -> None:
    back, stays = (read_output(golden(f"temporal-{each}-2.15")) for each in ("back", "stutter"))

    assert (back.back_to, back.stuttering) == (1, False)
    assert (stays.back_to, stays.stuttering) == (None, True)


def test_an_output_that_breaks_off_is_never_a_success() -> None:
    text = golden("holds-2.15")
    for end in range(0, text.index("Model checking completed"), 97):
        assert not read_output(text[:end]).finished


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("syntax-error", "Counter.tla, line 7, column 1: syntax error at Init"),
        ("semantic-error", "Counter.tla, line 8, column 27: Unknown operator: `Limt'."),
        ("missing-module", "s/Counter.tla: there is no module CounterBose"),
        ("evaluation-error", "Counter.tla, line 10, column 23: Attempted to apply Tail to"),
        ("unassigned-constant", "The constant parameter Nodes is not assigned a value"),
        ("config-error", "Counter.cfg, line 4: It was expecting = or <-"),
    ],
)
def test_a_specification_that_tlc_refuses_is_one_sentence_with_its_place(
    name: str, sentence: str
) -> None:
    output = golden(f"{name}-2.15")

    said, set_up = complaint(
        read_output(output), Finished(150, output), Path("s/Counter.tla"), Path("s/Counter.cfg")
    )

    assert sentence in said
    assert "\n" not in said
    assert said.endswith(".")
    assert set_up


@pytest.mark.parametrize(
    ("output", "code", "sentence"),
    [
        ("Error: Could not find or load main class tlc2.TLC\n", 1, "The jar holds no TLC"),
        ("Error: Invalid or corrupt jarfile x.jar\n", 1, "The jar holds no TLC"),
        ("java.lang.UnsupportedClassVersionError: tlc2/TLC\n", 1, "needs a newer Java"),
        ("java.lang.OutOfMemoryError: Java heap space\n", 1, "out of memory"),
        ("", -9, "out of memory"),
        ("", 1, "TLC does not start (it says nothing)"),
    ],
)
def test_java_that_does_not_get_as_far_as_tlc_is_one_sentence(
    output: str, code: int, sentence: str
) -> None:
    said, _ = complaint(read_output(output), Finished(code, output), Path("A.tla"), Path("A.cfg"))

    assert sentence in said


def test_a_constant_that_the_specification_lacks_is_refused_since_tlc_would_not(
    tmp_path: Path,
) -> None:
    module, cfg = toy(tmp_path, f"SPECIFICATION Spec\n{CONSTANTS}  Limits = 4\n")

    with pytest.raises(UsageError, match=r"assigns to Limits, which neither Counter\.tla"):
        run_tlc(module, cfg)


def test_words_in_comments_and_strings_are_not_the_specification() -> None:
    code = code_of('A == 1 (* B (* C *)\nD *) \\* E\nF == "G"')

    assert code.split() == ["A", "==", "1", "F", "==", '""']
    assert code.count("\n") == 2


def test_the_files_of_a_module_are_those_it_stands_on() -> None:
    assert [path.name for path in files_of(TOYS / "Counter.tla")] == [
        "Counter.tla",
        "CounterBase.tla",
    ]


def test_the_comment_above_a_definition_says_what_it_promises() -> None:
    assert comment_above(TOYS / "Counter.tla", "Small") == "Nobody gets as far as three."
    assert comment_above(TOYS / "Counter.tla", "Empty") == ""


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no file .*No\.tla"):
        run_tlc(tmp_path / "No.tla", TOYS / "Token.cfg")


@pytest.mark.java
def test_tlc_finds_a_violation_and_leaves_no_file(tmp_path: Path) -> None:
    spec, work = tmp_path / "spec", tmp_path / "work"
    spec.mkdir()
    work.mkdir()
    module, cfg = toy(spec, f"SPECIFICATION Spec\n{CONSTANTS}INVARIANT Small\n")
    before = sorted(spec.rglob("*"))

    result = run_tlc(module, cfg, workdir=work)

    assert (result.verdict, result.violated, len(result.trace)) == ("violated", "Small", 4)
    assert sorted(spec.rglob("*")) == before
    assert list(work.iterdir()) == []


@pytest.mark.java
def test_of_several_temporal_properties_the_violated_one_is_found(tmp_path: Path) -> None:
    module, cfg = toy(tmp_path, f"SPECIFICATION Fair\n{CONSTANTS}PROPERTIES Moves Rests\n")

    result = run_tlc(module, cfg)

    assert (result.verdict, result.violated, result.kind) == ("violated", "Rests", "temporal")
    assert result.back_to == 1


@pytest.mark.java
def test_a_graph_is_dumped_whole(tmp_path: Path) -> None:
    module, cfg = toy(tmp_path, f"SPECIFICATION Spec\n{CONSTANTS}")

    result: TlcResult = dump_graph(module, cfg, tmp_path / "graphs" / "counter.dot")

    assert result.distinct_states == 16
    text = (tmp_path / "graphs" / "counter.dot").read_text(encoding="utf-8")
    assert text.rstrip().endswith("}")
    assert [path.name for path in (tmp_path / "graphs").iterdir()] == ["counter.dot"]


@pytest.mark.java
def test_a_jar_that_is_not_tlc_is_said_so(tmp_path: Path) -> None:
    module, cfg = toy(tmp_path, f"SPECIFICATION Spec\n{CONSTANTS}")
    jar = tmp_path / "other.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("empty.txt", "")

    result = run_tlc(module, cfg, jar=jar)

    assert result.verdict == "error"
    assert result.error.startswith("The jar holds no TLC")
    assert result.set_up


def _gone(pid: int) -> bool:
    """Whether it ends soon: a grandchild is killed, and then waited for by init, not by us."""
    deadline = time.monotonic() + 30
    while not (gone := _has_ended(pid)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return gone


def _has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return True
    # A zombie that nobody has waited for is no longer running either.
    return stat.rpartition(") ")[2].startswith("Z")


@pytest.mark.java
def test_an_interrupted_run_leaves_neither_process_nor_file(tmp_path: Path) -> None:
    spec, work = tmp_path / "spec", tmp_path / "work"
    spec.mkdir()
    work.mkdir()
    endless = CONSTANTS.replace("3", "2000")
    module, cfg = toy(spec, f"SPECIFICATION Spec\n{endless}")
    seen: list[list[int]] = []

    def interrupt(_counts: str) -> None:
        seen.append(_children_in(work))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tlc(module, cfg, workdir=work, progress=interrupt)

    assert seen[0]
    assert list(work.iterdir()) == []
    assert _children_in(work) == []


def _children_in(folder: Path) -> list[int]:
    """Our children that work in that folder; another test's Spark may be alive still."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
            at = os.readlink(stat.with_name("cwd"))
        except OSError:
            continue
        if fields[1] == str(os.getpid()) and at.startswith(str(folder)):
            found.append(int(stat.parent.name))
    return found


def test_stopping_ends_what_runs_and_lets_nothing_start(tmp_path: Path) -> None:
    processes = Processes()
    started = threading.Event()
    pids: list[int] = []
    caught: list[type[BaseException]] = []

    def first(line: str) -> None:
        pids.append(int(line))
        started.set()

    def work() -> None:
        try:
            # The grandchild must go too: killing the shell alone would leave it.
            processes.run(["sh", "-c", "sleep 100 & echo $!; wait"], tmp_path, each_line=first)
        except Stopped as stopped:
            caught.append(type(stopped))

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(30)
    processes.stop()
    thread.join(30)

    assert caught == [Stopped]
    assert _gone(pids[0])
    with pytest.raises(Stopped):
        processes.run(["true"], tmp_path)


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    done = Processes().run(["sh", "-c", "sleep 100"], tmp_path, timeout=0.05)

    assert done.timed_out
    assert done.code == -signal.SIGKILL


def test_a_program_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not start"):
        Processes().run([str(tmp_path / "nothing")], tmp_path)


@pytest.mark.java
def test_tlc_is_given_up_when_its_time_is_over(tmp_path: Path) -> None:
    module, cfg = toy(tmp_path, f"SPECIFICATION Spec\n{CONSTANTS}")

    result = run_tlc(module, cfg, options=Options(timeout=0.01), java=find_java())

    assert (result.verdict, result.set_up) == ("error", False)
    assert "given up after 0.01 seconds" in result.error
