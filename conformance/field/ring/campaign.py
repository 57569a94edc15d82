"""Run a real token ring under faults, and check its traces (`raincheck run raincore`)."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shlex
from contextlib import AbstractContextManager

from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Outcome, Result, Ui
from raincheck.conformance.field.campaign import Campaign, check_counts, keeping
from raincheck.conformance.field.lives import command_of
from raincheck.conformance.field.record import name_of
from raincheck.conformance.field.ring.checks import RingJudged, judge_ring, ring_results
from raincheck.conformance.field.ring.faults import KINDS, make_ring_plan, parse_ring_kinds
from raincheck.conformance.field.ring.members import MODULE
from raincheck.conformance.field.ring.record import TIMES, RingRecord, RingSettings
from raincheck.conformance.field.ring.run import RingRun
from raincheck.conformance.field.ring.watch import Watch
from raincheck.conformance.ui import Steps

FEWEST, MOST = 3, 8
LARGEST = 4096
"""The largest message in bytes: a token carries many."""
SECONDS, RATE = 2.0, 50.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that only the ring has."""
    ring = parser.add_argument_group(
        "raincheck run raincore",
        f"a token ring of {FEWEST} to {MOST} founders; --faults: {', '.join(KINDS)}, all, none; "
        f"--seconds (default: {SECONDS:g}); --rate: messages a second of each (default: {RATE:g})",
    )
    ring.add_argument(
        "--as-written", action="store_true", help="all repairs undone: what does the text lack?"
    )
    ring.add_argument("--watch", action="store_true", help="show the ring while it runs")


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Run the ring as often as requested, and check each run."""
    return RingCampaign(args, ui).run()


class RingCampaign(Campaign[RingJudged]):
    """Runs of the token ring."""

    def __init__(self, args: argparse.Namespace, ui: Ui) -> None:
        super().__init__(args, ui)
        self.settings = settings_of(args)

    def options(self, which: list[str]) -> list[str]:
        """Return the options that repeat the campaign, including those that select the runs."""
        args, settings = self.args, self.settings
        options = ["raincore", "--members", str(settings.members)]
        options += ["--faults", args.faults or "none", "--seconds", f"{settings.seconds:g}"]
        options += ["--rate", f"{settings.rate:g}", "--size", str(args.size), *which]
        options += ["--as-written"] if args.as_written else []
        options += ["--watch"] if args.watch else []
        options += ["--undo", args.undo] if args.undo else []
        return options

    def dry(self) -> None:
        """Print what would be started and which faults it would meet; start nothing."""
        settings, seed, out = self.settings, self.args.seed, self.args.out
        plan = make_ring_plan(settings.kinds, seed, TIMES.hungry)
        record = RingRecord(f"ring-{seed}", seed, plan)
        options = RingRun.options_of(settings, record, out)
        names = [name_of(number) for number in range(settings.members)]
        founders = ",".join(f"{name}@HOST:PORT" for name in names)
        for name in names:
            state = out / "members" / record.run / f"{name}.0.state"
            life = {"name": name, "incarnation": 0, **options, "founders": founders, "state": state}
            self.ui.announce(shlex.join(command_of(MODULE, life | {"resource": "HOST:PORT"})))
        for fault in plan.faults:
            self.ui.announce(f"at {fault.at:.0%} of the time: {fault.words}")

    def judged(self, seed: int) -> RingJudged:
        """Do one run, and check its traces and writes."""
        args = self.args
        return judge_ring(
            self._record(seed), args.out, as_written=args.as_written, check=not args.no_check
        )

    def _record(self, seed: int) -> RingRecord:
        """Do one run; all its processes have ended when this returns or raises."""
        settings, out = self.settings, self.args.out
        with keeping(out):
            if not self.args.watch:
                return asyncio.run(RingRun(settings, seed, out).run())
            with Watch(self.ui) as watch:
                ring = RingRun(settings, seed, out, watch=watch.update, told=watch.told)
                return asyncio.run(ring.run())

    def progress(self) -> AbstractContextManager[Steps | None]:
        """Return the display of the progress; none if the ring itself is shown."""
        return contextlib.nullcontext() if self.args.watch else super().progress()

    def seen(self, judged: RingJudged) -> str:
        """Return which promises the text broke, and how soon."""
        soonest = judged.soonest
        return "".join(
            f"; {name} violated" + (f" after {soonest[name]:.2f} s" if name in soonest else "")
            for name in (judged.violated if judged.as_written else [])
        )

    def results(self, runs: list[RingJudged], again: dict[int, str]) -> tuple[Result, ...]:
        """Return one result for each run, and one for each property over all runs."""
        return ring_results(runs, again)

    def asked(self) -> dict[str, object]:
        """Return the settings of all runs, and the ring's times."""
        return {"ring": self.settings, "times": TIMES}


def settings_of(args: argparse.Namespace) -> RingSettings:
    """Return the settings; raise UsageError if an argument is wrong."""
    members = FEWEST if args.members is None else args.members
    if not FEWEST <= members <= MOST:
        raise UsageError(f"--members is {members}: a ring has from {FEWEST} to {MOST} founders.")
    if args.transport != "udp":
        raise UsageError(f"--transport is {args.transport}: a ring has UDP only.")
    if args.messages is not None:
        raise UsageError("--messages is for the stack: a ring sends for so many --seconds.")
    rate = RATE if args.rate is None else args.rate
    if not 0 <= rate < 1e6:
        raise UsageError(f"--rate is {rate:g}: it must be 0 (nothing is sent) or above.")
    check_counts(args, LARGEST)
    return RingSettings(
        members=members,
        kinds=parse_ring_kinds(args.faults),
        seconds=SECONDS if args.seconds is None else args.seconds,
        rate=rate,
        size=args.size,
        as_written=args.as_written,
        undo=args.undo,
    )
