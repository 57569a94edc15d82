"""Failure detection: how soon it finds a crash, whom it excludes by mistake, what it costs at rest.

    python tests/bench/bench_failure_detection.py              in virtual time, 3 to 50 members
    python tests/bench/bench_failure_detection.py --quick      fewer trials
    python tests/bench/bench_failure_detection.py --real       3 and 10 processes on this machine
    python tests/bench/bench_failure_detection.py --busy 300   processes while every core is busy

In virtual time the stacks are the real ones, and trips take 0.1 to 0.2 ms. A crash is measured from
the end of the process to the last survivor's installation of the view without it. Stalls hit one
member after another, and a member that is excluded joins again. The processor's share is that of
the stack alone, of the first member and of the last one. Real processes are killed, and stopped
(SIGSTOP), one after another, and their shares are those of the whole process.
"""

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from random import Random
from typing import IO, Any

from raincheck.conformance.field.ring import base
from raincheck.impl.aio.channel import Channel
from raincheck.impl.simulation.group import Simulator
from raincheck.impl.stack.config import PRESETS, StackConfig

SIZES = (3, 10, 24, 50)
STALLS = (1.0, 3.0)
EVERY = 5.0
"""Seconds from one stall to the next."""


def spread(times: list[float]) -> str:
    """The median and the 99th percentile of some times."""
    ordered = sorted(times)
    late = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return f"p50 {statistics.median(ordered):6.3f} s   p99 {late:6.3f} s"


# ---------------------------------------------------------------------- in virtual time


def group_of(size: int, preset: str, seed: int) -> tuple[Simulator, Random]:
    """A group whose members' heartbeats are not in step."""
    group = Simulator(seed, config=StackConfig.preset(preset), record=False)
    random, names = Random(seed), [f"m{number:02}" for number in range(size)]
    group.start(*names, founders=True)
    for name in names:
        group.stall(name, random.random() * group[name].stack.config.heartbeat)
    return group, random


def crash(size: int, preset: str, seed: int) -> float:
    """Crash a member, in turn the first, the second and any other; return the time it takes."""
    group, random = group_of(size, preset, seed)
    group.run(1.0 + random.random())
    names = list(group.nodes)
    victim = names[seed % 3] if seed % 3 < 2 else random.choice(names[2:])
    start = group.now
    group.crash(victim)
    group.run_until(lambda: group.in_one_view(*[name for name in names if name != victim]))
    return group.now - start


def stalls(size: int, preset: str, length: float, seconds: float) -> tuple[int, int]:
    """Let members stand still, one after another; return how often, and how many went out."""
    group, random = group_of(size, preset, 1)
    group.run(1.0)
    count = excluded = 0
    while group.now < seconds:
        name = random.choice(list(group.nodes))
        group.stall(name, length)
        group.run(length + random.uniform(0.5, 1.5) * (EVERY - length))
        count += 1
        for node in list(group.nodes.values()):
            if node.left is not None:
                excluded += 1
                group.restart(node.name)
        group.run_until(lambda: group.in_one_view(*group.nodes))
    return count, excluded


class Timed:
    """A stack that counts its processor seconds."""

    def __init__(self, stack: Any) -> None:
        self._stack, self.spent = stack, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stack, name)

    def _time(self, method: Callable[..., None], *args: Any) -> None:
        start = time.process_time()
        method(*args)
        self.spent += time.process_time() - start

    def receive(self, *args: Any) -> None:
        """Count a batch."""
        self._time(self._stack.receive, *args)

    def handle_timer(self, *args: Any) -> None:
        """Count a timer."""
        self._time(self._stack.handle_timer, *args)


