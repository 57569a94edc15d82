"""Channels whose groups merge: what an application sees, with each policy."""

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


class Member:
    """An application that keeps what it was sent, with the views between, as its state."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.said: list[str] = []
        self.ended = ""

    def get_state(self) -> bytes:
        """What it was sent."""
        return "\n".join(self.log).encode()

    async def set_state(self, chunks: Any) -> None:
        """What the others were sent."""
        self.log = b"".join([chunk async for chunk in chunks]).decode().split()

    async def read(self, channel: raincheck.Channel) -> None:
        """Take the channel's events until its end."""
        try:
            async for event in channel.events():
                if isinstance(event, raincheck.Message):
                    self.log.append(event.payload.decode())
                elif isinstance(event, raincheck.ViewChange):
                    kind = type(event.view).__name__
                    self.said.append(f"{kind} behind {len(self.log)}: {event}")
        except NotMember as problem:
            self.ended = str(problem)


async def parted(on_merge: str, members: dict[str, Member]) -> dict[str, raincheck.Channel]:
    """Connect a, b and c, of which c is cut off for a while; each side is sent something."""
    network = SimulatedNetwork()
    channels: dict[str, raincheck.Channel] = {}
    async with AsyncExitStack() as exits:
        for name, place in PLACES.items():
            member = members[name] = Member()
            config = SimulatedChannel(
                cluster="shop", name=name, incarnation=1, bind=place, network=network,
                initial_hosts=[PLACES["a"]], on_merge=on_merge,
                get_state=member.get_state, set_state=member.set_state,
            )  # fmt: skip
            channels[name] = await exits.enter_async_context(raincheck.Channel.connecting(config))
        readers = [asyncio.create_task(members[n].read(c)) for n, c in channels.items()]
        await channels["a"].wait_for_members(3)
        await channels["a"].send(b"together")
        await asyncio.sleep(1)
        network.silent.add(PLACES["c"])
        await asyncio.sleep(4)
        await channels["a"].send(b"ab")
        await channels["c"].send(b"c")
        await asyncio.sleep(1)
        network.silent.clear()
        await asyncio.sleep(8)
        if on_merge != "leave":
            assert all(len(channel.view.members) == 3 for channel in channels.values())
            for name in "cb":
                await channels[name].send(f"again-{name}".encode())
                await asyncio.sleep(1)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
    return channels


def test_with_callback_the_merged_view_comes_between_the_messages_of_both() -> None:
    members: dict[str, Member] = {}
    run(parted("callback", members))
    assert members["a"].log == members["b"].log == ["together", "ab", "again-c", "again-b"]
    assert members["c"].log == ["together", "c", "again-c", "again-b"]
    for name in "abc":
        *_, last = members[name].said
        assert last.startswith("MergeView behind 2: view ")
        assert "merged of view " in last
        assert "[a.1 b.1] and view " in last
        assert last.endswith("[c.1]")


def test_with_state_the_smaller_side_goes_on_from_the_larger_ones_state() -> None:
    members: dict[str, Member] = {}
    run(parted("state", members))
    assert [members[name].log for name in "abc"] == [["together", "ab", "again-c", "again-b"]] * 3
    assert all("MergeView" in member.said[-1] for member in members.values())


def test_with_leave_the_smaller_side_is_out_as_ever() -> None:
    members: dict[str, Member] = {}
    run(parted("leave", members))
    assert members["c"].ended.startswith("excluded from the group")
    assert members["a"].log == members["b"].log == ["together", "ab"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"on_merge": "state"}, "on_merge='state' needs get_state= and set_state="),
        ({"on_merge": "perhaps"}, "on_merge is 'perhaps'; choose one of"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        raincheck.Channel.connect("shop", **settings)


@pytest.mark.sockets
def test_two_founders_become_one_group_over_real_sockets() -> None:
    async def scenario() -> None:
        stack = raincheck.StackConfig(join_timeout=0.5, on_merge="callback")
        async with asyncio.timeout(60), AsyncExitStack() as exits:
            a = await exits.enter_async_context(
                raincheck.Channel.connect("merging", name="a", stack=stack)
            )
            port = a.endpoint[1]
            await a.leave()
            b = await exits.enter_async_context(
                raincheck.Channel.connect(
                    "merging", name="b", initial_hosts=[f"127.0.0.1:{port}"], stack=stack
                )
            )
            assert len(b.view.members) == 1
            c = await exits.enter_async_context(
                raincheck.Channel.connect(
                    "merging", name="c", bind=f"127.0.0.1:{port}", stack=stack
                )
            )
            await b.wait_for_members(2, timeout=45)
            await c.wait_for_members(2, timeout=45)
            assert isinstance(b.view, raincheck.MergeView)
            assert {side.members[0].node for side in b.view.subgroups} == {"b", "c"}
            await b.send(b"one")
            assert (await anext(aiter(c))).payload == b"one"

    asyncio.run(scenario())
