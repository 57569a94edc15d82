"""State transfer over real sockets: large states in little memory, and deaths half-way."""

import asyncio
import os
import zlib
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.state_callbacks import StateInterrupted
from raincheck.impl.stack.config import StackConfig

pytestmark = pytest.mark.sockets

FAST = StackConfig(join_timeout=2.0, join_interval=0.02, heartbeat=0.05, suspect_after=1.0)
PATIENT = StackConfig(join_timeout=2.0, join_interval=0.02, heartbeat=0.1, suspect_after=10.0)
MEMORY = Path("/proc/self/statm")


def run(body: Coroutine[Any, Any, None], limit: float = 60.0) -> None:
    async def limited() -> None:
        async with asyncio.timeout(limit):
            await body

    asyncio.run(limited())


def join(name: str, hosts: list[Channel], **settings: Any) -> Any:
    settings = {"stack": FAST, "timeout": 60.0} | settings
    endpoints = [channel.endpoint for channel in hosts]
    return Channel.connect("test", name=name, initial_hosts=endpoints, **settings)


async def applied(channel: Channel) -> None:
    """An application that takes its messages."""
    async for _ in channel:
        pass


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Large:
    """A state of 100 MB that is never whole in memory, at either end."""

    size = 100_000_000

    def __init__(self) -> None:
        self.piece = os.urandom(100_000)
        self.read = self.length = self.crc = self.most = 0

    def get_state(self) -> Iterator[bytes]:
        for _ in range(self.size // len(self.piece)):
            self.read += len(self.piece)
            yield self.piece

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        before = resident()
        async for chunk in chunks:
            self.crc = zlib.crc32(chunk, self.crc)
            self.length += len(chunk)
            self.most = max(self.most, resident() - before)

    @property
    def expected(self) -> int:
        crc = 0
        for _ in range(self.size // len(self.piece)):
            crc = zlib.crc32(self.piece, crc)
        return crc


@pytest.mark.slow
@pytest.mark.skipif(not MEMORY.exists(), reason="needs /proc")
def test_a_hundred_megabytes_take_little_memory_at_both_ends() -> None:
    async def body() -> None:
        large = Large()
        async with join("a", [], stack=PATIENT, get_state=large.get_state) as a:
            work = asyncio.create_task(applied(a))
            async with join("b", [a], stack=PATIENT, set_state=large.set_state) as b:
                assert (large.read, large.length) == (large.size, large.size)
                assert large.crc == large.expected
                # Both ends are in this process: two windows of 16 chunks, and what is under way.
                assert large.most < 25_000_000
                assert b.counters.get("state_chunk_damaged", 0) == 0
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    run(body(), limit=120.0)


def test_a_slow_reader_is_sent_no_more_than_a_window() -> None:
    async def body() -> None:
        large = Large()
        large.piece = bytes(FAST.max_bundle)
        ahead: list[int] = []

        async def slowly(chunks: AsyncIterator[bytes]) -> None:
            taken = 0
            async for chunk in chunks:
                taken += len(chunk)
                ahead.append(large.read - taken)
                if len(ahead) % 8 == 0:
                    for _ in range(50):  # as many turns of the loop as would bring all of it
                        await asyncio.sleep(0)
                if len(ahead) >= 100:
                    raise ValueError("enough")

        async with join("a", [], get_state=large.get_state) as a:
            work = asyncio.create_task(applied(a))
            with pytest.raises(Exception, match="enough"):
                await join("b", [a], set_state=slowly)
            assert max(ahead) <= (FAST.state_window + 3) * FAST.max_bundle
            assert large.read < large.size / 2  # what nobody wants any more is not read
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    run(body())


def test_a_provider_that_dies_half_way_is_followed_by_another_from_the_beginning() -> None:
    async def body() -> None:
        calls: list[int] = []
        got: list[bytes] = []
        half_way, dead = asyncio.Event(), asyncio.Event()

        async def set_state(chunks: AsyncIterator[bytes]) -> None:
            calls.append(0)
            got.clear()
            try:
                async for chunk in chunks:
                    calls[-1] += 1
                    got.append(chunk)
                    if calls == [3]:
                        half_way.set()
                        await dead.wait()
            except StateInterrupted:
                assert calls[0] >= 3
                raise

        b = await _connect(join("b", [], get_state=lambda: b"b" * 5_000_000))
        async with join("a", [b], get_state=lambda: b"a" * 5_000_000) as a:
            works = [asyncio.create_task(applied(each)) for each in (a, b)]

            async def kill() -> None:
                await half_way.wait()
                await b._driver.close()  # the first of the view: it provides, and leads
                await b._callbacks.close()
                dead.set()

            killing = asyncio.create_task(kill())
            async with join("c", [a, b], set_state=set_state) as c:
                await killing
                assert b"".join(got) == b"a" * 5_000_000
                assert len(calls) == 2
                await a.wait_for_members(2, timeout=10)
                await c.send(b"and on it goes")
                await c.drain(timeout=10)
            for work in works:
                work.cancel()
            await asyncio.gather(*works, return_exceptions=True)

    run(body())


@pytest.mark.parametrize("whole_batches", [False, True])
def test_the_state_may_be_asked_for_in_the_midst_of_a_message(whole_batches: bool) -> None:
    """What waits behind that message is in the state, and is not handed up any more."""

    async def body() -> None:
        totals = {"a": 0, "b": 0}
        later: list[bytes] = []

        async def set_state(chunks: AsyncIterator[bytes]) -> None:
            totals["b"] = int(b"".join([chunk async for chunk in chunks]))

        async def work(channel: Channel) -> None:
            async for message in channel:
                totals["a"] += int(message.payload)

        async def messages(channel: Channel) -> AsyncIterator[bytes]:
            if whole_batches:
                async for batch in channel.batches():
                    for payload in batch.payloads:
                        yield payload
            else:
                async for message in channel:
                    yield message.payload

        async with (
            join("a", [], get_state=lambda: b"%d" % totals["a"]) as a,
            join("b", [a], set_state=set_state) as b,
        ):
            working = asyncio.create_task(work(a))
            for _ in range(3):
                await a.send(b"1000")
                await a.drain()
            asked = False
            async for payload in messages(b):
                if not asked:
                    asked = True
                    await a.send_many([b"10"] * 50)
                    await a.drain()
                    await b.fetch_state(timeout=20)
                    assert totals["b"] == 3500
                    await a.send(b"7")
                    continue
                later.append(payload)
                if payload == b"7":
                    break
            assert later == [b"7"]
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    run(body())


def test_two_join_at_once_and_a_requester_that_dies_holds_nobody_up() -> None:
    async def body() -> None:
        first = asyncio.Event()
        got: list[bytes] = []

        async def stuck(chunks: AsyncIterator[bytes]) -> None:
            await anext(chunks)
            first.set()
            await asyncio.Event().wait()

        async def set_state(chunks: AsyncIterator[bytes]) -> None:
            got.extend([chunk async for chunk in chunks])

        async with join("a", [], get_state=lambda: b"x" * 3_000_000) as a:
            work = asyncio.create_task(applied(a))
            dying = asyncio.create_task(_connect(join("b", [a], set_state=stuck)))
            living = asyncio.create_task(_connect(join("c", [a], set_state=set_state)))
            await first.wait()
            dying.cancel()
            await asyncio.gather(dying, return_exceptions=True)
            c = await living
            assert b"".join(got) == b"x" * 3_000_000
            await c.send(b"nobody is held up")
            await c.drain(timeout=20)
            await c.leave()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    run(body())


async def _connect(connecting: Any) -> Channel:
    channel: Channel = await connecting
    return channel
