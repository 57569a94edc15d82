"""The cost of a view change under load: the longest pause in the deliveries around it.

    python tests/bench/bench_view_change.py             3, 5 and 10 members, joins and leaves
    python tests/bench/bench_view_change.py --quick     fewer of them

All members are in one process, each with a socket of its own on the loopback interface; every one
sends at a steady rate. Again and again one more member joins, and leaves. Prints, for each size of
group, the longest pause between two deliveries at a member within `AROUND` of the installation of
a view, against the longest pause in stretches of the same length without a view change.
Every member checks that no message is missing: a fast wrong answer is an error.
"""

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any

from raincheck.impl.aio.channel import Channel
from raincheck.impl.messages import View
from raincheck.impl.stack.config import StackConfig

AROUND = 0.1
"""Seconds before and after a view's installation that count as its change."""
LOAD = 600
"""Messages per second of all members together."""
STACK = StackConfig(join_timeout=0.5, join_interval=0.02, heartbeat=0.1, suspect_after=5.0)


class Watched:
    """One member, with the times of its deliveries and of its views."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.times: list[float] = []
        self.views: list[tuple[float, int]] = []
        self._next: dict[Any, int] = {}
        channel.on_view = self._view

    def _view(self, view: View) -> None:
        self.views.append((time.perf_counter(), view.id.counter))

    async def deliver(self) -> None:
        """Take what is delivered, and check that nothing is missing."""
        async for batch in self.channel.batches():
            self.times.append(time.perf_counter())
            expected = self._next.get(batch.sender, batch.first)
            if batch.first != expected:
                sys.exit(f"{self.channel.address} lacks {batch.sender}'s {expected}")
            self._next[batch.sender] = batch.first + batch.count

    def longest(self, start: float, stop: float) -> float | None:
        """The longest pause between deliveries in that time; None without any."""
        times = [at for at in self.times if start <= at <= stop]
        return max((b - a for a, b in pairwise(times)), default=None)


async def load(channel: Channel, rate: float, stop: asyncio.Event) -> None:
    """Send at a steady rate."""
    loop = asyncio.get_running_loop()
    start, number = loop.time(), 0
    while not stop.is_set():
        await channel.send(b"x" * 100)
        number += 1
        await asyncio.sleep(start + number / rate - loop.time())


async def measure(size: int, rounds: int) -> None:
    """Run one group and print its figures."""
    async with AsyncExitStack() as exits:
        channels: list[Channel] = []
        for rank in range(size):
            hosts = [channel.endpoint for channel in channels[:1]]
            connecting = Channel.connect(
                "bench", name=f"m{rank}", initial_hosts=hosts, stack=STACK, timeout=60.0
            )
            channels.append(await exits.enter_async_context(connecting))
        for channel in channels:
            await channel.wait_for_members(size, timeout=60)
        watched = [Watched(channel) for channel in channels]
        stop = asyncio.Event()
        takers = [asyncio.create_task(each.deliver()) for each in watched]
        loads = [asyncio.create_task(load(c, LOAD / size, stop)) for c in channels]
        await asyncio.sleep(1.0)
        quiet = [time.perf_counter()]
        await asyncio.sleep(3.0)
        quiet.append(time.perf_counter())
        start = quiet[0]
        steady = []
        while start < quiet[1]:
            steady += [each.longest(start, start + 2 * AROUND) for each in watched]
            start += 2 * AROUND
        changes: dict[str, list[float]] = {"join": [], "leave": []}
        for number in range(rounds):
            where = await one_more(channels, number, watched)
            for what, times in where.items():
                for each, at in times:
                    pause = each.longest(at - AROUND, at + AROUND)
                    if pause is not None:
                        changes[what].append(pause)
        stop.set()
        await asyncio.gather(*loads)
        show(size, "steady", [pause for pause in steady if pause is not None], 2 * AROUND)
        for what, pauses in changes.items():
            show(size, what, pauses, 2 * AROUND)
        for channel in reversed(channels):
            await channel.leave()
        await asyncio.gather(*takers)


async def one_more(
    channels: list[Channel], number: int, watched: list[Watched]
) -> dict[str, list[tuple[Watched, float]]]:
    """Let one more member join, and leave; return when each member installed those views."""
    for each in watched:
        each.views.clear()
    async with Channel.connect(
        "bench", name=f"joiner{number}", initial_hosts=[channels[0].endpoint], stack=STACK
    ):
        await asyncio.sleep(3 * AROUND)
    await until(lambda: all(len(each.views) >= 2 for each in watched))
    await asyncio.sleep(3 * AROUND)
    return {
        "join": [(each, each.views[0][0]) for each in watched],
        "leave": [(each, each.views[1][0]) for each in watched],
    }


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that has no signal of its own."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


def show(size: int, what: str, pauses: list[float], stretch: float) -> None:
    """Print one line."""
    cuts = statistics.quantiles([1000 * pause for pause in pauses], n=100)
    print(
        f"{size:3} members  {what:7} longest pause in {1000 * stretch:.0f} ms: p50 {cuts[49]:6.1f}"
        f"  p90 {cuts[89]:6.1f}  p99 {cuts[98]:6.1f} ms  ({len(pauses)} samples)",
        flush=True,
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the view changes")
    parser.add_argument("--sizes", default="3,5,10", help="members (default 3,5,10)")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, {LOAD} messages per second, all members in one process")
    for size in map(int, options.sizes.split(",")):
        asyncio.run(measure(size, 4 if options.quick else 20))


if __name__ == "__main__":
    main()
