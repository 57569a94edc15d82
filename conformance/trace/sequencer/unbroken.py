"""The specification's GapFree and Fresh, evaluated on what a trace says was delivered.

Unlike the promises of `promises.py` they are not owed by each run: what asks nothing of a run is
named, and the run is not the worse for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from raincheck.conformance.trace.events import Address
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED, Promise

from .logs import Log
from .rows import SEQNO_BITS
from .tallies import Judged, tallied

Witness: TypeAlias = dict[str, Any]
HOW: Final = {
    "GapFree": "of each sender a member delivers the message after the last one; a member that "
    "was there from the beginning begins with the first",
    "Fresh": "a joiner delivers nothing that a member delivered before, which is there with it",
}
"""What is asked, by the specification's names."""
_SEQNO: Final = (1 << SEQNO_BITS) - 1


def evaluate_streams(
    logs: Iterable[Log], founding: Collection[Address], senders: Sequence[Address]
) -> list[Promise]:
    """Judge both, of members some of which were there from the beginning."""
    logs = list(logs)
    return [
        _promise("GapFree", *_gap_free(logs, founding, senders)),
        _promise("Fresh", *_fresh(logs, founding, senders)),
    ]


def _promise(name: str, witness: Witness | None, judged: Judged) -> Promise:
    called, parts = f"sequencer.{name}", {HOW[name]: judged["messages"]}
    if witness is not None:
        found = {**witness, "asked": HOW[name]}
        return Promise(called, VIOLATED, found, judged=judged, parts=parts)
    if not judged["messages"]:
        reason = f"this run asks nothing of: {HOW[name]}"
        return Promise(called, INCONCLUSIVE, reason=reason, judged=judged, parts=parts, idle=True)
    return Promise(called, HOLDS, judged=judged, parts=parts)


def _against(members: Iterable[Log], key: int, senders: Sequence[Address], but: str) -> Witness:
    node, life = senders[key >> SEQNO_BITS]
    return {
        "members": [list(log.who) for log in members],
        "messages": [[node, life, key & _SEQNO]],
        "but": but,
    }


def _gap_free(
    logs: Sequence[Log], founding: Collection[Address], senders: Sequence[Address]
) -> tuple[Witness | None, Judged]:
    """Ask each message that has one before it, and the first ones of members that were there from
    the beginning.
    """
    members, views, messages = set[Address](), set[int](), 0
    for log in logs:
        order = np.argsort(log.keys >> SEQNO_BITS, kind="stable")
        keys = log.keys[order]
        first = np.ones(len(keys), dtype=bool)
        first[1:] = np.diff(keys >> SEQNO_BITS) != 0
        before = np.zeros(len(keys), dtype=np.int64)
        before[1:] = np.where(first[1:], 0, keys[:-1] & _SEQNO)
        asked = ~first if log.who not in founding else np.ones(len(keys), dtype=bool)
        if not asked.any():
            continue
        members.add(log.who)
        views |= {view for _, view in log.starts}
        messages += int(asked.sum())
        wrong = np.flatnonzero(asked & ((keys & _SEQNO) != before + 1))
        if len(wrong):
            at = int(wrong[np.argmin(order[wrong])])
            found = _against([log], int(keys[at]), senders, f"it comes after {int(before[at])}")
            return found, tallied(members, len(views), messages)
    return None, tallied(members, len(views), messages)


def _fresh(
    logs: Sequence[Log], founding: Collection[Address], senders: Sequence[Address]
) -> tuple[Witness | None, Judged]:
    """Ask, of each joiner that delivered something, what others had delivered before it came."""
    members, views, messages = set[Address](), set[int](), 0
    firm = [log.firm() for log in logs]
    for joiner in logs:
        if joiner.who in founding or not joiner.views:
            continue
        came = min(joiner.views)
        for other in firm:
            mine = joiner.beside(other).keys
            before = other.keys[: other.begins(came)]
            if other.who == joiner.who or not len(mine) or not len(before):
                continue
            members |= {joiner.who, other.who}
            views.add(came)
            messages += len(before)
            stale = before[np.isin(before, mine)]
            if len(stale):
                but = (
                    f"{other.who[0]} delivered it before view {came}, in which {joiner.who[0]} came"
                )
                found = _against([joiner, other], int(stale[0]), senders, but)
                return found, tallied(members, len(views), messages)
    return None, tallied(members, len(views), messages)
