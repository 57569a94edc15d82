"""The ring's lock, and a lone sender's multicast: how soon the token comes when it is wanted.

    python tests/bench/bench_ring_lock.py                      3 and 8 members, about a minute
    python tests/bench/bench_ring_lock.py --tree /path/main    another tree's ring beside it
    python tests/bench/bench_ring_lock.py --named              named locks beside the ring's own

Members are processes on one machine, which talk over the loopback interface. In one run:

- uncontended: each time one member, another one than before, acquires the lock while nobody else
  wants it, after a pause in which the token rests;
- the same member again and again, with such pauses;
- contended: all acquire as fast as they can, for two seconds;
- 500 locks by 50 tasks of one member;
- a lone sender of 1,000 messages per second, from the call to the delivery at each member;
- the processor time that all members take for a contended lock, and for a message of that sender;
- idle: the processor time of each member while nothing is wanted;
- with `--named` the first four of a named lock too.

With `--tree` the members of that tree (its `.venv` runs them) are measured in the same run, one
system after the other in each of the rounds; only ratios of such figures mean anything.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from raincheck.impl.aio.ring import Ring

PAUSE = 0.15
"""Seconds between two uncontended locks."""


def cpu() -> float:
    """Return the processor time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def sleep_until(start: float) -> None:
    """Sleep until that monotonic time, which all processes share."""
    await asyncio.sleep(max(0.0, start - time.monotonic()))


async def acquire(ring: Ring, name: str = "") -> float:
    """Take the lock, or that of a name, and release it; return the milliseconds that it took."""
    start = time.perf_counter()
    async with ring.lock(name, timeout=30) if name else ring.token(timeout=30):
        took = time.perf_counter() - start
    return took * 1000


async def member(rank: int, ports: list[int], begin: float, pick: list[int]) -> dict[str, Any]:
    """Be one member; all follow the same timetable, which begins at `begin`."""
    count = len(ports)
    members = [f"m{n}@127.0.0.1:{port}" for n, port in enumerate(ports)]
    result: dict[str, Any] = {}
    async with Ring.connect("bench", name=f"m{rank}", members=members) as ring:
        await ring.wait_for_members(count, timeout=30)
        await sleep_until(begin)
        start = begin
        waits = []
        for turn, who in enumerate(pick):
            await sleep_until(start + turn * PAUSE)
            if who == rank:
                waits.append(await acquire(ring))
        result["uncontended"] = waits
        start += (len(pick) + 1) * PAUSE
        await sleep_until(start)
        waits = []
        for turn in range(20):
            await sleep_until(start + turn * 0.02)
            if rank == 0:
                waits.append(await acquire(ring))
        result["again"] = waits
        start += 4.0
        await sleep_until(start)
        waits, spent = [], cpu()
        while time.monotonic() < start + 2.0:
            waits.append(await acquire(ring))
        result["contended cpu"] = cpu() - spent
        result["contended"] = waits
        start += 4.0
        await sleep_until(start)
        if rank == 0 and count == 3:

            async def task() -> None:
                for _ in range(10):
                    await acquire(ring)

            before = time.perf_counter()
            await asyncio.wait_for(asyncio.gather(*[task() for _ in range(50)]), 60)
            result["tasks"] = time.perf_counter() - before
        start += 4.0 if len(sys.argv) < 6 else float(sys.argv[5])
        if sys.argv[6:] == ["named"]:
            await sleep_until(start)
            result["named"] = await named(ring, rank, start, pick)
            start += len(pick) * PAUSE + 12.0
        await sleep_until(start)
        spent = cpu()
        result["lone"] = await lone(ring, rank, start)
        result["lone cpu"] = cpu() - spent
        start += 3.0
        await sleep_until(start)
        spent = cpu()
        await asyncio.sleep(3.0)
        result["idle"] = (cpu() - spent) / 3.0 * 100
        await sleep_until(start + 4.0)
    return result


async def named(ring: Ring, rank: int, start: float, pick: list[int]) -> dict[str, Any]:
    """Measure a named lock as the ring's own was: the waits of each kind, in milliseconds."""
    waits: dict[str, Any] = {"uncontended": [], "again": [], "contended": []}
    for turn, who in enumerate(pick):
        await sleep_until(start + turn * PAUSE)
        if who == rank:
            waits["uncontended"].append(await acquire(ring, "x"))
    start += len(pick) * PAUSE
    for turn in range(20):
        await sleep_until(start + turn * 0.02)
        if rank == 0:
            waits["again"].append(await acquire(ring, "x"))
    start += 1.0
    await sleep_until(start)
    spent = cpu()
    while time.monotonic() < start + 2.0:
        waits["contended"].append(await acquire(ring, "x"))
    waits["cpu"] = cpu() - spent
    start += 4.0
    await sleep_until(start)
    if rank == 0:

        async def task() -> None:
            for _ in range(10):
                await acquire(ring, "x")

        before = time.perf_counter()
        await asyncio.gather(*[task() for _ in range(50)])
        waits["tasks"] = time.perf_counter() - before
    return waits


