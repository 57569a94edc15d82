"""The wheel in a new environment, and a copy of a stranger's project."""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

from .linked import link, needed
from .stranger import EXAMPLE, ROOT, WASTE, Call, done


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel, its extras and pytest; returns its folder of programs.

    The wheel is installed; what it declares is linked, since `make setup` has installed it already.
    """
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
    venv = folder / "venv"
    python = str(venv / "bin" / "python")
    done([sys.executable, "-m", "venv", "--without-pip", str(venv)], folder)
    pip = [uv, "pip"] if uv is not None else [sys.executable, "-m", "pip", "--python", python]
    target = ["--python", python] if uv is not None else []
    done([*pip, "install", *target, "--quiet", "--no-index", "--no-deps", str(wheel)], folder)
    (packages,) = venv.glob("lib/python*/site-packages")
    (own,) = distributions(name="raincheck", path=[str(packages)])
    for each in needed(["raincheck[audit]", "pytest>=8.2"], own).values():
        link(each, packages)
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
