"""The specification's properties, evaluated on what a trace says was delivered.

They are checked whether or not the trace conforms: what was promised to the application is one
question, why it was kept or broken is another. `logs.py` says what of each member's log a promise
speaks of. Messages are told apart by (address, seqno); of one that a member delivered twice the
first delivery counts. Where logs are compared in pairs, each is
compared with the longest one first, and only those with more than that one has, pair by pair.

Each promise says over how many members, views and messages it was judged. Where nobody was there,
or nothing that could have broken it, it is inconclusive.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from raincheck.conformance.trace.events import Address
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED, Promise

from .logs import Keys, Log, logs_of
from .rows import SEQNO_BITS
from .summary import Summary
from .tallies import Judged, Tally, tallied

Facts: TypeAlias = dict[str, Any]
"""What a witness says."""


class Asked(NamedTuple):
    """What came of asking for a promise: a witness against it, and over what it was judged."""

    witness: Facts | None
    judged: Judged


NOBODY = {
    "TotalOrder": "no two members that stayed have both delivered the same two messages",
    "UniformTotalOrder": "no two members have both delivered the same two messages",
    "Agreement": "no two members went on together from a view in which a message was delivered",
    "UniformAgreement": "nobody went on from a view in which somebody else delivered a message",
    "Integrity": "nothing was delivered",
    "Fifo": "nobody delivered two messages of one sender",
    "InView": "nothing was delivered",
    "VirtualSynchrony": "no two members that stayed have delivered the same message, at least one "
    "of which went from one view to another",
}
"""Why nothing can be said where nobody was there to be judged by."""


def evaluate(summaries: Mapping[Address, Summary], deliveries: dict[Address, Any]) -> list[Promise]:
    """Every property of the catalog that finitely many records can decide.

    It takes the logs out of `deliveries`, which would stay in memory beside what they become.
    """
    return evaluate_logs(summaries, *logs_of(summaries, deliveries))


def evaluate_logs(
    summaries: Mapping[Address, Summary], logs: list[Log], senders: list[Address]
) -> list[Promise]:
    """Evaluate every property on what each member delivered."""
    once = [log.once() for log in logs]
    firm = [log.firm() for log in once]
    asked = {
        "TotalOrder": _total_order(firm, senders, uniform=False),
        "UniformTotalOrder": _total_order(once, senders, uniform=True),
        "Agreement": _agreement(logs, senders, uniform=False),
        "UniformAgreement": _agreement(logs, senders, uniform=True),
        "Integrity": _integrity(logs, summaries, senders),
        "Fifo": _fifo(logs, senders),
        "InView": _in_view(logs, senders),
        "VirtualSynchrony": _one_view(firm, senders),
    }
    return [_promise(name, found) for name, found in asked.items()]


def _promise(name: str, asked: Asked) -> Promise:
    if asked.witness is not None:
        return Promise(name, VIOLATED, asked.witness, judged=asked.judged)
    if not all(asked.judged.values()):
        return Promise(name, INCONCLUSIVE, reason=NOBODY[name], judged=asked.judged)
    return Promise(name, HOLDS, judged=asked.judged)


def witness(members: list[Log], keys: list[int], senders: list[Address], **more: Any) -> Facts:
    """What speaks against a promise: who, which messages, and what else there is to say."""
    messages = [_message(key, senders) for key in keys]
    return {"members": [list(log.who) for log in members], "messages": messages, **more}


def _message(key: int, senders: list[Address]) -> list[Any]:
    node, incarnation = senders[key >> SEQNO_BITS]
    return [node, incarnation, int(key) & ((1 << SEQNO_BITS) - 1)]


# ---------------------------------------------------------------- in pairs

Places: TypeAlias = tuple[Keys, Keys]
"""Where the messages that both delivered are in one log, in its order, and in the other."""
Differ: TypeAlias = Callable[[Log, Log, Places], Facts | None]


def _common(p: Log, q: Log) -> Places:
    """The places, in p's order, of the messages that both delivered: p's places, and q's."""
    if not len(p.keys) or not len(q.keys):
        return p.keys[:0], q.keys[:0]
    starts = np.flatnonzero(q.keys == p.keys[0])
    first = int(starts[0]) if len(starts) else 0
    if np.array_equal(p.keys, q.keys[first : first + len(p.keys)]):
        mine = np.arange(len(p.keys))  # it is one piece of the other, as it is where all goes well
        return mine, mine + first
    order = np.argsort(q.keys, kind="stable")
    ordered = q.keys[order]
    inside = np.minimum(np.searchsorted(ordered, p.keys), len(ordered) - 1)
    mine = np.flatnonzero(ordered[inside] == p.keys)
    return mine, order[inside[mine]]


