"""TOTAL beside SEQUENCER, in one run: a multicast, a coordinator's crash, memory; then speed.

    python tests/bench/bench_orders.py             all of it; a few minutes
    python tests/bench/bench_orders.py --counts    only what virtual time tells, the same everywhere

In virtual time, with trips of 0.1 ms, three and eight members: the datagrams of each kind for a
message that leaves alone; those for a bundle under load; what the coordinator and another member
keep, at the most; how long nothing is delivered after the coordinator crashes under load, how much
of that is the time of finding out, and how many bundles are sent again. Then real processes, in
turns: messages a second, processor time and latency (`bench_total_order.py --only total`).
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import pairwise
from typing import Any

from bench_total_order import beside

from raincheck.impl.simulation.group import Flight, Link, Simulator
from raincheck.impl.stack.config import ORDERS, StackConfig
from raincheck.impl.wire.datagrams import Codec
from raincheck.impl.wire.headers import ForwardBody, RequestBody, UnicastHeader

CODEC = Codec("raincheck", 60_000)
TRIP = 0.0001


class Counted(Simulator):
    """A group whose datagrams are counted by kind."""

    def __init__(self, order: str, members: int) -> None:
        config = StackConfig(order=order)
        super().__init__(1, config=config, link=Link(delay=(TRIP, TRIP)))
        self.sent: Counter[str] = Counter()
        self.bytes = 0
        self.again = 0
        self.names = "abcdefgh"[:members]
        self.start(*self.names, founders=True)
        self.run(1.0)

    def _fly(self, flight: Flight) -> None:
        header: Any = CODEC.decode(flight.data).header
        body = header.body if isinstance(header, UnicastHeader) else header
        self.sent[type(body).__name__] += 1
        self.bytes += len(flight.data)
        if isinstance(body, ForwardBody | RequestBody) and self[flight.source].stack.blocked:
            self.again += 1  # nothing new leaves while the view changes
        super()._fly(flight)

    def load(self, count: int, pause: float, size: int) -> None:
        """Every member but the first sends so often, alone or in runs of 50."""
        for number in range(count):
            for at, name in enumerate(self.names[1:]):
                when = self.now + (number + at / len(self.names)) * pause
                self.at(when, lambda name=name: self._say(name, size))  # type: ignore[misc]

    def _say(self, name: str, size: int) -> None:
        self.send(name, [bytes(100)] * size)


def per_message(order: str, members: int, size: int) -> tuple[Counter[str], int, float]:
    """Return the datagrams of each kind, the messages or bundles, and the bytes for each."""
    group = Counted(order, members)
    group.sent.clear()
    group.bytes = 0
    group.load(200, 0.005, size)
    group.run(1.0)
    count = 200 * (members - 1)
    return group.sent, count, group.bytes / count


def kept(order: str, members: int) -> tuple[int, int]:
    """Return the most datagrams that the coordinator and the last member have kept under load."""
    group, most = Counted(order, members), [0, 0]
    group.load(300, 0.005, 50)
    for _ in range(300):
        group.run(0.005)
        for at, name in enumerate((group.names[0], group.names[-1])):
            most[at] = max(most[at], group[name].stack.buffered())
    return most[0], most[1]


def after_a_crash(order: str, members: int) -> tuple[float, float, int]:
    """Return the longest pause of deliveries, how long the crash was not known, the repeated."""
    group, times = Counted(order, members), list[float]()
    last = group.names[-1]
    group.load(1200, 0.003, 50)
    group.run(0.5)
    crashed, known, heard = group.now, 0.0, group[last].messages
    group.crash(group.names[0])
    while group.now < crashed + 3.0:
        group.run(TRIP)
        if not known and group[last].stack.blocked:
            known = group.now - crashed
        if group[last].messages > heard:
            heard = group[last].messages
            times.append(group.now)
    pause = max(later - earlier for earlier, later in pairwise([crashed, *times]))
    return pause, known, group.again


def counts(members: int) -> None:
    """Print what virtual time tells of both orders."""
    print(f"{members} members, virtual time, trips of {TRIP * 1000:g} ms")
    for order in ORDERS:
        for size, words in ((1, "a message alone"), (50, "a bundle of 50")):
            sent, count, size_of = per_message(order, members, size)
            kinds = ", ".join(f"{name} {n / count:.2f}" for name, n in sent.most_common())
            print(f"  {order:9} {words}: {sum(sent.values()) / count:.2f} datagrams, "
                  f"{size_of:,.0f} bytes: {kinds}")  # fmt: skip
        first, other = kept(order, members)
        print(f"  {order:9} keeps at the most {first} datagrams (coordinator), {other} (another)")
        pause, known, again = after_a_crash(order, members)
        print(f"  {order:9} coordinator crashes: no delivery for {pause * 1000:.1f} ms, of which "
              f"{(pause - known) * 1000:.1f} behind the beginning of the flush; "
              f"{again} bundles sent again")  # fmt: skip


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--counts", action="store_true", help="only what virtual time tells")
    parser.add_argument("--quick", action="store_true", help="a tenth of the messages")
    options = parser.parse_args()
    for members in (3, 8):
        counts(members)
    if not options.counts:
        beside("total", "udp", 100, 10 if options.quick else 1)


if __name__ == "__main__":
    main()
