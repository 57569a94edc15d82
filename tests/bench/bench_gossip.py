"""What a member keeps, and for how long, where a group collects by gossip and by STABLE's votes.

    python tests/bench/bench_gossip.py             the table of docs/protocols/pbcast.md
    python tests/bench/bench_gossip.py --quick     up to 10 members

Whole stacks with their usual settings, on a simulated network in virtual time: a trip takes 0.2 to
1 ms, one datagram in a hundred is lost. Time and loss are virtual, the protocols are the real ones.
One member sends 50 messages of 1,000 bytes a second. "Kept" is the size of the bundles that a
member has in store, "forgotten" the time from a bundle's multicast until a member has forgotten
it, "late" from the first delivery of a message to the last one at any member. Datagrams are those
by which members learn what all have delivered, as one member sends them.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from raincheck.impl.simulation.group import Link, Node, Simulator
from raincheck.impl.stack.config import StackConfig

SIZES = (3, 10, 25, 50)
KINDS = (("votes", "requests"), ("gossip", "requests"), ("gossip", "gossip"))
LOSS, TRIP = 0.01, (0.0002, 0.001)
RATE, SIZE, SECONDS, STEP = 50, 1000, 20.0, 0.02


class Row(NamedTuple):
    """What was measured of one group; times in seconds."""

    members: int
    stability: str
    repair: str
    kept: float
    """Kilobytes, on average."""
    most: float
    """Kilobytes, at the member and the time with the most."""
    forgotten: float
    slowest: float
    """The time after which 99 of 100 bundles were forgotten, by a member."""
    late: float
    """The time by which the last member delivers a message after the first, 99 of 100."""
    datagrams: float
    """A second, of one member."""


def kilobytes(node: Node) -> float:
    """What a member keeps of all streams."""
    streams = node.stack.cores["nakack"].stream.values()
    kept = sum(len(raw) for each in streams for _, raw in each.retained.values())
    waiting = sum(len(held.raw) for each in streams for held in each.buffer.values())
    return (kept + waiting) / 1000


def told(node: Node) -> int:
    """How many datagrams a member has sent for the sake of collection."""
    counters, others = node.stack.counters, len(node.stack.members) - 1
    votes = counters["stable_digests"] + counters["stabilities"]
    return counters["gossip_copies"] + votes * others


class Times:
    """When the bundles of the sending member were multicast, delivered and forgotten."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._source = nodes[0].address
        self._sent: list[float] = []
        self._purged = dict.fromkeys((node.name for node in nodes), 0)
        self._delivered = dict.fromkeys((node.name for node in nodes), 0)
        self._first: list[float] = []
        self.forgotten: list[float] = []
        self.last: list[float] = []

    def look(self, now: float) -> None:
        """Note what has changed."""
        sent = self._nodes[0].stack.cores["nakack"].sent
        self._sent += [now] * (sent - len(self._sent))
        lowest = min(self._delivered.values())
        for node in self._nodes:
            stream = node.stack.cores["nakack"].stream[self._source]
            known = self._purged[node.name]
            self.forgotten += [now - self._sent[k] for k in range(known, stream.purged)]
            self._purged[node.name] = stream.purged
            self._first += [now] * (stream.delivered - len(self._first))
            self._delivered[node.name] = stream.delivered
        self.last += [now - self._first[k] for k in range(lowest, min(self._delivered.values()))]


def measured(members: int, stability: str, repair: str, seconds: float = SECONDS) -> Row:
    """Run a group and measure it."""
    config = StackConfig(stability=stability, repair=repair)
    group = Simulator(1, config=config, link=Link(loss=LOSS, delay=TRIP), record=False)
    names = [f"m{number:02}" for number in range(members)]
    group.start(*names, founders=True)
    group.run(2.0)
    nodes = [group[name] for name in names]
    before = sum(map(told, nodes))
    times, kept = Times(nodes), list[float]()
    for step in range(int(seconds / STEP)):
        if step % max(1, round(1 / RATE / STEP)) == 0:
            group.send(names[0], [bytes(SIZE)])
        group.run(STEP)
        times.look(group.now)
        kept += map(kilobytes, nodes)
    datagrams = (sum(map(told, nodes)) - before) / seconds / members
    slowest, late = (
        statistics.quantiles(some, n=100)[-1] for some in (times.forgotten, times.last)
    )
    mean = statistics.fmean
    figures = mean(kept), max(kept), mean(times.forgotten), slowest, late, datagrams
    return Row(members, stability, repair, *figures)


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="up to 10 members")
    sizes = SIZES[:2] if options.parse_args().quick else SIZES
    print(
        "| members | stability | repair | kept, kB | most, kB | forgotten after, s | 99 of 100, s "
        "| late, 99 of 100, s | datagrams a second |"
    )
    print("|" + "---|" * 9)
    for size in sizes:
        for stability, repair in KINDS:
            row = measured(size, stability, repair)
            kept = f"{row.kept:.0f} | {row.most:.0f}"
            times = f"{row.forgotten:.2f} | {row.slowest:.2f} | {row.late:.2f}"
            print(f"| {size} | {stability} | {repair} | {kept} | {times} | {row.datagrams:.0f} |")


if __name__ == "__main__":
    main()
