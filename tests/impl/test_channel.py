"""The channel over real sockets: several members in one event loop."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

import raincheck
from raincheck.impl.aio.channel import Channel
from raincheck.impl.errors import (
    ConfigError,
    MessageTooLarge,
    NotMember,
    RaincheckError,
    WaitTimeout,
)
from raincheck.impl.messages import Message, View
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.reports import Left
from raincheck.impl.wire.datagrams import REASONS

pytestmark = pytest.mark.sockets

LIMIT = 30.0
FAST = StackConfig(join_timeout=2.0, join_interval=0.02, heartbeat=0.05, suspect_after=2.0)
TRANSPORTS = pytest.mark.parametrize("transport", ["udp", "multicast", "tcp"])


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, but not for ever."""

    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await body

    asyncio.run(limited())


def free_udp_port() -> int:
    """Return a UDP port nobody uses at this moment."""
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@asynccontextmanager
async def group(
    names: str, transport: str = "udp", **settings: Any
) -> AsyncIterator[list[Channel]]:
    """Connect members one after the other; they leave in reverse order."""
    settings.setdefault("stack", FAST)
    if transport == "multicast":
        settings["group"] = f"239.192.7.7:{free_udp_port()}"
    async with AsyncExitStack() as exits:
        channels: list[Channel] = []
        for name in names:
            hosts = [channel.endpoint for channel in channels]
            channel = await Channel.connect(
                "test", name=name, incarnation=0, transport=transport, initial_hosts=hosts,
                **settings,
            )  # fmt: skip
            channels.append(await exits.enter_async_context(channel))
        for channel in channels:
            await channel.wait_for_members(len(names), timeout=LIMIT)
        yield channels


async def take(channel: Channel, count: int) -> list[Message]:
    """Take so many messages."""
    return [await anext(channel) for _ in range(count)]


def members(view: View) -> str:
    """Return the names of a view's members, oldest first."""
    return "".join(member.node for member in view.members)


async def until_view(channel: Channel, condition: Callable[[View], bool]) -> View:
    """Wait for a view that satisfies the condition."""
    views = channel.views()
    try:
        async for view in views:
            if condition(view):
                return view
    finally:
        await views.aclose()  # type: ignore[attr-defined]
    raise AssertionError("the channel ended first")


@TRANSPORTS
def test_all_members_deliver_all_messages_in_one_order(transport: str) -> None:
    async def body() -> None:
        async with group("abc", transport) as channels:

            async def send(channel: Channel) -> None:
                for number in range(500):
                    await channel.send(b"%s %d" % (channel.address.node.encode(), number))

            sending = asyncio.gather(*map(send, channels))
            logs = await asyncio.gather(*(take(channel, 1500) for channel in channels))
            await sending
            assert logs[0] == logs[1] == logs[2]
            for name in b"abc":
                mine = [message for message in logs[0] if message.payload[0] == name]
                assert [message.seqno for message in mine] == list(range(1, 501))
                assert mine[7].payload == b"%c 7" % name

    run(body())


def test_send_many_takes_more_than_the_buffers_hold() -> None:
    async def body() -> None:
        async with group("ab") as (a, b):
            payloads = [random.Random(n).randbytes(1000) for n in range(5000)]
            sending = asyncio.create_task(b.send_many(payloads))
            log = await take(a, 5000)
            await sending
            assert [message.payload for message in log] == payloads
            assert {message.sender for message in log} == {b.address}

    run(body())


def test_batches_carry_the_same_messages() -> None:
    async def body() -> None:
        async with group("ab") as (a, b):
            await b.send_many([b"one", b"two", b"three"])
            await b.drain(timeout=LIMIT)
            got: list[Message] = []
            async for batch in a.batches():
                got += batch
                if len(got) == 3:
                    break
            assert [(m.seqno, m.payload) for m in got] == [(1, b"one"), (2, b"two"), (3, b"three")]

    run(body())


def test_a_slow_consumer_makes_the_senders_wait_and_loses_nothing() -> None:
    async def body() -> None:
        inbox = 1 << 18
        async with group("abc", inbox=inbox) as (a, b, c):
            payload = bytes(1000)
            taken = 0

            async def stuck() -> WaitTimeout:
                nonlocal taken
                while True:
                    try:
                        await b.send(payload, timeout=1.0)
                        taken += 1
                    except WaitTimeout as late:
                        # On a busy machine this process may have stood still itself.
                        if "silent" not in str(late):
                            return late

            reading = [asyncio.create_task(take(channel, 10**9)) for channel in (a, b)]
            late = await stuck()
            assert "a.0 to sequence" in str(late)
            assert late.missing == ["a.0 to sequence this member's messages"]
            assert a.missing == ["c.0 to acknowledge multicasts"]
            assert c.counters["inbox.bytes"] >= inbox
            assert c.counters["inbox.bytes"] < inbox + StackConfig().max_bundle
            stopped_at = taken
            assert stopped_at < 20_000
            # Now c wakes up: everything flows again, and nothing is missing.
            sending = asyncio.create_task(b.send_many([payload] * 2000))
            log = await take(c, stopped_at + 2000)
            await sending
            assert [message.seqno for message in log] == list(range(1, stopped_at + 2001))
            assert members(c.view) == "abc"
            for task in reading:
                task.cancel()

    run(body())


