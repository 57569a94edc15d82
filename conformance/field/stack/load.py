"""A member process of `raincheck run`: it sends its load, delivers, logs and reports."""

import argparse
import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

from raincheck.conformance.field.load import Duties
from raincheck.conformance.field.telling import tell
from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.state_callbacks import StateNotTransferred
from raincheck.impl.errors import NotMember
from raincheck.impl.messages import Batch

from .log import Log
from .state import Everything, Given
from .talk import Talk, due
from .unordered import FOLDER, Unordered

EVERY = 100
"""Each hundredth message is a large one."""


class Node(Duties):
    """The duties of a member process of a stack's group."""

    def __init__(
        self, channel: Channel, args: argparse.Namespace, everything: Everything, talk: Talk
    ) -> None:
        me = str(channel.address)
        super().__init__(args, me, Random(f"load {args.seed} {me}"))
        self._talk = talk
        self._speaking = asyncio.Event()
        self._channel = channel
        self._everything = everything
        name = f"{args.run}.{me}.jsonl"
        self._log = Log(args.deliveries / name, me)
        if args.delivery == "safe":
            self._log.row("safe")
        log = Log(args.deliveries.parent / FOLDER / name, me)
        self._unordered = Unordered(me, log, everything)
        self._fetching = asyncio.Event()
        everything.here, everything.on_taken = self._here, self._took_state
        if everything.taken is not None:
            self._took_state(everything.taken)

    async def work(self) -> None:
        """Deliver, send, report; return after a graceful leave."""
        deliver = self.start(self._deliver())
        duties = [deliver, *map(self.start, (self.load(), self.report(), self.follow()))]
        self.start(self._views())
        duties += [self.start(self._speak()), self.start(self._fetch())]
        try:
            await self.until_ending(duties)
            self.ending.set()
            self.stopping.set()
            await self._channel.leave(timeout=self.args.leave_timeout)
            await deliver
            for log in self._logs:
                log.close()
            self.write(self.progress())
            state = self._everything
            tell(
                "left",
                counters=self._channel.counters,
                state=[state.count, state.sum, state.unordered],
                transfers=state.transfers,
                talk=self._talk.counts,
            )
        finally:
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _views(self) -> None:
        async for view in self._channel.views():
            for log in self._logs:
                log.row("view", view=view.id.counter)
            members = [str(member) for member in view.members]
            tell("view", view=view.id.counter, members=members)

    async def _deliver(self) -> None:
        async for batch in self._channel.batches():
            if batch.unicast:
                self._talk.heard(batch)
            elif batch.unordered:
                self._unordered.took(batch)
            else:
                self._take(batch)
        self.ending.set()

    async def _speak(self) -> None:
        """Send unicasts and call, beside the load."""
        while not self.ending.is_set():
            await self._speaking.wait()
            self._speaking.clear()
            await self._talk.speak(self._channel)
        await asyncio.Event().wait()

    def obey(self, word: str, rest: Sequence[str]) -> None:  # noqa: ARG002
        """Ask for the state again, if so ordered."""
        if word == "state":
            self._fetching.set()

    async def _fetch(self) -> None:
        """Ask for the group's state when the harness wants it."""
        while True:
            await self._fetching.wait()
            self._fetching.clear()
            try:
                await self._channel.fetch_state(timeout=self.args.join_timeout)
            except (StateNotTransferred, NotMember) as problem:
                tell("no_state", sentence=str(problem))

    def _here(self) -> Given:
        return Given(
            self.me,
            self._log.position,
            self._unordered.log.position,
            dict(self.highest),
            dict(self._unordered.highest),
        )

    def _took_state(self, given: Given) -> None:
        view = self._channel.view.id.counter
        self._log.took_state(view, given.provider, given.position)
        self._unordered.took_state(view, given)
        self.highest.update(given.highest)

    def _take(self, batch: Batch) -> None:
        sender = str(batch.sender)
        numbers = [int.from_bytes(payload[:8]) for payload in batch.payloads]
        self._log.delivered(sender, batch.view, numbers)
        self._everything.add(sender, numbers)
        self.took(sender, numbers, batch.payloads)

    async def send_load(self) -> None:
        """Send runs of messages at the requested rate."""
        args, loop = self.args, asyncio.get_running_loop()
        start = loop.time()
        while not self.stopping.is_set() and not 0 < args.messages <= self.sent:
            count = self.draw.randint(1, args.batch)
            if args.rate > 0:
                await asyncio.sleep(start + (self.sent + count) / args.rate - loop.time())
            if args.messages:
                count = min(count, args.messages - self.sent)
            if self.stopping.is_set():
                break
            await self.send(count)

    async def send(self, count: int) -> None:
        """Send the next messages at once."""
        numbers = range(self.sent + 1, self.sent + count + 1)
        await self._unordered.send(self._channel)
        self._log.sends(self._channel.view.id.counter, numbers[0], count)
        await self._channel.send_many(self.payloads(numbers))
        self.sent += count
        if due(numbers):
            self._speaking.set()

    def size_of(self, number: int) -> int:
        large: int = self.args.large
        return large if large and number % EVERY == 0 else super().size_of(number)

    def progress(self) -> dict[str, Any]:
        """Return how far it has sent and delivered, in order and without."""
        unordered = {"sent": self._unordered.sent, "highest": dict(self._unordered.highest)}
        return {"sent": self.sent, "highest": dict(self.highest), "unordered": unordered}

    @property
    def _logs(self) -> tuple[Log, Log]:
        return self._log, self._unordered.log
