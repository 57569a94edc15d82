"""The application's callbacks over real sockets: block and unblock, get_state and set_state."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.rejoining import Backoff
from raincheck.impl.aio.state_callbacks import StateNotTransferred
from raincheck.impl.errors import NotMember, RaincheckError
from raincheck.impl.stack.config import StackConfig

pytestmark = pytest.mark.sockets

LIMIT = 30.0
FAST = StackConfig(join_timeout=2.0, join_interval=0.02, heartbeat=0.05, suspect_after=2.0)


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, but not for ever."""

    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await body

    asyncio.run(limited())


@asynccontextmanager
async def group(*members: dict[str, Any]) -> AsyncIterator[list[Channel]]:
    """Connect members a, b, c … one after the other, with these settings; they leave backwards."""
    async with AsyncExitStack() as exits:
        channels: list[Channel] = []
        for name, settings in zip("abcdef", members, strict=False):
            hosts = [channel.endpoint for channel in channels]
            connecting = join(name, hosts, **settings)
            channels.append(await exits.enter_async_context(connecting))
        yield channels


def join(name: str, hosts: list[Any], **settings: Any) -> Any:
    """Connect one member."""
    settings = {"stack": FAST} | settings
    return Channel.connect("test", name=name, incarnation=0, initial_hosts=hosts, **settings)


async def open_channel(connecting: Any) -> Channel:
    """Connect, as a coroutine."""
    channel: Channel = await connecting
    return channel


async def take(channel: Channel, count: int) -> list[bytes]:
    """Take so many messages."""
    return [(await anext(channel)).payload for _ in range(count)]


# ------------------------------------------------------------------ block and unblock


def test_block_and_unblock_stand_around_a_view_change_and_block_may_send() -> None:
    async def body() -> None:
        calls: list[str] = []

        async def block() -> None:
            calls.append("block")
            await asyncio.sleep(0)
            await b.send(b"the last word")

        async with group({}, {"block": block, "unblock": lambda: calls.append("unblock")}) as (
            a,
            b,
        ):
            assert calls == []
            async with join("c", [a.endpoint]) as c:
                assert (await take(a, 1), await take(b, 1)) == ([b"the last word"],) * 2
                await c.send(b"hello")
                assert await take(a, 1) == await take(b, 1) == [b"hello"]
                while len(calls) < 2:  # unblock() runs in a task of its own
                    await asyncio.sleep(0)
                assert calls == ["block", "unblock"]
                assert len(a.view.members) == 3

    run(body())


def test_block_may_wait_until_what_it_has_sent_is_delivered() -> None:
    async def body() -> None:
        async def block() -> None:
            view = b.view
            await b.send(b"the last word")
            await b.drain(timeout=5)
            assert b.view == view

        async with group({}, {"block": block}) as (a, b), join("c", [a.endpoint]) as c:
            last = await anext(a)
            assert (last.payload, last.view) == (b"the last word", a.view.id.counter - 1)
            await c.send(b"hello")
            assert await take(a, 1) == [b"hello"]
            assert "flush_unanswered" not in a.counters

    run(body())


def test_an_error_in_block_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        def block() -> None:
            raise ZeroDivisionError

        async with group({}, {"block": block}) as (a, b), join("c", [a.endpoint]) as c:
            await c.send(b"hello")
            assert await take(b, 1) == [b"hello"]

    run(body())
    assert "block() or unblock() failed; the member goes on" in caplog.text


