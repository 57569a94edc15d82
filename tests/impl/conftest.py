"""What tests of real processes share: ports for them, and their end."""

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def free_ports() -> Callable[[int], list[int]]:
    """Returns so many ports that are free for UDP at this moment."""

    def free_ports(count: int) -> list[int]:
        sockets = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(count)]
        try:
            for sock in sockets:
                sock.bind(("127.0.0.1", 0))
            return [int(sock.getsockname()[1]) for sock in sockets]
        finally:
            for sock in sockets:
                sock.close()

    return free_ports


@pytest.fixture
def processes() -> Iterator[Callable[..., list["subprocess.Popen[str]"]]]:
    """Starts Python with each of these command lines, side by side; none survives the test."""
    started: list[subprocess.Popen[str]] = []

    def processes(*commands: list[str]) -> list["subprocess.Popen[str]"]:
        for command in commands:
            started.append(  # noqa: PERF401 (what has started must be known if the next fails)
                subprocess.Popen(
                    [sys.executable, *command],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        return started[-len(commands) :]

    yield processes
    for each in started:
        each.kill()
    for each in started:
        each.communicate()
