"""The speed of total order: three member processes on the loopback interface.

    python tests/bench/bench_total_order.py            everything, a minute or two
    python tests/bench/bench_total_order.py --quick    a few seconds each
    python tests/bench/bench_total_order.py --only throughput --transport tcp --sizes 100
    python tests/bench/bench_total_order.py --only throughput --members 8
    python tests/bench/bench_total_order.py --only safe        safe beside agreed delivery, in turns
    python tests/bench/bench_total_order.py --only total       TOTAL beside SEQUENCER, in turns

Prints, for each transport and payload size, the messages that each member delivers per second,
with the ratio to what the bare transport carries in datagrams of the same size on this machine at
this moment (so that figures of different machines can be compared): by `send` alone, by `send` with
a round of the event loop after every 64, and by `send_many`. Then the latency at 1,000 messages
per second, from `send` to delivery at every member; the ratio of tracing on to tracing off; and
those of safe delivery, and of TOTAL, to agreed delivery by SEQUENCER, of three rounds in which they
take turns.
The processor time for each message, at all members together, hardly depends on what else the
machine does.
Every member checks that what it delivers is complete and in each sender's order, and all compare
a checksum of the whole order: a fast wrong answer is an error.
"""

import argparse
import asyncio
import multiprocessing
import os
import socket
import statistics
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

from raincheck.impl.aio.channel import Channel

MEMBERS = 3
USUAL = "agreed"
WAYS: dict[str, dict[str, Any]] = {
    USUAL: {},
    "safe": {"delivery": "safe"},
    "total": {"order": "total"},
}
"""Ways in which a group delivers, and the options of `connect` that they need."""
STAMP = struct.Struct("<Q")  # time.perf_counter_ns() of the send, one clock for all processes


def free_ports(count: int) -> tuple[int, ...]:
    """Return ports that are free for UDP and TCP at this moment."""
    ports: list[int] = []
    while len(ports) < count:
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind(("127.0.0.1", 0))
            port = tcp.getsockname()[1]
            try:
                udp.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
    return tuple(ports)


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement: what the members are told."""

    transport: str
    size: int
    count: int  # messages of each sender
    ports: tuple[int, ...]
    senders: int = MEMBERS
    rate: int = 0
    """Messages per second of each sender; 0: as fast as the group takes them."""
    batch: int = 1
    """Messages handed over at once; 1: `send`, more: `send_many`."""
    round: int = 0
    """Messages after which a sender lets the event loop have a round; 0: it does not by itself."""
    members: int = MEMBERS
    trace: str | None = None
    """Folder for trace files."""
    way: str = USUAL
    key: bytes | None = None
    encrypt: bool = True


async def member(case: Case, rank: int, barrier: Barrier) -> dict[str, Any]:
    """Join, send this member's share, deliver everybody's, and report."""
    options: dict[str, Any] = {"key": [case.key] if case.key else [], "encrypt": case.encrypt}
    if case.transport == "multicast":
        options["group"] = f"239.192.7.7:{case.ports[-1]}"
    if case.trace is not None:
        options["trace"] = case.trace
    options |= WAYS[case.way]
    loop = asyncio.get_running_loop()
    async with Channel.connect(
        "bench",
        name=f"m{rank}",
        transport=case.transport,
        bind=f"127.0.0.1:{case.ports[rank]}",
        initial_hosts=[f"127.0.0.1:{port}" for port in case.ports[: case.members]],
        **options,
    ) as channel:
        await channel.wait_for_members(case.members, timeout=60)
        await loop.run_in_executor(None, barrier.wait)
        deliver = asyncio.create_task(delivering(channel, case))
        cpu, start = time.process_time(), time.perf_counter()
        if rank < case.senders:
            await (paced if case.rate else flat_out)(channel, case)
        report = await deliver
        report["seconds"] = time.perf_counter() - start
        report["cpu"] = time.process_time() - cpu
        report["counters"] = dict(channel.counters)
        await loop.run_in_executor(None, barrier.wait)
    return report


async def flat_out(channel: Channel, case: Case) -> None:
    """Send as fast as the group takes it."""
    payload = bytes(case.size)
    if case.batch == 1:
        for number in range(1, case.count + 1):
            await channel.send(payload)
            if case.round and number % case.round == 0:
                await asyncio.sleep(0)
        return
    batch = [payload] * case.batch
    for _ in range(case.count // case.batch):
        await channel.send_many(batch)


async def paced(channel: Channel, case: Case) -> None:
    """Send single messages at a steady rate, each stamped with the time of its sending."""
    loop = asyncio.get_running_loop()
    rest = bytes(case.size - STAMP.size)
    start = loop.time()
    for number in range(case.count):
        await asyncio.sleep(start + number / case.rate - loop.time())
        await channel.send(STAMP.pack(time.perf_counter_ns()) + rest)


class Order:
    """A checksum of the order of delivery, the same however it was cut into batches."""

    def __init__(self) -> None:
        self.checksum = self.delivered = 0
        self._highest: dict[Any, int] = {}
        self._run: tuple[Any, int] | None = None  # sender and first seqno

    def add(self, sender: Any, first: int, count: int) -> None:
        """Append consecutive messages of one sender, which must be its next ones."""
        highest = self._highest.get(sender, 0)
        if first != highest + 1:
            raise AssertionError(f"{sender}: {first} after {highest}")
        self._highest[sender] = highest + count
        self.delivered += count
        if self._run is None or self._run[0] != sender:
            self.end_run()
            self._run = sender, first

    def end_run(self) -> None:
        """Close the run of one sender, which may have come in several batches."""
        if self._run is not None:
            sender, first = self._run
            text = f"{sender.node} {first}-{self._highest[sender]},"
            self.checksum = zlib.crc32(text.encode(), self.checksum)
            self._run = None


async def delivering(channel: Channel, case: Case) -> dict[str, Any]:
    """Deliver what all send; check each sender's order; return a checksum of the whole order."""
    total = case.count * case.senders
    order, waits, size = Order(), [], 0
    if case.batch == 1:
        async for message in channel:
            if case.rate:
                waits.append(time.perf_counter_ns() - STAMP.unpack_from(message.payload)[0])
            order.add(message.sender, message.seqno, 1)
            size += len(message.payload)
            if order.delivered == total:
                break
    else:
        async for batch in channel.batches():
            order.add(batch.sender, batch.first, batch.count)
            size += sum(map(len, batch.payloads))
            if order.delivered == total:
                break
    if size != total * case.size:
        raise AssertionError(f"{size} bytes delivered, {total * case.size} sent")
    order.end_run()
    return {"delivered": total, "checksum": order.checksum, "latencies": waits}


