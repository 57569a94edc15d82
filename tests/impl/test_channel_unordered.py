"""Unordered messages as applications send and take them: over sockets, from tasks."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.events import ViewChange
from raincheck.impl.errors import MessageTooLarge, NotMember, WaitTimeout
from raincheck.impl.messages import UNORDERED, Address, Batch, Message, Payloads, Run
from raincheck.impl.stack.config import StackConfig

pytestmark = pytest.mark.sockets

SMALL = StackConfig(
    join_timeout=2.0, join_interval=0.02, max_bundle=2048, send_buffer=4096, retain_window=8
)


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, but not for ever."""
    asyncio.run(asyncio.wait_for(body, 30))


@asynccontextmanager
async def group(names: str, **settings: Any) -> AsyncIterator[list[Channel]]:
    """Connect members with these names, one after the other."""
    settings = {"stack": StackConfig(join_timeout=2.0, join_interval=0.02)} | settings
    async with AsyncExitStack() as exits:
        channels: list[Channel] = []
        for name in names:
            hosts = [channel.endpoint for channel in channels]
            joining = Channel.connect("test", name=name, initial_hosts=hosts, **settings)
            channels.append(await exits.enter_async_context(joining))
        for channel in channels:
            await channel.wait_for_members(len(names), timeout=10)
        yield channels


async def take(channel: Channel, count: int) -> list[Message]:
    return [await anext(channel) for _ in range(count)]


def test_all_have_them_in_the_order_of_each_sender_and_messages_say_what_they_are() -> None:
    async def body() -> None:
        async with group("abc") as channels:
            for channel in channels:
                own = channel.address.node.encode()
                await channel.send(own + b"0", order="none")
                await channel.send_many([own + b"1", bytearray(own + b"2")], order="none")
            for channel in channels:
                messages = await take(channel, 9)
                assert {message.unordered for message in messages} == {True}
                assert {(message.seqno, message.unicast) for message in messages} == {(-1, False)}
                for sender in "abc":
                    had = [m.payload for m in messages if m.sender.node == sender]
                    assert had == [b"%s%d" % (sender.encode(), number) for number in range(3)]
            await channels[0].drain(timeout=5)

    run(body())


def test_events_have_them_and_discard_own_leaves_them_out() -> None:
    async def body() -> None:
        async with group("ab", discard_own=True) as (a, b):
            await a.send(b"from a", order="none")
            events = b.events()
            assert isinstance(await anext(events), ViewChange)
            message = await anext(events)
            assert isinstance(message, Message)
            assert (message.payload, message.unordered) == (b"from a", True)
            await b.send(b"from b", order="none")
            assert [message.payload for message in await take(a, 1)] == [b"from b"]

    run(body())


def test_senders_wait_for_room_in_turn_and_nothing_is_lost() -> None:
    async def body() -> None:
        async with group("ab", stack=SMALL, inbox=10_000) as (a, b):

            async def send(task: int) -> None:
                for number in range(10):
                    await a.send(b"%d %d " % (task, number) + bytes(1500), order="none")
                await a.send_many([bytes(1500)] * 5, order="none")

            async def own() -> None:
                async for _ in a:
                    pass

            reading = asyncio.create_task(own())
            async with asyncio.TaskGroup() as tasks:
                for task in range(10):
                    tasks.create_task(send(task))
                taken = tasks.create_task(take(b, 150))
            had: dict[bytes, list[bytes]] = {}
            for message in taken.result():
                task, number, *_ = message.payload.rstrip(b"\0").split() or (b"many", b"")
                had.setdefault(task, []).append(number)
            assert had.pop(b"many") == [b""] * 50
            assert had == {b"%d" % task: [b"%d" % n for n in range(10)] for task in range(10)}
            reading.cancel()

    run(body())


def test_whoever_waits_is_told_of_the_time_and_of_the_end() -> None:
    async def body() -> None:
        async with group("a", stack=SMALL, inbox=10_000) as (a,):

            async def fill(timeout: float | None) -> None:
                while True:
                    await a.send(bytes(1500), order="none", timeout=timeout)

            with pytest.raises(WaitTimeout, match="sending took longer"):
                await fill(0.3)
            waiting = [asyncio.create_task(fill(None)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            await a.leave(timeout=5)
            found = await asyncio.gather(*waiting, return_exceptions=True)
            assert [*map(type, found)] == [asyncio.CancelledError, NotMember, NotMember]

    run(body())


def test_what_is_sent_between_two_lives_waits_for_the_next_one() -> None:
    async def body() -> None:
        stack = StackConfig(join_timeout=2.0, join_interval=0.02, flush_timeout=0.3)
        hangs = [asyncio.Event()]

        async def block() -> None:
            if hangs:
                await hangs.pop().wait()

        async with group("a", stack=stack) as (a,):
            hosts = [a.endpoint]
            both: dict[str, Any] = {"initial_hosts": hosts, "stack": stack}
            b = await Channel.connect("test", name="b", block=block, rejoin=True, **both)
            async with Channel.connect("test", name="c", **both):
                while not b._away:
                    await asyncio.sleep(0.01)
                excluded = b.address
                await b.send(b"from another life", order="none")
                (message,) = await take(a, 1)
                assert message.payload == b"from another life"
                assert (message.sender, message.unordered) == (b.address, True)
                assert message.sender > excluded
            await b.leave()

    run(body())


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"order": "fifo"}, ValueError, "order is 'fifo'; choose one of 'total', 'none'"),
        ({"order": "none", "to": ("a", 0)}, ValueError, "in no order with others"),
    ],
)
def test_an_order_that_there_is_none_of_is_refused_at_the_call(
    settings: dict[str, Any], error: type[Exception], said: str
) -> None:
    async def body() -> None:
        async with Channel.connect("test", name="a", incarnation=0) as a:
            with pytest.raises(error, match=said):
                await a.send(b"", **settings)

    run(body())


def test_what_cannot_be_sent_without_order_is_refused_and_nothing_was_sent() -> None:
    async def body() -> None:
        async with Channel.connect("test", name="a", incarnation=0) as a:
            large = bytes(60_000)
            with pytest.raises(MessageTooLarge, match="send it with order='total', or split it"):
                await a.send(large, order="none")
            with pytest.raises(MessageTooLarge, match="at most 59484 bytes"):
                await a.send_many([b"small", large], order="none")
            with pytest.raises(TypeError, match="encode it first"):
                await a.send("text", order="none")  # type: ignore[arg-type]
            await a.send(b"goes on", order="none")
            assert [message.payload for message in await take(a, 1)] == [b"goes on"]
        with pytest.raises(NotMember):
            await a.send(b"", order="none")

    run(body())


def test_a_batch_of_them_says_what_it_is() -> None:
    batch = Batch(Run(Address("a", 0), UNORDERED, 2), 3, Payloads.pack([b"x", b"y"]))
    assert (batch.unordered, batch.unicast, len(batch)) == (True, False, 2)
    assert "2 unordered, in view 3" in repr(batch)
    assert [(message.seqno, message.payload) for message in batch] == [(-1, b"x"), (-1, b"y")]