def idle(size: int, preset: str, seconds: float) -> tuple[float, float, float]:
    """The datagrams of an idle group a second, and the shares of its first and last member."""
    group, _ = group_of(size, preset, 1)
    group.run(6.0)
    ends = [list(group.nodes.values())[place] for place in (0, -1)]
    for node in ends:
        node.stack = Timed(node.stack)  # type: ignore[assignment]
    before = group.datagrams
    group.run(seconds)
    first, last = (node.stack.spent / seconds for node in ends)  # type: ignore[attr-defined]
    return (group.datagrams - before) / seconds, first, last


def virtual(presets: list[str], sizes: list[int], quick: bool) -> None:
    """Print the figures of simulated groups."""
    for preset in presets:
        for size in sizes:
            trials = 30 if quick else 300 if size <= 10 else 100
            times = [crash(size, preset, seed) for seed in range(trials)]
            print(f"{preset:5} {size:3} members   crash to view   {spread(times)}", flush=True)
    for preset in presets:
        for size in sizes:
            seconds = min(3600.0, 12_000.0 / size if size > 3 else 3600.0) / (10 if quick else 1)
            for length in STALLS:
                count, out = stalls(size, preset, length, seconds)
                print(
                    f"{preset:5} {size:3} members   {count:4} stalls of {length:.0f} s in "
                    f"{seconds:5.0f} s: {out:4} excluded, {3600 * out / seconds:6.1f} an hour",
                    flush=True,
                )
    for preset in presets:
        for size in sizes:
            rate, first, last = idle(size, preset, 5.0 if quick else 20.0)
            print(
                f"{preset:5} {size:3} members   idle {rate:7.0f} datagrams a second   processor "
                f"{100 * first:5.2f} % first, {100 * last:5.2f} % last member",
                flush=True,
            )


# ---------------------------------------------------------------------- real processes


async def member(name: str, port: int, hosts: list[str], preset: str) -> None:
    """One member: prints each view with its time, and counts when it is asked to."""
    channel = await Channel.connect(
        "bench", name=name, bind=f"127.0.0.1:{port}", initial_hosts=hosts, timeout=60.0,
        stack=StackConfig.preset(preset),
    )  # fmt: skip

    def show(view: Any) -> None:
        print(time.monotonic(), *sorted(member.node for member in view.members), flush=True)

    def count() -> None:
        if not sys.stdin.readline():
            os._exit(0)
        counters = channel.counters
        print("count", counters.get("transport.sent", 0), time.process_time(), flush=True)

    channel.on_view = show
    show(channel.view)
    asyncio.get_running_loop().add_reader(sys.stdin, count)
    async for _ in channel:
        pass


class Processes:
    """Members that are processes of their own."""

    def __init__(self, size: int, preset: str) -> None:
        ports = base.free_ports(size)
        self.preset = preset
        self.port = {f"m{n:02}": int(p.rpartition(":")[2]) for n, p in enumerate(ports)}
        self.running: dict[str, subprocess.Popen[str]] = {}
        for name in self.port:
            self.start(name)

    def start(self, name: str) -> None:
        """Start a member, and wait until all are in one view."""
        hosts = [f"127.0.0.1:{self.port[other]}" for other in self.running]
        command = [sys.executable, __file__, "--member", name, "--preset", self.preset]
        command += ["--port", str(self.port[name]), "--hosts", *hosts]
        pipe = subprocess.PIPE
        self.running[name] = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.settled()

    def lines(self, name: str) -> IO[str]:
        """What that member prints."""
        out = self.running[name].stdout
        assert out is not None
        return out

    def settled(self) -> float:
        """Wait until all have installed the view of those that run; return when the last did."""
        return max(self._view_of(name) for name in self.running)

    def _view_of(self, name: str) -> float:
        for line in self.lines(name):
            at, *members = line.split()
            if members == sorted(self.running):
                return float(at)
        sys.exit(f"{name} has ended")

    def kill(self, name: str) -> float:
        """Kill a member; return how long the others took to install the view without it."""
        process, start = self.running.pop(name), time.monotonic()
        process.kill()
        process.wait()
        return self.settled() - start

    def count(self) -> list[tuple[int, float]]:
        """For each member, the datagrams that it has sent and its processor seconds."""
        counts = []
        for name, process in self.running.items():
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
            _, sent, spent = self.lines(name).readline().split()
            counts.append((int(sent), float(spent)))
        return counts

    def end(self) -> None:
        """End all."""
        for process in self.running.values():
            process.kill()
            process.communicate()


