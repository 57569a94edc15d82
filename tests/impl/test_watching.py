"""Watching a member: its life in the log, and its figures for Prometheus."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.metrics import Metrics
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


def test_every_figure_is_exported_and_names_may_have_any_letters() -> None:
    metrics = Metrics(
        group='a "group"\\of\nours', member="m.0", status="joining", view=1, members=2,
        coordinator=False, blocked=True, pending=3, waiting_for=4, inbox=5, buffered=6, sent=7,
        received=8, events={"naks": 9},
    )  # fmt: skip
    text = metrics.prometheus()

    read = samples(text)
    assert sorted(read.values()) == [0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    [labels] = {
        (sample.labels["group"], sample.labels["member"])
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert labels == (metrics.group, "m.0")
