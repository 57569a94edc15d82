"""Watching a member of a group or a ring: its life in the log, and its figures for Prometheus."""

import asyncio
import logging
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.metrics import Metrics, RingMetrics
from raincheck.impl.aio.ring import Ring
from raincheck.impl.simulation import loop
from raincheck.impl.simulation.members import SimulatedRing
from raincheck.impl.stack.config import StackConfig

FAST = StackConfig(join_timeout=2.0, join_interval=0.02, heartbeat=0.05, suspect_after=2.0)


def run(body: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, but not for ever."""
    asyncio.run(asyncio.wait_for(body, 30))


def samples(text: str) -> dict[tuple[str, str], float]:
    """What Prometheus reads: values by name and event."""
    return {
        (sample.name, sample.labels.get("event", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.sockets
def test_a_life_is_told_in_a_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with Channel.connect("watched", name="a", incarnation=0, stack=FAST) as a:
            hosts = [a.endpoint]
            async with Channel.connect(
                "watched", name="b", incarnation=0, stack=FAST, initial_hosts=hosts
            ) as b:
                await a.wait_for_members(2)
                await b.send_many([b"x"] * 1000)
                await b.drain()
            await a.wait_for_members(1)

    with caplog.at_level(logging.INFO, logger="raincheck"):
        run(body())

    lines = [record.getMessage() for record in caplog.records]
    told = [line.partition(" at 127.0.0.1")[0] for line in lines]
    assert told[0] == "a.0 has founded group 'watched'"
    assert "b.0 has joined group 'watched'" in told
    assert "a.0 is in group 'watched': view 2 [a.0 b.0]: b.0 joined" in lines
    assert "a.0 is in group 'watched': view 3 [a.0]: b.0 left" in lines
    assert "b.0 is out of group 'watched'" in lines
    assert lines[-1] == "a.0 is out of group 'watched'"
    assert len(lines) <= 12


@pytest.mark.sockets
def test_the_figures_are_those_of_the_moment_and_prometheus_reads_them() -> None:
    async def body() -> None:
        async with Channel.connect("watched", name="a", incarnation=0, stack=FAST) as a:
            await a.send_many([b"x"] * 10)
            await a.drain()
            metrics = a.metrics()
            assert (metrics.group, metrics.member, metrics.status) == ("watched", "a.0", "member")
            assert (metrics.view, metrics.members, metrics.coordinator) == (1, 1, True)
            assert (metrics.pending, metrics.waiting_for, metrics.blocked) == (0, 0, False)
            assert metrics.inbox > 0
            read = samples(metrics.prometheus())
            assert read["raincheck_up", ""] == 1
            assert read["raincheck_inbox_bytes", ""] == metrics.inbox
            for event, count in metrics.events.items():
                assert read["raincheck_events_total", event] == count
        assert a.metrics().status == "left"

    run(body())


FOUNDERS = ["a@10.0.0.1:7000", "b@10.0.0.2:7000", "c@10.0.0.3:7000"]


def rings_lines(caplog: pytest.LogCaptureFixture, scenario: Coroutine[Any, Any, None]) -> list[str]:
    """The lines of a ring's members in the log, in virtual time."""
    with caplog.at_level(logging.INFO, logger="raincheck"):
        loop.run(scenario)
    return [
        f"{'! ' if record.levelno > logging.INFO else ''}{record.getMessage()}"
        for record in caplog.records
        if "without a state_file" not in record.getMessage()
    ]


def test_a_rings_life_is_told_in_a_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        network = loop.SimulatedNetwork()

        def member(name: str, **about: Any) -> SimulatedRing:
            return SimulatedRing(ring="locks", name=name, key=[], network=network, **about)

        a, b = await asyncio.gather(
            *(Ring.connecting(member(name, members=FOUNDERS[:2])) for name in "ab")
        )
        joining = member("d", join=["10.0.0.1:7000"], bind="10.0.0.4:7000", incarnation=7)
        d = await Ring.connecting(joining)
        for _ in range(50):
            async with d.token():
                await d.multicast(b"x" * 1000)
        await d.drain()
        await b.leave()
        await a.wait_for_members(2)
        network.silent.add(d.endpoint)
        while a.members != (a.address,):
            await a._driver.settled.wait()
        await asyncio.sleep(10.0)
        await a.leave()
        await d._close()

    lines = rings_lines(caplog, scenario())
    of_a = [line for line in lines if line.removeprefix("! ").startswith("a.0 ")]
    assert of_a[0] == "a.0 has founded ring 'locks' at 10.0.0.1:7000: view 1 [a.0 b.0]"
    assert of_a[1] == "a.0 is in ring 'locks': view 2 [a.0 d.7 b.0]: d.7 joined"
    assert of_a[2].startswith("a.0 is in ring 'locks': view 3 [a.0 d.7]: b.0: it left, or did not")
    assert of_a[-2:] == [
        "a.0 is in ring 'locks': view 4 [a.0]: d.7: it did not answer",
        "a.0 is out of ring 'locks'",
    ]
    assert "d.7 has joined ring 'locks' at 10.0.0.4:7000: view 2 [a.0 d.7 b.0]" in lines
    assert any(line.startswith("b.0 is out of ring 'locks'") for line in lines)
    assert any(
        line.startswith("! d.7 has not had the token of ring 'locks' for so long that it asks")
        for line in lines
    )
    assert len(of_a) <= 12


def test_a_member_of_a_ring_that_comes_back_says_so(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    async def scenario() -> None:
        network = loop.SimulatedNetwork()

        def member(name: str) -> SimulatedRing:
            return SimulatedRing(
                ring="locks", name=name, key=[], members=FOUNDERS, network=network,
                state_file=tmp_path / name,
            )  # fmt: skip

        members = await asyncio.gather(*(Ring.connecting(member(name)) for name in "abc"))
        await members[2]._close()  # as if it was killed
        back = await Ring.connecting(member("c"))
        for each in (*members[:2], back):
            await each._close()

    lines = rings_lines(caplog, scenario())
    assert "c.0 is back in ring 'locks' at 10.0.0.3:7000: view 1 [a.0 b.0 c.0]" in lines


def test_the_figures_of_a_ring_are_those_of_the_moment_and_prometheus_reads_them() -> None:
    async def scenario() -> None:
        network = loop.SimulatedNetwork()
        settings = SimulatedRing(
            ring="locks", name="a", members=FOUNDERS[:1], key=[], network=network
        )
        async with Ring.connecting(settings) as ring:
            async with ring.token():
                await ring.multicast(b"x" * 10)
                held = ring.metrics()
            await ring.drain()
            metrics = ring.metrics()
        assert (held.ring, held.member, held.status) == ("locks", "a.0", "member")
        assert (held.locked, held.token, held.agreement) == (True, "eating", True)
        assert (held.pending, metrics.pending, metrics.locked) == (1, 0, False)
        assert (metrics.view, metrics.members, metrics.epoch) == (1, 1, 0)
        assert metrics.passes >= held.passes
        assert metrics.inbox > 0
        read = samples(metrics.prometheus())
        assert read["raincheck_token_here", ""] == 1
        assert read["raincheck_inbox_bytes", ""] == metrics.inbox
        for event, count in metrics.events.items():
            assert read["raincheck_events_total", event] == count
        assert ring.metrics().status == "left"

    loop.run(scenario())


def test_every_figure_of_a_ring_is_exported() -> None:
    metrics = RingMetrics(
        ring="locks", member="a.0", status="member", view=2, members=3, agreement=True,
        token="starving", locked=False, epoch=4, passes=5, pending=6, waiting_for=7, inbox=8,
        sent=9, received=10, events={"given_up": 11}, locks_held=12, locks_waited_for=13,
        locks_acquired=14, locks_lost=15, lock_wait_ms=16,
    )  # fmt: skip
    text = metrics.prometheus()

    assert sorted(samples(text).values()) == [0, 0, 1, 1, 1, *range(2, 17)]
    assert 'raincheck_up{ring="locks",member="a.0"} 1' in text


def test_every_figure_is_exported_and_names_may_have_any_letters() -> None:
    metrics = Metrics(
        group='a "group"\\of\nours', member="m.0", status="joining", view=1, members=2,
        coordinator=False, blocked=True, pending=3, waiting_for=4, inbox=5, buffered=6, sent=7,
        received=8, events={"naks": 9}, primary=True,
    )  # fmt: skip
    text = metrics.prometheus()

    read = samples(text)
    assert sorted(read.values()) == [0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    [labels] = {
        (sample.labels["group"], sample.labels["member"])
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert labels == (metrics.group, "m.0")
