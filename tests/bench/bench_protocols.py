"""The speed at which traces of each protocol are checked, beside SEQUENCER's in the same run.

    python tests/bench/bench_protocols.py                campaigns and long lives
    python tests/bench/bench_protocols.py --cycles 200   longer lives

A campaign is several short runs with crashes and joins: most of its files have some tens of events,
so that what a file costs before its first event counts. The long lives are those of members that
stay through one longer run; their files are checked, and no channel is compared, since the other
files are left out. For each protocol: files, events, events in a file, the share that the fast path
takes, events per second of processor (the best of several turns), and the ratios to SEQUENCER's
steady traces, once with files of many thousands of events and once with files as short as these.
Of the long lives a second line has what an event costs, by the parts of the fast path, in µs.
Every check must find nothing: a fast wrong answer is an error.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.campaigns.traced import TracedGroup
from raincheck.conformance.trace.findings import HOLDS
from raincheck.conformance.trace.following import fastpath
from raincheck.conformance.trace.following.fastends import FastEnds
from raincheck.conformance.trace.following.fastpath import FastPath
from raincheck.conformance.trace.following.in_full import InFull
from raincheck.conformance.trace.following.lines import Lines
from raincheck.conformance.trace.invariants.watch import Watch
from raincheck.conformance.trace.records import Event
from raincheck.conformance.trace.ring.generator import RecordedRing, record_ring
from raincheck.conformance.trace.run import (
    Found,
    check_paths,
    check_process,
    check_run,
    sorted_out,
)
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.trace.tracefile import trace_files
from raincheck.impl.simulation.group import Link

LAYERS = ("unicast", "nakack", "stable", "gms", "flush", "state_transfer", "frag")
RUNS, TURNS = 6, 5
LARGE = 60_000
"""Bytes of a message that goes in fragments."""
LONG = 50_000
"""Events of SEQUENCER's steady trace."""
LONG_FILE = 200
"""Lines from which on a life is a long one."""


def fail(what: object) -> None:
    sys.exit(f"this should conform: {what}")


@dataclass
class Job:
    """Something to check, again and again."""

    kind: str
    protocol: str
    check: Callable[[], int]
    """Checks everything and returns the number of events."""
    files: int
    steady: Path
    """SEQUENCER's trace with files of about as many events."""
    best: float = 1e9
    events: int = 0


def lives(folder: Path, cycles: int, seed: int) -> None:
    """A simulated group with load, and one member that comes and goes."""
    folder.mkdir(parents=True)
    link = Link(loss=0.02, duplicate=0.02, delay=(0.0005, 0.005))
    group = TracedGroup(folder, LAYERS, seed=seed, link=link, with_state=True)
    group.start("a", "b", "c")
    group.run_until(lambda: group.in_one_view("a", "b", "c"))
    for _ in range(cycles):
        for _ in range(4):
            for name in "abc":
                group[name].stack.send_large(bytes(LARGE))
                group.send(name, [bytes(700)] * 20)
            group.run(1.0)
        group.crash("c")
        group.run(3.0)
        group.restart("c")
        group.run_until(lambda: group.in_one_view("a", "b", "c"))
    group.end()


def rounds(folder: Path, cycles: int) -> None:
    """A ring at work for a long time."""
    folder.mkdir(parents=True)
    ring = RecordedRing(folder, "ring")
    ring.found("a", "b", "c")
    for _ in range(10 * cycles):
        for name in "abc":
            ring.multicast(name, [b"x"])
        ring.run(0.5)
    ring.close()


def record_campaign(folder: Path) -> list[Found]:
    """Several short runs of a group and of a ring; a folder each."""
    for seed in range(RUNS):
        lives(folder / f"group{seed}", 2, seed)
        (folder / f"ring{seed}").mkdir()
        record_ring(folder / f"ring{seed}", seed=seed)
    return [sorted_out(trace_files([each])) for each in sorted(folder.iterdir())]


def files_of(mixed: list[Found], protocol: str) -> list[Path]:
    """The files of a protocol."""
    return [
        path
        for each in mixed
        for (_, of), processes in each.runs.items()
        for paths in processes.values()
        for path in paths
        if of == protocol
    ]


def whole_runs(mixed: list[Found], protocol: str) -> int:
    """Check the runs of a protocol, and return how many events conformed."""
    events = 0
    for each in mixed:
        for (run, of), processes in each.runs.items():
            if of != protocol:
                continue
            verdict = check_run(run, of, processes, each.crashed.get(run, set()))
            if verdict.verdict != HOLDS:
                fail(verdict.first or verdict.problems[:1])
            events += verdict.events
    return events


def lone_files(paths: list[Path]) -> int:
    """Check these files alone, and return how many events conformed."""
    events = 0
    for path in paths:
        checked = check_process([path], fail)
        if checked is None or checked[0].findings:
            fail(path)
        else:
            events += checked[0].events
    return events


