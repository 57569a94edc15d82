"""The audit runs the verbs as processes of their own, and its page tells what they found."""

import json
import re
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.errors import UsageError
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, Outcome
from raincheck.conformance.ui import Ui
from raincheck.conformance.verbs import audit

QUIET = Ui(quiet=True)

WRITER = """
import json, sys
folder, verb, results = sys.argv[1:4]
from pathlib import Path
Path(folder).mkdir(parents=True)
summary = {"verb": verb, "verdict": "holds", "results": json.loads(results),
           "reproduce": verb, "run": {"started": "now", "seconds": 1.5}}
Path(folder, "summary.json").write_text(json.dumps(summary))
"""


def arguments(out: Path, **changes: object) -> Namespace:
    """What the command line would give."""
    values: dict[str, object] = {
        "tier": "quick",
        "runs": 1,
        "skip": "",
        "source": None,
        "reuse": False,
        "out": out,
        "seed": 7,
        "dry_run": False,
    }
    return Namespace(**values | changes)


def results_of(name: str) -> list[dict[str, object]]:
    """What a good step answers."""
    quick = [case for case in load_cases() if case.tier == "quick"]
    shared: dict[str, object]
    shared = {"protocol": "sequencer", "verdict": HOLDS, "expected": HOLDS}
    match name:
        case "check":
            return [
                shared
                | {"name": case.name, "verdict": case.expected, "expected": case.expected}
                | {"distinct_states": 10}
                for case in quick
            ]
        case "mirror":
            return [shared | {"name": case.name, "edges": 5} for case in quick]
        case "run":
            names = ("Trace", "Integrity", "Fifo", "InView", "GapFree", "Validity")
            names += ("VirtualSynchrony",)
            return [shared | {"name": "run-1", "events": 100}] + [
                shared | {"name": each} for each in names
            ]
        case "conform":
            return [
                shared | {"name": f"run-1: {protocol}", "protocol": protocol, "events": 100}
                for protocol in ("flush", "gms", "stable", "state_transfer", "unicast", "nakack")
            ]
    return [shared | {"name": name}]


def stand_in(plan: audit.Plan, out: Path, **_: object) -> list[str]:
    """A process that leaves the summary of a good step."""
    results = json.dumps(results_of(plan.name))
    return [sys.executable, "-c", WRITER, str(out / plan.name), plan.words[0], results]


