"""The promises of the token ring, over what all members of a run did in all their lives.

They are judged whether or not the traces conform: what was promised is one question, why it was
kept or broken is another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .findings import HOLDS, INCONCLUSIVE, VIOLATED, Promise
from .happened import Happened
from .ringseen import Address, RingSeen
from .ringwitnesses import (
    Run,
    Seen,
    Witness,
    agreed_order,
    consistent_history,
    fence_unique,
    fifo,
    held_by_all,
    integrity,
    no_holes,
    one_lock,
    seven_states,
)

NAMES = (
    "ConsistentHistory",
    "FenceUnique",
    "OneLock",
    "SevenStates",
    "HeldByAll",
    "NoHoles",
    "AgreedOrder",
    "Integrity",
    "Fifo",
)
"""What is promised, by the specification's names."""


def ring_promises(
    seen: Seen,
    happened: Happened[Address],
    crashed: Iterable[Address],
    *,
    complete: bool,
    whole: bool = True,
) -> list[Promise]:
    """Judge every promise; what is missing could violate one, so without all of it none holds.

    `complete`: every record was checked; `whole`: none is missing, of no message either end.
    """
    run = Run(dict(sorted(seen.items())), happened, frozenset(crashed))
    return [_judged(name, run, complete, whole) for name in NAMES]


def _judged(name: str, run: Run, complete: bool, whole: bool) -> Promise:
    witness = min(_WITNESSES[name](run), key=_when, default=None)
    if witness is not None and (whole or name not in _NEEDS_ALL):
        at = {} if witness.at is None else {"at": witness.at}
        return Promise(name, VIOLATED, witness.facts | at)
    if not any(_SUBJECTS[name](each) for each in run.seen.values()):
        return Promise(name, INCONCLUSIVE, reason=_NOTHING[name])
    if not complete:
        return Promise(name, INCONCLUSIVE, reason="not every record was checked")
    if name in _ORDERED and not run.happened.whole:
        return Promise(name, INCONCLUSIVE, reason="no order of the events is possible")
    return Promise(name, HOLDS)


def _when(witness: Witness) -> tuple[bool, float]:
    return (witness.at is None, witness.at or 0.0)


_WITNESSES: Mapping[str, Callable[[Run], Iterable[Witness]]] = {
    "ConsistentHistory": consistent_history,
    "FenceUnique": fence_unique,
    "OneLock": one_lock,
    "SevenStates": seven_states,
    "HeldByAll": held_by_all,
    "NoHoles": no_holes,
    "AgreedOrder": agreed_order,
    "Integrity": integrity,
    "Fifo": fifo,
}
_SUBJECTS: Mapping[str, Callable[[RingSeen], Any]] = {
    "ConsistentHistory": lambda seen: seen.commits,
    "FenceUnique": lambda seen: seen.eaten,
    "OneLock": lambda seen: seen.locks,
    "SevenStates": lambda seen: seen.states,
    "HeldByAll": lambda seen: seen.commits,
    "NoHoles": lambda seen: seen.commits,
    "AgreedOrder": lambda seen: seen.delivered,
    "Integrity": lambda seen: seen.delivered,
    "Fifo": lambda seen: seen.delivered,
}
"""What there must be some of, for a promise to have been kept."""
_NOTHING: Mapping[str, str] = {
    "ConsistentHistory": "no view was committed",
    "FenceUnique": "nobody held the token",
    "OneLock": "nobody had the lock",
    "SevenStates": "nobody was up",
    "HeldByAll": "no view was committed",
    "NoHoles": "no view was committed",
    "AgreedOrder": "nothing was delivered",
    "Integrity": "nothing was delivered",
    "Fifo": "nothing was delivered",
}
_ORDERED = frozenset({"OneLock", "HeldByAll"})
"""These ask what happened before what."""
_NEEDS_ALL = _ORDERED | {"NoHoles"}
"""What seems to be against these may only be a record that is missing."""