def test_a_cancelled_send_has_sent_nothing() -> None:
    async def body() -> None:
        async with group("ab", inbox=1 << 16) as (a, b):
            accepted = 0

            async def fill() -> None:
                nonlocal accepted
                while True:
                    await b.send(bytes(1000), timeout=0.3)
                    accepted += 1

            with pytest.raises(WaitTimeout):
                await fill()
            waiting = [asyncio.create_task(b.send(b"cancelled")) for _ in range(3)]
            await asyncio.sleep(0)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            assert all(task.cancelled() for task in waiting)
            own = asyncio.create_task(take(b, accepted + 1))
            last = asyncio.create_task(b.send(b"last"))
            log = await take(a, accepted + 1)
            await last
            assert log[-1].payload == b"last"
            assert log == await own

    run(body())


@TRANSPORTS
def test_leaving_delivers_what_was_sent_and_tells_the_others(transport: str) -> None:
    async def body() -> None:
        async with group("abc", transport) as (a, b, c):
            await a.send_many([b"%d" % number for number in range(1000)])
            await a.leave()  # the coordinator
            for channel in (b, c):
                log = await take(channel, 1000)
                assert [message.payload for message in log] == [b"%d" % n for n in range(1000)]
                view = await until_view(channel, lambda view: members(view) == "bc")
                assert view.coordinator == b.address
            assert len([message async for message in a]) == 1000  # then the iteration ends
            with pytest.raises(NotMember):
                await a.send(b"too late")
            await a.leave()  # twice is once

    run(body())


def test_a_member_that_falls_silent_is_excluded() -> None:
    async def body() -> None:
        stack = StackConfig(join_timeout=2.0, join_interval=0.02, heartbeat=0.02, suspect_after=0.5)
        async with group("abc", stack=stack) as (a, b, c):
            await a._driver.close()  # as if killed
            view = await until_view(c, lambda view: members(view) == "bc")
            assert view.coordinator == b.address
            await c.send(b"after")
            assert (await take(b, 1))[0].payload == b"after"
            a._end(Left())

    run(body())


def test_views_are_reported_in_every_way() -> None:
    async def body() -> None:
        seen: list[str] = []
        async with group("a") as (a,):
            a.on_view = lambda view: seen.append(members(view))
            async with Channel.connect(
                "test", name="b", initial_hosts=[a.endpoint], stack=FAST
            ) as b:
                assert members(b.view) == "ab"
                await until_view(a, lambda view: members(view) == "ab")
                assert b.view == a.view
            await until_view(a, lambda view: members(view) == "a")
            assert seen == ["ab", "a"]
            assert [members(view) for view in a.view_history] == ["a", "ab", "a"]

    run(body())


def test_members_of_another_group_are_not_met() -> None:
    async def body() -> None:
        async with group("a") as (a,):
            settings: dict[str, Any] = {"initial_hosts": [a.endpoint], "stack": FAST}
            async with Channel.connect("other", name="b", **settings) as b:
                assert members(b.view) == "b"
                assert members(a.view) == "a"

    run(body())


def test_waiting_for_members_names_who_is_here_and_how_many_lack() -> None:
    async def body() -> None:
        async with group("a") as (a,):
            with pytest.raises(WaitTimeout, match=r"2 more than a\.0"):
                await a.wait_for_members(3, timeout=0.01)

    run(body())


