"""A stranger's project, in a fresh environment: every verb works there, and finds a planted fault.

`make project` runs this: it builds the wheel, installs it into a new environment, beside what its
extras declare and nothing else, and copies `examples/two_phase_commit` out of the checkout.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

import pytest
import yaml

from .ci_files import commands_of, installation_of, kept_by
from .linked import needed
from .stranger import EXAMPLE, ROOT, WASTE, Call, break_core, break_spec, damage, done

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="session")
def traces(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The traces of the project's generated walks."""
    folder = tmp_path_factory.mktemp("traced") / "project"
    shutil.copytree(EXAMPLE, folder, ignore=WASTE)
    words = ["generate", "--traces", "traces", "--examples", "1"]
    done([str(environment / "raincheck"), *words], folder)
    return folder / "traces"


def test_nothing_of_the_project_is_known_to_the_package() -> None:
    for path in ROOT.glob("conformance/**/*.py"):
        assert "two_phase_commit.core" not in path.read_text(), path
    own = [*EXAMPLE.rglob("*.py")]
    assert own
    for path in own:
        assert "raincheck.impl" not in path.read_text(), path


def test_the_environment_has_what_the_wheel_declares_and_nothing_else(environment: Path) -> None:
    python, here = str(environment / "python"), environment
    where = done([python, "-c", "import pyspark, pytest, raincheck, z3; print(raincheck)"], here)
    assert str(environment.parent) in where

    undeclared = "try: import yaml\nexcept ImportError as error: print(error)"
    said = done([python, "-c", undeclared], here)
    assert said.strip() == "No module named 'yaml'"


@pytest.mark.parametrize(
    ("declares", "raised"),
    [
        ("Requires-Dist: msgspec>=999", "msgspec>=999.* is wanted"),
        ('Requires-Dist: msgspec>=999; extra == "audit"', "msgspec>=999.* is wanted"),
        (
            'Requires-Dist: raincheck[a]; extra == "audit"\n'
            'Requires-Dist: no-such-package; extra == "a"',
            "no-such-package",
        ),
    ],
)
def test_a_requirement_that_nothing_here_satisfies_is_found(
    tmp_path: Path, declares: str, raised: str
) -> None:
    metadata = f"Metadata-Version: 2.4\nName: raincheck\nVersion: 1\n{declares}\n"
    (tmp_path / "METADATA").write_text(metadata)
    own = Distribution.at(tmp_path)

    with pytest.raises((AssertionError, PackageNotFoundError), match=raised):
        needed(["raincheck[audit]"], own)

    if "extra" in declares:
        assert needed(["raincheck"], own) == {}


def test_check_holds_and_finds_a_fault_in_the_specification(raincheck: Call, project: Path) -> None:
    assert "2 of 2 results as expected" in raincheck("check")
    assert "two-phase-commit-hasty" in raincheck("check", "--list")
    assert "did you mean two-phase-commit-hasty" in raincheck(
        "check", "two-phase-commit-hsty", code=3
    )

    break_spec(project)

    assert "two-phase-commit-three: Agreement, expected holds" in raincheck("check", code=1)


def test_explain_draws_the_counterexample(raincheck: Call) -> None:
    said = raincheck("explain", "two-phase-commit-hasty")

    assert "Agreement promises: Nobody commits what another has aborted" in said
    assert "Refuse(b)" in said


def test_mirror_holds_and_finds_that_spec_and_model_differ(raincheck: Call, project: Path) -> None:
    assert "2 of 2 results as expected" in raincheck("mirror")

    break_spec(project)

    assert "Refuse" in raincheck("mirror", code=1)


def test_generate_holds_and_finds_a_fault_in_the_core(raincheck: Call, project: Path) -> None:
    assert "505" in raincheck("generate")

    break_core(project)

    assert "accepts what its guard forbids" in raincheck("generate", code=1)


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_conform_holds_and_finds_a_fault_in_a_trace(
    raincheck: Call, project: Path, traces: Path, engine: str
) -> None:
    shutil.copytree(traces, project / "traces")
    if engine == "local":  # the audit below asks Spark of good traces
        assert "20 of 20 results as expected" in raincheck("conform", "traces")

    path = max((project / "traces").glob("*.a.0.*.jsonl"), key=lambda each: each.stat().st_size)
    text = path.read_text()
    assert '"prepared"' in text
    path.write_text(text.replace('"prepared"', '"committed"', 1))

    said = raincheck("conform", "traces", "--engine", engine, code=1)
    assert "violated: 19 of 20 results as expected" in said
    assert "prepared" in said


def test_mutate_kills_all_and_finds_a_survivor(raincheck: Call, project: Path) -> None:
    assert "killed by" in raincheck("mutate")

    table = project / "spec" / "mutants" / "two_phase_commit.toml"
    damage(table, 'replace = "not self.votes"', 'replace = "set(self.nodes) != self.votes"')

    assert "survives: neither replay nor lockstep notices it" in raincheck("mutate", code=1)


def test_audit_holds_on_one_page_and_finds_a_fault(
    raincheck: Call, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    ((program, *words),) = commands_of("github-actions.yml")
    assert program == "raincheck"

    said = raincheck(*words)

    assert re.search(r"property Agreement: holds", said)
    assert "::error" not in said
    page = project / "runs" / "audit" / "report.html"
    assert "NobodyGuesses" in page.read_text()
    for stranger in ("FLUSH", "SEQUENCER", "Raincore"):
        assert stranger not in page.read_text()
    assert json.loads((page.parent / "summary.json").read_text())["verdict"] == "holds"
    for name in ("github-actions.yml", "gitlab-ci.yml"):
        for pattern in kept_by(name):
            assert list(project.glob(pattern.rstrip("/"))), pattern

    break_core(project)

    left_out = "check,mirror,damage,conform-spark"  # what does not depend on the core
    said = raincheck(*words, "--skip", left_out, code=1)
    assert "step generate: violated" in said
    assert re.search(r"^::error file=.+,line=\d+", said, re.MULTILINE)
    findings = json.loads((page.parent / "results.sarif").read_text())
    assert findings["runs"][0]["results"]


def test_all_services_run_the_same_commands() -> None:
    assert commands_of("github-actions.yml") == commands_of("gitlab-ci.yml")
    for name in ("github-actions.yml", "gitlab-ci.yml", "Containerfile"):
        assert "'raincheck[audit]'" in installation_of(name)


def test_the_hook_of_pre_commit_checks_what_has_changed(raincheck: Call, project: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    program, *words = shlex.split(hook["entry"])
    assert program == "raincheck"
    assert re.search(hook["files"], "spec/TwoPhaseCommit.tla")
    assert re.search(hook["files"], "raincheck.toml")
    assert not re.search(hook["files"], "two_phase_commit/core.py")
    raincheck(*words)

    break_spec(project)

    raincheck(*words, code=1)


@pytest.mark.parametrize("verb", ["prove", "run"])
def test_a_verb_for_which_the_record_offers_nothing_says_so(raincheck: Call, verb: str) -> None:
    assert "No protocol here offers" in raincheck(verb, code=2)


def test_its_own_tests_pass_and_find_a_fault(environment: Path, project: Path) -> None:
    command = [str(environment / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    assert "3 passed" in done(command, project)

    break_core(project)

    said = done(command, project, code=1)
    assert "2 failed, 1 passed" in said
