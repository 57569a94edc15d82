"""A member process of `raincheck run raincore`: it multicasts, locks, delivers, and reports.

Beside the orders of all members it follows "calm", "part HOST:PORT ...", "arm ACT MOMENT",
"disarm", "again", "close" and "end".
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from raincheck.conformance.field.load import Duties
from raincheck.conformance.field.nodes import tell_unsent, trace_failed
from raincheck.conformance.field.telling import tell
from raincheck.impl.aio.ring import Ring
from raincheck.impl.raincore.core import Raincore
from raincheck.impl.raincore.events import Effect, Event
from raincheck.impl.ring.fence import Fence, LockLost, TokenLost
from raincheck.impl.ring.node import RingNode
from raincheck.impl.transport.faulty import FaultyTransport

from .armed import Armed
from .fence import Access
from .fence import Fence as Number
from .locks_trace import RingTraces
from .members import title_of
from .status import Status

_LOCKS = 0.02
"""Seconds between two locks of a member, on average."""
_NAMED_LOCKS, _HELD = 0.2, 0.02
"""The same of named locks, and for how long they are held, on average."""
_READERS = 0.4
"""The share of named locks that are read locks."""


class RingDuties(Duties):
    """The duties of a member process of a ring; they begin before it is connected."""

    def __init__(self, args: argparse.Namespace, clock: Callable[[], float]) -> None:
        draw = Random(f"ring load {args.seed} {args.name} {args.incarnation}")
        # A process that continues under an earlier one's name must not repeat its numbers.
        super().__init__(args, f"{args.name}.{args.incarnation}", draw, args.life << 32)
        self._clock = clock
        self._node: RingNode | None = None
        self._traces: RingTraces | None = None
        self._armed: Armed | None = None
        self._transport: FaultyTransport | None = None
        self._ring: Ring | None = None
        self._delivered = self._locks = self._refused = self._lost = 0
        self.end = "leave"
        """How it ends: it leaves the ring, closes, or just ends, because the run does."""
        self._named = self._named_lost = 0

    # ------------------------------------------------------------------ before it is connected

    def opened(self, transport: FaultyTransport) -> FaultyTransport:
        """Called with the sockets when they are open."""
        self._transport = transport
        return transport

    def sends(self) -> None:
        """Called when something is about to be sent."""
        if self._traces is not None:
            self._traces.flush()
        if self._armed is not None:
            self._armed.sends()

    def made(self, node: RingNode) -> None:
        """Called with the node before it has handled any event."""
        args = self.args
        self._node = node
        self._traces = RingTraces(
            node,
            args.traces,
            args.run,
            tuple(args.nodes.split(",")),
            beside=args.trace_to,
            clock=self._clock,
            problem=trace_failed,
            locks=args.names > 0,
        )
        loop = asyncio.get_running_loop()
        if args.trace_to:
            self._send_soon(node.core, self._traces, loop)
        # Not before the driver has sent the messages of the event at hand.
        self._armed = Armed(node.core, loop.call_soon)
        self._armed.tell = lambda: tell("struck", at=self._clock())
        loop.add_signal_handler(signal.SIGUSR1, self._answer)

    @staticmethod
    def _send_soon(core: Raincore, traces: RingTraces, loop: asyncio.AbstractEventLoop) -> None:
        """Let the reader have each record once its state is kept, whatever becomes of the process:
        one that comes back would leave a hole.
        """
        handle = core.handle

        def sent(event: Event) -> list[Effect]:
            loop.call_soon(traces.flush)
            return handle(event)

        vars(core)["handle"] = sent

    def _answer(self) -> None:
        """Report what this member is doing, and for whom it waits."""
        assert self._node is not None
        missing = self._node.missing(asyncio.get_running_loop().time())
        tell("status", missing=[f"{whom} {what}" for whom, what in missing.items()])

    def obey(self, word: str, rest: Sequence[str]) -> None:
        """Follow an order about the sockets, about the token, or about the end."""
        match word:
            case "calm" if self._transport is not None:
                self._transport.calm()
            case "part" if self._transport is not None:
                ends = (each.rpartition(":") for each in rest)
                self._transport.part([(host, int(port)) for host, _, port in ends])
            case "arm" if self._armed is not None:
                self._armed.arm(*rest)
            case "disarm" if self._armed is not None:
                self._armed.arm("", "")
            case "again":
                self.start(self._send_again())
            case "close" | "end":
                self.end = word
                self.ending.set()

    def progress(self) -> dict[str, Any] | None:
        """Return its status, and what it has sent and delivered."""
        if self._node is None:
            return None
        core = self._node.core
        token = core.last_token
        views = [*enumerate(core.global_view, 1)][-3:]
        status = Status(
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
        mine = {"sent": self.sent, "highest": dict(self.highest)}
        lost = {"refused": self._refused, "lost": self._lost}
        named = {"named": self._named, "named_lost": self._named_lost}
        return status.as_json() | mine | lost | named

    def write(self, progress: dict[str, Any]) -> None:
        """Report the progress with its time."""
        super().write(progress | {"at": round(self._clock(), 3)})

    # ------------------------------------------------------------------ connected

    async def work(self, ring: Ring) -> None:
        """Do all duties of a member, until it is to end."""
        self._ring = ring
        for duty in (self._delivers(), self.load(), self._locking()):
            self.start(duty)
        if self.args.names:
            self.start(self._naming())
        tell("joined", identity=ring.identity)
        await self.until_ending(self.tasks)

    def close(self) -> None:
        """Stop acting, because nothing is recorded any more."""
        if self._transport is not None:
            self._transport.silence()
        if self._traces is not None:
            self._traces.close()
            tell_unsent(self._traces.lost)
            self._traces = None
        if (now := self.progress()) is not None:
            self.write(now)
        if self._ring is not None:
            tell("ended", counters=self._ring.counters)

    async def _delivers(self) -> None:
        assert self._ring is not None
        async for message in self._ring:
            self._delivered += 1
            number = int.from_bytes(message.payload[:8])
            self.took(str(message.sender), [number], [message.payload])
        await self.ending.wait()

    async def send_load(self) -> None:
        """Multicast one message after the other, at random moments."""
        rate = self.args.rate
        while rate and not self.stopping.is_set():
            await self.send(1)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), self.draw.uniform(0, 2 / rate))

    async def _send_again(self) -> None:
        await self.send(1)
        tell("stopped", sent=self.sent)

    async def send(self, count: int) -> None:
        """Multicast the next messages."""
        assert self._ring is not None
        for _ in range(count):
            self.sent += 1
            [payload] = self.payloads([self.sent])
            await self._ring.multicast(payload)

    async def _locking(self) -> None:
        await self.loading.wait()
        assert self._ring is not None
        access = Access(self.me, self.args.resource)
        try:
            while not self.stopping.is_set():
                try:
                    async with self._ring.token() as fence:
                        await self._use(access, fence)
                except TokenLost:
                    self._lost += 1
                await asyncio.sleep(self.draw.uniform(0, 2 * _LOCKS))
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

    async def _naming(self) -> None:
        """Use named locks, one after the other."""
        await self.loading.wait()
        assert self._ring is not None
        args = self.args
        draw = Random(f"named locks {args.seed} {args.name} {args.incarnation} {args.life}")
        names = [f"lock-{number}" for number in range(args.names)]
        while not self.stopping.is_set():
            lock_of = self._ring.read_lock if draw.random() < _READERS else self._ring.lock
            try:
                async with lock_of(draw.choice(names)):
                    await asyncio.sleep(draw.uniform(0, 2 * _HELD))
            except LockLost:
                self._named_lost += 1
            else:
                self._named += 1
            await asyncio.sleep(draw.uniform(0, 2 * _NAMED_LOCKS))
        await asyncio.Event().wait()
