"""The speed at which traces are checked, and the speeds to hold it against.

    python tests/bench/bench_conform.py                     everything; needs Java
    python tests/bench/bench_conform.py --only local        the local engine, 10^4 to 10^6 events
    python tests/bench/bench_conform.py --only tlc          the same small trace by TLC
    python tests/bench/bench_conform.py --only spark --events 10000000

Events are records, one message each. Prints events per second, peak memory and, in the same run,
the ratios: to merely decoding the records, to TLC, and of Spark to the local engine (Spark's
start-up apart). Every check must end in `conforms`: a fast wrong answer is an error.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from processors import processor_of_all

from raincheck.conformance.trace.findings import HOLDS
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.trace.tracefile import read_records

MEMBERS = 4


def sure(verdicts: list[RunVerdict]) -> int:
    """How many events conformed; stop if not all did."""
    for verdict in verdicts:
        if verdict.verdict != HOLDS:
            sys.exit(f"{verdict.run} should conform: {verdict.first} {verdict.problems[:1]}")
    return sum(verdict.events for verdict in verdicts)


def decode_only(paths: list[Path]) -> float:
    """Seconds to read all records and do nothing with them."""
    started = time.perf_counter()
    for path in paths:
        for _ in read_records(path, lambda problem: sys.exit(problem.reason)):
            pass
    return time.perf_counter() - started


def local(folder: Path, events: int) -> None:
    """The local engine at growing sizes, each in a process of its own for its memory."""
    size = 10_000
    while size <= events:
        paths = write_steady(folder / f"local{size}", size, MEMBERS)
        reading = decode_only(paths)
        command = [sys.executable, __file__, "--child", str(paths[0].parent)]
        words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        count, seconds, processor, memory = int(words[0]), *map(float, words[1:])
        print(
            f"local   {count:>9} events  {count / seconds:>9.0f} events/s  "
            f"{count / processor:>9.0f} per second of processor  peak {memory:.0f} MiB  "
            f"{seconds / reading:.1f} x decoding alone"
        )
        size *= 10


def child(folder: Path) -> None:
    """Check a folder and print events, seconds, processor seconds, peak MiB."""
    started, processor = time.perf_counter(), time.process_time()
    count = sure(check_paths([folder]))
    seconds, used = time.perf_counter() - started, time.process_time() - processor
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(count, seconds, used, memory)


def tlc(folder: Path, events: int) -> None:
    """The same trace by TLC and by the local engine."""
    from raincheck.conformance.tlc.tlc import run_tlc
    from raincheck.conformance.trace.sequencer.tlatrace import write_tla_trace

    paths = write_steady(folder / "tlc", events, MEMBERS, change=False)
    trace = write_tla_trace(folder / "module", paths)
    spec = Path(__file__).parents[2] / "spec"
    for name in ("Sequencer", "Network", "Views"):
        (folder / "module" / f"{name}.tla").write_text((spec / f"{name}.tla").read_text())
    started = time.perf_counter()
    result = run_tlc(trace.module, trace.cfg)
    by_tlc = time.perf_counter() - started
    if result.depth != trace.events + 1:
        sys.exit(f"TLC got to {result.depth - 1} of {trace.events}: {result.error}")
    started = time.perf_counter()
    count = sure(check_paths([folder / "tlc"]))
    by_us = time.perf_counter() - started
    print(
        f"tlc     {count:>9} events  {count / by_tlc:>9.0f} events/s (start-up included)  "
        f"local {count / by_us:.0f} events/s: {by_tlc / by_us:.0f} x"
    )


def spark(folder: Path, events: int) -> None:
    """Spark on all cores against the local engine, on the same files."""
    from raincheck.conformance.spark import pipeline
    from raincheck.conformance.spark.session import spark_session

    write_steady(folder / "spark", events, MEMBERS)
    started, processor = time.perf_counter(), time.process_time()
    count = sure(check_paths([folder / "spark"]))
    alone, processor = time.perf_counter() - started, time.process_time() - processor
    started = time.perf_counter()
    with spark_session() as session:
        session.range(10).count()
        write_steady(folder / "warm", 1000, MEMBERS)
        sure(pipeline.check_paths(session, [folder / "warm"]))
        print(f"spark   start-up and first job {time.perf_counter() - started:.1f} s")
        started, before = time.perf_counter(), processor_of_all()
        sure(pipeline.check_paths(session, [folder / "spark"]))
        together = time.perf_counter() - started
        used = processor_of_all() - before
    print(
        f"spark   {count:>9} events  {count / together:>9.0f} events/s  "
        f"local {count / alone:.0f} events/s: {alone / together:.2f} x; "
        f"it takes {used / processor:.2f} x the local engine's processor time"
    )


@pytest.mark.parametrize("events", [1_000_000])
def test_the_local_engine(tmp_path: Path, events: int) -> None:
    """What `make bench` prints of it."""
    local(tmp_path, events)


@pytest.mark.java
def test_tlc(tmp_path: Path) -> None:
    """What `make bench` prints of the same trace by TLC."""
    tlc(tmp_path, 1_000)


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("default")
def test_spark(tmp_path: Path) -> None:
    """What `make bench` prints of Spark; 4 GB of traces."""
    try:
        spark(tmp_path, 10_000_000)
    finally:
        shutil.rmtree(tmp_path / "spark")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("local", "tlc", "spark"))
    parser.add_argument("--events", type=int, default=0, help="the largest trace")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child)
        return
    with tempfile.TemporaryDirectory(prefix="raincheck-bench-") as name:
        folder = Path(name)
        if args.only in (None, "local"):
            local(folder, args.events or 1_000_000)
        if args.only in (None, "tlc"):
            tlc(folder, min(args.events or 1_000, 5_000))
        if args.only in (None, "spark"):
            spark(folder, args.events or 10_000_000)


if __name__ == "__main__":
    main()
