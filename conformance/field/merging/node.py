"""One member process of `raincheck run merging`: it sends, delivers, and logs, on either side.

In its log views are numbered by their ids, since two sides use the same numbers. Those of its
protocols are traced that can be judged across a merge (`traced.py`). Beside the orders of all
members it follows "part ..." (these endpoints are out of reach), "deaf ..." (these are not heard),
"calm", and "again" (send one more message).
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from raincheck.conformance.field.load import Duties
from raincheck.conformance.field.nodes import damage_of, live
from raincheck.conformance.field.stack.log import Log
from raincheck.conformance.field.stack.node import TracedConfig, layers, parser, repairs
from raincheck.conformance.field.stack.state import Everything, Given
from raincheck.conformance.field.telling import tell
from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.events import ViewChange
from raincheck.impl.aio.state_callbacks import StateNotTransferred
from raincheck.impl.errors import NotMember
from raincheck.impl.messages import MergeView, Message, View
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.reports import PrimaryChange
from raincheck.impl.transport.contract import Transport
from raincheck.impl.transport.faulty import FaultyTransport

from .primaries import FOLDER, PrimaryLog, label
from .traced import TRACED

PATIENCE = 120.0
"""Seconds for which a send waits for a primary view: longer than any partition of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergingConfig(TracedConfig):
    """A channel whose transport is damaged, and can be cut."""

    opened: Callable[[FaultyTransport], None]
    """Called with the transport."""

    async def open_transport(self) -> Transport:
        """Open the sockets, and put the faults in front of them."""
        transport = await self._open_damaged()
        self.opened(transport)
        return transport


class MergingNode(Duties):
    """The duties of a member process."""

    def __init__(self, args: argparse.Namespace) -> None:
        me = f"{args.name}.{args.incarnation}"
        super().__init__(args, me, Random(f"load {args.seed} {me}"))
        self.everything = Everything()
        self.everything.here, self.everything.on_taken = self._here, self._took_state
        self.transport: FaultyTransport | None = None
        self._log = Log(args.deliveries / f"{args.run}.{me}.jsonl", me)
        self._primaries: PrimaryLog | None = None
        if args.primary:
            logs = args.deliveries.parent / FOLDER
            self._primaries = PrimaryLog(logs / f"{args.run}.{me}.jsonl", me)
        self._channel: Channel | None = None
        self._label = 0
        """The view in which it delivers."""

    def opened(self, transport: FaultyTransport) -> None:
        """Take the transport, which the harness's orders cut."""
        self.transport = transport

    async def work(self, channel: Channel) -> None:
        """Deliver, send, report; return after a graceful leave."""
        self._channel = channel
        follow = self.start(self._follow_events(channel))
        duties = [follow, *map(self.start, (self.load(), self.report(), self.follow()))]
        try:
            await self.until_ending(duties)
            self.ending.set()
            self.stopping.set()
            await channel.leave(timeout=self.args.leave_timeout)
            await follow
            self._log.close()
            self.write(self.progress())
            state = self.everything
            tell(
                "left",
                counters=channel.counters,
                state=[state.count, state.sum],
                transfers=state.transfers,
                talk={},
            )
        finally:
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _follow_events(self, channel: Channel) -> None:
        self._in(channel.view)
        async for event in channel.events():
            if isinstance(event, ViewChange):
                self._in(event.view)
            elif isinstance(event, PrimaryChange):
                self._decided(event)
            elif isinstance(event, Message):
                self._take(event)
        self.ending.set()

    def _in(self, view: View) -> None:
        if label(view.id) == self._label:
            return
        self._label = label(view.id)
        self._log.row("view", view=self._label)
        members = [str(member) for member in view.members]
        sides = len(view.subgroups) if isinstance(view, MergeView) else 0
        tell("view", view=view.id.counter, members=members, sides=sides)

    def _decided(self, change: PrimaryChange) -> None:
        if change.primary and self._primaries is not None:
            self._primaries.formed(change, self._log.position)
        tell("primary", primary=change.primary)

    def _take(self, message: Message) -> None:
        sender, number = str(message.sender), int.from_bytes(message.payload[:8])
        self._log.delivered(sender, self._label, [number])
        self.everything.add(sender, [number])
        self.took(sender, [number], [message.payload])

    def _here(self) -> Given:
        return Given(self.me, self._log.position, 0, dict(self.highest))

    def _took_state(self, given: Given) -> None:
        self._log.took_state(self._label, given.provider, given.position)
        for sender, number in given.highest.items():
            self.highest[sender] = max(number, self.highest.get(sender, 0))

    # ------------------------------------------------------------------ the load

    async def send_load(self) -> None:
        """Send messages at the requested rate."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        while not self.stopping.is_set():
            await asyncio.sleep(start + self.sent / self.args.rate - loop.time())
            await self.send(1)

    async def send(self, count: int) -> None:
        """Send the next messages."""
        assert self._channel is not None
        numbers = range(self.sent + 1, self.sent + count + 1)
        self._log.sends(label(self._channel.view.id), numbers[0], count)
        await self._channel.send_many(self.payloads(numbers))
        self.sent += count

    def progress(self) -> dict[str, Any]:
        """Return how far it has sent and delivered."""
        return {"sent": self.sent, "highest": dict(self.highest), "unordered": {}}

    def obey(self, word: str, rest: Sequence[str]) -> None:
        """Cut the network, or mend it; send once more."""
        if word == "again":
            self.start(self._send_again())
        if self.transport is None:
            return
        ends = [(host, int(port)) for host, _, port in (each.rpartition(":") for each in rest)]
        match word:
            case "part":
                self.transport.part(ends)
            case "deaf":
                self.transport.part(ends, sends=True)
            case "calm":
                self.transport.calm()

    async def _send_again(self) -> None:
        """Send one more message behind the last one."""
        await self.send(1)
        tell("stopped", sent=self.sent)


async def _run(args: argparse.Namespace) -> None:
    node = MergingNode(args)
    peers = tuple(peer for peer in args.peers.split(",") if peer)
    settings = MergingConfig(
        cluster=args.cluster,
        name=args.name,
        incarnation=args.incarnation,
        transport=args.transport,
        bind=args.bind,
        initial_hosts=peers,
        timeout=args.join_timeout,
        leave_timeout=args.leave_timeout,
        run=args.run,
        seed=args.seed,
        on_merge=args.on_merge,
        delivery=args.delivery,
        primary=args.primary or None,
        expected_votes=args.expected_votes if args.primary else None,
        primary_timeout=PATIENCE if args.primary else None,
        stack=StackConfig(join_timeout=args.join_timeout if peers else 0.3),
        traces=args.traces,
        trace_to=args.trace_to,
        nodes=tuple(args.nodes.split(",")),
        traced=(*TRACED, *(("primary",) if args.primary else ())),
        damage=damage_of(args.damage),
        repairs=repairs(args.undo),
        layers=layers(args.undo),
        opened=node.opened,
        get_state=node.everything.get_state,
        set_state=node.everything.set_state,
    )
    try:
        async with Channel.connecting(settings) as channel:
            await node.work(channel)
    finally:
        settings.end_traces()


def main(arguments: list[str] | None = None) -> int:
    """Run a member; return one of the exit codes of `field/telling.py`."""
    options = parser("raincheck.conformance.field.merging.node")
    options.add_argument("--on-merge", choices=("callback", "state"), default="state")
    options.add_argument("--primary", choices=("", "majority"), default="")
    options.add_argument("--expected-votes", type=int, default=0)
    return live(options.parse_args(arguments), _run, (NotMember, StateNotTransferred))


if __name__ == "__main__":
    sys.exit(main())
