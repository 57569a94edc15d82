"""Cut a real group into sides under load, and judge its traces and what its members delivered
(`raincheck run merging`).
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator

from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Outcome, Result, Ui
from raincheck.conformance.evidence.owed import Owed, Owes
from raincheck.conformance.field.campaign import GroupCampaign, check_counts, keeping, reader_of
from raincheck.conformance.field.faults import Plan, kinds_of
from raincheck.conformance.field.stack.campaign import LARGEST
from raincheck.conformance.field.stack.faults import Fault
from raincheck.conformance.outcome import HOLDS

from .checks import MergingJudged, judge, promised, results
from .faults import KINDS, make_plan
from .members import MODULE
from .run import MergingRecord, MergingRun, MergingSettings, record_of, run_name
from .traced import TRACED

__all__ = ["AUDIT", "FULL", "QUICK", "TRACED", "add_arguments", "run", "settings_of"]

MEMBERS, SECONDS, RATE = 4, 4.0, 100.0
LEAST, PRIMARY_LEAST, MOST_MEMBERS = 2, 3, 16
POLICIES = ("state", "callback")
LOSSES = ("leader",)
"""Faults after which a group with a primary view may need an operator: the member that leads a
merge may be one of two that went on."""
AUDIT = ("--members", "4", "--seconds", "3", "--faults", "halves,thirds,leader,loss,reorder")
"""The options of the runs that an audit makes."""
FULL = {
    "primary": (
        *("--members", "4", "--seconds", "3", "--faults", "halves,thirds,loss,reorder"),
        *("--primary", "majority"),
    )
}
"""The options of those that it makes in its larger tiers, by name."""
QUICK = {
    "primary": (
        *("--members", "3", "--seconds", "3", "--rate", "30", "--faults", "halves,thirds"),
        *("--primary", "majority", "--runs", "1"),
    )
}
"""The same in its quick tier: enough that PRIMARY's traces are judged."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that only such a group has."""
    group = parser.add_argument_group(
        "raincheck run merging",
        f"a group of {LEAST} to {MOST_MEMBERS} founders (default: {MEMBERS}) that is cut and "
        f"merges; --faults: {', '.join(KINDS)}, all, none; --seconds (default: {SECONDS:g}); "
        f"--rate: messages per second and member (default: {RATE:g}); --delivery: as of the stack, "
        f"but the uniform promises are not judged, which no partition keeps",
    )
    group.add_argument(
        "--on-merge", choices=POLICIES, default=POLICIES[0],
        help="what becomes of the states of sides that merge (default: state)",
    )  # fmt: skip
    group.add_argument(
        "--primary", choices=("majority",), default="",
        help=f"only the side with a majority goes on; without {', '.join(LOSSES)} among the faults",
    )  # fmt: skip


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Run the group as often as requested, and check each run."""
    for given, option in ((args.as_written, "--as-written"), (args.watch, "--watch")):
        if given:
            raise UsageError(f"{option} is for the ring: use raincheck run raincore.")
    return campaign(args, ui).run()


def campaign(args: argparse.Namespace, ui: Ui) -> MergingCampaign:
    """Return the runs that are requested."""
    return MergingCampaign(args, ui, settings_of(args))


class MergingCampaign(GroupCampaign[MergingJudged, MergingSettings, Fault]):
    """Runs of a group that merges."""

    module = MODULE

    def which_group(self) -> list[str]:
        """Return how many found the group, and over which transport."""
        members = str(self.settings.members)
        return ["merging", "--members", members, "--transport", self.args.transport]

    def more_options(self) -> list[str]:
        """Return the policy, the rule for what is primary, and the delivery."""
        settings = self.settings
        primary = ["--primary", settings.primary] if settings.primary else []
        safe = ["--delivery", settings.delivery] if settings.delivery != "agreed" else []
        return ["--on-merge", settings.on_merge, *primary, *safe]

    def plan(self, seed: int) -> Plan[Fault]:
        """Return the faults of the run of that seed."""
        return make_plan(self.settings.kinds, seed)

    def founders(self, seed: int) -> Iterator[dict[str, object]]:
        """Yield the options of each founder; all but the first join those before them."""
        record = record_of(self.settings, seed)
        options = MergingRun.options_of(self.settings, record, self.args.out)
        for number in range(self.settings.members):
            yield options | {"peers": "HOST:PORT" if number else ""}

    def judged(self, seed: int) -> MergingJudged:
        """Do one run, and check its traces and logs."""
        out = self.args.out
        with keeping(out):
            record = asyncio.run(MergingRun(self.settings, seed, out).run())
        assert isinstance(record, MergingRecord)
        takes_state = self.settings.on_merge == "state"
        return judge(record, out, takes_state=takes_state, primary=bool(self.settings.primary))

    def owed(self) -> Owes:
        """Return a result for each run, and one for each property that such runs promise."""
        takes_state, primary = self.settings.on_merge == "state", bool(self.settings.primary)
        seeds = range(self.args.seed, self.args.seed + self.args.runs)
        names = [run_name(self.settings, seed) for seed in seeds]
        names += promised(takes_state=takes_state, primary=primary)
        found = tuple(Owed(name, MergingJudged.protocol) for name in names)
        return Owes(found, others=frozenset({HOLDS}))

    def results(self, runs: list[MergingJudged], again: dict[int, str]) -> tuple[Result, ...]:
        """Return one result for each run, and one for each property over all runs."""
        return results(runs, again)


def settings_of(args: argparse.Namespace) -> MergingSettings:
    """Return the settings; raise UsageError if an argument is wrong."""
    rate = RATE if args.rate is None else args.rate
    members = MEMBERS if args.members is None else args.members
    if not LEAST <= members <= MOST_MEMBERS:
        raise UsageError(f"--members is {members}: choose from {LEAST} to {MOST_MEMBERS}.")
    if args.messages is not None:
        raise UsageError("--messages is not for groups that merge: give --seconds.")
    if args.no_check:
        raise UsageError("--no-check is not for groups that merge: their logs are always judged.")
    if args.transport == "udp-multicast":
        raise UsageError("--transport udp-multicast cannot be cut: choose udp or tcp.")
    check_counts(args, rate, "no limit", LARGEST)
    if not rate:
        raise UsageError("--rate is 0: it must be above 0 in a group that merges.")
    kinds = kinds_of(args.faults, KINDS)
    if args.primary:
        kinds = tuple(kind for kind in kinds if kind not in LOSSES)
        if members < PRIMARY_LEAST:
            raise UsageError(
                f"--members is {members}: choose from {PRIMARY_LEAST} with --primary, or the group "
                f"is lost when one is killed."
            )
    return MergingSettings(
        members=members,
        transport=args.transport,
        kinds=kinds,
        seconds=args.seconds or SECONDS,
        size=args.size,
        rate=rate,
        undo=args.undo,
        trace_to=reader_of(args),
        delivery=args.delivery,
        on_merge=args.on_merge,
        primary=args.primary,
    )
