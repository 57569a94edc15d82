"""The cost of messages: large ones against a state of their size, small ones beside them, calls.

    python tests/bench/bench_messages.py             messages of 100 MB
    python tests/bench/bench_messages.py --quick     30 MB

Three members, each in a process of its own, on the loopback interface; b and c are not the
coordinator. Times between processes are those of the machine's one monotonic clock.

1. In turns: b sends a message of that size, and c has a state of that size transferred, which it
   keeps in memory as an application would. The seconds until all have delivered the message, and
   until c has the state; and how much more memory than before each process had at most.
2. b sends 200 small messages a second, alone, and while c sends messages of that size without end:
   the time until each member has delivered each of them.
3. One after the other, with pauses: the time from `send` at b until c has delivered a message and
   an unordered one, until b has the answer to a call of c, and all answers to a call of all.
"""

import argparse
import asyncio
import ctypes
import gc
import multiprocessing
import os
import statistics
import struct
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from raincheck.impl.aio.channel import Channel
from raincheck.impl.errors import NotMember, RaincheckError
from raincheck.impl.stack.config import StackConfig

NAMES = "abc"
STACK = StackConfig(join_timeout=3.0, join_interval=0.02, suspect_after=10.0)
"""Who stands still for a while, because the machine is busy, is no reason to begin anew."""
STAMP = struct.Struct(">cq")
LARGE, SMALL, ORDERED, UNORDERED = (each.encode() for each in "LSOU")
ROUNDS = 3
RATE = 200
CALLS = 300
PAUSE = 0.004
CHUNK = 59_000


def stamped(kind: bytes) -> bytes:
    """A message of 100 bytes that says when it was made."""
    return STAMP.pack(kind, time.monotonic_ns()) + bytes(100 - STAMP.size)


def resident(peak: bool = False) -> float:
    """Megabytes of this process that are in memory, or were at most since `reset_peak`."""
    with open("/proc/self/status") as file:
        words = dict(line.split(":", 1) for line in file)
    return int(words["VmHWM" if peak else "VmRSS"].split()[0]) / 1000


def reset_peak() -> None:
    """Give back what is free, and let the peak begin anew."""
    gc.collect()
    with suppress(AttributeError):  # where the C library has none
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


class Member:
    """What a member does when it is told, and what it has measured."""

    def __init__(self, channel: Channel, size: int) -> None:
        self._channel = channel
        self._payload = bytearray(size)  # is copied when it is sent
        self._times: dict[bytes, list[float]] = {}
        self._before = 0.0

    async def take(self) -> None:
        """Take all messages, and note how long each was on its way."""
        with suppress(NotMember):  # what it is told next says so
            async for message in self._channel:
                kind, sent = STAMP.unpack_from(message.payload)
                took = (time.monotonic_ns() - sent) / 1e9
                self._times.setdefault(kind, []).append(took)

    async def times(self, kind: bytes, count: int) -> list[float]:
        """Wait for so many times of that kind, and return them, once."""
        while len(self._times.get(kind, ())) < count:
            await asyncio.sleep(0.002)
        return self._times.pop(kind)

    async def begin(self) -> None:
        """Begin to note the memory."""
        reset_peak()
        self._before = resident()

    async def memory(self) -> float:
        """Return how much more memory there was at most since then."""
        return resident(peak=True) - self._before

    async def large(self) -> None:
        STAMP.pack_into(self._payload, 0, LARGE, time.monotonic_ns())
        await self._channel.send(self._payload)

    async def larges(self, seconds: float) -> int:
        """Send large messages one after the other for a while; return how many."""
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            await self.large()
            count += 1
        return count

    async def fetch(self) -> float:
        """Have the state transferred; return the seconds."""
        start = time.monotonic()
        await self._channel.fetch_state()
        return time.monotonic() - start

    async def smalls(self, seconds: float) -> int:
        """Send small messages at that rate; return how many."""
        start, count = time.monotonic(), int(RATE * seconds)
        for number in range(count):
            await asyncio.sleep(max(0.0, start + number / RATE - time.monotonic()))
            await self._channel.send(stamped(SMALL))
        return count

    async def one_by_one(self, kind: bytes) -> None:
        for _ in range(CALLS):
            if kind == UNORDERED:
                await self._channel.send(stamped(kind), order="none")
            else:
                await self._channel.send(stamped(kind))
            await asyncio.sleep(PAUSE)

    async def calls(self, to_all: bool) -> list[float]:
        """Call c, or all, one call after the other; return the seconds of each."""
        found, c = [], self._channel.view.members[-1]
        for _ in range(CALLS):
            start = time.monotonic()
            replies = await self._channel.call(bytes(100), None if to_all else c)
            found.append(time.monotonic() - start)
            assert replies.complete, replies
            await asyncio.sleep(PAUSE)
        return found


async def serve(rank: int, hosts: list[str], size: int, pipe: Connection) -> None:
    """Be a member, and do what the pipe says."""
    loop, kept = asyncio.get_running_loop(), list[bytes]()

    def get_state() -> Iterator[bytes]:
        piece = os.urandom(CHUNK)
        for start in range(0, size, CHUNK):
            yield piece[: size - start]

    async def set_state(chunks: AsyncIterator[bytes]) -> None:
        kept[:] = [b"".join([chunk async for chunk in chunks])]
        assert len(kept[0]) == size
        kept.clear()

    async with Channel.connect(
        "messages",
        name=NAMES[rank],
        bind=hosts[rank],
        initial_hosts=hosts[:rank],
        stack=STACK,
        get_state=get_state,
        set_state=set_state if rank else None,
        on_call=lambda request: request.payload,
    ) as channel:
        pipe.send(None)
        member = Member(channel, size)
        taking = asyncio.create_task(member.take())
        while (order := await loop.run_in_executor(None, pipe.recv)) is not None:
            name, *words = order
            pipe.send(await getattr(member, name)(*words))
        taking.cancel()
        with suppress(asyncio.CancelledError):
            await taking


