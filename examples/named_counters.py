"""Several numbers in a folder, each under a lock of its own name, that several processes add to.

Two processes that add to different numbers do not wait for each other. Each number's file keeps
the greatest fence that it has seen, and refuses what comes with a smaller one: so a member that
lost its lock without knowing cannot spoil what a later holder wrote.

Start three, in three terminals; each number is 3 x 30 in the end:

    python examples/named_counters.py --name a --folder /tmp/numbers \\
        --members a@127.0.0.1:7001,b@127.0.0.1:7002,c@127.0.0.1:7003
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path

import raincheck

NUMBERS = ("apples", "pears")


def add_one(file: Path, fence: raincheck.LockFence) -> None:
    """Add one to a file's number, unless a later holder has been here."""
    key = [fence.key.epoch, *fence.key.by, *fence.key[2:]]
    number, greatest = json.loads(file.read_text()) if file.exists() else (0, key)
    if key < greatest:
        raise raincheck.LockLost(f"{file} has seen a later fence than {fence}")
    file.write_text(json.dumps([number + 1, key]))


def lost(fence: raincheck.LockFence) -> None:
    """Say at once what the end of the lock will raise."""
    print(f"{fence} is lost", file=sys.stderr)


async def count(ring: raincheck.Ring, folder: Path, name: str, times: int) -> int:
    """Add to one number, so many times; return how often that was refused."""
    refused = done = 0
    while done < times:
        try:
            async with ring.lock(name, timeout=60, on_lost=lost) as fence:
                add_one(folder / name, fence)
                done += 1
        except raincheck.LockLost:
            refused += 1
    return refused


async def work(options: argparse.Namespace) -> dict[str, object]:
    """Be one member: add to all numbers at the same time; wait until all members have."""
    members = options.members.split(",")
    options.folder.mkdir(parents=True, exist_ok=True)
    async with raincheck.Ring.connect("named-counters", name=options.name, members=members) as ring:
        counts = [count(ring, options.folder, name, options.times) for name in NUMBERS]
        refused = sum(await asyncio.gather(*counts))
        await ring.multicast(b"finished")
        for _ in members:
            await anext(ring)
        numbers = {name: json.loads((options.folder / name).read_text())[0] for name in NUMBERS}
        return {"name": options.name, "numbers": numbers, "refused": refused}


def main() -> int:
    """Run one member, and print what it found in the end as one line of JSON."""
    parser = argparse.ArgumentParser(description="Add to numbers, each under a lock of its own.")
    parser.add_argument("--name", required=True, help="this member's name, one of the list")
    parser.add_argument("--members", required=True, metavar="NAME@HOST:PORT,...")
    parser.add_argument("--folder", required=True, type=Path, help="the numbers' files")
    parser.add_argument("--times", type=int, default=30, help="how often to add one to each (30)")
    try:
        print(json.dumps(asyncio.run(work(parser.parse_args()))), flush=True)
    except KeyboardInterrupt:
        return 130
    except raincheck.RaincheckError as problem:
        print(f"named_counters: {problem}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
