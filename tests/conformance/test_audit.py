"""The audit runs the verbs as processes of their own, and its page tells what they found."""

import json
import re
import shutil
import sys
from argparse import Namespace
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zlib import compress

import msgspec
import pytest

from raincheck.__main__ import main
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.checksum import checksum_of
from raincheck.conformance.evidence.folder import Result
from raincheck.conformance.evidence.identity import digest_of, sources
from raincheck.conformance.evidence.plans import Plan, plans
from raincheck.conformance.evidence.store import hash_of
from raincheck.conformance.evidence.summary import SCHEMA, AuditSummary, schema_text
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, Outcome
from raincheck.conformance.protocols.record import LINKS
from raincheck.conformance.protocols.registry import protocols
from raincheck.conformance.ui import Ui
from raincheck.conformance.verbs import audit, auditowed, auditsteps
from raincheck.conformance.verbs.doctor import examine

QUIET = Ui(quiet=True)

WRITER = """
import base64, sys, zlib
folder, packed = sys.argv[1:3]
from pathlib import Path
Path(folder).mkdir(parents=True)
Path(folder, "summary.json").write_bytes(zlib.decompress(base64.b64decode(packed)))
"""


def arguments(out: Path, **changes: object) -> Namespace:
    """What the command line would give."""
    values: dict[str, object] = {
        "tier": "quick",
        "runs": 1,
        "skip": "",
        "only": "",
        "source": None,
        "reuse": False,
        "resume": False,
        "against": None,
        "out": out,
        "seed": 7,
        "dry_run": False,
    }
    return Namespace(**values | changes)


def results_of(plan: Plan, out: Path) -> list[dict[str, object]]:
    """What a good step answers: all that it owes, and what the page's cells are made of."""
    if plan.words[0] == "conform":  # there are no traces that would say whose they are
        layers = sorted({case.protocol for case in load_cases() if not case.made_of})
        return [
            {"name": f"run-7: {protocol}", "protocol": protocol, "verdict": HOLDS}
            | {"expected": HOLDS, "events": 100}
            for protocol in layers
        ]
    return [
        {"name": name, "protocol": protocol, "verdict": expected, "expected": expected}
        | figures_of(plan.words[0], name, protocol)
        for name, protocol, expected in auditowed.owes(plan, out).results
    ]


def figures_of(verb: str, name: str, protocol: str) -> dict[str, object]:
    """The figures of a result."""
    match verb:
        case "check":
            return {"distinct_states": 10, "depth": 3}
        case "mirror":
            return {"edges": 5}
        case "run" if name[-1].isdigit():
            return {"events": 100}
        case "prove" if name.count("-") == 1:
            return {"property": name.removeprefix(f"{protocol}-"), "seeds": [1]}
        case "generate":
            what = next((each for each in GENERATED if each in name), "walked")
            return GENERATED[what]
    return {}


GENERATED: dict[str, dict[str, object]] = {
    "walked": {"covered": 4, "edges": 4, "steps": 5},
    "lockstep": {"examples": 100, "steps": 4000},
    "coverage": {"guards": 3, "seen_false": 3, "actions": 5, "reached": 5},
}


STAND_IN = [sys.executable, "-I", "-S", "-c", WRITER]
"""It needs nothing that is installed."""


def written(
    plan: Plan, out: Path, results: list[dict[str, object]], made_from: str = ""
) -> list[str]:
    """A process that leaves a summary with these results, which a command line has to hold."""
    verb, run = plan.words[0], {"started": "now", "seconds": 1.5, "files": {}}
    summary = {"verb": verb, "verdict": "holds", "results": results}
    summary["reproduce"] = auditowed.reproduced(plan, out)
    summary["run"] = {**run, "sources": made_from or digest_of(sources())}
    packed = b64encode(compress(sealed(summary).encode())).decode()
    return [*STAND_IN, str(out / plan.name), packed]


