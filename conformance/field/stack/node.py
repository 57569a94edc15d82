"""One member process of `raincheck run`: `python -m raincheck.conformance.field.stack.node --help`.

Traces are written ahead: no datagram leaves before the operating system has the record of the event
that sent it, so a SIGKILL loses no record that anybody could miss.
"""

import argparse
import asyncio
import signal
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from secrets import token_bytes
from typing import Any

from raincheck.conformance.field.nodes import (
    damage_of,
    damaged,
    live,
    parser_of,
    tell_unsent,
    trace_failed,
)
from raincheck.conformance.field.telling import tell
from raincheck.impl.aio.channel import Channel
from raincheck.impl.aio.connect import ChannelConfig
from raincheck.impl.aio.state_callbacks import StateNotTransferred
from raincheck.impl.errors import NotMember
from raincheck.impl.messages import Address
from raincheck.impl.recording.core import Recorder
from raincheck.impl.recording.sending import Writer, writer_to
from raincheck.impl.recording.sequencer import sequencer_recorder
from raincheck.impl.sequencer.core import Repairs
from raincheck.impl.stack.config import DELIVERIES, ORDERS, REPAIRS, STABILITIES, StackConfig
from raincheck.impl.stack.repairs import LayerRepairs
from raincheck.impl.stack.stack import Stack
from raincheck.impl.transport.contract import Transport
from raincheck.impl.transport.faulty import Damage, FaultyTransport

from .layer_traces import SEQUENCER, TRACED, of_stability, traced
from .load import Node
from .state import Everything
from .talk import Talk


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedConfig(ChannelConfig):
    """A channel whose transport is damaged and whose trace is written ahead."""

    traces: Path
    trace_to: str = ""
    """A reader's socket, to which the traces are sent as well."""
    damage: Damage = field(default_factory=Damage)
    repairs: Repairs = field(default_factory=Repairs)
    layers: LayerRepairs = field(default_factory=LayerRepairs)
    writers: list[Writer] = field(default_factory=list)
    recorders: list[tuple[Any, Recorder]] = field(default_factory=list)
    traced: tuple[str, ...] = (SEQUENCER, *TRACED)
    """The protocols that are traced."""

    @property
    def recorded(self) -> bool:
        return True

    def _flush(self) -> None:
        for writer in self.writers:
            writer.flush()

    def _writer(self, address: Address, protocol: str = "") -> Writer:
        """Return what takes the records of that protocol; without a name, SEQUENCER's."""
        writer = writer_to(
            self.traces, self.run, address,
            problem=trace_failed, protocol=protocol, beside=self.trace_to,
        )  # fmt: skip
        self.writers.append(writer)
        return writer

    async def open_transport(self) -> Transport:
        """Open the sockets, and put the faults in front of them."""
        return await self._open_damaged()

    async def _open_damaged(self) -> FaultyTransport:
        inner = await ChannelConfig.open_transport(self)
        return damaged(inner, self.damage, self.seed or 0, self._flush)

    async def _make_stack(self, transport: Transport) -> tuple[Stack, Writer | None]:
        """Make a stack that is traced, with its repairs undone if a test requests it."""
        address = self.address(transport.endpoint)
        writer = recorder = None
        if SEQUENCER in self.traced:
            writer = self._writer(address)
            merges = self._protocols().on_merge != "leave"
            recorder = sequencer_recorder(
                self.run,
                address,
                self.nodes,
                writer,
                self.traced,
                merges=merges,
                delivery=self._protocols().delivery,
            )
        config = await self.stack_config(transport)
        seed = self.seed or 0
        stack = Stack(
            address,
            config,
            seed=seed,
            secret=token_bytes(32),
            recorder=recorder,
            repairs=self.repairs,
            layers=self.layers,
        )
        self._record(stack, address)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, status, stack)
        return stack, writer

    def end_traces(self) -> None:
        """Complete the traces: short of being killed, nothing unrecorded was handled."""
        for core, recorder in self.recorders:
            recorder.footer(core)
        for writer in self.writers:
            writer.close()
        tell_unsent(sum(writer.lost for writer in self.writers))

    def _record(self, stack: Stack, address: Address) -> None:
        """Trace the layers beside SEQUENCER."""
        for protocol in (each for each in self.traced if each != SEQUENCER):
            writer = self._writer(address, protocol)
            self.recorders.append(
                traced(stack, protocol, self.run, self.nodes, writer, self.traced)
            )


