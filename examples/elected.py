"""Three members of a ring elect a leader, and a client that is no member has a lock beside them.

The leader counts, with the fence of its lead. It resigns, the next one leads, and the counter would
refuse what came with a smaller fence. A client, which uses the ring by one of its members and does
not vote, has a lock of its own meanwhile.

Everything runs in this process, to be read in one go:

    python examples/elected.py
"""

import argparse
import asyncio
import json
import sys

import raincheck


class Counter:
    """A resource that obeys the greatest fence that it has seen."""

    def __init__(self) -> None:
        self.number = self.refused = 0
        self.greatest: raincheck.LockFence | None = None

    def add(self, fence: raincheck.LockFence) -> None:
        """Count one, unless a later leader has been here."""
        if self.greatest is not None and fence < self.greatest:
            self.refused += 1
        else:
            self.number, self.greatest = self.number + 1, fence


async def lead(ring: raincheck.Ring, counter: Counter, leaders: list[str]) -> None:
    """Be a member that leads whenever it is elected."""

    async def work(fence: raincheck.LockFence) -> None:
        leaders.append(ring.address.node)
        while True:
            counter.add(fence)
            await asyncio.sleep(0.01)

    await ring.election("counting").run(work)


async def resignations(ring: raincheck.Ring, tasks: dict[str, asyncio.Task[None]]) -> None:
    """Let the first leader resign, and wait until there is another one."""
    first = None
    async for leader in ring.election("counting").changes():
        if leader is not None and first is None:
            first = leader
            await asyncio.sleep(0.2)
            tasks[leader.member.node].cancel()
        elif leader is not None and first is not None and leader.key > first.key:
            return


async def demonstrate(members: list[str]) -> dict[str, object]:
    """Elect two leaders, one after the other; return what was seen of them."""
    names = [each.partition("@")[0] for each in members]
    connecting = [raincheck.Ring.connect("elected", name=name, members=members) for name in names]
    rings = dict(zip(names, await asyncio.gather(*connecting), strict=True))
    counter, leaders = Counter(), list[str]()
    tasks = {
        name: asyncio.create_task(lead(ring, counter, leaders)) for name, ring in rings.items()
    }
    watching = asyncio.create_task(resignations(rings[names[-1]], tasks))
    async with raincheck.RingClient.connect("elected", members=[members[-1]]) as client:
        try:
            async with client.lock("orders", timeout=10):
                await watching
        except raincheck.LockLost as problem:  # on a machine that is too busy
            print(problem, file=sys.stderr)
    for task in tasks.values():
        task.cancel()
    await asyncio.gather(watching, *tasks.values(), return_exceptions=True)
    await asyncio.gather(*[ring.leave() for ring in rings.values()], return_exceptions=True)
    return {"leaders": leaders, "number": counter.number, "refused": counter.refused}


def main() -> int:
    """Print what was seen as one line of JSON."""
    parser = argparse.ArgumentParser(description="Elect leaders, and be a client beside them.")
    members = "a@127.0.0.1:7001,b@127.0.0.1:7002,c@127.0.0.1:7003"
    parser.add_argument("--members", default=members, metavar="NAME@HOST:PORT,...")
    try:
        print(json.dumps(asyncio.run(demonstrate(parser.parse_args().members.split(",")))))
    except KeyboardInterrupt:
        return 130
    except raincheck.RaincheckError as problem:
        print(f"elected: {problem}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
