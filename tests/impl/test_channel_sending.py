"""Sending through the channel: many that wait for room, and a reader that waits for itself."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.waiting import Turns
from raincheck.impl.errors import NotMember, WaitTimeout, WouldBlock
from raincheck.impl.stack.config import StackConfig

pytestmark = pytest.mark.sockets

SMALL = StackConfig(
    max_bundle=2048, send_buffer=4096, credit=4096, application_timeout=0.5, heartbeat=0.05
)


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, but not for ever."""
    asyncio.run(asyncio.wait_for(body, 30))


def alone(**settings: Any) -> Any:
    """Connect one member that is a group of its own."""
    settings = {"stack": SMALL} | settings
    return Channel.connect("test", name="a", incarnation=0, **settings)


def test_of_many_waiting_senders_each_waits_once_and_they_go_on_in_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = 0
    wait = Turns.wait

    async def counted(turns: Turns, size: int) -> None:
        nonlocal waits
        waits += 1
        await wait(turns, size)

    monkeypatch.setattr(Turns, "wait", counted)

    async def body() -> None:
        async with alone() as a:
            sending = [asyncio.create_task(a.send(b"%100d" % n)) for n in range(1000)]
            got = [int((await anext(a)).payload) for _ in range(1000)]
            await asyncio.gather(*sending)
            assert got == list(range(1000))
            assert 900 < waits <= 1000

    run(body())


def test_a_cancelled_sender_has_sent_nothing_and_those_behind_it_go_on() -> None:
    async def body() -> None:
        async with alone() as a:
            sending = [asyncio.create_task(a.send(b"%100d" % n)) for n in range(200)]
            await asyncio.sleep(0)
            for task in sending[100:150]:
                task.cancel()
            got = [int((await anext(a)).payload) for _ in range(150)]
            await asyncio.gather(*sending, return_exceptions=True)
            assert got == [*range(100), *range(150, 200)]

    run(body())


def test_all_who_wait_hear_that_the_member_has_left() -> None:
    async def body() -> None:
        async with alone(inbox=1) as a:
            sending = [asyncio.create_task(a.send(bytes(100))) for _ in range(200)]
            while "has left the group" not in str(a._left):
                await asyncio.sleep(0.01)  # nobody reads
            ends = await asyncio.gather(*sending, return_exceptions=True)
            assert {type(end) for end in ends} == {type(None), NotMember}

    run(body())


def test_a_reader_that_sends_more_than_it_takes_is_told_so_and_may_go_on() -> None:
    async def body() -> None:
        async with alone(inbox=2000) as a:
            await a.send(bytes(100))

            async def echo_twice() -> None:
                async for _ in a:
                    await a.send(bytes(100))
                    await a.send(bytes(100))

            with pytest.raises(WouldBlock, match="until this task takes the messages"):
                await echo_twice()
            await anext(a)
            with pytest.raises(WouldBlock, match="delivering what was sent"):
                await a.drain()
            await anext(a)
            with pytest.raises(WaitTimeout, match=r"sending took longer than 0\.1 s"):
                await a.send_many([bytes(100)] * 100, timeout=0.1)
            for _ in range(40):
                await anext(a)
            assert a._left is None

    run(body())


def test_a_reader_that_waits_for_others_is_not_told_that_it_waits_for_itself() -> None:
    async def body() -> None:
        slow = replace(SMALL, application_timeout=0.1)
        async with alone(stack=slow) as a:
            await a.send(b"x")
            await anext(a)
            a._stack._ground.holding.add("a test")  # nothing is delivered, though there is room
            with pytest.raises(WaitTimeout, match=r"sending took longer than 0\.3 s"):
                await a.send_many([bytes(100)] * 1000, timeout=0.3)
            a._stack._ground.holding.discard("a test")

    run(body())


def test_who_is_cancelled_when_it_might_go_on_leaves_the_room_to_others() -> None:
    async def body() -> None:
        turns = Turns()
        waiting = asyncio.create_task(turns.wait(10))
        await asyncio.sleep(0)
        assert turns.taken
        turns.let_go(5)
        assert turns.taken, "it has not gone on yet"
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert not turns.taken

    run(body())
