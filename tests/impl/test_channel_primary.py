"""Channels of a group in which only the primary side of a partition goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

import raincheck
from raincheck.impl.aio.rejoining import next_life
from raincheck.impl.messages import Endpoint
from raincheck.impl.simulation.loop import SimulatedNetwork, run
from raincheck.impl.simulation.members import SimulatedChannel

PLACES: dict[str, Endpoint] = {name: (f"10.0.0.{n}", 7000) for n, name in enumerate("abc", 1)}


class Group:
    """Three members, of which c can be cut off, and what each has read."""

    def __init__(self, **settings: Any) -> None:
        self.network = SimulatedNetwork()
        self.settings = {"on_merge": "callback", "primary": "majority", "expected_votes": 3}
        self.blocks = settings.pop("blocks", {})
        self.settings |= settings
        self.read: dict[str, list[str]] = {}
        self.channels: dict[str, raincheck.Channel] = {}
        self.readers: list[asyncio.Task[None]] = []

    def config(self, name: str) -> SimulatedChannel:
        """The settings of a member."""
        return SimulatedChannel(
            cluster="shop", name=name, incarnation=1, bind=PLACES[name], network=self.network,
            initial_hosts=[PLACES["a"]], block=self.blocks.get(name), **self.settings,
        )  # fmt: skip

    async def start(self, exits: AsyncExitStack, name: str) -> raincheck.Channel:
        """Connect a member, which reads its events."""
        connecting = raincheck.Channel.connecting(self.config(name))
        channel = self.channels[name] = await exits.enter_async_context(connecting)
        self.readers.append(asyncio.create_task(self._read(name)))
        return channel

    async def _read(self, name: str) -> None:
        said = self.read[name] = []
        async for event in self.channels[name].events():
            if isinstance(event, raincheck.Message):
                said.append(event.payload.decode())
            elif isinstance(event, raincheck.ViewChange):
                said.append(f"view of {len(event.view.members)}")
            elif isinstance(event, raincheck.PrimaryChange):
                said.append(f"primary {event.number}" if event.primary else f"not: {event.why}")


def play(story: Callable[[Group], Awaitable[None]], **settings: Any) -> Group:
    """Let a, b and c become a primary group, and then what the story says."""
    group = Group(**settings)

    async def all_of_it() -> None:
        async with AsyncExitStack() as exits:
            for name in "abc":
                channel = await group.start(exits, name)
            await channel.wait_for_primary(timeout=5)
            await asyncio.sleep(0.1)
            await story(group)
            group.network.silent.clear()
            for reader in group.readers:
                reader.cancel()
            await asyncio.gather(*group.readers, return_exceptions=True)

    run(all_of_it())
    return group


async def cut(group: Group) -> None:
    """Cut c off, until it knows that it is not primary."""
    group.network.silent.add(PLACES["c"])
    await asyncio.sleep(3)


def test_events_say_in_front_of_the_messages_of_a_view_whether_it_is_primary() -> None:
    async def story(group: Group) -> None:
        await group.channels["a"].send(b"all")
        await asyncio.sleep(0.1)
        await cut(group)
        assert [channel.primary for channel in group.channels.values()] == [True, True, False]
        assert group.channels["c"].metrics().primary is False
        assert "raincheck_primary" in group.channels["c"].metrics().prometheus()
        await group.channels["a"].send(b"ab")
        group.network.silent.clear()
        await group.channels["c"].wait_for_primary(timeout=10)
        await group.channels["c"].send(b"again")
        await asyncio.sleep(0.1)

    group = play(story)
    needs = "of the 3 votes that a first primary view needs"
    assert group.read["a"] == [
        "view of 1", f"not: its members have 1 {needs}",
        "view of 2", f"not: its members have 2 {needs}",
        "view of 3", "primary 1", "all", "view of 2", "primary 2", "ab",
        "view of 3", "primary 3", "again",
    ]  # fmt: skip
    assert group.read["c"] == [
        "view of 3", "primary 1", "all",
        "view of 1", "not: it has no majority of the last primary view, 1 (a.1 b.1 c.1)",
        "view of 3", "primary 3", "again",
    ]  # fmt: skip


SENDS: dict[str, Callable[[raincheck.Channel], Awaitable[object]]] = {
    "send": lambda channel: channel.send(b"late"),
    "send_many": lambda channel: channel.send_many([b"late"]),
    "unordered": lambda channel: channel.send(b"late", order="none"),
    "unicast": lambda channel: channel.send(b"late", to=channel.address),
    "large": lambda channel: channel.send(bytes(100_000)),
    "call": lambda channel: channel.call(b"late"),
}


@pytest.mark.parametrize("what", SENDS)
def test_what_is_sent_is_refused_after_a_while_if_the_view_is_not_primary(what: str) -> None:
    async def story(group: Group) -> None:
        await cut(group)
        channel, began = group.channels["c"], asyncio.get_running_loop().time()
        with pytest.raises(raincheck.NotPrimary) as refused:
            await SENDS[what](channel)
        assert asyncio.get_running_loop().time() - began == pytest.approx(2.0)
        assert str(refused.value) == (
            "c.1 can send nothing: view 4 [c.1] is not primary, it has no majority of the last "
            "primary view, 1 (a.1 b.1 c.1); waited 2 s (primary_timeout, or the timeout)"
        )

    group = play(story, primary_timeout=2.0)
    assert not any("late" in each for each in group.read["c"])


def test_with_no_time_out_it_is_refused_at_once_and_otherwise_waits() -> None:
    async def story(group: Group) -> None:
        await cut(group)
        began = asyncio.get_running_loop().time()
        with pytest.raises(raincheck.NotPrimary):
            await group.channels["c"].send(b"never", timeout=0)
        assert asyncio.get_running_loop().time() == pytest.approx(began)
        sending = asyncio.create_task(group.channels["c"].send(b"late"))
        await asyncio.sleep(1)
        assert not sending.done()
        group.network.silent.clear()
        await sending
        assert group.channels["c"].primary
        await asyncio.sleep(0.1)

    group = play(story)
    assert group.read["a"][-1] == group.read["c"][-1] == "late"


def test_a_member_that_has_nothing_under_way_leaves_at_once_without_a_primary_view() -> None:
    async def story(group: Group) -> None:
        await cut(group)
        began = asyncio.get_running_loop().time()
        await group.channels["c"].leave()
        assert asyncio.get_running_loop().time() - began < 2

    play(story)


def test_a_member_whose_messages_wait_for_a_primary_view_does_not_leave_in_good_order() -> None:
    async def story(group: Group) -> None:
        group.network.silent.add(PLACES["c"])
        await group.channels["c"].send(b"late")
        await asyncio.sleep(3)
        await group.channels["c"].leave()

    with pytest.raises(raincheck.WaitTimeout, match="leaving took longer than 1 s"):
        play(story, leave_timeout=1.0)


@pytest.mark.parametrize("sends", [False, True])
def test_a_block_that_waits_for_its_messages_is_told_that_there_is_no_primary_view(
    sends: bool,
) -> None:
    told: list[str] = []
    mine: list[raincheck.Channel] = []

    async def block() -> None:
        if mine[0].primary:
            return
        try:
            if sends:
                await mine[0].send(b"at the end")
            await mine[0].drain()
        except raincheck.NotPrimary as problem:
            told.append(str(problem))
            raise

    async def story(group: Group) -> None:
        mine.append(group.channels["c"])
        group.network.silent.add(PLACES["c"])
        await mine[0].send(b"late")
        await asyncio.sleep(3)
        group.network.silent.clear()
        await mine[0].wait_for_primary(timeout=5)
        await asyncio.sleep(0.1)

    group = play(story, blocks={"c": block})
    assert group.read["a"][-1] == group.read["c"][-1] == "late"
    assert "c.1 can send nothing: view 4 [c.1] is not primary" in told[-1]


def test_on_primary_is_called_and_ends_the_member_if_it_raises() -> None:
    told: list[raincheck.PrimaryChange] = []

    async def story(group: Group) -> None:
        group.channels["a"].on_primary = told.append
        group.channels["c"].on_primary = lambda _: 1 / 0  # type: ignore[func-returns-value]
        await cut(group)
        with pytest.raises(raincheck.NotMember, match="on_primary raised ZeroDivisionError"):
            await group.channels["c"].send(b"x")

    play(story)
    assert [(change.primary, change.number) for change in told][:1] == [(True, 2)]


def test_what_an_operator_has_said_does_not_hold_for_the_next_life() -> None:
    async def story(group: Group) -> None:
        channel = group.channels["a"]
        assert channel._config.stack.found is False
        assert channel._stack.config.found is True
        assert next_life(channel._config, channel._stack, ()).found is False

    play(story, found=True)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"primary": "majority", "on_merge": "callback"}, "expected_votes is 0; say with primary="),
        ({"votes": True}, "votes is True; it must be a whole number"),
        ({"votes": 1.0}, "votes is 1.0; it must be a whole number"),
        ({"expected_votes": "3"}, "expected_votes is '3'; it must be a whole number"),
        ({"found": 1}, "found is 1; it must be True or False"),
        ({"tie_breaker": "no"}, "tie_breaker is 'no'; it must be True or False"),
        ({"primary_timeout": float("nan")}, "primary_timeout is nan; it must be 0 or more"),
        ({"primary_timeout": "9"}, "primary_timeout is '9'; it must be 0 or more"),
        ({"primary": "most", "expected_votes": 3}, "primary is 'most'; choose 'majority', or None"),
        ({"primary": "majority", "expected_votes": 3}, "needs on_merge='state' or 'callback'"),
        (
            {"primary": "majority", "on_merge": "callback", "expected_votes": 3, "votes": 4},
            "votes is 4; it must be between 1 and expected_votes",
        ),
        ({"expected_votes": 3}, "only groups with primary='majority' go by it"),
        ({"tie_breaker": False}, "only groups with primary='majority' go by it"),
        ({"found": True}, "only groups with primary='majority' go by it"),
        ({"primary_timeout": -1}, "primary_timeout is -1; it must be 0 or more seconds"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(raincheck.ConfigError) as refused:
        raincheck.ChannelConfig(cluster="shop", **settings)
    assert why in str(refused.value)


@pytest.mark.parametrize("order", ["total", "none"])
def test_no_messages_at_all_are_sent_at_once_without_a_primary_view(order: Any) -> None:
    async def story(group: Group) -> None:
        await cut(group)
        channel, began = group.channels["c"], asyncio.get_running_loop().time()
        await channel.send_many([], order=order)
        assert asyncio.get_running_loop().time() == pytest.approx(began)

    play(story)
    with pytest.raises(ValueError, match="choose one of 'total', 'none'"):
        play(lambda group: group.channels["c"].send_many([], order="some"))  # type: ignore[arg-type]
