"""Run a real group under faults, and check its traces and logs (`raincheck run stack`)."""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Outcome, Result, Ui
from raincheck.conformance.evidence.owed import Owed, Owes
from raincheck.conformance.field.campaign import GroupCampaign, check_counts, keeping, reader_of
from raincheck.conformance.field.faults import Plan, kinds_of
from raincheck.conformance.field.stack.checks import (
    NOT_PROMISED,
    ClusterJudged,
    judge,
    promised,
    property_name,
    protocol_of,
    results,
)
from raincheck.conformance.field.stack.faults import KINDS, Fault, make_plan
from raincheck.conformance.field.stack.members import MODULE
from raincheck.conformance.field.stack.record import Record, Settings
from raincheck.conformance.field.stack.run import ClusterRun, run_name
from raincheck.conformance.outcome import HOLDS
from raincheck.impl.stack.config import DELIVERIES, ORDERS, REPAIRS, STABILITIES

HEAVY = ("unicast", "nakack")
"""Layers that are traced only on request."""
MEMBERS, SECONDS, RATE = 3, 5.0, 2000.0
MOST_MEMBERS = 64
AUDIT = (
    *("--members", "4", "--seconds", "4", "--trace", ",".join(HEAVY)),
    *("--faults", "crash,requester,participant,joiner,state,loss,duplicate,delay,reorder"),
)
"""The options of the runs that an audit makes."""
FULL = {
    "gossip": (
        *("--members", "4", "--seconds", "4", "--stability", "gossip", "--repair", "gossip"),
        *("--trace", "nakack"),
        *("--faults", "crash,requester,participant,joiner,state,loss,duplicate,delay,reorder"),
    ),
    "safe": (
        *("--members", "4", "--seconds", "4", "--delivery", "safe"),
        *("--faults", "crash,requester,participant,joiner,state,loss,duplicate,delay,reorder"),
    ),
    "total": (
        *("--members", "4", "--seconds", "4", "--order", "total"),
        *("--faults", "crash,requester,participant,joiner,state,loss,duplicate,delay,reorder"),
    ),
}
"""The options of those that it makes in its larger tiers alone, by name."""
QUICK = {
    "gossip": (
        *("--members", "3", "--seconds", "1", "--rate", "200", "--large", "0"),
        *("--stability", "gossip", "--repair", "gossip", "--faults", "loss", "--runs", "1"),
    ),
    "total": (
        *("--members", "3", "--seconds", "1", "--rate", "1000", "--order", "total"),
        *("--faults", "crash,loss", "--runs", "2"),
    ),
}
"""The same in its quick tier."""
USUAL = {
    "repair": REPAIRS[0],
    "stability": STABILITIES[0],
    "order": ORDERS[0],
    "delivery": DELIVERIES[0],
}
"""What a group has if nothing is said."""
LARGEST = 50_000
"""The largest `--size` in bytes: such a message must fit into one datagram."""
LARGE, MOST_BYTES = 150_000, 100_000_000
"""Bytes of each hundredth message, and the most of them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that only the stack has."""
    stack = parser.add_argument_group(
        "raincheck run stack",
        f"a group of 1 to {MOST_MEMBERS} founders (default: {MEMBERS}); --faults: "
        f"{', '.join(KINDS)}, all, none; --seconds (default: {SECONDS:g}); --rate: messages per "
        f"second and member (default: {RATE:g})",
    )
    stack.add_argument(
        "--large", type=int, default=LARGE, metavar="BYTES",
        help=f"bytes of each hundredth message, sent in fragments (default: {LARGE}); 0: none",
    )  # fmt: skip
    stack.add_argument(
        "--order",
        default="sequencer",
        choices=ORDERS,
        help="the protocol that orders messages, and is traced (default: sequencer)",
    )
    stack.add_argument(
        "--delivery",
        default="agreed",
        choices=DELIVERIES,
        help="when messages are delivered (default: agreed); with safe the uniform promises are "
        "judged, too",
    )
    stack.add_argument(
        "--stability",
        default=STABILITIES[0],
        choices=STABILITIES,
        help=f"how members learn what all have delivered (default: {STABILITIES[0]}); with gossip "
        "PBCAST is traced in place of STABLE",
    )
    stack.add_argument(
        "--repair",
        default=REPAIRS[0],
        choices=REPAIRS,
        help=f"how members get what they lack (default: {REPAIRS[0]}); gossip needs "
        "--stability gossip",
    )
    stack.add_argument(
        "--trace", default="", metavar="LAYER,...",
        help=f"also trace every datagram of {' and '.join(HEAVY)} (costs time and space)",
    )  # fmt: skip


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Run the group as often as requested, and check each run."""
    for given, option in ((args.as_written, "--as-written"), (args.watch, "--watch")):
        if given:
            raise UsageError(f"{option} is for the ring: use raincheck run raincore.")
    return campaign(args, ui).run()


def campaign(args: argparse.Namespace, ui: Ui) -> ClusterCampaign:
    """Return the runs that are requested."""
    return ClusterCampaign(args, ui, settings_of(args))


class ClusterCampaign(GroupCampaign[ClusterJudged, Settings, Fault]):
    """Runs of the stack."""

    module = MODULE

    def which_group(self) -> list[str]:
        """Return how many found the group, and over which transport."""
        return ["--members", str(self.settings.members), "--transport", self.args.transport]

    def more_options(self) -> list[str]:
        """Return the layers that are traced on request."""
        more = ["--trace", self.args.trace] if self.args.trace else []
        for option, usual in USUAL.items():
            if (value := getattr(self.args, option)) != usual:
                more = [f"--{option}", value, *more]
        return more if self.args.large == LARGE else ["--large", str(self.args.large), *more]

    def plan(self, seed: int) -> Plan[Fault]:
        """Return the faults of the run of that seed."""
        return make_plan(self.settings.kinds, seed)

    def founders(self, seed: int) -> Iterator[dict[str, object]]:
        """Yield the options of each founder; all but the first join those before them."""
        record = Record(f"run-{seed}", seed, self.plan(seed))
        options = ClusterRun.options_of(self.settings, record, self.args.out)
        for number in range(self.settings.members):
            yield options | {"peers": "HOST:PORT" if number else ""}

    def judged(self, seed: int) -> ClusterJudged:
        """Do one run, and check its traces and logs."""
        out = self.args.out
        return judge(run_cluster(self.settings, seed, out), out, check=not self.args.no_check)

    def seen(self, judged: ClusterJudged) -> str:
        """Return the violations that are only shown."""
        names = [name for name in judged.witnesses if name in judged.verdicts]
        return f"; seen violated: {', '.join(names)}" if names else ""

    def owed(self) -> Owes:
        """Return a result for each run, and one for each property that such runs promise."""
        seeds, order = range(self.args.seed, self.args.seed + self.args.runs), self.settings.order
        safe = self.settings.delivery == "safe"
        names = [run_name(self.settings, seed) for seed in seeds]
        names += [property_name(name, safe=safe) for name in self._promised(safe=safe)]
        found = tuple(Owed(name, protocol_of(order)) for name in names)
        return Owes(found, others=frozenset({HOLDS, NOT_PROMISED}))

    def _promised(self, *, safe: bool) -> list[str]:
        return promised(by_logs=self.settings.order != ORDERS[0], safe=safe,
                        checked=not self.args.no_check)  # fmt: skip

    def results(self, runs: list[ClusterJudged], again: dict[int, str]) -> tuple[Result, ...]:
        """Return one result for each run, and one for each property over all runs."""
        return results(runs, again)


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
    if args.large and not args.size <= args.large <= MOST_BYTES:
        raise UsageError(
            f"--large is {args.large}: choose from {args.size} (--size) to {MOST_BYTES}, or 0."
        )
    if args.repair == "gossip" and args.stability != "gossip":
        raise UsageError("--repair gossip needs --stability gossip: the same gossips do both.")
    if args.order == "total" and args.delivery != "agreed":
        raise UsageError("--order total is for agreed delivery: leave out --delivery.")
    check_counts(args, rate, "no limit", LARGEST)
    return Settings(
        members=members,
        transport=args.transport,
        kinds=kinds_of(args.faults, KINDS),
        messages=args.messages or 0,
        seconds=args.seconds or SECONDS,
        size=args.size,
        large=args.large,
        rate=rate,
        # At a limited rate mostly single messages and short runs, at full speed long runs.
        batch=8 if rate else 256,
        group=_group(args.seed),
        undo=args.undo,
        trace_to=reader_of(args),
        order=args.order,
        delivery=args.delivery,
        stability=args.stability,
        repair=args.repair,
        trace=_layers(args.trace),
    )


def _layers(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if strange := sorted({*names} - {*HEAVY}):
        raise UsageError(f"--trace does not know {strange[0]}: choose from {', '.join(HEAVY)}.")
    return names


def _group(seed: int) -> str:
    """Return an IP multicast group of this run's own, as far as chance allows."""
    draw = random.Random(f"group {seed}")
    return f"239.192.{draw.randrange(256)}.{draw.randrange(1, 255)}:{draw.randrange(30000, 60000)}"
