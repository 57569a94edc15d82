"""What each of the ring's presets costs: time to recover, and false alarms under load.

    python tests/bench/bench_ring_presets.py                 "fast", "lan" and "wan", some minutes
    python tests/bench/bench_ring_presets.py --seconds 10    shorter runs under load

Time to recover, with real sockets: a member dies that has the token, or one that has it not; until
all who are left have agreed (`bench_ring_recovery.py`). False alarms: three member processes, of
which each takes the lock twenty times a second, while as many other processes as `--load` says do
nothing but count. Nobody dies. A new epoch is a token that was given up though it was not lost; a
gap is a member that was not run for three quarters of `give_up`.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time

import bench_ring_recovery as recovery
from bench_total_order import free_ports

from raincheck.impl.aio.ring import Ring
from raincheck.impl.errors import RaincheckError
from raincheck.impl.ring.config import RECOVERIES, RingConfig

_BUSY = "while True:\n    sum(range(1000))"


async def member(preset: str, rank: int, ports: list[int], seconds: float) -> dict[str, float]:
    """Take the lock now and then; return what was noticed."""
    members = [f"m{n}@127.0.0.1:{port}" for n, port in enumerate(ports)]
    name = f"m{rank}"
    async with Ring.connect("bench", name=name, members=members, recovery=preset) as ring:
        await ring.wait_for_members(len(ports), timeout=60)
        begun, epoch, view = time.monotonic(), ring.metrics().epoch, ring.metrics().view
        waits = []
        while time.monotonic() < begun + seconds:
            before = time.perf_counter()
            try:
                async with ring.token(timeout=30):
                    waits.append(time.perf_counter() - before)
            except RaincheckError:
                waits.append(30.0)
            await asyncio.sleep(0.05)
        metrics = ring.metrics()
        return {
            "epochs": metrics.epoch - epoch,
            "views": metrics.view - view,
            "gaps": ring.counters.get("gaps", 0),
            "longest": max(waits),
        }


def false_alarms(preset: str, load: int, seconds: float) -> str:
    """Run three members beside so many busy processes."""
    ports = json.dumps(free_ports(3))
    busy = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(load)]
    try:
        members = [
            subprocess.Popen(
                [sys.executable, __file__, "member", preset, str(rank), ports, str(seconds)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(3)
        ]
        found = [json.loads(each.communicate(timeout=seconds + 120)[0]) for each in members]
    finally:
        for each in busy:
            each.kill()
            each.wait()
    minutes = seconds / 60
    return (
        f"{max(each['epochs'] for each in found) / minutes:6.1f} epochs, "
        f"{max(each['views'] for each in found) / minutes:6.1f} views and "
        f"{sum(each['gaps'] for each in found) / minutes:6.1f} gaps a minute, longest wait for the "
        f"lock {1000 * max(each['longest'] for each in found):6.0f} ms"
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--presets", default="fast,lan,wan")
    parser.add_argument("--sizes", default="3,8", help="members, for the time to recover")
    parser.add_argument("--deaths", type=int, default=3)
    parser.add_argument("--loads", default="0,4", help="busy processes beside the members")
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    for preset in options.presets.split(","):
        assert preset in RECOVERIES
        recovery.CONFIG = RingConfig.preset(preset)
        for count in map(int, options.sizes.split(",")):
            for holder in (True, False):
                took = [
                    asyncio.run(recovery.with_sockets(count, holder=holder, seed=seed)).agreed
                    for seed in range(1, options.deaths + 1)
                ]
                not_it = "" if holder else " not"
                print(
                    f"{preset:5} {count} members, it had the token{not_it:4}: all agreed "
                    f"after {1000 * statistics.median(took):6.0f} ms "
                    f"(max {1000 * max(took):6.0f})",
                    flush=True,
                )
        for load in map(int, options.loads.split(",")):
            print(
                f"{preset:5} beside {load} busy processes: "
                f"{false_alarms(preset, load, options.seconds)}",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["member"]:
        _, _, which, number, where, lasts = sys.argv
        answer = member(which, int(number), json.loads(where), float(lasts))
        print(json.dumps(asyncio.run(answer)))
    else:
        main()
