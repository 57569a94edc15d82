"""A member process of `raincheck run raincore`: it multicasts, locks, delivers, and reports.

Lines on its standard input steer it: "load", "calm", "part HOST:PORT ...", "arm ACT MOMENT",
"stop", "leave", "end".
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from raincheck.conformance.field.nodes import orders
from raincheck.conformance.field.telling import PROGRESS, content, tell
from raincheck.impl.aio.ring import Ring
from raincheck.impl.ring.fence import Fence, TokenLost
from raincheck.impl.ring.node import RingNode
from raincheck.impl.transport.faulty import FaultyTransport

from .fence import Access
from .fence import Fence as Number
from .members import title_of
from .status import Status
from .trace import Armed, Trace

_LOCKS = 0.02
"""Seconds between two locks of a member, on average."""


class Duties:
    """The duties of a member process; they begin before it is connected."""

    def __init__(self, args: argparse.Namespace, clock: Callable[[], float]) -> None:
        self._args = args
        self._clock = clock
        self._draw = Random(f"ring load {args.seed} {args.name} {args.incarnation}")
        self._node: RingNode | None = None
        self._trace: Trace | None = None
        self._armed: Armed | None = None
        self._transport: FaultyTransport | None = None
        self._ring: Ring | None = None
        # A process that continues under an earlier one's name must not repeat its numbers.
        self._sent = args.life << 32
        self._delivered = self._locks = self._refused = self._lost = 0
        self._heard: dict[str, int] = {}
        self._loading = asyncio.Event()
        self._stopping = asyncio.Event()
        self.ending = asyncio.Event()
        """Set when it is to end; `leaves` says how."""
        self.leaves = False
        self._tasks: list[asyncio.Task[None]] = []

    # ------------------------------------------------------------------ before it is connected

    def opened(self, transport: FaultyTransport) -> FaultyTransport:
        """Called with the sockets when they are open."""
        self._transport = transport
        host, port = transport.endpoint
        tell("open", bind=f"{host}:{port}", pid=os.getpid())
        return transport

    def sends(self) -> None:
        """Called when something is about to be sent."""
        if self._armed is not None:
            self._armed.sends()

    def made(self, node: RingNode) -> None:
        """Called with the node before anything has happened to it."""
        args = self._args
        self._node = node
        self._trace = Trace(
            node.core,
            args.traces,
            args.run,
            tuple(args.nodes.split(",")),
            clock=self._clock,
            problem=lambda sentence: tell("trace_failed", sentence=sentence),
        )
        loop = asyncio.get_running_loop()
        # Not before the driver has sent the messages of the event at hand.
        self._armed = Armed(node.core, loop.call_soon)
        self._armed.tell = lambda: tell("struck", at=self._clock())
        loop.add_signal_handler(signal.SIGUSR1, self._answer)

    def _answer(self) -> None:
        """Report what this member is doing, and for whom it waits."""
        assert self._node is not None
        missing = self._node.missing(asyncio.get_running_loop().time())
        tell("status", missing=[f"{whom} {what}" for whom, what in missing.items()])

    def start(self, duty: Coroutine[Any, Any, None]) -> None:
        """Run this duty beside the others."""
        self._tasks.append(asyncio.create_task(duty))

    async def obey(self) -> None:
        """Follow the harness's orders until it is gone."""
        async for word, *rest in orders():
            self._do(word, rest)

    def _do(self, word: str, rest: list[str]) -> None:
        match word:
            case "load":
                self._loading.set()
            case "calm" if self._transport is not None:
                self._transport.calm()
            case "part" if self._transport is not None:
                ends = (each.rpartition(":") for each in rest)
                self._transport.part([(host, int(port)) for host, _, port in ends])
            case "arm" if self._armed is not None:
                self._armed.arm(*rest)
            case "disarm" if self._armed is not None:
                self._armed.arm("", "")
            case "stop":
                self._stopping.set()
                self._loading.set()
            case "leave" | "end":
                self.leaves = word == "leave"
                self.ending.set()

    async def tells(self) -> None:
        """Report the status when it has changed, but not more often than anybody can read it."""
        before = None
        while True:
            now = self._status()
            if now is not None and now != before:
                before = now
                self._say(now)
            await asyncio.sleep(PROGRESS)

    def _status(self) -> Status | None:
        if self._node is None:
            return None
        core = self._node.core
        token = core.last_token
        views = [*enumerate(core.global_view, 1)][-3:]
        return Status(
            node=title_of(*core.me),
            at=0.0,
            up=core.up,
            view_state=core.view_state,
            token_state=core.token_state,
            epoch=(token.epoch.n, token.epoch.by.node),
            seq=token.seq,
            nodelist=tuple(title_of(*each) for each in token.nodelist),
            views=tuple(
                (at, tuple(title_of(*each) for each in view) if view else None)
                for at, view in views
            ),
            locks=self._locks,
            messages=self._delivered,
        )

    def _say(self, status: Status) -> None:
        record = status._replace(at=round(self._clock(), 3)).as_json()
        heard, refused, lost = self._heard, self._refused, self._lost
        tell("ring", **record, sent=self._sent, heard=heard, refused=refused, lost=lost)

    # ------------------------------------------------------------------ connected

    async def work(self, ring: Ring) -> None:
        """Do all duties of a member, until it is to end."""
        self._ring = ring
        for duty in (self._delivers(), self._multicasts(), self._locking()):
            self.start(duty)
        tell("joined")
        waiting = asyncio.create_task(self.ending.wait())
        done, _ = await asyncio.wait([waiting, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        for task in done:
            if task is not waiting:
                task.result()  # raises the error that ended it

    def close(self) -> None:
        """Stop acting, because nothing is recorded any more."""
        if self._transport is not None:
            self._transport.silence()
        if self._trace is not None:
            self._trace.close()
            self._trace = None
        if (now := self._status()) is not None:
            self._say(now)
        if self._ring is not None:
            tell("ended", counters=self._ring.counters)

    async def _delivers(self) -> None:
        assert self._ring is not None
        size = self._args.size
        async for message in self._ring:
            sender = str(message.sender)
            number = int.from_bytes(message.payload[:8])
            self._delivered += 1
            self._heard[sender] = number
            if message.payload != content(sender, number, size):
                who = self._ring.address
                tell("wrong", sentence=f"{who} delivered other contents than {sender} sent")
        await self.ending.wait()

    async def _multicasts(self) -> None:
        """Multicast one message after the other, and after the load one that all must deliver."""
        await self._loading.wait()
        rate = self._args.rate
        while rate and not self._stopping.is_set():
            await self._multicast()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._draw.uniform(0, 2 / rate))
        await self._stopping.wait()
        await self._multicast()
        tell("stopped", sent=self._sent)
        await asyncio.Event().wait()

    async def _multicast(self) -> None:
        assert self._ring is not None
        self._sent += 1
        payload = content(str(self._ring.address), self._sent, self._args.size)
        await self._ring.multicast(payload)

    async def _locking(self) -> None:
        await self._loading.wait()
        assert self._ring is not None
        access = Access(str(self._ring.address), self._args.resource)
        try:
            while not self._stopping.is_set():
                try:
                    async with self._ring.token() as fence:
                        await self._use(access, fence)
                except TokenLost:
                    self._lost += 1
                await asyncio.sleep(self._draw.uniform(0, 2 * _LOCKS))
        finally:
            access.close()
        await asyncio.Event().wait()

    async def _use(self, access: Access, fence: Fence) -> None:
        """Write to the resource twice under that fence."""
        assert self._armed is not None
        epoch, by, number, turn = fence.key
        key: Number = (epoch, by.node, by.incarnation, number, turn)
        self._armed.locked()
        for _ in range(2):
            if not await access.write(key):
                self._refused += 1
                return
        self._locks += 1
