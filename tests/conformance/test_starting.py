"""Processes of a run are the same, forked from a warm process or started one by one."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.field import starting
from raincheck.conformance.field.lives import Life, Lives, RunFailed
from raincheck.conformance.field.starting import Forked, Started, end_all, start

MEMBER = """
import json, os, random, signal, sys, threading

def main():
    line = open("/proc/self/cmdline", "rb").read().decode().rstrip("\\0").split("\\0")
    print(json.dumps({
        "event": "open", "bind": "here",
        "argv": sys.argv, "line": line, "orig": sys.orig_argv, "cwd": os.getcwd(),
        "ids": [os.getpid(), os.getpgrp(), os.getsid(0)], "starter": os.getppid(),
        "fds": sorted(os.listdir("/proc/self/fd"))[:-1], "threads": threading.active_count(),
        "int": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        "chld": str(signal.getsignal(signal.SIGCHLD)), "wakes": signal.set_wakeup_fd(-1),
        "environ": os.environ.get("LATER"), "path": os.environ.get("PATH"),
        "random": random.random(), "hash": hash("x"),
    }), flush=True)
    word = sys.stdin.readline().strip()
    if word == "raise":
        raise ValueError("so it was told")
    if word:
        return int(word)
    return 5

if __name__ == "__main__":
    sys.exit(main())
"""
HARNESS = """
import asyncio, json, os, signal, sys
from raincheck.conformance.field.starting import start

async def work():
    pids = []
    for turn in range(2):
        with open("stderr", "wb") as sink:
            process = await start([sys.executable, "-m", "member"], turn, sink)
        told = json.loads(await process.stdout.readline())
        pids += [process.pid, told["starter"]]
    os.kill(process.pid, signal.SIGSTOP)
    print(json.dumps(pids), flush=True)
    await process.wait()

