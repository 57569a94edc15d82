"""PBCAST's arithmetic: how often members gossip, how far a gossip gets, and what a lag loses.

    python tests/bench/bench_pbcast.py             the tables of docs/protocols/pbcast.md
    python tests/bench/bench_pbcast.py --quick     up to 100 members
    python tests/bench/bench_pbcast.py --svg FILE  the picture there, too

In virtual time, with the real cores. A gossip goes to two members of its not-seen list; before a
member sends it again it waits up to 0.2 s, a trip takes up to 0.01 s. "Copies" counts datagrams of
gossips; that with which a completed gossip is told to all counts once per receiver. A round is the
average time from a member's first copy to the next one's.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from raincheck.impl.messages import Address
from raincheck.impl.pbcast.core import Repairs
from raincheck.impl.pbcast.events import Multicast
from raincheck.impl.simulation.gossiping import TEXT, GossipingGroup, Settings

SIZES = (10, 30, 100, 300, 1000)
LOSSES = (0.0, 0.01, 0.1, 0.3)
DESIRED = 30.0
PAUSE, TRIP = 0.2, 0.01
ROUND = (PAUSE + TRIP) / 2
NEVER = 1e12
"""No member gossips of itself."""


def mean(values: Sequence[float]) -> float:
    """The mean, or nothing where there is nothing."""
    return statistics.fmean(values) if values else math.nan


# ---------------------------------------------------------------------- intervals


class _Timers(GossipingGroup):
    """A group whose gossips are counted and not sent."""

    gossips = 0

    def gossip(self, a: Address) -> None:
        """Count it."""
        del a
        self.gossips += 1


def interval(size: int, begins: bool, seconds: float, seed: int = 1) -> float:
    """The average time from one gossip in the group to the next."""
    group = _Timers(Settings(members=size, desired=DESIRED, begins=begins), seed)
    group.run(seconds)
    return seconds / max(1, group.gossips)


def intervals(sizes: Sequence[int]) -> Iterator[str]:
    """How often a member hears a gossip, with the text's interval."""
    yield f"desired_avg_gossip {DESIRED:.0f} s: seconds from one gossip to the next"
    yield "members   in the long run   heard by a member   in the first interval of a new group"
    for size in sizes:
        settled = interval(size, False, 2_000 * DESIRED)
        heard = settled * size / (size - 1)
        first = mean([interval(size, True, size * DESIRED / 4, seed) for seed in range(8)])
        yield f"{size:7} {settled:17.1f} {heard:19.1f} {first:42.1f}"


# ---------------------------------------------------------------------- one gossip


class Spread(NamedTuple):
    """What became of single gossips, each with a message that only its origin had."""

    heard: float
    """The share of members that have heard of them."""
    purged: float
    """The share of those that have learned that all have seen them."""
    rounds: float
    """Rounds until the last one that heard of it has."""
    got: float
    """The share of members that have the message."""
    copies: float
    """Datagrams of the gossip per member."""
    most: float
    """Datagrams of the busiest member."""
    asked: float
    """How often the member that is asked most was asked for messages."""


def spread(size: int, loss: float, repairs: Repairs | None, trials: int) -> Spread:
    """Begin gossips one after another, each of them in a group that has had none."""
    found: list[Spread] = []
    for seed in range(trials):
        settings = Settings(
            members=size, loss=loss, desired=NEVER, pause=PAUSE, latency=TRIP, repairs=repairs
        )
        group = GossipingGroup(settings, seed)
        origin = group.addresses[0]
        group.cores[origin].handle(Multicast())  # all first transmissions are lost
        group.gossip(origin)
        group.run(600.0)
        heard = group.heard.get((origin, 1), {})
        others = size - 1
        cores = [core for a, core in group.cores.items() if a != origin]
        known = [core.cache[0] for core in cores if core.cache]
        found.append(
            Spread(
                len(heard) / others,
                sum(not each.not_seen for each in known) / others,
                max(heard.values(), default=0.0) / ROUND,
                sum(bool(core.streams.delivered.get(origin)) for core in cores) / others,
                group.sent["Gossip"] / size,
                max(group.sent_by.values()),
                max(group.asked.values(), default=0),
            )
        )
    return Spread(*(mean([each[i] for each in found]) for i in range(len(Spread._fields))))


def theory(size: int, fanout: int = 2) -> float:
    """The rounds of epidemic theory: log of base 1 + fanout, and the tail (Pittel 1987)."""
    return math.log(size, 1 + fanout) + math.log(size) / fanout


