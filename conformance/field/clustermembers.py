"""The member processes of a run, as the harness sees them: started, heard, signalled, ended.

Law of this file: every child has a process group of its own, and none outlives `Members.kill_all`.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raincheck.conformance.clusternode import EXCLUDED, LEFT, SETUP
from raincheck.conformance.errors import UsageError

_LINE = 1 << 20  # bytes of one line of a member

Died = Callable[["Member", str], None]


class RunFailed(Exception):
    """The run cannot go on; the sentence says why."""


@dataclass(eq=False, slots=True)
class Member:
    """One life of one member."""

    name: str
    incarnation: int
    process: asyncio.subprocess.Process
    errors: Path
    """Where its stderr goes."""
    bind: str = ""
    """Where it listens; empty until it has joined."""
    view: int = 0
    members: tuple[str, ...] = ()
    joined_in: int = 0
    """The first view that it had."""
    sent: int = 0
    highest: dict[str, int] = field(default_factory=dict)
    stopped: bool = False
    """Whether it sends no more."""
    ending: str = ""
    """Why it is to end, once it is: "crash", "leave", "excluded" or, with the run, "end"."""
    code: int | None = None
    sentence: str = ""
    """What it said last of what went wrong."""
    status: dict[str, Any] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    state: tuple[int, ...] = ()
    """What its application had in the end: how many messages, and their checksum."""
    transfers: int = 0
    """How often it was given a state."""
    wrong: str = ""
    trace_failed: str = ""
    hearing: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        """Its name and incarnation."""
        return f"{self.name}.{self.incarnation}"

    @property
    def running(self) -> bool:
        """Whether it is in the group, or on its way into it, and to stay there."""
        return self.code is None and not self.ending

    @property
    def in_group(self) -> bool:
        """Whether it has joined, and is to stay."""
        return self.running and bool(self.bind) and self.view > 0

    def tell(self, word: str) -> None:
        """Send it a line; one that has gone hears nothing."""
        assert self.process.stdin is not None
        with suppress(OSError, RuntimeError):
            self.process.stdin.write(f"{word}\n".encode())

    def signal(self, number: int) -> None:
        """Send a signal to its process group, unless it has ended."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)


class Members:
    """All lives of all members, in the order of their starts."""

    def __init__(self, folder: Path) -> None:
        self.all: list[Member] = []
        self._folder = folder
        self._changed = asyncio.Event()
        self._problem = ""
        self._setup = ""

    @property
    def running(self) -> list[Member]:
        """Those that are to be members at the end."""
        return [member for member in self.all if member.running]

    @property
    def in_group(self) -> list[Member]:
        """Those that have joined and are to stay."""
        return [member for member in self.all if member.in_group]

    def lives(self, name: str) -> int:
        """How many incarnations that name has had."""
        return sum(member.name == name for member in self.all)

    async def start(self, name: str, options: Mapping[str, object]) -> Member:
        """Start the next life of that name."""
        incarnation = self.lives(name)
        errors = self._folder / f"{name}.{incarnation}.stderr"
        command = node_command(
            {"name": name, "incarnation": incarnation, **options}
            | {"log": self._folder / f"{name}.{incarnation}.log"}
        )
        try:
            with errors.open("wb") as sink:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=sink,
                    start_new_session=True,
                    limit=_LINE,
                )
        except OSError as problem:
            reason = problem.strerror or str(problem)
            raise UsageError(f"Member {name} does not start: {reason}.") from problem
        member = Member(name, incarnation, process, errors)
        self.all.append(member)
        member.hearing = asyncio.create_task(self._hear(member))
        return member

    async def until(
        self, condition: Callable[[], bool], what: str, seconds: float, *, missing: str = ""
    ) -> None:
        """Wait for a condition; RunFailed if it takes too long or a member dies unasked."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    if self._setup:
                        raise UsageError(self._setup)
                    if self._problem:
                        raise RunFailed(self._problem)
                    if condition():
                        return
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise RunFailed(f"{what} took longer than {seconds:g} s{missing}") from None

    async def kill_all(self) -> None:
        """End every child, and wait until it has gone."""
        for member in self.all:
            member.ending = member.ending or "end"
            member.signal(signal.SIGKILL)
        hearing = [member.hearing for member in self.all if member.hearing is not None]
        await asyncio.gather(*hearing, return_exceptions=True)

    async def _hear(self, member: Member) -> None:
        assert member.process.stdout is not None
        try:
            while line := await member.process.stdout.readline():
                self._heard(member, json.loads(line))
                self._changed.set()
        except ValueError:
            self._problem = f"Member {member.address} wrote a line that is none of its events."
            member.signal(signal.SIGKILL)
        member.code = await member.process.wait()
        self._judge_end(member)
        self._changed.set()

    def _heard(self, member: Member, event: dict[str, Any]) -> None:
        match event["event"]:
            case "joined":
                member.bind = event["bind"]
            case "view":
                member.view, member.members = event["view"], tuple(event["members"])
                member.joined_in = member.joined_in or member.view
            case "progress":
                member.sent, member.highest = event["sent"], event["highest"]
            case "stopped":
                member.sent, member.stopped = event["sent"], True
            case "status":
                member.status = event
            case "left":
                member.counters = event["counters"]
                member.state, member.transfers = tuple(event["state"]), event["transfers"]
            case "wrong":
                member.wrong = event["sentence"]
            case "trace_failed":
                member.trace_failed = event["sentence"]
            case "excluded" | "stuck" | "setup":
                member.sentence = event["sentence"]

    def _judge_end(self, member: Member) -> None:
        """An end that nobody asked for ends the run; an exclusion is for the run to judge."""
        if member.ending == "crash" or member.ending == "end":
            return
        if member.code == EXCLUDED:
            member.ending = "excluded"
            return
        if member.code == LEFT and member.ending == "leave":
            return
        said = member.sentence or last_line(member.errors) or "it said nothing"
        if member.code == SETUP and not member.bind:
            self._setup = f"The cluster does not start: {said.rstrip('.')}."
            return
        asked = "was to leave and" if member.ending == "leave" else "was not asked to end, but"
        self._problem = (
            f"Member {member.address} {asked} ended {how(member.code)}: {said.rstrip('.')}."
        )


def node_command(options: Mapping[str, object]) -> list[str]:
    """The command line of a member process."""
    command = [sys.executable, "-m", "raincheck.conformance.clusternode"]
    for name, value in options.items():
        if value not in ("", None):
            command.append(f"--{name.replace('_', '-')}={value}")
    return command


def how(code: int | None) -> str:
    """An exit code in words."""
    if code is not None and code < 0:
        return f"by signal {signal.Signals(-code).name}"
    return f"with exit code {code}"


def last_line(path: Path) -> str:
    """The last line of a file that may not be there."""
    try:
        lines: Sequence[str] = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
