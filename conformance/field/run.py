"""The driver of a run of real processes, whatever group they form.

The law of every run: it waits for conditions, each with a deadline, and never for time alone,
except where a fault consists in the passing of time.
"""

import asyncio
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Generic, TypeVar

from .lives import AnyLife, Lives, RunFailed
from .record import RunRecord, RunSettings

AnyRecord = TypeVar("AnyRecord", bound=RunRecord[Any, Any])


class Run(ABC, Generic[AnyRecord, AnyLife]):
    """Drives one run; `record` is filled in, even if the run fails."""

    START = 20.0
    SETTLE = 30.0
    STOP = 20.0
    LEAVE = 20.0
    """Seconds until each wait is given up."""

    settings: RunSettings
    members: Lives[AnyLife]
    asked_by: tuple[int, ...] = (signal.SIGUSR1,)
    """The signals at which a member says for what it waits."""

    def __init__(self, record: AnyRecord, folder: Path, *kept: str) -> None:
        """`kept` are the folders, below `folder`, for the members' records."""
        self.record = record
        self.folder = folder
        self.home = folder / "members" / record.run
        """The folder of the processes' own files."""
        self._began = time.monotonic()
        self._load_began = 0.0
        self._later: set[asyncio.Task[None]] = set()
        for each in (*(folder / name for name in kept), self.home):
            each.mkdir(parents=True, exist_ok=True)

    async def run(self) -> AnyRecord:
        """Do the whole run; a failure is noted in the record, and ends it."""
        record, members = self.record, self.members
        try:
            await self._form()
            await self._load()
            for fault in record.plan.faults:
                await self._do(fault)
            await self._end()
        except RunFailed as failure:
            record.failure = f"{failure}{await self._whom()}"
        finally:
            for task in self._later:
                task.cancel()
            await members.kill_all()
            await asyncio.gather(*self._later, return_exceptions=True)
            record.lives = members.all
            record.seconds = self._now()
            await self._gather()
        return record

    # ------------------------------------------------------------------ beginning and end

    @abstractmethod
    async def _form(self) -> None:
        """Start the founders, and wait until they form the group."""

    async def _load(self) -> None:
        """Let all members send."""
        self._load_began = time.monotonic()
        for member in self.members.in_group:
            member.tell("load")

    @abstractmethod
    async def _do(self, fault: Any) -> None:
        """Do one of the planned faults when it is due."""

    async def _end(self) -> None:
        """Wait until the load is over and everything has arrived everywhere; end in order."""
        await self._loaded(1.0)
        await asyncio.gather(*self._later)
        await self._come_to_rest()
        await self._stopped("stop")
        await self._arrived("Delivering everything to everybody")
        survivors = self.members.in_group
        await self._part(survivors)
        await self._until(
            lambda: all(member.code is not None for member in survivors), "Ending", self.LEAVE
        )

    @abstractmethod
    async def _loaded(self, part: float) -> None:
        """Wait until that part of the load is over."""

    @abstractmethod
    async def _come_to_rest(self) -> None:
        """Wait until all running members agree on who they are."""

    async def _stopped(self, word: str) -> None:
        """Tell all members that, and wait until each has sent its last message."""
        for member in self.members.in_group:
            member.stopped = False
            member.tell(word)
        await self._until(
            lambda: all(member.stopped for member in self.members.in_group),
            "Stopping the load",
            self.STOP,
        )

    async def _arrived(self, what: str) -> None:
        """Wait until everybody has delivered everything."""
        await self._until(self._all_delivered, what, self.SETTLE)

    def _all_delivered(self) -> bool:
        """Tell whether every member has delivered the last message of every sending member."""
        here = self.members.in_group
        return all(
            other.sent == 0 or member.highest.get(other.address, 0) >= other.sent
            for member in here
            for other in here
        )

    @abstractmethod
    async def _part(self, survivors: list[AnyLife]) -> None:
        """Ask those that came to the end of the run to end as well."""

    async def _gather(self) -> None:
        """Gather the files that are left, after every process has ended."""
        self.record.collect(self.folder)
        if self.settings.trace_to:
            self.record.tell_reader(self.folder, self.settings.trace_to)

    # ------------------------------------------------------------------ what faults share

    def _meanwhile(self, act: Coroutine[Any, Any, None]) -> None:
        """Do something while the run goes on."""
        self._later.add(asyncio.create_task(act))

    def _skip(self, kind: str, who: str = "") -> None:
        """Note that a fault has nobody to meet."""
        self._note("skipped", who, fault=kind)

    async def _gone(self, member: AnyLife, seconds: float) -> None:
        """Wait until a process has ended, and so many seconds longer."""
        await self._until(lambda: member.code is not None, f"The end of {member.title}", self.LEAVE)
        await asyncio.sleep(seconds)

    def _note(self, kind: str, who: str, **facts: object) -> None:
        """Note an act on a process."""
        self.record.done.append({"kind": kind, "who": who, "at": round(self._now(), 3), **facts})

    # ------------------------------------------------------------------ conditions

    async def _until(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait for a condition; the run fails if that takes too long."""
        await self.members.until(condition, what, seconds)

    async def _under_load(self, seconds: float) -> None:
        """Wait until the members have sent for so many seconds."""
        await asyncio.sleep(max(0.0, self._load_began + seconds - time.monotonic()))

    async def _whom(self) -> str:
        """Ask the members for what they wait."""
        running = self.members.running
        # A process that has not opened its sockets does not handle the signal yet, and would die of
        # it.
        for member in (each for each in running if each.bind):
            for number in self.asked_by:
                member.signal(number)
        for _ in range(20):
            if all(member.status for member in running):
                break
            await asyncio.sleep(0.05)
        return "".join(f"; {self._waits(member)}" for member in running)

    @abstractmethod
    def _waits(self, member: AnyLife) -> str:
        """Return a member's answer: its state, and for whom it waits."""

    def _now(self) -> float:
        """Return the seconds since the run began."""
        return time.monotonic() - self._began


def shared_options(
    settings: RunSettings, record: RunRecord[Any, Any], folder: Path
) -> dict[str, object]:
    """Return the options that the members of all groups have in common."""
    damage = record.plan.damage
    return {
        "run": record.run,
        "traces": folder / "traces",
        "trace_to": settings.trace_to,
        "size": settings.size,
        "rate": settings.rate,
        "damage": ",".join(f"{kind}={share:g}" for kind, share in damage.items()),
        "undo": settings.undo,
        "seed": record.seed,
    }
