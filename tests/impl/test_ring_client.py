"""`RingClient`: processes that use a ring's locks and do not vote; whole rings in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from random import Random
from typing import Any

import pytest

import raincheck
from raincheck.impl.aio.ring_client import RingClient
from raincheck.impl.clients import desk, wire
from raincheck.impl.errors import ArgumentError, ConfigError, LocksFull, NotMember, WaitTimeout
from raincheck.impl.ring.fence import LockFence, LockLost
from raincheck.impl.simulation.loop import run, the_loop

from .test_ring_named_locks import Scene, ring_of, settle, tables

GIVE_UP = raincheck.RingConfig().give_up
CLIENTS: dict[str, Any] = {"clients": ["10.0.1.0/24"]}
PLACES = {name: (f"10.0.0.{n}", 7000) for n, name in enumerate("abcde", 1)}


def within(scenario: Coroutine[Any, Any, None], seconds: float = 300) -> None:
    """Run in virtual time, and not for ever."""

    async def limited() -> None:
        async with asyncio.timeout(seconds):
            await scenario

    run(limited())


async def connect(scene: Scene, number: int, members: str, *, timeout: float = 5.0) -> RingClient:
    """A client that asks these members, in this order."""
    places = [PLACES[each] for each in members]
    here = f"10.0.1.{number}:7000"
    return await RingClient._connecting("locks", places, here, scene.network.open, timeout)


def test_a_client_has_locks_among_members_and_other_clients() -> None:
    async def body() -> None:
        async with ring_of("abc", **CLIENTS) as scene:
            a, b, _ = scene.rings.values()
            async with await connect(scene, 1, "abc") as one, await connect(scene, 2, "b") as two:
                assert one.serving == a.address
                assert one.identity == a.identity
                async with scene.holding(one.lock("x", timeout=1), "one") as first:
                    await settle()
                    assert b.lock("x").holder == a.address
                    assert not await b.lock("x").acquire(timeout=0)
                    assert not await two.lock("x").acquire(timeout=0)
                    waits = asyncio.create_task(two.lock("x").acquire(timeout=2))
                    await settle()
                    assert two.lock("x").holder == a.address
                    with pytest.raises(WaitTimeout, match=r"a\.0 to release 'x'"):
                        await waits
                async with scene.holding(b.lock("x", timeout=1), "b") as second:
                    assert first < second
                    with pytest.raises(WaitTimeout, match=r"b\.0 to release 'x'"):
                        await one.lock("x").acquire(timeout=0.5)
                async with one.read_lock("x", timeout=1), two.read_lock("x", timeout=1):
                    assert not await a.lock("x").acquire(timeout=0)
                async with two.election("x", timeout=1) as third:
                    assert second < third
                    leader = two.election("x").leader
                    assert leader is not None
                    assert leader.key == third.key
            await settle()
            assert tables(scene) == {()}
            assert a._clients.empty
            scene.judge.check(least=2)

    within(body())


def test_tasks_of_a_client_take_turns_and_a_client_that_wants_nothing_says_nothing() -> None:
    async def body() -> None:
        async with ring_of("ab", **CLIENTS) as scene, await connect(scene, 1, "a") as client:
            done: list[LockFence] = []

            async def work() -> None:
                async with scene.holding(client.lock("x", timeout=5), "client") as fence:
                    done.append(fence)
                    await asyncio.sleep(0.001)

            await asyncio.gather(*[work() for _ in range(20)])
            assert len({each.key for each in done}) == 20
            sent = client.counters["transport.sent"]
            names = [client.lock(f"y{n}", timeout=5) for n in range(60)]
            await asyncio.gather(*[lock.acquire() for lock in names])
            assert client.counters["transport.sent"] - sent < 6  # and not one for each
            assert client.counters.get("late", 0) == 0
            for lock in names:
                lock.release()
            await asyncio.sleep(1)
            sent = client.counters["transport.sent"]
            await asyncio.sleep(20)
            assert client.counters["transport.sent"] == sent
            async with client.lock("x", timeout=1):  # its member has forgotten it meanwhile
                await asyncio.sleep(2)
            assert scene.rings["a"].counters.get("client.silent", 0) == 0

    within(body())


def test_what_a_silent_client_has_is_given_on_after_the_client_knows_that_it_is_lost() -> None:
    async def body() -> None:
        async with ring_of("abc", **CLIENTS) as scene:
            client = await connect(scene, 1, "a")
            lost: list[float] = []
            lock = client.lock("x", on_lost=lambda _: lost.append(the_loop().time()))
            await lock.acquire()
            fence = lock.fence
            assert fence is not None
            waiting = asyncio.create_task(scene.rings["b"].lock("x").acquire(timeout=30))
            began = the_loop().time()
            scene.network.silent.add(client.endpoint)
            assert await waiting
            granted = the_loop().time()
            assert began + GIVE_UP / 2 < lost[0] < granted < began + 2 * GIVE_UP
            assert scene.rings["a"].counters["client.silent"] == 1
            with pytest.raises(LockLost):
                lock.release()
            assert client.serving is None
            assert not await client.lock("y").acquire(timeout=0)
            with pytest.raises(LockLost, match="has lost it, or was not heard in time"):
                fence.check()
            assert client.missing == ["10.0.0.1:7000 to serve this client"]
            scene.network.silent.clear()
            last = client.lock("y")
            assert await last.acquire(timeout=5)
            await client.close()
            with pytest.raises(LockLost, match="was held: the client is closed; what was done"):
                last.release()
            assert client.serving is None

    within(body())


@pytest.mark.parametrize("how", ["kill", "leave", "close"])
def test_a_client_whose_member_is_gone_loses_its_locks_and_goes_on_at_another(how: str) -> None:
    async def body() -> None:
        async with ring_of("abc", **CLIENTS) as scene:
            client = await connect(scene, 1, "abc")
            other = await connect(scene, 2, "b")
            lost: list[float] = []
            lock = client.lock("x", on_lost=lambda _: lost.append(the_loop().time()))
            await lock.acquire()
            first = lock.fence
            assert first is not None
            await other.lock("y").acquire(timeout=1)
            waits = asyncio.create_task(client.lock("y").acquire())
            await settle()
            then = asyncio.create_task(other.lock("x", timeout=30).acquire())
            began = the_loop().time()
            if how == "kill":
                await scene.kill("a")
            else:
                await getattr(scene.rings.pop("a"), how)()
                assert the_loop().time() < began + GIVE_UP / 4
            assert await then
            assert lost[0] < the_loop().time()
            with pytest.raises(LockLost, match="was lost while it was held"):
                lock.release()
            await other.close()
            assert await asyncio.wait_for(waits, 30)  # it waited on, at another member
            assert client.serving in (scene.rings["b"].address, scene.rings["c"].address)
            assert await lock.acquire(timeout=5)
            assert lock.fence is not None
            assert first < lock.fence
            lock.release()
            await client.close()
            with pytest.raises(NotMember, match="the client is closed"):
                await lock.acquire()
            await client.close()

    within(body())


def hand_over(how: str) -> list[str]:
    """What becomes first of a client's lock when its member is gone: lost there, or given on."""
    events: list[str] = []

    async def body() -> None:
        async with ring_of("abc", **CLIENTS) as scene:
            client = await connect(scene, 1, "a")
            await client.lock("x", on_lost=lambda _: events.append("lost")).acquire()

            async def follow() -> None:
                await scene.rings["b"].lock("x").acquire()
                events.append("given on")

            follows = asyncio.create_task(follow())
            await settle()
            if how == "kill":
                await scene.kill("a")
            else:
                await scene.rings.pop("a").leave()
            await follows
            await asyncio.sleep(15)
            await client.close()

    within(body())
    return events


