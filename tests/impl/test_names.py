"""Hosts to ask that are named: the addresses behind the names change. In virtual time."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.names import CACHE, MOST, Names
from raincheck.impl.aio.ring import Ring
from raincheck.impl.errors import ConfigError
from raincheck.impl.simulation.loop import SimulatedNetwork, VirtualLoop, run, the_loop
from raincheck.impl.simulation.members import SimulatedChannel, SimulatedRing
from raincheck.impl.stack.config import StackConfig

NAME = "members.example"


@asynccontextmanager
async def closing() -> AsyncIterator[list[Channel]]:
    """Channels that end without a word at the end."""
    channels: list[Channel] = []
    try:
        yield channels
    finally:
        for channel in channels:
            await channel._close()


def connecting(network: SimulatedNetwork, number: int, **about: Any) -> Any:
    """A member at 127.0.0.<number> that knows the others by one name."""
    settings = SimulatedChannel(
        cluster="orders", name=f"m{number}", incarnation=0, bind=f"127.0.0.{number}:7000",
        network=network, key=[], **{"initial_hosts": [f"{NAME}:7000"], **about},
    )  # fmt: skip
    return Channel.connecting(settings)


def host(number: int) -> str:
    return f"127.0.0.{number}"


def asked_of(loop: VirtualLoop) -> int:
    return len(loop.lookups)


# ------------------------------------------------------------------ while it joins


def test_a_process_that_joins_asks_those_who_are_behind_the_name_by_now() -> None:
    async def body() -> None:
        network, loop = SimulatedNetwork(), the_loop()
        loop.names[NAME] = [host(9)]  # who has gone
        async with closing() as channels:
            channels.append(await connecting(network, 1, initial_hosts=[]))
            loop.call_later(2.0, loop.names.update, {NAME: [host(1)]})
            late = connecting(network, 2, stack=StackConfig(join_timeout=8.0))
            channels.append(await late)
            assert 2.0 < loop.time() < 2.0 + CACHE + 1.0
            assert [str(member) for member in channels[1].view.members] == ["m1.0", "m2.0"]

    run(body())


def test_who_stands_behind_a_name_no_more_is_asked_no_more() -> None:
    async def body() -> None:
        network, loop = SimulatedNetwork(), the_loop()
        loop.names[NAME] = [host(8), host(9)]
        heard: list[float] = []
        network.open((host(8), 7000)).start(lambda _: heard.append(loop.time()))
        loop.call_later(2.0, loop.names.update, {NAME: [host(9)]})
        async with closing() as channels:
            channels.append(await connecting(network, 1, stack=StackConfig(join_timeout=6.0)))
        assert heard
        assert max(heard) < 2.0 + CACHE + 0.5

    run(body())


def test_a_name_that_stands_for_itself_alone_is_waited_for_and_then_founds() -> None:
    async def body() -> None:
        network, loop = SimulatedNetwork(), the_loop()
        loop.names[NAME] = [host(1)]
        async with closing() as channels:
            channels.append(await connecting(network, 1))
            assert 1.0 <= loop.time() < 1.2

    run(body())


def test_lookups_are_bounded_and_a_slow_one_holds_up_nothing() -> None:
    async def body() -> None:
        network, loop = SimulatedNetwork(), the_loop()
        loop.names[NAME] = [host(9)]
        heard: list[float] = []
        network.open((host(9), 7000)).start(lambda _: heard.append(loop.time()))
        async with closing() as channels:
            channels.append(await connecting(network, 1, stack=StackConfig(join_timeout=5.0)))
            assert asked_of(loop) <= 2 + 5 / CACHE
            loop.lookup = 3.0
            before, first = asked_of(loop), len(heard)
            channels.append(await connecting(network, 2, stack=StackConfig(join_timeout=5.0)))
            assert asked_of(loop) - before <= 4
            assert len(heard) - first > 30  # one each 0.1 s, whatever the resolver does

    run(body())


# ------------------------------------------------------------------ after that


def test_two_groups_find_each_other_when_the_name_knows_both(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body() -> None:
        network, loop = SimulatedNetwork(), the_loop()
        loop.names[NAME] = [host(9)]
        async with closing() as channels:
            for number in (1, 2):
                channels.append(await connecting(network, number))
            one, two = channels
            assert len(one.view.members) == len(two.view.members) == 1
            loop.names[NAME] = [host(1), host(2)]
            began = loop.time()
            await one.wait_for_members(2, timeout=60)
            await two.wait_for_members(2, timeout=60)
            assert loop.time() - began < 31 + CACHE

    caplog.set_level(logging.ERROR, "raincheck")
    run(body())


def test_a_member_that_was_excluded_comes_back_by_the_names_of_that_moment() -> None:
    async def body() -> None:
        network, loop = SimulatedNetwork(), the_loop()
        loop.names[NAME] = [host(1)]
        async with closing() as channels:
            for number in (1, 2, 3):
                about = {"rejoin": True} if number == 3 else {}
                channels.append(await connecting(network, number, **about))
            one, two, three = channels
            await one.wait_for_members(3)
            network.silent.add(three.endpoint)
            while len(two.view.members) == 3:
                await two._driver.settled.wait()
            while len(three.view.members) == 3:
                await three._driver.settled.wait()
            # All whom it knew are replaced by one at another address.
            loop.names[NAME] = [host(2)]
            channels.append(await connecting(network, 4))
            four = channels[-1]
            await one.leave()
            await two.leave()
            loop.names[NAME] = [host(4)]
            network.silent.clear()
            view = await four.wait_for_members(2, timeout=90)
            assert [member.node for member in view.members] == ["m4", "m3"]
            assert three.address.incarnation > 0

    run(body())


def test_who_joins_a_ring_asks_those_who_are_behind_the_name_by_now() -> None:
    async def body() -> None:
        network, loop = SimulatedNetwork(), the_loop()
        loop.names[NAME] = [host(9)]  # who has gone

        def member(number: int, **about: Any) -> Any:
            settings = SimulatedRing(
                ring="locks", name=f"m{number}", bind=f"{host(number)}:7000", network=network,
                key=[], **about,
            )  # fmt: skip
            return Ring.connecting(settings)

        one = await member(1)
        loop.call_later(2.0, loop.names.update, {NAME: [host(1)]})
        two = await member(2, join=[f"{NAME}:7000"])
        assert 2.0 < loop.time() < 2.0 + CACHE + 1.0
        assert [who.node for who in two.members] == ["m1", "m2"]
        looked_up = asked_of(loop)
        await asyncio.sleep(10.0)
        assert asked_of(loop) == looked_up
        for each in (two, one):
            await each._close()

    run(body())


# ------------------------------------------------------------------ names that fail


def test_a_name_that_is_unknown_from_the_beginning_is_an_error() -> None:
    async def body() -> None:
        with pytest.raises(ConfigError, match=rf"initial host {NAME}:7000 names an unknown host"):
            await connecting(SimulatedNetwork(), 1)

    run(body())


def test_a_name_that_is_unknown_later_keeps_its_addresses_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body() -> None:
        loop = the_loop()
        loop.names |= {NAME: [host(8)], "b.example": [host(7)]}
        changes: list[float] = []
        names = Names(
            [f"{NAME}:7000", "b.example:1", "127.0.0.6:2"], "initial host", (host(1), 7000)
        )
        names.on_change = lambda: changes.append(loop.time())
        everybody = (("127.0.0.8", 7000), ("127.0.0.7", 1), ("127.0.0.6", 2))
        assert await names.first() == everybody

        del loop.names[NAME]
        loop.names["b.example"] = [host(5)]
        for _ in range(20):
            names.now()
            await asyncio.sleep(CACHE / 2)
        assert names.now() == (("127.0.0.8", 7000), ("127.0.0.5", 1), ("127.0.0.6", 2))
        assert len(changes) == 1

        loop.names[NAME] = [host(number) for number in range(4, 8)]
        for _ in range(6):
            names.now()
            await asyncio.sleep(CACHE / 2)
        assert len(names.now()) == 6
        await names.close()

    with caplog.at_level(logging.INFO, logger="raincheck"):
        run(body())
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert f"initial host {NAME}:7000 names an unknown host" in lines[0]
    assert lines[0].endswith("its last addresses are used: 127.0.0.8:7000")
    assert lines[1] == f"initial host {NAME}:7000 is known again"


def test_addresses_are_bounded_and_without_names_nothing_is_looked_up() -> None:
    async def body() -> None:
        loop = the_loop()
        loop.names[NAME] = [f"127.1.{n // 250}.{n % 250}" for n in range(1000)]
        names = Names([f"{NAME}:7000"], "initial host", (host(1), 7000))
        assert len(await names.first()) == MOST

        before = asked_of(loop)
        fixed = Names(["127.0.0.6:2"], "initial host", (host(1), 7000))
        await fixed.first()
        assert not fixed.change
        await asyncio.sleep(10 * CACHE)
        assert fixed.now() == (("127.0.0.6", 2),)
        assert asked_of(loop) == before

    run(body())
