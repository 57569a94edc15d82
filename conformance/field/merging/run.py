"""One run of a real group that is cut into sides, which go on, meet, and merge."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from raincheck.conformance.field.lives import RunFailed
from raincheck.conformance.field.record import cut_last_line
from raincheck.conformance.field.stack.faults import Fault
from raincheck.conformance.field.stack.members import Member
from raincheck.conformance.field.stack.record import Record, Settings
from raincheck.conformance.field.stack.run import ClusterRun

from .faults import CUTS, make_plan
from .members import MergingMember, MergingMembers
from .primaries import FOLDER

FLAPS = 3
"""The times that a link goes down and up when it flaps."""
ROUNDS = 5
"""How often members send their last message anew, because sides have merged meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergingSettings(Settings):
    """The settings of `raincheck run merging`."""

    on_merge: str = "state"
    primary: str = ""
    """Which side goes on: "majority", or "" for each of them."""


@dataclass(slots=True)
class MergingRecord(Record):
    """The record of one run."""

    merges: list[float] = field(default_factory=list)
    """For each time that the network was mended and there were several groups: the seconds until
    there was one."""
    apart: str = ""
    """The sentence about sides that did not become one group."""

    def collect(self, folder: Path) -> list[Member]:
        """Complete the traces and logs of those who were killed."""
        # Written out, because a dataclass with slots is another class than super() knows.
        killed = Record.collect(self, folder)
        for member in killed:
            log = folder / FOLDER / f"{self.run}.{member.address}.jsonl"
            if log.exists():
                cut_last_line(log)
        return killed


def record_of(settings: MergingSettings, seed: int) -> MergingRecord:
    """Return the record of the run of that seed; runs of two kinds may be judged together."""
    return MergingRecord(run_name(settings, seed), seed, make_plan(settings.kinds, seed))


def run_name(settings: MergingSettings, seed: int) -> str:
    """Return the name of that run."""
    return f"{'primary' if settings.primary else 'merging'}-{seed}"


class MergingRun(ClusterRun):
    """Drives one run."""

    MERGE = 60.0
    """Seconds until sides that can reach each other have to be one group."""

    record: MergingRecord

    def __init__(self, settings: MergingSettings, seed: int, folder: Path) -> None:
        super().__init__(settings, seed, folder)
        self.members = MergingMembers(self.home)
        self._draw = Random(f"sides {seed}")
        self._primary = bool(settings.primary)
        self._last = 0
        """The view in which all were one group when they last sent."""

    @staticmethod
    def _recorded(settings: Settings, seed: int) -> MergingRecord:
        assert isinstance(settings, MergingSettings)
        return record_of(settings, seed)

    @staticmethod
    def options_of(settings: Settings, record: Record, folder: Path) -> dict[str, object]:
        """Return the common options of all members of a run."""
        assert isinstance(settings, MergingSettings)
        options = ClusterRun.options_of(settings, record, folder)
        options |= {"large": 0, "on_merge": settings.on_merge}
        if settings.primary:
            options |= {"primary": settings.primary, "expected_votes": settings.members}
        return options

    def _is_settled(self) -> bool:
        """Whether all are in one view, which is primary if any is to be."""
        here = self.members.running
        primary = all(isinstance(each, MergingMember) and each.primary for each in here)
        return super()._is_settled() and (primary or not self._primary)

    async def _do(self, fault: Fault) -> None:
        if fault.kind not in CUTS:
            await super()._do(fault)
            return
        await self._loaded(fault.at)
        await asyncio.gather(*self._later)
        await self._one_group(f"One group before the {fault.kind}")
        here = [member for member in self.members.in_group if member.bind]
        if len(here) < (3 if fault.kind == "thirds" else 2):
            self._skip(fault.kind)
            return
        sides = self._sides(here, 3 if fault.kind == "thirds" else 2)
        words = " | ".join(" ".join(sorted(m.address for m in side)) for side in sides)
        self._note(fault.kind, words, seconds=fault.seconds)
        if fault.kind == "flap":
            await self._flap(sides, fault)
        else:
            self._cut(sides, "deaf" if fault.kind == "oneway" else "part")
            if fault.kind == "visitor":
                await self._visited(fault)
            await asyncio.sleep(fault.seconds)
        self._mend(sides)
        began, whole = time.monotonic(), self._is_settled()
        if fault.kind == "leader":
            await asyncio.sleep(fault.after)
            self._kill_leader(fault)
            await asyncio.gather(*self._later)
        await self._one_group(f"One group after the {fault.kind}")
        if not whole:  # else it was over before anybody was missed
            self.record.merges.append(round(time.monotonic() - began, 3))

    def _sides(self, here: list[Member], count: int) -> list[list[Member]]:
        """Draw the sides; each has somebody."""
        here = self._draw.sample(here, len(here))
        cuts = sorted(self._draw.sample(range(1, len(here)), count - 1))
        return [here[a:b] for a, b in zip([0, *cuts], [*cuts, len(here)], strict=True)]

    def _cut(self, sides: list[list[Member]], word: str) -> None:
        """Cut the sides off from each other; deaf, only the first does not hear the others."""
        for side in sides[:1] if word == "deaf" else sides:
            others = [other.bind for each in sides if each is not side for other in each]
            for member in side:
                member.tell(" ".join([word, *others]))

    def _mend(self, sides: list[list[Member]]) -> None:
        for member in (each for side in sides for each in side):
            member.tell("part")

    async def _flap(self, sides: list[list[Member]], fault: Fault) -> None:
        for _ in range(FLAPS):
            self._cut(sides, "part")
            await asyncio.sleep(fault.seconds / FLAPS)
            self._mend(sides)
            await asyncio.sleep(fault.after / FLAPS)

    async def _visited(self, fault: Fault) -> None:
        """Let a process join while the network is cut: it reaches all, and is of one side."""
        await asyncio.sleep(fault.after)
        guest = await self._begin(self._spare)
        self._note("join", guest.address)
        self._meanwhile(self._loads(guest))

    def _kill_leader(self, fault: Fault) -> None:
        """Kill the process that leads the merge: the first by address of the coordinators."""
        here = self.members.in_group
        coordinators = {member.members[0] for member in here}
        leaders = [member for member in here if member.address in coordinators]
        if len(here) < 3 or not leaders:
            self._skip(fault.kind)
            return
        leader = min(leaders, key=lambda member: (member.name, member.incarnation))
        self._kill(leader, fault, "merge leader")

    async def _one_group(self, what: str) -> None:
        try:
            await self._settled(self.MERGE, what)
        except RunFailed as failure:
            self.record.apart = str(failure)
            raise

    async def _come_to_rest(self) -> None:
        for member in self.members.running:
            member.tell("calm")
        await self._one_group("The last group")
        self._last = self._view()

    async def _arrived(self, what: str) -> None:
        """Wait until everybody has everything, or the last message of a merged view.

        A member that is missed late makes two sides once more, and what one of them sends last the
        other one never has. So when sides have merged since all were one group, all send again.
        """
        for _ in range(ROUNDS):
            await self._until(lambda: self._all_delivered() or self._has_moved(), what, self.MERGE)
            if self._all_delivered():
                return
            self._last = self._view()
            await self._stopped("again")
        raise RunFailed(f"{what} failed {ROUNDS} times: the members do not stay in one view")

    def _has_moved(self) -> bool:
        """Whether all are in another view than the one in which they were told to stop."""
        return self._is_settled() and self._view() != self._last

    def _view(self) -> int:
        return self.members.running[0].view