@pytest.fixture
def stood_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every step be a stand-in."""
    monkeypatch.setattr(audit, "_command", stand_in)


@pytest.mark.usefixtures("stood_in")
def test_good_steps_make_a_page_that_holds_and_says_what_is_not_discharged(tmp_path: Path) -> None:
    outcome = audit.run(arguments(tmp_path / "a"), QUIET)

    assert outcome.verdict == HOLDS
    page = (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    assert "Everything is as the catalog says" in page
    assert "AccurateSuspicion" in page[: page.index("Properties, and what each rests on")]
    assert "SEQ-F18" in page
    assert "raincheck audit --tier quick --runs 1 --seed 7" in page
    assert json.loads((tmp_path / "a" / "summary.json").read_text())["verdict"] == HOLDS
    assert (tmp_path / "a" / "junit.xml").is_file()


@pytest.mark.usefixtures("stood_in")
def test_the_page_needs_no_network(tmp_path: Path) -> None:
    audit.run(arguments(tmp_path / "a"), QUIET)

    page = (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)
    assert "@import" not in page
    assert "<script" not in page


def test_a_step_that_cannot_run_is_reported_in_its_own_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(plan: audit.Plan, out: Path, **_: object) -> list[str]:
        if plan.name != "check":
            return stand_in(plan, out)
        return [sys.executable, "-c", "import sys; print('No Java is here.'); sys.exit(3)"]

    monkeypatch.setattr(audit, "_command", broken)

    outcome = audit.run(arguments(tmp_path / "a"), QUIET)

    assert outcome.verdict == INCONCLUSIVE
    step = next(result for result in outcome.results if result.name == "step check")
    assert step.detail == "No Java is here."
    assert "No Java is here." in (tmp_path / "a" / "report.html").read_text(encoding="utf-8")


def test_a_step_that_dies_half_way_is_never_taken_for_a_good_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(plan: audit.Plan, out: Path, **_: object) -> list[str]:
        if plan.name != "mirror":
            return stand_in(plan, out)
        return [sys.executable, "-c", "pass"]  # exit code 0, and no summary

    monkeypatch.setattr(audit, "_command", half)

    outcome = audit.run(arguments(tmp_path / "a"), QUIET)

    assert outcome.verdict == INCONCLUSIVE


@pytest.mark.usefixtures("stood_in")
def test_what_is_skipped_is_missing_and_counts_as_missing(tmp_path: Path) -> None:
    outcome: Outcome = audit.run(arguments(tmp_path / "a", skip="run,conform"), QUIET)

    assert outcome.verdict == INCONCLUSIVE
    assert outcome.reproduce.endswith("--skip run,conform --seed 7")


def test_a_step_that_does_not_exist_cannot_be_skipped(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--skip proof: there is no such step; the steps are"):
        audit.run(arguments(tmp_path / "a", skip="proof"), QUIET)


def test_an_audit_of_nothing_is_refused(tmp_path: Path) -> None:
    every = ",".join(plan.name for plan in audit.plans("quick", 1, 1))

    with pytest.raises(UsageError, match="--skip leaves no step"):
        audit.run(arguments(tmp_path / "a", skip=every), QUIET)


@pytest.mark.usefixtures("stood_in")
def test_an_earlier_audit_gives_its_page_again(tmp_path: Path) -> None:
    audit.run(arguments(tmp_path / "a"), QUIET)

    again = audit.run(arguments(tmp_path / "b", source=tmp_path / "a"), QUIET)

    assert again.verdict == HOLDS
    (tmp_path / "empty").mkdir()
    nothing = audit.run(arguments(tmp_path / "c", source=tmp_path / "empty"), QUIET)
    assert nothing.verdict == INCONCLUSIVE
    with pytest.raises(UsageError, match="nowhere is no folder"):
        audit.run(arguments(tmp_path / "d", source=tmp_path / "nowhere"), QUIET)


def test_a_dry_run_prints_each_command_and_runs_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit.run(arguments(tmp_path / "a", dry_run=True), Ui())

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(audit.plans("quick", 7, 1))
    assert all("-m raincheck" in line for line in lines)
    assert not (tmp_path / "a").exists()


def test_every_step_is_a_command_that_its_verb_understands() -> None:
    from raincheck.__main__ import main

    for plan in audit.plans("quick", 7, 1):
        words = [word if word != audit.RECORDED else "." for word in plan.words]
        assert main([*words, "--dry-run", "--quiet"]) == 0, plan.name


def test_an_audit_trusts_its_own_store_only_unless_it_may_reuse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a"
    audit.run(arguments(out, dry_run=True), Ui())
    alone = capsys.readouterr().out.splitlines()
    outcome = audit.run(arguments(out, dry_run=True, reuse=True), Ui())
    reusing = capsys.readouterr().out.splitlines()

    assert all(f"--cache {out / audit.CACHE}" in line for line in alone)
    assert not any("--cache" in line for line in reusing)
    assert "--reuse" in outcome.reproduce


@pytest.mark.usefixtures("stood_in")
def test_a_step_begins_when_what_it_needs_is_done_and_no_store_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    ended: list[str] = []
    one = audit._run_one

    def noted(plan: audit.Plan, *words: object, **options: object) -> object:
        assert not plan.after or plan.after in ended
        begun.append(plan.name)
        step = one(plan, *words, **options)
        ended.append(plan.name)
        return step

    monkeypatch.setattr(audit, "_run_one", noted)
    stale = tmp_path / "a" / audit.CACHE / "tlc"
    stale.mkdir(parents=True)

    audit.run(arguments(tmp_path / "a"), QUIET)

    assert sorted(begun) == sorted(plan.name for plan in audit.plans("quick", 7, 1))
    assert not (tmp_path / "a" / audit.CACHE).exists()
