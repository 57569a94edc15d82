"""One member process of a ring under test: `python -m raincheck.conformance.field.ring.node`."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from raincheck.conformance.field.nodes import damage_of, damaged, live, parser_of
from raincheck.impl.aio.ring import Ring
from raincheck.impl.aio.ring_connect import RingSettings
from raincheck.impl.messages import Endpoint
from raincheck.impl.raincore.core import Repairs
from raincheck.impl.transport.contract import Transport
from raincheck.impl.transport.faulty import Damage

from .load import RingDuties
from .record import TIMES


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSettings(RingSettings):
    """A member of a ring whose sockets are damaged."""

    damage: Damage
    seed: int
    duties: RingDuties

    async def open_transport(self, bind: Endpoint, advertise: Endpoint | None) -> Transport:
        """Open the socket, and put the faults in front of it."""
        inner = await RingSettings.open_transport(self, bind, advertise)
        duties = self.duties
        return duties.opened(damaged(inner, self.damage, self.seed, duties.sends))


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("raincheck.conformance.field.ring.node", "ring", join_timeout=60.0)
    add = parser.add_argument
    add("--life", type=int, default=0, help="how many processes of that name there were before")
    add("--ring", required=True, help="the ring's name")
    add("--founders", default="", metavar="NAME@HOST:PORT,...", help="the ring's members=")
    add("--join", default="", metavar="HOST:PORT,...", help="join the ring of these")
    add("--state", type=Path, required=True, metavar="FILE", help="where it keeps its state")
    add("--resource", required=True, metavar="HOST:PORT", help="what the lock protects")
    add("--names", type=int, default=0, help="how many named locks the members use")
    add("--began", type=float, default=0.0, help="the monotonic clock when the run began")
    return parser


def repairs(text: str) -> Repairs:
    """Return the repairs without the named ones, or without all."""
    names = [field for field in Repairs.__dataclass_fields__ if text == "all"]
    return Repairs(**dict.fromkeys(names or [name for name in text.split(",") if name], False))


def settings(args: argparse.Namespace, duties: RingDuties) -> FieldSettings:
    """Return the ring's settings that the command line asks for."""
    return FieldSettings(
        ring=args.ring,
        name=args.name,
        incarnation=args.incarnation,
        bind=args.bind,
        members=[each for each in args.founders.split(",") if each],
        join=[each for each in args.join.split(",") if each],
        config=TIMES,
        state_file=args.state,
        timeout=args.join_timeout,
        leave_timeout=args.leave_timeout,
        repairs=repairs(args.undo),
        on_node=duties.made,
        damage=damage_of(args.damage),
        seed=args.seed,
        duties=duties,
    )


async def _run(args: argparse.Namespace) -> None:
    duties = RingDuties(args, lambda: time.monotonic() - args.began)
    duties.start(duties.follow())
    duties.start(duties.report())
    try:
        async with AsyncExitStack() as stack:
            ring = await stack.enter_async_context(Ring.connecting(settings(args, duties)))
            await duties.work(ring)
            if duties.end == "leave":
                await ring.leave(args.leave_timeout)
            elif duties.end == "end":
                stack.pop_all()  # the run is over: nobody judges what comes after
    finally:
        # However it ends, short of being killed: nothing unrecorded was handled.
        duties.close()


def main(arguments: list[str] | None = None) -> int:
    """Run a member; return one of the exit codes of `field/telling.py`."""
    return live(_parser().parse_args(arguments), _run, interruptible=True)


if __name__ == "__main__":
    sys.exit(main())
