"""The cost of a key: plain, authenticated and encrypted groups, in turns in one run.

    python tests/bench/bench_key.py                 groups and rings at 100 and 1,000 bytes
    python tests/bench/bench_key.py --rounds 3 --scale 0.2 --only throughput

Three members on the loopback interface, as in `bench_total_order.py`, which also checks that all of
them deliver everything in one order. Each round measures the three ways one after the other, so a
machine that has other work slows all of them down; the ratios are of the rounds' medians.
`cpu` is the processor time of all members for a message. The passes of the AEAD that a message
needs are measured alone in the same round: what the group seals and opens for it, in bundles of the
size that this run had.
"""

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections import defaultdict
from contextlib import AsyncExitStack
from typing import Any

from bench_ring_multicast import process as on_the_ring
from bench_total_order import MEMBERS, Case, free_ports, measure
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from raincheck.impl.aio.channel import Channel

KEY = bytes(range(32))
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "authenticated": {"key": KEY, "encrypt": False},
    "encrypted": {"key": KEY},
}
PASSES = (2 * 5 + 3) / 3
"""Seals and opens of a message: FORWARD and DATA of two members, DATA of the coordinator."""


def seconds_of(aead: Any, size: int, *, encrypt: bool) -> float:
    """Processor seconds of sealing, or opening, one datagram of that size."""
    nonce, head, data = bytes(12), bytes(36), os.urandom(size)
    times = max(200, 20_000_000 // (size + 2_000))
    given, with_it = (data, head) if encrypt else (b"", head + data)
    start = time.process_time()
    for _ in range(times):
        aead.encrypt(nonce, given, with_it)
    return (time.process_time() - start) / times


def compare_aeads() -> None:
    """Print what one pass of each AEAD costs."""
    for size in (100, 1_000, 8_000, 60_000):
        row = []
        for name, aead in (
            ("AES-128-GCM", AESGCM(bytes(16))),
            ("AES-256-GCM", AESGCM(bytes(32))),
            ("ChaCha20-Poly1305", ChaCha20Poly1305(bytes(32))),
        ):
            both = [seconds_of(aead, size, encrypt=e) * 1e6 for e in (True, False)]
            row.append(f"{name} {both[0]:6.2f} us, only authenticated {both[1]:6.2f} us")
        print(f"{size:6} bytes: " + "   ".join(row), flush=True)


def throughput(size: int, count: int, batch: int, rounds: int) -> None:
    """Print messages per second and processor time of the three ways, and their ratios."""
    rates, cpus, alone = defaultdict(list), defaultdict(list), []
    for _ in range(rounds):
        for way, options in WAYS.items():
            case = Case("udp", size, count, free_ports(MEMBERS + 1), batch=batch, **options)
            reports = measure(case)
            rates[way].append(min(each["delivered"] / each["seconds"] for each in reports))
            cpus[way].append(sum(each["cpu"] for each in reports) / (count * MEMBERS) * 1e6)
        datagrams = sum(each["counters"]["transport.received"] for each in reports)
        received = sum(each["delivered"] for each in reports) * (PASSES - 1) / MEMBERS
        each = max(1.0, received / datagrams)  # messages in a datagram
        bundle = int(min(60_000, each * (size + 4)))
        alone.append(PASSES * seconds_of(AESGCM(KEY), bundle, encrypt=True) / each * 1e6)
    way_of_sending = "send" if batch == 1 else f"send_many({batch})"
    plain, passes = statistics.median(cpus["plain"]), statistics.median(alone)
    for way in WAYS:
        rate, cpu = statistics.median(rates[way]), statistics.median(cpus[way])
        print(
            f"{size:5} B {way_of_sending:15} {way:14} {rate:10,.0f} msg/s, ratio "
            f"{rate / statistics.median(rates['plain']):5.3f}   cpu {cpu:6.2f} us, ratio "
            f"{plain / cpu:5.3f}   passes alone {passes:5.2f} us, beyond them "
            f"{(cpu - plain - passes) / plain * 100:+5.1f} %",
            flush=True,
        )


def latency(size: int, count: int, rounds: int) -> None:
    """Print the time from `send` to delivery at 1,000 messages per second of one sender."""
    medians = defaultdict(list)
    for _ in range(rounds):
        for way, options in WAYS.items():
            case = Case(
                "udp", size, count, free_ports(MEMBERS + 1), senders=1, rate=1_000, **options
            )
            waits = [wait / 1e3 for each in measure(case) for wait in each["latencies"]]
            medians[way].append(statistics.median(waits))
    plain = statistics.median(medians["plain"])
    for way, values in medians.items():
        pairs = [a - b for a, b in zip(values, medians["plain"], strict=True)]
        print(
            f"{size:5} B latency p50 {way:14} {statistics.median(values):8.1f} us, "
            f"{statistics.median(values) - plain:+6.1f} us beside plain; by rounds "
            f"{' '.join(f'{pair:+.1f}' for pair in pairs)}",
            flush=True,
        )


def ring(size: int, count: int, rounds: int) -> None:
    """Print messages per second and processor time of rings of the three ways, and their ratios."""
    rates, cpus = defaultdict(list), defaultdict(list)
    for _ in range(rounds):
        for way, options in WAYS.items():
            case = Case("udp", size, count, free_ports(MEMBERS + 1), **options)
            reports = measure(case, on_the_ring)
            rates[way].append(min(each["delivered"] / each["seconds"] for each in reports))
            cpus[way].append(sum(each["cpu"] for each in reports) / (count * MEMBERS) * 1e6)
    for way in WAYS:
        rate, cpu = statistics.median(rates[way]), statistics.median(cpus[way])
        print(
            f"{size:5} B ring            {way:14} {rate:10,.0f} msg/s, ratio "
            f"{rate / statistics.median(rates['plain']):5.3f}   cpu {cpu:6.2f} us, ratio "
            f"{statistics.median(cpus['plain']) / cpu:5.3f}",
            flush=True,
        )


async def groups(exits: AsyncExitStack) -> dict[str, list[Channel]]:
    """Connect a group for each way, all in this process."""
    found: dict[str, list[Channel]] = {}
    for way, options in WAYS.items():
        found[way] = channels = []
        for name in "abc":
            hosts = [channel.endpoint for channel in channels]
            settings = {"key": [], **options, "initial_hosts": hosts, "name": name}
            connecting = Channel.connect(f"bench {way}", **settings)
            channels.append(await exits.enter_async_context(connecting))
        await channels[0].wait_for_members(MEMBERS, timeout=60)
    return found


async def path(size: int, count: int) -> None:
    """Print the processor time from `send` to delivery at all members, message by message.

    All members are in this process, so nothing waits for a processor, and the three ways take
    turns with each message. It is what a key adds to the latency, and more: both receivers' work.
    """
    spent: dict[str, list[float]] = {way: [] for way in WAYS}
    async with AsyncExitStack() as exits:
        members = await groups(exits)
        payload = bytes(size)
        for _ in range(count):
            for way, channels in members.items():
                start = time.process_time_ns()
                await channels[1].send(payload)
                for channel in channels:
                    await anext(channel)
                spent[way].append((time.process_time_ns() - start) / 1e3)
    plain = statistics.median(spent["plain"])
    for way, times in spent.items():
        here = statistics.median(times)
        print(
            f"{size:5} B path p50    {way:14} {here:8.1f} us, {here - plain:+6.1f} us beside plain",
            flush=True,
        )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("aead", "throughput", "latency", "path", "ring"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the messages")
    parser.add_argument("--sizes", default="100,1000", help="payload bytes (default 100,1000)")
    options = parser.parse_args()
    print(f"{MEMBERS} members, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    if options.only in (None, "aead"):
        compare_aeads()
    for size in map(int, options.sizes.split(",")):
        if options.only in (None, "throughput"):
            for batch, count in ((1, 100_000), (100, 300_000)):
                count = int(count * options.scale) // batch * batch
                throughput(size, count, batch, options.rounds)
        if options.only in (None, "latency"):
            latency(size, int(3_000 * options.scale), options.rounds)
        if options.only in (None, "ring"):
            ring(size, int(50_000 * options.scale), options.rounds)
        if options.only in (None, "path"):
            asyncio.run(path(size, int(5_000 * options.scale)))


if __name__ == "__main__":
    main()
