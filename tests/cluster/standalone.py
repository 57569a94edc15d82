"""A standalone Spark cluster on this machine, and the proof that it judges as one process does.

    python tests/cluster/standalone.py

starts a master and two workers from the pyspark wheel, lets `raincheck conform` judge the same
traces with the local engine and on the cluster, compares what both say byte for byte, and stops
everything. The workers' Python has no raincheck: the package comes with the application.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final

import pyspark

from raincheck.conformance.tools.java import spark_java_home
from raincheck.conformance.trace.events import Event
from raincheck.conformance.trace.ring.generator import record_ring
from raincheck.conformance.trace.sequencer.broken import BROKEN
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.trace.sequencer.tracegen import Shape, Walk, write_trace

SPARK: Final = Path(pyspark.__file__).parent
WORKERS: Final = 2
PATIENCE: Final = 120.0
"""Seconds for a daemon to say its address, and for a process to end."""
MASTER: Final = "org.apache.spark.deploy.master.Master"
SERVER: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
WORKER: Final = "org.apache.spark.deploy.worker.Worker"


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """A master and two workers of one core each for the block; yield the master's address."""
    daemons: list[subprocess.Popen[bytes]] = []
    here = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    try:
        url = _started(daemons, folder / "master.log", [MASTER, *here], r"at (spark://\S+:\d+)")
        for number in range(WORKERS):
            work = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{number}")]
            words = [WORKER, *here, *work, url]
            _started(daemons, folder / f"worker{number}.log", words, "registered with master (.*)")
        yield url
    finally:
        _stopped(daemons, folder)


def _stopped(daemons: list[subprocess.Popen[bytes]], folder: Path) -> None:
    """End the daemons, and raise AssertionError if anything that they started is left."""
    for each in reversed(daemons):
        each.terminate()  # a worker ends its executors
    for each in daemons:
        with suppress(subprocess.TimeoutExpired):
            each.wait(PATIENCE)
        each.kill()
        each.wait()
    ends = time.monotonic() + PATIENCE
    while (left := working_in(folder)) and time.monotonic() < ends:
        time.sleep(0.1)
    if left:
        raise AssertionError(f"processes of the cluster are left: {left}")


