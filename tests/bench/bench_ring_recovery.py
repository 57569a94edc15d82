"""The time for which a ring stands still when a member dies, against what its time-outs imply.

    python tests/bench/bench_ring_recovery.py            3, 8 and 16 members
    python tests/bench/bench_ring_recovery.py --quick    fewer deaths

Who dies is the member that has the token at that moment, or one that has it not. Measured is the
time until somebody has made the token anew, and until all who are left have agreed on a view
without the dead one, in milliseconds and in rounds of the token; and the ratio of the whole to
what the time-outs imply:

    it had the token    hungry + (n - 1) eating: its predecessor, who has the newest copy, starves
    it had it not       (n - 1) eating, at most, until the token is sent to it
    then, both          give_up + give_up_again, as the 911 comes by the dead one twice, with one
                        `retransmit_after` for each

What the datagrams take is not in the sum: two rounds of the 911, and three of the token.

Once with real sockets on the loopback interface, all members in one process that dies for one of
them, and once in virtual time, where trips take 0.1 ms and nothing else takes time.
"""

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from random import Random
from typing import Any, NamedTuple

from bench_total_order import free_ports

from raincheck.impl.aio.ring import Ring
from raincheck.impl.raincore.core import Raincore
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.simulation.ring import Link, RingSimulator

CONFIG = RingConfig()


class Recovery(NamedTuple):
    """What one death has cost."""

    remade: float
    """Seconds until the token was made anew."""
    agreed: float
    """Seconds until all who are left had agreed."""
    rounds: float
    """Rounds of the token between the two."""


def bound(members: int, *, holder: bool) -> float:
    """Seconds that the time-outs imply."""
    config = CONFIG
    rests = (members - 1) * config.eating
    give_ups = config.give_up + config.give_up_again + 2 * config.retransmit_after
    return rests + give_ups + (config.hungry if holder else 0.0)


class Watch:
    """Tells from the members' cores how far the ring has recovered."""

    def __init__(self, cores: Sequence[Raincore], dead: Raincore) -> None:
        self._cores = [core for core in cores if core is not dead]
        self._left = {core.me for core in self._cores}
        self._epoch = max(core.last_token.epoch for core in cores)

    def remade(self) -> Raincore | None:
        """Who has made the token anew."""
        return next((core for core in self._cores if core.last_token.epoch > self._epoch), None)

    def agreed(self) -> bool:
        """Whether all who are left have agreed that they are."""
        return all(
            core.view_state == "agreement" and set(core.last_token.nodelist) == self._left
            for core in self._cores
        )

    def seq(self) -> int:
        """The number of the token."""
        return max(core.last_token.seq for core in self._cores)


# ------------------------------------------------------------------ virtual time


def in_virtual_time(members: int, *, holder: bool, seed: int) -> Recovery:
    """One death in the simulator."""
    names = names_of(members)
    ring = RingSimulator(seed, link=Link(delay=(0.0001, 0.0001)), config=CONFIG)
    ring.found(*names)
    ring.run_until(lambda: ring.in_one_view(*names))
    random = Random(seed)
    ring.run(random.random() * 2 * members * CONFIG.eating)
    cores = [ring[name].core for name in names]
    ring.run_until(lambda: any(core.token_state == "eating" for core in cores))
    dead = random.choice([core for core in cores if (core.token_state == "eating") == holder])
    watch, start = Watch(cores, dead), ring.now
    ring.crash(dead.me.node)
    ring.run_until(lambda: watch.remade() is not None)
    remade, first = ring.now, watch.seq()
    ring.run_until(watch.agreed)
    return Recovery(remade - start, ring.now - start, (watch.seq() - first) / (members - 1))


# ------------------------------------------------------------------ real sockets


async def found(names: Sequence[str], exits: AsyncExitStack) -> list[Ring]:
    """Found a ring and wait until all have agreed."""
    places = zip(names, free_ports(len(names)), strict=True)
    founders = [f"{name}@127.0.0.1:{port}" for name, port in places]
    settings: dict[str, Any] = {"members": founders, "config": CONFIG, "timeout": 60}
    connecting = [Ring.connect("bench", name=name, **settings) for name in names]
    rings = list(await asyncio.gather(*connecting))
    for ring in rings:
        exits.push_async_callback(ring._driver.close)
        await ring.wait_for_members(len(names), timeout=60)
    return rings


async def when(rings: Sequence[Ring], condition: Callable[[], bool]) -> float:
    """Wait until a condition holds after an event at any of them; return the time."""
    holds = asyncio.Event()
    before = [ring._driver.on_settled for ring in rings]

    def look() -> None:
        if condition():
            holds.set()

    for ring in rings:
        ring._driver.on_settled = look
    try:
        look()
        async with asyncio.timeout(60):
            await holds.wait()
        return time.perf_counter()
    finally:
        for ring, look_before in zip(rings, before, strict=True):
            ring._driver.on_settled = look_before


async def with_sockets(members: int, *, holder: bool, seed: int) -> Recovery:
    """One death on the loopback interface."""
    random = Random(seed)
    async with AsyncExitStack() as exits:
        rings = await found(names_of(members), exits)
        await asyncio.sleep(random.random() * 2 * members * CONFIG.eating)
        cores = [ring.node.core for ring in rings]
        await when(rings, lambda: any(core.token_state == "eating" for core in cores))
        dead = random.choice(
            [r for r in rings if (r.token_state == "eating") == holder]
        )  # fmt: skip
        watch, start = Watch(cores, dead.node.core), time.perf_counter()
        await dead._driver.close()
        left = [ring for ring in rings if ring is not dead]
        remade = await when(left, lambda: watch.remade() is not None)
        first = watch.seq()
        agreed = await when(left, watch.agreed)
        return Recovery(remade - start, agreed - start, (watch.seq() - first) / (members - 1))


# ------------------------------------------------------------------ what is printed


def names_of(members: int) -> list[str]:
    """Names of so many members."""
    return [f"m{number:02}" for number in range(members)]


def show(where: str, members: int, holder: bool, recoveries: Sequence[Recovery]) -> None:
    """Print one line."""
    implied = bound(members, holder=holder)
    remade = [recovery.remade for recovery in recoveries]
    agreed = [recovery.agreed for recovery in recoveries]
    rounds = [recovery.rounds for recovery in recoveries]
    print(
        f"{where:8} {members:3} members, it had the token{'' if holder else ' not':4}: token made "
        f"anew after {1000 * statistics.median(remade):6.0f} ms, all agreed after "
        f"{1000 * statistics.median(agreed):6.0f} ms (max {1000 * max(agreed):6.0f}), "
        f"{statistics.median(rounds):4.2f} rounds later (max {max(rounds):4.2f}); implied "
        f"{1000 * implied:6.0f} ms, ratio {statistics.median(agreed) / implied:5.3f} "
        f"(max {max(agreed) / implied:5.3f})  [{len(agreed)} deaths]",
        flush=True,
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the deaths")
    parser.add_argument("--sizes", default="3,8,16", help="members (default 3,8,16)")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, all members in one process, {CONFIG}")
    for members in map(int, options.sizes.split(",")):
        for holder in (True, False):
            deaths = range(1, 5 if options.quick else 21)
            virtual = [in_virtual_time(members, holder=holder, seed=seed) for seed in deaths]
            show("virtual", members, holder, virtual)
            deaths = range(1, 2 if options.quick else 6)
            real = [
                asyncio.run(with_sockets(members, holder=holder, seed=seed)) for seed in deaths
            ]  # fmt: skip
            show("sockets", members, holder, real)


if __name__ == "__main__":
    main()
