"""The specification's properties, evaluated on what a trace says was delivered.

They are checked whether or not the trace conforms: what was promised to the application is one
question, why it was kept or broken is another. Messages are told apart by (address, seqno).
The order is compared with one reference member first, in one pass; only members that delivered
what the reference did not are compared pair by pair.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .events import Address
from .findings import HOLDS, INCONCLUSIVE, VIOLATED, Promise, Summary
from .rows import SEQNO_BITS

Keys = npt.NDArray[np.int64]
ENDED = ("left", "crashed")


class Log(NamedTuple):
    """What one member delivered: a key per message, in order, and where its views begin."""

    who: Address
    keys: Keys
    starts: list[tuple[int, int]]
    summary: Summary
    survived: frozenset[int]
    """The views that it went on from, together with the next one."""
    running: bool


def logs_of(
    summaries: Mapping[Address, Summary], deliveries: dict[Address, Any]
) -> tuple[list[Log], list[Address]]:
    """Logs with one code per sender in the whole run, and the senders by code."""
    senders = sorted({a for summary in summaries.values() for a in summary.addresses})
    code = {sender: place for place, sender in enumerate(senders)}
    logs = []
    for who, summary in sorted(summaries.items()):
        keys, starts = _expanded(deliveries.pop(who), summary.view_starts)
        if summary.addresses:
            codes = np.array([code[a] for a in summary.addresses], dtype=np.int64)
            low = keys & ((1 << SEQNO_BITS) - 1)
            keys = codes[keys >> SEQNO_BITS] << SEQNO_BITS | low
        numbers = [place.view for place in summary.views]
        members = {place.view: place.members for place in summary.views}
        survived = frozenset(
            v for v in numbers if v + 1 in members and who in members[v] and who in members[v + 1]
        )
        running = summary.status not in ENDED and summary.end != "open"
        logs.append(Log(who, keys, starts, summary, survived, running))
    return logs, senders


def _expanded(rows: Any, starts: list[tuple[int, int]]) -> tuple[Keys, list[tuple[int, int]]]:
    """A key per message, where the rows have one per run and behind it, negative, its length."""
    words = np.frombuffer(rows, dtype=np.int64)
    if not len(words) or words.min() >= 0:
        return words.copy(), list(starts)
    is_key = words >= 0
    run = np.cumsum(is_key) - 1
    counts = np.ones(int(run[-1]) + 1, dtype=np.int64)
    counts[run[~is_key]] = -words[~is_key]
    ends = np.cumsum(counts)
    begins = ends - counts
    offsets = np.arange(int(ends[-1]), dtype=np.int64) - np.repeat(begins, counts)
    keys = np.repeat(words[is_key], counts) + offsets
    return keys, [(int(begins[run[row]]), view) for row, view in starts]


def weakened(promises: list[Promise]) -> list[Promise]:
    """Without all records there and in order nothing holds: what is missing might violate it."""
    reason = "not every record was checked"
    return [
        Promise(promise.name, INCONCLUSIVE, reason=reason) if promise.verdict == HOLDS else promise
        for promise in promises
    ]


def evaluate(summaries: Mapping[Address, Summary], deliveries: dict[Address, Any]) -> list[Promise]:
    """Every property of the catalog that finitely many records can decide.

    It takes the logs out of `deliveries`, which would stay in memory beside what they become.
    """
    logs, senders = logs_of(summaries, deliveries)
    survivors = [log for log in logs if log.running]
    found = {
        "TotalOrder": _total_order(survivors, senders),
        "UniformTotalOrder": _total_order(logs, senders),
        "Agreement": _agreement(survivors, survivors, senders),
        "UniformAgreement": _agreement(logs, survivors, senders),
        "Integrity": _integrity(logs, summaries, senders),
        "Fifo": _fifo(logs, senders),
        "InView": _in_view(logs, senders),
        "VirtualSynchrony": _one_view(survivors, senders),
    }
    promises = []
    for name, witness in found.items():
        if witness is not None:
            promises.append(Promise(name, VIOLATED, witness))
        elif any(len(log.keys) for log in logs):
            promises.append(Promise(name, HOLDS))
        else:
            promises.append(Promise(name, INCONCLUSIVE, reason="nothing was delivered"))
    return promises


def _message(key: int, senders: list[Address]) -> list[Any]:
    node, incarnation = senders[key >> SEQNO_BITS]
    return [node, incarnation, int(key) & ((1 << SEQNO_BITS) - 1)]


def _common(p: Log, q: Log) -> tuple[Keys, Keys]:
    """The places, in p's order, of the messages that both delivered: p's places, and q's."""
    order = np.argsort(q.keys, kind="stable")
    ordered = q.keys[order]
    inside = np.minimum(np.searchsorted(ordered, p.keys), len(ordered) - 1)
    mine = np.flatnonzero(ordered[inside] == p.keys) if len(ordered) else np.array([], dtype=int)
    return mine, order[inside[mine]] if len(mine) else mine


def _pairwise(
    logs: list[Log],
    differ: Callable[[Log, Log], dict[str, Any] | None],
    same: Callable[[Log, Log], bool],
) -> dict[str, Any] | None:
    """The first two logs that differ, where what both have must be alike in some way.

    Each is compared with the longest one, and only those that have what that lacks pair by pair.
    `same` may spare a comparison.
    """
    if len(logs) < 2:
        return None
    reference = max(logs, key=lambda log: len(log.keys))
    beyond: list[Log] = []
    for log in logs:
        if log is reference or not len(log.keys) or same(log, reference):
            continue
        found = differ(log, reference)
        if found:
            return found
        if not np.isin(log.keys, reference.keys).all():
            beyond.append(log)
    pairs = ((p, q) for place, p in enumerate(beyond) for q in beyond[place + 1 :])
    return next(filter(None, (differ(p, q) for p, q in pairs)), None)


