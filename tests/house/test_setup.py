"""One command from a bare checkout: the Makefile makes its own .venv, and CI fails when it must."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE = shutil.which("make") or ""

pytestmark = pytest.mark.skipif(not MAKE, reason="there is no make here")

GOOD_PYTHON = """#!/bin/sh
echo "$0 $*" >> "$LOG"
if [ "$1" = -m ] && [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi
"""
OLD_PYTHON = '#!/bin/sh\n[ "$1" != -c ]\n'
UV = """#!/bin/sh
echo "uv $*" >> "$LOG"
if [ "$1" = venv ]; then mkdir -p .venv/bin; cp "$TOOLS/true" .venv/bin/python; fi
"""


class Bare:
    """A checkout on a machine that has only the programs a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.tools, self.log, self.home = folder / "tools", folder / "log", folder / "home"
        self.tools.mkdir()
        self.home.mkdir()
        for name in ("rm", "touch", "mkdir", "cp", "dirname", "bash"):
            (self.tools / name).symlink_to(shutil.which(name) or "")
        self.tool("true", "#!/bin/sh\n")
        shutil.copy(ROOT / "Makefile", self.home)
        (self.home / "pyproject.toml").touch()
        (self.home / ".ci").mkdir()
        shutil.copy(ROOT / ".ci" / "run", self.home / ".ci")

    def tool(self, name: str, script: str) -> None:
        (self.tools / name).write_text(script)
        (self.tools / name).chmod(0o755)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environ = {"PATH": str(self.tools), "LOG": str(self.log), "TOOLS": str(self.tools)}
        return subprocess.run(
            command, cwd=self.home, env=environ, capture_output=True, text=True, check=False
        )

    def did(self) -> list[str]:
        """What was called since the last question."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def bare(tmp_path: Path) -> Bare:
    return Bare(tmp_path)


def test_without_python_the_user_is_informed(bare: Bare) -> None:
    bare.tool("python3", OLD_PYTHON)

    done = bare.run(MAKE, "setup")

    assert done.returncode != 0
    assert "raincheck needs Python 3.11 or newer and finds none" in done.stderr
    assert not (bare.home / ".venv").exists()


def test_a_newer_python_is_found_behind_an_old_one(bare: Bare) -> None:
    bare.tool("python3", OLD_PYTHON)
    bare.tool("python3.12", GOOD_PYTHON)

    assert bare.run(MAKE, "setup").returncode == 0

    *_, venv, install = bare.did()
    assert venv == f"{bare.tools}/python3.12 -m venv .venv"
    assert (
        install == ".venv/bin/python -m pip install --quiet --disable-pip-version-check -e .[dev]"
    )


def test_uv_is_used_when_present(bare: Bare) -> None:
    bare.tool("uv", UV)

    assert bare.run(MAKE, "setup").returncode == 0

    assert bare.did() == [
        "uv venv --quiet --python >=3.11 .venv",
        "uv pip install --quiet --python .venv/bin/python -e .[dev]",
    ]


def test_a_second_call_costs_nothing_until_the_table_changes(bare: Bare) -> None:
    bare.tool("python3", GOOD_PYTHON)
    assert bare.run(MAKE, "setup").returncode == 0
    bare.did()

    assert bare.run(MAKE, "test").returncode == 0
    spread = "-n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder"
    assert bare.did() == [f".venv/bin/python -P -m pytest -q {spread} -m not slow --durations=40"]

    # Make compares times of files: set the table's later than the stamp's.
    bare.run("touch", "-r", "Makefile", ".venv/installed")
    bare.run("touch", "pyproject.toml")
    assert bare.run(MAKE, "audit").returncode == 0
    assert bare.did()[-2].startswith(".venv/bin/python -m pip install")


def test_a_venv_whose_python_has_gone_is_made_anew(bare: Bare) -> None:
    bare.tool("python3", GOOD_PYTHON)
    (bare.home / ".venv" / "bin").mkdir(parents=True)
    (bare.home / ".venv" / "bin" / "python").symlink_to("/nowhere/python3.11")

    assert bare.run(MAKE, "setup").returncode == 0

    assert (bare.home / ".venv" / "bin" / "python").is_file()


@pytest.mark.parametrize(
    ("failing", "code", "last"),
    [
        ("none", 0, "All passed in"),
        ("lint", 1, "FAILED: lint"),
        ("test", 1, "FAILED: test"),
        ("audit", 1, "FAILED: audit"),
        ("project", 1, "FAILED: project"),
    ],
)
def test_ci_runs_every_step_and_fails_with_any(
    bare: Bare, failing: str, code: int, last: str
) -> None:
    bare.tool("make", f'#!/bin/sh\necho "$1" >> "$LOG"\n[ "$1" != {failing} ]\n')

    done = bare.run("/bin/sh", "-c", "exec bash .ci/run")

    assert done.returncode == code
    assert done.stdout.splitlines()[-1].startswith(last)
    did = bare.did()
    assert did[0] == "setup"
    assert sorted(did[1:]) == ["audit", "lint", "project", "test"]  # in lanes beside each other


def test_ci_ends_when_there_is_nothing_to_run_with(bare: Bare) -> None:
    bare.tool("make", '#!/bin/sh\necho "$1" >> "$LOG"\nexit 2\n')

    done = bare.run("/bin/sh", "-c", "exec bash .ci/run")

    assert done.returncode == 3
    assert bare.did() == ["setup"]
