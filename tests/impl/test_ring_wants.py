"""A token that comes when it is wanted, and rests while nobody wants it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from raincheck.impl.messages import Address
from raincheck.impl.raincore import events as ev
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.ring.frames import WANTED, Frames
from raincheck.impl.simulation.ring import Link, RingSimulator

REST = 0.5
TRIP = 0.001


def quiet(*names: str) -> RingSimulator:
    """A ring whose token rests long, after some rests."""
    config = RingConfig(eating=REST, hungry=5.0)
    ring = RingSimulator(1, link=Link(delay=(TRIP, TRIP)), config=config)
    ring.found(*names)
    ring.run_until(lambda: ring.in_one_view(*names))
    ring.run(3.3 * REST)
    return ring


def holder(ring: RingSimulator) -> str:
    """Who has the token, which rests."""
    return next(m.name for m in ring.up if m.core.token_state == "eating")


def counted(ring: RingSimulator) -> Counter[str]:
    return sum((member.node.counters for member in ring.up), Counter())


def deaf(ring: RingSimulator) -> None:
    """No datagram that says who wants the token arrives any more."""
    for member in ring.up:
        member.node.manager.want = lambda _to: None  # type: ignore[method-assign]


@pytest.mark.parametrize("names", ["abc", "abcdefgh"])
def test_the_lock_is_granted_at_once_wherever_the_token_rests(names: str) -> None:
    ring = quiet(*names)
    for name in names:
        asked = ring.now
        ring.lock(name, 0.0)
        ring.run(REST / 2)

        assert ring.locked[-1].member.node == name
        assert ring.locked[-1].since - asked < (len(names) + 1) * TRIP


def test_a_want_that_is_lost_costs_the_rests_on_the_way() -> None:
    ring = quiet("a", "b", "c")
    deaf(ring)
    name = next(each for each in "abc" if each != holder(ring))
    asked = ring.now
    ring.lock(name, 0.0)
    ring.run(3 * REST)

    assert TRIP < ring.locked[-1].since - asked < 2 * REST + 4 * TRIP


def test_a_lone_sender_is_delivered_at_once_and_has_the_token_at_hand_the_next_time() -> None:
    ring = quiet("a", "b", "c")
    name = next(each for each in "abc" if each != holder(ring))
    for number in range(1, 4):
        ring.multicast(name, [b"now"])
        ring.run(8 * TRIP)
        assert all(len(ring[each].delivered) == number for each in "abc")
        assert holder(ring) == name


def test_one_visit_serves_several_tasks_while_nobody_else_wants_the_token() -> None:
    ring = quiet("a", "b", "c")
    for _ in range(20):
        ring.lock("a", 0.001)
    ring.run(REST / 2)

    assert len(ring.locked) == 20
    assert len({(lock.epoch, lock.seq) for lock in ring.locked}) == 1


def test_a_visit_ends_with_its_rest_though_a_task_still_waits() -> None:
    ring = quiet("a", "b", "c")
    deaf(ring)
    for _ in range(100):
        ring.lock("a", 0.01)
    ring.run(0.4)
    asked = ring.now
    ring.lock("b", 0.01)
    ring.run(2 * REST)

    (b,) = [lock for lock in ring.locked if lock.member.node == "b"]
    assert b.since - asked < 2 * REST


def test_members_that_all_want_the_token_get_it_in_turn() -> None:
    ring = quiet("a", "b", "c")
    for name in "abc":
        for _ in range(10):
            ring.lock(name, 0.002)
    ring.run(1.0)

    order = [lock.member.node for lock in sorted(ring.locked, key=lambda lock: lock.since)]
    assert len(order) == 30
    assert all(one != other for one, other in pairwise(order[2:]))


def test_nobody_tells_of_wants_that_the_token_carries() -> None:
    ring = quiet("a", "b", "c")
    for name in "abc":
        for _ in range(50):
            ring.lock(name, 0.001)
    ring.run(1.0)

    assert len(ring.locked) == 150
    assert counted(ring)["told_wanted"] <= 6


def test_an_idle_token_goes_round_once_in_the_rests_of_all() -> None:
    ring = quiet("a", "b", "c")
    ring.lock("b", 0.0)
    ring.run(4 * REST)
    before = counted(ring)["sent"]
    ring.run(20 * REST)

    assert 18 <= counted(ring)["sent"] - before <= 21


def test_a_newcomer_and_a_leaver_do_not_wait_for_the_rests() -> None:
    ring = quiet("a", "b", "c", "d")
    begun = ring.now
    ring.join("e", contacts=[next(each for each in "abcd" if each != holder(ring))])
    ring.run_until(lambda: ring.in_one_view(*"abcde"))
    assert ring.now - begun < REST

    ring.run(REST)
    begun = ring.now
    leaver = next(each for each in "abcd" if each != holder(ring))
    ring.leave(leaver)
    ring.run_until(lambda: ring[leaver].left is not None)
    assert ring.now - begun < REST


def test_the_wants_of_strangers_are_dropped() -> None:
    ring = quiet("a", "b", "c")
    name = holder(ring)
    frames = Frames(ring.config.ring, ring.config.max_datagram)
    other = next(each for each in "abc" if each != name)
    to = ring[name].node.address
    for source in (Address(other, 0), Address("z", 0)):
        ring.inject(name, frames.make(WANTED, source, to))

    assert ring[name].node.counters["stranger"] == 2
    assert not ring[name].core.awaited
    assert holder(ring) == name


def test_a_member_that_comes_back_knows_of_no_wants() -> None:
    ring = quiet("a", "b", "c")
    core = ring["a"].core
    core.handle(ev.Wanted(Address("b", 0)))
    assert core.awaited == {Address("b", 0)}

    core.up = "down"
    core.handle(ev.Recover())
    assert core.awaited == frozenset()
