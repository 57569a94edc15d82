"""The project of a stranger: how it is called, and damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "two_phase_commit"
WASTE = shutil.ignore_patterns("runs", "__pycache__", ".*", "*.egg-info")

Call = Callable[..., str]
"""Calls `raincheck` in the project's folder with words, and wants an exit code."""


def done(command: list[str], cwd: Path, code: int = 0) -> str:
    """Run a command that ends with that exit code; return what it said."""
    # Nothing of the checkout may be found but what is installed.
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    found = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True)
    said = found.stdout + found.stderr
    assert found.returncode == code, f"{command} ended with {found.returncode}:\n{said}"
    assert "Traceback" not in said
    return said


def damage(path: Path, find: str, replace: str) -> None:
    """Put other words in the place of some."""
    text = path.read_text()
    assert text.count(find) == 1
    path.write_text(text.replace(find, replace))


def break_spec(project: Path) -> None:
    """Who has voted yes may refuse after all."""
    damage(
        project / "spec" / "TwoPhaseCommit.tla",
        'Refuse(n) ==\n    /\\ state[n] = "working"',
        'Refuse(n) ==\n    /\\ state[n] \\in {"working", "prepared"}',
    )


def break_core(project: Path) -> None:
    """The coordinator commits without having heard everybody."""
    damage(
        project / "two_phase_commit" / "core.py",
        "self.votes != set(self.nodes)",
        "not self.votes",
    )
