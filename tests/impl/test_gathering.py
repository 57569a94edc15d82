"""When messages leave: at once while there is little to do, in full bundles under load."""

import asyncio
from collections.abc import Coroutine
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raincheck.impl.aio import gathering
from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.gathering import LONGEST, ROUNDS, Gathering
from raincheck.impl.errors import NotMember
from raincheck.impl.messages import Batch
from raincheck.impl.stack.config import StackConfig

pytestmark = pytest.mark.sockets


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, but not for ever."""
    asyncio.run(asyncio.wait_for(body, 30))


def alone(**settings: Any) -> Any:
    """Connect one member that is a group of its own."""
    return Channel.connect("test", name="a", incarnation=0, **settings)


def test_what_the_first_round_brings_leaves_and_more_is_waited_for_when_the_next_one_brings_some():
    looks = Gathering()

    assert not looks.waits(1, 0.0)
    assert looks.waits(2, 0.0001)
    assert not looks.waits(2, 0.0002), "a round has brought nothing"
    assert not looks.waits(3, 0.0003), "the round before had brought nothing"


def test_what_has_left_at_once_is_no_reason_to_wait():
    looks = Gathering()
    looks.left(1)

    assert not looks.waits(5, 0.0)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0.0, 0.004)), max_size=60))
def test_nothing_waits_for_more_rounds_or_longer_than_is_said(rounds):
    looks, added, now, waited, since = Gathering(), 0, 0.0, 0, 0.0

    for more, pause in rounds:
        added, now = added + more, now + pause
        if looks.waits(added, now):
            waited += 1
            assert more, "only a round that brings more is a reason to wait for the next one"
            assert waited <= ROUNDS
            assert now - since < LONGEST
        else:
            waited, since = 0, now


def test_a_lone_message_leaves_before_send_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    def idle_after(seconds: float) -> None:
        monkeypatch.setattr("raincheck.impl.aio.driver.IDLE", seconds)

    async def body() -> None:
        async with alone() as a:
            idle_after(0.0)
            await a.send(b"x")
            assert a._stack.sequencer.seqno == 1
            idle_after(float("inf"))
            await a.send(b"y")
            assert a._stack.sequencer.seqno == 1, "the next one waits for the round's end"
            assert [(await anext(a)).payload for _ in range(2)] == [b"x", b"y"]

    run(body())


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting is not bounded by time, however slow the machine is."""
    monkeypatch.setattr(gathering, "LONGEST", float("inf"))


async def batches(channel: Channel, messages: int) -> list[Batch]:
    """Take so many messages."""
    got: list[Batch] = []
    async for batch in channel.batches():
        got.append(batch)
        if sum(map(len, got)) >= messages:
            return got
    raise AssertionError("the channel has ended")


@pytest.mark.usefixtures("patient")
def test_under_load_bundles_leave_full_though_each_round_brings_little() -> None:
    async def body() -> None:
        async with alone() as a:
            taking = asyncio.create_task(batches(a, 3200))
            for _ in range(100):
                for _ in range(32):
                    await a.send(bytes(500))
                await asyncio.sleep(0)
            got = await taking
            full = [len(batch) for batch in got if batch.size > 50_000]
            assert sum(full) > 0.9 * 3200

    run(body())


@pytest.mark.usefixtures("patient")
def test_what_waits_for_more_leaves_when_the_application_pauses() -> None:
    async def body() -> None:
        async with alone() as a:
            for rounds in range(1, 6):
                for _ in range(rounds):
                    for _ in range(3):
                        await a.send(b"x")
                    await asyncio.sleep(0)
                assert sum(map(len, await batches(a, 3 * rounds))) == 3 * rounds

    run(body())


def test_messages_sent_in_one_step_stay_within_the_send_buffer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("raincheck.impl.aio.waiting.TURN", float("inf"))  # no pause is long
    config = StackConfig(max_bundle=2048, send_buffer=8192, credit=4096)

    async def body() -> None:
        async with alone(stack=config) as a:
            a._stack._ground.holding.add("a test")  # nothing is delivered, so the credit ends
            sizes, quick = count(), 0

            async def sender() -> None:
                nonlocal quick
                while True:
                    quick += a._allowed > 0
                    await a.send(bytes(next(sizes) % 90))

            sending = [asyncio.create_task(sender()) for _ in range(3)]
            while len(a._turns._waiting) < 3:
                await asyncio.sleep(0)
            assert quick > 20, "many were sent in one step"
            assert 8192 <= a._stack._buffer.size < 8192 + 94
            for each in sending:
                each.cancel()
            await asyncio.gather(*sending, return_exceptions=True)
            a._stack._ground.holding.discard("a test")

    run(body())


def test_nothing_is_sent_in_one_step_once_the_member_leaves() -> None:
    async def body() -> None:
        async with alone() as a:
            while not a._allowed:
                await a.send(b"x")
            a._driver.leave()
            with pytest.raises(NotMember):
                await a.send(b"y")
            while a._left is None:
                await asyncio.sleep(0)

    run(body())
