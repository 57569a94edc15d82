"""What the files of examples/ci run, and what they keep."""

from __future__ import annotations

import shlex
from typing import Any

import yaml

from .containerfile import steps_of
from .stranger import ROOT

FILES = ROOT / "examples" / "ci"


def commands_of(name: str) -> list[list[str]]:
    """The commands of a service's file after the installation, as words."""
    return [shlex.split(command) for command in _commands(name)[1:]]


def installation_of(name: str) -> str:
    """The command that installs raincheck."""
    return _commands(name)[0]


def script_of(name: str) -> list[str]:
    """All that the file has a shell do, in order."""
    return _commands(name)


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
    steps = steps_of((FILES / name).read_text(encoding="utf-8"))
    return [step.rest for step in steps if step.word == "RUN"]


def _loaded(name: str) -> Any:
    return yaml.safe_load((FILES / name).read_text(encoding="utf-8"))


def _steps() -> list[dict[str, Any]]:
    return list(_loaded("github-actions.yml")["jobs"]["audit"]["steps"])
