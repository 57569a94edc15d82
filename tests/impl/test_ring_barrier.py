"""Barriers over a ring's named locks: whole rings in virtual time."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any
from unittest.mock import create_autospec

import pytest

from raincheck.impl.aio.barrier import Barriers, Place
from raincheck.impl.aio.lock_requests import LockRequests
from raincheck.impl.errors import LockMisused, LocksFull, NotMember, WaitTimeout
from raincheck.impl.locks.events import Fence, Request
from raincheck.impl.messages import Address
from raincheck.impl.raincore.events import Epoch
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.ring.fence import LockLost
from raincheck.impl.ring.reports import LockGranted
from raincheck.impl.simulation.loop import run, the_loop

from .test_ring_named_locks import ROUND, Scene, ring_of, settle, tables


class Judge:
    """Hears who comes to a barrier, goes on, and stops waiting."""

    def __init__(self, parties: int) -> None:
        self.parties = parties
        self.waiting: dict[object, str] = {}
        self.most: dict[object, int] = {}
        """The most that were there while this one waited."""
        self.passed: list[str] = []
        self.problems: list[str] = []

    def came(self, who: str) -> object:
        party = object()
        self.waiting[party] = who
        for each in self.waiting:
            self.most[each] = max(self.most.get(each, 0), len(self.waiting))
        return party

    def went(self, party: object) -> None:
        who = self.waiting.pop(party)
        self.passed.append(who)
        if self.most[party] < self.parties:
            self.problems.append(f"{who} has gone on when {self.most[party]} were there")

    async def wait(self, scene: Scene, member: str, timeout: float | None = None) -> None:
        party = self.came(member)
        try:
            await scene.rings[member].barrier("x", self.parties).wait(timeout)
        except BaseException:
            self.waiting.pop(party)
            raise
        self.went(party)


def test_nobody_goes_on_before_all_are_there_and_then_all_do_again_and_again() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            judge, rounds = Judge(3), dict.fromkeys("abc", 0)

            async def work(member: str, random: Random) -> None:
                for _ in range(20):
                    await asyncio.sleep(random.choice([0, 0, 0.001, 0.03]))
                    await judge.wait(scene, member, timeout=5)
                    rounds[member] += 1
                    assert max(rounds.values()) - min(rounds.values()) <= 1

            await asyncio.gather(*[work(each, Random(each)) for each in "abc"])
            assert judge.problems == []
            assert len(judge.passed) == 60
            await settle()
            assert tables(scene) == {()}

    run(body())


def test_the_judge_notices_a_barrier_that_opens_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(self: Barriers, name: str, parties: int, at: Place) -> Place | None:
        return right(self, name, parties - 1, at)

    right = Barriers._opened
    monkeypatch.setattr(Barriers, "_opened", careless)

    async def body() -> None:
        async with ring_of("abc") as scene:
            judge = Judge(3)
            await asyncio.gather(*[judge.wait(scene, each) for each in "ab"])
            assert sorted(judge.problems) == [
                "a has gone on when 2 were there",
                "b has gone on when 2 were there",
            ]

    run(body())


def test_who_waits_is_told_and_who_comes_in_excess_waits_for_others() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, c = scene.rings.values()
            one = asyncio.create_task(a.barrier("x", 3).wait())
            two = asyncio.create_task(a.barrier("x", 3).wait())  # another task counts too
            await settle()
            assert b.barrier("x", 3).n_waiting == 2
            assert repr(b.barrier("x", 3)) == "<barrier 'x' of 3, 2 wait>"
            with pytest.raises(
                WaitTimeout, match=r"1 of 2 parties to come to 'x y'; there are b.0"
            ):
                await b.barrier("x y", 2).wait(timeout=0.5)
            began = the_loop().time()
            async with c.barrier("x", 3):
                assert the_loop().time() - began < 5 * ROUND
            await asyncio.gather(one, two)
            late = asyncio.create_task(b.barrier("x", 3).wait())
            await settle()
            assert not late.done()
            assert c.barrier("x", 3).n_waiting == 1
            late.cancel()
            await settle()
            assert tables(scene) == {()}

    run(body())


def test_a_party_that_crashes_before_the_barrier_opens_does_not_count() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            judge = Judge(3)
            waits = [asyncio.create_task(judge.wait(scene, each)) for each in "ab"]
            await settle()
            await scene.kill("a")
            waits[0].cancel()
            await scene.rings["b"]._until(lambda: len(scene.rings["b"].members) == 2, "", 30)
            waits.append(asyncio.create_task(judge.wait(scene, "c")))
            await asyncio.sleep(5)
            assert not waits[1].done()
            assert not waits[2].done()
            await asyncio.gather(waits[1], waits[2], judge.wait(scene, "b"))
            assert judge.problems == []

    run(body())


async def crashes_around_an_opening() -> tuple[list[str], list[str]]:
    """Let a party crash when it has been counted, and not by all; then the first that goes on, and
    whoever has the token next. Return who has gone on, and who waits.
    """
    async with ring_of("abcdefg") as scene:
        judge = Judge(3)
        tasks: dict[str, asyncio.Task[None]] = {}
        for each in "cd":
            tasks[each] = asyncio.create_task(judge.wait(scene, each))
            await settle()
        while scene.rings["d"].token_state != "eating":
            await asyncio.sleep(0.0001)
        await scene.kill("c")
        tasks["e"] = asyncio.create_task(judge.wait(scene, "e"))
        await asyncio.wait([tasks["e"]], timeout=60)
        assert "e" in judge.passed  # d has not seen that all were there
        await scene.kill("e")
        await scene.kill("f")
        await asyncio.sleep(20)
        tasks["c"].cancel()
        waits = [each for each in "d" if not tasks[each].done()]
        tasks["d"].cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        assert judge.problems == []
        return sorted(judge.passed), waits


def test_where_one_goes_on_and_crashes_at_once_the_others_go_on() -> None:
    assert run(crashes_around_an_opening()) == (["d", "e"], [])


def test_a_barrier_that_does_not_wait_for_the_others_to_see_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hasty(_: Barriers, party: Any, epoch: object) -> None:
        del epoch
        party.done.set_result(None)

    monkeypatch.setattr(Barriers, "_marked", hasty)
    assert run(crashes_around_an_opening()) == (["e"], ["d"])


@pytest.mark.parametrize("seed", range(3))
def test_where_one_goes_on_all_do_whoever_crashes_at_whatever_moment(seed: int) -> None:
    random = Random(seed)

    async def body() -> None:
        async with ring_of("abcde") as scene:
            judge = Judge(3)
            tasks = {each: asyncio.create_task(judge.wait(scene, each)) for each in "abc"}
            await asyncio.sleep(random.uniform(0, 0.0035))
            for victim in random.sample("abc", random.choice([1, 1, 2])):
                await scene.kill(victim)
                await asyncio.sleep(random.choice([0, 0.0003, 0.001]))
            await asyncio.sleep(20)
            waits = [each for each in "abc" if each in scene.rings and not tasks[each].done()]
            assert judge.problems == []
            assert not (judge.passed and waits), f"seed {seed}: {waits}"
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    run(body())


def test_a_member_that_the_ring_has_gone_on_without_has_lost_its_place() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, _ = scene.rings.values()
            waiting = asyncio.create_task(a.barrier("x", 3).wait())
            await settle()
            scene.cut_off("a")
            await b._until(lambda: len(b.members) == 2, "", 30)
            scene.heal()
            with pytest.raises(LockLost, match=r"a\.0 has lost its place at barrier 'x'"):
                await asyncio.wait_for(waiting, 30)
            await a.wait_for_members(3, timeout=30)
            await settle()
            assert tables(scene) == {()}

    run(body())


def test_what_cannot_be_waited_for_is_refused() -> None:
    async def body() -> None:
        async with ring_of("ab", config=RingConfig(max_datagram=32_768)) as scene:
            a, b = scene.rings.values()
            async with a.token():
                with pytest.raises(LockMisused, match="end that lock first"):
                    await a.barrier("x", 2).wait()
            waits = [asyncio.create_task(a.barrier("y" * 60, 99).wait()) for _ in range(99)]
            await settle()
            assert any(isinstance(each.exception(), LocksFull) for each in waits if each.done())
            ends = [each for each in waits if not each.done()]
            await scene.rings.pop("a").leave()
            results = await asyncio.gather(*ends, return_exceptions=True)
            assert {type(each) for each in results} == {NotMember}
            with pytest.raises(NotMember):
                await a.barrier("x", 2).wait()
            assert b.barrier("x", 1).n_waiting == 0
            await b.barrier("x", 1).wait(timeout=1)

    run(body())


@pytest.mark.parametrize("name", ["opened 1.2.3 x", "opened 1.2 x", "opened a.b.c x", "opened x"])
def test_other_locks_of_such_names_disturb_no_barrier(name: str) -> None:
    async def body() -> None:
        async with ring_of("ab") as scene:
            a, b = scene.rings.values()
            waits: list[Any] = [each.barrier("x", 2).wait(timeout=2) for each in (a, b)]
            async with a.lock(name):
                await asyncio.gather(*waits)

    run(body())


def test_who_is_told_in_a_later_epoch_has_its_place_by_the_table() -> None:
    """The table has the epoch of the post; by that of the telling it would stand behind all."""
    a, b = Address("a", 0), Address("b", 0)
    fences = [Fence(Epoch(1, a), place, 1) for place in (1, 2)]
    requests: Any = create_autospec(LockRequests, instance=True)
    requests.keeps_token.return_value = False
    requests.table = tuple(
        Request(member, 1, 1, "barrier x", "read", fence)
        for member, fence in zip((a, b), fences, strict=True)
    )

    async def told() -> list[str]:
        barriers = Barriers(requests)
        waits = asyncio.ensure_future(barriers.wait("x", 2, None))
        await asyncio.sleep(0)
        _, _, hear = requests.want.call_args.args
        hear(LockGranted(1, fences[1]._replace(epoch=Epoch(2, b))))
        barriers.look()
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)
        return [call.args[0] for call in requests.want.call_args_list]

    assert run(told()) == ["barrier x", "opened 1.2.1 x"]
