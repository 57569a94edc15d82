"""An evidence folder is complete or says that it is not."""

import io
import json
import os
from collections import OrderedDict
from pathlib import Path
from xml.etree import ElementTree

import pytest

from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.checksum import altered
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui, reserve_folder
from raincheck.conformance.outcome import plain
from raincheck.conformance.report.pages import junit_xml, mark_of

GOOD = Result("case <1>", "toy", "holds", figures={"seconds": 1.5, "distinct_states": 7})
FORESEEN = Result("flaw", "toy", "TotalOrder", expected="TotalOrder")
SURPRISE = Result("case 2", "toy", "violated", detail="bad\x00 & <ugly>")
UNKNOWN = Result("case 3", "toy", "inconclusive")


def outcome(*results: Result) -> Outcome:
    return Outcome("check", results, "raincheck check --seed 1")


@pytest.mark.parametrize(
    ("verdict", "expected", "figures", "answer"),
    [
        ("holds", "holds", {}, True),
        ("violated", "holds", {}, False),
        ("TotalOrder", "TotalOrder", {}, True),
        ("Agreement", "TotalOrder", {}, False),
        ("holds", "TotalOrder", {}, False),
        ("violated", "TotalOrder", {"property": "TotalOrder"}, True),
        ("violated", "TotalOrder", {"property": "Fifo"}, False),
        ("violated", "TotalOrder", {}, False),
        ("Fifo", "violated", {}, True),
        ("inconclusive", "violated", {}, False),
        ("inconclusive", "inconclusive", {}, False),
    ],
)
def test_a_result_is_as_expected_only_if_the_same_property_is_violated(
    verdict: str, expected: str, figures: dict[str, object], answer: bool
) -> None:
    assert Result("x", "toy", verdict, expected, figures).as_expected is answer


def test_what_a_run_does_not_ask_is_named_as_inconclusive_and_held_against_nobody() -> None:
    idle = Result("y", "toy", "inconclusive", detail="nothing asks it", idle=True)

    assert idle.as_expected
    assert outcome(GOOD, idle).verdict == "holds"
    assert outcome(GOOD, idle, UNKNOWN).verdict == "inconclusive"
    assert outcome(idle).verdict == "inconclusive"
    assert mark_of(idle) == ("?", "open")
    assert Result.from_json(idle.as_json()) == idle
    assert not Result.from_json({**idle.as_json(), "idle": False}).as_expected
    suite = ElementTree.fromstring(junit_xml(outcome(GOOD, idle)).encode())[0]
    assert (suite.get("errors"), suite.get("skipped")) == ("0", "1")
    assert [[child.tag for child in case] for case in suite] == [[], ["skipped"]]


@pytest.mark.parametrize("verdict", ["holds", "violated"])
def test_only_what_is_inconclusive_is_idle(verdict: str) -> None:
    with pytest.raises(ValueError, match="it is not idle"):
        Result("y", "toy", verdict, idle=True)


def test_an_outcome_weighs_its_results() -> None:
    assert outcome(GOOD, FORESEEN).verdict == "holds"
    assert outcome(GOOD, UNKNOWN).verdict == "inconclusive"
    assert outcome(UNKNOWN, SURPRISE).verdict == "violated"
    assert outcome().verdict == "inconclusive"
    assert [outcome(each).exit_code for each in (GOOD, SURPRISE, UNKNOWN)] == [0, 1, 2]


def test_a_figure_cannot_hide_a_field() -> None:
    with pytest.raises(ValueError, match="verdict"):
        Result("x", "toy", "violated", figures={"verdict": "holds"})


def test_anything_becomes_plain_json() -> None:
    value = OrderedDict(a={3, 1}, b=(float("inf"), Path("x")), c=GOOD, d={1: None})

    assert json.loads(json.dumps(plain(value), allow_nan=False)) == {
        "a": [1, 3],
        "b": [None, "x"],
        "c": {
            "name": "case <1>",
            "protocol": "toy",
            "verdict": "holds",
            "expected": "holds",
            "figures": {"seconds": 1.5, "distinct_states": 7},
            "detail": "",
            "idle": False,
        },
        "d": {"1": None},
    }


def test_a_finished_run_has_its_three_files(tmp_path: Path) -> None:
    evidence = Evidence("check", tmp_path / "e")
    evidence.write_json("graphs/one.json", {"edges": 3})

    evidence.finish(outcome(GOOD, SURPRISE))

    names = {str(path.relative_to(tmp_path / "e")) for path in (tmp_path / "e").rglob("*.*")}
    assert names == {"summary.json", "junit.xml", "report.html", "graphs/one.json"}
    assert not (tmp_path / "e" / "INCOMPLETE").exists()
    summary = json.loads((tmp_path / "e" / "summary.json").read_text())
    assert summary["verdict"] == "violated"
    assert summary["results"][0]["distinct_states"] == 7
    assert summary["run"].keys() == {"started", "seconds", "sources", "files", "checksum"}
    assert summary["run"]["files"].keys() == {"junit.xml", "report.html", "graphs/one.json"}
    assert altered(tmp_path / "e", summary) == ""
    (tmp_path / "e" / "graphs" / "one.json").unlink()
    assert altered(tmp_path / "e", summary) == "it has lost graphs/one.json"


