"""The commands of the pages that take below a minute, copied into a shell: each ends as it should.

Every command of these pages stands here, with its exit code or with the reason why it is not run.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from .pages import blocks, commands, pages, snippets

ROOT = Path(__file__).parents[2]
PAGES = dict(pages(ROOT))
FOREIGN = ROOT / "tests" / "conformance" / "foreign"
CLOCK = """---- MODULE Clock ----
EXTENDS Naturals
CONSTANT Hours
VARIABLE hour
Init == hour = 1
Tick == hour' = IF hour = Hours THEN 1 ELSE hour + 1
Spec == Init /\\ [][Tick]_hour
Right == hour < 13
====
"""
CFG = "SPECIFICATION Spec\nCONSTANT Hours = {}\nINVARIANT Right\n"

LONG: Final = "it takes longer than a minute"
WAITS: Final = "it goes on until it is interrupted; test_follow.py and test_explorer.py have it"
SPARK: Final = "it needs Spark, or a cluster; test_spark.py and tests/cluster have it"
REAL: Final = "it needs a machine that has time for three processes; test_cluster.py has it"
BROKEN: Final = "it comes after a change of the specification; test_pages.py has the line"

ENDS: Final[dict[str, dict[str, int | str]]] = {
    "docs/tutorial.md": {
        "raincheck check sequencer-f1-repaired": 0,
        "raincheck explain sequencer-f1-undone": 0,
        "raincheck check sequencer-f5-repaired": BROKEN,
        "raincheck mirror sequencer-f5-repaired": BROKEN,
        "raincheck generate sequencer-crash": 0,
        "raincheck run --members 3 --faults crash,loss,delay --seed 7": REAL,
        "raincheck conform deliveries/ --log-format deliveries": 1,
    },
    "docs/check-your-own.md": {
        "raincheck check Clock.tla": 0,
        "raincheck check Clock.tla Small.cfg Large.cfg": 1,
        "raincheck explain Clock.tla Large.cfg": 1,
    },
    "docs/foreign.md": {
        "raincheck conform --list": 0,
        "raincheck conform logs/ --log-format jgroups": 1,
        "raincheck conform history.edn --log-format jepsen --engine spark": SPARK,
    },
    "docs/how-to-add-a-protocol.md": {
        "raincheck check": 0,
        "raincheck check --list": 0,
        "raincheck explain two-phase-commit-hasty": 0,
    },
    "docs/explorer.md": {
        "raincheck explain sequencer-f1-undone --serve": WAITS,
        "raincheck explain gms-crash --serve": WAITS,
        "raincheck explain runs/latest/traces --serve": WAITS,
        "raincheck explain sequencer-f1-undone --page f1.html": 0,
    },
    "docs/raincore-figures.md": {
        "raincheck explain raincore --figure 13": 0,
        "raincheck run raincore --members 4 --faults crash --watch": "it draws on a terminal",
    },
    "docs/audit.md": {
        "raincheck audit --tier full --only check,mirror --out runs/one": LONG,
        "raincheck audit --tier full --skip check,mirror --out runs/two": LONG,
        "raincheck audit --tier full --from runs/one runs/two --out runs/whole": LONG,
    },
}
"""By page the exit code of each command, or why it is not run."""


def written(command: str) -> str:
    """The command without the comment behind it."""
    return command.partition(" #")[0].strip()


@pytest.mark.parametrize("page", ENDS)
def test_every_command_of_these_pages_is_known(page: str) -> None:
    assert [written(each.text) for each in commands(page, PAGES[page])] == list(ENDS[page])


# ------------------------------------------------------------------ what the reader has


def nothing(_here: Path) -> None:
    """The page needs nothing."""


def clocks(here: Path) -> None:
    """The specification of the page."""
    (here / "Clock.tla").write_text(CLOCK)
    for name, hours in {"Clock": 12, "Small": 6, "Large": 24}.items():
        (here / f"{name}.cfg").write_text(CFG.format(hours))


def logs(here: Path) -> None:
    """The logs of a real system."""
    shutil.copytree(FOREIGN / "jgroups", here / "logs")


def project(here: Path) -> None:
    """The example that the page is about."""
    shutil.copytree(ROOT / "examples" / "two_phase_commit", here, dirs_exist_ok=True)


def deliveries(here: Path) -> None:
    """What the page has written before: the commands of its own that are not ours."""
    (made,) = (
        block.text
        for language, block in blocks("", PAGES["docs/tutorial.md"])
        if language == "" and block.text.startswith("mkdir")
    )
    subprocess.run(["bash", "-e"], input=made.rpartition("raincheck")[0], text=True, cwd=here,
                   check=True)  # fmt: skip


HAS: Final[dict[str, Callable[[Path], None]]] = {
    "docs/tutorial.md": deliveries,
    "docs/check-your-own.md": clocks,
    "docs/foreign.md": logs,
    "docs/how-to-add-a-protocol.md": project,
}


def shell(command: str, here: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as it stands on the page."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command], cwd=here, env={**os.environ, "PATH": path}, text=True,
        capture_output=True, check=False, timeout=600,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.sockets
@pytest.mark.parametrize("page", ENDS)
def test_commands_end_as_the_page_says(page: str, tmp_path: Path) -> None:
    HAS.get(page, nothing)(tmp_path)
    for found in commands(page, PAGES[page]):
        code = ENDS[page][written(found.text)]
        if isinstance(code, int):
            done = shell(found.text, tmp_path)
            assert done.returncode == code, f"{found}\n{done.stdout}{done.stderr}"


@pytest.mark.slow
def test_a_command_that_ends_otherwise_is_noticed(tmp_path: Path) -> None:
    assert shell("raincheck conform deliveries/ --log-format deliveries", tmp_path).returncode == 3


@pytest.mark.slow
def test_the_importer_of_the_page_reads_its_lines(tmp_path: Path) -> None:
    page = "docs/foreign.md"
    _, importer = (each.text for each in snippets(page, PAGES[page]))
    (tmp_path / "mylogs.py").write_text(importer)
    (tmp_path / "p.log").write_text("a 1\na 2\n")
    (tmp_path / "q.log").write_text("a 1\na 2\nb\n")

    done = shell("raincheck conform . --log-format mylogs:IMPORTER", tmp_path)

    assert done.returncode == 2
    assert "not SENDER MESSAGE" in done.stdout + done.stderr