def status(stack: Stack) -> None:
    """Answer SIGUSR1: report what this member is doing, and for whom it waits."""
    missing = {
        str(member): what
        for member, what in stack.missing(asyncio.get_running_loop().time()).items()
    }
    counters = dict(stack.counters)
    tell("status", status=stack.status, view=str(stack.view), missing=missing, counters=counters)


def parser(module: str = "raincheck.conformance.field.stack.node") -> argparse.ArgumentParser:
    """Return a parser with the options of a member of a stack's group."""
    options = parser_of(module, "cluster", join_timeout=20.0)
    add = options.add_argument
    add("--cluster", required=True, help="the group's name")
    add("--transport", choices=("udp", "multicast", "tcp"), default="udp")
    add("--group", default="239.192.7.7:45588", metavar="HOST:PORT", help="IP multicast group")
    add("--peers", default="", metavar="HOST:PORT,...", help="members; none: found the group")
    add("--deliveries", type=Path, required=True, metavar="DIR")
    add("--messages", type=int, default=0, help="messages to send; 0: until told to stop")
    add("--large", type=int, default=0, help="bytes of each hundredth message; 0: as the others")
    add("--order", choices=ORDERS, default="sequencer", help="the protocol that orders messages")
    add("--delivery", choices=DELIVERIES, default="agreed", help="when messages are delivered")
    add("--stability", choices=STABILITIES, default=STABILITIES[0], help="what collects messages")
    add("--repair", choices=REPAIRS, default=REPAIRS[0], help="how members get what they lack")
    add("--batch", type=int, default=8, help="messages handed over at once, at most")
    add("--heavy", default="", metavar="LAYER,...", help="layers to be traced, too")
    return options


def repairs(text: str) -> Repairs:
    """Undo the named repairs of SEQUENCER; joiners then accept any first message."""
    names = [name for name in text.split(",") if name and "." not in name]
    undone: dict[str, Any] = {name: False for name in names if name != "join_policy"}
    if "join_policy" in names:
        undone["join_policy"] = "any"
    return Repairs(**undone)


def layers(text: str) -> LayerRepairs:
    """Undo the repairs of other layers, named as "flush.reconcile"."""
    undone: dict[str, dict[str, bool]] = {}
    for layer, dot, repair in (name.partition(".") for name in text.split(",")):
        if dot:
            undone.setdefault(layer, {})[repair] = False
    whole = LayerRepairs()
    return replace(whole, **{n: replace(getattr(whole, n), **off) for n, off in undone.items()})


def config(args: argparse.Namespace, everything: Everything, talk: Talk) -> TracedConfig:
    """Return the channel's settings, from the command line and the application's state."""
    peers = tuple(peer for peer in args.peers.split(",") if peer)
    # A founder of a multicast group waits for nobody; others must not found a second group.
    patience = args.join_timeout if peers else 0.3
    return TracedConfig(
        cluster=args.cluster,
        name=args.name,
        incarnation=args.incarnation,
        transport=args.transport,
        bind=args.bind,
        group=args.group if args.transport == "multicast" else None,
        initial_hosts=peers,
        timeout=args.join_timeout,
        leave_timeout=args.leave_timeout,
        run=args.run,
        seed=args.seed,
        stack=StackConfig(join_timeout=patience),
        traces=args.traces,
        trace_to=args.trace_to,
        nodes=tuple(args.nodes.split(",")),
        damage=damage_of(args.damage),
        repairs=repairs(args.undo),
        layers=layers(args.undo),
        traced=_traced(args),
        get_state=everything.get_state,
        set_state=everything.set_state,
        on_call=talk.answer,
        order=args.order,
        delivery=args.delivery,
        stability=args.stability,
        repair=args.repair,
    )


def _traced(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the protocols that are traced."""
    layers = of_stability(TRACED, args.stability)
    return (args.order, *layers, *(name for name in args.heavy.split(",") if name))


async def _run(args: argparse.Namespace) -> None:
    everything = Everything()
    talk = Talk(f"{args.name}.{args.incarnation}", everything, Random(f"talk {args.seed}"))
    settings = config(args, everything, talk)
    try:
        async with Channel.connecting(settings) as channel:
            await Node(channel, args, everything, talk).work()
    finally:
        settings.end_traces()


def main(arguments: list[str] | None = None) -> int:
    """Run a member; return one of the exit codes of `field/telling.py`."""
    return live(parser().parse_args(arguments), _run, (NotMember, StateNotTransferred))


if __name__ == "__main__":
    sys.exit(main())
