"""One member as a process: `python -m raincheck.impl.member --help`.

For harnesses that run real clusters. The process joins the group, waits for the expected number of
members, sends its load, delivers, and obeys SIGTERM (and SIGINT) as a graceful leave; SIGKILL is
what a crash is made of. It tells what happens as JSON lines on standard output:

    {"event": "joined", "member": "a.0", "bind": "127.0.0.1:7001", "pid": 4242}
    {"event": "view", "view": 3, "members": ["a.0", "b.0"]}
    {"event": "sent", "messages": 1000}          the whole load is sent
    {"event": "delivered", "messages": 3000}     as many as --until asks for are delivered
    {"event": "left", "delivered": 3000, "sent": 1000, "counters": {...}}

The delivery log (`--deliveries FILE`) has the format that docs/trace-format.md describes, one JSON
object for each delivery: member, view, sender, message, position; `send` rows and, after a
graceful leave, an `end` row complete it. A log without `end` ended by a crash.
"""

import argparse
import asyncio
import contextlib
import json
import random
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from raincheck.impl.aio.channel import Channel

from .errors import RaincheckError
from .messages import Address, Batch, shown

Report = Callable[[dict[str, object]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOptions:
    """The options of a member process; all but the first two have defaults."""

    name: str
    """The member's name, different for each member."""
    bind: str
    """HOST:PORT it listens on."""
    cluster: str = "raincheck"
    """The group's name; members of other groups are ignored."""
    incarnation: int | None = None
    """Incarnation of this name; None takes the time of day."""
    peers: tuple[str, ...] = ()
    """HOST:PORT of members to ask for admission."""
    transport: str = "udp"
    """udp, multicast or tcp."""
    members: int = 1
    """The load starts when so many members are in the view."""
    count: int = 0
    """Messages to send."""
    size: int = 100
    """Bytes of each message."""
    rate: float = 0.0
    """Messages per second; 0 sends as fast as the group takes them."""
    batch: int = 1
    """Messages handed over at once."""
    until: int | None = None
    """Report when so many messages have been delivered."""
    leave_when_done: bool = False
    """Leave by itself once `count` is sent and `until` is delivered."""
    trace: Path | None = None
    """Folder for the trace file."""
    run: str = "run"
    """Name of the run in trace records."""
    nodes: tuple[str, ...] = ()
    """Names of all nodes of the run, for the trace's header."""
    deliveries: Path | None = None
    """File for the delivery log."""
    timeout: float = 60.0
    """Seconds to wait for the expected members."""
    seed: int = 1
    """Seed of the stack's random choices."""


class DeliveryLog:
    """Writes one JSON line for each delivery; numbers the positions."""

    def __init__(self, path: Path, member: Address) -> None:
        self._file: TextIO = path.open("w", encoding="utf-8")
        self._member = str(member)
        self._delivered = 0
        self._sent = 0

    def delivered(self, batch: Batch) -> None:
        """Append a batch of deliveries and flush it, so that a kill loses nothing."""
        member, first = self._member, self._delivered + 1
        lines = [
            f'{{"member":"{member}","view":{message.view},"sender":"{message.sender}",'
            f'"message":{message.seqno},"position":{position},"event":"deliver"}}\n'
            for position, message in enumerate(batch, first)
        ]
        self._delivered += len(batch)
        self._file.write("".join(lines))
        self._file.flush()

    def sent(self, view: int, count: int) -> None:
        """Append one row for each message that the channel has taken."""
        rows = [
            self._row(view, self._member, seqno, seqno, "send")
            for seqno in range(self._sent + 1, self._sent + count + 1)
        ]
        self._sent += count
        self._file.write("".join(rows))
        self._file.flush()

    def end(self, view: int) -> None:
        """Mark the log as complete."""
        self._file.write(self._row(view, None, None, self._delivered, "end"))
        self._file.close()

    def _row(
        self, view: int, sender: str | None, message: int | None, position: int, event: str
    ) -> str:
        row = {"member": self._member, "view": view, "sender": sender, "message": message}
        row |= {"position": position, "event": event}
        return json.dumps(row, separators=(",", ":")) + "\n"


async def run_member(options: MemberOptions, stop: asyncio.Event, report: Report) -> None:
    """Run one member until `stop` is set, or its work is done and it may leave by itself.

    `report` is called with one dict for each of the events that the module's docstring lists.
    """
    async with Channel.connect(
        options.cluster,
        name=options.name,
        incarnation=options.incarnation,
        transport=options.transport,
        bind=options.bind,
        initial_hosts=options.peers,
        trace=options.trace,
        run=options.run,
        nodes=options.nodes,
        seed=options.seed,
    ) as channel:
        await _Member(channel, options, report).work(stop)


class _Member:
    """The tasks of a member process, which end together."""

    def __init__(self, channel: Channel, options: MemberOptions, report: Report) -> None:
        self._channel = channel
        self._options = options
        self._report = report
        self._log: DeliveryLog | None = None
        self._sent = self._delivered = 0
        self._finished = asyncio.Event()

    async def work(self, stop: asyncio.Event) -> None:
        channel, options = self._channel, self._options
        if options.deliveries is not None:
            self._log = DeliveryLog(options.deliveries, channel.address)
        self._tell("joined", member=str(channel.address), bind=shown(channel.endpoint))
        deliver = asyncio.create_task(self._deliver())
        others = [asyncio.create_task(self._views()), asyncio.create_task(self._load())]
        waits: list[asyncio.Task[Any]] = [asyncio.create_task(stop.wait()), deliver, *others]
        if options.leave_when_done:
            waits.append(asyncio.create_task(self._finished.wait()))
        try:
            await self._first_end(waits, ended_well=others)
            for task in others:
                task.cancel()
            await channel.leave()
            await deliver  # log what was delivered before the end
            self._end()
        finally:
            for task in waits:
                task.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _first_end(
        self, waits: list[asyncio.Task[Any]], ended_well: list[asyncio.Task[None]]
    ) -> None:
        """Return when one of the waits is over; the end of sending does not count."""
        left = set(waits)
        while True:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # raises its error
            if any(task not in ended_well for task in done):
                return

    def _end(self) -> None:
        channel = self._channel
        if self._log is not None:
            self._log.end(channel.view.id.counter)
        self._tell(
            "left", delivered=self._delivered, sent=self._sent, counters=dict(channel.counters)
        )

    def _tell(self, event: str, **facts: object) -> None:
        self._report({"event": event} | facts)

    def _progress(self) -> None:
        if self._sent >= self._options.count and self._delivered >= (self._options.until or 0):
            self._finished.set()

    async def _views(self) -> None:
        async for view in self._channel.views():
            members = [str(member) for member in view.members]
            self._tell("view", view=view.id.counter, members=members)

    async def _deliver(self) -> None:
        until = self._options.until
        async for batch in self._channel.batches():
            if self._log is not None:
                self._log.delivered(batch)
            before, self._delivered = self._delivered, self._delivered + len(batch)
            if until is not None and before < until <= self._delivered:
                self._tell("delivered", messages=self._delivered)
            self._progress()

    async def _load(self) -> None:
        options, channel = self._options, self._channel
        await channel.wait_for_members(options.members, timeout=options.timeout)
        loop = asyncio.get_running_loop()
        payload = random.Random(options.name).randbytes(options.size)
        start = loop.time()
        while self._sent < options.count:
            if options.rate > 0:
                await asyncio.sleep(start + self._sent / options.rate - loop.time())
            size = min(options.batch, options.count - self._sent)
            await channel.send_many([payload] * size)
            if self._log is not None:
                self._log.sent(channel.view.id.counter, size)
            self._sent += size
        if options.count:
            self._tell("sent", messages=self._sent)
        self._progress()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m raincheck.impl.member",
        description="Run one member of a group until SIGTERM, which is a graceful leave.",
    )
    add = parser.add_argument
    add("--name", required=True, help="the member's name, different for each member")
    add("--bind", required=True, metavar="HOST:PORT", help="where it listens")
    add("--cluster", default="raincheck", help="the group's name (default: raincheck)")
    add("--incarnation", type=int, help="which life of this name it is (default: the time)")
    add("--peers", default="", metavar="HOST:PORT,...", help="members to join through")
    add("--transport", choices=("udp", "multicast", "tcp"), default="udp")
    add("--members", type=int, default=1, help="send when so many members are here")
    add("--count", type=int, default=0, help="messages to send")
    add("--size", type=int, default=100, help="bytes of each message")
    add("--rate", type=float, default=0.0, help="messages per second; 0: as fast as can be")
    add("--batch", type=int, default=1, help="messages handed over at once")
    add("--until", type=int, help="report when so many messages are delivered")
    add("--leave-when-done", action="store_true", help="leave after --count and --until")
    add("--trace", type=Path, metavar="DIR", help="folder for the trace file")
    add("--run", default="run", help="name of the run in trace records")
    add("--nodes", default="", metavar="NAME,...", help="all nodes, for the trace's header")
    add("--deliveries", type=Path, metavar="FILE", help="file for the delivery log")
    add("--timeout", type=float, default=60.0, help="seconds to wait for --members")
    add("--seed", type=int, default=1, help="for what the stack draws by lot")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run a member process; return its exit code: 0 after leaving, 3 when it could not run."""
    given = vars((parser := _parser()).parse_args(arguments))
    if given["batch"] < 1 or min(given["size"], given["count"]) < 0:
        parser.exit(3, "--batch must be at least 1, --size and --count at least 0\n")
    given |= {each: tuple(filter(None, given[each].split(","))) for each in ("peers", "nodes")}
    options = MemberOptions(**given)

    def report(event: dict[str, object]) -> None:
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(event), flush=True)

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await run_member(options, stop, report)

    try:
        asyncio.run(run())
    except (RaincheckError, OSError) as problem:
        print(f"member {options.name}: {problem}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