def steady(folder: Path, per_file: int) -> Path:
    """SEQUENCER's steady trace in files of about that many events."""
    path = folder / f"steady{per_file}"
    if not path.exists():
        for run in range(max(1, min(50, LONG // per_file // 4))):
            write_steady(path, 4 * per_file, 4, run=f"r{run}")
    return path


def sure(folder: Path) -> int:
    """Check SEQUENCER's traces, and return how many events conformed."""
    verdicts = check_paths([folder])
    for verdict in verdicts:
        if verdict.verdict != HOLDS:
            fail(verdict.first)
    return sum(verdict.events for verdict in verdicts)


def jobs_of(folder: Path, cycles: int) -> list[Job]:
    """All that is measured; the traces are written first."""
    found: list[Job] = []
    campaign = record_campaign(folder / "campaign")
    lives(folder / "long" / "group", cycles, 1)
    rounds(folder / "long" / "ring", cycles)
    long = [sorted_out(trace_files([folder / "long"]))]
    for protocol in (*LAYERS, "raincore"):
        paths = files_of(campaign, protocol)
        staying = [
            path for path in files_of(long, protocol) if path.read_bytes().count(b"\n") >= LONG_FILE
        ]
        for kind, check, files in (
            ("campaign", partial(whole_runs, campaign, protocol), paths),
            ("long", partial(lone_files, staying), staying),
        ):
            if files:  # a short run has no long lives
                per_file = max(8, check() // len(files))
                found.append(Job(kind, protocol, check, len(files), steady(folder, per_file)))
    return found


def in_full(check: Callable[[], int]) -> int:
    """Return the number of events that the check judges in full."""
    count = 0
    take = InFull.take

    def counted(self: InFull, record: Any, line: int) -> None:
        nonlocal count
        count += isinstance(record, Event)
        take(self, record, line)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InFull, "take", counted)
        check()
    return count


STAGES: tuple[tuple[str, tuple[tuple[Any, str], ...]], ...] = (
    ("decoding", ((Lines, "records"),)),
    ("handlers", ((FastPath, "_answered"),)),
    ("changes", ((FastPath, "_changes"), (fastpath, "_same"))),
    ("messages", ((FastEnds, "take"),)),
    ("statements", ((FastPath, "_note"),)),
    ("invariants", ((Watch, "settle"),)),
)
"""The parts of the fast path, none of which is in another one."""


def stages(check: Callable[[], int]) -> str:
    """Return what the parts of the fast path cost, in µs per event, in words: of the best turn."""
    used: dict[str, float] = {}

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            started = time.process_time()
            try:
                return function(*values)
            finally:
                used[stage] += time.process_time() - started

        return call

    turns: list[tuple[float, int, dict[str, float]]] = []
    with pytest.MonkeyPatch.context() as patch:
        for stage, functions in STAGES:
            for owner, name in functions:
                patch.setattr(owner, name, timed(stage, getattr(owner, name)))
        for _ in range(TURNS):
            used.update(dict.fromkeys([name for name, _ in STAGES], 0.0))
            turns.append((*processor(check), dict(used)))
    whole, events, best = min(turns, key=itemgetter(0))
    best["other"] = whole - sum(best.values())
    return ", ".join(f"{name} {1e6 * each / events:.1f}" for name, each in best.items())


def processor(check: Callable[[], int]) -> tuple[float, int]:
    """Seconds of processor, and events."""
    started = time.process_time()
    events = check()
    return time.process_time() - started, events


def protocols(folder: Path, cycles: int) -> None:
    """Measure all in turns, and print a line for each."""
    jobs = jobs_of(folder, cycles)
    short = {job.steady: 1e9 for job in jobs}
    whole = steady(folder, LONG // 4)
    best = 1e9
    for _ in range(TURNS):
        used, events = processor(partial(sure, whole))
        best = min(best, used / events)
        for job in jobs:
            used, job.events = processor(job.check)
            job.best = min(job.best, used)
        for path in short:
            used, events = processor(partial(sure, path))
            short[path] = min(short[path], used / events)
    print(f"SEQUENCER {1 / best:.0f} events per second of processor")
    for job in sorted(jobs, key=lambda each: each.kind):
        rate = job.events / job.best
        print(
            f"{job.kind:9}{job.protocol:15}{job.files:4} files {job.events:7} events "
            f"{job.events // job.files:6} a file  {1 - in_full(job.check) / job.events:7.2%} fast "
            f"{rate:8.0f}/s  {rate * best:.2f} of SEQUENCER's, "
            f"{rate * short[job.steady]:.2f} with files as short"
        )
        if job.kind == "long":
            print(f"{'':9}{stages(job.check)}")


def test_the_protocols(tmp_path: Path) -> None:
    """Run the bench that `make bench` prints."""
    protocols(tmp_path, 40)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, default=60, help="of the long lives")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="raincheck-bench-") as name:
        protocols(Path(name), args.cycles)


if __name__ == "__main__":
    main()
