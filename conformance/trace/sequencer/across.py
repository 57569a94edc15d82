"""The promises of groups that merge, evaluated on what a trace says was delivered.

They are those that `deliveries/sides.py` asks of delivery logs: of members that go on together, of
one view, and of a message, across the sides. Beside them each member's deliveries in each view are
judged by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from raincheck.conformance.deliveries import sides
from raincheck.conformance.deliveries.sides import Life, Told
from raincheck.conformance.trace.events import Address
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED, Promise

from .logs import Log, logs_of
from .rows import SEQNO_BITS, stable_hash
from .summary import Summary

_LOW: Final = (1 << SEQNO_BITS) - 1
NOBODY: Final = {
    "Together": "no two members went on together from a view in which a message was delivered",
    "OneOrder": "no two members have delivered the same message in one view",
    "OneView": "no two members have delivered the same message",
    "InEachView": "nothing was delivered",
}
"""Why nothing can be said where nobody was there to be judged by."""


def evaluate_across(
    summaries: Mapping[Address, Summary], deliveries: dict[Address, Any]
) -> list[Promise]:
    """Return the verdicts; it takes the logs out of `deliveries`."""
    logs, senders = logs_of(summaries, deliveries)
    lives = {_name(log.who): _life(summaries[log.who], log, senders) for log in logs}
    views = len({view for life in lives.values() for view in life.views})
    asked = {
        "Together": (sides.two_sets(lives), sides.compared_together(lives)),
        "OneOrder": (sides.two_orders(lives), sides.compared_in_a_view(lives)),
        "OneView": (sides.two_views(lives), sides.compared(lives)),
        "InEachView": (_in_a_view(lives, summaries), sum(len(log.keys) for log in logs)),
    }
    return [
        _promise(name, wrong, {"members": len(lives), "views": views, "messages": over})
        for name, (wrong, over) in asked.items()
    ]


def _promise(name: str, wrong: str, judged: dict[str, int]) -> Promise:
    if wrong:
        return Promise(name, VIOLATED, {"what": wrong}, judged=judged)
    if not judged["messages"]:
        return Promise(name, INCONCLUSIVE, reason=NOBODY[name], judged=judged)
    return Promise(name, HOLDS, judged=judged)


def _life(summary: Summary, log: Log, senders: list[Address]) -> Life:
    """Return the member's log as `sides` knows it, its views by their whole ids as one number."""
    called = {
        place.view: place.view << 32 | (stable_hash(repr(place.by)) & 0xFFFFFFFF)
        for place in summary.views
    }
    life = Life(views=[called[place.view] for place in summary.views])
    ends = [*(place for place, _ in log.starts), len(log.keys)][1:]
    for (begin, view), end in zip(log.starts, ends, strict=True):
        told = life.delivered.setdefault(called.get(view, view << 32), [])
        for key in log.keys[begin:end].tolist():
            told.append(Told(_name(senders[key >> SEQNO_BITS]), str(key & _LOW)))
    return life


def _in_a_view(lives: Mapping[str, Life], summaries: Mapping[Address, Summary]) -> str:
    """Return what one member has delivered in a view twice, out of its sender's order, behind a
    gap, or without its having been sent; or "".
    """
    sent = {_name(who): each.seqno for who, each in summaries.items() if each.complete}
    for who, life in sorted(lives.items()):
        for view, messages in life.delivered.items():
            for sender, numbers in _by_sender(messages):
                for before, number in pairwise(numbers):
                    if number != before + 1:
                        there = f"{who} delivers {sender} {number} behind {before}"
                        return f"{there} in view {view >> 32}"
                if numbers[-1] > sent.get(sender, numbers[-1]):
                    return f"{who} delivers {sender} {numbers[-1]}, which it has not sent"
    return ""


def _by_sender(messages: list[Told]) -> Iterator[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for message in messages:
        found.setdefault(message.sender, []).append(int(message.number))
    yield from sorted(found.items())


def _name(who: Address) -> str:
    return f"{who[0]}.{who[1]}"
