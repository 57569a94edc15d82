"""Channels with safe delivery: what an application sees."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

import raincheck
from raincheck.impl.errors import ConfigError, NotMember
from raincheck.impl.messages import Endpoint
from raincheck.impl.simulation.loop import SimulatedNetwork, run
from raincheck.impl.simulation.members import SimulatedChannel

PLACES: dict[str, Endpoint] = {name: (f"10.0.0.{n}", 7000) for n, name in enumerate("abc", 1)}


def settings(network: SimulatedNetwork, name: str, delivery: str) -> SimulatedChannel:
    """A member's settings; the first one founds the group."""

    async def answer(request: raincheck.Request) -> bytes:
        return request.payload + name.encode()

    return SimulatedChannel(
        cluster="shop", name=name, incarnation=1, bind=PLACES[name], network=network,
        initial_hosts=[PLACES["a"]], delivery=delivery, on_call=answer,
    )  # fmt: skip


async def three(exits: AsyncExitStack, network: SimulatedNetwork) -> list[raincheck.Channel]:
    """Connect a, b and c."""
    channels = [
        await exits.enter_async_context(
            raincheck.Channel.connecting(settings(network, name, "safe"))
        )
        for name in PLACES
    ]
    await channels[0].wait_for_members(3)
    return channels


async def taken(channel: raincheck.Channel, count: int) -> list[bytes]:
    """Take so many messages."""
    found: list[bytes] = []
    async for message in channel:
        found.append(message.payload)
        if len(found) == count:
            break
    return found


def test_messages_small_and_large_and_calls_come_to_all() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), AsyncExitStack() as exits:
            channels = await three(exits, SimulatedNetwork())
            readers = [asyncio.create_task(taken(channel, 4)) for channel in channels]
            await channels[1].send_many([b"1", b"2"])
            await channels[2].send(b"3")
            await channels[0].send(b"x" * 200_000)
            logs = [await reader for reader in readers]
            assert logs[0] == logs[1] == logs[2]
            assert sorted(map(len, logs[0])) == [1, 1, 1, 200_000]
            replies = await channels[2].call(b"who ")
            assert sorted(replies.answers.values()) == [b"who a", b"who b", b"who c"]

    run(story())


def test_nothing_is_delivered_while_a_member_is_silent_and_all_once_it_is_out() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), AsyncExitStack() as exits:
            network = SimulatedNetwork()
            channels = await three(exits, network)
            network.silent.add(PLACES["c"])
            readers = [asyncio.create_task(taken(channel, 1)) for channel in channels[:2]]
            await channels[1].send(b"x")
            await asyncio.sleep(0.5)
            assert not any(reader.done() for reader in readers)
            assert [await reader for reader in readers] == [[b"x"], [b"x"]]
            network.silent.clear()
            with pytest.raises(NotMember):
                await taken(channels[2], 2)

    run(story())


def test_a_process_with_another_delivery_is_told_why_it_cannot_connect() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), AsyncExitStack() as exits:
            network = SimulatedNetwork()
            await exits.enter_async_context(
                raincheck.Channel.connecting(settings(network, "a", "safe"))
            )
            with pytest.raises(NotMember, match=r"delivery=agreed, the group's is .*delivery=safe"):
                await exits.enter_async_context(
                    raincheck.Channel.connecting(settings(network, "b", "agreed"))
                )

    run(story())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"delivery": "soon"}, "delivery is 'soon'; choose one of 'agreed', 'safe'"),
        (
            {"delivery": "safe", "stack": raincheck.StackConfig(open_latch_after=1.0)},
            "safe delivery rests on virtual synchrony",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        raincheck.Channel.connect("shop", **options)
