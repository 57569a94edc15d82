"""Run a real token ring under faults, and check its traces (`raincheck run raincore`)."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager

from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Outcome, Result, Ui
from raincheck.conformance.evidence.owed import UNKNOWN, Owed, Owes
from raincheck.conformance.field.campaign import GroupCampaign, check_counts, keeping, reader_of
from raincheck.conformance.field.faults import Plan, kinds_of
from raincheck.conformance.field.judged import TRACE
from raincheck.conformance.field.record import name_of
from raincheck.conformance.field.ring.checks import PROMISED, RingJudged, judge_ring, ring_results
from raincheck.conformance.field.ring.faults import KINDS, RingFault, make_ring_plan
from raincheck.conformance.field.ring.members import MODULE
from raincheck.conformance.field.ring.record import (
    PROTOCOL,
    TIMES,
    RingRecord,
    RingSettings,
    run_name,
)
from raincheck.conformance.field.ring.run import RingRun
from raincheck.conformance.field.ring.watch import Watch
from raincheck.conformance.outcome import HOLDS
from raincheck.conformance.ui import Steps

FEWEST, MOST = 3, 8
LARGEST = 4096
"""The largest message in bytes: a token carries many."""
SECONDS, RATE = 2.0, 50.0
AUDIT = ("--members", "4")
"""The options of the runs that an audit makes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that only the ring has."""
    ring = parser.add_argument_group(
        "raincheck run raincore",
        f"a token ring of {FEWEST} to {MOST} founders; --faults: {', '.join(KINDS)}, all, none; "
        f"--seconds (default: {SECONDS:g}); --rate: messages per second and member (default: "
        f"{RATE:g})",
    )
    ring.add_argument(
        "--as-written",
        action="store_true",
        help="run the protocol as its text has it, with all repairs undone",
    )
    ring.add_argument("--watch", action="store_true", help="show the ring live")


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Run the ring as often as requested, and check each run."""
    return campaign(args, ui).run()


def campaign(args: argparse.Namespace, ui: Ui) -> RingCampaign:
    """Return the runs that are requested."""
    return RingCampaign(args, ui, settings_of(args))


class RingCampaign(GroupCampaign[RingJudged, RingSettings, RingFault]):
    """Runs of the token ring."""

    module = MODULE

    def which_group(self) -> list[str]:
        """Return the ring's name, and how many found it."""
        return [PROTOCOL, "--members", str(self.settings.members)]

    def more_options(self) -> list[str]:
        """Return whether the repairs are undone, and whether somebody watches."""
        given = {"--as-written": self.args.as_written, "--watch": self.args.watch}
        return [option for option, on in given.items() if on]

    def plan(self, seed: int) -> Plan[RingFault]:
        """Return the faults of the run of that seed."""
        return make_ring_plan(self.settings.kinds, seed, TIMES.hungry)

    def founders(self, seed: int) -> Iterator[dict[str, object]]:
        """Yield the options of each founder."""
        record, out = RingRecord(run_name(seed), seed, self.plan(seed)), self.args.out
        options = RingRun.options_of(self.settings, record, out)
        names = [name_of(number) for number in range(self.settings.members)]
        places = ",".join(f"{name}@HOST:PORT" for name in names)
        for name in names:
            state = out / "members" / record.run / f"{name}.state"
            yield options | {"founders": places, "state": state, "resource": "HOST:PORT"}

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
                ring = RingRun(settings, seed, out, watch=watch.update, on_act=watch.act)
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

    def owed(self) -> Owes:
        """Return a result for each run and each promise; what the protocol as written keeps nobody
        knows before.
        """
        if self.args.as_written:
            return UNKNOWN
        names = [run_name(seed) for seed in range(self.args.seed, self.args.seed + self.args.runs)]
        names += [] if self.args.no_check else [TRACE, *PROMISED]
        return Owes(tuple(Owed(name, PROTOCOL) for name in names), others=frozenset({HOLDS}))

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
        raise UsageError("--messages is for the stack: give a ring --seconds instead.")
    rate = RATE if args.rate is None else args.rate
    check_counts(args, rate, "nothing is sent", LARGEST)
    return RingSettings(
        members=members,
        kinds=kinds_of(args.faults, KINDS),
        seconds=SECONDS if args.seconds is None else args.seconds,
        rate=rate,
        size=args.size,
        as_written=args.as_written,
        undo=args.undo,
        trace_to=reader_of(args),
    )
