"""Faults planted for the rules of `spark/recount.py`: two evaluations that differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from raincheck.conformance.spark.recount import compared
from raincheck.conformance.trace.findings import HOLDS
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer.broken import kept
from raincheck.conformance.trace.sequencer.tracegen import write_trace

from .planting import Ask, Complaints, Plant, Planted, sentences


def _recounted(*broken: str) -> Ask:
    """Ask about a good run of which the second evaluation finds those promises broken."""

    def ask(folder: Path) -> Complaints:
        write_trace(folder, kept().files())
        verdicts = [compared(verdict, broken) for verdict in check_paths([folder])]
        told = sentences(verdicts)
        for verdict in verdicts:
            wrong = [each for each in verdict.promises if each.verdict != HOLDS and not each.idle]
            told += [f"{each.name}: {each.verdict}" for each in wrong]
        return told

    return ask


_GOOD: Final = _recounted()
_BAD: Final = _recounted("TotalOrder")
_DIFFER: Final = "compared: two evaluations of … differ: … by the members' logs, … by the messages"


def _plant(words: str, **more: Any) -> Plant:
    return Plant(good=_GOOD, bad=_BAD, words=words, **more)


PLANTED: Final[dict[str, Planted]] = {
    "spark.recount": {
        _DIFFER: _plant(
            "TotalOrder: inconclusive",
            then="inconclusive promises, .0 event 0: two evaluations of TotalOrder differ",
            why="the doubt is the run's as well as the promise's",
        ),
        f"{_DIFFER} #2": _plant("r1: inconclusive"),
        "compared: return msgspec.structs.replace(verdict, "
        "verdict=VIOLATED if verdict.verdict == VIOLATED el…": _plant(
            "r1: inconclusive", breaks=AttributeError, why="there is no verdict then"
        ),
    },
}
