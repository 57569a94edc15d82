"""The members, views and messages over which each property of delivery logs can be judged.

The SQL twin is in `spark/overwhom.py`.
"""

from collections import Counter, defaultdict

from .properties import LAST, Judged, Message, counts
from .sortedlog import SortedLog, groups_of
from .sparse import known_elsewhere
from .uniform import asked_of


def over_all(
    log: SortedLog, counted: dict[str, bool], unsent: set[str], sparse: bool = False
) -> dict[str, Judged]:
    """Return over how many members, views and messages each property can be judged."""
    numbered = {sender for sender, numbers in counted.items() if numbers}
    gaps = numbered & known_elsewhere(log) if sparse else numbered
    rows = [(member, view, key) for member in log.members for _, view, key in log.delivered[member]]
    alone = _over(rows)
    sent = [row for row in rows if log.sent.get(row[2], (0, 0))[1]]
    given = {state.member for state, inside in log.contents.items() if inside}
    certain, last = _over_groups(log)
    return {
        "agreement": certain,
        LAST: last,
        "no_duplication": alone,
        "no_creation": alone,
        "sender_fifo": _over_senders(log, {s for s, c in counted.items() if c or s not in unsent}),
        "gap_freeness": _over_senders(log, gaps),
        "virtual_synchrony": _over_changes(log),
        "sending_view": _over(sent),
        "uniform_agreement": _over(asked_of(log)),
        "state_cut": _over([row for row in rows if row[0] in given]),
    }


def _over(rows: list[tuple[str, int, Message]]) -> Judged:
    members, views, messages = (
        (len(set(column)) for column in zip(*rows, strict=True)) if rows else (0, 0, 0)
    )
    return counts(members, views, messages)


def _over_senders(log: SortedLog, senders: set[str]) -> Judged:
    """Count members that delivered several messages of one of those senders, and these messages."""
    several = {
        (member, sender)
        for member in log.members
        for sender, number in Counter(key[0] for key in log.first[member]).items()
        if sender in senders and number > 1
    }
    return _over(
        [
            (member, view, key)
            for member in log.members
            for _, view, key in log.delivered[member]
            if (member, key[0]) in several
        ]
    )


def _over_changes(log: SortedLog) -> Judged:
    """Count messages that two members delivered, at least one of which changed views."""
    where: dict[Message, set[str]] = defaultdict(set)
    for member in log.members:
        for _, _, key in log.firm[member]:
            where[key].add(member)
    moved = {member for member in log.members if len(log.visited[member]) > 1}
    messages = {key for key, members in where.items() if len(members) > 1 and members & moved}
    return _over(
        [
            (member, view, key)
            for member in log.members
            for _, view, key in log.firm[member]
            if key in messages
        ]
    )


def _over_groups(log: SortedLog) -> tuple[Judged, Judged]:
    """Count views from which several members went on together, without and with the last ones."""
    groups, sets = groups_of(log)
    found: list[Judged] = []
    for least in (0, -1):
        rows = [
            (member, view, key)
            for (view, following), members in groups.items()
            if following >= least and len(members) > 1
            for key in set().union(*(sets[m, view] for m in members))
            for member in members
        ]
        found.append(_over(rows))
    return found[0], found[1]
