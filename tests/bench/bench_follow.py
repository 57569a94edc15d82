"""How soon `conform --follow` tells a violation, and what memory it takes.

    python tests/bench/bench_follow.py                       both, 10^6 events of memory
    python tests/bench/bench_follow.py --only memory --events 10000000
    python tests/bench/bench_follow.py --only latency --rate 20000 --runs 200

Latency: a steady run of four members is written at the given rate, and beside it small runs, each
with one lie: in a file (a wrong number), or between two files (contents that were not sent). Their
time goes from the moment before the last line that shows it is written to the moment at which it is
told. Memory: the files of a steady run are read as they grow, and the process's memory is looked at
on the way; a run that does not conform, or a lie that is not told, is an error.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from raincheck.conformance.trace.live.live import Live
from raincheck.conformance.trace.sequencer.steady import write_steady
from raincheck.conformance.ui import Ui
from raincheck.conformance.verbs.following import Follower

MEMBERS = 4
MIB = 1 << 20


def resident() -> float:
    """The process's memory now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


def memory(events: int, folder: Path) -> None:
    """The memory of following a run of so many events, in a process of its own."""
    write_steady(folder / "steady", events, MEMBERS)
    words = [sys.executable, __file__, "--child", str(folder / "steady")]
    print(subprocess.run(words, check=True, capture_output=True, text=True).stdout, end="")


def child(folder: Path) -> None:
    """Follow a folder, and print the memory at each tenth of its bytes."""
    whole = sum(path.stat().st_size for path in folder.iterdir())
    live = Live([folder])
    at, pieces, seen = 0.0, 0, []
    used = time.process_time()
    while count := live.turn(time.monotonic(), 64):
        pieces += count
        if pieces * 65536 >= at * whole:
            seen.append(resident())
            at += 0.1
    used = time.process_time() - used
    events = live.events
    print(f"memory  {events} events, MiB at each tenth: {' '.join(f'{m:.0f}' for m in seen)}")
    print(f"memory  {events / used:,.0f} events per second of processor while following")
    (verdict,) = live.close(time.monotonic())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory  {verdict.verdict}; peak with the verdict at the end {peak:.0f} MiB")
    if verdict.verdict != "holds":
        sys.exit("a steady run should hold")


class Told(Ui):
    """Notes when each run was named first."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.when: dict[str, float] = {}

    def announce(self, text: str) -> None:
        """One violation."""
        name = text.partition("/lie")[2].partition("/")[0]
        self.when.setdefault(name, time.monotonic())


def latency(folder: Path, rate: int, runs: int) -> None:
    """How soon the lies of so many runs are told, while others write at that rate."""
    watched = folder / "watched"
    watched.mkdir()
    wrote: dict[str, float] = {}
    steady = write_steady(folder / "steady", rate * (runs // 10 + 3), MEMBERS)
    small = write_steady(folder / "small", 200, MEMBERS)
    texts = {path.name: path.read_bytes() for path in small}
    names = sorted(texts)
    wrong = texts[names[0]].replace(b'"seqno":3,', b'"seqno":4,', 1)
    lines = texts[names[1]].splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if b'"ReceiveData"' in line)
    crc = lines[place].index(b'"crc":') + 6
    lines[place] = lines[place][:crc] + b"7" + lines[place][lines[place].index(b"}", crc) :]
    others = b"".join(lines)
    ui = Told()
    follower = Follower(Live([watched]), [], ui, lambda _: [])

    def lie(number: int) -> None:
        """Write a small run whose last line shows the lie."""
        name = f"{number:04}"
        into = watched / f"lie{name}"
        into.mkdir()
        run = b'"run":"steady"', b'"run":"lie%04d"' % number
        if number % 2:
            text = wrong.replace(*run)
            end = text.index(b"\n", text.index(b'"seqno":4,')) + 1
            last = text[:end]
        else:
            (into / names[0]).write_bytes(texts[names[0]].replace(*run))
            last = others.replace(*run)
        wrote[name] = time.monotonic()
        (into / names[1 - number % 2]).write_bytes(last)

    def write() -> None:
        started = time.monotonic()
        files = [(path.read_bytes(), (watched / path.name).open("wb")) for path in steady]
        seconds, done = runs / 10 + 3, 0
        while (now := time.monotonic() - started) < seconds:
            for text, file in files:
                at, to = file.tell(), int(len(text) * now / seconds)
                file.write(text[at:to])
                file.flush()
            if now > 2 and done < runs and done < (now - 2) * 10:
                lie(done)
                done += 1
            time.sleep(0.01)
        for _, file in files:
            file.close()
        follower.stop = True

    writer = threading.Thread(target=write)
    writer.start()
    used = time.process_time()
    follower.run()
    used = time.process_time() - used
    writer.join()
    missing = wrote.keys() - ui.when.keys()
    if missing:
        sys.exit(f"{len(missing)} lies were not told, the first is {min(missing)}")
    late = sorted(ui.when[name] - at for name, at in wrote.items())
    spots = {"p50": 0.5, "p99": 0.99}
    figures = ", ".join(f"{n} {late[int(q * (len(late) - 1))]:.3f} s" for n, q in spots.items())
    print(f"latency {rate}/s, {len(late)} lies: {figures}, longest {late[-1]:.3f} s")
    print(f"latency {used:.1f} s of processor, the writer's included, for {runs / 10 + 3:.0f} s")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("memory", "latency"))
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--child", type=Path)
    args = parser.parse_args()
    if args.child is not None:
        child(args.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        if args.only != "latency":
            memory(args.events, Path(folder))
        if args.only != "memory":
            latency(Path(folder), args.rate, args.runs)


if __name__ == "__main__":
    main()
