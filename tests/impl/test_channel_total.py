"""Channels whose group has TOTAL in SEQUENCER's place: what an application sees."""

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


def settings(network: SimulatedNetwork, name: str, order: str = "total") -> SimulatedChannel:
    """A member's settings; the first one founds the group."""

    async def answer(request: raincheck.Request) -> bytes:
        return request.payload + name.encode()

    return SimulatedChannel(
        cluster="shop", name=name, incarnation=1, bind=PLACES[name], network=network,
        initial_hosts=[PLACES["a"]], order=order, on_call=answer,
    )  # fmt: skip


async def taken(channel: raincheck.Channel, count: int) -> list[raincheck.Message]:
    """Take so many messages."""
    found: list[raincheck.Message] = []
    async for message in channel:
        found.append(message)
        if len(found) == count:
            break
    return found


def test_messages_of_every_kind_and_calls_come_to_all() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), AsyncExitStack() as exits:
            network = SimulatedNetwork()
            channels = [
                await exits.enter_async_context(
                    raincheck.Channel.connecting(settings(network, name))
                )
                for name in PLACES
            ]
            await channels[0].wait_for_members(3)
            a, b, c = channels
            readers = [asyncio.create_task(taken(channel, 5)) for channel in channels]
            await b.send_many([b"1", b"2"])
            await c.send(b"3")
            await a.send(b"x" * 200_000)
            await b.send(b"free", order="none")
            logs = [await reader for reader in readers]
            ordered = [[m.payload for m in log if not m.unordered] for log in logs]
            assert ordered[0] == ordered[1] == ordered[2]
            assert sorted(map(len, ordered[0])) == [1, 1, 1, 200_000]
            assert [[m.payload for m in log if m.unordered] for log in logs] == [[b"free"]] * 3
            assert [m.seqno for m in logs[0] if m.sender == b.address and not m.unordered] == [1, 2]
            await a.send(b"for c", to=c.address)
            assert [(m.payload, m.unicast) for m in await taken(c, 1)] == [(b"for c", True)]
            replies = await c.call(b"who ")
            assert sorted(replies.answers.values()) == [b"who a", b"who b", b"who c"]

    run(story())


def test_a_process_with_another_order_is_told_why_it_cannot_connect() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), AsyncExitStack() as exits:
            network = SimulatedNetwork()
            await exits.enter_async_context(raincheck.Channel.connecting(settings(network, "a")))
            with pytest.raises(NotMember, match=r"/SEQUENCER/.*, the group's is .*/TOTAL/"):
                await exits.enter_async_context(
                    raincheck.Channel.connecting(settings(network, "b", "sequencer"))
                )

    run(story())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"order": "causal"}, "order is 'causal'; choose one of 'sequencer', 'total'"),
        ({"order": "total", "trace": "x"}, "trace= is of SEQUENCER, and order is 'total'"),
        ({"order": "total", "delivery": "safe"}, "order='total' does not go with delivery='safe'"),
        (
            {"order": "total", "primary": "majority", "expected_votes": 3, "on_merge": "callback"},
            "order='total' does not go with primary='majority'",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        raincheck.Channel.connect("shop", **options)
