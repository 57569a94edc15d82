"""`Channel.events`: messages, views and pauses of the group in one order, for slow readers too."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.events import Blocked, MessageOrEvent, Unblocked, ViewChange
from raincheck.impl.aio.inbox import Inbox
from raincheck.impl.messages import Address, Batch, Message, Payloads, Run, View, ViewId
from raincheck.impl.stack.config import StackConfig

FAST = StackConfig(join_timeout=2.0, join_interval=0.02, heartbeat=0.05, suspect_after=2.0)
A, B = Address("a", 0), Address("b", 0)


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, but not for ever."""
    asyncio.run(asyncio.wait_for(body, 30))


@asynccontextmanager
async def group(names: str, **settings: Any) -> AsyncIterator[list[Channel]]:
    """Connect members with these names, one after the other; they leave backwards."""
    async with AsyncExitStack() as exits:
        channels: list[Channel] = []
        for name in names:
            hosts = [channel.endpoint for channel in channels]
            channels.append(
                await exits.enter_async_context(
                    Channel.connect(
                        "test", name=name, incarnation=0, initial_hosts=hosts, stack=FAST,
                        **settings,
                    )
                )
            )  # fmt: skip
        yield channels


def words(event: MessageOrEvent) -> str:
    """An event in a word or two."""
    match event:
        case Message(payload=payload, view=view):
            return f"{payload.decode()} in {view}"
        case ViewChange():
            return str(event)
        case _:
            return type(event).__name__


@pytest.mark.sockets
def test_a_slow_reader_sees_views_and_pauses_where_they_were_among_the_messages() -> None:
    async def body() -> None:
        async with group("ab") as (a, b):
            await b.send_many([b"one", b"two"])
            await b.drain()
            await a.drain()
            await b.leave()
            await a.wait_for_members(1)
            while len(a.view.members) > 1:
                await asyncio.sleep(0)
            await a.send(b"three")
            await a.drain()

            seen: list[str] = []
            async for event in a.events():
                seen.append(words(event))
                if seen[-1].startswith("three"):
                    break
            assert seen == [
                "view 2 [a.0 b.0]: b.0 joined",
                "one in 2",
                "two in 2",
                "Blocked",
                "view 3 [a.0]: b.0 left",
                "Unblocked",
                "three in 3",
            ]

    run(body())


@pytest.mark.sockets
def test_callbacks_come_in_the_order_of_the_events() -> None:
    async def body() -> None:
        calls: list[str] = []
        async with group("a", unblock=lambda: calls.append("unblock()")) as (a,):
            a.on_view = lambda view: calls.append(f"on_view {view.id.counter}")
            events = a.events()
            assert words(await anext(events)) == "view 1 [a.0]"
            await a.send(b"before")
            async with Channel.connect(
                "test", name="b", incarnation=0, initial_hosts=[a.endpoint], stack=FAST
            ):
                while len(a.view.members) < 2:
                    await asyncio.sleep(0)
                await a.send(b"after")
                async for event in events:
                    calls.append(words(event))
                    if calls[-1].startswith("after"):
                        break
            assert [each for each in calls if each != "unblock()"] == [
                "before in 1",
                "Blocked",
                "on_view 2",
                "view 2 [a.0 b.0]: b.0 joined",
                "Unblocked",
                "after in 2",
            ]
            assert calls.count("unblock()") == 1
            assert calls.index("unblock()") > calls.index("on_view 2")

    run(body())


class Bench:
    """An inbox of 1,000 bytes."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.inbox = Inbox(
            1000,
            hold=lambda: self.asked.append("hold"),
            release=lambda: self.asked.append("release"),
        )

    def put(self, *payloads: bytes) -> None:
        self.inbox.put(Batch(Run(A, 1, len(payloads)), 1, Payloads.pack(payloads)))

    def view(self, counter: int) -> None:
        self.inbox.tell(ViewChange(View(ViewId(counter, A), (A,))))


async def rest(inbox: Inbox) -> list[str]:
    """All that is left, and the end."""
    inbox.close("")
    return [words(event) async for event in inbox.events()]


def test_the_events_begin_with_the_view_that_the_reader_is_in() -> None:
    async def body() -> None:
        bench = Bench()
        bench.view(1)
        bench.view(2)
        bench.put(b"x")
        bench.view(3)
        assert await rest(bench.inbox) == ["view 2 [a.0]", "x in 1", "view 3 [a.0]"]

    run(body())


def test_a_reader_of_messages_that_goes_over_to_events_misses_no_view() -> None:
    async def body() -> None:
        bench = Bench()
        bench.view(1)
        bench.put(b"x")
        bench.view(2)
        bench.put(b"y", b"z")
        for _ in range(2):
            await anext(bench.inbox)
        bench.view(3)
        bench.put(b"w")
        assert (await anext(bench.inbox)).payload == b"z"
        assert await rest(bench.inbox) == ["view 2 [a.0]", "view 3 [a.0]", "w in 1"]

    run(body())


def test_events_are_read_in_one_place() -> None:
    async def body() -> None:
        bench = Bench()
        bench.view(1)
        first = bench.inbox.events()
        await anext(first)
        with pytest.raises(RuntimeError, match="read them in one place"):
            await anext(bench.inbox.events())
        bench.inbox.tell(Blocked())
        assert words(await anext(first)) == "Blocked"

    run(body())


def test_events_that_nobody_takes_hold_the_group_like_messages() -> None:
    async def body() -> None:
        bench = Bench()
        bench.view(1)
        events = bench.inbox.events()
        await anext(events)
        for _ in range(4):
            bench.inbox.tell(Unblocked())
        assert bench.asked == ["hold"]
        for _ in range(4):
            await anext(events)
        assert bench.asked == ["hold", "release"]
        assert bench.inbox.size == 0

    run(body())


def test_who_does_not_read_events_keeps_none() -> None:
    bench = Bench()
    for counter in range(1, 100):
        bench.view(counter)
        bench.inbox.tell(Blocked())
    assert bench.inbox.size == 0
    assert not bench.inbox._batches


def test_a_view_names_who_left_and_who_was_taken_out() -> None:
    change = ViewChange(View(ViewId(3, A), (A,)), (B,), ((Address("c", 0), "silent for too long"),))
    assert str(change) == "view 3 [a.0]: b.0 left; c.0 was excluded: silent for too long"
    assert not change.joined
