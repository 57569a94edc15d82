"""Members in processes of their own: the examples, and the member process for harnesses."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.sockets, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
LIMIT = 60

Ports = Callable[[int], list[int]]
Processes = Callable[..., list["subprocess.Popen[str]"]]


def finish(process: "subprocess.Popen[str]", typed: str | None = None) -> str:
    """Wait for a process to end well and return what it printed."""
    out, err = process.communicate(typed, timeout=LIMIT)
    assert (process.returncode, warnings(err)) == (0, [])
    return out


def warnings(err: str) -> list[str]:
    """What a process said, but for one that started before the others on a busy machine."""
    return [line for line in err.splitlines() if "and founds its own group" not in line]


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_three_replicated_counters_end_with_the_same_state(
    transport: str, free_ports: Ports, processes: Processes
) -> None:
    ports = free_ports(3)
    peers = ",".join(f"127.0.0.1:{port}" for port in ports)
    commands = [
        [
            str(ROOT / "examples" / "replicated_counter.py"),
            *("--name", name, "--bind", f"127.0.0.1:{port}", "--peers", peers),
            *("--operations", "2000", "--seed", str(port), "--transport", transport),
        ]
        for name, port in zip("abc", ports, strict=True)
    ]
    started = processes(*commands)
    states = [json.loads(finish(each)) for each in started]
    assert {state["name"] for state in states} == {"a", "b", "c"}
    assert [state["operations"] for state in states] == [6000] * 3
    assert len({state["value"] for state in states}) == 1


def test_a_chat_shows_the_same_lines_to_everybody(free_ports: Ports, processes: Processes) -> None:
    ports = free_ports(2)
    commands = [
        [
            str(ROOT / "examples" / "chat.py"),
            *("--name", name, "--bind", f"127.0.0.1:{port}"),
            *("--peers", ",".join(f"127.0.0.1:{other}" for other in ports)),
        ]
        for name, port in zip(("alice", "bob"), ports, strict=True)
    ]
    alice, bob = processes(*commands)
    for each in (alice, bob):
        wait_for_line(each, lambda line: "alice" in line and "bob" in line)
    assert alice.stdin is not None
    alice.stdin.write("hello\nhow are you?\n")
    alice.stdin.flush()
    lines = [wait_for_line(bob, lambda line: line.startswith("alice:")) for _ in range(2)]
    assert lines == ["alice: hello", "alice: how are you?"]
    finish(alice)  # end of file
    assert wait_for_line(bob, lambda line: line.startswith("--")) == "-- here now: bob"
    finish(bob)


def test_documents_survive_kills(free_ports: Ports, processes: Processes) -> None:
    ports = dict(zip("abc", free_ports(3), strict=True))

    def command(name: str) -> list[str]:
        others = ",".join(f"127.0.0.1:{port}" for port in ports.values())
        path = str(ROOT / "examples" / "documents.py")
        return [path, "--name", name, "--bind", f"127.0.0.1:{ports[name]}", "--peers", others]

    def type_in(process: "subprocess.Popen[str]", line: str) -> None:
        assert process.stdin is not None
        process.stdin.write(line + "\n")
        process.stdin.flush()

    def check() -> list[str]:
        type_in(a, "check")
        return [wait_for_line(a, lambda line: " documents, " in line) for _ in "abc"]

    a, b, c = processes(*map(command, "abc"))
    wait_for_line(a, lambda line: line.startswith("-- view") and line.split("]")[0].count(".") > 2)
    for process, line in ((a, "put one 3000000"), (b, "put two 100"), (c, "put three 500000")):
        type_in(process, line)
    for _ in range(3):
        wait_for_line(a, lambda line: line.endswith(" bytes\n"))

    b.kill()
    wait_for_line(a, lambda line: "b." in line and "was excluded" in line)
    type_in(c, "drop two")
    wait_for_line(a, lambda line: line.startswith("c: "))
    (b,) = processes(command("b"))
    wait_for_line(a, lambda line: "b." in line and "joined" in line)

    answers = check()
    assert [answer.split()[0] for answer in answers] == ["a", "b", "c"]
    assert len({answer.partition(" has ")[2] for answer in answers}) == 1
    assert answers[0].startswith("a has 2 documents")
    type_in(a, "ask b one")
    asked = wait_for_line(a, lambda line: line.startswith("b has "))
    assert asked.endswith(": the same")
    type_in(a, "ask b nothing")
    refused = wait_for_line(a, lambda line: "has failed" in line)
    assert refused.endswith(" has failed: there is no document nothing")
    type_in(a, "ask nobody one")
    assert wait_for_line(a, lambda line: "nobody" in line) == "-- there is no member nobody"
    for process in (c, b, a):
        assert process.communicate(timeout=LIMIT)[1].count("Traceback") == 0
        assert process.returncode == 0


def wait_for_line(process: "subprocess.Popen[str]", wanted: Any) -> str:
    """Read lines until one is wanted."""
    assert process.stdout is not None
    for line in process.stdout:
        if wanted(line):
            return line.rstrip("\n")
    _, err = process.communicate(timeout=LIMIT)
    raise AssertionError(f"the process ended first: {err}")


@pytest.mark.parametrize("example", ["chat.py", "replicated_counter.py", "documents.py"])
def test_an_example_explains_itself_and_its_mistakes(example: str, processes: Processes) -> None:
    path = str(ROOT / "examples" / example)
    (shown,) = processes([path, "--help"])
    assert "--peers" in finish(shown)
    (wrong,) = processes([path, "--name", "a", "--bind", "nowhere"])
    _, err = wrong.communicate(timeout=LIMIT)
    assert wrong.returncode == 3
    assert "is not HOST:PORT" in err
    assert "Traceback" not in err


def events(text: str) -> dict[str, dict[str, Any]]:
    """Return a member process's events by name, the last of each."""
    return {event["event"]: event for event in map(json.loads, text.splitlines())}


