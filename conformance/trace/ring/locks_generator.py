"""Traces of named locks over a ring in virtual time: real members, recorded as in a real run."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from raincheck.impl.locks.events import Mode
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.ring.reports import LockGone, LockGranted, RingReport
from raincheck.impl.simulation.ring import Link, Member

from .generator import RecordedRing

_CONFIG = RingConfig.preset("fast", eating=0.02)
_LINK = Link(delay=(0.0005, 0.003))
_HELD = 0.05  # seconds for which a lock is held, at most


class LockingRing(RecordedRing):
    """A ring whose members write traces and want named locks."""

    def __init__(self, folder: Path, run: str = "locks-1", seed: int = 1, **how: Any) -> None:
        """`how` is the simulator's."""
        super().__init__(folder, run, locks=True, seed=seed, link=_LINK, config=_CONFIG, **how)
        self._draw = Random(f"{run}/{seed}")
        self.granted = self.lost = 0
        self._kept: set[tuple[str, int]] = set()
        self.on_report = self._hear

    def use(self, seconds: float, *members: str) -> None:
        """Let these members, or all that are up, want locks for so long."""
        end = self.now + seconds
        while self.now < end:
            up = [member for member in self.up if not members or member.name in members]
            self._want(self._draw.choice(up))
            self.run(self._draw.uniform(0.0, 0.03))

    def keep(self, name: str, lock: str) -> None:
        """Let a member have a lock, and never give it back."""
        self._kept.add((name, self[name].node.want_lock(lock, "write", self.now)))
        self._act(self[name])
        self.run_until(lambda: self[name].node.locks.holder(lock) == self[name].node.address)

    def _want(self, member: Member) -> None:
        name, reads = self._draw.choice("xy"), self._draw.random() < 0.4
        mode: Mode = "read" if reads else "write"
        request = member.node.want_lock(name, mode, self.now, tries=self._draw.random() < 0.2)
        if self._draw.random() < 0.2:  # it does not wait for ever
            self._drop_later(member.name, request)
        self._act(member)

    def _hear(self, name: str, report: RingReport) -> None:
        if isinstance(report, LockGranted):
            self.granted += 1
            if (name, report.request) not in self._kept:
                self._drop_later(name, report.request)
        elif isinstance(report, LockGone):
            self.lost += 1

    def _drop_later(self, name: str, request: int) -> None:
        node = self[name].node

        def drop() -> None:
            member = self[name]
            if member.node is node and member.up:  # else its process has ended
                node.drop_lock(request, self.now)
                self._act(member)

        self.after(self._draw.uniform(0.0, _HELD), drop)

    def _act(self, member: Member) -> None:
        """Do what a shell does after a call of the application."""
        member.node.handle_timer(self.now)
        self._settle(member)


def record_locks(folder: Path, run: str = "locks-1", seed: int = 1, **how: Any) -> LockingRing:
    """A ring that sees a member that comes back with its state and one without, and a cut."""
    ring = LockingRing(folder, run, seed, **how)
    ring.found(*"abcd")
    ring.run_until(lambda: ring.in_one_view(*"abcd"))
    ring.use(0.4)
    ring.crash("b")
    ring.use(0.3)
    ring.recover("b")
    ring.run_until(lambda: ring.in_one_view(*"abcd"))
    ring.use(0.3)
    ring.keep("a", "z")
    ring.partition("a", "bcd")
    ring.use(0.6)
    ring.heal()  # a learns that it has lost its lock
    ring.crash("c")
    ring.forget("c")
    ring.run_until(lambda: len(ring.up) == 4 and ring.in_one_view(*"abcd"))
    ring.use(0.3)
    ring.leave("d")
    ring.run(0.5)
    ring.close()
    return ring
