"""Members of a ring in processes of their own: the example."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = [pytest.mark.sockets, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
LIMIT = 60
EXAMPLE = str(ROOT / "examples" / "guarded_counter.py")


def founders_of(names: str) -> str:
    """Places for founders of these names, free at this moment."""
    sockets = [socket.socket(type=socket.SOCK_DGRAM) for _ in names]
    try:
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        ports = [sock.getsockname()[1] for sock in sockets]
        return ",".join(f"{n}@127.0.0.1:{port}" for n, port in zip(names, ports, strict=True))
    finally:
        for sock in sockets:
            sock.close()


@contextmanager
def processes(*commands: list[str]) -> Iterator[list["subprocess.Popen[str]"]]:
    """Run commands side by side; none survives the test."""
    started: list[subprocess.Popen[str]] = []
    try:
        for command in commands:
            started.append(  # noqa: PERF401 (what has started must be known if the next fails)
                subprocess.Popen(
                    [sys.executable, *command],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        yield started
    finally:
        for each in started:
            each.kill()
            each.communicate()


def commands(file: Path, times: int) -> list[list[str]]:
    """Three members that add to one number."""
    founders = founders_of("abc")
    return [
        [
            *(EXAMPLE, "--name", name, "--founders", founders),
            *("--file", str(file), "--times", str(times)),
        ]
        for name in "abc"
    ]


def test_three_processes_add_to_one_number_and_lose_nothing(tmp_path: Path) -> None:
    with processes(*commands(tmp_path / "number", 50)) as started:
        for each in started:
            out, err = each.communicate(timeout=LIMIT)
            assert (each.returncode, err) == (0, "")
            report = json.loads(out)
            assert (report["number"], report["refused"]) == (150, 0)


def test_the_example_explains_itself_and_its_mistakes(tmp_path: Path) -> None:
    file = ["--file", str(tmp_path / "number")]
    with processes(
        [EXAMPLE, "--help"],
        [EXAMPLE, "--name", "d", "--founders", "a@127.0.0.1:1,b@127.0.0.1:2", *file],
    ) as (shown, wrong):
        out, err = shown.communicate(timeout=LIMIT)
        assert (shown.returncode, err) == (0, "")
        assert "--founders" in out
        _, err = wrong.communicate(timeout=LIMIT)
        assert wrong.returncode == 3
        assert "founders= does not have this member, d," in err
        assert "Traceback" not in err