asyncio.run(work())
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a member's module, which is the working folder."""
    (tmp_path / "member.py").write_text(MEMBER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    yield tmp_path
    end_all()


@pytest.fixture(params=[True, False], ids=["forked", "one by one"])
def forks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both ways to start processes."""
    forks = bool(request.param)
    monkeypatch.setattr(starting, "can_fork", lambda: forks)
    return forks


async def started(home: Path, turn: int = 0, *words: str) -> tuple[Started, dict[str, Any]]:
    """Start a member; return what it says of itself."""
    with (home / "stderr").open("wb") as sink:
        process = await start([sys.executable, "-m", "member", *words], turn, sink)
    assert process.stdout is not None
    line = await process.stdout.readline()
    return process, json.loads(line) if line else {}


async def told(process: Started, word: str) -> int:
    """Send a line, and wait for the end."""
    assert process.stdin is not None
    process.stdin.write(f"{word}\n".encode())
    return await process.wait()


def gone(pid: int) -> bool:
    """Wait until a process that may be nobody's child has ended."""
    with suppress(ProcessLookupError):
        end = os.pidfd_open(pid)
        try:
            return bool(select.select([end], [], [], 20)[0])
        finally:
            os.close(end)
    return True


def test_a_process_has_nothing_of_its_starter(
    home: Path, forks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        first, _ = await started(home)
        monkeypatch.setenv("LATER", "set after the first")
        process, said = await started(home, 0, "--name=b", "--of=a,b")

        command = [sys.executable, "-m", "member", "--name=b", "--of=a,b"]
        assert said["line"] == said["orig"] == command
        assert said["argv"] == [str(home / "member.py"), *command[3:]]
        assert said["ids"] == [process.pid] * 3
        assert said["cwd"] == str(home)
        assert said["fds"] == ["0", "1", "2"]
        assert (said["threads"], said["int"], said["wakes"]) == (1, True, -1)
        assert said["chld"] == str(signal.SIG_DFL)
        assert said["environ"] == "set after the first"
        assert said["path"] == os.environ["PATH"]
        assert (said["starter"] == os.getpid()) == (not forks)
        assert await told(process, "0") == process.returncode == 0
        assert await told(first, "3") == first.returncode == 3

    asyncio.run(work())


@pytest.mark.usefixtures("forks")
@pytest.mark.parametrize(
    ("end", "code", "last"),
    [
        ("raise", 1, "ValueError: so it was told"),
        (signal.SIGKILL, -signal.SIGKILL, ""),
        (signal.SIGINT, -signal.SIGINT, "KeyboardInterrupt"),
        (signal.SIGSTOP, -signal.SIGKILL, ""),
    ],
)
def test_its_end_is_seen(end: str | int, code: int, last: str, home: Path) -> None:
    async def work() -> None:
        process, _ = await started(home)
        if isinstance(end, str):
            assert await told(process, end) == code
        else:
            os.killpg(process.pid, end)
            if end == signal.SIGSTOP:
                assert process.returncode is None
                os.killpg(process.pid, signal.SIGKILL)
            assert await process.wait() == code
        assert process.returncode == code
        assert process.stdout is not None
        assert await process.stdout.read() == b""
        with pytest.raises(ProcessLookupError):  # it was reaped
            os.kill(process.pid, 0)

    asyncio.run(work())
    assert (home / "stderr").read_text().strip().rpartition("\n")[2] == last


@pytest.mark.usefixtures("forks")
def test_a_module_that_is_not_there_is_told_by_the_process(home: Path) -> None:
    (home / "member.py").unlink()

    async def work() -> int:
        return await (await started(home))[0].wait()

    assert asyncio.run(work()) == 1
    assert "No module named" in (home / "stderr").read_text()


@pytest.mark.usefixtures("forks")
def test_a_process_that_is_not_to_be_had_is_an_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(home / "python"))

    with pytest.raises(FileNotFoundError):
        asyncio.run(started(home))


def test_forks_share_no_random_state_and_neighbours_no_seed_of_hashes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    monkeypatch.setattr(starting, "MOST", 3)

    async def work() -> None:
        lives = [await started(home, turn) for turn in range(4)]
        assert len({said["random"] for _, said in lives}) == 4
        hashes = [said["hash"] for _, said in lives]
        assert hashes[:2] == hashes[2:]
        assert hashes[0] != hashes[1]
        one_more, said = await started(home, 0)
        assert said["hash"] == hashes[0]
        for process, _ in lives:
            await told(process, "0")
        # Those whose forks still run are kept, however many they are.
        last, said = await started(home, 0)
        assert said["hash"] == hashes[0]
        await asyncio.gather(told(one_more, "0"), told(last, "0"))

    asyncio.run(work())


def test_a_warm_process_does_not_serve_for_ever(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "MOST", 1)

    async def work() -> list[int]:
        starters = []
        for _ in range(2):
            process, said = await started(home)
            await told(process, "0")
            starters.append(said["starter"])
        return starters

    first, second = asyncio.run(work())

    assert first != second
    assert gone(first)


def test_a_starter_whose_death_was_not_seen_yet_is_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> tuple[int, int]:
        command = [sys.executable, "-m", "member"]
        with open(home / "stderr", "wb") as sink:
            first = await start(command, 0, sink)
            (warm,) = starting._warm_ones.values()
            warm._process.kill()
            warm._process.wait()
            monkeypatch.setattr(warm._process, "poll", lambda: None)
            second = await start(command, starting.SEEDS, sink)
        assert second.stdout is not None
        told = json.loads(await second.stdout.readline())
        os.killpg(second.pid, signal.SIGKILL)
        with pytest.raises(starting.StarterGone):
            await first.wait()
        assert told["starter"] != warm._process.pid
        return await second.wait(), told["ids"][0] - second.pid

    assert asyncio.run(work()) == (-signal.SIGKILL, 0)


def test_the_death_of_the_starter_is_noticed(home: Path) -> None:
    class Ones(Lives[Life]):
        module, kind = "member", Life

        def asked_for(self, member: Life) -> bool:
            return member.code == 0

    async def work() -> tuple[str, list[int]]:
        lives = Ones(home)
        member = await lives.start("a", {})
        await lives.until(lambda: bool(member.bind), "The beginning", 20)
        starter = int(Path(f"/proc/{member.process.pid}/stat").read_text().split()[3])
        os.kill(starter, signal.SIGKILL)
        with pytest.raises(RunFailed) as failure:
            await lives.until(lambda: False, "The end", 20)
        await lives.kill_all()
        others = Ones(home)
        again = await others.start("b", {})  # by another one
        await others.until(lambda: bool(again.bind), "The beginning", 20)
        await others.kill_all()
        assert again.code == -signal.SIGKILL
        return str(failure.value), [starter, member.process.pid]

    said, (starter, pid) = asyncio.run(work())

    assert said == (
        "Member a.0 was not asked to end, but ended by signal SIGKILL: "
        f"the process that starts members ({starter}) is gone."
    )
    assert gone(pid)


def test_a_start_that_is_interrupted_leaves_no_process(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids: list[int] = []

    async def interrupted(forked: Forked, *_: object) -> asyncio.StreamReader:
        pids.append(forked.pid)
        raise asyncio.CancelledError

    monkeypatch.setattr(Forked, "_reader", interrupted)

    async def work() -> None:
        with pytest.raises(asyncio.CancelledError):
            await started(home)

    asyncio.run(work())
    assert gone(pids[0])


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_the_harness(number: int) -> None:
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert harness.stdout is not None
        pids = json.loads(harness.stdout.readline())
        assert len(set(pids)) == 4
        harness.send_signal(number)  # one of its processes is stopped
        harness.wait(20)
        assert all(gone(pid) for pid in pids)
    finally:
        harness.kill()
        harness.communicate()