def test_a_block_that_is_cancelled_stops_nobody_and_later_ones_are_called(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body() -> None:
        calls: list[str] = []

        async def block() -> None:
            calls.append("block")
            raise asyncio.CancelledError

        async with group({"block": block}, {}) as (a, b):
            async with join("c", [a.endpoint]):
                await b.wait_for_members(3)
            await a.wait_for_members(2)
            while len(a.view.members) > 2:
                await asyncio.sleep(0.01)
            assert calls == ["block"] * 3

    run(body())
    assert "block() or unblock() failed; the member goes on" in caplog.text


def test_a_coordinator_whose_block_hangs_leaves_and_says_why() -> None:
    async def body() -> None:
        stack = replace(FAST, application_timeout=0.5)
        a = await join("a", [], stack=stack, block=asyncio.Event().wait)
        joining = asyncio.create_task(open_channel(join("b", [a.endpoint])))
        with pytest.raises(NotMember, match=r"has not returned from block\(\) for 0\.5 s"):
            await anext(a)
        with pytest.raises(NotMember, match="has not returned from block"):
            await a.send(b"too late")
        await a.leave()
        joining.cancel()
        await asyncio.gather(joining, return_exceptions=True)

    run(body())


def test_a_block_that_does_not_return_is_named_and_its_member_excluded_in_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body() -> None:
        stack = StackConfig(
            join_timeout=2.0, join_interval=0.02, heartbeat=0.05, suspect_after=2.0,
            flush_timeout=0.5,
        )  # fmt: skip

        async with AsyncExitStack() as exits:
            a = await exits.enter_async_context(join("a", [], stack=stack))
            b = await join("b", [a.endpoint], stack=stack, block=asyncio.Event().wait)
            joining = asyncio.create_task(open_channel(join("c", [a.endpoint], stack=stack)))
            named = "b.0 to answer START_FLUSH: its block() may not have returned"
            while named not in a.missing:
                await asyncio.sleep(0.01)
            c = await exits.enter_async_context(await joining)
            assert [member.node for member in c.view.members] == ["a", "c"]
            assert a.counters["flush_unanswered"] == 1
            with pytest.raises(NotMember, match="excluded from the group"):
                await anext(b)
            await b.leave()

    run(body())
    assert (
        "a.0 suspects b.0: it failed to answer START_FLUSH: its block() may not have returned"
        in caplog.text
    )


def test_a_slow_reader_sees_messages_views_and_unblock_in_the_order_of_the_stack() -> None:
    async def body() -> None:
        seen: list[str] = []
        settings = {"unblock": lambda: seen.append("unblock")}
        async with group({}, settings) as (a, b):
            b.on_view = lambda view: seen.append(f"view {view.id.counter}")
            for number in range(5):
                await a.send(b"%d" % number)
            await b._until(lambda: b._inbox.size >= 5, "five messages", 5)
            async with join("c", [a.endpoint]) as c:
                await b.wait_for_members(3)
                await c.send(b"new")
                for _ in range(6):
                    message = await anext(b)
                    seen.append(f"{message.payload.decode()} of view {message.view}")
                asking = asyncio.create_task(take(b, 1))  # calls behind it wait for that
                while "unblock" not in seen:
                    await asyncio.sleep(0.01)
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
        old = [f"{number} of view 2" for number in range(5)]
        assert seen[:6] == [*old, "view 3"]
        assert sorted(seen[6:8]) == ["new of view 3", "unblock"]

    run(body())


def test_a_reader_that_has_not_come_to_unblock_is_not_blocked_again() -> None:
    async def body() -> None:
        calls: list[str] = []
        settings = {
            "block": lambda: calls.append("block"),
            "unblock": lambda: calls.append("unblock"),
        }
        async with group({}, settings) as (a, b):
            await a.send(b"x")
            await b._until(lambda: b._inbox.size > 0, "a message", 5)
            async with join("c", [a.endpoint]):
                await b.wait_for_members(3)
            while len(b.view.members) > 2:
                await asyncio.sleep(0.01)
            assert calls == ["block"]
            await anext(b)
            asking = asyncio.create_task(take(b, 1))
            while calls != ["block", "unblock"]:
                await asyncio.sleep(0.01)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    run(body())


def test_an_on_view_that_raises_ends_its_member_with_that_error_as_the_cause() -> None:
    async def body() -> None:
        def on_view(view: object) -> None:
            raise ZeroDivisionError(str(view))

        async with group({}) as (a,):
            b = await join("b", [a.endpoint])
            b.on_view = on_view
            async with join("c", [a.endpoint]) as c:
                ends: list[Any] = [
                    lambda: b.send(b"x"),
                    lambda: b.send_many([b"x"]),
                    lambda: anext(b),
                    lambda: b.fetch_state(),
                ]
                await b._until(lambda: b._left is not None, "its end", 5)
                for use in ends:
                    with pytest.raises(
                        NotMember, match="has left the group: on_view raised Zero"
                    ) as end:
                        await use()
                    assert isinstance(end.value.__cause__, ZeroDivisionError)
                while len(c.view.members) > 2:
                    await asyncio.sleep(0.01)
                await b.leave()

    run(body())


# ------------------------------------------------------------------ get_state and set_state


class Counter:
    """An application: it adds up what it is told."""

    def __init__(self, padding: int = 0) -> None:
        self.total = 0
        self.padding = padding
        self.pieces = 0

    def get_state(self) -> Iterator[bytes]:
        yield b"%d " % self.total
        for _ in range(self.padding):
            yield bytes(10_000)

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        whole = b""
        async for chunk in chunks:
            self.pieces += 1
            whole += chunk
        self.total = int(whole.split(b" ")[0])

    def settings(self) -> dict[str, Any]:
        return {"get_state": self.get_state, "set_state": self.set_state}

    async def work(self, channel: Channel) -> None:
        async for message in channel:
            self.total += int(message.payload)


def test_a_joiner_has_the_state_and_then_the_messages_behind_it() -> None:
    async def body() -> None:
        apps = [Counter(padding=300) for _ in range(3)]  # 3 MB: more than all windows
        async with group(apps[0].settings(), apps[1].settings()) as (a, b):
            tasks = [asyncio.create_task(apps[0].work(a)), asyncio.create_task(apps[1].work(b))]

            async def load() -> None:
                for number in range(1000):
                    await a.send(b"%d" % number)

            loading = asyncio.create_task(load())
            await asyncio.sleep(0)
            patient = replace(FAST, join_timeout=10.0)  # on a busy machine a takes longer to answer
            settings = {"stack": patient, **apps[2].settings()}
            async with join("c", [a.endpoint, b.endpoint], **settings) as c:
                assert apps[2].pieces > 30
                tasks.append(asyncio.create_task(apps[2].work(c)))
                await loading
                await b.send(b"7")
                while len({app.total for app in apps}) > 1 or apps[0].total != 499_507:
                    await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    run(body())


def test_a_founder_waits_for_no_state() -> None:
    async def body() -> None:
        app = Counter()
        async with group(app.settings()) as (a,):
            assert a.view.members == (a.address,)
            assert app.pieces == 0

    run(body())


def test_a_provider_that_fails_is_replaced_by_another() -> None:
    async def body() -> None:
        good, bad, mine = Counter(), Counter(), Counter()
        good.total = 42

        def fails() -> bytes:
            raise ZeroDivisionError

        broken = bad.settings() | {"get_state": fails}
        async with group(broken, {"get_state": good.get_state}) as (a, b):
            ahead = [asyncio.create_task(app.work(c)) for app, c in ((bad, a), (good, b))]
            async with join("c", [a.endpoint], **mine.settings()):
                assert mine.total == 42
            for task in ahead:
                task.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)

    run(body())


