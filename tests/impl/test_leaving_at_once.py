"""All members leave at once, in virtual time, while one is being given the state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.state_callbacks import StateNotTransferred
from raincheck.impl.errors import NotMember
from raincheck.impl.simulation.loop import SimulatedNetwork, run, the_loop
from raincheck.impl.simulation.members import SimulatedChannel


async def take(chunks: AsyncIterator[bytes]) -> None:
    """Take a state."""
    async for _ in chunks:
        pass


@pytest.mark.parametrize("pause", [0.0, 0.001, 0.05])
def test_a_leave_of_all_waits_for_no_application_that_takes_no_more(pause: float) -> None:
    """No member reads its messages any more, so that none could give the state as it is."""

    async def body() -> None:
        network, loop = SimulatedNetwork(), the_loop()
        members: list[Channel] = []
        for number in range(1, 4):
            settings = SimulatedChannel(
                cluster="orders", name=f"m{number}", incarnation=0, key=[], network=network,
                bind=f"127.0.0.{number}:7000", initial_hosts=["127.0.0.1:7000"][: number - 1],
                get_state=lambda: b"state", set_state=take,
            )  # fmt: skip
            members.append(await Channel.connecting(settings))
        await members[0].send(b"that nobody takes")
        await members[0].drain()
        fetching = asyncio.create_task(members[2].fetch_state())
        await asyncio.sleep(pause)
        began = loop.time()
        await asyncio.gather(*(member.leave() for member in members))
        assert loop.time() - began < 2.0
        with suppress(StateNotTransferred, NotMember):
            await fetching

    run(body())