def real(presets: list[str], sizes: list[int], quick: bool) -> None:
    """Print the figures of real processes."""
    for preset in presets:
        for size in sizes:
            group, random = Processes(size, preset), Random(size)
            try:
                _real(group, f"{preset:5} {size:3} processes", random, quick)
            finally:
                group.end()


def bears(preset: str) -> float:
    """The longest pause that excludes nobody."""
    config = StackConfig.preset(preset)
    return config.suspect_after + config.verify_after - config.heartbeat


def nobody_excluded(group: Processes, what: str) -> bool:
    """Print, and tell, whether all have been in one view since they were asked last."""
    try:
        group.count()  # a view would come first, as more than three words
    except ValueError:
        print(f"{what}: a member was excluded", flush=True)
        return False
    print(f"{what}: nobody was excluded", flush=True)
    return True


def busy(presets: list[str], sizes: list[int], seconds: float) -> None:
    """Print whether anybody is excluded while other processes, two a core, never wait."""
    for preset in presets:
        for size in sizes:
            group = Processes(size, preset)
            spinning = [
                subprocess.Popen([sys.executable, "-c", "while True: pass"])
                for _ in range(2 * (os.cpu_count() or 1))
            ]
            try:
                group.count()
                time.sleep(seconds)
                load = os.getloadavg()[0]
                nobody_excluded(
                    group, f"{preset:5} {size:3} processes   {seconds:g} s at load {load:.1f}"
                )
            finally:
                for each in spinning:
                    each.kill()
                    each.wait()
                group.end()


def _real(group: Processes, what: str, random: Random, quick: bool) -> None:
    time.sleep(6.0)
    before, seconds = group.count(), 5.0 if quick else 20.0
    time.sleep(seconds)
    after = group.count()
    sent = sum(b[0] - a[0] for a, b in zip(before, after, strict=True)) / seconds
    shares = [100 * (b[1] - a[1]) / seconds for a, b in zip(before, after, strict=True)]
    print(
        f"{what}   idle {sent:6.0f} datagrams a second   processor "
        f"{shares[0]:5.2f} % first, {shares[-1]:5.2f} % last member",
        flush=True,
    )
    stall = min(1.0, 0.7 * bears(group.preset))
    for _ in range(3 if quick else 20):
        name = random.choice(list(group.running))
        group.running[name].send_signal(signal.SIGSTOP)
        time.sleep(stall)
        group.running[name].send_signal(signal.SIGCONT)
        time.sleep(1.0)
    if not nobody_excluded(group, f"{what}   stalls of {stall:.2f} s"):
        return
    times = []
    for number in range(6 if quick else 30):
        name = list(group.running)[number % 3]
        time.sleep(random.random())
        times.append(group.kill(name))
        group.start(name)
    print(f"{what}   crash to view   {spread(times)}", flush=True)


def main() -> None:
    """Measure, or be a member."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--busy", type=float, metavar="SECONDS")
    parser.add_argument("--preset", choices=PRESETS, action="append")
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--member")
    parser.add_argument("--port", type=int)
    parser.add_argument("--hosts", nargs="*", default=[])
    args = parser.parse_args()
    if args.member:
        asyncio.run(member(args.member, args.port, args.hosts, args.preset[0]))
    elif args.busy:
        busy(args.preset or ["lan"], args.size or [3, 5], args.busy)
    elif args.real:
        real(args.preset or list(PRESETS), args.size or [3, 10], args.quick)
    else:
        virtual(args.preset or list(PRESETS), args.size or list(SIZES), args.quick)


if __name__ == "__main__":
    main()
