"""The speed of multicast on the ring, against this project's SEQUENCER and corosync's CPG.

    python tests/bench/bench_ring_multicast.py            everything, about two minutes
    python tests/bench/bench_ring_multicast.py --quick    a tenth of the messages

Three member processes on one machine, one message per call, all in one run: messages that each
member delivers per second with all sending flat out, and the latency from the call to the delivery
at every member at 1,000 messages per second, of one sender and of all. Every member checks that
what it delivers is complete and in each sender's order, and all compare a checksum of the order.

What is compared is not equal. The ring and SEQUENCER are Python, each member one process with a
socket on the loopback interface. CPG is three corosync daemons in C, each in a network namespace
of its own, with a Python client over ctypes beside it (`corosync_cpg.py`, which says what it
needs); datagrams cross a bridge, and a message two more processes. All three have a total order.
SEQUENCER has virtual synchrony with it, and CPG has too; the ring has not (docs/ring.md).
Six processes of CPG share the cores that three of the others have.
"""

import argparse
import asyncio
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

import corosync_cpg
from bench_total_order import MEMBERS, STAMP, Case, Order, bare_datagrams, free_ports, measure

from raincheck.impl.aio.ring import Ring


async def member(case: Case, rank: int, barrier: Barrier) -> dict[str, Any]:
    """Found the ring with the others, send this member's share, deliver everybody's."""
    loop = asyncio.get_running_loop()
    founders = [f"m{n}@127.0.0.1:{port}" for n, port in enumerate(case.ports[:MEMBERS])]
    sealing = {"key": case.key, "encrypt": case.encrypt}
    async with Ring.connect("bench", name=f"m{rank}", members=founders, **sealing) as ring:
        await ring.wait_for_members(MEMBERS, timeout=60)
        await loop.run_in_executor(None, barrier.wait)
        deliver = asyncio.create_task(delivering(ring, case))
        start, spent = time.perf_counter(), time.process_time()
        if rank < case.senders:
            await (paced if case.rate else flat_out)(ring, case)
        report = await deliver
        report["seconds"] = time.perf_counter() - start
        report["cpu"] = time.process_time() - spent
        report["counters"] = dict(ring.counters)
        await loop.run_in_executor(None, barrier.wait)
    return report


async def flat_out(ring: Ring, case: Case) -> None:
    """Send as fast as the ring takes it."""
    payload = bytes(case.size)
    for _ in range(case.count):
        await ring.multicast(payload)


async def paced(ring: Ring, case: Case) -> None:
    """Send at a steady rate, each message stamped with the time of its sending."""
    loop = asyncio.get_running_loop()
    rest = bytes(case.size - STAMP.size)
    start = loop.time()
    for number in range(case.count):
        await asyncio.sleep(start + number / case.rate - loop.time())
        await ring.multicast(STAMP.pack(time.perf_counter_ns()) + rest)


async def delivering(ring: Ring, case: Case) -> dict[str, Any]:
    """Deliver what all send; check each sender's order; return a checksum of the whole order."""
    total = case.count * case.senders
    order, waits = Order(), []
    async for message in ring:
        if case.rate:
            waits.append(time.perf_counter_ns() - STAMP.unpack_from(message.payload)[0])
        order.add(message.sender, message.seqno, 1)
        if len(message.payload) != case.size:
            raise AssertionError(f"{len(message.payload)} bytes, {case.size} were sent")
        if order.delivered == total:
            break
    order.end_run()
    return {"delivered": total, "checksum": order.checksum, "latencies": waits}


def process(case: Case, rank: int, barrier: Barrier, answer: Connection) -> None:
    """Run one member in a process of its own."""
    try:
        answer.send(asyncio.run(member(case, rank, barrier)))
    except BaseException as problem:
        answer.send({"error": repr(problem)})
        raise


def of_processes(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Make one figure of the members' reports."""
    waits = sorted(wait / 1e6 for report in reports for wait in report["latencies"])
    cuts = statistics.quantiles(waits, n=100) if waits else [0.0] * 99
    rate = min(report["delivered"] / report["seconds"] for report in reports)
    return {"rate": rate, "p50": cuts[49], "p99": cuts[98]}


def case_of(size: int, count: int, rate: int, senders: int) -> Case:
    """The same case for the ring and for SEQUENCER."""
    ports = free_ports(MEMBERS + 1)
    return Case("udp", size, count, ports, senders=senders, rate=rate)


def ring(size: int, count: int, rate: int, senders: int) -> dict[str, Any]:
    """Measure the ring."""
    return of_processes(measure(case_of(size, count, rate, senders), process))


def sequencer(size: int, count: int, rate: int, senders: int) -> dict[str, Any]:
    """Measure the Channel."""
    return of_processes(measure(case_of(size, count, rate, senders)))


def cpg(size: int, count: int, rate: int, senders: int) -> dict[str, Any]:
    """Measure corosync."""
    return corosync_cpg.measure(
        nodes=MEMBERS, count=count, size=size, rate=rate, senders=senders
    )  # fmt: skip


SYSTEMS: dict[str, Callable[[int, int, int, int], dict[str, Any]]] = {
    "ring": ring,
    "SEQUENCER": sequencer,
    "corosync CPG": cpg,
}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the messages")
    parser.add_argument("--sizes", default="100,1000", help="payload bytes (default 100,1000)")
    parser.add_argument("--only", choices=[name.split()[-1] for name in SYSTEMS])
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    multiprocessing.freeze_support()
    systems = [name for name in SYSTEMS if options.only in (None, name.split()[-1])]
    if "corosync CPG" in systems:
        try:
            corosync_cpg.measure(nodes=MEMBERS, count=10)
        except corosync_cpg.Unavailable as problem:
            systems.remove("corosync CPG")
            print(f"corosync CPG is skipped: {problem}")
    print(f"{MEMBERS} members, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    for size in map(int, options.sizes.split(",")):
        for name in systems:
            bare = bare_datagrams(size)
            count = (30_000 if "CPG" in name else 100_000) // scale
            figure = SYSTEMS[name](size, count, 0, MEMBERS)
            print(
                f"{name:13} {size:5} B  {figure['rate']:9,.0f} msg/s per member "
                f"{figure['rate'] * size / 1e6:6.1f} MB/s  "
                f"ratio to bare UDP datagrams {figure['rate'] / bare:6.3f}",
                flush=True,
            )
    for senders in (1, MEMBERS):
        for name in systems:
            figure = SYSTEMS[name](100, 10_000 // senders // scale, 1000 // senders, senders)
            print(
                f"{name:13}   100 B  1000 msg/s of {senders} senders: latency "
                f"p50 {figure['p50']:7.3f}  p99 {figure['p99']:7.3f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
