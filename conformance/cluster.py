"""Run a real cluster under faults, record its traces, and check them (`raincheck run`).

Real processes on loopback, joined by sockets and ended by signals. The plan of the faults comes
from the seed; what the operating system makes of it differs from run to run, so the same seed
meets the same faults, not the same schedule.
"""

import argparse
import asyncio
import contextlib
import json
import random
import shlex
import time
from collections.abc import Iterator
from itertools import count, takewhile
from pathlib import Path

from raincheck.conformance.field.clusterchecks import Judged, judge, results
from raincheck.conformance.field.clustermembers import MODULE
from raincheck.conformance.field.clusterrecord import Record, Settings
from raincheck.conformance.field.clusterrun import ClusterRun
from raincheck.conformance.field.faults import KINDS, make_plan, parse_kinds
from raincheck.conformance.field.lives import command_of
from raincheck.conformance.field.record import name_of
from raincheck.conformance.field.telling import SMALLEST
from raincheck.conformance.report.pages import mark_of

from . import ringcluster
from .errors import UsageError
from .evidence import Evidence, Outcome, Ui
from .outcome import HOLDS

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
    args.rate = RATE if args.rate is None else args.rate
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
    runs: list[Judged] = []
    with ui.progress(args.runs if args.soak is None else None, "runs") as steps:
        for seed in seeds:
            record = run_cluster(settings, seed, args.out)
            judged = judge(record, args.out, check=not args.no_check)
            runs.append(judged)
            _tell(judged, shlex.join(_command(args, seed, 1)), ui)
            steps.advance(1, record.run)
    _write(evidence, settings, runs)
    single = {
        judged.record.seed: shlex.join(_command(args, judged.record.seed, 1)) for judged in runs
    }
    outcome = Outcome("run", results(runs, single), again)
    evidence.finish(outcome)
    return outcome


def run_cluster(settings: Settings, seed: int, folder: Path) -> Record:
    """Do one run; all its processes have ended when this returns or raises."""
    try:
        return asyncio.run(ClusterRun(settings, seed, folder).run())
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise UsageError(
            f"The run cannot keep its records in {folder} ({reason}): make room, or name another "
            f"folder with --out."
        ) from problem


def settings_of(args: argparse.Namespace) -> Settings:
    """Check the arguments and put them together."""
    if not 1 <= args.members <= MOST_MEMBERS:
        raise UsageError(f"--members is {args.members}: choose from 1 to {MOST_MEMBERS}.")
    if not SMALLEST <= args.size <= LARGEST:
        raise UsageError(f"--size is {args.size}: choose from {SMALLEST} to {LARGEST} bytes.")
    if args.messages is not None and args.messages < 1:
        raise UsageError(f"--messages is {args.messages}: send at least one.")
    if args.seconds is not None and not 0 < args.seconds < 1e6:
        raise UsageError(f"--seconds is {args.seconds:g}: it must be above 0.")
    if not 0 <= args.rate < 1e9:
        raise UsageError(f"--rate is {args.rate:g}: it must be 0 (no limit) or above.")
    if args.runs < 1:
        raise UsageError(f"--runs is {args.runs}: it must be at least 1.")
    if args.soak is not None and args.soak <= 0:
        raise UsageError(f"--soak is {args.soak:g}: it must be above 0.")
    return Settings(
        members=args.members,
        transport=args.transport,
        kinds=parse_kinds(args.faults),
        messages=args.messages or 0,
        seconds=args.seconds or 5.0,
        size=args.size,
        rate=args.rate,
        # At a limited rate mostly single messages and short runs, at full speed long runs.
        batch=8 if args.rate else 256,
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


def _command(
    args: argparse.Namespace, seed: int, runs: int, soak: float | None = None
) -> list[str]:
    command = ["raincheck", "run", "--members", str(args.members), "--transport", args.transport]
    command += ["--faults", args.faults or "none"]
    if args.messages is not None:
        command += ["--messages", str(args.messages)]
    elif args.seconds is not None:
        command += ["--seconds", f"{args.seconds:g}"]
    command += ["--size", str(args.size), "--rate", f"{args.rate:g}", "--seed", str(seed)]
    command += ["--runs", str(runs)] if runs > 1 else []
    command += ["--soak", f"{soak:g}"] if soak is not None else []
    command += ["--undo", args.undo] if args.undo else []
    command += ["--trace", args.trace] if args.trace else []
    return command


def _dry(settings: Settings, args: argparse.Namespace, ui: Ui) -> None:
    """Say what would be started and what would be done to it; make nothing."""
    plan = make_plan(settings.kinds, args.seed)
    options = ClusterRun.options_of(settings, plan, args.seed, args.out)
    for number in range(settings.members):
        peers = "HOST:PORT" if number else ""
        life = {"name": name_of(number), "incarnation": 0, **options, "peers": peers}
        ui.announce(shlex.join(command_of(MODULE, life)))
    for fault in plan.faults:
        whom = "" if fault.kind == "join" else f" of the {fault.target}"
        ui.announce(f"at {fault.at:.0%} of the load: {fault.kind}{whom}")


def _tell(judged: Judged, again: str, ui: Ui) -> None:
    """One line while the runs go on; the results tell the rest."""
    result = judged.result(again)
    sign, _ = mark_of(result)
    seen = [name for name in judged.witnesses if name in judged.verdicts]
    tail = f"; seen violated: {', '.join(seen)}" if seen else ""
    if result.verdict != HOLDS or ui.json:
        ui.say(f"{sign} {result.name}: {result.verdict}{tail}")


def _write(evidence: Evidence, settings: Settings, runs: list[Judged]) -> None:
    """What the harness did, beside the traces: the settings, and one line for each act."""
    evidence.write_json("settings.json", settings)
    lines = [
        json.dumps({"run": judged.record.run, **act}) + "\n"
        for judged in runs
        for act in judged.record.done
    ]
    evidence.write_text("faults.jsonl", "".join(lines))
    with contextlib.suppress(OSError):
        (evidence.folder / "members").rmdir()
