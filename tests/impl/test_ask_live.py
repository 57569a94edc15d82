"""Members of groups and rings that are asked: what they tell, and that questions disturb nothing.

Whole channels and rings in virtual time, without sockets; those with sockets are in
`tests/conformance/test_doctor_live.py`.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.conformance.field.stack.hostile import question
from raincheck.impl.aio.ask import _Try
from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.metrics import Metrics
from raincheck.impl.aio.ring import Ring
from raincheck.impl.aio.status import HISTORY, History, PastView, Status, decoded, encoded
from raincheck.impl.asking import wire
from raincheck.impl.errors import AskRefused, WireError
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.sealing.keys import read_keys
from raincheck.impl.simulation.loop import SimulatedNetwork, run
from raincheck.impl.simulation.members import SimulatedChannel, SimulatedRing

KEY, OTHER = b"k" * 32, b"o" * 32
OPERATOR: Endpoint = ("127.0.0.1", 50_000)
STRANGER: Endpoint = ("6.6.6.6", 666)


@asynccontextmanager
async def group_of(
    network: SimulatedNetwork, names: str, **about: Any
) -> AsyncIterator[dict[str, Channel]]:
    """A group at 127.0.0.1, 127.0.0.2 and so on, which ends without a word."""
    channels: dict[str, Channel] = {}
    try:
        for number, name in enumerate(names, 1):
            config = SimulatedChannel(
                cluster="orders", name=name, incarnation=0, bind=f"127.0.0.{number}:7000",
                initial_hosts=["127.0.0.1:7000"], network=network, **{"key": [], **about},
            )  # fmt: skip
            channels[name] = await Channel.connecting(config)
        for channel in channels.values():
            await channel.wait_for_members(len(names), timeout=10)
        yield channels
    finally:
        for channel in channels.values():
            await channel._close()


@asynccontextmanager
async def ring_of(
    network: SimulatedNetwork, names: str, **about: Any
) -> AsyncIterator[dict[str, Ring]]:
    """The same of a ring."""
    founders = [f"{name}@127.0.0.{number}:7000" for number, name in enumerate(names, 1)]
    opening = [
        Ring.connecting(
            SimulatedRing(
                ring="locks", name=name, members=founders, network=network, **{"key": [], **about}
            )
        )
        for name in names
    ]
    rings = dict(zip(names, await asyncio.gather(*opening), strict=True))
    try:
        yield rings
    finally:
        for ring in rings.values():
            await ring._close()


async def ask(
    network: SimulatedNetwork, member: Endpoint, key: bytes | None = None, at: Endpoint = OPERATOR
) -> Status:
    """Ask as `raincheck.ask` does."""
    inner = network.open(at)
    try:
        async with asyncio.timeout(5.0):
            return await _Try(inner, read_keys(key or []), True, member).run()
    finally:
        await inner.close()


# ------------------------------------------------------------------ what a member tells


def test_a_member_of_a_group_tells_who_is_in_it_and_what_has_been() -> None:
    async def scenario() -> Status:
        network = SimulatedNetwork()
        async with group_of(network, "abc") as channels:
            a = channels["a"]
            await channels["b"].send_many([b"x"] * 10)
            await channels["b"].drain()
            network.silent.add(channels["c"].endpoint)
            async for view in a.views():
                if len(view.members) == 2:
                    break
            return await ask(network, a.endpoint)

    status = run(scenario())
    assert (status.kind, status.of) == ("group", "orders")
    assert (status.member, status.status) == ("a.0", "member")
    assert (status.endpoint, status.transport, status.sealed) == ("127.0.0.1:7000", "udp", False)
    assert (status.view, status.coordinator) == (4, "a.0")
    assert status.members == (("a.0", "127.0.0.1:7000"), ("b.0", "127.0.0.2:7000"))
    assert [past.view for past in status.history] == [1, 2, 3, 4]
    assert status.history[2].joined == ("c.0",)
    ((gone, why),) = status.history[3].left
    assert gone == "c.0"
    assert "silent" in why
    assert 0 < status.history[3].ago < status.history[0].ago <= status.uptime
    assert isinstance(status.metrics, Metrics)
    assert status.metrics.members == 2
    assert status.metrics.events["ask.answered"] == 1


def test_a_member_that_waits_says_for_whom_and_for_what_and_whom_it_suspects() -> None:
    async def scenario() -> tuple[Status, Status]:
        network = SimulatedNetwork()
        never = asyncio.Event()

        async def hangs() -> None:
            await never.wait()

        async with group_of(network, "ab") as channels:
            b = channels["b"]
            b._callbacks._config = replace(b._config, block=hangs)  # from now on
            b._stack.ask_to_block()
            joiner = Channel.connecting(
                SimulatedChannel(
                    cluster="orders", name="c", incarnation=0, bind="127.0.0.3:7000", key=[],
                    initial_hosts=["127.0.0.1:7000"], network=network,
                )
            )  # fmt: skip
            joining = asyncio.ensure_future(joiner._connect())
            await asyncio.sleep(1.0)
            told = await ask(network, channels["a"].endpoint)
            early = await ask(network, ("127.0.0.3", 7000))
            joining.cancel()
            await asyncio.gather(joining, return_exceptions=True)
            return told, early

    told, early = run(scenario())
    assert told.missing == ("b.0 to answer START_FLUSH: its block() may not have returned",)
    assert told.group is not None
    assert told.group.waiting_for == 1
    assert told.group.blocked
    assert (early.status, early.view, early.members, early.coordinator) == ("joining", 0, (), "")


def test_the_next_life_of_a_member_that_was_excluded_is_answered_for_too() -> None:
    async def scenario() -> Status:
        network = SimulatedNetwork()
        async with group_of(network, "abc", rejoin=True) as channels:
            b = channels["b"]
            network.silent.add(b.endpoint)
            while len(channels["a"].view.members) == 3:
                await channels["a"]._driver.settled.wait()
            network.silent.clear()
            while b.address.incarnation == 0 or b.address not in channels["a"].view.members:
                await channels["a"]._driver.settled.wait()
            await asyncio.sleep(1.0)
            return await ask(network, b.endpoint)

    status = run(scenario())
    node, _, life = status.member.rpartition(".")
    assert (node, status.status) == ("b", "member")
    assert int(life) > 0
    assert status.member in [member for member, _ in status.members]
    assert len(status.history) >= 3  # of both lives
    assert status.history[0].ago > status.uptime > 1.0


def test_a_member_of_a_ring_tells_its_views_its_token_and_whom_it_suspects() -> None:
    async def scenario() -> tuple[Status, Status]:
        network = SimulatedNetwork()
        async with ring_of(network, "abc") as rings:
            a, c = rings["a"], rings["c"]
            async with a.token():
                held = await ask(network, a.endpoint)
            network.silent.add(c.endpoint)
            while len(a.members) > 2:
                await a._driver.settled.wait()
            return held, await ask(network, a.endpoint)

    held, after = run(scenario())
    assert (held.kind, held.of, held.member, held.status) == ("ring", "locks", "a.0", "member")
    assert held.ring is not None
    assert (held.ring.locked, held.ring.token, held.ring.agreement) == (True, "eating", True)
    assert [member for member, _ in held.members] == ["a.0", "b.0", "c.0"]
    assert held.members[1] == ("b.0", "127.0.0.2:7000")
    assert (held.history[-1].members, held.history[-1].joined) == (3, ())
    assert after.ring is not None
    assert after.ring.epoch + after.view > held.ring.epoch + held.view
    assert [member for member, _ in after.members] == ["a.0", "b.0"]
    ((gone, why),) = after.history[-1].left
    assert gone == "c.0"
    assert why in ("it did not answer", "it left, or did not answer another member")


@pytest.mark.parametrize("kind", ["group", "ring"])
def test_with_a_key_only_who_has_it_is_answered_from_wherever_it_is(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        network = SimulatedNetwork()
        made: Any = group_of if kind == "group" else ring_of
        async with made(network, "ab", key=KEY) as members:
            member = members["a"].endpoint
            for at in (OPERATOR, STRANGER):
                assert (await ask(network, member, KEY, at)).sealed
            with pytest.raises(AskRefused, match="has a key, this process has none; ask with"):
                await ask(network, member, None)
            with pytest.raises(AskRefused, match="refuses this key; ask with the key that it has"):
                await ask(network, member, OTHER)
            assert members["a"].counters["ask.answered"] == 2

    caplog.set_level(logging.ERROR)
    run(scenario())


@pytest.mark.parametrize("kind", ["group", "ring"])
def test_without_a_key_who_has_one_is_told_so_and_strangers_are_refused(kind: str) -> None:
    async def scenario() -> None:
        network = SimulatedNetwork()
        made: Any = group_of if kind == "group" else ring_of
        async with made(network, "ab") as members:
            member = members["a"].endpoint
            with pytest.raises(AskRefused, match="has no key, this process has one; ask with"):
                await ask(network, member, OTHER)
            with pytest.raises(AskRefused, match=r"127\.0\.0\.1:7000 does not allow this"):
                await ask(network, member, None, STRANGER)
        async with made(network, "ab", ask=["6.0.0.0/8"]) as members:
            assert (await ask(network, members["b"].endpoint, None, STRANGER)).member == "b.0"
            with pytest.raises(AskRefused, match="see ask= there"):
                await ask(network, members["b"].endpoint)

    run(scenario())


def test_nobody_there_is_no_answer() -> None:
    with pytest.raises(TimeoutError):
        run(ask(SimulatedNetwork(), ("127.0.0.9", 7000)))


def test_a_question_that_is_sealed_for_the_group_is_dropped_and_counted() -> None:
    async def scenario() -> None:
        network = SimulatedNetwork()
        async with group_of(network, "ab", key=KEY) as channels:
            a, b = channels["a"], channels["b"]
            transport: Any = a._driver.transport
            transport._inner.send(transport._sealing.seal(wire.made(wire.ASK, 7)), b.endpoint)
            await asyncio.sleep(0.1)
            assert b.counters["transport.misplaced"] == 1
            assert not b.counters.get("ask.answered")

    run(scenario())


# ------------------------------------------------------------------ questions disturb nothing


def attacked(lots: Random, kind: str) -> tuple[list[bytes], int, dict[str, int]]:
    """What a member delivers, its view at the end, and its counters, while others ask."""

    async def scenario() -> tuple[list[bytes], int, dict[str, int]]:
        network = SimulatedNetwork()
        made: Any = group_of if kind == "group" else ring_of
        async with made(network, "abc") as members:
            a, b = members["a"], members["b"]
            for number in range(10):
                for _ in range(20):
                    data = bytearray(question(lots))
                    if lots.random() < 0.5:
                        data[lots.randrange(2, len(data))] = lots.randrange(256)
                    source = lots.choice((OPERATOR, STRANGER, members["c"].endpoint))
                    network.carry(bytes(data), source, lots.choice((a, b)).endpoint)
                send = a.send if kind == "group" else a.multicast
                await send(b"%d" % number)
                await asyncio.sleep(0.05)
            got = [(await anext(b)).payload for _ in range(10)]
            view = b.view.id.counter if kind == "group" else b.node.view
            counters = a.counters
            assert not counters.get("not_ours")
            return got, view, counters

    return run(scenario())


@pytest.mark.parametrize("kind", ["group", "ring"])
@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1 << 32))
def test_whatever_is_asked_the_members_go_on_as_if_nothing_came(kind: str, seed: int) -> None:
    got, view, counters = attacked(Random(seed), kind)
    assert got == [b"%d" % number for number in range(10)]
    assert view == (3 if kind == "group" else 1)
    reasons = {name for name in counters if name.startswith("ask.")}
    assert "ask.not_allowed" in reasons or "ask.unasked" in reasons
    assert {"suspected", "refused", "malformed"}.isdisjoint(counters)


# ------------------------------------------------------------------ the answer as bytes


def metrics_of(names: list[str]) -> Metrics:
    return Metrics(
        group="".join(names)[:500], member="a.0", status="member", view=1, members=len(names),
        coordinator=True, blocked=False, pending=0, waiting_for=0, inbox=0, buffered=0, sent=0,
        received=0, events=dict.fromkeys(names, 1),
    )  # fmt: skip


NAMES = st.lists(st.text(min_size=1, max_size=64), max_size=20)


@settings(max_examples=20, deadline=None)
@given(NAMES, st.sampled_from([1, 5, 30]))
def test_an_answer_has_room_in_one_datagram_whatever_the_names(names: list[str], n: int) -> None:
    many = names * n
    left = tuple((name, name * 20) for name in many)
    past = PastView(view=1, ago=1.0, members=len(many), joined=tuple(many), left=left)
    status = Status(
        kind="group", of="g" * 5000, member="a.0", endpoint="127.0.0.1:1", transport="udp",
        sealed=True, status="member", uptime=1.0, view=1, coordinator="a.0",
        members=tuple((name, "127.0.0.1:1") for name in many), history=(past,) * HISTORY,
        missing=tuple(many), suspected=tuple(many), wire=5, group=metrics_of(many),
    )  # fmt: skip

    answer = encoded(status)

    assert len(answer) <= wire.MAX_ANSWER
    told = decoded(answer)
    assert told.members == status.members[: len(told.members)]
    assert told.history
    if len(many) <= 16 and max((len(name.encode()) for name in many), default=0) <= 9:
        assert len(told.members) == len(many)
    if len(told.members) < len(many):
        assert f"and {len(many) - len(told.members)} more" in str(told)
    assert all(line.isprintable() for line in str(told).split("\n"))


@pytest.mark.parametrize("answer", [b"", b"\xc0", b"\x80", b"\x81\xa1x\x01", b"\xff" * 50])
def test_an_answer_that_is_none_is_refused(answer: bytes) -> None:
    with pytest.raises(WireError):
        decoded(answer)


def test_a_history_has_the_last_views_and_forgets_the_others() -> None:
    history = History()
    for number in range(1, 100):
        members = (Address("a", 0), Address("b", number))
        history.add(float(number), number, members, [(Address("b", number - 1), "")])
    past = history.past(100.0)
    assert [each.view for each in past] == list(range(100 - HISTORY, 100))
    assert (past[-1].ago, past[-1].joined, past[-1].left) == (1.0, ("b.99",), (("b.98", ""),))