def test_where_nobody_has_a_state_connecting_fails_in_a_sentence_and_the_group_goes_on() -> None:
    async def body() -> None:
        async with group({}, {}) as (a, b):
            with pytest.raises(StateNotTransferred, match="no member could give it"):
                await join("c", [a.endpoint], **Counter().settings())
            await a.send(b"hello")
            assert await take(b, 1) == [b"hello"]

    run(body())


def test_a_member_may_fetch_the_state_again() -> None:
    async def body() -> None:
        apps = [Counter(), Counter()]
        async with group(*(app.settings() for app in apps)) as (a, b):
            work = asyncio.create_task(apps[0].work(a))
            reads = asyncio.create_task(apps[1].work(b))
            await a.send(b"5")
            while apps[1].total != 5:
                await asyncio.sleep(0.01)
            apps[1].total = -1  # lost its mind
            await b.fetch_state(timeout=10)
            assert apps[1].total == 5
            again = asyncio.create_task(b.fetch_state(timeout=10))
            await asyncio.sleep(0)
            with pytest.raises(RaincheckError, match="already"):
                await b.fetch_state(timeout=10)
            await again
            for task in (work, reads):
                task.cancel()
            await asyncio.gather(work, reads, return_exceptions=True)

    run(body())


# ------------------------------------------------------------------ rejoin


def test_an_excluded_member_comes_back_by_itself_with_the_state(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body() -> None:
        stack = replace(FAST, flush_timeout=0.5)
        good, mine = Counter(), Counter()
        hang = [asyncio.Event()]
        seen: list[str] = []

        async def block() -> None:
            if hang:
                await hang.pop().wait()

        async with group({"stack": stack, "get_state": good.get_state}) as (a,):
            work = asyncio.create_task(good.work(a))
            settings = mine.settings() | {"block": block, "rejoin": True, "stack": stack}
            async with join("b", [a.endpoint], **settings) as b:
                b.on_view = lambda view: seen.append(f"view of {len(view.members)}")
                b.on_excluded = seen.append
                reads = asyncio.create_task(mine.work(b))
                await a.send(b"20")
                async with join("c", [a.endpoint], stack=stack) as c:
                    await c.send(b"22")
                    while [str(m) for m in c.view.members] != ["a.0", "c.0", "b.1"]:
                        await asyncio.sleep(0.01)
                    await b.send(b"100")
                    while (good.total, mine.total) != (142, 142):
                        await asyncio.sleep(0.01)
                    assert str(b.address) == "b.1"
                    assert "excluded from the group" in seen[0]
                    assert seen[1] == "view of 3"
                for task in (work, reads):
                    task.cancel()
                await asyncio.gather(work, reads, return_exceptions=True)

    run(body())
    assert "b.0 is excluded and joins again" in caplog.text


def test_a_member_may_leave_while_it_is_about_to_come_back() -> None:
    async def body() -> None:
        stack = replace(FAST, flush_timeout=0.3)
        async with group({"stack": stack}) as (a,):
            hangs = {"block": asyncio.Event().wait, "stack": stack, "rejoin": True}
            b = await join("b", [a.endpoint], **hangs)
            async with join("c", [a.endpoint], stack=stack):
                while not b._away:
                    await asyncio.sleep(0.01)
                await b.leave()
                with pytest.raises(NotMember):
                    await b.send(b"x")

    run(body())


def test_pauses_between_attempts_to_come_back_grow_up_to_a_bound_and_begin_anew() -> None:
    backoff, now = Backoff(), 0.0
    pauses = []
    for _ in range(9):
        pauses.append(backoff.next(now))
        now += pauses[-1] + 1.0
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert backoff.next(now + 100.0) == 0.5
