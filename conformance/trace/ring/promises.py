"""The promises of the token ring, over what all members of a run did in all their lives.

They are judged whether or not the traces conform: what was promised is one question, why it was
kept or broken is another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from raincheck.conformance.trace.causality import HappensBefore
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED, Promise

from . import judged as ringjudged
from . import views as ringviews
from . import witnesses as ringwitnesses
from .known import Run, Seen, Witness
from .seen import Address


class Judge(NamedTuple):
    """How one promise is judged."""

    against: Callable[[Run], Iterable[Witness]]
    asked: Callable[[Run], dict[str, int]]
    nothing: str
    """Why it could not have come out otherwise, where nothing was asked."""
    ordered: bool = False
    """It asks what happened before what: all records are needed, and an order of the events."""


JUDGES = {
    "ConsistentHistory": Judge(
        ringviews.consistent_history,
        ringjudged.consistent_history,
        "no two members have committed a view at the same index",
    ),
    "FenceUnique": Judge(
        ringwitnesses.fence_unique,
        ringjudged.fence_unique,
        "no two members held the token",
    ),
    "OneLock": Judge(
        ringwitnesses.one_lock,
        ringjudged.one_lock,
        "no two members had the lock in the same epoch and lived to let it go",
        ordered=True,
    ),
    "SevenStates": Judge(
        ringwitnesses.seven_states,
        ringjudged.seven_states,
        "no member that was up went from one state to another",
    ),
    "HeldByAll": Judge(
        ringviews.held_by_all,
        ringjudged.held_by_all,
        "no view was committed by an event",
        ordered=True,
    ),
    "NoHoles": Judge(
        ringviews.no_holes,
        ringjudged.no_holes,
        "nobody is in a view and has the next one, and never did all agree in the end",
        ordered=True,
    ),
    "AgreedOrder": Judge(
        ringwitnesses.agreed_order,
        ringjudged.agreed_order,
        "no two members delivered the same two messages",
    ),
    "Integrity": Judge(
        ringwitnesses.integrity,
        ringjudged.integrity,
        "nothing was delivered",
        ordered=True,
    ),
    "Fifo": Judge(
        ringwitnesses.fifo,
        ringjudged.fifo,
        "nobody delivered two messages of one sender",
    ),
}
NAMES = tuple(JUDGES)
"""What is promised, by the specification's names."""


def ring_promises(
    seen: Seen,
    causality: HappensBefore[Address],
    crashed: Iterable[Address],
    *,
    complete: bool,
    whole: bool = True,
) -> list[Promise]:
    """Judge every promise; what is missing could violate one, so without all of it none holds.

    `complete`: every record was checked; `whole`: none is missing, of no message either end.
    """
    run = Run(dict(sorted(seen.items())), causality, frozenset(crashed), whole)
    return [_judged(name, judge, run, complete) for name, judge in JUDGES.items()]


def _judged(name: str, judge: Judge, run: Run, complete: bool) -> Promise:
    asked = judge.asked(run)
    witness = min(judge.against(run), key=_when, default=None)
    if witness is not None:
        at = {} if witness.at is None else {"at": witness.at}
        return Promise(name, VIOLATED, witness.facts | at, judged=asked)
    if reason := _undecided(judge, run, asked, complete):
        return Promise(name, INCONCLUSIVE, reason=reason, judged=asked)
    return Promise(name, HOLDS, judged=asked)


def _undecided(judge: Judge, run: Run, asked: dict[str, int], complete: bool) -> str:
    """Why it says nothing that nothing speaks against it."""
    if not all(asked.values()):
        return judge.nothing
    if not complete:
        return "not every record was checked"
    if judge.ordered and not run.ordered:
        return "no order of the events is possible"
    return ""


def _when(witness: Witness) -> tuple[bool, float]:
    return (witness.at is None, witness.at or 0.0)