def figures_of(reports: list[dict[str, Any]]) -> dict[str, float]:
    """Make a figure of each kind of what the members have measured of a named lock."""
    contended = [wait for each in reports for wait in each["contended"]]
    return {
        "named uncontended p50 ms": statistics.median(w for r in reports for w in r["uncontended"]),
        "named again p50 ms": statistics.median(reports[0]["again"]),
        "named contended /s": len(contended) / 2.0,
        "named contended p50 ms": statistics.median(contended),
        "processor ms of all per contended named lock": 1000
        * sum(r["cpu"] for r in reports)
        / len(contended),
        "500 named locks s": reports[0]["tasks"],
    }


async def lone(ring: Ring, rank: int, start: float, messages: int = 1000) -> list[float]:
    """One member sends 1,000 messages in a second; return each one's milliseconds to here."""
    waits = []

    async def send() -> None:
        for number in range(messages):
            await sleep_until(start + number / 1000)
            await ring.multicast(str(time.monotonic_ns()).encode())

    sending = asyncio.create_task(send()) if rank == 0 else None
    async for message in ring:
        waits.append((time.monotonic_ns() - int(message.payload)) / 1e6)
        if len(waits) == messages:
            break
    if sending is not None:
        await sending
    return waits


def free_ports(count: int) -> list[int]:
    """Return ports that are free at this moment."""
    from socket import AF_INET, SOCK_DGRAM, socket

    sockets = [socket(AF_INET, SOCK_DGRAM) for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def measure(python: str, count: int, locks: int, tasks: float, *more: str) -> dict[str, Any]:
    """Run so many members of one tree, and make one figure of each kind."""
    ports = free_ports(count)
    pick = [turn * (count - 1) % count for turn in range(locks)]
    begin = time.monotonic() + 4.0 + count / 2
    words = [json.dumps(ports), str(begin), json.dumps(pick), str(tasks), *more]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    processes = [
        subprocess.Popen(
            [python, __file__, f"member={rank}", *words], stdout=subprocess.PIPE, text=True, env=env
        )
        for rank in range(count)
    ]
    reports = [json.loads(process.communicate(timeout=180)[0]) for process in processes]
    joined = {key: [w for r in reports for w in r[key]] for key in ("uncontended", "lone")}
    of_names = figures_of([each["named"] for each in reports]) if more else {}
    return {
        **of_names,
        "uncontended p50 ms": statistics.median(joined["uncontended"]),
        "again p50 ms": statistics.median(reports[0]["again"]),
        "contended /s": sum(len(r["contended"]) for r in reports) / 2.0,
        "contended p50 ms": statistics.median(w for r in reports for w in r["contended"]),
        "processor ms of all per contended lock": 1000
        * sum(r["contended cpu"] for r in reports)
        / sum(len(r["contended"]) for r in reports),
        "processor ms of all per message of a lone sender": sum(r["lone cpu"] for r in reports),
        "500 locks s": reports[0].get("tasks", 0.0),
        "lone sender p50 ms": statistics.median(joined["lone"]),
        "lone sender p99 ms": statistics.quantiles(joined["lone"], n=100)[98],
        "idle % of a processor": max(r["idle"] for r in reports),
    }


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tree", help="a tree with another version of the ring")
    parser.add_argument("--named", action="store_true", help="measure named locks too")
    parser.add_argument("--sizes", default="3,8", help="members (default 3,8)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--locks", type=int, default=60)
    options = parser.parse_args()
    systems = {"this tree": (sys.executable, 4.0)}
    if options.tree:
        # The tasks of the ring before wait for a round of the token each.
        systems["the other"] = (str(Path(options.tree) / ".venv/bin/python"), 50.0)
    for members in map(int, options.sizes.split(",")):
        for _ in range(options.rounds):
            for name, (python, tasks) in systems.items():
                more = ["named"] if options.named and name == "this tree" else []
                figures = measure(python, members, options.locks, tasks, *more)
                shown = ", ".join(f"{key} {value:.2f}" for key, value in figures.items())
                print(f"{members} members, {name}: {shown}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("member="):
        _, number, where, at, picked = sys.argv[:5] and ("", *sys.argv[1:5])
        answer = member(int(number.split("=")[1]), json.loads(where), float(at), json.loads(picked))
        print(json.dumps(asyncio.run(answer)))
    else:
        main()
