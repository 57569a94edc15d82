"""What the files of examples/ci run, and what they keep."""

from __future__ import annotations

import shlex
from typing import Any

import yaml

from .stranger import ROOT

FILES = ROOT / "examples" / "ci"


def commands_of(name: str) -> list[list[str]]:
    """The commands of a service's file after the installation, as words."""
    return [shlex.split(command) for command in _commands(name)[1:]]


def installation_of(name: str) -> str:
    """The command that installs raincheck."""
    return _commands(name)[0]


def kept_by(name: str) -> list[str]:
    """The files that a service uploads or keeps."""
    if name == "gitlab-ci.yml":
        artifacts = _loaded(name)["raincheck"]["artifacts"]
        return [*artifacts["paths"], artifacts["reports"]["junit"]]
    given = [step["with"] for step in _steps() if "upload" in step.get("uses", "")]
    return [words.get("sarif_file") or words["path"] for words in given]


def _commands(name: str) -> list[str]:
    match name:
        case "github-actions.yml":
            return [step["run"] for step in _steps() if "run" in step]
        case "gitlab-ci.yml":
            job = _loaded(name)["raincheck"]
            return [*job["before_script"], *job["script"]]
    lines = (FILES / name).read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("RUN ") for line in lines if line.startswith("RUN ")]


def _loaded(name: str) -> Any:
    return yaml.safe_load((FILES / name).read_text(encoding="utf-8"))


def _steps() -> list[dict[str, Any]]:
    return list(_loaded("github-actions.yml")["jobs"]["audit"]["steps"])