def sealed(summary: dict[str, Any]) -> str:
    """The text of a summary with the checksum that its verb gives it."""
    return json.dumps(summary | {"run": {**summary["run"], "checksum": checksum_of(summary)}})


def stand_in(plan: Plan, out: Path, **_: object) -> list[str]:
    """A process that leaves the summary of a good step."""
    return written(plan, out, results_of(plan, out))


@cache
def tools() -> tuple[Result, ...]:
    """What is installed, asked once: Java takes its time."""
    return examine()


@pytest.fixture(autouse=True)
def known_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every audit of a test know the tools already."""
    monkeypatch.setattr(audit, "examine", tools)


@pytest.fixture
def stood_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every step be a stand-in."""
    monkeypatch.setattr(auditsteps, "command_of", stand_in)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an audit of good steps; who changes it changes a copy."""
    folder = tmp_path_factory.mktemp("good") / "a"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "examine", tools)
        patch.setattr(auditsteps, "command_of", stand_in)
        assert audit.run(arguments(folder), QUIET).verdict == HOLDS
    return folder


def test_good_steps_make_a_page_that_holds_and_says_what_is_not_discharged(good: Path) -> None:
    page = (good / "report.html").read_text(encoding="utf-8")
    assert "Everything offered is as the catalog says" in page
    assert "AccurateSuspicion" in page[: page.index("<h2>The protocols</h2>")]
    assert "SEQ-F18" in page
    assert "raincheck audit --tier quick --runs 1 --seed 7" in page
    assert json.loads((good / "summary.json").read_text())["verdict"] == HOLDS
    assert (good / "junit.xml").is_file()


def test_the_page_needs_no_network(good: Path) -> None:
    page = (good / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)
    assert "@import" not in page
    assert "<script" not in page


def test_a_step_that_cannot_run_is_reported_in_its_own_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(plan: Plan, out: Path, **_: object) -> list[str]:
        if plan.name != "check":
            return stand_in(plan, out)
        return [sys.executable, "-c", "import sys; print('No Java is here.'); sys.exit(3)"]

    monkeypatch.setattr(auditsteps, "command_of", broken)

    outcome = audit.run(arguments(tmp_path / "a"), QUIET)

    assert outcome.verdict == INCONCLUSIVE
    step = next(result for result in outcome.results if result.name == "step check")
    assert step.detail == "No Java is here."
    assert "No Java is here." in (tmp_path / "a" / "report.html").read_text(encoding="utf-8")


def test_a_step_that_dies_half_way_is_never_taken_for_a_good_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(plan: Plan, out: Path, **_: object) -> list[str]:
        if plan.name != "mirror":
            return stand_in(plan, out)
        return [sys.executable, "-c", "pass"]  # exit code 0, and no summary

    monkeypatch.setattr(auditsteps, "command_of", half)

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
    every = ",".join(plan.name for plan in plans("quick", 1, 1))

    with pytest.raises(UsageError, match="--skip leaves no step"):
        audit.run(arguments(tmp_path / "a", skip=every), QUIET)


def test_an_earlier_audit_gives_its_page_again(tmp_path: Path, good: Path) -> None:
    again = audit.run(arguments(tmp_path / "b", source=[good]), QUIET)

    assert again.verdict == HOLDS
    assert not again.head["reused"]
    (tmp_path / "empty").mkdir()
    nothing = audit.run(arguments(tmp_path / "c", source=[tmp_path / "empty"]), QUIET)
    assert nothing.verdict == INCONCLUSIVE
    with pytest.raises(UsageError, match="nowhere is no folder"):
        audit.run(arguments(tmp_path / "d", source=[tmp_path / "nowhere"]), QUIET)


def made_elsewhere(part: Path, **other: object) -> dict[str, Any]:
    """Let the audit in the folder be one of another machine or of other tools."""
    made: dict[str, Any] = json.loads((part / "identity.json").read_text()) | other
    (part / "identity.json").write_text(json.dumps(made))
    summary = json.loads((part / "summary.json").read_text())
    summary["run"]["files"]["identity.json"] = hash_of(part / "identity.json")
    (part / "summary.json").write_text(sealed(summary))
    return made


@pytest.fixture
def parts(tmp_path: Path, stood_in: None) -> list[Path]:  # noqa: ARG001
    """The folders of an audit of good steps that was made in two parts."""
    first = "check,mirror,prove"
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, how in zip(folders, ({"only": first}, {"skip": first}), strict=True):
        assert audit.run(arguments(folder, **how), QUIET).verdict == INCONCLUSIVE
    return folders


def test_the_parts_of_an_audit_are_put_together(
    tmp_path: Path, good: Path, parts: list[Path]
) -> None:
    made_elsewhere(parts[0], machine={"system": "x", "processor": "y", "processors": 1})

    options = arguments(tmp_path / "whole", source=parts, against=good / "summary.json")
    whole = audit.run(options, QUIET)

    assert whole.verdict == HOLDS
    # Of an audit that was made at once, on another machine.
    assert whole.head["changes"] == [["other", "the machine is another"]]
    found = json.loads((tmp_path / "whole" / "summary.json").read_text())
    assert found["identity"]["machine"]["processors"] == 1
    assert (tmp_path / "whole" / "mirror" / "summary.json").is_file()
    missing = audit.run(arguments(tmp_path / "half", source=parts[:1]), QUIET)
    assert missing.verdict == INCONCLUSIVE


def test_parts_that_do_not_fit_are_refused(tmp_path: Path, parts: list[Path]) -> None:
    def refused(words: str, *folders: Path, out: str = "whole") -> None:
        with pytest.raises(UsageError, match=words):
            audit.run(arguments(tmp_path / out, source=[*folders]), QUIET)

    refused("both have the step check: name one", *parts, parts[0])
    refused("is the folder of --out too", *parts, out="one")
    before = (parts[1] / "identity.json").read_text()
    made = made_elsewhere(parts[1], tools={"java": "another"})
    refused("one and .*two were made with different tools", *parts)
    (parts[1] / "identity.json").write_text(before)
    refused("identity.json is not as its audit has left it", *parts)
    made["sources"]["raincheck/spec/Flush.tla"] = "another"
    (parts[1] / "identity.json").write_text(json.dumps(made))
    refused(r"two is of other sources \(raincheck/spec/Flush\.tla\)", *parts)


@pytest.mark.parametrize("options", [{"tier": "full"}, {"seed": 8}])
def test_evidence_of_another_tier_or_seed_is_refused(
    tmp_path: Path, good: Path, options: dict[str, object]
) -> None:
    with pytest.raises(
        UsageError, match=r"The step check in .* was made as `raincheck check --tier quick"
    ):
        audit.run(arguments(tmp_path / "b", source=[good], **options), QUIET)
    shutil.copytree(good, tmp_path / "a")
    (tmp_path / "a" / "plan.json").unlink()
    with pytest.raises(UsageError, match="does not say how its steps were made"):
        audit.run(arguments(tmp_path / "c", source=[tmp_path / "a"]), QUIET)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"only": "proof"}, "--only proof: there is no such step"),
        ({"only": "prove", "skip": "check"}, "choose one"),
    ],
)
def test_a_part_names_its_steps(tmp_path: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        audit.run(arguments(tmp_path / "a", **options), QUIET)


def test_a_dry_run_prints_each_command_and_runs_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit.run(arguments(tmp_path / "a", dry_run=True), Ui())

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(plans("quick", 7, 1))
    assert all("-m raincheck" in line for line in lines)
    assert not (tmp_path / "a").exists()


def test_every_step_is_a_command_that_its_verb_understands() -> None:
    from raincheck.__main__ import main

    steps = {plan.name: plan for tier in ("quick", "full") for plan in plans(tier, 7, 1)}
    for plan in steps.values():
        words = [word if not word.startswith("{") else "." for word in plan.words]
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
    one = auditsteps.run_one

    def noted(plan: Plan, *words: object, **options: object) -> object:
        assert set(plan.after) <= set(ended)
        begun.append(plan.name)
        step = one(plan, *words, **options)
        ended.append(plan.name)
        return step

    monkeypatch.setattr(auditsteps, "run_one", noted)
    stale = tmp_path / "a" / audit.CACHE / "tlc"
    stale.mkdir(parents=True)

    audit.run(arguments(tmp_path / "a"), QUIET)

    assert sorted(begun) == sorted(plan.name for plan in plans("quick", 7, 1))
    assert not (tmp_path / "a" / audit.CACHE).exists()


# ---------------------------------------------------------------- incomplete, and of what it speaks


def summary_at(folder: Path) -> AuditSummary:
    """The summary in the folder, which must be of the published form."""
    return msgspec.json.decode((folder / "summary.json").read_bytes(), type=AuditSummary)


def without_field(plan: Plan, out: Path, **_: object) -> list[str]:
    """As `stand_in`, but of the ring no trace was recorded."""
    kept = [each for each in results_of(plan, out) if each["protocol"] != "raincore"]
    if not plan.name.startswith(("run", "conform")):
        return stand_in(plan, out)
    return written(plan, out, kept)


@pytest.mark.usefixtures("stood_in")
def test_a_step_that_is_left_out_makes_the_audit_incomplete_wherever_one_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a"
    code = main(["audit", "--skip", "generate,mutate", "--runs", "1", "--out", str(out)])

    assert code == 2
    said = capsys.readouterr().out
    assert said.index("INCOMPLETE: step generate was left out") < said.index("property ")
    assert "step generate was left out" in summary_at(out).incomplete
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Incomplete" in page[: page.index("What is not proved")]
    suite = ElementTree.parse(out / "junit.xml").getroot()[0]
    assert suite[0].tag == "properties"
    assert "step mutate was left out" in suite[0][0].attrib["value"]
    sarif = json.loads((out / "results.sarif").read_text(encoding="utf-8"))["runs"][0]
    assert "step generate was left out" in sarif["properties"]["incomplete"]
    assert not sarif["invocations"][0]["executionSuccessful"]


def test_a_failure_in_a_step_that_is_left_out_of_an_earlier_audit_does_not_turn_it_green(
    tmp_path: Path, good: Path
) -> None:
    again = audit.run(arguments(tmp_path / "b", source=[good], skip="generate"), QUIET)

    assert again.exit_code == 2


@pytest.mark.parametrize("hidden", ["left out", "rewritten"])
def test_a_step_whose_verdict_is_not_that_of_its_results_makes_no_green(
    tmp_path: Path, good: Path, hidden: str
) -> None:
    shutil.copytree(good, tmp_path / "a")
    summary = tmp_path / "a" / "check" / "summary.json"
    found = json.loads(summary.read_text())
    if hidden == "left out":  # the case that TLC found violated
        others = [each for each in found["results"] if each["name"] != "gms-leave"]
        found |= {"verdict": "violated", "results": others}
    else:
        found["results"][0]["verdict"] = "inconclusive"
    summary.write_text(sealed(found))

    again = audit.run(arguments(tmp_path / "b", source=[tmp_path / "a"]), QUIET)

    assert again.exit_code != 0
    (gap,) = [each for each in again.head["incomplete"] if each.startswith("step check")]
    assert "and its results amount to" in gap


@pytest.mark.parametrize("step", ["check", "mutate"])
def test_a_case_or_a_mutant_without_a_result_is_a_gap(
    tmp_path: Path, good: Path, step: str
) -> None:
    shutil.copytree(good, tmp_path / "a")
    summary = tmp_path / "a" / step / "summary.json"
    found = json.loads(summary.read_text())
    lost = found["results"].pop()
    summary.write_text(sealed(found))

    again = audit.run(arguments(tmp_path / "b", source=[tmp_path / "a"]), QUIET)

    assert again.exit_code == 2
    (gap,) = [each for each in again.head["incomplete"] if each.startswith(f"step {step}")]
    assert f"it has no result of {lost['name']}" in gap


def test_a_protocol_without_field_evidence_is_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditsteps, "command_of", without_field)

    outcome = audit.run(arguments(tmp_path / "a"), QUIET)

    assert outcome.verdict == INCONCLUSIVE
    lacking = [r for r in outcome.results if r.protocol == "raincore" and not r.as_expected]
    assert [each.name for each in lacking] == ["link traces", "link field"]
    assert any("raincore" in each and "field" in each for each in outcome.head["incomplete"])


def test_the_quick_plan_runs_every_group_of_real_processes_and_judges_what_it_leaves() -> None:
    steps = {plan.name: plan for plan in plans("quick", 7, 1)}

    assert {"run", "run-raincore", "run-merging", "judges", "damage"} <= steps.keys()
    merging = {"run-merging", "run-merging-primary"}
    groups = {"run", "run-gossip", "run-total", "run-raincore", *merging}
    assert set(steps["conform"].after) == groups
    assert {"--primary", "majority"} < set(steps["run-merging-primary"].words)
    assert steps["run-merging-primary"].words[-4:] == ("--runs", "1", "--seed", "7")
    assert steps["run-gossip"].words[-4:] == ("--runs", "1", "--seed", "7")
    assert steps["run-total"].words[-4:] == ("--runs", "2", "--seed", "7")
    judged = {"{run}/traces", "{run-raincore}/traces", "{run-merging}/traces"}
    assert judged <= set(steps["conform-spark"].words)
    assert "--quick" in steps["mutate"].words
    full = {plan.name: plan for plan in plans("full", 7, 1)}
    assert "--quick" not in full["mutate"].words
    assert full.keys() - steps.keys() == {"run-safe"}
    assert full["run-merging-primary"].words[-4:] == ("--primary", "majority", "--seed", "7")
    assert full["run-total"].words[2:4] == ("--runs", "1")
    assert "{run-total}/traces" in full["conform"].words
    assert "{run-merging-primary}/traces" in full["conform"].words


def test_a_failing_replay_reaches_the_properties_that_it_speaks_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(plan: Plan, out: Path, **_: object) -> list[str]:
        if plan.name != "generate":
            return stand_in(plan, out)
        results = results_of(plan, out)
        for each in results:
            if each["name"] == "stable-lockstep":
                each["verdict"] = "violated"
        return written(plan, out, results)

    monkeypatch.setattr(auditsteps, "command_of", failing)

    outcome = audit.run(arguments(tmp_path / "a"), QUIET)

    verdicts = {
        (each.protocol, each.verdict)
        for each in outcome.results
        if each.name.startswith("property")
    }
    assert ("stable", "violated") in verdicts
    assert {protocol for protocol, verdict in verdicts if verdict == "violated"} == {"stable"}


INTERRUPTED = """
import json, sys
from pathlib import Path
Path(sys.argv[1]).mkdir(parents=True)
Path(sys.argv[1], "INCOMPLETE").write_text(json.dumps({"results": json.loads(sys.argv[2])}))
print("Interrupted.")
sys.exit(2)
"""


def test_a_failure_that_an_interrupted_step_had_found_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(plan: Plan, out: Path, **_: object) -> list[str]:
        if plan.name != "generate":
            return stand_in(plan, out)
        results = [each for each in results_of(plan, out) if each["protocol"] in ("flush", "gms")]
        results[-1]["verdict"] = "violated"
        return [sys.executable, "-c", INTERRUPTED, str(out / plan.name), json.dumps(results)]

    monkeypatch.setattr(auditsteps, "command_of", interrupted)

    outcome = audit.run(arguments(tmp_path / "a"), QUIET)

    assert outcome.exit_code == 1
    assert "step generate: Interrupted." in outcome.head["incomplete"]
    fallen = [each for each in outcome.results if each.verdict == "violated"]
    assert {each.protocol for each in fallen if each.name.startswith("property")} == {"gms"}


class Interrupted(Exception):
    """The machine went down in a step."""


@pytest.fixture(scope="module")
def first_part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an audit that was interrupted when a few of its steps had ended."""
    one = auditsteps.run_one
    folder = tmp_path_factory.mktemp("interrupted") / "a"

    def until_generate(plan: Plan, *words: object, **options: object) -> object:
        if plan.name == "generate":
            raise Interrupted
        return one(plan, *words, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "examine", tools)
        patch.setattr(auditsteps, "command_of", stand_in)
        patch.setattr(auditsteps, "run_one", until_generate)
        with pytest.raises(Interrupted):
            audit.run(arguments(folder), QUIET)
    return folder


