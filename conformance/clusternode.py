"""One member process of `raincheck run`: `python -m raincheck.conformance.clusternode --help`.

It is steered by lines on its standard input ("load", "stop", "leave", "status"; the end of the
input means that the harness is gone, and ends the process), and tells what happens as JSON lines
on its standard output. Traces are written ahead: no datagram leaves before the record of the event
that sent it is with the operating system, so a SIGKILL takes no record that anybody could miss.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from raincheck.impl.channel import Channel, Connecting
from raincheck.impl.connect import ChannelConfig
from raincheck.impl.errors import NotMember, RaincheckError, WaitTimeout
from raincheck.impl.faulty import Damage, FaultyTransport
from raincheck.impl.messages import Batch
from raincheck.impl.sequencer import Repairs
from raincheck.impl.stack import Stack
from raincheck.impl.stack_config import StackConfig
from raincheck.impl.tracing import Tracer, TraceWriter
from raincheck.impl.transport import Transport

LEFT, STUCK, SETUP, EXCLUDED, ORPHAN = 0, 2, 3, 4, 5
"""Exit codes: after leaving; a wait was too long; not able to start; excluded; harness gone."""
PROGRESS = 0.05
"""Seconds between two words on progress."""
SMALLEST = 16
"""Bytes: a message carries its number, and something to compare."""


def content(sender: str, number: int, size: int) -> bytes:
    """What a sender's message of that number contains: any two differ, everybody can tell."""
    block = _block(sender, size)
    at = number % 251
    return number.to_bytes(8) + block[at : at + size - 8]


_blocks: dict[tuple[str, int], bytes] = {}


def _block(sender: str, size: int) -> bytes:
    found = _blocks.get((sender, size))
    if found is None:
        found = _blocks[sender, size] = Random(sender).randbytes(size + 251)
    return found


def tell(event: str, **facts: object) -> None:
    """Write one line for the harness."""
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps({"event": event, **facts}, separators=(",", ":")), flush=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedConfig(ChannelConfig):
    """A channel whose transport is damaged, and whose trace is written ahead."""

    traces: Path
    damage: Damage = Damage()
    repairs: Repairs = Repairs()
    writers: list[TraceWriter]

    def _flush(self) -> None:
        for writer in self.writers:
            writer.flush()

    async def open_transport(self) -> Transport:
        """Open the sockets, and stand in front of them."""
        inner = await ChannelConfig.open_transport(self)
        return FaultyTransport(inner, self.damage, self.seed or 0, self._flush)

    async def make_stack(self, transport: Transport) -> tuple[Stack, TraceWriter]:
        """Make a stack that is traced, its repairs undone if a test wants that."""
        address = self.address(transport.endpoint)
        writer = TraceWriter(self.traces, self.run, address, problem=_trace_failed)
        self.writers.append(writer)
        tracer = Tracer(self.run, address, self.nodes, writer)
        config = await self.stack_config(transport)
        seed = self.seed or 0
        return Stack(address, config, seed=seed, tracer=tracer, repairs=self.repairs), writer


def _trace_failed(sentence: str) -> None:
    tell("trace_failed", sentence=sentence)


class Log:
    """The delivery log, in the format of docs/trace-format.md; each call is one write."""

    def __init__(self, path: Path, member: str) -> None:
        self._file = path.open("x", encoding="utf-8")
        self._member = member
        self._position = 0

    def row(self, event: str, **fields: object) -> None:
        """Append a row that is no delivery."""
        self._write(json.dumps({"member": self._member, "event": event, **fields}) + "\n")

    def sends(self, view: int, first: int, count: int) -> None:
        """Say what is about to be sent."""
        self._write(
            "".join(
                f'{{"member":"{self._member}","view":{view},"message":{number},'
                f'"position":{number},"event":"send"}}\n'
                for number in range(first, first + count)
            )
        )

    def delivered(self, sender: str, view: int, numbers: list[int]) -> None:
        """Append deliveries."""
        first, self._position = self._position + 1, self._position + len(numbers)
        self._write(
            "".join(
                f'{{"member":"{self._member}","view":{view},"sender":"{sender}",'
                f'"message":{number},"position":{position}}}\n'
                for position, number in enumerate(numbers, first)
            )
        )

    def close(self) -> None:
        """Say that the log is complete."""
        self.row("end", position=self._position)
        self._file.close()

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