@pytest.mark.parametrize("how", ["kill", "leave"])
def test_a_client_knows_of_a_loss_before_the_lock_is_given_on(how: str) -> None:
    assert hand_over(how) == ["lost", "given on"]


def test_a_member_that_leaves_without_telling_its_clients_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing(_: Any) -> None:
        pass

    monkeypatch.setattr(raincheck.Ring, "_before_leaving", nothing)
    assert hand_over("leave") == ["given on", "lost"]


def test_a_lease_that_outlives_the_others_patience_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(desk, "LEASE", 10.0)
    assert hand_over("kill") == ["given on", "lost"]


def test_a_client_of_a_member_that_is_cut_off_goes_on_at_another() -> None:
    async def body() -> None:
        async with ring_of("abc", **CLIENTS) as scene:
            client = await connect(scene, 1, "ab")
            lost: list[LockFence] = []
            lock = client.lock("x", on_lost=lost.append)
            await lock.acquire()
            waits = asyncio.create_task(client.lock("y").acquire())
            for other in "bc":
                scene.network.cut.add(frozenset((PLACES["a"], PLACES[other])))
            assert await waits
            assert await scene.rings["c"].lock("x").acquire(timeout=30)
            await asyncio.sleep(10)
            assert lost[0].name == "x"
            assert await client.lock("z").acquire(timeout=30)
            assert client.serving == scene.rings["b"].address
            await client.close()

    within(body())


def test_who_is_no_client_is_told_so() -> None:
    async def body() -> None:
        async with ring_of("ab", **CLIENTS) as scene:
            places = [PLACES["a"]]
            for here, ring, words in (
                ("10.0.2.1:7000", "locks", "see clients= there"),
                ("10.0.1.1:7000", "others", "to serve this client"),
            ):
                with pytest.raises(WaitTimeout, match=words):
                    await RingClient._connecting(ring, places, here, scene.network.open, 2.0)
            counters = scene.rings["a"].counters
            assert counters["client.not_allowed"] > 0
            assert counters["client.other_ring"] > 0
            with pytest.raises(ConfigError, match="members= is empty"):
                RingClient.connect("locks", members=[])
            with pytest.raises(ConfigError, match="members is 'a'"):
                RingClient.connect("locks", members="a")
            client = await connect(scene, 2, "ab")
            with pytest.raises(ArgumentError, match="name is"):
                client.lock("")
            await client.close()

    within(body())


