"""The files of examples/ci work: each of their commands is run, in a stranger's project."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from .stranger import ROOT, break_spec, done

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(1200)]

FILES = ROOT / "examples" / "ci"


def loaded(name: str) -> Any:
    """The content of a file of examples/ci."""
    return yaml.safe_load((FILES / name).read_text(encoding="utf-8"))


def github_steps() -> list[dict[str, Any]]:
    """The steps of the workflow."""
    return list(loaded("github-actions.yml")["jobs"]["audit"]["steps"])


def commands_of(name: str) -> list[str]:
    """The commands of a file, in order."""
    match name:
        case "github-actions.yml":
            return [step["run"] for step in github_steps() if "run" in step]
        case "gitlab-ci.yml":
            job = loaded(name)["raincheck"]
            return [*job["before_script"], *job["script"]]
    lines = (FILES / name).read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("RUN ") for line in lines if line.startswith("RUN ")]


def kept_by(name: str) -> list[str]:
    """The files that a template uploads or keeps."""
    if name == "gitlab-ci.yml":
        artifacts = loaded(name)["raincheck"]["artifacts"]
        return [*artifacts["paths"], artifacts["reports"]["junit"]]
    given = [step["with"] for step in github_steps() if "upload" in step.get("uses", "")]
    return [words.get("sarif_file") or words["path"] for words in given]


def run_all(name: str, environment: Path, project: Path, code: int = 0) -> list[str]:
    """Run the commands after the installation, which the fixture has done."""
    install, *commands = commands_of(name)
    assert "pip install" in install
    assert "raincheck[audit]" in install
    words = [shlex.split(command) for command in commands]
    return [done([str(environment / each[0]), *each[1:]], project, code) for each in words]


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_the_commands_pass_and_leave_what_is_kept(
    environment: Path, project: Path, name: str
) -> None:
    run_all(name, environment, project)

    for pattern in kept_by(name):
        assert list(project.glob(pattern.rstrip("/"))), pattern


def test_a_violation_fails_the_job_and_is_annotated(
    environment: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    break_spec(project)

    said = run_all("github-actions.yml", environment, project, code=1)

    assert re.search(r"^::error file=.*TwoPhaseCommit\.tla|^::error file=", said[-1], re.MULTILINE)
    findings = json.loads((project / "runs" / "audit" / "results.sarif").read_text())
    assert findings["runs"][0]["results"]


def test_the_hook_of_pre_commit_checks_what_has_changed(environment: Path, project: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    program, *words = shlex.split(hook["entry"])
    done([str(environment / program), *words], project)
    assert re.search(hook["files"], "spec/TwoPhaseCommit.tla")
    assert re.search(hook["files"], "raincheck.toml")
    assert not re.search(hook["files"], "two_phase_commit/core.py")

    break_spec(project)

    done([str(environment / program), *words], project, 1)


def test_the_container_installs_what_the_verbs_need() -> None:
    assert commands_of("Containerfile") == [
        "python -m pip install --no-cache-dir 'raincheck[audit]'"
    ]
