"""Agreements: what one protocol's records say of a member, beside what another one's do.

The two files of a member have no common clock. So an agreement asks only what is true in whatever
way their events are merged: that values come in the same order, or that a digest is of a state
through which the other one went, no earlier than the digest before.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from raincheck.conformance.trace.findings import FileReport

from .speaks import TRACK_ROW, VIEW, Statement

_END = 2**62


class Clash(NamedTuple):
    """A statement of one protocol beside that of another one which is not the same."""

    event: int
    """The event that says it."""
    recorded: Any
    expected: Any
    other: int
    """The other protocol's event that says what is expected; 0 if none does."""
    what: str
    """Names the value."""


class Side(NamedTuple):
    """What one protocol says of one member on one topic."""

    report: FileReport
    topic: str
    whole: bool
    """Whether all of the member's events are in the file, and were checked."""

    @property
    def said(self) -> list[Statement]:
        """The statements, in the order of the events."""
        return [each for each in self.report.said if each.topic == self.topic]

    def clashing(self, compared: int, one: Statement, value: Any = None, other: int = 0) -> Found:
        """Return that the other protocol says that value instead, by that event."""
        return Found(compared, [Clash(one.index, one.value, value, other, one.topic)])


class Found(NamedTuple):
    """The result of one comparison."""

    compared: int
    clashes: list[Clash]


Compare: TypeAlias = Callable[[Side, Side], Found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A rule of the layers: what this protocol says on a topic agrees with what `other` says."""

    name: str
    topic: str
    other: str
    """The other protocol."""
    its: str
    """The other protocol's topic."""
    compare: Compare
    rule: str
    """The reason, in the specification's words."""


def same(mine: Side, theirs: Side) -> Found:
    """Both say the same values, in the same order."""
    ours, others = mine.said, theirs.said
    count = min(len(ours), len(others))
    for one, other in zip(ours, others, strict=False):
        if one.value != other.value:
            return mine.clashing(count, one, other.value, other.index)
    if len(ours) > len(others) and theirs.whole:
        return mine.clashing(count, ours[count])
    if len(others) > len(ours) and mine.whole:
        lacking = others[count]
        return Found(count, [Clash(0, None, lacking.value, lacking.index, mine.topic)])
    return Found(count, [])


def _one(value: Any) -> Iterable[Any]:
    return (value,)


def in_turn(mine: Side, theirs: Side, parts: Callable[[Any], Iterable[Any]] = _one) -> Found:
    """Each value is one of the other's, each of which is taken once, in order.

    `parts` makes several values of one of the other's.
    """
    others = [
        Statement(each.topic, each.index, part)
        for each in theirs.said
        for part in parts(each.value)
    ]
    place = compared = 0
    for one in mine.said:
        found = place
        while found < len(others) and others[found].value != one.value:
            found += 1
        if found == len(others):
            if not theirs.whole:
                break
            near = next((each for each in others[place:] if _alike(each.value, one.value)), None)
            value, index = (None, 0) if near is None else (near.value, near.index)
            return mine.clashing(compared, one, value, index)
        place, compared = found + 1, compared + 1
    return Found(compared, [])


def _alike(one: Any, other: Any) -> bool:
    """Whether the values are of the same thing, so that the difference tells something."""
    return isinstance(one, list) and isinstance(other, list) and one[:1] == other[:1]


def counted(mine: Side, theirs: Side, also: str = "") -> Found:
    """Both have counted the same events, in each view that both of them have left, or ended in.

    A tally begins with the topic and the view's number. `also`: another topic of theirs,
    whose events count together with those of the first.
    """
    ended = mine.whole and theirs.whole
    left = {number for number, _ in _views(mine.report)[:-1]}
    left &= {number for number, _ in _views(theirs.report)[:-1]}
    ours, others = _tally(mine), _tally(theirs)
    for what, count in (_tally(theirs._replace(topic=also)) if also else {}).items():
        others[what] = others.get(what, 0) + count
    clashes, compared = [], 0
    for what in sorted(ours.keys() | others.keys()):
        number = int(what.split(" ")[0])
        if not ended and number not in left:
            continue
        compared += min(ours.get(what, 0), others.get(what, 0))
        if ours.get(what, 0) != others.get(what, 0):
            begins = dict(_views(mine.report)).get(number, 0)
            name = f"{mine.topic} in view {what}"
            clashes.append(Clash(begins, ours.get(what, 0), others.get(what, 0), 0, name))
    return Found(compared, clashes[:1])


def _tally(side: Side) -> dict[str, int]:
    head = f"{side.topic} "
    return {
        what[len(head) :]: count
        for what, count in side.report.tally.items()
        if what.startswith(head)
    }


def _views(report: FileReport) -> list[tuple[int, int]]:
    """The views' numbers, and the events that installed them."""
    return [(each.value[0], each.index) for each in report.said if each.topic == VIEW]


def on_the_way(mine: Side, theirs: Side) -> Found:
    """Each digest `[view, delivered or None, received]` is of a state through which the other went.

    The states are those of its tracks, and no digest is of an earlier state than the one before.
    """
    tracks = {name: _columns(rows) for name, rows in theirs.report.tracks.items()}
    views = _views(theirs.report)
    bounds = [index for _, index in views] + [_END]
    spans = {number: bounds[n : n + 2] for n, (number, _) in enumerate(views)}
    reached = compared = 0
    for one in mine.said:
        number, delivered, received = one.value
        span = spans.get(number)
        if span is None or (not theirs.whole and span[1] == _END):
            break  # the views are compared apart, and what is cut off says nothing
        begin, end = max(span[0], reached), span[1]
        wanted = dict(_entries(delivered)) if delivered is not None else {}
        for who, arrived in _entries(received):
            low, high = _interval(tracks.get(who), wanted.get(who), arrived)
            begin, end = max(begin, low), min(end, high)
            if begin >= end:
                state = _state(tracks.get(who), max(span[0], min(reached, span[1] - 1)))
                says = Statement(f"the stream of {who}", one.index, [wanted.get(who), arrived])
                return mine.clashing(compared, says, state, begin)
        reached, compared = begin, compared + 1
    return Found(compared, [])


_Columns: TypeAlias = tuple[Sequence[int], Sequence[int], Sequence[int]]


def _columns(packed: bytes) -> _Columns:
    rows = array("q", packed)
    return tuple(memoryview(rows[column::TRACK_ROW]) for column in range(TRACK_ROW))  # type: ignore[return-value]


def _entries(digest: Any) -> Iterator[tuple[str, int]]:
    for (node, life), at in digest:
        yield f"{node}.{life}", at


def _interval(columns: _Columns | None, delivered: int | None, arrived: int) -> tuple[int, int]:
    """The events after which the stream has these numbers: from the first on, before the second."""
    if columns is None:
        return (0, _END) if not (delivered or arrived) else (_END, 0)
    index, *numbers = columns
    low, high = 0, _END
    for column, wanted in zip(numbers, (delivered, arrived), strict=True):
        if wanted is None:
            continue
        first, last = bisect_left(column, wanted), bisect_right(column, wanted)
        # A stream stands at 0 before its first row.
        if first == last and not (wanted == 0 and first == 0):
            return (_END, 0)
        low = max(low, 0 if wanted == 0 and first == 0 else index[first])
        high = min(high, index[last] if last < len(index) else _END)
    return low, high


def _state(columns: _Columns | None, at: int) -> list[int]:
    """The stream's numbers after that event."""
    if columns is None:
        return [0, 0]
    row = bisect_right(columns[0], at) - 1
    return [columns[1][row], columns[2][row]] if row >= 0 else [0, 0]
