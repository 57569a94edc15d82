"""Members of a ring in processes of their own: the examples."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.sockets, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
LIMIT = 60
EXAMPLE = str(ROOT / "examples" / "guarded_counter.py")
NAMED = str(ROOT / "examples" / "named_counters.py")

Ports = Callable[[int], list[int]]
Processes = Callable[..., list["subprocess.Popen[str]"]]


def commands(ports: list[int], file: Path, times: int) -> list[list[str]]:
    """Three members that add to one number."""
    places = zip("abc", ports, strict=True)
    founders = ",".join(f"{name}@127.0.0.1:{port}" for name, port in places)
    return [
        [
            *(EXAMPLE, "--name", name, "--members", founders),
            *("--file", str(file), "--times", str(times)),
        ]
        for name in "abc"
    ]


def test_three_processes_add_to_one_number_and_lose_nothing(
    tmp_path: Path, free_ports: Ports, processes: Processes
) -> None:
    for each in processes(*commands(free_ports(3), tmp_path / "number", 50)):
        out, err = each.communicate(timeout=LIMIT)
        assert (each.returncode, err) == (0, "")
        report = json.loads(out)
        assert (report["number"], report["refused"]) == (150, 0)


def test_who_was_frozen_in_the_lock_writes_too_late_and_is_refused(
    tmp_path: Path, free_ports: Ports, processes: Processes
) -> None:
    file = tmp_path / "number"
    *others, frozen = commands(free_ports(3), file, 50)
    running = processes(*others, [*frozen, "--freeze-at", "10"])
    stopped = running[-1]
    assert stopped.stderr is not None
    assert "frozen in the lock" in stopped.stderr.readline()
    before = json.loads(file.read_text())[0]
    until = time.monotonic() + LIMIT
    while json.loads(file.read_text())[0] == before:
        assert time.monotonic() < until, "the others do not go on"
        time.sleep(0.05)
    stopped.send_signal(signal.SIGCONT)

    reports = [json.loads(each.communicate(timeout=LIMIT)[0]) for each in running]
    assert [each.returncode for each in running] == [0, 0, 0]
    assert {each["number"] for each in reports} == {150}
    assert [each["refused"] for each in reports] == [0, 0, 1]


def test_three_processes_add_to_two_numbers_under_locks_of_their_names(
    tmp_path: Path, free_ports: Ports, processes: Processes
) -> None:
    places = zip("abc", free_ports(3), strict=True)
    members = ",".join(f"{name}@127.0.0.1:{port}" for name, port in places)
    common = ["--members", members, "--folder", str(tmp_path), "--times", "30"]
    for each in processes(*[[NAMED, "--name", name, *common] for name in "abc"]):
        out, err = each.communicate(timeout=LIMIT)
        assert (each.returncode, err) == (0, "")
        report = json.loads(out)
        assert (report["numbers"], report["refused"]) == ({"apples": 90, "pears": 90}, 0)


def test_the_example_explains_itself_and_its_mistakes(tmp_path: Path, processes: Processes) -> None:
    file = ["--file", str(tmp_path / "number")]
    shown, wrong = processes(
        [EXAMPLE, "--help"],
        [EXAMPLE, "--name", "d", "--members", "a@127.0.0.1:1,b@127.0.0.1:2", *file],
    )
    out, err = shown.communicate(timeout=LIMIT)
    assert (shown.returncode, err) == (0, "")
    assert "--members" in out
    _, err = wrong.communicate(timeout=LIMIT)
    assert wrong.returncode == 3
    assert "members= does not have this member, d," in err
    assert "Traceback" not in err


def test_members_elect_leaders_and_a_client_has_a_lock_beside_them(
    free_ports: Ports, processes: Processes
) -> None:
    places = zip("abc", free_ports(3), strict=True)
    members = ",".join(f"{name}@127.0.0.1:{port}" for name, port in places)
    (each,) = processes([str(ROOT / "examples" / "elected.py"), "--members", members])
    out, err = each.communicate(timeout=LIMIT)
    assert each.returncode == 0, err
    report = json.loads(out)
    assert len(report["leaders"]) >= 2
    assert report["number"] > 0
    assert report["refused"] == 0
