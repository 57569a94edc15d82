"""The driver of a run of real processes, independent of the group that they form.

The law of every run: it waits for conditions, each with a deadline, and never for time alone,
except where a fault consists in the passing of time.
"""

import asyncio
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Generic, TypeVar

from .lives import AnyLife, Lives, RunFailed
from .record import RunRecord

AnyRecord = TypeVar("AnyRecord", bound=RunRecord[Any, Any])


class Run(ABC, Generic[AnyRecord, AnyLife]):
    """Drives one run; `record` is filled in, even if the run fails."""

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
            await self._start()
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

    @abstractmethod
    async def _start(self) -> None:
        """Form the group, and start the load."""

    @abstractmethod
    async def _do(self, fault: Any) -> None:
        """Do one of the planned faults when it is due."""

    @abstractmethod
    async def _end(self) -> None:
        """Wait until the load is over and everything has arrived everywhere; end in order."""

    @abstractmethod
    async def _gather(self) -> None:
        """Gather the files that are left, after every process has ended."""

    @abstractmethod
    def _waits(self, member: AnyLife) -> str:
        """Return a member's answer: its state, and for whom it waits."""

    def _meanwhile(self, act: Coroutine[Any, Any, None]) -> None:
        """Do something while the run goes on."""
        self._later.add(asyncio.create_task(act))

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

    def _now(self) -> float:
        """Return the seconds since the run began."""
        return time.monotonic() - self._began

    def _note(self, kind: str, who: str, **facts: object) -> None:
        """Note an act on a process."""
        self.record.done.append({"kind": kind, "who": who, "at": round(self._now(), 3), **facts})