def process(case: Case, rank: int, barrier: Barrier, answer: Connection) -> None:
    """Run one member in a process of its own."""
    try:
        profile = os.environ.get("RAINCHECK_BENCH_PROFILE")
        if profile:
            import cProfile

            profiler = cProfile.Profile()
            report = profiler.runcall(asyncio.run, member(case, rank, barrier))
            profiler.dump_stats(f"{profile}.{rank}")
        else:
            report = asyncio.run(member(case, rank, barrier))
        answer.send(report)
    except BaseException as problem:
        answer.send({"error": repr(problem)})
        raise


def measure(
    case: Case, run: Callable[[Case, int, Barrier, Connection], None] = process
) -> list[dict[str, Any]]:
    """Run the case's members side by side and return their reports."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(case.members)
    workers, pipes = [], []
    for rank in range(case.members):
        mine, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=run, args=(case, rank, barrier, theirs), daemon=True)
        worker.start()
        theirs.close()
        workers.append(worker)
        pipes.append(mine)
    try:
        reports = [pipe.recv() for pipe in pipes]
    except EOFError:
        sys.exit("a member died")
    finally:
        for worker in workers:
            worker.join(timeout=20)
            worker.kill()
    for report in reports:
        if "error" in report:
            sys.exit(f"a member failed: {report['error']}")
    if len({report["checksum"] for report in reports}) != 1:
        sys.exit("the members delivered in different orders")
    return reports


def bare_datagrams(size: int, seconds: float = 0.5) -> float:
    """Datagrams of `size` bytes that one process sends and receives per second, bare."""
    with (
        socket.socket(type=socket.SOCK_DGRAM) as receiver,
        socket.socket(type=socket.SOCK_DGRAM) as sender,
    ):
        receiver.bind(("127.0.0.1", 0))
        to, data, done = receiver.getsockname(), bytes(size), 0
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            sender.sendto(data, to)
            receiver.recvfrom(65_536)
            done += 1
        return done / seconds


def throughput(
    transport: str,
    size: int,
    count: int,
    *,
    batch: int = 1,
    round_: int = 0,
    members: int = MEMBERS,
    trace: bool = False,
    way: str = USUAL,
) -> tuple[float, float]:
    """Measure and print delivered messages per second of the slowest member, and their cost.

    The cost is in microseconds of processor time for each message, at all members together.
    """
    with tempfile.TemporaryDirectory(prefix="raincheck-bench-") as folder:
        case = Case(transport, size, count, free_ports(members + 1), members, batch=batch,
                    round=round_, members=members, trace=folder if trace else None,
                    way=way)  # fmt: skip
        reports = measure(case)
    rate: float = min(report["delivered"] / report["seconds"] for report in reports)
    bare = bare_datagrams(60_000) * (60_000 / (size + 4))
    if os.environ.get("RAINCHECK_BENCH_COUNTERS"):
        for report in reports:
            print(report["counters"])
    repaired = sum(
        count
        for report in reports
        for name, count in report["counters"].items()
        if "retrans" in name or "nak" in name.lower()
    )
    seconds = sum(report["cpu"] for report in reports)
    cpu = seconds / max(report["seconds"] for report in reports)
    each = seconds / (count * members) * 1e6
    call = f"send_many({batch})" if batch > 1 else f"send, by {round_}" if round_ else "send"
    print(
        f"{transport:9} {size:5} B {call:15}{' traced' if trace else '':7} {way} "
        f"{rate:10,.0f} msg/s per "
        f"member  {rate * size / 1e6:6.1f} MB/s  ratio to bare UDP {rate / bare:6.4f}  "
        f"cpu {cpu:4.2f} cores, {each:5.2f} us per message at all members  repairs {repaired}",
        flush=True,
    )
    return rate, each


def latency(
    transport: str, size: int, count: int, rate: int, senders: int, way: str = USUAL
) -> tuple[float, float]:
    """Measure and print the time from `send` to delivery, at every member.

    Returns the p50 and the p99 of all members together, in milliseconds.
    """
    case = Case(transport, size, count, free_ports(MEMBERS + 1), senders=senders,
                rate=rate // senders, way=way)  # fmt: skip
    reports = measure(case)
    each = sum(report["cpu"] for report in reports) / (case.count * senders) * 1e6
    print(
        f"{transport:9} {size:5} B {rate} msg/s of {senders} senders: "
        f"{each:.0f} us of processor time per message at all members",
        flush=True,
    )
    for rank, report in enumerate(reports):
        times = sorted(wait / 1e6 for wait in report["latencies"])
        cuts = statistics.quantiles(times, n=1000)
        print(
            f"{transport:9} {size:5} B {rate} msg/s of {senders} senders, member {rank}: latency "
            f"p50 {cuts[499]:.3f}  p90 {cuts[899]:.3f}  p99 {cuts[989]:.3f}  "
            f"p99.9 {cuts[998]:.3f}  max {times[-1]:.3f} ms",
            flush=True,
        )
    everywhere = [wait / 1e6 for report in reports for wait in report["latencies"]]
    cuts = statistics.quantiles(everywhere, n=1000)
    return cuts[499], cuts[989]


def beside(other: str, transport: str, size: int, scale: int, rounds: int = 3) -> None:
    """Measure the usual way and another one in turns, and print the medians and their ratios."""
    figures: dict[str, list[tuple[float, ...]]] = {USUAL: [], other: []}
    for _ in range(rounds):
        for way, found in figures.items():
            count = 100_000 // scale
            single = throughput(transport, size, count, round_=64, way=way)
            many = throughput(transport, size, count, batch=100, way=way)
            waits = latency(transport, size, 1_000 // scale, 1000, MEMBERS, way)
            found.append((*single, *many, *waits))
    names = (
        *("send: msg/s per member", "send: us per message"),
        *("send_many: msg/s per member", "send_many: us per message"),
        *("latency p50, ms", "latency p99, ms"),
    )
    columns = [list(zip(*each, strict=True)) for each in figures.values()]
    for name, *found_of in zip(names, *columns, strict=True):
        one, two = map(statistics.median, found_of)
        print(f"{size} B {name}: {USUAL} {one:,.2f}, {other} {two:,.2f}, ratio {two / one:.2f}")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the messages")
    parser.add_argument("--only", choices=("throughput", "latency", "tracing", *WAYS))
    parser.add_argument("--transport", choices=("udp", "multicast", "tcp"))
    parser.add_argument("--sizes", default="100,1000", help="payload bytes (default 100,1000)")
    parser.add_argument("--count", type=int, help="messages of each sender")
    parser.add_argument("--members", type=int, default=MEMBERS, help="for throughput (default 3)")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    transports = [options.transport] if options.transport else ["udp", "multicast", "tcp"]
    sizes = [int(size) for size in options.sizes.split(",")]
    print(f"{options.members} members, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    if options.only in (None, "throughput"):
        for size in sizes:
            count = options.count or (500_000 if size <= 200 else 300_000) // scale
            for transport in transports:
                members = options.members
                throughput(transport, size, count, members=members)
                throughput(transport, size, count, round_=64, members=members)
                throughput(transport, size, count // 100 * 100, batch=100, members=members)
    if options.only in (None, "latency"):
        for transport in transports:
            for senders in (1, MEMBERS):
                latency(transport, 100, 5_000 // senders // scale, 1000, senders)
    if options.only in (None, "tracing"):
        for size in sizes:
            count = options.count or 300_000 // scale
            off, _ = throughput(transports[0], size, count)
            on, _ = throughput(transports[0], size, count, trace=True)
            print(f"tracing on / off at {size} B: {on / off:.3f}")
    for way in WAYS:
        if way != USUAL and options.only in (None, way):
            for size in sizes:
                beside(way, transports[0], size, scale)


if __name__ == "__main__":
    main()
