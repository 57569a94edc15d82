"""A minute of the mixed hour: faults, hostile datagrams and hung applications at once."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "soak" / "mixed_hour.py"


def test_only_the_assumption_that_the_hour_breaks_excuses_an_inconclusive_result() -> None:
    held = {"name": "a", "verdict": "holds", "detail": ""}
    idle = {"name": "b", "verdict": "inconclusive", "idle": True, "detail": "nothing is said"}
    broken = {**idle, "name": "c", "idle": False, "assumption": "AccurateSuspicion: a suspects b"}
    missing = {"name": "d", "verdict": "inconclusive", "detail": "no file of life 1 of node b"}

    found = runpy.run_path(str(SCRIPT))["inconclusive"]([held, idle, broken, missing])

    assert found == ["conform: d is inconclusive: no file of life 1 of node b"]


@pytest.mark.slow
@pytest.mark.sockets
@pytest.mark.timeout(400)
@pytest.mark.parametrize("key", [[], ["--key"]], ids=["plain", "key"])
def test_a_minute_of_everything_at_once_breaks_nothing(tmp_path: Path, key: list[str]) -> None:
    out = tmp_path / "hour"
    command = [sys.executable, str(SCRIPT), "--out", str(out), "--seconds", "60", *key]
    command += ["--datagrams", "17000", "--flood-every", "60", "--pause", "0.5"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads((out / "report.json").read_text())

    assert report["findings"] == []
    assert ended.returncode == 0
    assert report["hostile"]["sent"] > 17000
    assert len(report["floods"]) == 1
