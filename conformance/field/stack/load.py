"""A member process of `raincheck run`: it sends its load, delivers, and reports.

Lines on its standard input steer it: "load", "stop", "leave".
"""

import argparse
import asyncio
import json
import signal
from collections.abc import Coroutine
from pathlib import Path
from random import Random
from typing import Any

from raincheck.conformance.field.nodes import orders
from raincheck.conformance.field.telling import PROGRESS, content, tell
from raincheck.impl.aio.channel import Channel
from raincheck.impl.messages import Batch

from .state import Everything


class Log:
    """The delivery log, in the format of docs/trace-format.md; each call is one write."""

    def __init__(self, path: Path, member: str) -> None:
        self._file = path.open("x", encoding="utf-8")
        self._member = member
        self._position = 0

    def row(self, event: str, **fields: object) -> None:
        """Append a row that is not a delivery."""
        self._write(json.dumps({"member": self._member, "event": event, **fields}) + "\n")

    def sends(self, view: int, first: int, count: int) -> None:
        """Record the messages that are about to be sent."""
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
        """Record that the log is complete."""
        self.row("end", position=self._position)
        self._file.close()

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


class Node:
    """The duties of a member process."""

    def __init__(self, channel: Channel, args: argparse.Namespace, everything: Everything) -> None:
        self._channel = channel
        self._everything = everything
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
        """Deliver, send, report; return after a graceful leave."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._leaving.set)
        tasks: list[asyncio.Task[None]] = []

        def start(duty: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
            tasks.append(asyncio.create_task(duty))
            return tasks[-1]

        deliver = start(self._deliver())
        ending = [deliver, *map(start, (self._load(), self._tell(), self._obey(), self._wait()))]
        start(self._views())
        try:
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
            self._stopped = True
            for task in ending:
                if task.done():
                    task.result()  # raises the error that ended it
            await self._channel.leave(timeout=self._args.leave_timeout)
            await deliver
            self._log.close()
            self._progress()
            state = self._everything
            tell(
                "left",
                counters=self._channel.counters,
                state=[state.count, state.sum],
                transfers=state.transfers,
            )
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait(self) -> None:
        await self._leaving.wait()

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
        self._everything.add(sender, numbers)
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
        async for word, *_ in orders():
            match word:
                case "load":
                    self._loading.set()
                case "stop":
                    self._stopped = True
                    self._loading.set()
                case "leave":
                    self._leaving.set()
