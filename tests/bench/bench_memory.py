"""The memory of a member over time: three member processes, ten million messages.

    python tests/bench/bench_memory.py            10,000,000 messages
    python tests/bench/bench_memory.py --quick    a tenth of them

Prints resident memory and the number of datagrams kept, at every twentieth of the way, and the
ratio of the last quarter to the second one (the first fills caches and pools).
"""

import argparse
import asyncio
import multiprocessing
import os
import statistics
import sys
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

from raincheck.impl.aio.channel import Channel

MEMBERS = 3
BATCH = 100
STEPS = 20


def resident() -> float:
    """Megabytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def member(
    rank: int, hosts: list[str], total: int, barrier: Barrier, out: Connection
) -> None:
    """Send this member's share, deliver everybody's, and tell how large it is meanwhile."""
    loop = asyncio.get_running_loop()
    async with Channel.connect(
        "memory", name=f"m{rank}", bind=hosts[rank], initial_hosts=hosts
    ) as channel:
        await channel.wait_for_members(MEMBERS, timeout=60)
        await loop.run_in_executor(None, barrier.wait)
        batch = [bytes(100)] * BATCH

        async def load() -> None:
            for _ in range(total // MEMBERS // BATCH):
                await channel.send_many(batch)

        sending = asyncio.create_task(load())
        expected = total // MEMBERS // BATCH * BATCH * MEMBERS
        delivered, mark, rows = 0, expected // STEPS, []
        async for each in channel.batches():
            delivered += each.count
            if delivered >= mark:
                rows.append((delivered, resident(), channel._stack.buffered()))
                mark += expected // STEPS
            if delivered == expected:
                break
        await sending
        out.send(rows)
        await loop.run_in_executor(None, barrier.wait)


def process(rank: int, hosts: list[str], total: int, barrier: Barrier, out: Connection) -> None:
    """Run one member in a process of its own."""
    asyncio.run(member(rank, hosts, total, barrier, out))


def main() -> None:
    """Run the group and print what became of its memory."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the messages")
    total = 1_000_000 if parser.parse_args().quick else 10_000_000
    sys.path.insert(0, os.path.dirname(__file__))
    from bench_total_order import free_ports

    hosts = [f"127.0.0.1:{port}" for port in free_ports(MEMBERS)]
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(MEMBERS)
    pipes, workers = [], []
    for rank in range(MEMBERS):
        mine, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=process, args=(rank, hosts, total, barrier, theirs))
        worker.daemon = True
        worker.start()
        theirs.close()
        pipes.append(mine)
        workers.append(worker)
    try:
        answers = [pipe.recv() for pipe in pipes]
    except EOFError:
        sys.exit("a member died")
    for worker in workers:
        worker.join(timeout=20)
        worker.kill()
    for rank, rows in enumerate(answers):
        for delivered, megabytes, kept in rows[:: len(rows) // 5 or 1]:
            print(f"m{rank} {delivered:11,} delivered  {megabytes:7.1f} MB  {kept:5} datagrams")
        sizes = [megabytes for _, megabytes, _ in rows]
        quarter = len(sizes) // 4
        early = statistics.median(sizes[quarter : 2 * quarter])
        late = statistics.median(sizes[-quarter:])
        print(f"m{rank} last quarter / second quarter: {late / early:.3f}")


if __name__ == "__main__":
    main()
