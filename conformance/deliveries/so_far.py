"""The promises that a log has broken so far, while its members still write it.

They are judged as if the log ended here, by the same judges. Left out is what rows that are still
to come could explain:

- where a member has delivered less than others, or a number is missing, it may come: before a
  member's log has ended only the views from which it went on are asked, and never whether
  everything that was delivered was sent;
- a member that others have left behind in an older view may have been killed: then its last view
  does not count, as in the verdict on a member that is known to have been.

A log in which rows are missing, doubled or in quarantine says of some promises nothing, as at the
end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from copy import copy

import msgspec

from raincheck.conformance.importers.said import Said

from .logs import Row
from .properties import Answers, Witness
from .properties_local import answer_of
from .sortedlog import SortedLog


def broken_so_far(rows: Iterable[Row], said: Said | None = None) -> Answers:
    """Return the smallest witnesses that stand whatever the members still write.

    One thing is taken back by a later row: of a member that was killed, what it has delivered in
    its last view.
    """
    log = SortedLog(rows)
    closed = {each for each in log.members if each in log.ended or each in log.crashed}
    log.as_if_killed(_left_behind(log, closed))
    found = answer_of(log, said)
    witnesses = dict(found.witnesses)
    for name, part in (
        ("no_creation", _only_sent(log)),
        ("gap_freeness", _only_of(log, closed)),
        ("uniform_agreement", _only_ends_of(log, closed)),
    ):
        if name in witnesses:
            _replace(witnesses, name, answer_of(part, said).witnesses.get(name))
    facts = msgspec.structs.replace(found.facts, open_end=True)
    return found._replace(facts=facts, witnesses=witnesses)


def _replace(witnesses: dict[str, Witness], name: str, witness: Witness | None) -> None:
    if witness is None:
        del witnesses[name]
    else:
        witnesses[name] = witness


def _left_behind(log: SortedLog, closed: Collection[str]) -> set[str]:
    """Return whose log may go on, and who is not seen in the last view that anybody has."""
    last = {member: max(log.visited[member], default=0) for member in log.members}
    newest = max(last.values(), default=0)
    going_on = {member for member in log.members if member not in closed}
    if log.views.unclear:
        return going_on
    return {member for member in going_on if last[member] < newest}


def _only_sent(log: SortedLog) -> SortedLog:
    """Return the log without what nobody is known to have sent: its row may come."""
    part = copy(log)
    part.delivered = defaultdict(list)
    for member in log.members:
        part.delivered[member] = [row for row in log.delivered[member] if row[2] in log.sent]
    return part


def _only_of(log: SortedLog, members: Collection[str]) -> SortedLog:
    """Return the log of these members alone."""
    part = copy(log)
    part.members = [member for member in log.members if member in members]
    return part


def _only_ends_of(log: SortedLog, members: Collection[str]) -> SortedLog:
    """Return the log with the last views of these members alone."""
    part = copy(log)
    part.delivered = defaultdict(list)
    for member in log.members:
        rows, upto = log.delivered[member], max(log.visited[member], default=0)
        open_end = member not in members
        part.delivered[member] = [row for row in rows if row[1] < upto] if open_end else rows
    return part
