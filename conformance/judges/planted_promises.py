"""Faults planted for `trace/sequencer/promises.py`: the promises to a run's members."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.trace.findings import HOLDS, VIOLATED, Promise
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.broken import (
    Broken,
    backwards,
    in_two_views,
    kept,
    lost_at_a_survivor,
    never_sent,
    other_order,
    outside,
    twice,
)
from raincheck.conformance.trace.sequencer.scripted import Script
from raincheck.conformance.trace.sequencer.tracegen import Trace, write_trace
from raincheck.model.machine.runs import Address

from .planting import Complaints, Plant, Planted

_SECOND: Final = "a second delivery is not in the order of seqnos either"
_VIEW: Final = "what one delivered in another view the others lack in theirs"


def _promises(folder: Path, trace: Trace, killed: tuple[Address, ...] = ()) -> list[Promise]:
    write_trace(folder, trace, killed)
    (verdict,) = check_paths([folder])
    return verdict.promises


def _words(promise: Promise) -> str:
    return f"{promise.name}: {promise.verdict}: {promise.reason or promise.witness}"


def _kept(folder: Path) -> Complaints:
    """All promises hold."""
    found = _promises(folder, kept().files())
    return [_words(each) for each in found if each.verdict != HOLDS and not each.idle]


def _breaks(words: str, made: Callable[[str], Broken], **more: Any) -> Plant:
    """Plant a small run that breaks a promise; most other promises are inconclusive on it."""

    def bad(folder: Path) -> Complaints:
        broken = made("r1")
        found = _promises(folder, broken.trace, broken.killed)
        return [_words(promise) for promise in found if promise.verdict == VIOLATED]

    return Plant(good=_kept, bad=bad, words=words, **more)


def _beside_the_longest(run: str) -> Broken:
    """d has most; b and c both have what d lacks, and only differ from each other."""
    script = Script("abcd", synchronous=False, run=run).each("aaa", "Send", 1)
    script.decide("bcad").install("bcad").do("b", "Send", 1).each("ddd", "ReceiveData", "a")
    script.do("b", "ReceiveData", "a").do("b", "ReceiveData", "b")
    script.do("c", "ReceiveData", "b").do("c", "ReceiveData", "a")
    return Broken(script.files(), (), frozenset({"TotalOrder", "UniformTotalOrder"}))


def _nobody_went_on(folder: Path) -> Complaints:
    """All deliver the same in one view, and no view follows."""
    script = Script("abc").do("a", "Send", 1).do("a", "Send", 1)
    trace = script.each("aabbcc", "ReceiveData", "a").files()
    return [
        _words(each) for each in _promises(folder, trace) if each.verdict != HOLDS and not each.idle
    ]


def _unread(folder: Path) -> Complaints:
    """One record is unusable, so nobody knows what else it would have shown."""
    trace = kept().files()
    records = trace[Address("a", 0)]
    records.insert(3, records[0])
    return [
        _words(each) for each in _promises(folder, trace) if each.verdict != HOLDS and not each.idle
    ]


NOT_ALL: Final = Plant(
    good=_kept, bad=_unread, words="TotalOrder: inconclusive: not every record was checked"
)
"""In a run with missing parts nothing holds: a rule of SEQUENCER's `promised.py`."""
_BOTH: Final = "'messages': [['b', 0, 1], ['a', 0, 1]], 'order': 'c delivered them in this order"

PLANTED: Final[dict[str, Planted]] = {
    "trace.sequencer.promises": {
        "_promise: return Promise(name, VIOLATED, asked.witness, judged=asked.judged)": _breaks(
            "TotalOrder: violated: {'members': [['c', 0], ['b', 0]]", other_order
        ),
        "_promise: return Promise(name, INCONCLUSIVE, reason=NOBODY[name], judged=asked.judged)": (
            Plant(
                good=_kept,
                bad=_nobody_went_on,
                words="Agreement: inconclusive: no two members went on together from a view",
            )
        ),
        "_differing: yield found": _breaks("TotalOrder: violated", other_order),
        "_differing: yield found #2": _breaks("TotalOrder: violated", _beside_the_longest),
        "_total_order.<locals>.inverted: return witness([p, q], pair, senders, order=order)": (
            _breaks(_BOTH, other_order)
        ),
        "_one_view.<locals>.elsewhere: "
        "return witness([p, q], [int(p.keys[mine[first]])], senders, views=views)": _breaks(
            "VirtualSynchrony: violated", in_two_views, then="Agreement: violated", why=_VIEW
        ),
        "_agreement: found = witness([p, q], [missing], senders, view=view, lacking=lacking)": (
            _breaks(
                "Agreement: violated: {'members': [['b', 0], ['c', 0]]",
                lost_at_a_survivor,
            )
        ),
        "_integrity: return Asked(witness([log], [key], senders, twice=True), judged)": _breaks(
            "'twice': True", twice, then="Fifo: violated", why=_SECOND
        ),
        "_integrity: "
        "return Asked(witness([log], [int(beyond[0])], senders, never_sent=True), judged)": _breaks(
            "'never_sent': True", never_sent
        ),
        "_fifo: found = witness([log], pair, senders)": _breaks(
            "Fifo: violated",
            backwards,
            then="sequencer.GapFree: violated",
            why="what is out of order is not the next one either",
        ),
        "_in_view: found = witness([log], [int(log.keys[place])], senders, view=view)": _breaks(
            "InView: violated", outside
        ),
    },
}
