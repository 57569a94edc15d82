"""Unicasts and calls as applications use them: over sockets, from tasks."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from raincheck.impl.aio import calls as aio_calls
from raincheck.impl.aio.calls import BUSY, UNANSWERED, WAITS_FOR_ITSELF
from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.events import Request, ViewChange
from raincheck.impl.aio.inbox import SUPERSEDED, Inbox
from raincheck.impl.errors import (
    CallFailed,
    MessageTooLarge,
    NotInView,
    NotMember,
    RaincheckError,
    WaitTimeout,
)
from raincheck.impl.messages import Address, Batch, Message, Payloads, Run
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.reports import Requested

FAST = StackConfig(
    join_timeout=2.0, join_interval=0.02, heartbeat=0.05, suspect_after=2.0, max_message=20 << 20
)
A = Address("a", 0)

pytestmark = pytest.mark.sockets


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
                        "test",
                        name=name,
                        incarnation=0,
                        initial_hosts=hosts,
                        **{"stack": FAST, **settings},
                    )
                )
            )
        for channel in channels:
            await channel.wait_for_members(len(names), timeout=10)
        yield channels


def echo(request: Request) -> bytes:
    return request.sender.node.encode() + b" said " + request.payload


async def take(channel: Channel, count: int) -> list[Message]:
    return [await anext(channel) for _ in range(count)]


# ------------------------------------------------------------------ unicasts


def test_a_unicast_comes_to_one_member_alone_and_to_the_sender_if_it_says_so() -> None:
    async def body() -> None:
        async with group("abc") as (a, b, c):
            await a.send(b"for b", to=b.address)
            await a.send(bytearray(b"for me"), to=a.address)
            await a.send(b"for all")

            for_b = await take(b, 2)
            assert sorted(message.payload for message in for_b) == [b"for all", b"for b"]
            assert {message.unicast for message in for_b if message.payload == b"for b"} == {True}
            assert [message.payload for message in await take(c, 1)] == [b"for all"]
            own = await take(a, 2)
            assert {(message.payload, message.unicast) for message in own} == {
                (b"for me", True),
                (b"for all", False),
            }

    run(body())


def test_many_tasks_send_more_than_there_is_room_for_and_nothing_is_lost() -> None:
    async def body() -> None:
        small = StackConfig(
            join_timeout=2.0, join_interval=0.02, max_bundle=8192, send_buffer=8192, heartbeat=0.05
        )
        async with group("ab", stack=small) as (a, b):

            async def send(task: int) -> None:
                for number in range(20):
                    await a.send(b"%d %d" % (task, number) + bytes(3000), to=b.address)

            async with asyncio.TaskGroup() as tasks:
                for task in range(10):
                    tasks.create_task(send(task))
                taken = tasks.create_task(take(b, 200))
            had: dict[bytes, list[bytes]] = {}
            for message in taken.result():
                task, number = message.payload.rstrip(b"\0").split()
                had.setdefault(task, []).append(number)
            assert had == {b"%d" % task: [b"%d" % n for n in range(20)] for task in range(10)}

    run(body())


def test_a_large_unicast_comes_whole() -> None:
    async def body() -> None:
        async with group("ab") as (a, b):
            payload = bytes(range(256)) * 40_000
            await a.send(payload, to=b.address)
            await a.send(b"after it", to=b.address)
            large, after = await take(b, 2)
            assert large.payload == payload
            assert after.payload == b"after it"
            with pytest.raises(MessageTooLarge):
                await a.send(bytes((20 << 20) + 1), to=b.address)

    run(body())


def test_whoever_waits_to_send_to_a_member_that_leaves_is_told() -> None:
    async def body() -> None:
        async with group("abc", inbox=10_000) as (a, b, c):

            async def fill() -> None:
                while True:
                    await a.send(bytes(50_000), to=b.address, timeout=0.3)

            with pytest.raises(WaitTimeout):  # b takes nothing: all queues to it are full
                await fill()
            sending = asyncio.create_task(a.send(b"behind it", to=b.address))
            await asyncio.sleep(0)
            gone = b.address
            await b.leave(timeout=10)
            with pytest.raises(NotInView, match=f"{gone} is not a member"):
                await sending
            with pytest.raises(NotInView):
                await a.send(b"", to=gone)
            assert await c.wait_for_members(2)

    run(body())


def test_own_multicasts_are_not_given_to_a_member_that_discards_them() -> None:
    async def body() -> None:
        async with group("ab", discard_own=True, on_call=echo) as (a, b):
            await a.send(b"from a")
            await b.send(b"from b")
            await a.send(b"to myself", to=a.address)
            own = {message.payload for message in await take(a, 2)}
            assert own == {b"from b", b"to myself"}
            assert [message.payload for message in await take(b, 1)] == [b"from a"]
            replies = await a.call(b"hi")
            assert replies.answers == {b.address: b"a said hi"}
            assert (await a.call(b"hi", to=a.address)).one() == b"a said hi"

    run(body())


# ------------------------------------------------------------------ calls


def test_one_some_or_all_members_answer() -> None:
    async def body() -> None:
        async with group("abc", on_call=echo) as (a, b, c):
            assert (await a.call(b"you", to=b.address)).one() == b"a said you"
            some = await a.call(b"some", to=[b.address, c.address, b.address])
            assert some.answers == {b.address: b"a said some", c.address: b"a said some"}
            everybody = await c.call(b"all")
            assert everybody.complete
            assert set(everybody.answers) == {a.address, b.address, c.address}
            assert (await a.call(b"nobody", to=[])).answers == {}
            large = await a.call(bytes(3 << 20), to=b.address)
            assert large.one() == b"a said " + bytes(3 << 20)

    run(body())


def test_a_coroutine_answers_when_it_is_done_and_the_next_call_does_not_wait() -> None:
    async def body() -> None:
        go = asyncio.Event()

        async def slow(request: Request) -> bytes:
            if request.payload == b"slow":
                await go.wait()
            return request.payload

        async with group("ab", on_call=slow) as (a, b):
            waits = asyncio.create_task(a.call(b"slow", to=b.address))
            assert (await a.call(b"quick", to=b.address)).one() == b"quick"
            assert not waits.done()
            go.set()
            assert (await waits).one() == b"slow"

    run(body())


def test_what_goes_wrong_in_on_call_is_the_callers_to_know() -> None:
    def wrong(request: Request) -> Any:
        if request.payload == b"raise":
            raise KeyError("no such key")
        if request.payload == b"text":
            return "text"
        if request.payload == b"large":
            return bytes(20 << 20)
        if request.payload == b"refuse":
            request.refuse("not today")
            return None
        request.reply(b"answered by hand")
        with pytest.raises(RaincheckError, match="answered already"):
            request.reply(b"again")
        return None

    async def body() -> None:
        async with group("ab", on_call=wrong) as (a, b):
            for asked, reason in (
                (b"raise", "KeyError('no such key')"),
                (b"text", "not str; encode it first"),
                (b"large", "is too large"),
                (b"refuse", "not today"),
            ):
                replies = await a.call(asked, to=b.address)
                assert reason in replies.failed[b.address]
                with pytest.raises(CallFailed, match=r"b\.0 has failed"):
                    replies.one()
            assert (await a.call(b"by hand", to=b.address)).one() == b"answered by hand"

    run(body())


def test_an_on_call_that_is_cancelled_has_failed_and_costs_no_message() -> None:
    async def cancelled() -> bytes:
        task = asyncio.create_task(asyncio.sleep(60))
        task.cancel()
        await task
        return b""

    def wrong(request: Request) -> Any:
        if request.payload == b"later":
            return cancelled()
        raise asyncio.CancelledError

    async def body() -> None:
        async with group("ab", on_call=wrong) as (a, b):
            taken: list[bytes] = []

            async def read() -> None:
                async for message in b:
                    taken.append(message.payload)  # noqa: PERF401 (as they come)

            reading = asyncio.create_task(read())
            for asked in (b"at once", b"later"):
                calling = asyncio.create_task(a.call(asked, to=b.address))
                await a.send_many([b"one", b"two"])
                assert "CancelledError" in (await calling).failed[b.address]
            await a.drain(timeout=10)
            while len(taken) < 4:
                await asyncio.sleep(0)
            assert taken == [b"one", b"two"] * 2
            reading.cancel()

    run(body())


def test_without_on_call_a_reader_of_events_answers_else_nobody() -> None:
    async def body() -> None:
        async with group("ab") as (a, b):
            replies = await a.call(b"?")
            assert replies.failed == {a.address: UNANSWERED, b.address: UNANSWERED}

            async def serve() -> None:
                async for event in b.events():
                    if isinstance(event, Request):
                        event.reply(b"by hand: " + event.payload)

            serving = asyncio.create_task(serve())
            await asyncio.sleep(0)
            assert (await a.call(b"?", to=b.address)).one() == b"by hand: ?"
            serving.cancel()

    run(body())


def test_a_call_of_all_stands_at_one_place_among_the_messages_of_all() -> None:
    async def body() -> None:
        taken: dict[str, int] = dict.fromkeys("abc", 0)

        def count(name: str) -> Any:
            return lambda _request: b"%d" % taken[name]

        async with AsyncExitStack() as exits:
            channels: list[Channel] = []
            for name in "abc":
                channels.append(
                    await exits.enter_async_context(
                        Channel.connect(
                            "test",
                            name=name,
                            incarnation=0,
                            stack=FAST,
                            on_call=count(name),
                            initial_hosts=[channel.endpoint for channel in channels],
                        )
                    )
                )
            for channel in channels:
                await channel.wait_for_members(3)

            async def read(channel: Channel) -> None:
                async for _ in channel:
                    taken[channel.address.node] += 1
                    if taken[channel.address.node] % 7 == 0:
                        await asyncio.sleep(0.001)

            readers = [asyncio.create_task(read(channel)) for channel in channels]
            for _ in range(20):
                for channel in channels:
                    await channel.send_many([b"x"] * 10)
                replies = await channels[0].call(b"how many?", timeout=10)
                assert len(replies.answers) == 3
                assert len(set(replies.answers.values())) == 1
            for reader in readers:
                reader.cancel()

    run(body())


def test_the_late_are_named_and_a_call_that_is_cancelled_is_forgotten() -> None:
    async def never(_request: Request) -> bytes:
        await asyncio.Event().wait()
        return b""

    async def body() -> None:
        async with group("ab", on_call=never) as (a, b):
            replies = await a.call(b"?", timeout=0.1)
            assert set(replies.late) == {a.address, b.address}
            calling = asyncio.create_task(a.call(b"?", to=b.address))
            await asyncio.sleep(0.05)
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            assert len(a._stack._group.calls._calls) == 0

    run(body())


def test_a_member_that_leaves_ends_its_calls_and_is_named_in_those_of_others() -> None:
    async def never(_request: Request) -> bytes:
        await asyncio.Event().wait()
        return b""

    async def body() -> None:
        async with group("abc", on_call=never) as (a, b, c):
            theirs = asyncio.create_task(a.call(b"?", to=[b.address]))
            own = asyncio.create_task(b.call(b"?", to=[c.address]))
            await asyncio.sleep(0.1)
            left = b.address
            await b.leave()
            assert (await theirs).left == (left,)
            with pytest.raises(NotMember):
                await own
            with pytest.raises(NotMember):
                await b.call(b"?")

    run(body())


def test_a_reader_that_calls_everybody_is_told_that_it_waits_for_itself() -> None:
    async def body() -> None:
        async with group("ab", on_call=echo) as (a, b):
            await b.send_many([b"x"] * 3)
            reading = asyncio.create_task(take(b, 1000))
            async for _ in a:
                await a.send(b"more")  # so that there is more to take before the call
                replies = await a.call(b"?", timeout=10)
                assert set(replies.answers) == {b.address}
                assert replies.failed == {a.address: WAITS_FOR_ITSELF}
                break
            reading.cancel()

    run(body())


def test_only_so_many_calls_are_worked_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio_calls, "MOST", 3)

    async def never(_request: Request) -> bytes:
        await asyncio.Event().wait()
        return b""

    async def body() -> None:
        async with group("ab", on_call=never) as (a, b):
            calls = [asyncio.create_task(a.call(b"?", to=b.address)) for _ in range(5)]
            while sum(call.done() for call in calls) < 2:
                pending = [call for call in calls if not call.done()]
                await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            refused = [call.result().failed for call in calls if call.done()]
            assert refused == [{b.address: BUSY}] * 2
            for task in calls:
                task.cancel()

    run(body())


# ------------------------------------------------------------------ the inbox


def requested(number: int, *, unicast: bool) -> Requested:
    return Requested(A, 1, number, b"?", unicast)


def test_a_state_that_is_set_contains_calls_of_all_and_not_unicasts() -> None:
    async def body() -> None:
        answers: list[tuple[int, bytes, bool]] = []
        inbox = Inbox(1000, hold=lambda: None, release=lambda: None)

        def request(number: int, *, unicast: bool) -> Request:
            return Request(
                requested(number, unicast=unicast),
                lambda payload, failed: answers.append((number, payload, failed)),
            )

        inbox.put(Batch(Run(A, 1, 2), 1, Payloads.pack([b"one", b"two"])))
        inbox.put(Batch(Run(A, 0, 2), 1, Payloads.pack([b"alone", b"too"])))
        first, second = request(1, unicast=False), request(2, unicast=True)
        inbox.tell(first)
        inbox.tell(second, lambda: second.reply(b"yes"))
        asked = asyncio.create_task(inbox.supersede(None))
        await asked
        assert answers == [(1, SUPERSEDED.encode(), True)]

        taken = [await anext(inbox), await anext(inbox)]
        assert [message.payload for message in taken] == [b"alone", b"too"]
        inbox.close("")
        assert [message async for message in inbox] == []
        assert answers[1:] == [(2, b"yes", False)]

    run(body())


def test_events_give_calls_between_views_and_messages() -> None:
    async def body() -> None:
        async with group("ab", discard_own=True) as (a, b):
            await a.send(b"first")
            calling = asyncio.create_task(a.call(b"?", to=None))
            kinds: list[str] = []
            async for event in b.events():
                if isinstance(event, Request):
                    event.reply(b"")
                    kinds.append("call")
                    break
                kinds.append("view" if isinstance(event, ViewChange) else type(event).__name__)
            assert kinds == ["view", "Message", "call"]
            assert set((await calling).answers) == {b.address}

    run(body())