def test_a_client_has_as_many_requests_as_fit_into_its_session() -> None:
    async def body() -> None:
        async with ring_of("ab", **CLIENTS) as scene, await connect(scene, 1, "a") as client:
            locks = [client.lock(f"{number}") for number in range(wire.MAX_WANTS + 1)]
            for lock in locks[:-1]:
                assert await lock.acquire(timeout=5)
            with pytest.raises(LocksFull, match="a client has 64 requests at most"):
                await locks[-1].acquire()
            locks[0].release()
            assert await locks[-1].acquire(timeout=5)
            long = [scene.rings["b"].lock(f"{number:0100}") for number in range(400)]
            with suppress(LocksFull):
                for lock in long:
                    await lock.acquire()
            await settle()
            locks[1].release()
            with pytest.raises(LocksFull, match="the ring has no room"):
                await client.lock("z" * 128).acquire(timeout=5)

    within(body())


def test_nothing_that_a_stranger_sends_ends_a_member_or_takes_up_its_memory() -> None:
    async def body() -> None:
        async with ring_of("ab", **CLIENTS) as scene, await connect(scene, 1, "a") as client:
            a, random = scene.rings["a"], Random(1)
            async with client.lock("x", timeout=5):
                stranger = scene.network.open(("10.0.1.9", 7000))
                answers: list[bytes] = []
                stranger.start(lambda batch: answers.extend(data for data, _ in batch))
                there = wire.Wire("locks")
                want = wire.Wanted(1, "x", "write", tries=False)
                for number in range(300):
                    body = wire.Asked(0, (want,))
                    good = there.made(wire.ASK, number, 1, 0, body)
                    flipped = bytearray(good)
                    flipped[random.randrange(len(good))] ^= 1 << random.randrange(8)
                    for each in (good, bytes(flipped), good[: random.randrange(len(good))]):
                        stranger.send(each, PLACES["a"])
                    stranger.send(b"RC" + random.randbytes(random.randrange(80)), PLACES["a"])
                await settle()
                assert a._clients.sessions == 1
                assert len(answers) > 250
                assert max(map(len, answers)) < min(len(good), 60)
                # It has proved where it is: then as many sessions as there may be, and no more.
                cookie = there.read(answers[0]).cookie
                for number in range(1, 400):
                    empty = wire.Asked(0, ())
                    stranger.send(there.made(wire.ASK, number, 1, cookie, empty), PLACES["a"])
                await settle()
                assert a._clients.sessions == desk.SESSIONS
                assert a.counters["client.too_many"] > 0
                await asyncio.sleep(5)
                assert a._clients.sessions == 1
                assert client.serving == a.address
            assert a.status().status == "member"
            await stranger.close()

    within(body())


@pytest.mark.parametrize("seed", range(2))
def test_one_has_a_lock_whatever_happens_to_clients_and_members(seed: int) -> None:
    random = Random(seed)

    async def use(scene: Scene, user: Any, who: str) -> None:
        while True:
            held: list[object] = []

            def lost(_: LockFence, held: list[object] = held) -> None:
                for hold in held:
                    scene.judge.ended("x", hold)

            reads = random.random() < 0.3
            lock = (user.read_lock if reads else user.lock)("x", on_lost=lost)
            with suppress(WaitTimeout):
                if await lock.acquire(random.choice([0, 0.05, 1.0, 10.0])):
                    held.append(hold := object())
                    scene.judge.got(who, "x", lock.fence, hold, lock.mode)
                    await asyncio.sleep(random.choice([0, 0.001, 0.05, 1.0]))
                    scene.judge.ended("x", hold)
                    with suppress(LockLost):
                        lock.release()
            await asyncio.sleep(random.uniform(0, 0.02))

    async def body() -> None:
        async with ring_of("abcde", **CLIENTS) as scene:
            clients = {f"{n}": await connect(scene, n, order) for n, order in
                       enumerate(["abc", "bcd", "cde", "dea"], 1)}  # fmt: skip
            tasks = {who: asyncio.create_task(use(scene, each, who)) for who, each in
                     {**clients, "e": scene.rings["e"]}.items()}  # fmt: skip
            for step in range(11):
                await asyncio.sleep(random.uniform(0.2, 3))
                client = random.choice(list(clients.values()))
                if step % 2:
                    scene.network.silent ^= {client.endpoint}
                elif step in (4, 8):
                    await scene.kill("a" if step == 4 else "b")
                elif step == 10:
                    await scene.rings.pop("c").leave()
            for each in tasks.values():
                each.cancel()
            results = await asyncio.gather(*tasks.values(), return_exceptions=True)
            assert {type(each) for each in results} == {asyncio.CancelledError}
            for client in clients.values():
                await client.close()
            scene.judge.check(least=20)

    within(body())