@contextmanager
def connect_server(folder: Path, python: Path) -> Iterator[str]:
    """A Spark Connect server for the block, whose workers run this Python; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.pyspark.python": str(python),
    }
    words = ["org.apache.spark.deploy.SparkSubmit", "--class", SERVER, "--master", "local[2]"]
    words += [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    daemons: list[subprocess.Popen[bytes]] = []
    environ = {"PYSPARK_PYTHON": str(python), "SPARK_DAEMON_MEMORY": "768m"}
    try:
        log, until = folder / "connect.log", "(server started)"
        _started(daemons, log, [*words, "spark-internal"], until, environ)
        yield f"sc://127.0.0.1:{port}"
    finally:
        _stopped(daemons, folder)


def _started(
    daemons: list[subprocess.Popen[bytes]],
    log: Path,
    words: list[str],
    until: str,
    more: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Start a daemon, and wait for what it says of itself."""
    environ = (
        os.environ | dict(more) | {"JAVA_HOME": str(spark_java_home()), "SPARK_HOME": str(SPARK)}
    )
    environ |= {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"} | dict(more)
    with log.open("wb") as said:
        command = [str(SPARK / "bin" / "spark-class"), *words]
        daemons.append(_child(command, said, log.parent, environ))
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends and daemons[-1].poll() is None:
        if match := re.search(until, log.read_text("utf-8", "replace")):
            return match[1]
        time.sleep(0.1)
    raise AssertionError(f"{words[0]} did not start: {log.read_text('utf-8', 'replace')[-2000:]}")


def _child(
    command: list[str], said: IO[bytes], folder: Path, environ: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=folder, env=environ
    )


def working_in(folder: Path) -> list[int]:
    """Return the processes whose working folder is this one or in it."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if each.readlink().is_relative_to(folder):
                found.append(int(each.parent.name))
    return found


def bare_python(folder: Path) -> Path:
    """Make an environment that has everything that is installed here, raincheck apart."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # The file that makes an editable installation known is not read in a folder that is only named.
    (packages / "others.pth").write_text(f"{Path(pyspark.__file__).parents[1]}\n")
    python = folder / "bin" / "python"
    asked = subprocess.run(
        [python, "-c", "import msgspec, pyarrow, pyspark; import raincheck"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named 'raincheck'" not in asked.stderr:
        raise AssertionError(f"the workers' Python must lack raincheck alone: {asked.stderr}")
    return python


def write_traces(folder: Path) -> None:
    """Write runs that hold, one of which is a ring's, one that is violated, and a bad line."""
    write_steady(folder / "steady", 2000)
    write_trace(folder / "walk", Walk(3, Shape(steps=80), run="walk").run().files())
    record_ring(folder / "ring", "ring", seed=1)
    wrong = Walk(7, Shape(steps=80), run="wrong").run().files()
    records = wrong[sorted(wrong)[1]]
    event = [e for e in records if isinstance(e, Event) and e.action == "ReceiveData"][-1]
    event.args.view = 99
    write_trace(folder / "wrong", wrong)
    broken = BROKEN["other_order"]("other-order")
    write_trace(folder / "broken", broken.trace, broken.killed)
    lines = [line.replace(b"steady", b"torn!!") for line in _lines(folder / "steady")]
    (folder / "torn.n00.0.jsonl").write_bytes(b"".join(lines[:9]) + lines[9][:40])


def _lines(folder: Path) -> list[bytes]:
    return (folder / "steady.n00.0.jsonl").read_bytes().splitlines(keepends=True)


def conform(traces: Path | str, out: Path, *more: str, python: Path | None = None) -> bytes:
    """Run the verb as a user does; return what it says, without the times, and its evidence."""
    environ = dict(os.environ)
    if python is not None:
        environ["PYSPARK_PYTHON"] = str(python)
    command = [sys.executable, "-m", "raincheck", "conform", str(traces), "--json"]
    done = subprocess.run(
        [*command, "--out", str(out), *more],
        capture_output=True,
        cwd=out.parent,
        env=environ,
        check=False,
    )
    if not done.stdout.startswith(b"{"):
        raise AssertionError(f"conform said: {done.stdout!r} {done.stderr.decode()}")
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise AssertionError(answer["error"])
    for result in answer["results"]:
        result.pop("seconds", None)
    said = {"code": done.returncode, "verdict": answer["verdict"], "results": answer["results"]}
    files = sorted([*out.glob("*.findings.txt"), out / "quarantine.json"])
    evidence = [f"{path.name}\n".encode() + path.read_bytes() for path in files]
    return b"\n".join([json.dumps(said, indent=1).encode(), *evidence])


def main() -> None:
    """Start the cluster, compare, stop it, and say how it went."""
    with tempfile.TemporaryDirectory(prefix="raincheck-cluster-") as name:
        folder = Path(name)
        write_traces(folder / "traces")
        python = bare_python(folder / "bare")
        local = conform(folder / "traces", folder / "local")
        with standalone(folder) as url:
            print(f"{url} with {WORKERS} workers")
            words = ("--engine", "spark", "--master", url, "--conf", "spark.executor.memory=512m")
            spread = conform(folder / "traces", folder / "spark", *words, python=python)
        print(f"local engine: {len(local)} bytes; cluster: {len(spread)} bytes")
        if local != spread:
            sys.exit("the verdicts differ")
        verdicts = re.findall(rb'"verdict": "(\w+)"', local)
        counts = {each.decode(): verdicts.count(each) for each in sorted(set(verdicts))}
        print(f"the same, byte for byte: {counts}; all processes have ended")


if __name__ == "__main__":
    main()
