"""Fixtures for tests of real processes: ports for them, and their end."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from raincheck.conformance.field.ring import base as ringbase


@pytest.fixture
def free_ports() -> Callable[[int], list[int]]:
    """Returns so many ports that are free for UDP at this moment."""

    def free_ports(count: int) -> list[int]:
        return [int(place.rpartition(":")[2]) for place in ringbase.free_ports(count)]

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
