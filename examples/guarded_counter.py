"""A number in a file that several processes add to, one at a time, under the ring's lock.

The file stands for a service that knows nothing of the ring. It keeps, with the number, the
greatest fence that it has seen, and refuses what comes with a smaller one: so even a member that
lost the token without knowing, in a partition or because it slept, cannot spoil what a later
holder wrote.

Start three, in three terminals; the last number printed is 3 x 100:

    python examples/guarded_counter.py --name a --file /tmp/number.json \\
        --members a@127.0.0.1:7001,b@127.0.0.1:7002,c@127.0.0.1:7003

With `--freeze-at 10` a member stops itself in the middle of its tenth addition, between reading and
writing, as a machine that swaps or a virtual one that is moved would. The others wait until they
know that it is gone, and add on. `kill -CONT` wakes it: it still believes that it has the lock, and
writes what it had in hand. The file refuses that, because of the fence.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import raincheck


class Storage:
    """The file: a number, and the greatest fence that has written it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> int:
        """Return the number."""
        return self._content()[0]

    def write(self, number: int, fence: raincheck.FenceKey) -> bool:
        """Replace the number; refuse it if a later holder has been here."""
        now: list[int | str] = [fence.epoch, *fence.by, fence.number, fence.turn]
        if now < self._content()[1]:
            return False
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        draft.write_text(json.dumps([number, now]))
        draft.replace(self._path)  # the others read at any time
        return True

    def _content(self) -> tuple[int, list[int | str]]:
        try:
            number, fence = json.loads(self._path.read_text())
        except FileNotFoundError:
            return 0, []
        return number, fence


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Add to a number in a file, one process at a time, guarded by fences."
    )
    parser.add_argument("--name", required=True, help="this member's name, one of the list")
    parser.add_argument(
        "--members",
        required=True,
        metavar="NAME@HOST:PORT,...",
        help="who makes the ring; the same list at all of them, and at each start",
    )
    parser.add_argument("--file", required=True, type=Path, help="the number's file")
    parser.add_argument("--times", type=int, default=100, help="how often to add one (100)")
    parser.add_argument(
        "--freeze-at",
        type=int,
        default=0,
        metavar="N",
        help="stop this process in the middle of the N-th addition, until kill -CONT",
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, help="seconds to wait for the others (60)"
    )
    return parser.parse_args()


async def count(options: argparse.Namespace) -> dict[str, object]:
    """Add one, so many times; stay in the ring until all have, because it takes a majority."""
    storage = Storage(options.file)
    members = options.members.split(",")
    refused = 0
    async with raincheck.Ring.connect(
        "guarded-counter", name=options.name, members=members, timeout=options.timeout
    ) as ring:
        await ring.wait_for_members(len(members), timeout=options.timeout)
        done, tried = 0, 0
        while done < options.times:
            try:
                async with ring.token() as fence:
                    tried += 1
                    number = storage.read() + 1
                    if tried == options.freeze_at:
                        print(f"frozen in the lock: kill -CONT {os.getpid()}", file=sys.stderr)
                        os.kill(os.getpid(), signal.SIGSTOP)
                    if storage.write(number, fence.key):
                        done += 1
                    else:
                        refused += 1
            except raincheck.TokenLost:
                continue  # it was noticed in time; what was refused is added again
        while storage.read() < len(members) * options.times:
            await asyncio.sleep(0.05)
        return {"name": options.name, "number": storage.read(), "refused": refused}


def main() -> int:
    """Run one member and print what it found in the end as one line of JSON."""
    try:
        print(json.dumps(asyncio.run(count(arguments()))), flush=True)
    except KeyboardInterrupt:
        return 130
    except raincheck.RaincheckError as problem:
        print(f"guarded_counter: {problem}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
