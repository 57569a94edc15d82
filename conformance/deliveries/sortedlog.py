"""The rows of delivery logs by member, and the members that went on together from a view."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from typing import Any, Self

from .logs import Row
from .properties import Message
from .states import State, parts_of, without
from .views import SHARED, Label, Numbered, Visit, numbered

Deliveries = list[tuple[int, int, Message]]
"""Position, view and message."""


class SortedLog:
    """The rows, grouped by member."""

    def __init__(self, rows: Iterable[Row]) -> None:
        # Until the rows are read, a view is what the log calls it.
        self.delivered: dict[str, list[tuple[int, Any, Message]]] = defaultdict(list)
        self.visited: dict[str, set[Any]] = defaultdict(set)
        self.sent: dict[Message, tuple[int, Any]] = {}
        installed: list[Row] = []
        taken: list[Row] = []
        self.after: dict[Message, int] = {}
        """After how many deliveries of its own the sender sent a message, where that is known."""
        self.crashed: set[str] = set()
        self.safe = False
        """Whether the log says that its members have safe delivery."""
        self.ended: dict[str, int] = {}
        self.count = 0
        for row in rows:
            self.count += 1
            if row.event == "deliver":
                key = (row.sender, row.message)
                self.delivered[row.member].append((row.position, row.view, key))
                self.visited[row.member].add(row.view)
            elif row.event == "send":
                key = (row.sender, row.message)
                known = self.sent.get(key)
                if known is None or row.position < known[0]:
                    self.sent[key] = (row.position, row.view)
                if row.after is not None:
                    self.after[key] = min(row.after, self.after.get(key, row.after))
            elif row.event == "view":
                self.visited[row.member].add(row.view)
                installed.append(row)
            elif row.event == "state":
                taken.append(row)
                if row.view != 0:
                    self.visited[row.member].add(row.view)
            elif row.event == "safe":
                self.safe = True
            elif row.event == "crash":
                self.crashed.add(row.member)
            else:
                self.ended[row.member] = max(row.position, self.ended.get(row.member, 0))
        for log in self.delivered.values():
            log.sort(key=lambda row: (row[0], row[2]))
        self.members = sorted({*self.delivered, *self.visited, *(row.member for row in taken)})
        self.views = self._number(installed)
        self.first = self._first(self.delivered)
        self.states = sorted({self._state(row) for row in taken})
        self.contents, self.unknown = self._contents()
        """The contents of each state, by message the view of its delivery; why some are unknown."""
        self.as_if_killed(())

    def as_if_killed(self, members: Iterable[str]) -> None:
        """Take these members as killed too, so that their last views do not count."""
        self.crashed |= {*members}
        self.firm = {member: self._firm(member) for member in self.members}
        """Each member's deliveries, for a killed one without those in its last view."""
        self.firm_first = self._first(self.firm)

    def without(self, rows: Collection[tuple[str, str]]) -> Self:
        """Return the log without the deliveries, or sends, of these members."""
        silent = {member for member, event in rows if event == "deliver"}
        dumb = {member for member, event in rows if event == "send"}
        part = copy(self)
        part.delivered = defaultdict(list)
        part.delivered |= {m: log for m, log in self.delivered.items() if m not in silent}
        part.sent = {key: place for key, place in self.sent.items() if key[0] not in dumb}
        part.after = {key: place for key, place in self.after.items() if key[0] not in dumb}
        part.first = part._first(part.delivered)
        if silent:
            part.states = without(self.states, silent)
            part.contents, part.unknown = part._contents()
        part.crashed = {*self.crashed}
        part.as_if_killed(())
        return part

    def _number(self, installed: list[Row]) -> Numbered:
        """Number the views, unless they are numbers that all members share."""
        labels = [view for views in self.visited.values() for view in views]
        if all(isinstance(each, int) for each in labels) and not any(r.members for r in installed):
            return SHARED
        lists: dict[tuple[str, Label], tuple[str, ...]] = {}
        after: dict[tuple[str, Label], int] = {}
        first: dict[tuple[str, Label], int] = {}
        for row in installed:
            stay = (row.member, row.view)
            if row.members:
                lists[stay] = min(row.members, lists.get(stay, row.members))
            if row.after is not None:
                after[stay] = min(row.after, after.get(stay, row.after))
        for member, rows in self.delivered.items():
            for position, view, _ in rows:
                first[member, view] = min(position, first.get((member, view), position))
        found = numbered(
            Visit(*stay, lists.get(stay, ()), after.get(stay), first.get(stay))
            for stay in ((member, view) for member, views in self.visited.items() for view in views)
        )
        for member, rows in self.delivered.items():
            rows[:] = [(at, found.numbers.get((member, view), 0), key) for at, view, key in rows]
        for member, views in self.visited.items():
            self.visited[member] = {found.numbers.get((member, view), 0) for view in views}
        for key, (position, view) in self.sent.items():
            self.sent[key] = (position, found.numbers.get((key[0], view), 0))
        return found

    def _state(self, row: Row) -> State:
        view = self.views.numbers.get((row.member, row.view), 0)
        if self.views is SHARED and isinstance(row.view, int):
            view = row.view
        return State(row.position, row.member, row.sender, row.after or 0, view)

    def positions(self, member: str) -> list[int]:
        """Return the positions of a member's deliveries and states, sorted."""
        states = [each.position for each in self.states if each.member == member]
        return sorted([position for position, _, _ in self.delivered[member]] + states)

    def _contents(self) -> tuple[dict[State, dict[Message, int]], str]:
        last = {member: max(self.positions(member), default=0) for member in self.members}
        known, why = parts_of(self.states, last)
        contents: dict[State, dict[Message, int]] = {}
        for state, parts in known.items():
            inside = contents[state] = {}
            for part in parts:
                for position, view, key in self.delivered[part.member]:
                    if part.behind < position <= part.upto:
                        inside[key] = min(view, inside.get(key, view))
        return contents, why

    def _first(self, delivered: Mapping[str, Deliveries]) -> dict[str, dict[Message, int]]:
        found: dict[str, dict[Message, int]] = {}
        for member in self.members:
            places = found[member] = {}
            for position, _, key in delivered[member]:
                places.setdefault(key, position)
        return found

    def _firm(self, member: str) -> Deliveries:
        if member not in self.crashed:
            return self.delivered[member]
        last = max(self.visited[member])
        return [row for row in self.delivered[member] if row[1] < last]


Groups = dict[tuple[int, int], list[str]]
"""The members that went on from a view to each next one; -1 stands for the end of the log."""
Sets = dict[tuple[str, int], set[Message]]
"""The deliveries of each member in each view, and what it was given of them in a state."""


def groups_of(log: SortedLog) -> tuple[Groups, Sets]:
    groups: Groups = defaultdict(list)
    for member in log.members:
        views = sorted(log.visited[member])
        for place, view in enumerate(views):
            if place + 1 < len(views):
                groups[view, views[place + 1]].append(member)
            elif member not in log.crashed:
                groups[view, -1].append(member)
    sets: Sets = defaultdict(set)
    for member in log.members:
        for _, view, key in log.delivered[member]:
            sets[member, view].add(key)
    for state, inside in log.contents.items():
        for key, view in inside.items():
            sets[state.member, view].add(key)
    return groups, sets
