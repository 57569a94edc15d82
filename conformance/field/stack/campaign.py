"""Run a real group under faults, and check its traces and logs (`raincheck run stack`)."""

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

HEAVY = ("unicast", "nakack")
"""Layers that are traced only on request."""
MEMBERS, SECONDS, RATE = 3, 5.0, 2000.0
MOST_MEMBERS = 64
AUDIT = (
    *("--members", "4", "--seconds", "4", "--trace", ",".join(HEAVY)),
    *("--faults", "crash,requester,participant,joiner,loss,duplicate,delay,reorder"),
)
"""The options of the runs that an audit makes."""
LARGEST = 50_000
"""The largest message in bytes: it must fit into one datagram."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that only the stack has."""
    stack = parser.add_argument_group(
        "raincheck run stack",
        f"a group of 1 to {MOST_MEMBERS} founders (default: {MEMBERS}); --faults: "
        f"{', '.join(KINDS)}, all, none; --seconds (default: {SECONDS:g}); --rate: messages a "
        f"second of each (default: {RATE:g})",
    )
    stack.add_argument(
        "--trace", default="", metavar="LAYER,...",
        help=f"trace every datagram of these too: {', '.join(HEAVY)} (costs time and space)",
    )  # fmt: skip


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Run the group as often as requested, and check each run."""
    for given, option in ((args.as_written, "--as-written"), (args.watch, "--watch")):
        if given:
            raise UsageError(f"{option} is for the ring: raincheck run raincore.")
    return ClusterCampaign(args, ui).run()


class ClusterCampaign(Campaign[Judged]):
    """Runs of the stack."""

    def __init__(self, args: argparse.Namespace, ui: Ui) -> None:
        super().__init__(args, ui)
        self.settings = settings_of(args)

    def options(self, which: list[str]) -> list[str]:
        """Return the options that repeat the campaign, including those that select the runs."""
        args = self.args
        options = ["--members", str(self.settings.members), "--transport", args.transport]
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
        """Print what would be started and which faults it would meet; start nothing."""
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
        """Return the violations that are only shown."""
        names = [name for name in judged.witnesses if name in judged.verdicts]
        return f"; seen violated: {', '.join(names)}" if names else ""

    def results(self, runs: list[Judged], again: dict[int, str]) -> tuple[Result, ...]:
        """Return one result for each run, and one for each property over all runs."""
        return results(runs, again)

    def asked(self) -> Settings:
        """Return the settings of all runs."""
        return self.settings


def run_cluster(settings: Settings, seed: int, folder: Path) -> Record:
    """Do one run; all its processes have ended when this returns or raises."""
    with keeping(folder):
        return asyncio.run(ClusterRun(settings, seed, folder).run())


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings; raise UsageError if an argument is wrong."""
    rate = RATE if args.rate is None else args.rate
    members = MEMBERS if args.members is None else args.members
    if not 1 <= members <= MOST_MEMBERS:
        raise UsageError(f"--members is {members}: choose from 1 to {MOST_MEMBERS}.")
    if args.messages is not None and args.messages < 1:
        raise UsageError(f"--messages is {args.messages}: send at least one.")
    if not 0 <= rate < 1e9:
        raise UsageError(f"--rate is {rate:g}: it must be 0 (no limit) or above.")
    check_counts(args, LARGEST)
    return Settings(
        members=members,
        transport=args.transport,
        kinds=parse_kinds(args.faults),
        messages=args.messages or 0,
        seconds=args.seconds or SECONDS,
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
    """Return an IP multicast group of this run's own, as far as chance allows."""
    draw = random.Random(f"group {seed}")
    return f"239.192.{draw.randrange(256)}.{draw.randrange(1, 255)}:{draw.randrange(30000, 60000)}"
