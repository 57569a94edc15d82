"""One member of the mixed hour, whose application hangs when it is ordered to.

Orders on standard input: load, stop, leave, "hang block|read|on_view|get_state", well, and
"damage KIND=SHARE,..." for what its network does from now on; "count" for the objects it keeps.
"""

import argparse
import asyncio
import gc
import os
import struct
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from raincheck.conformance.field.load import Duties
from raincheck.conformance.field.nodes import damage_of, live, parser_of
from raincheck.conformance.field.stack.node import TracedConfig
from raincheck.conformance.field.stack.state import Everything
from raincheck.conformance.field.telling import content, tell
from raincheck.impl.aio.channel import Channel
from raincheck.impl.errors import NotMember
from raincheck.impl.messages import Batch, Endpoint, View
from raincheck.impl.transport.contract import Transport
from raincheck.impl.transport.faulty import FaultyTransport
from raincheck.impl.transport.udp import UdpTransport

_EACH = 20
"""Of so many datagrams one is captured."""


class Captured(UdpTransport):
    """Datagrams over UDP, some of which are kept for a stranger to repeat."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.kept: deque[bytes] = deque(maxlen=200)
        self._count = 0

    def _keep(self, data: bytes) -> None:
        self._count += 1
        if self._count % _EACH == 0:
            self.kept.append(bytes(data))

    def send(self, data: bytes, to: Endpoint) -> None:
        self._keep(data)
        super().send(data, to)

    def multicast(self, data: bytes, to: Iterable[Endpoint]) -> None:
        self._keep(data)
        super().multicast(data, to)


@dataclass(slots=True)
class Net:
    """The transports of a process, from the inside out."""

    inner: Captured | None = None
    outer: FaultyTransport | None = None

    def suffer(self, text: str) -> None:
        """Damage what arrives in another way from now on."""
        assert self.outer is not None
        self.outer._damage = damage_of(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(TracedConfig):
    """A channel that traces each of its lives."""

    net: Net = field(default_factory=Net)

    async def open_transport(self) -> Transport:
        outer = await self._open_damaged()
        self.net.outer = outer
        return outer

    async def _open_transport(self) -> Transport:
        host, _, port = str(self.bind).rpartition(":")
        self.net.inner = Captured((host, int(port)))
        return self.net.inner

    async def _make_stack(self, transport: Transport) -> Any:
        close_traces(self)
        tell("life", address=str(self.address(transport.endpoint)))
        return await TracedConfig._make_stack(self, transport)


def close_traces(config: TracedConfig) -> None:
    """Complete the traces of the life that is over."""
    config.end_traces()
    config.recorders.clear()
    config.writers.clear()


class Application:
    """The calls of the channel, each of which may hang."""

    def __init__(self, everything: Everything) -> None:
        self.everything = everything
        self.hung = ""

    async def block(self) -> None:
        if self.hung == "block":
            await asyncio.Event().wait()

    async def get_state(self) -> AsyncIterator[bytes]:
        if self.hung == "get_state":
            await asyncio.Event().wait()
        for chunk in self.everything.get_state():
            yield chunk

    def on_view(self, view: View) -> None:
        if self.hung == "on_view":
            raise RuntimeError(f"the application does not like {view.id}")
        members = [str(member) for member in view.members]
        tell("view", view=view.id.counter, members=members)


class Member(Duties):
    """Sends a few messages a second, delivers, hangs, reports."""

    def __init__(
        self, channel: Channel, args: argparse.Namespace, application: Application, net: Net
    ) -> None:
        first = args.incarnation << 32
        super().__init__(args, args.name, Random(f"load {args.seed} {args.name}"), first)
        self._channel, self._application, self._net = channel, application, net
        self._lag = 0.0

    async def work(self) -> None:
        channel = self._channel
        self._application.on_view(channel.view)
        channel.on_view = self._application.on_view
        channel.on_excluded = lambda reason: tell("out", sentence=reason)
        deliver = self.start(self._deliver())
        duties = [deliver, *map(self.start, (self.load(), self.follow(), self.report()))]
        duties += map(self.start, (self._sample(), self._capture()))
        try:
            await self.until_ending(duties)
            await channel.leave(timeout=self.args.leave_timeout)
            await deliver
            state = self._application.everything
            tell("left", counters=channel.counters, state=[state.count, state.sum])
        finally:
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)

    def obey(self, word: str, rest: Sequence[str]) -> None:
        if word == "hang":
            self._application.hung = rest[0]
        elif word == "well":
            self._application.hung = ""
        elif word == "damage":
            self._net.suffer(rest[0])
        elif word == "count":
            gc.collect()
            kept = Counter(type(each).__qualname__ for each in gc.get_objects())
            tell("objects", kept=kept, blocks=sys.getallocatedblocks())

    async def send(self, count: int) -> None:
        numbers = range(self.sent + 1, self.sent + count + 1)
        await self._channel.send_many(self.payloads(numbers))
        self.sent += count

    async def send_load(self) -> None:
        while not self.stopping.is_set():
            await asyncio.sleep(self.draw.expovariate(self.args.rate))
            await self.send(1)

    async def _deliver(self) -> None:
        async for batch in self._channel.batches():
            self._take(batch)
            while self._application.hung == "read":
                await asyncio.Event().wait()
        self.ending.set()

    def _take(self, batch: Batch) -> None:
        node = batch.sender.node
        numbers = [int.from_bytes(payload[:8]) for payload in batch.payloads]
        for number, payload in zip(numbers, batch.payloads, strict=True):
            if payload != content(node, number, self.args.size):
                tell("wrong", sentence=f"{self.me} delivered {payload!r} as {node}'s")
            elif number <= self.highest.get(node, -1):
                tell("wrong", sentence=f"{self.me} delivered {node}'s {number} out of order")
            self.highest[node] = number
        self._application.everything.add(node, numbers)

    async def _sample(self) -> None:
        """Measure by how much the loop is late."""
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0.05)
            self._lag = max(self._lag, loop.time() - before - 0.05)

    async def _capture(self) -> None:
        while True:
            await asyncio.sleep(5)
            assert self._net.inner is not None
            kept = list(self._net.inner.kept)
            path = self.args.captures / self.me
            (path.with_suffix(".new")).write_bytes(
                b"".join(struct.pack(">I", len(data)) + data for data in kept)
            )
            path.with_suffix(".new").rename(path)

    async def report(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            tell(
                "progress",
                sent=self.sent,
                highest=self.highest,
                rss=pages * os.sysconf("SC_PAGESIZE"),
                lag=round(self._lag, 3),
                counters=dict(self._channel.counters),
            )
            self._lag = 0.0

    def progress(self) -> None:
        return None


async def run(args: argparse.Namespace) -> None:
    everything = Everything()
    application = Application(everything)
    peers = tuple(peer for peer in args.peers.split(",") if peer)
    config = Config(
        cluster=args.cluster,
        name=args.name,
        incarnation=args.incarnation,
        bind=args.bind,
        initial_hosts=peers,
        timeout=args.join_timeout,
        leave_timeout=args.leave_timeout,
        run=args.run,
        seed=args.seed + args.incarnation,
        key=args.key or [],
        inbox=20_000,
        traces=args.traces,
        nodes=tuple(args.nodes.split(",")),
        damage=damage_of(args.damage),
        rejoin=True,
        block=application.block,
        get_state=application.get_state,
        set_state=everything.set_state,
    )
    try:
        async with Channel.connecting(config) as channel:
            await Member(channel, args, application, config.net).work()
    finally:
        close_traces(config)


def main() -> int:
    parser = parser_of("member.py", "mixed hour", join_timeout=45.0)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--peers", default="")
    parser.add_argument("--captures", type=Path, required=True)
    parser.add_argument("--key", default="")
    return live(parser.parse_args(), run, (NotMember,))


if __name__ == "__main__":
    sys.exit(main())