@pytest.fixture
def broken_off(tmp_path: Path, first_part: Path) -> Path:
    """A copy of the interrupted audit."""
    return shutil.copytree(first_part, tmp_path / "a")


@pytest.mark.usefixtures("stood_in")
def test_an_interrupted_audit_goes_on_with_the_steps_that_are_left(
    broken_off: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    had_ended = {path.parent.name for path in broken_off.glob("*/summary.json")}
    begun: list[str] = []
    one = auditsteps.run_one

    def noted(plan: Plan, *words: object, **options: object) -> object:
        begun.append(plan.name)
        return one(plan, *words, **options)

    monkeypatch.setattr(auditsteps, "run_one", noted)

    outcome = audit.run(arguments(broken_off, resume=True), QUIET)

    assert had_ended
    assert "generate" in begun
    assert sorted([*had_ended, *begun]) == sorted(plan.name for plan in plans("quick", 7, 1))
    assert outcome.verdict == HOLDS
    assert not outcome.head["incomplete"]
    assert any(line.startswith("RESUMED") for line in outcome.headline)
    assert "--resume" in (broken_off / "report.html").read_text(encoding="utf-8")
    assert summary_at(broken_off).resumed
    assert "--resume" not in outcome.reproduce


@pytest.mark.usefixtures("stood_in")
def test_a_step_of_other_sources_is_done_again_when_an_audit_is_resumed(
    broken_off: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = sorted(broken_off.glob("*/summary.json"))
    other = ended[0].read_text().replace(digest_of(sources()), "0" * 64)
    ended[0].write_text(sealed(json.loads(other)))
    begun: list[str] = []

    def noted(plan: Plan, *_: object, **__: object) -> object:
        begun.append(plan.name)
        raise Interrupted

    monkeypatch.setattr(auditsteps, "run_one", noted)
    with pytest.raises(Interrupted):
        audit.run(arguments(broken_off, resume=True), QUIET)

    assert ended[0].parent.name in begun
    assert not {each.parent.name for each in ended[1:]} & set(begun)


@pytest.mark.usefixtures("stood_in")
def test_what_an_unfinished_step_had_left_is_gone_before_it_begins_again(broken_off: Path) -> None:
    half = broken_off / "generate"
    (half / "traces").mkdir(parents=True)
    (half / "INCOMPLETE").touch()

    assert audit.run(arguments(broken_off, resume=True), QUIET).verdict == HOLDS
    assert not (half / "traces").exists()


@pytest.mark.usefixtures("stood_in")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"seed": 8}, "begun with other steps"),
        ({"tier": "full"}, "begun with other steps"),
        ({"source": [Path.cwd()]}, "choose one"),
    ],
)
def test_what_cannot_be_resumed_is_refused(
    broken_off: Path, change: dict[str, object], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        audit.run(arguments(broken_off, resume=True, **change), QUIET)


def test_only_an_interrupted_audit_of_the_same_sources_and_tools_is_resumed(
    broken_off: Path, good: Path
) -> None:
    with pytest.raises(UsageError, match="has no interrupted audit"):
        audit.run(arguments(good, resume=True), QUIET)
    made = json.loads((broken_off / "identity.json").read_text())
    other = made | {"tools": {**made["tools"], "java": "another"}}
    (broken_off / "identity.json").write_text(json.dumps(other))
    with pytest.raises(UsageError, match="with other tools"):
        audit.run(arguments(broken_off, resume=True), QUIET)
    (broken_off / "identity.json").write_text("[" * 100_000)
    with pytest.raises(UsageError, match="does not say of which sources"):
        audit.run(arguments(broken_off, resume=True), QUIET)
    made["sources"]["raincheck/spec/Flush.tla"] = "another"
    (broken_off / "identity.json").write_text(json.dumps(made))
    with pytest.raises(UsageError, match=r"other sources \(raincheck/spec/Flush\.tla\)"):
        audit.run(arguments(broken_off, resume=True), QUIET)


def test_evidence_of_other_sources_is_refused_with_their_names(tmp_path: Path, good: Path) -> None:
    shutil.copytree(good, tmp_path / "a")
    made = json.loads((tmp_path / "a" / "identity.json").read_text())
    made["sources"]["raincheck/spec/Flush.tla"] = "another"
    (tmp_path / "a" / "identity.json").write_text(json.dumps(made))

    with pytest.raises(UsageError, match=r"other sources \(raincheck/spec/Flush\.tla\)"):
        audit.run(arguments(tmp_path / "b", source=[tmp_path / "a"]), QUIET)


def test_a_step_that_was_put_in_from_elsewhere_is_refused(tmp_path: Path, good: Path) -> None:
    shutil.copytree(good, tmp_path / "a")
    path = tmp_path / "a" / "mirror" / "summary.json"
    path.write_text(sealed(json.loads(path.read_text().replace(digest_of(sources()), "0" * 64))))

    with pytest.raises(UsageError, match=r"mirror is not of the audit in"):
        audit.run(arguments(tmp_path / "b", source=[tmp_path / "a"]), QUIET)


def test_a_step_made_while_the_sources_changed_makes_the_audit_inconclusive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(plan: Plan, out: Path, **_: object) -> list[str]:
        made_from = "0" * 64 if plan.name == "prove" else ""
        return written(plan, out, results_of(plan, out), made_from)

    monkeypatch.setattr(auditsteps, "command_of", other)

    outcome = audit.run(arguments(tmp_path / "a"), QUIET)

    assert outcome.verdict == INCONCLUSIVE
    assert outcome.results[0].detail == "steps made from other sources: prove"


# ---------------------------------------------------------------- for programs


def test_the_summary_is_of_the_published_form_and_says_of_what_it_speaks(good: Path) -> None:
    summary = summary_at(good)
    assert summary.schema == SCHEMA
    assert summary.identity.sources["raincheck/spec/Sequencer.tla"]
    assert {"tlc", "z3", "java", "spark", "python"} <= summary.identity.tools.keys()
    assert {"AccurateSuspicion", "FairLinks", "NoByzantineMember"} <= {
        each.name for each in summary.rests_on
    }
    order = next(
        p for p in summary.properties if (p.protocol, p.name) == ("sequencer", "TotalOrder")
    )
    assert "gms.AccurateSuspicion" in order.as_long_as
    assert {"flush.VirtualSynchrony", "gms.SingleSequenceOfViews"} <= set(order.rests_on)


def test_the_published_schema_is_that_of_the_summary() -> None:
    published = Path(__file__).parents[2] / "docs" / "audit-summary.schema.json"

    assert published.read_text(encoding="utf-8") == schema_text()


def test_every_finding_has_a_file_and_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def violated(plan: Plan, out: Path, **_: object) -> list[str]:
        if plan.name != "check":
            return stand_in(plan, out)
        results = results_of(plan, out)
        for each in results:
            if each["name"] == "sequencer-f13-repaired":
                each["verdict"] = "TotalOrder"
        return written(plan, out, results)

    monkeypatch.setattr(auditsteps, "command_of", violated)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    out = tmp_path / "a"

    audit.run(arguments(out), QUIET)

    sarif = json.loads((out / "results.sarif").read_text(encoding="utf-8"))
    found = {}
    for each in sarif["runs"][0]["results"]:
        place = each["locations"][0]["physicalLocation"]
        file, line = place["artifactLocation"]["uri"], place["region"]["startLine"]
        path = Path(file.removeprefix("file://"))
        assert len(path.read_text(encoding="utf-8").splitlines()) >= line, each
        found[each["message"]["text"].partition(" is ")[0]] = (path.name, line)
    table = Path("spec/cases/sequencer.toml").read_text().splitlines()
    assert found["sequencer: check: sequencer-f13-repaired"] == (
        "sequencer.toml",
        table.index("[case.f13-repaired]") + 1,
    )
    assert found["sequencer: property TotalOrder"][0] == "Sequencer.tla"
    said = capsys.readouterr().out
    assert re.search(
        r"::error file=spec/cases/sequencer\.toml,line=\d+::sequencer: check: seq", said
    )
    cases = ElementTree.parse(out / "junit.xml").getroot().iter("testcase")
    assert all({"file", "line"} <= case.attrib.keys() for case in cases)


@pytest.mark.usefixtures("stood_in")
def test_two_audits_of_the_same_sources_differ_in_nothing(tmp_path: Path, good: Path) -> None:
    second = audit.run(arguments(tmp_path / "b", against=good / "summary.json"), QUIET)

    assert second.head["changes"] == []
    assert "nothing but times" in (tmp_path / "b" / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("stood_in")
def test_what_is_no_summary_of_an_audit_is_refused_as_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"verb": "check"}')

    for path, why in ((tmp_path / "x.json", "no summary of an audit"), (tmp_path / "y", "No such")):
        with pytest.raises(UsageError, match=why):
            audit.run(arguments(tmp_path / "a", against=path), QUIET)


@pytest.mark.usefixtures("stood_in")
def test_the_latest_full_audit_is_linked_from_the_quick_ones(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    audit.run(arguments(runs / "one", tier="full"), QUIET)

    quick = audit.run(arguments(runs / "two"), QUIET)

    assert quick.head["latest_full"]["folder"] == "one"
    assert '<a href="../one/report.html">' in (runs / "two" / "report.html").read_text()
    shutil.rmtree(runs / "one")  # and nobody links what is no longer there
    assert audit._latest_full(runs / "two") == {}


@pytest.mark.usefixtures("stood_in")
def test_reused_evidence_is_said_at_the_top(tmp_path: Path) -> None:
    outcome = audit.run(arguments(tmp_path / "a", reuse=True), QUIET)

    assert outcome.head["reused"]
    assert any(line.startswith("REUSED") for line in outcome.headline)
    page = (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    assert "--reuse" in page[: page.index("What is not proved")]
    again = audit.run(arguments(tmp_path / "b", source=[tmp_path / "a"]), QUIET)
    assert again.head["reused"]


def test_our_own_protocols_promise_every_link_or_are_named_here() -> None:
    composed = {case.protocol for case in load_cases() if case.made_of}

    for record in protocols().values():
        wanted = ("specification",) if record.name in composed else LINKS
        if record.name == "ring_start":  # no traces
            wanted = ("specification", "model", "code", "proofs")
        # Services have no code, and that of LEASES is compared by tests alone.
        if record.name in ("stability", "total_order", "leases"):
            wanted = ("specification", "model")
        assert record.links == wanted, record.name
