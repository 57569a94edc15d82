"""The inbox: order, bounds, holding and releasing, the end."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from raincheck.impl.aio.events import Blocked
from raincheck.impl.aio.inbox import Inbox
from raincheck.impl.errors import NotMember
from raincheck.impl.messages import Address, Batch, Message, Payloads, Run

SENDER = Address("s", 0)


class Bench:
    """An inbox of 1,000 bytes, and what it has asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.inbox = Inbox(
            1000,
            hold=lambda: self.asked.append("hold"),
            release=lambda: self.asked.append("release"),
        )
        self._next = 1

    def put(self, *payloads: bytes) -> None:
        """Deliver a run of messages."""
        run = Run(SENDER, self._next, len(payloads))
        self._next += len(payloads)
        self.inbox.put(Batch(run, 1, Payloads.pack(payloads)))


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine."""
    asyncio.run(asyncio.wait_for(body, 20))


def test_messages_come_out_as_they_went_in() -> None:
    async def body() -> None:
        bench = Bench()
        bench.put(b"a", b"b")
        bench.put(b"c")
        got = [await anext(bench.inbox) for _ in range(3)]
        assert got == [Message(SENDER, n, 1, p) for n, p in enumerate((b"a", b"b", b"c"), 1)]
        assert bench.inbox.size == 0
        assert bench.asked == []

    run(body())


def test_a_full_inbox_holds_once_and_releases_when_half_is_taken() -> None:
    async def body() -> None:
        bench = Bench()
        for _ in range(12):
            bench.put(bytes(96))  # 100 bytes with its length
        assert bench.asked == ["hold"]
        for _ in range(6):
            await bench.inbox.batch()
        assert bench.asked == ["hold"]
        await bench.inbox.batch()
        assert bench.asked == ["hold", "release"]
        assert bench.inbox.size == 500

    run(body())


def test_who_waits_gets_what_comes() -> None:
    async def body() -> None:
        bench = Bench()
        waiting = asyncio.ensure_future(anext(bench.inbox))
        while not bench.inbox._arrived._waiters:
            await asyncio.sleep(0)
        bench.put(b"late")
        message = await waiting
        assert message.payload == b"late"

    run(body())


def test_a_cancelled_wait_loses_nothing() -> None:
    async def body() -> None:
        bench = Bench()
        waiting = asyncio.ensure_future(anext(bench.inbox))
        while not bench.inbox._arrived._waiters:
            await asyncio.sleep(0)
        bench.put(b"kept")
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        message = await anext(bench.inbox)
        assert message.payload == b"kept"
        assert not bench.inbox._arrived._waiters

    run(body())


def test_while_leaving_it_drops_what_finds_it_full_and_all_that_follows() -> None:
    async def body() -> None:
        bench = Bench()
        for _ in range(10):
            bench.put(bytes(96))
        bench.inbox.stop_holding()
        assert bench.asked == ["hold", "release"]
        bench.put(b"too", b"much")
        await bench.inbox.batch()
        bench.put(b"there would be room, but also a hole before it")
        bench.inbox.close("")
        rest = 0
        while await bench.inbox.batch() is not None:
            rest += 1
        assert rest == 9
        assert bench.inbox.dropped == 3
        assert bench.asked == ["hold", "release"]

    run(body())


def test_the_end_comes_after_what_is_in_it_and_tells_why() -> None:
    async def body() -> None:
        bench = Bench()
        bench.put(b"last")
        bench.inbox.close("excluded")
        bench.inbox.close("")  # the first reason stands
        await anext(bench.inbox)
        for _ in range(2):
            with pytest.raises(NotMember, match="excluded"):
                await anext(bench.inbox)

    run(body())


def test_a_call_is_made_when_all_before_it_is_taken_and_not_sooner() -> None:
    async def body() -> None:
        bench = Bench()
        calls: list[str] = []
        bench.inbox.tell(Blocked(), lambda: calls.append("at once"))
        bench.put(b"a", b"b")
        bench.inbox.tell(Blocked(), lambda: calls.append("behind b"))
        bench.put(b"c")
        assert calls == ["at once"]
        assert [(await anext(bench.inbox)).payload for _ in range(2)] == [b"a", b"b"]
        assert calls == ["at once"]
        assert (await anext(bench.inbox)).payload == b"c"
        assert calls == ["at once", "behind b"]
        bench.inbox.tell(Blocked(), lambda: calls.append("nothing is left to take"))
        assert calls[2:] == ["nothing is left to take"]

    run(body())


def test_a_call_waits_for_the_rest_of_a_batch_and_is_made_though_a_state_replaces_it() -> None:
    async def body() -> None:
        bench = Bench()
        calls: list[str] = []
        bench.put(b"a", b"b")
        await anext(bench.inbox)
        bench.inbox.tell(Blocked(), lambda: calls.append("behind b"))
        assert calls == []
        await bench.inbox.supersede(asyncio.current_task())
        assert calls == ["behind b"]

    run(body())


class Clock:
    """A clock that stands still, unless it is put forward."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("raincheck.impl.aio.inbox.monotonic", lambda: self.now)


@pytest.mark.parametrize(("each", "turns"), [(0.0, 0), (0.01, 98)])
def test_who_takes_messages_lets_the_loop_have_its_turn_when_they_take_long(
    each: float, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        clock, bench, others = Clock(monkeypatch), Bench(), 0
        bench.inbox._turn_ends = clock.now
        bench.put(*[b"x"] * 100)

        async def other() -> None:
            nonlocal others
            while True:
                await asyncio.sleep(0)
                others += 1

        task = asyncio.create_task(other())
        for _ in range(100):
            await anext(bench.inbox)
            clock.now += each
        assert others == turns
        task.cancel()

    run(body())


def test_a_message_taken_after_a_pause_counts_as_taken_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def body() -> None:
        clock, bench = Clock(monkeypatch), Bench()
        bench.put(*[b"x"] * 100)
        for _ in range(10):
            await anext(bench.inbox)
        clock.now += 5.0
        assert bench.inbox.idle() > 4.0
        bench.inbox.look()  # as whenever the stack has run
        await anext(bench.inbox)
        assert bench.inbox.idle() <= 0.0

    run(body())


def read_on(inbox: Inbox) -> Coroutine[Any, Any, object]:
    async def body() -> object:
        async for message in inbox:
            return message
        return None

    return body()


def events_of(inbox: Inbox) -> Coroutine[Any, Any, object]:
    async def body() -> object:
        return await anext(inbox.events())

    return body()


@pytest.mark.parametrize("first", [read_on, Inbox.batch, events_of])
@pytest.mark.parametrize("second", [read_on, Inbox.batch, events_of])
def test_a_second_reader_is_refused_and_the_first_one_goes_on(
    first: Callable[[Inbox], Coroutine[Any, Any, object]],
    second: Callable[[Inbox], Coroutine[Any, Any, object]],
) -> None:
    async def body() -> None:
        bench = Bench()
        reading = asyncio.create_task(first(bench.inbox))
        for _ in range(3):  # until it waits
            await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="another task reads the messages here already"):
            await second(bench.inbox)
        bench.put(b"a")
        assert await reading is not None

    run(body())


def test_a_reader_that_was_cancelled_is_none() -> None:
    async def body() -> None:
        bench = Bench()
        reading = asyncio.create_task(bench.inbox.batch())
        for _ in range(3):
            await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        bench.put(b"a")
        assert (await anext(bench.inbox)).payload == b"a"

    run(body())