class Node:
    """The duties of a member process."""

    def __init__(self, channel: Channel, args: argparse.Namespace) -> None:
        self._channel = channel
        self._args = args
        self._me = str(channel.address)
        self._draw = Random(f"load {args.seed} {self._me}")
        self._log = Log(args.deliveries / f"{args.run}.{self._me}.jsonl", self._me)
        self._sent = 0
        self._highest: dict[str, int] = {}
        self._loading = asyncio.Event()
        self._stopped = False
        self._leaving = asyncio.Event()

    async def work(self) -> None:
        """Deliver, send, tell; return after a graceful leave."""
        host, port = self._channel.endpoint
        tell("joined", bind=f"{host}:{port}", pid=os.getpid())
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._leaving.set)
        deliver = asyncio.create_task(self._deliver())
        duties = [deliver, asyncio.create_task(self._load()), asyncio.create_task(self._tell())]
        duties += [asyncio.create_task(self._views()), asyncio.create_task(self._obey())]
        leave = asyncio.create_task(self._leaving.wait())
        ending = (duties[0], duties[1], duties[2], duties[4])
        try:
            await asyncio.wait([leave, *ending], return_when=asyncio.FIRST_COMPLETED)
            self._stopped = True
            for duty in ending:
                if duty.done():
                    duty.result()
            await self._channel.leave(timeout=self._args.leave_timeout)
            await deliver
            self._log.close()
            self._progress()
            tell("left", counters=self._channel.counters)
        finally:
            for duty in (leave, *duties):
                duty.cancel()
            await asyncio.gather(leave, *duties, return_exceptions=True)

    async def _views(self) -> None:
        async for view in self._channel.views():
            self._log.row("view", view=view.id.counter)
            members = [str(member) for member in view.members]
            tell("view", view=view.id.counter, members=members)

    async def _deliver(self) -> None:
        async for batch in self._channel.batches():
            self._take(batch)
        self._leaving.set()

    def _take(self, batch: Batch) -> None:
        sender = str(batch.sender)
        numbers = [int.from_bytes(payload[:8]) for payload in batch.payloads]
        self._log.delivered(sender, batch.view, numbers)
        size = self._args.size
        for number, payload in zip(numbers, batch.payloads, strict=True):
            if payload != content(sender, number, size):
                tell("wrong", sentence=f"{self._me} delivered other contents than {sender} sent")
                break
        self._highest[sender] = numbers[-1]

    async def _load(self) -> None:
        await self._loading.wait()
        args, loop = self._args, asyncio.get_running_loop()
        start = loop.time()
        while not self._stopped and not 0 < args.messages <= self._sent:
            count = self._draw.randint(1, args.batch)
            if args.rate > 0:
                await asyncio.sleep(start + (self._sent + count) / args.rate - loop.time())
            if args.messages:
                count = min(count, args.messages - self._sent)
            if self._stopped:
                break
            await self._send(count)
        while not self._stopped:
            await asyncio.sleep(PROGRESS)
        if not self._leaving.is_set():
            # One more, so that members that came after all the others have something to wait for.
            await self._send(1)
        tell("stopped", sent=self._sent)
        await asyncio.Event().wait()

    async def _send(self, count: int) -> None:
        numbers = range(self._sent + 1, self._sent + count + 1)
        self._log.sends(self._channel.view.id.counter, numbers[0], count)
        size = self._args.size
        await self._channel.send_many([content(self._me, n, size) for n in numbers])
        self._sent += count

    def _progress(self) -> None:
        tell("progress", sent=self._sent, highest=self._highest)

    async def _tell(self) -> None:
        before: tuple[int, dict[str, int]] = (-1, {})
        while True:
            now = (self._sent, dict(self._highest))
            if now != before:
                before = now
                self._progress()
            await asyncio.sleep(PROGRESS)

    async def _obey(self) -> None:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            match line.strip():
                case b"load":
                    self._loading.set()
                case b"stop":
                    self._stopped = True
                    self._loading.set()
                case b"leave":
                    self._leaving.set()
                case b"status":
                    self._status()
        os._exit(ORPHAN)

    def _status(self) -> None:
        channel = self._channel
        missing = [str(each) for each in channel._driver.missing()]
        counters: dict[str, Any] = channel.counters
        tell("status", view=str(channel.view), missing=missing, counters=counters)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m raincheck.conformance.clusternode",
        description="One member of a cluster under test, steered through standard input.",
    )
    add = parser.add_argument
    add("--name", required=True, help="the member's name")
    add("--incarnation", type=int, required=True, help="which life of that name")
    add("--nodes", required=True, metavar="A,B,...", help="all names of the run")
    add("--run", required=True, help="the run's name")
    add("--cluster", required=True, help="the group's name")
    add("--transport", choices=("udp", "multicast", "tcp"), default="udp")
    add("--bind", default="127.0.0.1:0", metavar="HOST:PORT")
    add("--group", default="239.192.7.7:45588", metavar="HOST:PORT", help="IP multicast group")
    add("--peers", default="", metavar="HOST:PORT,...", help="members; none: found the group")
    add("--traces", type=Path, required=True, metavar="DIR")
    add("--deliveries", type=Path, required=True, metavar="DIR")
    add("--log", type=Path, metavar="FILE", help="for warnings")
    add("--messages", type=int, default=0, help="messages to send; 0: until told to stop")
    add("--size", type=int, default=100, help="bytes of a message")
    add("--rate", type=float, default=0.0, help="messages per second; 0: as fast as can be")
    add("--batch", type=int, default=8, help="messages handed over at once, at most")
    add("--damage", default="", metavar="KIND=SHARE,...", help="loss, duplicate, delay, reorder")
    add("--undo", default="", metavar="REPAIR,...", help="repairs of the spec to undo: for tests")
    add("--join-timeout", type=float, default=20.0, help="seconds until joining is given up")
    add("--leave-timeout", type=float, default=15.0, help="seconds until leaving is given up")
    add("--seed", type=int, default=1)
    return parser


