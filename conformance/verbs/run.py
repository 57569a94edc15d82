"""Run a real cluster under faults, record its traces, and check them (`raincheck run`).

Real processes on loopback, joined by sockets and ended by signals.
"""

import argparse
import asyncio
import random
import shlex
from pathlib import Path

from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Outcome, Result, Ui
from raincheck.conformance.field.campaign import Campaign, check_counts, keeping
from raincheck.conformance.field.lives import command_of
from raincheck.conformance.field.record import name_of
from raincheck.conformance.field.stack.checks import Judged, judge, results
from raincheck.conformance.field.stack.faults import KINDS, make_plan, parse_kinds
from raincheck.conformance.field.stack.members import MODULE
from raincheck.conformance.field.stack.record import Record, Settings
from raincheck.conformance.field.stack.run import ClusterRun

from . import run_ring as ringcluster

HEAVY = ("unicast", "nakack")
"""Layers that are traced only if asked."""
SYSTEMS = ("stack", "raincore")
RATE = 2000.0
TRANSPORTS = ("udp", "udp-multicast", "tcp")
MOST_MEMBERS = 64
LARGEST = 50_000
"""Bytes of a message: it must fit into one datagram."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The cluster, its load and its faults."""
    add = parser.add_argument
    add(
        "system", nargs="?", choices=SYSTEMS, default=SYSTEMS[0],
        help="the stack of total order (default), or the token ring",
    )  # fmt: skip
    add("--members", type=int, default=3, metavar="N", help="founding members (default: 3)")
    add("--transport", choices=TRANSPORTS, default="udp", help="default: udp")
    add("--faults", default="all", metavar="KINDS", help=f"{', '.join(KINDS)}, all (default), none")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--messages", type=int, metavar="M", help="each life sends so many")
    length.add_argument("--seconds", type=float, metavar="S", help="of load (default: 5)")
    add("--size", type=int, default=100, metavar="BYTES", help="of each message (default: 100)")
    add(
        "--rate", type=float, metavar="R",
        help=f"messages per second and member, 0: as fast as can be (default: {RATE:g})",
    )  # fmt: skip
    many = parser.add_mutually_exclusive_group()
    many.add_argument(
        "--runs", type=int, default=1, metavar="K", help="with seeds N, N+1, ... (default: 1)"
    )
    many.add_argument(
        "--soak", type=float, metavar="S", help="begin another run until so many seconds are over"
    )
    add("--no-check", action="store_true", help="record only; raincheck conform checks later")
    add(
        "--trace", default="", metavar="LAYER,...",
        help=f"trace every datagram of these too: {', '.join(HEAVY)} (costs time and space)",
    )  # fmt: skip
    # Undoes repairs, so that tests can see the checks notice; not for users.
    add("--undo", default="", help=argparse.SUPPRESS)
    ringcluster.add_arguments(parser)


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Run the cluster as often as asked, and check what it did."""
    if args.system == "raincore":
        return ringcluster.run(args, ui)
    for given, option in ((args.as_written, "--as-written"), (args.watch, "--watch")):
        if given:
            raise UsageError(f"{option} is for the ring: raincheck run raincore.")
    return ClusterCampaign(args, ui).run()


class ClusterCampaign(Campaign[Judged]):
    """Runs of the stack of total order."""

    def __init__(self, args: argparse.Namespace, ui: Ui) -> None:
        super().__init__(args, ui)
        self.settings = settings_of(args)

    def options(self, which: list[str]) -> list[str]:
        """The options that ask for the same again, among them those that say which runs."""
        args = self.args
        options = ["--members", str(args.members), "--transport", args.transport]
        options += ["--faults", args.faults or "none"]
        if args.messages is not None:
            options += ["--messages", str(args.messages)]
        elif args.seconds is not None:
            options += ["--seconds", f"{args.seconds:g}"]
        options += ["--size", str(args.size), "--rate", f"{self.settings.rate:g}", *which]
        options += ["--undo", args.undo] if args.undo else []
        options += ["--trace", args.trace] if args.trace else []
        return options

    def dry(self) -> None:
        """Say what would be started and what would be done to it; make nothing."""
        settings, seed = self.settings, self.args.seed
        plan = make_plan(settings.kinds, seed)
        options = ClusterRun.options_of(settings, plan, seed, self.args.out)
        for number in range(settings.members):
            peers = "HOST:PORT" if number else ""
            life = {"name": name_of(number), "incarnation": 0, **options, "peers": peers}
            self.ui.announce(shlex.join(command_of(MODULE, life)))
        for fault in plan.faults:
            whom = "" if fault.kind == "join" else f" of the {fault.target}"
            self.ui.announce(f"at {fault.at:.0%} of the load: {fault.kind}{whom}")

    def judged(self, seed: int) -> Judged:
        """Do one run, and check its traces and logs."""
        out = self.args.out
        return judge(run_cluster(self.settings, seed, out), out, check=not self.args.no_check)

    def seen(self, judged: Judged) -> str:
        """What is shown only, and was violated."""
        names = [name for name in judged.witnesses if name in judged.verdicts]
        return f"; seen violated: {', '.join(names)}" if names else ""

    def results(self, runs: list[Judged], again: dict[int, str]) -> tuple[Result, ...]:
        """One result for each run, and one for each property over all runs."""
        return results(runs, again)

    def asked(self) -> Settings:
        """The settings of all runs."""
        return self.settings


def run_cluster(settings: Settings, seed: int, folder: Path) -> Record:
    """Do one run; all its processes have ended when this returns or raises."""
    with keeping(folder):
        return asyncio.run(ClusterRun(settings, seed, folder).run())


def settings_of(args: argparse.Namespace) -> Settings:
    """Check the arguments and put them together."""
    rate = RATE if args.rate is None else args.rate
    if not 1 <= args.members <= MOST_MEMBERS:
        raise UsageError(f"--members is {args.members}: choose from 1 to {MOST_MEMBERS}.")
    if args.messages is not None and args.messages < 1:
        raise UsageError(f"--messages is {args.messages}: send at least one.")
    if not 0 <= rate < 1e9:
        raise UsageError(f"--rate is {rate:g}: it must be 0 (no limit) or above.")
    check_counts(args, LARGEST)
    return Settings(
        members=args.members,
        transport=args.transport,
        kinds=parse_kinds(args.faults),
        messages=args.messages or 0,
        seconds=args.seconds or 5.0,
        size=args.size,
        rate=rate,
        # At a limited rate mostly single messages and short runs, at full speed long runs.
        batch=8 if rate else 256,
        group=_group(args.seed),
        undo=args.undo,
        trace=_layers(args.trace),
    )


def _layers(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if strange := sorted({*names} - {*HEAVY}):
        raise UsageError(f"--trace {strange[0]}: choose from {', '.join(HEAVY)}.")
    return names


def _group(seed: int) -> str:
    """An IP multicast group of this run's own, as far as chance allows."""
    draw = random.Random(f"group {seed}")
    return f"239.192.{draw.randrange(256)}.{draw.randrange(1, 255)}:{draw.randrange(30000, 60000)}"
