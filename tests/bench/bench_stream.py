"""How soon `conform --stream` tells a violation, in micro-batches of Spark.

    python tests/bench/bench_stream.py --runs 20 --rate 2000

A steady run of four members is written at the given rate, and beside it small runs, each with one
lie: in a file (a wrong number), or between two files (contents that were not sent). A lie's batches
are those that end after its last line was written, until one has told it: the one under way, which
had looked at the files before, and the next. A lie that is not told is an error.
"""

import argparse
import re
import tempfile
import threading
import time
from pathlib import Path

from raincheck.conformance.spark.followed import TRACES
from raincheck.conformance.spark.session import spark_session
from raincheck.conformance.spark.streaming import SparkStream
from raincheck.conformance.trace.sequencer.steady import write_steady


def lies(folder: Path) -> list[dict[str, bytes]]:
    """The files of two runs named "lie": one has a wrong number, one contents that nobody sent."""
    files = {path.name: path.read_bytes() for path in write_steady(folder, 200, 3, run="lie")}
    first, second, *_ = sorted(files)
    wrong = files[first].replace(b'"seqno":3,', b'"seqno":4,', 1)
    lines = files[second].splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if b'"ReceiveData"' in line)
    lines[at] = re.sub(rb'"crc":[0-9]+', b'"crc":7', lines[at], count=1)
    return [files | {first: wrong}, files | {second: b"".join(lines)}]


def load(folder: Path, place: Path, rate: float, stop: threading.Event) -> None:
    """Write a steady run at that many events per second."""
    write_steady(folder / "steady", 200_000, 4)
    texts = {path: path.read_bytes() for path in (folder / "steady").iterdir()}
    began, at = time.monotonic(), 0.0
    while not stop.wait(0.05) and at < 1:
        after = min(1.0, (time.monotonic() - began) * rate / 200_000)
        for path, text in texts.items():
            with (place / path.name).open("ab") as file:
                file.write(text[int(at * len(text)) : int(after * len(text))])
        at = after


def main() -> None:
    """Print how many batches, and seconds, each lie took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rate", type=float, default=2000.0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, spark_session("local[2]", brief=True) as session:
        folder = Path(name)
        place = folder / "place"
        place.mkdir()
        stream = SparkStream(session, [place], folder / "checkpoint", TRACES)
        stop = threading.Event()
        writer = threading.Thread(target=load, args=(folder, place, args.rate, stop))
        writer.start()
        try:
            while not stream.batches:
                stream.turn(0.0)
                time.sleep(0.05)
            batches, seconds, small = [], [], lies(folder / "small")
            for number in range(args.runs):
                run = f"lie{number}"
                for name, text in small[number % 2].items():
                    text = text.replace(b'"run":"lie"', f'"run":"{run}"'.encode())
                    (place / name.replace("lie", run)).write_bytes(text)
                stream.turn(0.0)
                written = time.monotonic()
                ended = 0
                while run not in {each.run for _, each in stream.broken(whole=True).findings}:
                    while not (new := stream.turn(0.0)):
                        assert time.monotonic() - written < 300, f"{run} was not told"
                        time.sleep(0.01)
                    ended += new
                batches.append(ended)
                seconds.append(time.monotonic() - written)
            events = stream.events
        finally:
            stop.set()
            writer.join()
        stream.close(0.0)
    seconds.sort()
    print(
        f"batches until told: at most {max(batches)}, {sum(batches) / len(batches):.2f} on average"
    )
    print(f"seconds: median {seconds[len(seconds) // 2]:.2f}, at most {seconds[-1]:.2f} (wall)")
    print(f"{events} events were read meanwhile, in {stream.batches} batches")


if __name__ == "__main__":
    main()
