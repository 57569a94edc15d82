"""The time for which a lock service is down while all its members are restarted, one by one.

    python tests/bench/bench_ring_restarts.py              three members, five rounds of each kind
    python tests/bench/bench_ring_restarts.py --rounds 1

Three real processes take the lock of one ring in turn, all the time, and say when they had it. One
after the other is stopped and started again by the same call, the next one when the one before is
back. Measured is the longest time in which nobody had the lock, for each restart: the median and
the worst of all, in milliseconds; and the time that the process itself was away.

    closed, with a file     SIGTERM, which ends its `async with`: it keeps its place
    killed, with a file     SIGKILL, and started again at once
    away, with a file       SIGTERM, and started again after `AWAY` seconds: the others must go on
    closed, without a file  SIGTERM: it leaves, and joins as another life
    killed, without a file  SIGKILL: it joins as another life
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import statistics
import sys
import tempfile
import time
from bisect import bisect_left
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bench_total_order import free_ports

import raincheck

AWAY = 3.0
"""Seconds for which a member is away that does not come back at once."""
LATE = 60.0
"""Seconds after which a ring that does not serve is down for good."""


class Kind(NamedTuple):
    """How members are restarted."""

    words: str
    signal: signal.Signals
    file: bool
    away: float = 0.0


KINDS = (
    Kind("closed, with a file", signal.SIGTERM, file=True),
    Kind("killed, with a file", signal.SIGKILL, file=True),
    Kind("away, with a file", signal.SIGTERM, file=True, away=AWAY),
    Kind("closed, without a file", signal.SIGTERM, file=False),
    Kind("killed, without a file", signal.SIGKILL, file=False),
)


class Restart(NamedTuple):
    """What one restart has cost, in seconds."""

    down: float
    """The longest time in which nobody had the lock."""
    away: float
    """From the signal until the process was a member again."""


async def member(name: str, members: list[str], file: str) -> None:
    """Take the lock all the time, until SIGTERM; say when."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with raincheck.Ring.connect(
        "bench", name=name, members=members, state_file=file or None, timeout=LATE
    ) as ring:
        print(f"in {time.monotonic()}", flush=True)
        while not stop.is_set():
            async with ring.token(timeout=LATE):
                print(f"had {time.monotonic()}", flush=True)
            await asyncio.sleep(0.005)


class Service:
    """The three processes."""

    def __init__(self, folder: Path, *, files: bool) -> None:
        places = free_ports(3)
        self.members = [f"{n}@127.0.0.1:{p}" for n, p in zip("abc", places, strict=True)]
        self.folder, self.files = folder, files
        self.had: list[float] = []
        """When anybody has taken the lock."""
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._in: dict[str, asyncio.Event] = {}
        self._readers: set[asyncio.Task[None]] = set()

    async def start(self, name: str) -> None:
        """Start a process, and return once it is a member."""
        file = str(self.folder / f"{name}.ring") if self.files else ""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, "--member", name, "--file", file),
            *("--members", ",".join(self.members)), stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self._running[name] = process
        self._in[name] = asyncio.Event()
        reader = asyncio.create_task(self._read(process, self._in[name]))
        self._readers.add(reader)
        async with asyncio.timeout(LATE):
            await self._in[name].wait()

    async def restart(self, name: str, kind: Kind) -> Restart:
        """Stop a process, and start it again by the same call."""
        began = time.monotonic()
        process = self._running.pop(name)
        process.send_signal(kind.signal)
        await process.wait()
        await asyncio.sleep(kind.away)
        await self.start(name)
        away = time.monotonic() - began
        await asyncio.sleep(2.0)  # what the restart of one costs, before the next one's
        times = [began, *self.had[bisect_left(self.had, began) :], time.monotonic()]
        return Restart(max(b - a for a, b in pairwise(times)), away)

    async def end(self) -> None:
        """End all that run."""
        for process in self._running.values():
            process.kill()
            await process.wait()
        await asyncio.gather(*self._readers)

    async def _read(self, process: asyncio.subprocess.Process, inside: asyncio.Event) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            what, when = line.decode().split()
            if what == "in":
                inside.set()
            else:
                at = float(when)
                self.had.insert(bisect_left(self.had, at), at)
        inside.set()


async def measured(kind: Kind, rounds: int) -> list[Restart]:
    """Restart each member in turn, so many times."""
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), files=kind.file)
        try:
            await asyncio.gather(*(service.start(name) for name in "abc"))
            await asyncio.sleep(1.0)
            return [await service.restart(name, kind) for _ in range(rounds) for name in "abc"]
        finally:
            await service.end()


def main() -> None:
    """Measure, or be a member."""
    parser = argparse.ArgumentParser(description="Restart the members of a ring in turn.")
    parser.add_argument("--rounds", type=int, default=5, help="how often all are restarted (5)")
    parser.add_argument("--member", help="be this member")
    parser.add_argument("--members", default="", help="the list of members")
    parser.add_argument("--file", default="", help="the member's state file")
    options = parser.parse_args()
    if options.member:
        asyncio.run(member(options.member, options.members.split(","), options.file))
        return
    print(f"{'':24} {'nobody had the lock, ms':>28} {'away, ms':>10}")
    print(f"{'':24} {'median':>14} {'worst':>13} {'median':>10}")
    for kind in KINDS:
        costs = asyncio.run(measured(kind, options.rounds))
        down = [1000 * cost.down for cost in costs]
        away = statistics.median(1000 * cost.away for cost in costs)
        print(f"{kind.words:24} {statistics.median(down):14,.0f} {max(down):13,.0f} {away:10,.0f}")


if __name__ == "__main__":
    main()
