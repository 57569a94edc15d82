"""Leader election over a ring's named locks: whole rings in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from raincheck.impl.errors import ArgumentError, NotMember, WaitTimeout
from raincheck.impl.ring.fence import Leader, LockFence, LockLost
from raincheck.impl.simulation.loop import run

from .test_ring_named_locks import ring_of, settle


def test_one_leads_all_know_who_and_the_next_one_follows() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, c = scene.rings.values()
            terms: list[LockFence] = []

            async def lead(name: str, enough: asyncio.Event) -> None:
                election = scene.rings[name].election("reports")
                async with election as fence:
                    terms.append(fence)
                    assert election.leader == Leader(scene.rings[name].address, fence.key)
                    await enough.wait()

            enough = {name: asyncio.Event() for name in "abc"}
            tasks = []
            for name in "bca":
                tasks.append(asyncio.create_task(lead(name, enough[name])))
                await settle()
            elections = [ring.election("reports") for ring in (a, b, c)]
            assert {each.leader for each in elections} == {Leader(b.address, terms[0].key)}
            assert elections[0].contenders == (b.address, c.address, a.address)
            assert repr(elections[1]) == "<election 'reports': b.0 leads>"
            for name in "bca":
                enough[name].set()
                await settle()
            await asyncio.gather(*tasks)
            assert terms[0] < terms[1] < terms[2]
            assert elections[0].leader is None
            assert elections[0].contenders == ()
            assert repr(elections[1]) == "<election 'reports': nobody leads>"

    run(body())


def test_changes_say_who_leads_over_a_crash_and_end_with_the_member() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, c = scene.rings.values()
            seen: list[Leader | None] = []

            async def watch() -> None:
                seen.extend([leader async for leader in c.election("x").changes()])

            watching = asyncio.create_task(watch())
            crashes = asyncio.create_task(a.election("x").run(lambda _: asyncio.sleep(1000)))
            await settle()
            waits = asyncio.create_task(b.election("x").run(lambda _: asyncio.sleep(0.1)))
            await settle()
            await scene.kill("a")
            await waits
            crashes.cancel()
            await settle()
            await scene.rings.pop("c").leave()
            await watching
            terms = [each for each in seen if each is not None]
            assert [each.member for each in terms] == [a.address, b.address]
            assert terms[0].key < terms[1].key
            assert seen[0] is seen[-1] is None

    run(body())


def test_who_is_cut_off_is_cancelled_when_it_hears_of_the_next_leader_and_leads_again() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, _ = scene.rings.values()
            lost: list[LockFence] = []
            terms: list[LockFence] = []
            stopped: list[str] = []

            async def lead(fence: LockFence) -> str:
                terms.append(fence)
                try:
                    await asyncio.sleep(0 if len(terms) > 1 else 1000)
                except asyncio.CancelledError:
                    stopped.append("cancelled")
                    raise
                return "done"

            leading = asyncio.create_task(a.election("x", on_lost=lost.append).run(lead))
            await settle()
            scene.cut_off("a")
            async with b.election("x", timeout=30) as other:
                scene.heal()
                await a.wait_for_members(3, timeout=60)
                await settle()
                assert stopped == ["cancelled"]
                assert lost == terms
                assert a.election("x").contenders == (b.address, a.address)
            assert await leading == "done"
            assert terms[0] < other < terms[1]

    run(body())


def test_a_body_that_loses_the_lead_ends_with_lock_lost_and_one_that_is_cancelled_so() -> None:
    async def body() -> None:
        async with ring_of("abc") as scene:
            a, b, _ = scene.rings.values()

            async def hold(after: list[str]) -> None:
                async with a.election("x"):
                    await asyncio.sleep(1000)
                after.append("went on")

            after: list[str] = []
            leading = asyncio.create_task(hold(after))
            await settle()
            leading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leading
            leading = asyncio.create_task(hold(after))
            await settle()
            scene.cut_off("a")
            async with b.election("x", timeout=30):
                pass
            scene.heal()
            with pytest.raises(LockLost, match="was lost while it was held"):
                await asyncio.wait_for(leading, 60)
            assert leading.cancelling() == 0
            assert after == []

    run(body())


def test_the_end_of_the_member_ends_its_lead() -> None:
    async def body() -> None:
        async with ring_of("ab") as scene:
            a = scene.rings.pop("a")

            async def lead(_: LockFence) -> None:
                await asyncio.sleep(1000)

            leading = asyncio.create_task(a.election("x").run(lead))
            await settle()
            await a.leave()
            with pytest.raises(NotMember):
                await leading

            async def other(_: LockFence) -> None:
                raise LockLost("another lock")

            with pytest.raises(LockLost, match="another lock"):
                await scene.rings["b"].election("x").run(other)

    run(body())


def test_an_election_takes_no_longer_than_its_timeout_and_refuses_odd_arguments() -> None:
    async def body() -> None:
        async with ring_of("ab") as scene:
            a, b = scene.rings.values()
            odd: Any = 1
            async with a.election("x"):
                with pytest.raises(WaitTimeout, match=r"a\.0 to release 'x'"):
                    async with b.election("x", timeout=0.5):
                        raise AssertionError
            with pytest.raises(ArgumentError, match="lead is 1"):
                await a.election("x").run(odd)

    run(body())
