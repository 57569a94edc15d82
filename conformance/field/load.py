"""The duties of a member process that all groups share: it sends, compares, reports and obeys.

Lines on its standard input steer it: "load", "stop", "leave", and what a group adds.
"""

from __future__ import annotations

import argparse
import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Sequence
from random import Random
from typing import Any

from .nodes import orders
from .telling import PROGRESS, content, tell


class Duties(ABC):
    """The duties of a member process."""

    def __init__(self, args: argparse.Namespace, me: str, draw: Random, first: int = 0) -> None:
        """`first` is the number of the last message that `me` is taken to have sent before."""
        self.args = args
        self.me = me
        self.draw = draw
        self.sent = first
        self.highest: dict[str, int] = {}
        """The last message delivered from each member."""
        self.loading = asyncio.Event()
        self.stopping = asyncio.Event()
        self.ending = asyncio.Event()
        """Set when it is to leave the group, or to end."""
        self.tasks: list[asyncio.Task[None]] = []

    @abstractmethod
    async def send(self, count: int) -> None:
        """Send the next messages, and count them in `sent`."""

    @abstractmethod
    async def send_load(self) -> None:
        """Send until it is to stop, or until everything is sent."""

    @abstractmethod
    def progress(self) -> dict[str, Any] | None:
        """Return the report of the moment, which is written when it differs from the last one."""

    def obey(self, word: str, rest: Sequence[str]) -> None:  # noqa: B027 (not all have some)
        """Follow an order that only some groups know."""

    def start(self, duty: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run this duty beside the others."""
        self.tasks.append(asyncio.create_task(duty))
        return self.tasks[-1]

    def payloads(self, numbers: Iterable[int]) -> list[bytes]:
        """Return the contents of this member's messages of these numbers."""
        return [content(self.me, number, self.size_of(number)) for number in numbers]

    def size_of(self, number: int) -> int:  # noqa: ARG002 (some groups have messages of two sizes)
        """Return the bytes of a message of that number."""
        size: int = self.args.size
        return size

    def took(self, sender: str, numbers: Sequence[int], payloads: Sequence[bytes]) -> None:
        """Note deliveries of one sender, and compare their contents with what it sent."""
        self.highest[sender] = numbers[-1]
        for number, payload in zip(numbers, payloads, strict=True):
            if payload != content(sender, number, self.size_of(number)):
                tell("wrong", sentence=f"{self.me} delivered other contents than {sender} sent")
                break

    async def until_ending(self, duties: Iterable[asyncio.Task[None]]) -> None:
        """Wait until it is to end; raise the error that ended one of these duties before."""
        waiting = asyncio.create_task(self.ending.wait())
        done, _ = await asyncio.wait([waiting, *duties], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        for task in done:
            if task is not waiting:
                task.result()

    async def load(self) -> None:
        """Send the load, and behind it one message that all have to deliver."""
        await self.loading.wait()
        await self.send_load()
        await self.stopping.wait()
        if not self.ending.is_set():
            # Members that came after all the others have something to wait for.
            await self.send(1)
        tell("stopped", sent=self.sent)
        await asyncio.Event().wait()

    async def follow(self) -> None:
        """Follow the harness's orders until it is gone."""
        async for word, *rest in orders():
            match word:
                case "load":
                    self.loading.set()
                case "stop":
                    self.stopping.set()
                    self.loading.set()
                case "leave":
                    self.ending.set()
                case _:
                    self.obey(word, rest)

    async def report(self) -> None:
        """Report the progress, but not more often than anybody can read it."""
        before = None
        while True:
            now = self.progress()
            if now is not None and now != before:
                before = now
                self.write(now)
            await asyncio.sleep(PROGRESS)

    def write(self, progress: dict[str, Any]) -> None:
        """Write a report of the progress for the harness."""
        tell("progress", **progress)