def spreads(sizes: Sequence[int]) -> tuple[list[str], dict[float, list[tuple[int, float]]]]:
    """Single gossips, as implemented and as the text has them; and the rounds, for the picture."""
    lines, curves = list[str](), dict[float, list[tuple[int, float]]]()
    for name, repairs in (("as implemented", None), ("as the text has it", TEXT)):
        lines += [
            "",
            f"a gossip, {name}",
            "members  loss   heard  completed  message   rounds  (theory)  copies per member"
            "   busiest   asked most   copies/s in the group",
        ]
        for size in sizes:
            for loss in LOSSES:
                trials = max(3, min(40, 1500 // size))
                it = spread(size, loss, repairs, trials)
                load = it.copies * size / DESIRED
                lines.append(
                    f"{size:7} {loss:5.0%} {it.heard:7.1%} {it.purged:10.1%} {it.got:8.1%}"
                    f" {it.rounds:8.1f} {theory(size):9.1f} {it.copies:18.1f} {it.most:9.0f}"
                    f" {it.asked:12.1f} {load:23.1f}"
                )
                if repairs is None:
                    curves.setdefault(loss, []).append((size, it.rounds))
    return lines, curves


# ---------------------------------------------------------------------- the lag


LAGS = (0, 1, 2, 5, 10, 20, 50)
EACH = 10
"""Messages of one sender from one gossip to the next."""


def lost(lag: int, loss: float, seed: int, repairs: Repairs | None, gossips: int = 60) -> float:
    """The share of messages that a member lacks and nobody has any more."""
    settings = Settings(members=10, loss=loss, desired=NEVER, lag=lag, repairs=repairs)
    group = GossipingGroup(settings, seed)
    for turn in range(gossips):
        for _ in range(EACH):
            group.multicast(group.addresses[0])
        group.run(1.0)
        group.gossip(group.addresses[turn % 10])
        group.run(5.0)
    for turn in range(20):  # whatever can still be had is asked for
        group.gossip(group.addresses[turn % 10])
        group.run(30.0)
    return len(group.lost_for_good()) / (gossips * EACH)


def lags() -> Iterator[str]:
    """What lags lose, by how many datagrams the network loses."""
    yield ""
    yield f"ten members, {EACH} messages from one gossip to the next: lost for good, by the lag"
    yield "loss  " + "".join(f"{lag:>9}" for lag in LAGS) + "   digests gathered, lag 0"
    undone = Repairs(gathers=False)
    for loss in (0.01, 0.1, 0.3):
        shares = [mean([lost(lag, loss, seed, undone) for seed in range(3)]) for lag in LAGS]
        whole = mean([lost(0, loss, seed, None) for seed in range(3)])
        yield f"{loss:4.0%}  " + "".join(f"{each:9.2%}" for each in shares) + f"{whole:26.2%}"


# ---------------------------------------------------------------------- the picture


def picture(curves: dict[float, list[tuple[int, float]]]) -> str:
    """Rounds by the number of members, each loss as a line, and epidemic theory."""
    width, height, left, bottom = 640, 360, 60, 310
    sizes = [size for size, _ in next(iter(curves.values()))]
    lines = {f"{loss:.0%} lost": points for loss, points in curves.items()}
    lines["theory"] = [(size, theory(size)) for size in sizes]
    top = max(y for points in lines.values() for _, y in points) * 1.1
    reach = math.log(sizes[-1] / sizes[0]) or 1.0

    def place(size: int, y: float) -> str:
        x = left + (width - left - 130) * math.log(size / sizes[0]) / reach
        return f"{x:.1f},{bottom - (bottom - 20) * y / top:.1f}"

    colours = ("#4e79a7", "#59a14f", "#f28e2b", "#e15759", "#777777")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<path d="M{left},20 V{bottom} H{width - 130}" fill="none" stroke="black"/>',
        f'<text x="{left}" y="14">rounds until all have heard of a gossip</text>',
        f'<text x="{width / 2 - 60}" y="{height - 10}">members</text>',
    ]
    for size in sizes:
        x = place(size, 0).split(",")[0]
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{size}</text>')
    for y in range(0, int(top) + 1, 5):
        at = place(sizes[0], y).split(",")[1]
        parts.append(f'<text x="{left - 8}" y="{at}" text-anchor="end">{y}</text>')
    for row, (name, points) in enumerate(lines.items()):
        dash = ' stroke-dasharray="5 4"' if name == "theory" else ""
        path = " ".join(place(size, y) for size, y in points)
        colour = colours[row % len(colours)]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}"{dash}/>')
        parts.append(f'<text x="{width - 120}" y="{40 + 18 * row}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Print the tables, and draw the picture if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="up to 100 members")
    parser.add_argument("--svg", type=Path, help="draw the rounds there")
    chosen = parser.parse_args()
    sizes = SIZES[:3] if chosen.quick else SIZES
    for line in intervals(sizes):
        print(line, flush=True)
    lines, curves = spreads(sizes)
    print("\n".join(lines), flush=True)
    for line in lags():
        print(line, flush=True)
    if chosen.svg:
        chosen.svg.write_text(picture(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
