"""Each extra brings what its verbs need; a verb that lacks a package names the extra."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from raincheck.__main__ import EXTRAS

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "tests" / "traces" / "sequencer" / "holds-join"
MODULES = {"z3-solver": "z3"}
"""The module of a distribution that has another name."""

ONLY = """
import sys

blocked = frozenset(sys.argv[1].split(","))

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
from raincheck.__main__ import main
sys.exit(main(sys.argv[2:]))
"""


def brought(extra: str) -> set[str]:
    """The modules that an extra brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = set()
    for line in project["optional-dependencies"][extra]:
        name, others = re.match(r"([\w-]+)(?:\[([\w,]*)\])?", line).groups()  # type: ignore[union-attr]
        if name == "raincheck":
            found |= set().union(*(brought(each) for each in others.split(",")))
        else:
            found.add(MODULES.get(name, name))
    return found


def with_only(extra: str, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run raincheck where only that extra is installed."""
    blocked = EXTRAS.keys() - brought(extra) - {"py4j"}
    command = [sys.executable, "-c", ONLY, ",".join(sorted(blocked)), *words]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        pytest.param("check", ("check", "sequencer-f1-undone"), marks=pytest.mark.java),
        pytest.param(
            "check", ("explain", "sequencer-f1-undone"), marks=[pytest.mark.java, pytest.mark.slow]
        ),
        ("prove", ("prove", "stable", "--seeds", "1")),
        ("conform", ("generate", "gms-join", "--examples", "2")),
        ("conform", ("conform", "{traces}")),
        ("conform", ("explain", "{traces}", "--page", "page.html")),
        pytest.param("check", ("mirror", "gms-join"), marks=[pytest.mark.java, pytest.mark.slow]),
    ],
)
def test_a_verb_runs_with_its_extra_alone(
    tmp_path: Path, extra: str, words: tuple[str, ...]
) -> None:
    words = tuple(word.replace("{traces}", str(TRACES)) for word in words)

    done = with_only(extra, tmp_path, *words)

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_verb_without_its_extra_names_it(tmp_path: Path) -> None:
    done = with_only("crypto", tmp_path, "conform", str(TRACES))

    assert done.returncode == 3
    assert done.stderr.strip().endswith("pip install 'raincheck[conform]'")


def test_every_package_of_an_extra_is_known_to_the_sentence() -> None:
    assert brought("audit") | {"py4j"} == EXTRAS.keys()
    for module, extra in EXTRAS.items():
        assert module in brought(extra) | {"py4j"}, module