def _pairwise(logs: list[Log], differ: Differ, tally: Tally, *, uniform: bool) -> Asked:
    """The first two logs that differ, where what both have must be alike in some way.

    Not `uniform`: what one delivered in a view that has lost the other one does not count.
    """
    found = next(_differing(logs, differ, tally, uniform=uniform), None)
    return Asked(found, tally.judged())


def _differing(logs: list[Log], differ: Differ, tally: Tally, *, uniform: bool) -> Iterator[Facts]:
    """What differs in two logs; the tally has counted the pairs that were looked at."""

    def compared(p: Log, q: Log) -> tuple[Facts | None, bool]:
        """A difference that counts; and whether all that p has fits into q."""
        whole = (p, q)
        if not uniform:
            p, q = p.beside(q), q.beside(p)
        places = _common(p, q)
        found = differ(p, q, places)
        tally.add(p, q, places)
        # Where one is cut off, what lies behind was not looked at.
        fits = p is whole[0] and q is whole[1] and found is None and len(places[0]) == len(p.keys)
        return found, fits

    reference = max(logs, key=lambda log: len(log.keys), default=None)
    beyond: list[Log] = []
    for log in logs:
        if reference is None or log is reference or not len(log.keys):
            continue
        found, fits = compared(log, reference)
        if found:
            yield found
        if not fits:
            beyond.append(log)
    # Whoever fits into the reference has nothing that could differ from others that fit as well.
    for p, q in _pairs(beyond, logs, reference):
        found, _ = compared(p, q)
        if found:
            yield found


def _pairs(beyond: list[Log], logs: list[Log], reference: Log | None) -> Iterator[tuple[Log, Log]]:
    """Each of those that do not fit, with each other one."""
    yield from combinations(beyond, 2)
    within = [log for log in logs if log is not reference and not any(b is log for b in beyond)]
    yield from ((p, q) for p in beyond for q in within if len(q.keys))


def _total_order(logs: list[Log], senders: list[Address], *, uniform: bool) -> Asked:
    """Two members deliver the messages that both deliver in the same order."""

    def inverted(p: Log, q: Log, places: Places) -> Facts | None:
        """The first message of p that q delivered before p's previous common one."""
        mine, theirs = places
        falls = np.flatnonzero(np.diff(theirs) < 0)
        if not len(falls):
            return None
        at = int(falls[0])
        order = f"{p.who[0]} delivered them in this order, {q.who[0]} in the other"
        pair = [int(p.keys[place]) for place in mine[at : at + 2]]
        return witness([p, q], pair, senders, order=order)

    return _pairwise(logs, inverted, Tally(least=2), uniform=uniform)


def _one_view(logs: list[Log], senders: list[Address]) -> Asked:
    """Members that deliver the same message do so in the same view."""

    def elsewhere(p: Log, q: Log, places: Places) -> Facts | None:
        mine, theirs = places
        here, there = p.view_of_each()[mine], q.view_of_each()[theirs]
        differ = np.flatnonzero(here != there)
        if not len(differ):
            return None
        first = int(differ[0])
        views = [int(here[first]), int(there[first])]
        return witness([p, q], [int(p.keys[mine[first]])], senders, views=views)

    return _pairwise(logs, elsewhere, Tally(least=1, changed=True), uniform=False)


# ---------------------------------------------------------------- view by view


