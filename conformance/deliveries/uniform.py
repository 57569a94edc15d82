"""What a member has delivered in its last view and those that went on from it have not.

Safe delivery promises that there is no such message, whether the member has crashed, was excluded
or has left. The SQL twin is in `spark/queries.py`.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from .properties import Message, Witness, agreement_witness
from .sortedlog import SortedLog, groups_of


class _View(NamedTuple):
    """A view from which some went on; `heard` is what the logs of others end with."""

    heard: dict[Message, list[str]]
    gone_on: list[str]


def _views(log: SortedLog) -> Iterator[tuple[int, _View]]:
    gone_on: dict[int, list[str]] = defaultdict(list)
    heard: dict[int, dict[Message, list[str]]] = defaultdict(lambda: defaultdict(list))
    for member in log.members:
        *before, last = sorted(log.visited[member]) or [0]
        for view in before:
            gone_on[view].append(member)
        for _, view, key in log.delivered[member]:
            if view == last:
                heard[view][key].append(member)
    for view in sorted(gone_on.keys() & heard.keys()):
        yield view, _View(heard[view], gone_on[view])


def lacking(log: SortedLog) -> Witness | None:
    """Return the first message that a member delivered and one that went on did not."""
    _, sets = groups_of(log)
    for view, (heard, gone_on) in _views(log):
        for key in sorted(heard):
            lacks = [member for member in gone_on if key not in sets[member, view]]
            if lacks:
                return agreement_witness(view, key, min(heard[key]), min(lacks))
    return None


def asked_of(log: SortedLog) -> list[tuple[str, int, Message]]:
    """Return the deliveries over which that can be judged: member, view, message."""
    return [
        (member, view, key)
        for view, (heard, gone_on) in _views(log)
        for key, members in heard.items()
        for member in (*members, *gone_on)
    ]
