"""The wheel in a new environment, and a copy of a stranger's project."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from .stranger import EXAMPLE, ROOT, WASTE, Call, done


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel, its extras and pytest; returns its folder of programs."""
    folder = tmp_path_factory.mktemp("environment")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    uv = shutil.which("uv")
    if uv is not None:
        build += ["--installer", "uv"]
    # Files that an earlier build has left would go into the wheel.
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    done(build, folder)
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    (wheel,) = folder.glob("*.whl")
    wanted = [f"raincheck[audit] @ {wheel.as_uri()}", "pytest>=8.2"]
    python = str(folder / "venv" / "bin" / "python")
    if uv is not None:
        done([uv, "venv", "--quiet", "--python", sys.executable, str(folder / "venv")], folder)
        done([uv, "pip", "install", "--quiet", "--python", python, *wanted], folder)
    else:
        done([sys.executable, "-m", "venv", str(folder / "venv")], folder)
        # As uv does, leave modules uncompiled: most of them are never imported here.
        done([python, "-m", "pip", "install", "--quiet", "--no-compile", *wanted], folder)
    return folder / "venv" / "bin"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project, where nothing else of ours is."""
    shutil.copytree(EXAMPLE, tmp_path / "project", ignore=WASTE)
    return tmp_path / "project"


@pytest.fixture
def raincheck(environment: Path, project: Path) -> Call:
    """Calls `raincheck` in the project's folder."""

    def call(*words: str, code: int = 0) -> str:
        said = done([str(environment / "raincheck"), *words], project, code)
        for stranger in ("flush", "sequencer", "raincore"):
            assert stranger not in said.lower(), said
        return said

    return call