def test_junit_tells_failures_from_errors(tmp_path: Path) -> None:
    Evidence("check", tmp_path).finish(outcome(GOOD, FORESEEN, SURPRISE, UNKNOWN))

    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    assert suite.attrib == {
        "name": "raincheck.check",
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "time": "1.500",
    }
    assert [[child.tag for child in case] for case in suite] == [[], [], ["failure"], ["error"]]
    assert "bad\N{REPLACEMENT CHARACTER} & <ugly>" in (suite[2][0].text or "")


def test_the_page_needs_no_network_and_escapes_what_it_shows(tmp_path: Path) -> None:
    Evidence("check", tmp_path).finish(outcome(GOOD, SURPRISE))

    page = (tmp_path / "report.html").read_text()
    assert "case &lt;1&gt;" in page
    assert "&lt;ugly&gt;" in page
    assert "raincheck check --seed 1" in page
    assert [word for word in ("http", "src=", "href=", "url(", "@import") if word in page] == []


def test_a_page_that_the_verb_wrote_itself_is_kept(tmp_path: Path) -> None:
    evidence = Evidence("audit", tmp_path)
    evidence.write_text("report.html", "my page")

    evidence.finish(outcome(GOOD))

    assert (tmp_path / "report.html").read_text() == "my page"


def test_a_run_that_is_cut_off_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the moment, there is never a summary beside the mark, nor a half-written file."""
    real, calls = os.replace, []

    def cut_off(after: int) -> None:
        def replace(source: Path, target: Path) -> None:
            calls.append(target)
            if len(calls) > after:
                raise KeyboardInterrupt
            real(source, target)

        calls.clear()
        monkeypatch.setattr("os.replace", replace)

    for after in range(1, 5):
        folder = tmp_path / str(after)
        cut_off(after)
        with pytest.raises(KeyboardInterrupt):
            Evidence("check", folder).finish(outcome(GOOD))
        assert (folder / "INCOMPLETE").is_file()
        assert not (folder / "summary.json").exists()
        assert list(folder.glob(".*")) == []

    cut_off(5)  # the mark, two files, the summary, its rename: this is all there is
    Evidence("check", tmp_path / "5").finish(outcome(GOOD))
    assert (tmp_path / "5" / "summary.json").is_file()


def test_an_old_summary_does_not_outlive_a_new_start(tmp_path: Path) -> None:
    Evidence("check", tmp_path).finish(outcome(GOOD))

    Evidence("check", tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["INCOMPLETE"]


def test_latest_points_at_the_last_finished_run(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    first, second, third = (reserve_folder("check", runs) for _ in range(3))
    assert len({first, second, third}) == 3

    Evidence("check", first).finish(outcome(GOOD))
    Evidence("check", second).finish(outcome(GOOD))
    Evidence("check", third)

    assert (runs / "latest").readlink() == Path(second.name)


def test_a_run_elsewhere_is_not_the_latest(tmp_path: Path) -> None:
    Evidence("check", tmp_path / "mine").finish(outcome(GOOD))

    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_real_file_called_latest_fails_no_run(tmp_path: Path) -> None:
    (tmp_path / "runs" / "latest").mkdir(parents=True)

    folder = Evidence("check", tmp_path / "runs" / "a").finish(outcome(GOOD))

    assert (folder / "summary.json").is_file()
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["a", "latest"]


def test_a_place_that_is_no_folder_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match="choose another with --out"):
        Evidence("check", tmp_path / "file")
    with pytest.raises(UsageError, match="choose a folder with --out"):
        Evidence("check", tmp_path / "file" / "below")


@pytest.mark.parametrize("name", ["../x", "/x"])
def test_nothing_is_written_outside_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="outside"):
        Evidence("check", tmp_path / "e").write_text(name, "")


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")

    with Ui().progress(3, "cases") as steps:
        steps.advance(2, note="the second")
        assert steps.done == 2

    assert "\x1b[" in terminal.getvalue()


def test_progress_is_a_line_elsewhere_and_nothing_when_quiet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Ui().progress(None, "events") as steps:
        steps.advance(5)
    with Ui(quiet=True).progress(3, "cases") as steps:
        steps.advance()

    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["events: 5 (0.0 s)"]


def test_what_an_unfinished_run_has_found_is_kept_and_it_stays_unfinished(tmp_path: Path) -> None:
    evidence = Evidence("check", tmp_path)

    evidence.so_far([GOOD, SURPRISE])

    kept = json.loads((tmp_path / "INCOMPLETE").read_text())
    assert [each["name"] for each in kept["results"]] == [GOOD.name, SURPRISE.name]
    assert not (tmp_path / "summary.json").exists()
    evidence.finish(outcome(GOOD))
    assert not (tmp_path / "INCOMPLETE").exists()
