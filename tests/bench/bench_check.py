"""The time that checking all quick cases takes, against TLC run by hand, case after case.

    python tests/bench/bench_check.py              all quick cases
    python tests/bench/bench_check.py --every 4    every fourth of them

Prints, in one run, the seconds of the raw runs (one after the other, Java as it comes), of
`raincheck check` without and with its cache, and the ratios.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from raincheck.conformance.cases.tables import Case, load_cases, select
from raincheck.conformance.tlc.spec import files_of
from raincheck.conformance.tools.java import find_java, tlc_jar


def raw(case: Case, folder: Path) -> float:
    """Seconds of one run of TLC as one would type it."""
    command = [
        str(find_java().path),
        *("-XX:+UseParallelGC", "-cp", str(tlc_jar()), "tlc2.TLC", "-deadlock"),
        *(
            "-workers",
            str(os.cpu_count() or 1),
            "-metadir",
            str(folder),
            "-config",
            case.cfg_name,
            case.module.name,
        ),
    ]
    for path in files_of(case.module):
        shutil.copy(path, folder)
    (folder / case.cfg_name).write_text(case.cfg_text())
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if "states generated" not in done.stdout:
        sys.exit(f"TLC did not check {case.name}: {done.stdout[-200:]}")
    return time.perf_counter() - started


def checked(cases: tuple[Case, ...], folder: Path, *options: str) -> float:
    """Seconds of `raincheck check`, which must find everything as expected."""
    names = [case.name for case in cases]
    words = [
        "check",
        *names,
        "--quiet",
        "--out",
        str(folder / "-".join(["out", *options])),
    ]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "raincheck", *words, *options], cwd=folder, check=False
    )
    if done.returncode:
        sys.exit(f"raincheck check ended with {done.returncode}")
    return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth case")
    chosen = select(load_cases(), tier="quick")[:: parser.parse_args().every]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        by_hand = sum(raw(case, folder / f"states{n}") for n, case in enumerate(chosen))
        fresh = checked(chosen, folder, "--no-cache")
        checked(chosen, folder)
        unchanged = checked(chosen, folder, "--seed", "1")
    print(f"{len(chosen)} cases")
    print(f"TLC by hand, one after the other  {by_hand:7.1f} s")
    print(f"raincheck check, no cache         {fresh:7.1f} s  ratio {fresh / by_hand:.2f}")
    print(f"raincheck check, unchanged        {unchanged:7.1f} s  ratio {unchanged / by_hand:.3f}")


if __name__ == "__main__":
    main()