def _part(keys: Keys, of: Keys) -> bool:
    """Whether it is one piece of the other, as it is where all goes well."""
    starts = np.flatnonzero(of == keys[0])
    if not len(starts):
        return False
    first = int(starts[0])
    return np.array_equal(keys, of[first : first + len(keys)])


def _total_order(logs: list[Log], senders: list[Address]) -> dict[str, Any] | None:
    """Two members deliver the messages that both deliver in the same order."""

    def inverted(p: Log, q: Log) -> dict[str, Any] | None:
        """The first message of p that q delivered before p's previous common one."""
        mine, theirs = _common(p, q)
        falls = np.flatnonzero(np.diff(theirs) < 0)
        if not len(falls):
            return None
        at = int(falls[0])
        pair = p.keys[mine[at : at + 2]]
        return {
            "members": [list(p.who), list(q.who)],
            "messages": [_message(int(key), senders) for key in pair],
            "order": f"{p.who[0]} delivered them in this order, {q.who[0]} in the other",
        }

    return _pairwise(logs, inverted, lambda p, q: _part(p.keys, q.keys))


def _in(log: Log, view: int) -> Keys:
    """What the member delivered in that view."""
    places = [place for place, _ in log.starts] + [len(log.keys)]
    for at, (_, number) in enumerate(log.starts):
        if number == view:
            return log.keys[places[at] : places[at + 1]]
    return log.keys[:0]


def _agreement(
    ps: list[Log], survivors: list[Log], senders: list[Address]
) -> dict[str, Any] | None:
    """What any of `ps` delivered in a view, each survivor of that view delivered in it too.

    A `p` that is a survivor itself counts only for the views that it survived.
    """
    uniform = ps is not survivors
    for view in sorted({view for log in survivors for view in log.survived}):
        those = [log for log in survivors if view in log.survived]
        for p in ps if uniform else those:
            mine = _in(p, view)
            for q in those:
                theirs = _in(q, view)
                if p is q or (len(mine) == len(theirs) and (mine == theirs).all()):
                    continue
                missing = mine[~np.isin(mine, theirs)]
                if len(missing):
                    return {
                        "view": view,
                        "members": [list(p.who), list(q.who)],
                        "messages": [_message(int(missing[0]), senders)],
                        "lacking": f"{q.who[0]} did not deliver it in view {view}",
                    }
    return None


def _integrity(
    logs: list[Log], summaries: Mapping[Address, Summary], senders: list[Address]
) -> dict[str, Any] | None:
    """Nothing is delivered twice, and nothing that its sender did not send."""
    for log in logs:
        order = np.argsort(log.keys, kind="stable")
        twice = np.flatnonzero(np.diff(log.keys[order]) == 0)
        if len(twice):
            place = int(order[twice + 1].min())
            key = int(log.keys[place])
            return {"members": [list(log.who)], "messages": [_message(key, senders)], "twice": True}
    for code, sender in enumerate(senders):
        summary = summaries.get(sender)
        if summary is None or not summary.complete:
            continue
        for log in logs:
            of_it = log.keys[log.keys >> SEQNO_BITS == code]
            beyond = of_it[(of_it & ((1 << SEQNO_BITS) - 1)) > summary.seqno]
            if len(beyond):
                key = int(beyond[0])
                return {"members": [list(log.who)], "messages": [_message(key, senders)]}
    return None


def _fifo(logs: list[Log], senders: list[Address]) -> dict[str, Any] | None:
    """Messages of one sender are delivered in the order of their seqnos."""
    for log in logs:
        for code in range(len(senders)):
            of_it = log.keys[log.keys >> SEQNO_BITS == code]
            falls = np.flatnonzero(np.diff(of_it) <= 0)
            if len(falls):
                pair = of_it[falls[0] : falls[0] + 2]
                messages = [_message(int(key), senders) for key in pair]
                return {"members": [list(log.who)], "messages": messages}
    return None


def _in_view(logs: list[Log], senders: list[Address]) -> dict[str, Any] | None:
    """A message is delivered only in a view that contains the receiver."""
    for log in logs:
        members = {place.view: place.members for place in log.summary.views}
        for place, view in _starts(log):
            if log.who not in members.get(view, ()):
                key = int(log.keys[place])
                return {
                    "members": [list(log.who)],
                    "messages": [_message(key, senders)],
                    "view": view,
                }
    return None


def _one_view(logs: list[Log], senders: list[Address]) -> dict[str, Any] | None:
    """Survivors that deliver the same message do so in the same view."""

    def elsewhere(p: Log, q: Log) -> dict[str, Any] | None:
        mine, theirs = _common(p, q)
        here, there = _views_of(p)[mine], _views_of(q)[theirs]
        differ = np.flatnonzero(here != there)
        if not len(differ):
            return None
        first = int(differ[0])
        return {
            "members": [list(p.who), list(q.who)],
            "messages": [_message(int(p.keys[mine[first]]), senders)],
            "views": [int(here[first]), int(there[first])],
        }

    return _pairwise(logs, elsewhere, lambda *_: False)


def _views_of(log: Log) -> Keys:
    """The view that each message was delivered in."""
    places = np.array([place for place, _ in log.starts], dtype=np.int64)
    numbers = np.array([view for _, view in log.starts], dtype=np.int64)
    at = np.searchsorted(places, np.arange(len(log.keys)), side="right") - 1
    return numbers[at] if len(numbers) else np.zeros(len(log.keys), dtype=np.int64)


def _starts(log: Log) -> Iterator[tuple[int, int]]:
    return ((place, view) for place, view in log.starts if place < len(log.keys))
