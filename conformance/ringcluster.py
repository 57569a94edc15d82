"""Run a real token ring under faults, record its traces, and check them (`raincheck run raincore`).

The plan of the faults comes from the seed; what the operating system makes of it differs from run
to run, so the same seed meets the same faults, not the same schedule.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import shlex
import time
from collections.abc import Iterator
from itertools import count, takewhile

from raincheck.conformance.field.lives import command_of
from raincheck.conformance.field.record import name_of
from raincheck.conformance.field.ringchecks import RingJudged, judge_ring, ring_results
from raincheck.conformance.field.ringfaults import KINDS, make_ring_plan, parse_ring_kinds
from raincheck.conformance.field.ringmembers import MODULE
from raincheck.conformance.field.ringrecord import TIMES, RingRecord, RingSettings
from raincheck.conformance.field.ringrun import RingRun
from raincheck.conformance.field.ringwatch import Watch
from raincheck.conformance.field.telling import SMALLEST
from raincheck.conformance.report.pages import mark_of

from .errors import UsageError
from .evidence import Evidence, Outcome, Ui
from .outcome import HOLDS

FEWEST, MOST = 3, 8
LARGEST = 4096
"""Bytes of a message: a token carries many."""
SECONDS, RATE = 2.0, 50.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only the ring knows."""
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
    """Run the ring as often as asked, and check what it did."""
    settings = settings_of(args)
    again = shlex.join(_command(args, args.seed, args.runs, args.soak))
    seeds: Iterator[int] = iter(range(args.seed, args.seed + args.runs))
    if args.soak is not None:
        began = time.monotonic()
        seeds = takewhile(lambda _: time.monotonic() - began < args.soak, count(args.seed))
    if args.dry_run:
        _dry(settings, args, ui)
        return Outcome("run", (), again)
    evidence = Evidence("run", args.out)
    if (args.out / "traces").exists():
        raise UsageError(f"{args.out} holds traces of another run: name another folder with --out.")
    runs: list[RingJudged] = []
    single = {}
    shown = (
        contextlib.nullcontext()
        if args.watch
        else ui.progress(args.runs if args.soak is None else None, "runs")
    )
    with shown as steps:
        for seed in seeds:
            single[seed] = shlex.join(_command(args, seed, 1))
            record = run_ring(settings, seed, args, ui)
            judged = judge_ring(
                record, args.out, as_written=settings.as_written, check=not args.no_check
            )
            runs.append(judged)
            _tell(judged, single[seed], ui)
            if steps is not None:
                steps.advance(1, record.run)
    _write(evidence, settings, runs)
    outcome = Outcome("run", ring_results(runs, single), again)
    evidence.finish(outcome)
    return outcome


def run_ring(settings: RingSettings, seed: int, args: argparse.Namespace, ui: Ui) -> RingRecord:
    """Do one run; all its processes have ended when this returns or raises."""
    try:
        if not args.watch:
            return asyncio.run(RingRun(settings, seed, args.out).run())
        with Watch(ui) as watch:
            ring = RingRun(settings, seed, args.out, watch=watch.update, told=watch.told)
            return asyncio.run(ring.run())
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise UsageError(
            f"The run cannot keep its records in {args.out} ({reason}): make room, or name another "
            f"folder with --out."
        ) from problem


def settings_of(args: argparse.Namespace) -> RingSettings:
    """Check the arguments and put them together."""
    members = FEWEST if args.members is None else args.members
    if not FEWEST <= members <= MOST:
        raise UsageError(f"--members is {members}: a ring has from {FEWEST} to {MOST} founders.")
    if args.transport != "udp":
        raise UsageError(f"--transport is {args.transport}: a ring has UDP only.")
    if args.messages is not None:
        raise UsageError("--messages is for the stack: a ring sends for so many --seconds.")
    if not SMALLEST <= args.size <= LARGEST:
        raise UsageError(f"--size is {args.size}: choose from {SMALLEST} to {LARGEST} bytes.")
    seconds = SECONDS if args.seconds is None else args.seconds
    if not 0 < seconds < 1e6:
        raise UsageError(f"--seconds is {seconds:g}: it must be above 0.")
    rate = RATE if args.rate is None else args.rate
    if not 0 <= rate < 1e6:
        raise UsageError(f"--rate is {rate:g}: it must be 0 (nothing is sent) or above.")
    if args.runs < 1:
        raise UsageError(f"--runs is {args.runs}: it must be at least 1.")
    if args.soak is not None and args.soak <= 0:
        raise UsageError(f"--soak is {args.soak:g}: it must be above 0.")
    return RingSettings(
        members=members,
        kinds=parse_ring_kinds(args.faults),
        seconds=seconds,
        rate=rate,
        size=args.size,
        as_written=args.as_written,
        undo=args.undo,
    )


def _command(
    args: argparse.Namespace, seed: int, runs: int, soak: float | None = None
) -> list[str]:
    settings = settings_of(args)
    command = ["raincheck", "run", "raincore", "--members", str(settings.members)]
    command += ["--faults", args.faults or "none", "--seconds", f"{settings.seconds:g}"]
    command += ["--rate", f"{settings.rate:g}", "--size", str(args.size), "--seed", str(seed)]
    command += ["--runs", str(runs)] if runs > 1 else []
    command += ["--soak", f"{soak:g}"] if soak is not None else []
    command += ["--as-written"] if args.as_written else []
    command += ["--watch"] if args.watch else []
    command += ["--undo", args.undo] if args.undo else []
    return command


def _dry(settings: RingSettings, args: argparse.Namespace, ui: Ui) -> None:
    """Say what would be started and what would be done to it; make nothing."""
    plan = make_ring_plan(settings.kinds, args.seed, TIMES.hungry)
    record = RingRecord(f"ring-{args.seed}", args.seed, plan)
    options = RingRun.options_of(settings, record, args.out)
    names = [name_of(number) for number in range(settings.members)]
    founders = ",".join(f"{name}@HOST:PORT" for name in names)
    for name in names:
        state = args.out / "members" / record.run / f"{name}.0.state"
        life = {"name": name, "incarnation": 0, **options, "founders": founders, "state": state}
        ui.announce(shlex.join(command_of(MODULE, life | {"resource": "HOST:PORT"})))
    for fault in plan.faults:
        ui.announce(f"at {fault.at:.0%} of the time: {fault.words}")


def _tell(judged: RingJudged, again: str, ui: Ui) -> None:
    """One line while the runs go on; the results tell the rest."""
    result = judged.result(again)
    sign, _ = mark_of(result)
    lacks = judged.violated if judged.as_written else []
    tail = "".join(
        f"; {name} violated" + (f" after {judged.soonest[name]:.2f} s" if name in judged.soonest
                                else "")
        for name in lacks
    )  # fmt: skip
    if result.verdict != HOLDS or lacks or ui.json:
        ui.say(f"{sign} {result.name}: {result.verdict}{tail}")


def _write(evidence: Evidence, settings: RingSettings, runs: list[RingJudged]) -> None:
    """What the harness did, beside the traces: the settings, and one line for each act."""
    evidence.write_json("settings.json", {"ring": settings, "times": TIMES})
    lines = [
        json.dumps({"run": judged.record.run, **act}) + "\n"
        for judged in runs
        for act in judged.record.done
    ]
    evidence.write_text("faults.jsonl", "".join(lines))
    with contextlib.suppress(OSError):
        (evidence.folder / "members").rmdir()
