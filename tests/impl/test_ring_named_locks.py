"""`ring.lock(name)`: whole rings in virtual time, and what an application sees of the locks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from raincheck.impl.aio.named_lock import NamedLock
from raincheck.impl.aio.named_locks import NamedLocks
from raincheck.impl.aio.ring import Ring
from raincheck.impl.errors import ArgumentError, LockMisused, LocksFull, NotMember, WaitTimeout
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.ring.fence import LockFence, LockLost
from raincheck.impl.ring.reports import LockReport
from raincheck.impl.simulation.loop import SimulatedNetwork, run, the_loop
from raincheck.impl.simulation.members import SimulatedRing

from .lock_judge import LockJudge

ROUND = 0.01
"""Seconds that a few rounds of the token take."""


class Scene:
    """A ring of members on one network, and the judge of its locks."""

    def __init__(self, names: str, **about: Any) -> None:
        self.network = SimulatedNetwork()
        self.judge = LockJudge()
        self.rings: dict[str, Ring] = {}
        self.founders = [f"{name}@10.0.0.{n}:7000" for n, name in enumerate(names, 1)]
        self.about = {"key": [], **about}

    async def connect(self, name: str, **about: Any) -> Ring:
        how = {"members": self.founders, "network": self.network, **self.about, **about}
        settings = SimulatedRing(ring="locks", name=name, **how)
        ring = self.rings[name] = await Ring.connecting(settings)
        return ring

    async def kill(self, name: str) -> None:
        """End a member without a word."""
        self.judge.died(name)
        await self.rings.pop(name)._close()

    def cut_off(self, name: str) -> None:
        self.judge.apart.add(name)
        self.network.silent.add(self.rings[name].endpoint)

    def heal(self) -> None:
        self.network.silent.clear()

    @asynccontextmanager
    async def holding(self, lock: NamedLock, member: str) -> AsyncIterator[LockFence]:
        """Hold a lock under the eyes of the judge."""
        async with lock as fence:
            hold = object()
            self.judge.got(member, lock.name, fence, hold, lock.mode)
            try:
                yield fence
            finally:
                self.judge.ended(lock.name, hold)


@asynccontextmanager
async def ring_of(names: str, **about: Any) -> AsyncIterator[Scene]:
    """A ring of these members, which ends without a word."""
    scene = Scene(names, **about)
    try:
        await asyncio.gather(*map(scene.connect, names))
        scene.rings = {name: scene.rings[name] for name in names}
        for ring in scene.rings.values():
            await ring.wait_for_members(len(names), timeout=30)
        yield scene
    finally:
        for ring in scene.rings.values():
            await ring._close()
    scene.judge.check(least=0)


async def settle() -> None:
    """Let all that is under way arrive."""
    await asyncio.sleep(ROUND)


def tables(scene: Scene) -> set[tuple[Any, ...]]:
    return {ring.node.locks._core.table for ring in scene.rings.values()}


# ------------------------------------------------------------------ having a lock


def test_a_lock_is_granted_in_a_round_and_known_to_all() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, c = scene.rings.values()
            began = the_loop().time()
            async with a.lock("orders") as fence:
                assert the_loop().time() - began < ROUND
                assert isinstance(fence, LockFence)
                assert fence.name == "orders"
                await settle()
                for ring in (a, b, c):
                    lock = ring.lock("orders")
                    assert lock.locked()
                    assert lock.holder == a.address
                    assert lock.waiting == ()
                    assert repr(lock) == "<lock 'orders' held by a.0>"
            await settle()
            assert tables(scene) == {()}
            assert repr(b.lock("orders")) == "<lock 'orders' free>"

    run(body())


def test_locks_of_different_names_do_not_wait_for_each_other() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, _ = scene.rings.values()
            async with a.lock("x", timeout=1), a.lock("y", timeout=1), b.lock("z", timeout=1):
                pass

    run(body())


def test_one_holds_and_fences_grow_among_members_and_tasks() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            fences: dict[str, list[LockFence]] = {"x": [], "y": []}

            async def work(member: str, name: str) -> None:
                for _ in range(4):
                    async with scene.holding(scene.rings[member].lock(name), member) as fence:
                        fences[name].append(fence)
                        await asyncio.sleep(0.001)

            await asyncio.gather(*[work(m, n) for m in "abc" for n in "xy" for _ in range(3)])
            for each in fences.values():
                assert len(each) == 36
                assert all(one < two for one, two in pairwise(each))
                assert all(one.key < two.key for one, two in pairwise(each))
            scene.judge.check(least=72)
            metrics = scene.rings["a"].metrics()
            assert metrics.locks_acquired == 24
            assert metrics.lock_wait_ms > 0
            assert (metrics.locks_held, metrics.locks_waited_for) == (0, 0)
            with pytest.raises(TypeError):
                assert fences["x"][0] < fences["y"][0]

    run(body())


def test_the_judge_notices_a_lock_that_two_tasks_have(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(self: NamedLocks, this: Any) -> None:
        ask(self, this)
        if this.holds:
            this.holds, this.tasks = [], 0
            self._serve(this)

    ask = NamedLocks._ask
    monkeypatch.setattr(NamedLocks, "_ask", careless)

    async def body() -> None:
        async with ring_of("ab") as scene:
            ring = scene.rings["a"]

            async def work() -> None:
                async with scene.holding(ring.lock("x"), "a"):
                    await asyncio.sleep(0.1)

            first = asyncio.create_task(work())
            await settle()
            await asyncio.gather(first, work())
            problems, scene.judge.problems = scene.judge.problems, []
            assert "a has it" in problems[0]
            assert "after <fence" in problems[1]

    run(body())


def test_the_first_to_ask_is_served_first() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            order: list[str] = []

            async def work(member: str) -> None:
                async with scene.holding(scene.rings[member].lock("x"), member):
                    order.append(member)
                    await asyncio.sleep(0.05)

            tasks = []
            for member in "bcacb":
                tasks.append(asyncio.create_task(work(member)))
                await settle()
            waiting = scene.rings["c"].lock("x").waiting
            assert [each.node for each in waiting] == ["c", "a"]
            await asyncio.gather(*tasks)
            assert order[:3] == ["b", "c", "a"]
            assert sorted(order[3:]) == ["b", "c"]

    run(body())


def test_tasks_of_a_member_hand_a_lock_to_each_other_while_no_other_member_waits() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a = scene.rings["a"]
            fences: list[LockFence] = []

            async def work() -> None:
                async with scene.holding(a.lock("x"), "a") as fence:
                    fences.append(fence)

            await asyncio.gather(*[work() for _ in range(500)])
            assert len({fence.key.place for fence in fences}) == 1
            assert all(one < two for one, two in pairwise(fences))

    run(body())


# ------------------------------------------------------------------ trying, waiting, ending a wait


def test_a_try_takes_what_is_free_and_nothing_else() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, _ = scene.rings.values()
            mine, theirs = a.lock("x"), b.lock("x")
            began = the_loop().time()
            assert await mine.acquire(timeout=0)
            assert not await theirs.acquire(timeout=0)
            assert not await asyncio.create_task(a.lock("x").acquire(timeout=0))
            assert the_loop().time() - began < 5 * ROUND
            with pytest.raises(WaitTimeout, match="trying lock 'x'"):
                async with b.lock("x", timeout=0):
                    raise AssertionError
            mine.release()
            assert await theirs.acquire(timeout=0)
            assert theirs.fence is not None
            theirs.release()
            await settle()
            assert tables(scene) == {()}

    run(body())


def test_a_lock_that_was_just_given_back_is_free_to_be_tried_unless_others_wait() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, _ = scene.rings.values()
            for take in (a.lock, a.read_lock, a.lock):
                lock = take("x")
                assert await lock.acquire()
                lock.release()
                assert await lock.acquire(timeout=0)
                lock.release()
            mine, theirs = a.lock("x"), b.lock("x")
            await mine.acquire()
            waits = asyncio.create_task(theirs.acquire())
            await settle()
            mine.release()
            assert not await mine.acquire(timeout=0)
            await waits
            theirs.release()

    run(body())


def test_a_try_without_the_others_does_not_wait_for_them() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            scene.cut_off("a")
            assert not await scene.rings["a"].lock("x").acquire(timeout=0)
            scene.heal()
            await scene.rings["a"].wait_for_members(3, timeout=30)
            assert await scene.rings["a"].lock("x").acquire(timeout=0)

    run(body())


def test_a_time_out_names_who_holds_the_lock_and_leaves_no_trace() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, c = scene.rings.values()
            async with a.lock("x"):
                waiting = asyncio.create_task(b.lock("x").acquire(timeout=2))
                await settle()
                with pytest.raises(WaitTimeout, match="waiting for lock 'x' took") as caught:
                    await c.lock("x").acquire(timeout=1)
                assert caught.value.missing == [
                    "a.0 to release 'x'",
                    "b.0 to take it first",
                ]
                with pytest.raises(WaitTimeout):
                    await waiting
                with pytest.raises(WaitTimeout, match="another of its tasks"):
                    await asyncio.create_task(a.lock("x").acquire(timeout=0.1))
                await settle()
                (table,) = tables(scene)
                assert [line.member for line in table] == [a.address]
            await settle()
            assert tables(scene) == {()}

    run(body())


def test_a_cancelled_wait_leaves_no_trace() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, _ = scene.rings.values()
            async with a.lock("x"):
                waits = [asyncio.create_task(b.lock("x").acquire()) for _ in range(3)]
                await settle()
                for each in waits:
                    each.cancel()
                await asyncio.gather(*waits, return_exceptions=True)
                await settle()
                assert a.lock("x").waiting == ()
            assert await b.lock("x").acquire(timeout=1)

    run(body())


def test_a_wait_that_is_cancelled_when_it_is_over_gives_the_lock_back() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, _ = scene.rings.values()
            wait = asyncio.create_task(a.lock("x").acquire())
            hear = a._requests.reported

            def cancel_then(report: LockReport) -> None:
                hear(report)
                assert a._named.held == 1
                wait.cancel()

            a._requests.reported = cancel_then  # type: ignore[method-assign]
            with pytest.raises(asyncio.CancelledError):
                await wait
            assert a._named.held == 0
            assert await b.lock("x").acquire(timeout=1)

    run(body())


@pytest.mark.parametrize("seed", range(4))
def test_tasks_that_are_cancelled_at_any_moment_leave_nothing_behind(seed: int) -> None:
    random, reads = Random(seed), [0.0, 0.5][seed % 2]

    async def work(scene: Scene, member: str) -> None:
        ring, name = scene.rings[member], random.choice("xy")
        lock = ring.read_lock(name) if random.random() < reads else ring.lock(name)
        timeout = random.choice([0, 0.001, 0.02, None])
        with suppress(WaitTimeout):
            if await lock.acquire(timeout):
                hold = object()
                scene.judge.got(member, lock.name, lock.fence, hold, lock.mode)
                try:
                    await asyncio.sleep(random.uniform(0, 0.004))
                finally:
                    scene.judge.ended(lock.name, hold)
                    lock.release()

    async def body() -> None:
        async with ring_of("abc") as scene:
            tasks = []
            for _ in range(150):
                tasks.append(asyncio.create_task(work(scene, random.choice("abc"))))
                if random.random() < 0.4:
                    the_loop().call_later(random.uniform(0, 0.01), random.choice(tasks).cancel)
                await asyncio.sleep(random.uniform(0, 0.002))
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(each) for each in results} <= {type(None), asyncio.CancelledError}
            await settle()
            assert tables(scene) == {()}
            assert all(ring._named._wanted == {} for ring in scene.rings.values())
            assert all(ring.node.locks._waiting == {} for ring in scene.rings.values())
            scene.judge.check(least=50)
            assert bool(scene.judge.together) == bool(reads)

    run(body())


def test_a_task_that_would_wait_for_itself_is_refused() -> None:
    async def body() -> None:
        async with ring_of("ab") as scene:
            a = scene.rings["a"]
            async with a.lock("x"):
                with pytest.raises(LockMisused, match="this task has lock 'x' already"):
                    await a.lock("x").acquire()
                async with a.token(timeout=5):
                    with pytest.raises(LockMisused, match="keeps the ring's token"):
                        await a.lock("y").acquire()
                await a.multicast(b"mail")
                await a.drain(timeout=1)
            with pytest.raises(LockMisused, match="not acquired here"):
                a.lock("x").release()

    run(body())


@pytest.mark.parametrize("name", ["", "x" * 129, 7, "\ud800"])
def test_arguments_are_refused_where_they_are_made(name: Any) -> None:
    async def body() -> None:
        async with ring_of("a") as scene:
            ring = scene.rings["a"]
            with pytest.raises(ArgumentError, match="name is"):
                ring.lock(name)
            with pytest.raises(ArgumentError, match="timeout is 'soon'"):
                ring.lock("x", timeout="soon")  # type: ignore[arg-type]
            with pytest.raises(ArgumentError, match="timeout is True"):
                await ring.lock("x").acquire(timeout=True)
            with pytest.raises(ArgumentError, match="on_lost is 1"):
                ring.lock("x", on_lost=1)  # type: ignore[arg-type]

    run(body())


def test_requests_that_no_token_can_carry_are_refused() -> None:
    async def body() -> None:
        async with ring_of("abc", config=RingConfig(max_datagram=32_768)) as scene:
            a, b, c = scene.rings.values()
            held = [a.lock(f"{number:0100}") for number in range(100)]
            fit = 5461 // (100 + 40 + 1)
            for lock in held[:fit]:
                assert await lock.acquire(timeout=1)
            with pytest.raises(LocksFull, match=f"the {fit} requests of the whole ring would take"):
                await held[fit].acquire()
            await settle()
            with pytest.raises(LocksFull):
                await b.lock("y" * 128).acquire()
            await c.multicast(bytes(c.node.max_message))
            await c.drain(timeout=1)
            held[0].release()
            await settle()
            assert await b.lock("y" * 100).acquire(timeout=1)

    run(body())


def test_members_that_ask_for_too_much_at_once_are_served_in_turn() -> None:
    async def body() -> None:
        async with ring_of("abc", config=RingConfig(max_datagram=32_768)) as scene:

            async def work(member: str, number: int) -> None:
                lock = scene.rings[member].lock(f"{number:0100}{member}")
                async with scene.holding(lock, member):
                    await asyncio.sleep(0.01)

            await asyncio.gather(*[work(member, n) for member in "abc" for n in range(38)])
            scene.judge.check(least=114)
            assert sum(ring.counters.get("posts_delayed", 0) for ring in scene.rings.values()) == 0

    run(body())


# ------------------------------------------------------------------ losing a lock


def test_what_a_crashed_member_held_is_given_to_who_waits() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            lock = scene.rings["a"].lock("x")
            await lock.acquire()
            scene.judge.got("a", "x", lock.fence, lock)
            waiting = asyncio.create_task(scene.rings["b"].lock("x").acquire(timeout=30))
            await settle()
            await scene.kill("a")
            assert await waiting
            assert scene.rings["c"].lock("x").holder == scene.rings["b"].address

    run(body())


@pytest.mark.parametrize("holder", ["a", "b", "c"])
def test_who_is_cut_off_learns_afterwards_that_its_lock_is_lost(
    holder: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            ring = scene.rings[holder]
            other = scene.rings["abc".replace(holder, "")[0]]
            lost: list[LockFence] = []
            lock = ring.lock("x", on_lost=lost.append)
            fences: list[LockFence] = []

            async def hold() -> None:
                async with scene.holding(lock, holder) as fence:
                    await settle()
                    scene.cut_off(holder)
                    async with scene.holding(other.lock("x", timeout=30), other.address.node) as it:
                        fences.append(it)
                        assert it > fence
                        assert not fence.lost.is_set()
                        scene.heal()
                        await asyncio.wait_for(fence.lost.wait(), 30)
                        assert lost == [fence]
                        assert lock.fence is fence
                        with pytest.raises(LockLost):
                            fence.check()

            with pytest.raises(LockLost, match="was lost while it was held"):
                await hold()
            assert ring.metrics().locks_lost == 1
            await ring.wait_for_members(3, timeout=30)
            scene.judge.apart.clear()
            async with scene.holding(lock, holder) as later:
                assert later > fences[0]

    caplog.set_level(logging.WARNING, "raincheck")
    run(body())
    assert f"{holder}.0 has lost <fence of 'x'" in caplog.text


def test_a_release_of_a_lost_lock_and_an_on_lost_that_fails() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a = scene.rings["a"]

            def fails(_: LockFence) -> None:
                raise ZeroDivisionError

            lock = a.lock("x", on_lost=fails)
            await lock.acquire()
            fence = lock.fence
            assert fence is not None
            scene.cut_off("a")
            assert await scene.rings["b"].lock("x").acquire(timeout=30)
            scene.heal()
            await asyncio.wait_for(fence.lost.wait(), 30)
            with pytest.raises(LockLost):
                await lock.acquire()
            with pytest.raises(LockLost):
                lock.release()
            with pytest.raises(LockMisused):
                lock.release()
            assert a.status().status == "member"

    run(body())


@pytest.mark.parametrize("raised", [asyncio.CancelledError, SystemExit])
def test_an_on_lost_that_raises_what_ends_tasks_or_processes_keeps_no_loss_from_others(
    raised: type[BaseException],
) -> None:
    raises: list[str] = []

    async def body() -> None:
        async with ring_of("abc") as scene:
            a = scene.rings["a"]

            def fails(fence: LockFence) -> None:
                raises.append(fence.name)
                raise raised

            x, y = a.lock("x", on_lost=fails), a.lock("y")
            await x.acquire()
            await y.acquire()
            scene.cut_off("a")
            assert await scene.rings["b"].lock("x").acquire(timeout=30)
            scene.heal()
            try:
                await asyncio.sleep(30)
            finally:
                assert raises == ["x"]
                assert y.fence is not None
                assert y.fence.lost.is_set()

    with pytest.raises(SystemExit) if raised is SystemExit else nullcontext():
        run(body())


def test_a_lock_outlives_a_token_that_is_made_anew() -> None:
    async def body() -> None:
        async with ring_of("abcd") as scene:
            a, b = scene.rings["a"], scene.rings["b"]
            async with a.lock("x") as fence:
                epoch = a.metrics().epoch
                for victim in "cd":
                    while scene.rings[victim].token_state != "eating":
                        await asyncio.sleep(0.0001)
                    await scene.kill(victim)
                    await b._until(lambda: b.view_state == "agreement", "", 30)
                    await asyncio.sleep(10)
                assert a.metrics().epoch > epoch
                assert not fence.lost.is_set()
                assert not await b.lock("x").acquire(timeout=0)
            assert await b.lock("x").acquire(timeout=0)

    run(body())


def test_a_member_that_is_started_again_does_not_hold_what_it_held(tmp_path: Any) -> None:
    async def body() -> None:
        scene = Scene("abc")
        connect = scene.connect

        async def with_file(name: str) -> Ring:
            scene.about["state_file"] = tmp_path / f"{name}.ring"
            return await connect(name)

        await asyncio.gather(*map(with_file, "abc"))
        a = scene.rings["a"]
        await a.wait_for_members(3, timeout=30)
        await a.lock("x").acquire()
        await settle()
        a._opened.file.close()  # type: ignore[union-attr]
        await scene.kill("a")
        again = await with_file("a")
        assert again.address.incarnation == 0
        assert await again.lock("x").acquire(timeout=30)
        for ring in scene.rings.values():
            await ring._close()

    run(body())


@pytest.mark.parametrize("how", ["leave", "close"])
def test_who_leaves_or_closes_gives_its_locks_up_at_once(how: str) -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, _ = scene.rings.values()
            lost: list[LockFence] = []
            lock = a.lock("x", on_lost=lost.append)
            await lock.acquire()
            waiting = asyncio.create_task(b.lock("x").acquire())
            mine = asyncio.create_task(a.lock("x").acquire())
            await settle()
            await getattr(scene.rings.pop("a"), how)(timeout=5)
            assert [fence.name for fence in lost] == ["x"]
            with pytest.raises(NotMember):
                await mine
            with pytest.raises(NotMember):
                await a.lock("x").acquire()
            async with asyncio.timeout(0.2):
                assert await waiting

    run(body())


def test_who_joins_later_knows_who_holds_what() -> None:
    async def body() -> None:
        async with ring_of("ab") as scene:
            async with scene.rings["a"].lock("x"):
                settings = SimulatedRing(
                    ring="locks", name="z", network=scene.network, key=[],
                    bind="10.0.0.99:7000", join=["10.0.0.1:7000"],
                )  # fmt: skip
                late = scene.rings["z"] = await Ring.connecting(settings)
                assert not await late.lock("x").acquire(timeout=0)
                assert late.lock("x").holder == scene.rings["a"].address
            assert await late.lock("x").acquire(timeout=0)

    run(body())


def test_a_ring_of_one_has_locks_too() -> None:
    async def body() -> None:
        async with ring_of("a") as scene:
            a = scene.rings["a"]
            for _ in range(3):
                async with scene.holding(a.lock("x", timeout=1), "a"):
                    assert not await asyncio.create_task(a.lock("x").acquire(timeout=0))
            scene.judge.check(least=3)

    run(body())


def test_a_ring_whose_locks_nobody_uses_carries_no_posts_but_at_its_changes() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            top = scene.rings["a"].node.core.last_token.top
            await asyncio.sleep(10)
            assert scene.rings["a"].node.core.last_token.top == top

    run(body())
