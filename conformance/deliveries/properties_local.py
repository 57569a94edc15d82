"""Black-box checking of delivery logs, local engine: plain Python, one pass per property.

It is the oracle for `spark/properties.py`. The properties are defined in `properties.py`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from raincheck.conformance.importers.reading import log_files, read_imported
from raincheck.conformance.importers.said import Said, told
from raincheck.conformance.importers.table import DELIVERIES, importer_of
from raincheck.conformance.trace.batches import Problem

from .cuts import wrong_cut
from .cycles import cycle_in
from .logs import Row, delivery_files, read_rows
from .overwhom import over_all
from .properties import (
    Answers,
    Facts,
    Judged,
    Message,
    Verdicts,
    Witness,
    agreement_witness,
    counts,
    judged,
    order_witness,
)
from .sortedlog import Deliveries, SortedLog, groups_of
from .sparse import missing_known
from .uniform import lacking


def check_deliveries(
    paths: Iterable[Path],
    names: Iterable[str] = (),
    complete: bool = False,
    log_format: str = DELIVERIES,
) -> Verdicts:
    """Check the logs, which may be of another system's format, in this process."""
    names = list(names)
    problems: list[Problem] = []
    if log_format == DELIVERIES:
        rows = (row for path in delivery_files(paths) for row in read_rows(path, problems.append))
        return judged(answer(rows), sorted(problems), names, complete)
    importer, said = importer_of(log_format), Said()
    rows = (
        row
        for path in log_files(paths, importer)
        for row in read_imported(path, importer, problems.append, said.note)
    )
    answers = answer(rows, said)
    return told(judged(answers, sorted(problems), names, complete), importer, said, names)


def answer(rows: Iterable[Row], said: Said | None = None) -> Answers:
    """Find the smallest witness against each property; `said` is known when the rows are read."""
    log = SortedLog(rows)
    return answer_of(log, said)


def answer_of(log: SortedLog, said: Said | None = None) -> Answers:
    """Find the smallest witness against each property in a log whose rows are read."""
    if said is None:
        return _answers(log, sparse=False)
    answers = _answers(log, said.sparse)
    for rows, names in said.apart():
        answers = answers.instead(names, _answers(log.without(rows), said.sparse))
    return answers


def _answers(log: SortedLog, sparse: bool) -> Answers:
    senders: dict[str, bool] = {}
    messages = {key for places in log.first.values() for key in places}
    for sender, message in messages:
        senders[sender] = senders.get(sender, True) and is_number(message)
    unsent = {key[0] for key in messages if key not in log.sent}
    unordered = min(
        (s for s, counted in senders.items() if not counted and s in unsent), default=""
    )
    facts = Facts(
        rows=log.count,
        members=len(log.members),
        messages=len(messages),
        sends=bool(log.sent),
        views=any(view for views in log.visited.values() for view in views),
        holes=[m for m in log.members if not _whole(log, m)],
        unordered=unordered,
        open_end=any(m not in log.ended and m not in log.crashed for m in log.members),
        counted=any(senders.values()),
        names=log.views.names,
        unclear=log.views.unclear,
        states=len(log.states),
        unknown=log.unknown,
        safe=log.safe,
        sparse=sparse,
    )
    firm, loose = _agreement(log)
    ordered, order = _total_order(log, log.firm, log.firm_first)
    uniform, uniform_order = _total_order(log, log.delivered, log.first)
    found = {
        "total_order": order,
        "uniform_total_order": uniform_order,
        "uniform_agreement": lacking(log),
        "agreement": firm,
        "no_duplication": _duplicate(log),
        "no_creation": _created(log) if log.sent else None,
        "sender_fifo": _fifo(log, senders, unsent),
        "virtual_synchrony": _views_differ(log) if facts.views else None,
        "sending_view": _sent_elsewhere(log) if facts.views else None,
        "gap_freeness": missing_known(log, senders) if sparse else _gap(log, senders),
        "state_cut": wrong_cut(log),
    }
    judged = over_all(log, senders, unsent, sparse) | {
        "total_order": ordered,
        "uniform_total_order": uniform,
    }
    witnesses = {name: w for name, w in found.items() if w is not None}
    return Answers(facts, witnesses, loose, judged)


def is_number(message: str) -> bool:
    """Tell whether an id counts its sender's messages; the SQL twin is `^[0-9]{1,18}$`."""
    return message.isascii() and message.isdigit() and len(message) <= 18


def _whole(log: SortedLog, member: str) -> bool:
    positions = log.positions(member)
    end = log.ended.get(member, len(positions))
    return positions == list(range(1, len(positions) + 1)) and end == len(positions)


def _inversions(
    mine: dict[Message, int], theirs: dict[Message, int]
) -> Iterator[tuple[int, Message, Message]]:
    previous: tuple[int, Message] | None = None
    for key, position in mine.items():
        place = theirs.get(key)
        if place is None:
            continue
        if previous is not None and place < previous[0]:
            yield position, previous[1], key
        previous = (place, key)