def member(name: str, port: int, ports: list[int], *more: str) -> list[str]:
    """Return the command of one member process."""
    peers = ",".join(f"127.0.0.1:{each}" for each in ports)
    return [
        *("-m", "raincheck.impl.member", "--name", name, "--incarnation", "0"),
        *("--bind", f"127.0.0.1:{port}", "--peers", peers, *more),
    ]


def rows(path: Path) -> list[dict[str, Any]]:
    """Read a delivery log."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_member_processes_agree_and_leave_when_asked(
    tmp_path: Path, free_ports: Ports, processes: Processes
) -> None:
    ports = free_ports(3)
    work = ("--members", "3", "--count", "400", "--until", "1200", "--batch", "7")
    commands = [
        member(name, port, ports, *work, "--deliveries", str(tmp_path / f"{name}.jsonl"))
        for name, port in zip("abc", ports, strict=True)
    ]
    started = processes(*commands)
    for each in started:
        wait_for_line(each, lambda line: '"delivered"' in line)
    for each in started:
        each.send_signal(signal.SIGTERM)
    told = [events(finish(each)) for each in started]
    assert [each["left"]["delivered"] for each in told] == [1200] * 3
    logs = {name: rows(tmp_path / f"{name}.jsonl") for name in "abc"}
    orders = [
        [(row["sender"], row["message"]) for row in log if row["event"] == "deliver"]
        for log in logs.values()
    ]
    assert orders[0] == orders[1] == orders[2]
    for name, log in logs.items():
        assert [row["position"] for row in log if row["event"] == "deliver"] == list(range(1, 1201))
        sent = [row["message"] for row in log if row["event"] == "send"]
        assert sent == list(range(1, 401))
        assert log[-1]["event"] == "end"
        assert log[-1]["position"] == 1200
        assert {row["member"] for row in log} == {f"{name}.0"}


def test_a_killed_member_leaves_a_log_without_an_end(
    tmp_path: Path, free_ports: Ports, processes: Processes
) -> None:
    ports = free_ports(2)
    commands = [
        member(
            *(name, port, ports, "--members", "2", "--count", "50", "--until", "100"),
            *("--deliveries", str(tmp_path / f"{name}.jsonl")),
        )
        for name, port in zip("ab", ports, strict=True)
    ]
    a, b = processes(*commands)
    for each in (a, b):
        wait_for_line(each, lambda line: '"delivered"' in line)
    b.kill()
    b.wait(LIMIT)
    wait_for_line(a, lambda line: '"members": ["a.0"]' in line)
    a.send_signal(signal.SIGTERM)
    _, err = a.communicate(timeout=LIMIT)
    assert (a.returncode, warnings(err)) == (0, ["a.0 suspects b.0: silent for too long"])
    assert rows(tmp_path / "a.jsonl")[-1]["event"] == "end"
    assert rows(tmp_path / "b.jsonl")[-1]["event"] != "end"


def test_a_member_that_cannot_run_says_why_in_one_line(processes: Processes) -> None:
    (wrong,) = processes(member("a", 1, [], "--bind", "192.0.2.254:7001"))
    _, err = wrong.communicate(timeout=LIMIT)
    assert wrong.returncode == 3
    assert err.count("\n") == 1
    assert "this machine has no such address" in err
