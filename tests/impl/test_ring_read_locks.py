"""Read locks of a ring: readers have a name together, writers alone, and all wait in one line."""

from __future__ import annotations

import asyncio

import pytest

from raincheck.impl.aio.ring import Ring
from raincheck.impl.errors import ArgumentError, LockMisused, WaitTimeout
from raincheck.impl.ring.fence import LockLost
from raincheck.impl.simulation.loop import run

from .lock_judge import LockJudge
from .test_ring_named_locks import Scene, ring_of, settle, tables


def lines(scene: Scene) -> list[tuple[str, str, bool]]:
    """The table of all: member, mode, whether it holds."""
    (table,) = tables(scene)
    return [(each.member.node, each.mode, each.fence is not None) for each in table]


def test_members_and_tasks_read_together_and_a_writer_waits_for_all() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, c = scene.rings.values()
            done = asyncio.Event()
            inside = 0

            async def read(ring: Ring) -> None:
                nonlocal inside
                lock = ring.read_lock("orders", timeout=5)
                async with scene.holding(lock, ring.address.node):
                    inside += 1
                    await done.wait()

            readers = [asyncio.create_task(read(ring)) for ring in (a, a, b, b, b)]
            await settle()
            assert inside == 5
            # The tasks of a member share a request.
            assert sorted(lines(scene)) == [("a", "read", True), ("b", "read", True)]

            async def write() -> None:
                async with scene.holding(c.lock("orders", timeout=5), "c"):
                    assert done.is_set()

            writer = asyncio.create_task(write())
            await settle()
            assert not writer.done()
            assert ("c", "write", False) in lines(scene)
            assert c.lock("orders").holder in (a.address, b.address)
            done.set()
            await asyncio.gather(writer, *readers)
            assert scene.judge.together >= 4
            assert scene.judge.granted == 6

    run(body())


def test_a_reader_that_comes_behind_a_writer_waits_for_it_in_another_member_and_in_this() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, c = scene.rings.values()
            order: list[str] = []
            first, second = a.read_lock("orders"), asyncio.Event()
            await first.acquire()

            async def take(ring: Ring, mode: str) -> None:
                lock = ring.lock("orders") if mode == "write" else ring.read_lock("orders")
                async with scene.holding(lock, ring.address.node):
                    order.append(f"{ring.address.node} {mode}")
                    if mode == "write":
                        await second.wait()

            tasks = []
            for ring, mode in ((b, "write"), (c, "read"), (a, "read")):
                tasks.append(asyncio.create_task(take(ring, mode)))
                await settle()
            assert order == []
            first.release()
            await settle()
            assert order == ["b write"]
            second.set()
            await asyncio.gather(*tasks)
            assert sorted(order[1:]) == ["a read", "c read"]

    run(body())


def test_a_task_joins_those_that_read_while_nobody_waits() -> None:
    async def body() -> None:
        async with ring_of("ab") as scene:
            a, b = scene.rings.values()
            async with a.read_lock("orders", timeout=1) as one:
                keys = []

                async def join() -> None:
                    # It is there at once: the member holds it already.
                    async with asyncio.timeout(0):
                        async with a.read_lock("orders") as fence:
                            keys.append(fence.key)

                await asyncio.gather(join(), join())
                assert one.key < keys[0] < keys[1]
                writer = asyncio.create_task(b.lock("orders").acquire())
                await settle()
                assert not await asyncio.create_task(a.read_lock("orders").acquire(timeout=0))
            assert await asyncio.wait_for(writer, 1)
            assert lines(scene) == [("b", "write", True)]

    run(body())


def test_a_try_to_read_fails_behind_writers_alone() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, c = scene.rings.values()
            async with a.read_lock("orders"):
                assert not await b.lock("orders").acquire(timeout=0)
                reading = b.read_lock("orders")
                assert await reading.acquire(timeout=0)
                reading.release()
                writer = asyncio.create_task(c.lock("orders").acquire())
                await settle()
                assert not await b.read_lock("orders").acquire(timeout=0)
            await writer
            assert not await b.read_lock("orders").acquire(timeout=0)
            with pytest.raises(WaitTimeout, match=r"waiting for lock 'orders'.*c\.0 to release"):
                await b.read_lock("orders", timeout=0.05).acquire()
            await settle()
            assert lines(scene) == [("c", "write", True)]

    run(body())


def test_all_tasks_that_read_are_told_of_a_loss() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, _ = scene.rings.values()
            told: list[str] = []
            lost = 0

            async def read() -> None:
                nonlocal lost
                with pytest.raises(LockLost):
                    async with a.read_lock("orders", on_lost=lambda f: told.append(f.name)) as f:
                        await f.lost.wait()
                lost += 1

            readers = [asyncio.create_task(read()) for _ in range(3)]
            await settle()
            scene.cut_off("a")
            async with b.lock("orders", timeout=30):
                scene.heal()
                await asyncio.wait_for(asyncio.gather(*readers), 30)
            assert (lost, told) == (3, ["orders"] * 3)

    run(body())


def test_what_is_misused_is_refused() -> None:
    async def body() -> None:
        async with ring_of("a") as scene:
            (a,) = scene.rings.values()
            with pytest.raises(ArgumentError, match="name"):
                a.read_lock("")
            async with a.read_lock("orders"):
                for again in (a.read_lock("orders"), a.lock("orders")):
                    with pytest.raises(LockMisused, match="has lock 'orders' already"):
                        await again.acquire()
            async with a.token():
                with pytest.raises(LockMisused, match="keeps the ring's token"):
                    await a.read_lock("orders").acquire()

    run(body())


def test_the_judge_notices_a_writer_beside_readers_and_a_fence_that_does_not_grow() -> None:
    judge = LockJudge()
    judge.got("a", "x", 3, "one", "read")
    judge.got("b", "x", 2, "two", "read")
    assert (judge.problems, judge.together) == ([], 1)

    judge.got("c", "x", 3, "three", "write")

    assert judge.problems == [
        *("c gets 'x' with 3, and a has it", "c gets 'x' with 3, and b has it"),
        "c gets 'x' with 3 after 3",
    ]