def _agreement(logs: list[Log], senders: list[Address], *, uniform: bool) -> Asked:
    """Members that go on together from a view have delivered the same in it.

    Uniformly: a message that anybody delivered in a view, even a member that crashed in it, was
    delivered in it by each member that went on from it, whatever became of that one later.
    """
    views, members, messages = 0, set[Address](), 0
    for view in sorted({view for log in logs for view in log.survived}):
        survivors = [log for log in logs if view in log.survived]
        heard = {log.who: log.within(view) for log in logs if uniform or view in log.survived}
        asked = {who for who, keys in heard.items() if len(keys)}
        asked |= {log.who for log in survivors}
        most = max(map(len, heard.values()))
        if len(asked) < 2 or not most:
            continue
        views, messages, members = views + 1, messages + most, members | asked
        for p in (log for log in logs if log.who in asked):
            for q in survivors:
                missing = _lacking(heard[p.who], heard[q.who])
                if p is not q and missing is not None:
                    lacking = f"{q.who[0]} did not deliver it in view {view}"
                    found = witness([p, q], [missing], senders, view=view, lacking=lacking)
                    return Asked(found, tallied(members, views, messages))
    return Asked(None, tallied(members, views, messages))


def _lacking(mine: Keys, theirs: Keys) -> int | None:
    """The first message of one that is not among the other's."""
    if np.array_equal(mine, theirs[: len(mine)]):
        return None
    missing = mine[~np.isin(mine, theirs)]
    return int(missing[0]) if len(missing) else None


# ---------------------------------------------------------------- each member's log alone


def _integrity(
    logs: list[Log], summaries: Mapping[Address, Summary], senders: list[Address]
) -> Asked:
    """Nothing is delivered twice, and nothing that its sender did not send."""
    judged = _alone(logs)
    for log in logs:
        order = np.argsort(log.keys, kind="stable")
        twice = np.flatnonzero(np.diff(log.keys[order]) == 0)
        if len(twice):
            key = int(log.keys[int(order[twice + 1].min())])
            return Asked(witness([log], [key], senders, twice=True), judged)
    for code, sender in enumerate(senders):
        summary = summaries.get(sender)
        if summary is None or not summary.complete:
            continue
        for log in logs:
            of_it = log.keys[log.keys >> SEQNO_BITS == code]
            beyond = of_it[(of_it & ((1 << SEQNO_BITS) - 1)) > summary.seqno]
            if len(beyond):
                return Asked(witness([log], [int(beyond[0])], senders, never_sent=True), judged)
    return Asked(None, judged)


def _fifo(logs: list[Log], senders: list[Address]) -> Asked:
    """Messages of one node are delivered in the order in which it sent them, in all its lives."""
    views, members, messages = set[int](), set[Address](), 0
    nodes = sorted({node for node, _ in senders})
    node_of = np.array([nodes.index(node) for node, _ in senders], dtype=np.int64)
    for log in logs:
        codes = node_of[log.keys >> SEQNO_BITS] if len(log.keys) else log.keys
        counts = np.bincount(codes, minlength=len(nodes))
        if not (counts > 1).any():
            continue
        members.add(log.who)
        messages += int(counts[counts > 1].sum())
        views |= {view for _, view in log.starts}
        order = np.argsort(codes, kind="stable")
        ordered = log.keys[order]  # the lives of a node have codes in their order
        same = np.diff(codes[order]) == 0
        falls = np.flatnonzero(same & (np.diff(ordered) <= 0))
        if len(falls):
            pair = [int(key) for key in ordered[falls[0] : falls[0] + 2]]
            found = witness([log], pair, senders)
            return Asked(found, tallied(members, len(views), messages))
    return Asked(None, tallied(members, len(views), messages))


def _in_view(logs: list[Log], senders: list[Address]) -> Asked:
    """A message is delivered only in a view that contains the receiver."""
    judged = _alone(logs)
    for log in logs:
        for place, view in log.starts:
            if log.who not in log.views.get(view, ()):
                found = witness([log], [int(log.keys[place])], senders, view=view)
                return Asked(found, judged)
    return Asked(None, judged)


def _alone(logs: list[Log]) -> Judged:
    """Count the members that delivered something, the views, and the deliveries."""
    views = {view for log in logs for _, view in log.starts}
    members = {log.who for log in logs if len(log.keys)}
    return tallied(members, len(views), sum(len(log.keys) for log in logs))
