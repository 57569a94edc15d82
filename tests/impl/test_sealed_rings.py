"""Rings under a key, in virtual time and over real sockets."""

import asyncio
import logging
from typing import Any

import pytest

from raincheck.impl.aio.ring import Ring
from raincheck.impl.errors import ConfigError, WireError
from raincheck.impl.messages import Address, Endpoint
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.ring.frames import HELLO, Frames
from raincheck.impl.sealing.head import refusal
from raincheck.impl.sealing.keys import read_keys
from raincheck.impl.simulation.ring import Link, Member, RingSimulator

OLD, NEW = read_keys([b"o" * 32, b"n" * 32], {})
Recorded = list[tuple[str, str, bytes]]


class Tapped(RingSimulator):
    """A simulated ring whose datagrams somebody records."""

    def __init__(self, seed: int = 1, **settings: Any) -> None:
        self.recorded: Recorded = []
        super().__init__(seed, **{"keys": (OLD,), "contents": True, **settings})

    def _fly(self, member: Member, data: bytes, to: Endpoint) -> None:
        if to in self._by_endpoint:
            self.recorded.append((member.name, self._by_endpoint[to], data))
        super()._fly(member, data, to)

    def replay(self, recorded: Recorded) -> None:
        """Every recorded datagram arrives at its receiver's place, as if from its sender's."""
        for source, to, data in recorded:
            if self[to].up:
                self.inject(to, data, self[source].endpoint)


def formed(seed: int = 1, **settings: Any) -> Tapped:
    """A ring of a, b and c that has delivered something."""
    ring = Tapped(seed, **settings)
    ring.found("a", "b", "c")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))
    for name in "abc":
        ring.multicast(name, [f"{name}{i}".encode() for i in range(5)])
    ring.run(2.0)
    return ring


def seen(ring: RingSimulator) -> list[object]:
    """What the applications have seen."""
    return [(m.name, m.life.contents, m.life.views, m.life.eats, m.left) for m in ring.up]


def test_a_ring_under_a_key_forms_admits_and_comes_back() -> None:
    ring = formed()

    ring.join("d")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c", "d"))
    ring.crash("b")
    ring.run_until(lambda: ring.in_one_view("a", "c", "d"))
    ring.recover("b")
    ring.run_until(lambda: ring.in_one_view("a", "b", "c", "d"))
    ring.multicast("b", [b"again"])
    ring.run(1.0)

    assert all(data[:2] == b"KS" for _, _, data in ring.recorded)
    assert all(ring[name].life.contents[-1] == b"again" for name in "abcd")
    assert len(ring["a"].delivered) == 16


def test_a_lossy_network_costs_a_ring_under_a_key_no_message() -> None:
    ring = formed(link=Link(loss=0.1, duplicate=0.1, delay=(0.001, 0.02)))
    ring.run(10.0)

    assert [len(ring[name].delivered) for name in "abc"] == [15] * 3


def test_the_whole_earlier_life_of_a_ring_changes_nothing_in_a_restarted_one() -> None:
    before = formed()
    undisturbed, disturbed = formed(2), formed(2)

    disturbed.replay(before.recorded)
    for ring in (undisturbed, disturbed):
        ring.run(1.0)
        ring.multicast("b", [b"after"])
        ring.run(2.0)

    assert len(before.recorded) > 100
    assert seen(disturbed) == seen(undisturbed)
    assert disturbed["a"].life.contents[-1] == b"after"


def test_a_member_that_comes_back_takes_nothing_of_what_was_sent_before() -> None:
    ring = formed()
    ring.run(1.0)  # an idle token rests, so there is little to send again at first
    recorded = list(ring.recorded)
    ring.crash("c")
    ring.run_until(lambda: ring.in_one_view("a", "b"))

    ring.recover("c")
    for _ in range(10):
        ring.replay([each for each in recorded if each[1] == "c"])
        ring.run(0.05)
    ring.run_until(lambda: ring.in_one_view("a", "b", "c"))
    ring.multicast("c", [b"after"])
    ring.run(2.0)

    assert ring["c"].node.counters["unproved"] > 50
    assert len(ring["c"].delivered) == len(set(ring["c"].delivered)) == 16
    assert ring["a"].life.contents[-1] == b"after"


def test_a_stranger_without_the_key_gets_nothing_accepted() -> None:
    ring = formed()
    ring.sealings.of = {"d": (NEW,), "e": ()}

    ring.join("d", "e")
    ring.run(5.0)

    assert ring.in_one_view("a", "b", "c")
    for name in "abc":
        assert ring[name].node.counters["wrong_key"] > 0
        assert ring[name].node.counters["without_key"] > 0
        assert set(ring[name].node.manager.peers.by_name) <= {"a", "b", "c"}
    assert ring["d"].sealing is not None
    assert "refuses this key" in next(iter(ring["d"].sealing.refused.values()))
    assert ring["e"].node.counters["sealed"] > 0


