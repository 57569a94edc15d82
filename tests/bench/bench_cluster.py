"""Events per second and core on a standalone cluster of two workers, against the local engine.

    python tests/bench/bench_cluster.py                          10^6 and 10^7 events; needs Java
    python tests/bench/bench_cluster.py --events 1000000 --runs 1    one run of that size

The traces are written by the cluster's own workers, checked by the local engine in a process of its
own, then on the cluster, all in one run, and the ratios are of this run. Every check must end in
`conforms`. Of the driver it prints the peak of its Python, the heap that its JVM still uses after a
collection, and how many bytes of results came. What a stage handed on is Spark's own count.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest

from raincheck.conformance.spark import pipeline
from raincheck.conformance.spark.looking import look_at
from raincheck.conformance.spark.session import spark_session
from raincheck.conformance.spark.shipping import at_workers
from raincheck.conformance.trace.findings import HOLDS
from raincheck.conformance.trace.inputs import Uri
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.trace.tracefile import trace_files

sys.path.insert(0, str(Path(__file__).parents[1] / "cluster"))
from standalone import WORKERS, standalone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMBERS = 4


class Measured(NamedTuple):
    """What a check took."""

    events: int
    seconds: float
    processor: float


def generate(session: SparkSession, folder: Path, events: int, runs: int) -> None:
    """Let the workers write so many runs, a task each."""
    each, where = events // runs, str(folder)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                write_steady(Path(where, str(number)), each, MEMBERS, run=f"steady{number}")
            yield batch

    session.range(0, runs, 1, runs).mapInArrow(write, "id long").count()


def sure(verdicts: list[Any]) -> int:
    """How many events conformed; stop if not all did."""
    for verdict in verdicts:
        if verdict.verdict != HOLDS:
            sys.exit(f"{verdict.run} should conform: {verdict.first} {verdict.problems[:1]}")
    return sum(verdict.events for verdict in verdicts)


def child(folder: Path) -> None:
    """Check a folder by the local engine and print events, seconds and processor seconds."""
    started, processor = time.perf_counter(), time.process_time()
    count = sure(check_paths([folder]))
    print(count, time.perf_counter() - started, time.process_time() - processor)


def local(folder: Path) -> Measured:
    """The local engine, in a process of its own."""
    command = [sys.executable, __file__, "--child", str(folder)]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return Measured(int(words[0]), float(words[1]), float(words[2]))


def on_cluster(session: SparkSession, place: Path | Uri) -> Measured:
    """The cluster, whose processes are descendants of this one."""
    started, processor = time.perf_counter(), processor_of_all()
    count = sure(pipeline.check_paths(session, [place]))
    return Measured(count, time.perf_counter() - started, processor_of_all() - processor)


def processor_of_all() -> float:
    """Processor seconds of this process and of all that it started, running or ended."""
    stats = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            text = path.read_text()
            fields = text[text.rindex(")") + 2 :].split()
            stats.append((int(path.parent.name), int(fields[1]), sum(map(int, fields[11:15]))))
    mine, before = {os.getpid()}, 0
    while len(mine) > before:  # daemons, executors, their Python
        before = len(mine)
        mine |= {process for process, parent, _ in stats if parent in mine}
    found = sum(ticks for process, _, ticks in stats if process in mine)
    return found / os.sysconf("SC_CLK_TCK")


def peak_of_python() -> float:
    """MiB that this process had at most since `forget_peak`."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) / 1024


def forget_peak() -> None:
    """Let the kernel begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


def heap_of(session: SparkSession) -> float:
    """MiB of the driver's heap that are in use after a collection."""
    jvm = session.sparkContext._jvm
    assert jvm is not None
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


def stages(session: SparkSession) -> list[dict[str, Any]]:
    """Spark's own counts."""
    context = session.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urllib.request.urlopen(url.replace("localhost", "127.0.0.1"), timeout=30) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found


def measure(session: SparkSession, folder: Path, events: int, runs: int, *, text: bool) -> None:
    """One size: generated by the workers, checked here, then there."""
    started = time.perf_counter()
    generate(session, folder, events, runs)
    size = sum(path.stat().st_size for path in trace_files([folder]))
    print(
        f"{events:>10} events in {runs} runs of {MEMBERS}: {size / 2**20:.0f} MiB, "
        f"written by the workers in {time.perf_counter() - started:.1f} s",
        flush=True,
    )
    here = local(folder)
    print(f"  local    {said(here, 1)}", flush=True)
    started = time.perf_counter()
    seen = look_at(session, trace_files([folder]), at_workers(session))
    print(f"  headers  {len(seen)} files looked at in {time.perf_counter() - started:.2f} s")
    places: dict[str, Path | Uri] = {"opened": folder}
    if text:
        places["by Spark"] = Uri(f"viewfs://bench{folder}")
    for name, place in places.items():
        forget_peak()
        before = {each["stageId"] for each in stages(session)}
        there = on_cluster(session, place)
        time.sleep(1)  # until Spark has counted
        new = [each for each in stages(session) if each["stageId"] not in before]
        wide = sum(each["shuffleWriteBytes"] for each in new)
        result = sum(each.get("resultSize", 0) for each in new)
        share = (there.events / there.seconds / WORKERS) / (here.events / here.seconds)
        work = there.processor / here.processor
        print(
            f"  {name:8} {said(there, WORKERS)}\n"
            f"           {share:.2f} of local's events per second and core, {work:.2f} of its "
            f"processor time\n"
            f"           handed on {wide / there.events:.1f} bytes per event, to the driver "
            f"{result / 1024:.0f} KiB\n"
            f"           driver: Python's peak {peak_of_python():.0f} MiB, heap "
            f"{heap_of(session):.0f} MiB",
            flush=True,
        )


def said(measured: Measured, cores: int) -> str:
    """The figures in words."""
    each = measured.events / measured.seconds / cores
    return (
        f"{measured.seconds:>7.1f} s, {each:>8.0f} events per second and core, "
        f"{measured.processor / measured.events * 1e6:.2f} µs of processor per event"
    )


def bench(sizes: list[int], runs: int, *, text: bool) -> None:
    """Start the cluster, measure each size, stop it."""
    with tempfile.TemporaryDirectory(prefix="raincheck-bench-") as name:
        folder = Path(name)
        conf = {
            "spark.executor.memory": "768m",
            "spark.driver.memory": "512m",
            "spark.ui.port": "0",
            "spark.hadoop.fs.viewfs.mounttable.bench.link./tmp": "file:/tmp",
        }
        with standalone(folder) as url, spark_session(url, conf=conf) as session:
            write_steady(folder / "warm", 1000, MEMBERS)
            sure(pipeline.check_paths(session, [folder / "warm"]))
            for events in sizes:
                measure(session, folder / "traces", events, runs, text=text)
                shutil.rmtree(folder / "traces")


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("default")
def test_a_cluster() -> None:
    """What `make bench` prints of a cluster; 4 GB of traces."""
    bench([1_000_000, 10_000_000], 8, text=True)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--runs", type=int, default=8, help="runs of four files each")
    parser.add_argument("--no-text", action="store_true", help="not by Spark's reader as well")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child)
        return
    bench(args.events, args.runs, text=not args.no_text)


if __name__ == "__main__":
    main()
