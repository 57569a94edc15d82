"""A member that has stood still grants nothing before it has heard of the ring again."""

from __future__ import annotations

from itertools import pairwise

import pytest

from raincheck.impl.aio.ring_connect import RingSettings
from raincheck.impl.errors import ConfigError
from raincheck.impl.raincore.core import Repairs
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.simulation.ring import Link, RingSimulator

CONFIG = RingConfig()


def ring_of(*names: str, repairs: Repairs | None = None) -> RingSimulator:
    ring = RingSimulator(1, link=Link(delay=(0.001, 0.001)), config=CONFIG, repairs=repairs)
    ring.found(*names)
    ring.run_until(lambda: ring.in_one_view(*names))
    return ring


class Still:
    """A member stands still: what comes waits, and so do its timers."""

    def __init__(self, ring: RingSimulator, name: str) -> None:
        self.ring, self.name = ring, name
        self.came: list[tuple[bytes, tuple[str, int]]] = []
        self.receive, self.fired = ring._receive, ring._timer_fired
        ring._receive = self._keep  # type: ignore[method-assign]
        ring._timer_fired = self._skip  # type: ignore[method-assign]

    def _keep(self, member, data, endpoint) -> None:
        if member.name == self.name:
            self.came.append((data, endpoint))
        else:
            self.receive(member, data, endpoint)

    def _skip(self, name: str) -> None:
        if name == self.name:
            self.ring._set_timer(name, None)
        else:
            self.fired(name)

    def go_on(self) -> None:
        """What came is read at once, before any timer is looked at."""
        self.ring._receive = self.receive  # type: ignore[method-assign]
        self.ring._timer_fired = self.fired  # type: ignore[method-assign]
        member = self.ring[self.name]
        for data, endpoint in self.came:
            self.receive(member, data, endpoint)
        self.fired(self.name)


def stale_locks(ring: RingSimulator) -> list[tuple[object, object]]:
    """Locks granted with a smaller fence than one that was granted before."""
    locks = sorted(ring.locked, key=lambda lock: lock.since)
    fences = [(lock.epoch, lock.seq) for lock in locks]
    return [(one, two) for one, two in pairwise(fences) if two < one]


def paused(seconds: float, *, holds: bool, repairs: Repairs | None = None) -> RingSimulator:
    """A member that wants the lock stands still, with the token or while it comes."""
    ring = ring_of("a", "b", "c", repairs=repairs)
    ring.run_until(lambda: (ring["a"].core.token_state == "eating") == holds)
    still = Still(ring, "a")
    ring["a"].locks.append(0.3)
    for _ in range(3):
        ring.lock("b", 0.01)
        ring.lock("c", 0.01)
    ring.run(seconds)
    still.go_on()
    for _ in range(3):
        ring.lock("b", 0.1)
        ring.lock("c", 0.1)
    ring.run(12.0)
    return ring


@pytest.mark.parametrize("holds", [True, False], ids=["with the token", "without it"])
@pytest.mark.parametrize("seconds", [0.7, 0.9, 1.3, 1.9, 2.5, 4.5, 8.0])
def test_no_stale_lock_is_granted_after_a_pause(seconds: float, holds: bool) -> None:
    ring = paused(seconds, holds=holds)

    assert stale_locks(ring) == []
    assert ring["a"].node.counters["gaps"] == 1
    assert any(lock.member.node == "a" for lock in ring.locked)
    assert len(ring.locked) == 13
    assert ring.in_one_view("a", "b", "c")


def test_a_member_that_does_not_mind_gaps_grants_a_stale_lock() -> None:
    careless = Repairs(minds_gaps=False)
    pauses = (0.9, 1.3, 1.9, 2.5, 4.5)
    stale = [
        stale_locks(paused(seconds, holds=holds, repairs=careless))
        for seconds in pauses
        for holds in (True, False)
    ]

    assert any(stale)


def test_a_held_lock_stays_over_a_gap_that_nobody_noticed() -> None:
    ring = ring_of("a", "b", "c")
    ring.lock("a", 1.0)
    ring.run_until(lambda: ring["a"].node._taken)
    still = Still(ring, "a")
    ring.run(0.7)
    still.go_on()
    ring.run(1.0)

    (lock,) = ring.locked
    assert lock.until - lock.since == pytest.approx(1.0, abs=0.01)
    assert ring["a"].core.last_token.epoch.n == 0


def test_after_a_held_lock_the_same_visit_grants_no_other() -> None:
    ring = ring_of("a", "b", "c")
    ring.lock("a", 1.0)
    ring.lock("a", 0.1)
    ring.run_until(lambda: ring["a"].node._taken)
    still = Still(ring, "a")
    ring.run(0.7)
    still.go_on()
    ring.run(8.0)

    first, second = ring.locked
    assert (first.epoch, first.seq) < (second.epoch, second.seq)


def test_a_quiet_member_has_no_gaps() -> None:
    ring = ring_of("a", "b", "c")
    ring.run(20.0)

    assert all(member.node.counters["gaps"] == 0 for member in ring.up)


def test_a_preset_is_a_set_of_times() -> None:
    assert RingConfig.preset("lan") == RingConfig()
    assert RingConfig.preset("wan", eating=0.1).eating == 0.1
    with pytest.raises(ConfigError, match="preset is 'moon'; choose one of 'lan', 'fast', 'wan'"):
        RingConfig.preset("moon")
    assert RingSettings(ring="r", recovery="fast").config == RingConfig.preset("fast")


@pytest.mark.parametrize(("preset", "bears"), [("fast", 0.07), ("lan", 0.7), ("wan", 2.5)])
def test_a_member_may_stand_still_for_as_long_as_the_preset_bears(
    preset: str, bears: float
) -> None:
    ring = RingSimulator(1, link=Link(delay=(0.001, 0.001)), config=RingConfig.preset(preset))
    ring.found("a", "b", "c")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))
    views = ring["b"].node.view
    still = Still(ring, "a")
    ring.run(bears)
    still.go_on()
    ring.run(10 * ring.config.hungry)

    assert ring["b"].node.view == views
    assert ring.in_one_view("a", "b", "c")