def _total_order(
    log: SortedLog, delivered: Mapping[str, Deliveries], first: Mapping[str, dict[Message, int]]
) -> tuple[Judged, Witness | None]:
    """Compare all with the fullest log in one pass; members with more than it are merged with it.

    Also count members, views and messages; two members with fewer than two messages in common have
    no order that could differ.
    """
    members = [member for member in log.members if first[member]]
    if len(members) < 2:
        return counts(0, 0, 0), None
    reference = min(members, key=lambda member: (-len(first[member]), member))
    order = first[reference]
    others = [member for member in members if member != reference]
    beyond = [m for m in others if any(key not in order for key in first[m])]
    pairs = [(p, reference) for p in others]
    pairs += [(p, q) for place, p in enumerate(beyond) for q in beyond[place + 1 :]]
    judges: set[str] = set()
    messages: set[Message] = set()
    for p, q in pairs:
        common = first[p].keys() & first[q].keys()
        if len(common) > 1:
            judges |= {p, q}
            messages |= common
    views = {view for m in judges for _, view, key in delivered[m] if key in messages}
    judged = counts(len(judges), len(views), len(messages))
    found = [
        (position, member, a, b)
        for member in others
        for position, a, b in _inversions(first[member], order)
    ]
    if found:
        _, member, a, b = min(found)
        return judged, order_witness(member, reference, a, b)
    if len(beyond) > 1:
        return judged, cycle_in({m: [*first[m]] for m in (reference, *beyond)})
    return judged, None


def _agreement(log: SortedLog) -> tuple[Witness | None, Witness | None]:
    """Compare survivors' deliveries in a view: (certain difference, one in a last view)."""
    groups, sets = groups_of(log)
    certain: list[tuple[int, Message, int]] = []
    last: list[tuple[int, Message, int]] = []
    for (view, following), members in groups.items():
        union = set().union(*(sets[m, view] for m in members))
        common = union.intersection(*(sets[m, view] for m in members))
        if union != common:
            (last if following < 0 else certain).append((view, min(union - common), following))

    def witness(found: list[tuple[int, Message, int]]) -> Witness | None:
        if not found:
            return None
        view, key, following = min(found)
        members = groups[view, following]
        has = min(m for m in members if key in sets[m, view])
        lacks = min(m for m in members if key not in sets[m, view])
        return agreement_witness(view, key, has, lacks)

    return witness(certain), witness(last)


def _duplicate(log: SortedLog) -> Witness | None:
    found = []
    for member in log.members:
        seen: dict[Message, int] = {}
        for position, _, key in log.delivered[member]:
            # A record that is there twice, as in a copy of the log, is one delivery.
            if seen.setdefault(key, position) != position:
                found.append((position, member, key, seen[key]))
                break
    if not found:
        return None
    position, member, key, before = min(found)
    return {"members": [member], "messages": [list(key)], "positions": [before, position]}


def _created(log: SortedLog) -> Witness | None:
    found = [
        (position, member, key)
        for member in log.members
        for position, _, key in log.delivered[member]
        if key not in log.sent
    ]
    if found:
        position, member, key = min(found)
        return {"members": [member], "messages": [list(key)], "positions": [position]}
    early = [
        (position, member, key)
        for member in log.members
        for position, _, key in log.delivered[member]
        if key[0] == member and position <= log.after.get(key, 0)
    ]
    if not early:
        return None
    position, member, key = min(early)
    witness = {"members": [member], "messages": [list(key)], "positions": [position]}
    return witness | {"sent_after": log.after[key]}


def _fifo(log: SortedLog, counted: dict[str, bool], unsent: set[str]) -> Witness | None:
    """Judge by the send log if it has all of a sender's messages, otherwise by numbers."""
    found = []
    for member in log.members:
        before: dict[str, tuple[int, Message]] = {}
        for key, position in log.first[member].items():
            sender = key[0]
            if sender not in unsent:
                rank = log.sent[key][0]
            elif counted[sender]:
                rank = int(key[1])
            else:
                continue
            if sender in before and rank < before[sender][0]:
                found.append((position, member, before[sender][1], key))
                break
            before[sender] = (rank, key)
    if not found:
        return None
    _, member, first, second = min(found)
    return {"members": [member], "messages": [list(first), list(second)]}


def _views_differ(log: SortedLog) -> Witness | None:
    """Find a message that members which certainly took part delivered in different views."""
    views: dict[Message, dict[int, str]] = defaultdict(dict)
    for member in log.members:
        for _, view, key in log.firm[member]:
            views[key].setdefault(view, member)
    differing = [key for key, places in views.items() if len(places) > 1]
    if not differing:
        return None
    key = min(differing)
    low, high = min(views[key]), max(views[key])
    members = [views[key][low], views[key][high]]
    return {"messages": [list(key)], "views": [low, high], "members": members}


def _sent_elsewhere(log: SortedLog) -> Witness | None:
    """Find a message delivered outside the view in which it was sent, where that is known."""
    late = [
        (key, view, member)
        for member in log.members
        for _, view, key in log.delivered[member]
        if log.sent.get(key, (0, 0))[1] not in (0, view)
    ]
    if not late:
        return None
    key, view, member = min(late)
    return {"messages": [list(key)], "views": [log.sent[key][1], view], "members": [member]}


def _gap(log: SortedLog, counted: dict[str, bool]) -> Witness | None:
    """Find a number missing between the first and the last of a sender that a member has.

    What is in a state that it took it has.
    """
    given: dict[str, list[Message]] = defaultdict(list)
    for state, inside in log.contents.items():
        given[state.member] += inside
    for member in log.members:
        numbers: dict[str, list[int]] = defaultdict(list)
        for sender, message in [*log.first[member], *given[member]]:
            if counted[sender]:
                numbers[sender].append(int(message))
        for sender in sorted(numbers):
            ids = sorted(set(numbers[sender]))
            if ids[-1] - ids[0] + 1 == len(ids):
                continue
            missing = next(a + 1 for a, b in pairwise(ids) if b > a + 1)
            return {"members": [member], "messages": [[sender, str(missing)]]}
    return None