def process(rank: int, hosts: list[str], size: int, pipe: Connection) -> None:
    try:
        asyncio.run(serve(rank, hosts, size, pipe))
    except RaincheckError as problem:
        sys.exit(str(problem))


class Members:
    """The processes, as the parent sees them."""

    def __init__(self, size: int) -> None:
        sys.path.insert(0, os.path.dirname(__file__))
        from bench_total_order import free_ports

        context = multiprocessing.get_context("spawn")
        hosts = [f"127.0.0.1:{port}" for port in free_ports(len(NAMES))]
        self._pipes: dict[str, Connection] = {}
        self._processes = []
        for rank, name in enumerate(NAMES):
            self._pipes[name], theirs = context.Pipe()
            each = context.Process(target=process, args=(rank, hosts, size, theirs), daemon=True)
            each.start()
            self._processes.append(each)
            self.get(name)  # it has joined

    def tell(self, name: str, *order: object) -> None:
        self._pipes[name].send(order)

    def get(self, name: str) -> Any:
        if not self._pipes[name].poll(170):
            sys.exit(f"{name} has not answered for 170 s")
        try:
            return self._pipes[name].recv()
        except EOFError:
            sys.exit(f"{name} has ended; run it again on a machine that is less busy")

    def ask(self, names: Iterable[str], *order: object) -> list[Any]:
        """Tell several members the same, and wait for all answers."""
        for name in names:
            self.tell(name, *order)
        return [self.get(name) for name in names]

    def end(self) -> None:
        for name, each in reversed([*zip(NAMES, self._processes, strict=True)]):
            self._pipes[name].send(None)
            each.join(20)


def percentiles(times: list[float]) -> str:
    ordered = sorted(times)
    p99 = ordered[int(len(ordered) * 0.99)]
    return f"p50 {statistics.median(ordered) * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms"


def large(members: Members, megabytes: int) -> None:
    """Messages and states, in turns."""
    seconds: dict[str, list[float]] = {"message": [], "state": []}
    memory: dict[str, list[list[float]]] = {"message": [], "state": []}
    for _ in range(ROUNDS):
        members.ask(NAMES, "begin")
        members.ask("b", "large")
        found = members.ask(NAMES, "times", LARGE, 1)
        seconds["message"].append(max(times[0] for times in found))
        memory["message"].append(members.ask(NAMES, "memory"))
        members.ask(NAMES, "begin")
        seconds["state"] += members.ask("c", "fetch")
        memory["state"].append(members.ask(NAMES, "memory"))
    for what, to in (("message", "b to all"), ("state", "to c")):
        median = statistics.median(seconds[what])
        most = [max(each) for each in zip(*memory[what], strict=True)]
        print(
            f"a {what} of {megabytes} MB, {to}: {median:.2f} s ({megabytes / median:.0f} MB/s), "
            f"memory at most "
            + ", ".join(f"{n} +{m:.0f} MB" for n, m in zip(NAMES, most, strict=True))
        )
    ratio = statistics.median(seconds["message"]) / statistics.median(seconds["state"])
    print(f"the message takes {ratio:.1f} times as long as the state")


def small(members: Members, seconds: float) -> None:
    """Small messages at a rate, alone and beside large ones."""
    for beside in (False, True):
        if beside:
            members.tell("c", "larges", seconds)
        (count,) = members.ask("b", "smalls", seconds)
        larges = members.get("c") if beside else 0
        times = [each for had in members.ask(NAMES, "times", SMALL, count) for each in had]
        if beside:
            members.ask(NAMES, "times", LARGE, larges)
        words = f"beside {larges} large ones of c" if beside else "alone"
        print(f"{RATE} small messages a second of b, {words}: {percentiles(times)}")


def one_by_one(members: Members) -> None:
    """Messages and calls, one after the other."""
    for kind, words in ((ORDERED, "a message"), (UNORDERED, "an unordered message")):
        members.ask("b", "one_by_one", kind)
        found = members.ask(NAMES, "times", kind, CALLS)
        print(f"{words}, from b to c: {percentiles(found[2])}")
    for to_all, words in ((False, "a call of c"), (True, "a call of all")):
        (times,) = members.ask("b", "calls", to_all)
        print(f"{words} by b: {percentiles(times)}")


def main() -> int:
    """Run it, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="30 MB, and shorter")
    parser.add_argument("--megabytes", type=int, help="MB of a large message; default 100")
    args = parser.parse_args()
    megabytes = args.megabytes or (30 if args.quick else 100)
    if not 1 <= megabytes <= STACK.max_message // 1_000_000:
        parser.error(f"choose between 1 and {STACK.max_message // 1_000_000} megabytes")
    members = Members(megabytes * 1_000_000)
    large(members, megabytes)
    small(members, 3.0 if args.quick else 8.0)
    one_by_one(members)
    members.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
