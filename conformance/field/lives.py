"""The processes of a run, as the harness sees them: started, heard, signalled, ended.

The law of this file: every child has its own process group, and none outlives `Lives.kill_all`.
"""

import asyncio
import json
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from raincheck.conformance.errors import UsageError

from .starting import Started, StarterGone, start
from .telling import SETUP


class RunFailed(Exception):
    """The run cannot go on; the sentence gives the reason."""


@dataclass(eq=False, slots=True)
class Life:
    """One process: one life of one member."""

    name: str
    incarnation: int
    process: Started
    errors: Path
    """The file for its stderr."""
    bind: str = ""
    """The address where it listens; empty until its sockets are open."""
    joined: bool = False
    """Whether it has been admitted to the group."""
    ending: str = ""
    """Why it is to end: "crash", "close", "leave", "excluded"; with the run "done" or, killed,
    "end".
    """
    code: int | None = None
    sent: int = 0
    stopped: bool = False
    """Whether it sends no more."""
    highest: dict[str, int] = field(default_factory=dict)
    """The last message that it delivered from each member."""
    wrong: str = ""
    """A sentence on a delivery with other contents than were sent."""
    sentence: str = ""
    """Its last sentence about an error."""
    status: dict[str, Any] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    trace_failed: str = ""
    unsent: int = 0
    """How many records of its traces a reader beside the files was not sent, as it said itself."""
    hearing: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        """Return its name and incarnation."""
        return f"{self.name}.{self.incarnation}"

    @property
    def title(self) -> str:
        """Return its name in sentences."""
        return self.address

    @property
    def running(self) -> bool:
        """Tell whether it is in the group, or on its way into it, and to stay there."""
        return self.code is None and not self.ending

    @property
    def in_group(self) -> bool:
        """Tell whether it has been admitted to the group, and is to stay."""
        return self.running and self.joined

    @property
    def killed(self) -> bool:
        """Tell whether to the others it seems to have crashed."""
        return self.ending not in ("leave", "done")

    def kill(self) -> None:
        """End it as a crash does."""
        self.ending = "crash"
        self.signal(signal.SIGKILL)

    def tell(self, word: str) -> None:
        """Send it a line; a process that has gone hears nothing."""
        assert self.process.stdin is not None
        with suppress(OSError, RuntimeError):
            self.process.stdin.write(f"{word}\n".encode())

    def signal(self, number: int) -> None:
        """Send a signal to its process group, unless it has ended."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)

    def heard(self, event: dict[str, Any]) -> None:
        """Take in a message of the kinds common to all processes."""
        match event["event"]:
            case "open":
                self.bind = event["bind"]
            case "joined":
                self.joined = True
            case "stopped":
                self.sent, self.stopped = event["sent"], True
            case "wrong":
                self.wrong = event["sentence"]
            case "status":
                self.status = event
            case "trace_failed":
                self.trace_failed = event["sentence"]
            case "unsent":
                self.unsent = event["records"]
            case "excluded" | "stuck" | "setup":
                self.sentence = event["sentence"]


AnyLife = TypeVar("AnyLife", bound=Life)


class Lives(ABC, Generic[AnyLife]):
    """All processes of a run, in the order in which they were started."""

    module: str
    """The module that a process runs: `python -m` this."""
    kind: type[AnyLife]

    def __init__(self, folder: Path) -> None:
        self.all: list[AnyLife] = []
        self._folder = folder
        self._changed = asyncio.Event()
        self._problem = ""
        self._setup = ""

    @property
    def running(self) -> list[AnyLife]:
        """Return those that are to be members at the end."""
        return [member for member in self.all if member.running]

    @property
    def in_group(self) -> list[AnyLife]:
        """Return those that have been admitted to the group, and are to stay."""
        return [member for member in self.all if member.in_group]

    def lives(self, name: str) -> int:
        """Return how many processes that name has had."""
        return sum(member.name == name for member in self.all)

    async def start(
        self, name: str, options: Mapping[str, object], incarnation: int | None = None
    ) -> AnyLife:
        """Start the next process of that name; by default its incarnation counts them."""
        lives = self.lives(name)
        incarnation = lives if incarnation is None else incarnation
        errors = self._folder / f"{name}.{lives}.stderr"
        command = command_of(
            self.module,
            {"name": name, "incarnation": incarnation, **options}
            | {"log": self._folder / f"{name}.{lives}.log"},
        )
        try:
            with errors.open("wb") as sink:
                process = await start(command, len(self.all), sink)
        except OSError as problem:
            reason = problem.strerror or str(problem)
            raise UsageError(f"Member {name} does not start: {reason}.") from problem
        member = self.kind(name, incarnation, process, errors)
        self.all.append(member)
        member.hearing = asyncio.create_task(self._hear(member))
        return member

    async def until(
        self,
        condition: Callable[[], bool],
        what: str,
        seconds: float,
        *,
        missing: Callable[[], str] = str,
    ) -> None:
        """Wait for a condition; raise RunFailed if it takes too long or a member dies unasked."""
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
            raise RunFailed(f"{what} took longer than {seconds:g} s{missing()}") from None

    async def kill_all(self) -> None:
        """End every child, and wait until it has gone."""
        for member in self.all:
            member.ending = member.ending or "end"
            member.signal(signal.SIGKILL)
        hearing = [member.hearing for member in self.all if member.hearing is not None]
        await asyncio.gather(*hearing, return_exceptions=True)

    async def _hear(self, member: AnyLife) -> None:
        assert member.process.stdout is not None
        try:
            while line := await member.process.stdout.readline():
                event = json.loads(line)
                member.heard(event)
                self.reported(member, event)
                self._changed.set()
        except ValueError:
            self._problem = f"Member {member.address} wrote a line that is none of its events."
            member.signal(signal.SIGKILL)
        try:
            member.code = await member.process.wait()
        except StarterGone as gone:
            member.code, member.sentence = -signal.SIGKILL, str(gone)  # as was done to it
        self._judge_end(member)
        self.ended(member)
        self._changed.set()

    def reported(self, member: AnyLife, event: dict[str, Any]) -> None:
        """Called when a process has reported something, for a display."""

    def ended(self, member: AnyLife) -> None:
        """Called when a process has ended, for a display."""

    @abstractmethod
    def asked_for(self, member: AnyLife) -> bool:
        """Tell whether the member ended as it was asked to."""

    def _judge_end(self, member: AnyLife) -> None:
        """End the run if the process ended unasked."""
        if member.ending == "crash" or member.ending == "end" or self.asked_for(member):
            return
        said = member.sentence or last_line(member.errors) or "it said nothing"
        if member.code == SETUP and not member.bind:
            self._setup = f"The cluster does not start: {said.rstrip('.')}."
            return
        asked = "was to leave and" if member.ending == "leave" else "was not asked to end, but"
        self._problem = (
            f"Member {member.address} {asked} ended {how(member.code)}: {said.rstrip('.')}."
        )


def command_of(module: str, options: Mapping[str, object]) -> list[str]:
    """Return the command line of a process."""
    command = [sys.executable, "-m", module]
    for name, value in options.items():
        if value not in ("", None):
            command.append(f"--{name.replace('_', '-')}={value}")
    return command


def how(code: int | None) -> str:
    """Return an exit code in words."""
    if code is not None and code < 0:
        return f"by signal {signal.Signals(-code).name}"
    return f"with exit code {code}"


def last_line(path: Path) -> str:
    """Return the last line of a file that may not exist."""
    try:
        lines: Sequence[str] = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