def test_bad_datagrams_are_counted_and_disturb_nobody() -> None:
    async def body() -> None:
        async with group("abc") as channels:
            b = channels[1]
            rng = random.Random(1)
            genuine: list[bytes] = []
            send = b._driver.transport.send

            def record(data: bytes, to: tuple[str, int]) -> None:
                if len(genuine) < 50:
                    genuine.append(data)
                send(data, to)

            b._driver.transport.send = record  # type: ignore[method-assign]
            with socket.socket(type=socket.SOCK_DGRAM) as foe:
                foe.bind(("127.0.0.1", 0))

                def attack() -> None:
                    sample = rng.choice(genuine) if genuine else b""
                    flipped = bytearray(sample)
                    if flipped:
                        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
                    for data in (
                        b"",
                        rng.randbytes(rng.randrange(1, 2000)),
                        rng.randbytes(65_507),
                        sample[: rng.randrange(len(sample) + 1)],
                        sample + rng.randbytes(5),
                        sample[:4] + rng.randbytes(12),
                        bytes(flipped[:12]) + rng.randbytes(30),
                    ):
                        for channel in channels:
                            foe.sendto(data, channel.endpoint)

                async def load(channel: Channel) -> None:
                    for number in range(300):
                        await channel.send(b"%d" % number)
                        if number % 10 == 0:
                            attack()
                            await asyncio.sleep(0)

                sending = asyncio.gather(*map(load, channels))
                logs = await asyncio.gather(*(take(channel, 900) for channel in channels))
                await sending
            assert logs[0] == logs[1] == logs[2]
            for channel in channels:
                assert members(channel.view) == "abc"
                dropped = sum(channel.counters.get(name, 0) for name in REASONS)
                assert dropped > 20, channel.counters

    run(body())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"transport": "pigeon"}, "transport is 'pigeon'; choose one of 'udp', 'multicast', 'tcp'"),
        ({"bind": "nowhere"}, "bind 'nowhere' is not HOST:PORT"),
        ({"bind": "0.0.0.0:0"}, "say with advertise="),
        ({"bind": "192.0.2.254:0"}, "this machine has no such address"),
        ({"initial_hosts": ["127.0.0.1:0"]}, "port 0; name the port"),
        ({"initial_hosts": ["no such host:7001"]}, "names an unknown host"),
        ({"initial_hosts": "127.0.0.1:7001"}, "give a list of HOST:PORT"),
        (
            {"initial_hosts": ["127.0.0.1:7001", "192.0.2.1:7001"]},
            r"initial host 192.0.2.1:7001 is on another machine, which bind 127.0.0.1 does not",
        ),
        ({"name": ""}, "name is ''; take up to 64 letters"),
        ({"name": "a b"}, "name is 'a b'; take up to 64 letters"),
        ({"incarnation": -1}, "incarnation is -1; it must be a whole number from 0"),
        ({"timeout": 0}, "timeout is 0; it must be a number of seconds above 0"),
        ({"inbox": -1}, "inbox is -1; it must be a whole number from 1"),
        ({"run": "a/b"}, "run is 'a/b'; it is part of a file's name"),
        ({"transport": "multicast", "group": "10.0.0.1:5000"}, "not a multicast address"),
        ({"stack": StackConfig(max_bundle=66_000, unicast_window_bytes=1 << 20)}, "at most 65507"),
    ],
)
def test_a_configuration_that_cannot_work_is_one_clear_error(
    settings: dict[str, Any], sentence: str
) -> None:
    async def body() -> None:
        with pytest.raises(ConfigError, match=sentence):
            await Channel.connect("test", **settings)

    run(body())


def test_who_finds_nobody_and_founds_a_group_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            host, port = silent.getsockname()
            quick = StackConfig(join_timeout=0.05)
            async with Channel.connect(
                "test", name="a", initial_hosts=[(host, port)], stack=quick
            ) as channel:
                (record,) = caplog.records
                assert record.getMessage() == (
                    f"{channel.address} has found nobody at {host}:{port} and founds its own "
                    "group; if there is one already, check that it has transport 'udp' too and "
                    "that datagrams pass both ways"
                )
            caplog.clear()
            async with Channel.connect("test", name="b", stack=quick):
                assert caplog.records == []

    run(body())


def test_an_unknown_setting_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="colour"):
        Channel.connect("test", colour="blue")


def test_a_port_in_use_is_one_clear_error() -> None:
    async def body() -> None:
        async with group("a") as (a,):
            with pytest.raises(ConfigError, match="it is in use; choose another port"):
                await Channel.connect("test", bind=a.endpoint)

    run(body())


def test_a_message_above_max_message_is_refused() -> None:
    async def body() -> None:
        async with group("a") as (a,):
            with pytest.raises(MessageTooLarge):
                await a.send(bytes((128 << 20) + 1))
            await a.send(bytes(59_000))
            assert len((await take(a, 1))[0].payload) == 59_000

    run(body())


def test_the_public_names_are_those_of_the_implementation() -> None:
    assert raincheck.Channel is Channel
    assert raincheck.RaincheckError is RaincheckError
    assert set(raincheck.__all__) <= set(dir(raincheck))
    with pytest.raises(AttributeError, match="no attribute 'Chanel'"):
        raincheck.Chanel  # noqa: B018