def repairs(text: str) -> Repairs:
    """Undo the repairs that are named; joiners then take whatever comes first."""
    names = [name for name in text.split(",") if name]
    undone: dict[str, Any] = {name: False for name in names if name != "join_policy"}
    if "join_policy" in names:
        undone["join_policy"] = "any"
    return Repairs(**undone)


def config(args: argparse.Namespace) -> TracedConfig:
    """From the command line to the channel's settings."""
    shares = dict(pair.split("=") for pair in args.damage.split(",") if pair)
    peers = tuple(peer for peer in args.peers.split(",") if peer)
    # A founder of a multicast group waits for nobody; others must not found a second group.
    patience = args.join_timeout if peers else 0.3
    return TracedConfig(
        cluster=args.cluster,
        name=args.name,
        incarnation=args.incarnation,
        transport=args.transport,
        bind=args.bind,
        group=args.group,
        initial_hosts=peers,
        timeout=args.join_timeout,
        leave_timeout=args.leave_timeout,
        run=args.run,
        seed=args.seed,
        stack=StackConfig(join_timeout=patience),
        traces=args.traces,
        nodes=tuple(args.nodes.split(",")),
        damage=Damage(**{kind: float(share) for kind, share in shares.items()}),
        repairs=repairs(args.undo),
        writers=[],
    )


async def _run(args: argparse.Namespace) -> None:
    settings = config(args)
    try:
        async with Connecting(settings) as channel:
            await Node(channel, args).work()
    finally:
        for writer in settings.writers:
            writer.close()


def main(arguments: list[str] | None = None) -> int:
    """Run a member; return one of the exit codes above."""
    args = _parser().parse_args(arguments)
    # Warnings are expected under faults; anything on stderr is a defect.
    logging.basicConfig(filename=args.log, level=logging.WARNING, format="%(message)s")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the harness's affair
    try:
        asyncio.run(_run(args))
    except NotMember as problem:
        tell("excluded", sentence=str(problem))
        return EXCLUDED
    except WaitTimeout as problem:
        tell("stuck", sentence=str(problem))
        return STUCK
    except (RaincheckError, OSError) as problem:
        tell("setup", sentence=f"member {args.name}: {problem}")
        return SETUP
    return LEFT


if __name__ == "__main__":
    sys.exit(main())
