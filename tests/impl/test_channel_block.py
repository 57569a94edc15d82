"""What block() may wait for: channels in virtual time, whose group loses a member meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

import raincheck
from raincheck.impl.messages import Endpoint
from raincheck.impl.simulation.loop import SimulatedNetwork, run
from raincheck.impl.simulation.members import SimulatedChannel

PLACES: dict[str, Endpoint] = {name: (f"10.0.0.{n}", 7000) for n, name in enumerate("abcd", 1)}
Sends = Callable[[raincheck.Channel], Awaitable[object]]


async def small(channel: raincheck.Channel) -> None:
    await channel.send(b"at the end")
    await channel.drain()


async def large(channel: raincheck.Channel) -> None:
    await channel.send(bytes(200_000))


async def call(channel: raincheck.Channel) -> None:
    await channel.call(b"at the end")


class Story:
    """b's block() loses a member of a, b, c when d joins, and sends then."""

    def __init__(self, loses: str, sends: Sends, **settings: Any) -> None:
        self.network = SimulatedNetwork()
        self.settings = settings
        self.loses, self.sends = loses, sends
        self.channels: dict[str, raincheck.Channel] = {}
        self.raised: list[BaseException | None] = []
        self.took = 0.0
        self.members: set[str] = set()
        """Those of b's view at the end, which deliver what it sends."""

    async def block(self) -> None:
        """Lose the member, send, and note what comes of it; once."""
        if self.raised or len(self.channels) < 3:
            return
        began = asyncio.get_running_loop().time()
        self.raised.append(None)
        self.network.silent.add(PLACES[self.loses])
        try:
            await self.sends(self.channels["b"])
        except raincheck.RaincheckError as problem:
            self.raised[0] = problem
        self.took = asyncio.get_running_loop().time() - began

    async def play(self) -> None:
        async with AsyncExitStack() as exits:
            for name in "abcd":
                hosts = [PLACES["a"], *([PLACES["c"]] if name == "d" else [])]
                config = SimulatedChannel(
                    cluster="shop", name=name, incarnation=1, bind=PLACES[name],
                    network=self.network, initial_hosts=hosts,
                    block=self.block if name == "b" else None, leave_timeout=3.0, timeout=20.0,
                    **self.settings,
                )  # fmt: skip
                connecting = raincheck.Channel.connecting(config)
                self.channels[name] = await exits.enter_async_context(connecting)
            await self.channels["b"].wait_for_members(3, timeout=20.0)
            await self.channels["b"].drain(timeout=1.0)
            await self.channels["b"].send(b"goes on")
            await self.channels["b"].drain(timeout=1.0)
            self.members = {member.node for member in self.channels["b"].view.members}
            self.network.silent.clear()


@pytest.mark.parametrize("sends", [small, large, call], ids=lambda each: each.__name__)
def test_a_block_that_waits_for_a_coordinator_that_crashes_is_told_so_and_the_member_stays(
    sends: Sends,
) -> None:
    story = Story("a", sends)
    run(story.play())
    (problem,) = story.raised
    assert isinstance(problem, raincheck.WouldBlock)
    assert "waits for the next view, and that waits for this block()" in str(problem)
    if sends is not call:  # which ends by patience, as all that is not looked at more closely
        assert "a.1 is gone, which this view needs for it" in str(problem)
        assert story.took < 1.6
    assert story.took < 5.0
    assert story.members == {"b", "c", "d"}


def test_a_block_that_sends_waits_for_no_member_that_the_order_does_not_need() -> None:
    story = Story("c", small)
    run(story.play())
    assert story.raised == [None]
    assert story.took < 0.1


def test_with_safe_delivery_the_order_needs_all_members() -> None:
    story = Story("c", small, delivery="safe")
    run(story.play())
    assert "c.1 is gone, which this view needs for it" in str(story.raised[0])
