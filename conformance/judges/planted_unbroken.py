"""Faults planted for `trace/sequencer/unbroken.py`: gaps, and what a joiner delivers too late."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from raincheck.conformance.trace.events import Address
from raincheck.conformance.trace.findings import HOLDS
from raincheck.conformance.trace.sequencer.logs import Log
from raincheck.conformance.trace.sequencer.rows import SEQNO_BITS
from raincheck.conformance.trace.sequencer.unbroken import evaluate_streams

from .planting import Ask, Complaints, Plant, Planted

A, B, C = ("a", 0), ("b", 0), ("c", 0)
_SENDERS: Final = (A, B)


def log(who: Address, *views: tuple[int, Sequence[Address], str]) -> Log:
    """Return what a member delivered: of each of its views the number, the members, and messages
    such as "a1 b1".
    """
    keys: list[int] = []
    starts = []
    for number, _, messages in views:
        if messages:
            starts.append((len(keys), number))
        keys += [("ab".index(each[0]) << SEQNO_BITS) + int(each[1:]) for each in messages.split()]
    members = {number: tuple(within) for number, within, _ in views}
    went_on = frozenset(number for number in members if number + 1 in members)
    return Log(who, np.array(keys, dtype=np.int64), starts, members, went_on, True)


def _said(*logs: Log, idle: bool = False) -> Ask:
    def ask(_: Path) -> Complaints:
        return [
            f"{each.name}: {each.verdict}: {each.reason or each.witness['but']}"
            for each in evaluate_streams(logs, {A, B}, _SENDERS)
            if each.verdict != HOLDS and each.idle == idle
        ]

    return ask


def _then(messages: str, *joined: Log) -> tuple[Log, ...]:
    return (log(A, (1, [A, B], "a1 a2"), (2, [A, B, C], messages)), *joined)


def _joined(messages: str) -> Log:
    return log(C, (2, [A, B, C], messages))


_GOOD: Final = _said(*_then("a3 b1", _joined("a3 b1")))
PLANTED: Final[dict[str, Planted]] = {
    "trace.sequencer.unbroken": {
        "_promise: return Promise(called, VIOLATED, found, judged=judged, parts=parts)": Plant(
            good=_GOOD,
            bad=_said(*_then("a4")),
            words="sequencer.GapFree: violated: it comes after 2",
        ),
        "_promise: this run asks nothing of: …": Plant(
            good=_said(*_then("a3 b1", _joined("a3 b1")), idle=True),
            bad=_said(*_then("a3 b1"), idle=True),
            words="sequencer.Fresh: inconclusive: this run asks nothing of: a joiner delivers",
        ),
        "_gap_free: it comes after …": Plant(
            good=_GOOD,
            bad=_said(*_then("a3 b2", _joined("a3"))),
            words="sequencer.GapFree: violated: it comes after 0",
        ),
        "_fresh: found = _against([joiner, other], int(stale[0]), senders, but)": Plant(
            good=_GOOD,
            bad=_said(*_then("a3", _joined("a2 a3"))),
            words="sequencer.Fresh: violated: a delivered it before view 2, in which c came",
        ),
    },
}
