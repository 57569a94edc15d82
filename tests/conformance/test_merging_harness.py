"""The end of a run of a group that merges, with members that are scripted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.field.lives import RunFailed
from raincheck.conformance.field.merging.members import MergingMember
from raincheck.conformance.field.merging.run import ROUNDS, MergingRun, MergingSettings


class Scripted(MergingMember):
    """A member without a process, which sends where its side is."""

    hub: Run

    def tell(self, word: str) -> None:
        """Send one message when told to."""
        if word in ("stop", "again"):
            self.sent, self.stopped = self.sent + 1, True
            self.hub.multicast(self)


class Run(MergingRun):
    """A run that begins at its end: all are one group, and what happens then is given."""

    SETTLE = STOP = LEAVE = MERGE = 1.0

    def __init__(self, folder: Path, meanwhile: Callable[[Run], None]) -> None:
        super().__init__(MergingSettings(members=3, seconds=0.0), 1, folder)
        self._happens = meanwhile
        for name in "abc":
            member = Scripted(name, 0, None, folder)  # type: ignore[arg-type]
            member.hub = self
            self.members.all.append(member)
        self.view(1, "abc")
        self.rounds = 0

    def view(self, number: int, names: str) -> None:
        """Install a view at those."""
        for member in self.members.all:
            if member.name in names:
                member.view, member.joined = number, True
                member.members = tuple(f"{name}.0" for name in names)

    def multicast(self, sender: Scripted) -> None:
        """Deliver the sender's last message in its view."""
        for member in self.members.all:
            if member.address in sender.members:
                member.highest = member.highest | {sender.address: sender.sent}

    async def _stopped(self, word: str) -> None:
        self.rounds += 1
        if self.rounds == 1:
            self.view(2, "ab")  # c is missed only now
            self.view(2, "c")
        await super()._stopped(word)
        self._happens(self)

    async def _part(self, survivors: list[Any]) -> None:
        for member in survivors:
            member.code = 0


def test_what_was_sent_last_on_one_side_is_followed_by_something_in_the_merged_view(
    tmp_path: Path,
) -> None:
    run = Run(tmp_path, lambda run: run.view(3, "abc"))
    asyncio.run(run._end())
    assert run.rounds == 2
    assert {member.sent for member in run.members.all} == {2}
    assert all(member.code == 0 for member in run.members.all)


def test_sides_that_stay_apart_end_the_run(tmp_path: Path) -> None:
    run = Run(tmp_path, lambda _: None)
    with pytest.raises(RunFailed, match="Delivering everything to everybody took longer than 1 s"):
        asyncio.run(run._end())


def test_members_that_never_stay_in_one_view_end_the_run(tmp_path: Path) -> None:
    def flap(run: Run) -> None:
        run.view(2 * run.rounds + 1, "abc")
        for member in run.members.all:
            member.highest = {}

    run = Run(tmp_path, flap)
    with pytest.raises(RunFailed, match=f"failed {ROUNDS} times"):
        asyncio.run(run._end())
