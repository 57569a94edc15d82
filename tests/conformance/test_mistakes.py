"""A mistake in a project's own module is said to be one, with its file, line and reason."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_phase_commit"

MISTAKES = {
    "syntax": ("core.py", "-> list[object]:", "->", "generate", "core.py, line 16: SyntaxError"),
    "name": (
        "binding.py",
        "import core, messages",
        "import cor, messages",
        "generate",
        "binding.py, line 5: ImportError: cannot import name 'cor'",
    ),
    "module": (
        "model.py",
        "import re",
        "import nowhere_at_all",
        "mirror",
        "model.py, line 3: ModuleNotFoundError: No module named 'nowhere_at_all'",
    ),
    "handler missing": (
        "model.py",
        "def refuse(",
        "def reject(",
        "mirror",
        "there is no function refuse for the input Refuse",
    ),
    "handler's answer": (
        "model.py",
        'return refusal(working(me)) or Accepted(me._replace(state="aborted"))',
        "return None",
        "mirror",
        "two_phase_commit.model: the handler of Refuse answered None: it must answer Accepted",
    ),
    "handler raises": (
        "model.py",
        'return refusal(working(me)) or Accepted(me._replace(state="aborted"))',
        "return me.nothing",
        "mirror",
        "line 57: AttributeError: 'Local' object has no attribute 'nothing'",
    ),
    "invariant raises": (
        "model.py",
        'return not {"committed", "aborted"} <=',
        "return 1 / 0 <=",
        "mirror",
        "model.py, line 101: ZeroDivisionError",
    ),
    "machine": (
        "model.py",
        "return System(constants_of(Constants, constants))",
        "return None",
        "mirror",
        "machine in two_phase_commit.model returned None: it must return a Machine",
    ),
    "core": (
        "binding.py",
        "return made",
        "return None",
        "generate",
        "make_core returned None: it must return a core",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_module_is_distinguished_from_a_bug(tmp_path: Path, mistake: str) -> None:
    name, right, wrong, verb, said = MISTAKES[mistake]
    home = tmp_path / "project"
    shutil.copytree(EXAMPLE, home)
    module = home / "two_phase_commit" / name
    text = module.read_text(encoding="utf-8")
    if mistake == "module":  # of which the module has no import yet
        text = text.replace("from collections.abc", f"{right}\nfrom collections.abc", 1)
    assert text.count(right) == 1
    module.write_text(text.replace(right, wrong), encoding="utf-8")

    command = [sys.executable, "-m", "raincheck", verb, "two-phase-commit-three", "--quiet"]
    ended = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)

    complaint = ended.stderr.strip().splitlines()[-1]
    assert said in complaint
    assert "bug of raincheck" not in complaint
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 3


@pytest.mark.parametrize(("what", "wanted"), [("run", "an Outcome"), ("proof", "a Theory")])
def test_a_module_that_returns_something_else_is_refused(
    tmp_path: Path, what: str, wanted: str
) -> None:
    home = tmp_path / "project"
    shutil.copytree(EXAMPLE, home)
    with (home / "raincheck.toml").open("a", encoding="utf-8") as record:
        record.write(f'{what} = "two_phase_commit.{what}"\n')
    module = (
        "def add_arguments(parser): pass\ndef run(args, ui): pass\ndef theory(basis=None): pass"
    )
    (home / "two_phase_commit" / f"{what}.py").write_text(module, encoding="utf-8")

    command = [sys.executable, "-m", "raincheck", {"run": "run", "proof": "prove"}[what]]
    ended = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)

    complaint = ended.stderr.strip().splitlines()[-1]
    assert "returned None" in complaint
    assert wanted.removeprefix("an ").removeprefix("a ") in complaint
    assert ended.returncode == 3
