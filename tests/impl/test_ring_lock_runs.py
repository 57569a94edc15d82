"""Named locks over whole rings that lose datagrams, members and tokens: any order of events."""

from __future__ import annotations

from random import Random

import pytest

from raincheck.impl.locks.core import Repairs
from raincheck.impl.locks.events import Mode
from raincheck.impl.messages import Address
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.ring.lock_desk import LockDesk
from raincheck.impl.ring.reports import LockGone, LockGranted, LockReport, LockTaken, RingReport
from raincheck.impl.simulation.ring import Link, RingSimulator

from .lock_judge import LockJudge

CONFIG = RingConfig.preset("fast", eating=0.005)


class Run:
    """Members that want locks, hold them for a while, and are crashed, cut off and restarted."""

    def __init__(
        self, seed: int, *, loss: float = 0.0, repairs: Repairs | None = None, readers: float = 0.0
    ) -> None:
        self.random = Random(seed)
        self.readers = readers
        self.judge = LockJudge()
        self.ring = RingSimulator(
            seed, link=Link(loss=loss, duplicate=loss, delay=(0.0005, 0.003)), config=CONFIG
        )
        self.repairs = repairs
        self.lives: dict[str, int] = {}
        self.wants: dict[tuple[str, int, int], tuple[str, Mode]] = {}
        """The requests that have not ended, by member, life and number."""
        self.served = self.taken = self.lost = 0
        self.ring.on_report = self.hear
        self.ring.found(*"abcde")
        for name in "abcde":
            self.begin(name)
        self.ring.run_until(lambda: self.ring.in_one_view(*"abcde"))

    def begin(self, name: str) -> None:
        self.lives[name] = self.lives.get(name, 0) + 1
        if self.repairs is not None:
            self.ring[name].node.locks._core.repairs = self.repairs

    def hear(self, member: str, report: RingReport) -> None:
        if not isinstance(report, LockReport):
            return
        key = (member, self.lives[member], report.request)
        if key not in self.wants:
            assert isinstance(report, LockGranted)
            return  # it was given up at the same moment
        match report:
            case LockGranted(_, fence):
                self.served += 1
                name, mode = self.wants[key]
                self.judge.got(member, name, fence, key, mode)
                most = 0.1 if self.random.random() < 0.9 else 3.0
                self.ring.after(self.random.uniform(0.001, most), lambda: self.drop(key))
            case LockTaken():
                self.taken += 1
                del self.wants[key]
            case LockGone():
                self.lost += 1
                self.judge.ended(self.wants.pop(key)[0], key)

    def act(self, member: str) -> None:
        """Do what a shell does after a call of the application."""
        node = self.ring[member].node
        node.handle_timer(self.ring.now)
        self.ring._settle(self.ring[member])

    def want(self) -> None:
        member = self.random.choice(self.ring.up)
        name, tries = self.random.choice("xyz"), self.random.random() < 0.2
        mode: Mode = "read" if self.random.random() < self.readers else "write"
        request = member.node.want_lock(name, mode, self.ring.now, tries=tries)
        key = (member.name, self.lives[member.name], request)
        self.wants[key] = name, mode
        if self.random.random() < 0.2:  # it does not wait for ever
            self.ring.after(self.random.uniform(0.0, 0.1), lambda: self.drop(key))
        self.act(member.name)

    def drop(self, key: tuple[str, int, int]) -> None:
        member, life, request = key
        if key in self.wants and self.lives[member] == life and self.ring[member].up:
            self.judge.ended(self.wants.pop(key)[0], key)
            self.ring[member].node.drop_lock(request, self.ring.now)
            self.act(member)

    def crash(self) -> None:
        """A process ends, and is started again in a while, perhaps without what it has kept."""
        if len(self.ring.up) < 4:
            return
        member = self.random.choice(self.ring.up).name
        self.end(member)
        again = self.ring.recover if self.random.random() < 0.7 else self.ring.forget

        def come_back() -> None:
            again(member)
            self.begin(member)

        self.ring.after(self.random.uniform(0.01, 1.5), come_back)

    def end(self, member: str) -> None:
        self.ring.crash(member)
        self.judge.died(member)
        self.wants = {key: each for key, each in self.wants.items() if key[0] != member}

    def cut(self) -> None:
        """Cut off one or two members for a while: the others go on without them."""
        away = self.random.sample("abcde", self.random.choice([1, 2]))
        self.judge.apart |= set(away)
        self.ring.partition(away, [each for each in "abcde" if each not in away])
        for _ in range(20):
            self.want()
            self.ring.run(self.random.uniform(0.0, 0.1))
        self.ring.heal()
        self.ring.run(3.0)
        self.judge.apart -= set(away)

    def go(self, steps: int) -> None:
        for _ in range(steps):
            chance = self.random.random()
            if chance < 0.02:
                self.cut()
            elif chance < 0.06:
                self.crash()
            elif self.ring.up:
                self.want()
            self.ring.run(self.random.uniform(0.0, 0.03))

    def settle(self) -> None:
        """Nothing happens any more: all that waits is served, and every table is empty then."""
        self.ring.run(4.0)
        self.ring.run_until(lambda: not self.wants, timeout=30.0)
        self.ring.run(2.0)
        for member in self.ring.up:
            desk = member.node.locks
            assert desk._core.good
            assert (desk._core.table, desk._core.wishes, desk.pending) == ((), (), False)


@pytest.mark.parametrize("seed", range(3))
def test_one_holds_and_fences_grow_and_all_are_served(seed: int) -> None:
    run = Run(seed, loss=0.02 * (seed % 2))
    run.go(150)
    run.settle()

    run.judge.check(least=50)
    assert run.taken


@pytest.mark.parametrize("seed", range(2))
def test_readers_hold_together_and_writers_are_served_too(seed: int) -> None:
    run = Run(seed, loss=0.02 * (seed % 2), readers=0.7)
    run.go(150)
    run.settle()

    run.judge.check(least=50)
    assert run.judge.together > 10
    assert run.taken


def test_a_member_says_with_each_departure_how_far_it_has_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without it two members get one lock (LCK-F12)."""
    said: list[tuple[int, int]] = []

    def depart(
        self: LockDesk, place: int, members: frozenset[Address], read: int, room: int
    ) -> bytes | None:
        cores = [each.node.core for each in run.ring.up if each.node.locks is self]
        said.extend((read, core.last_ordinal) for core in cores)
        return real(self, place, members, read, room)

    real, run = LockDesk.depart, Run(1)
    monkeypatch.setattr(LockDesk, "depart", depart)
    run.go(50)

    assert len({read for read, _ in said}) > 50
    assert all(read == last for read, last in said)


def test_a_rule_that_is_taken_back_is_noticed_by_the_judge() -> None:
    for seed in range(20):
        run = Run(seed, repairs=Repairs(all_ask=False))
        run.go(150)
        if run.judge.problems:
            return
    pytest.fail("nothing is noticed")