def test_a_ring_without_a_key_tells_a_process_with_one() -> None:
    ring = formed(keys=())
    ring.sealings.of = {"d": (NEW,)}

    ring.join("d")
    ring.run(2.0)

    assert ring.in_one_view("a", "b", "c")
    assert ring["d"].sealing is not None
    assert "has no key, this process has one" in next(iter(ring["d"].sealing.refused.values()))
    assert ring["d"].sealing.counters["without_key"] > 0
    assert any(dropped.reason == "sealed" for dropped in ring["a"].dropped)


def test_a_refusal_is_answered_by_nobody() -> None:
    ring = formed(keys=())
    places = ring._by_endpoint["6.6.6.6", 666] = "stranger"
    ring.recorded.clear()

    ring.inject("a", refusal())
    assert ring["a"].node.counters["sealed"] == 1
    assert not any(places in each for each in ring.recorded)
    ring.inject("a", refusal() + b"x")
    assert [data for _, to, data in ring.recorded if to == places] == [refusal()]


def test_under_a_key_frames_have_no_sum_and_need_none() -> None:
    who = Address("a", 0)
    summed, without = (Frames("r", 60_000, sums=sums) for sums in (True, False))
    frames = [each.make(HELLO, who, None, 0, 7) for each in (summed, without)]

    assert frames[0][4:8] != frames[1][4:8] == bytes(4)
    assert without.read(frames[1])[:5] == summed.read(frames[0])[:5] == without.read(frames[0])[:5]
    with pytest.raises(WireError, match="corrupted"):
        summed.read(frames[1])


def test_the_key_is_changed_while_the_ring_runs_and_no_message_is_lost() -> None:
    ring = formed(link=Link(delay=(0.001, 0.01)))
    at, views = ring.now, [len(ring[name].life.views) for name in "abc"]
    for step, keys in enumerate([(OLD, NEW), (NEW, OLD), (NEW,)]):
        for place, name in enumerate("abc"):
            sealing = ring[name].sealing
            assert sealing is not None
            ring.at(at + 0.3 * step + 0.1 * place, lambda s=sealing, k=keys: s.change(k))
    for _ in range(20):
        for name in "abc":
            ring.multicast(name, [b"x"])
        ring.run(0.05)
    ring.run(3.0)

    assert [len(ring[name].delivered) for name in "abc"] == [75] * 3
    assert [len(ring[name].life.views) for name in "abc"] == views
    assert ring["a"].node.counters["wrong_key"] == 0


KEY, OTHER = b"o" * 32, b"n" * 32


@pytest.mark.sockets
def test_members_over_sockets_share_a_key_and_others_are_told_why_they_do_not_join(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body() -> None:
        async with Ring.connect("locks", name="a", key=KEY) as a:
            host, port = a.endpoint
            settings: dict[str, Any] = {"join": [f"{host}:{port}"], "timeout": 20}
            async with Ring.connect("locks", name="b", key=[KEY, OTHER], **settings) as b:
                assert not any(each.node.config.sums for each in (a, b))
                await b.multicast(b"hello")
                assert (await anext(a)).payload == (await anext(b)).payload == b"hello"
                a.change_key([OTHER, KEY])
                await a.multicast(b"again")
                assert (await anext(b)).payload == b"again"
                settings["timeout"] = 0.4
                with pytest.raises(ConfigError, match="refuses this key; give all members of a"):
                    await Ring.connect("locks", name="c", key=b"w" * 32, **settings)
                with pytest.raises(ConfigError, match="has a key, this process has none; give"):
                    await Ring.connect("locks", name="d", key=[], **settings)
                assert len(a.members) == 2

    with caplog.at_level(logging.WARNING, "raincheck"):
        asyncio.run(asyncio.wait_for(body(), 30))
    assert "wrong_key has another key; one group has one key" in caplog.text


@pytest.mark.sockets
def test_a_process_with_a_key_is_told_that_a_ring_has_none() -> None:
    async def body() -> None:
        async with Ring.connect("locks", name="a", key=[]) as a:
            host, port = a.endpoint
            with pytest.raises(ConfigError, match="has no key, this process has one; give all"):
                await Ring.connect("locks", name="c", key=KEY, join=[f"{host}:{port}"], timeout=0.4)
            assert a.counters["sealed"] > 0
            assert a.node.config.sums

    asyncio.run(asyncio.wait_for(body(), 30))


@pytest.mark.sockets
def test_a_datagram_of_a_ring_has_to_leave_room_for_the_seal() -> None:
    async def body() -> None:
        with pytest.raises(ConfigError, match="max_datagram is 65500, but at most 65455 bytes"):
            await Ring.connect("locks", name="a", key=KEY, config=RingConfig(max_datagram=65_500))

    asyncio.run(body())
