"""Moments of several members: which of their states were there at once, as messages leave possible.

A consistent cut has, with each event, whatever happened before it. Two spans of two members'
states are in one such cut if neither had ended before the other began.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from raincheck.conformance.trace.causality import HappensBefore
from raincheck.conformance.trace.findings import FileReport
from raincheck.conformance.trace.layers.speaks import Statement
from raincheck.conformance.trace.records import Address

if TYPE_CHECKING:
    from raincheck.conformance.trace.channels_compared import Compared


class Span(NamedTuple):
    """A time in which a member's note was the last one on its topic."""

    who: Address
    start: int
    """The event by which it began; 0 for the state in which the file begins."""
    end: int | None
    """The event by which it ended; None if it never did."""
    value: Any


class Asking(NamedTuple):
    """The result of an evaluation over several members."""

    facts: int
    """The number of facts that it was evaluated on."""
    broken: dict[str, Any] | None = None
    """The witness, if broken: member, event, what is recorded there, what that contradicts."""


class Moments:
    """The notes of a run's members, and the order of their events."""

    def __init__(
        self,
        reports: Mapping[Address, FileReport],
        compared: Mapping[str, Compared],
        crashed: Collection[Address],
    ) -> None:
        self.reports, self._compared, self.crashed = reports, compared, crashed
        self._pairs: dict[str, list[tuple[Span, Span]]] = {}
        self._by_member: dict[str, Mapping[Address, _Life]] = {}

    @cached_property
    def order(self) -> HappensBefore[Address]:
        """The order of events: those that happened before others."""
        # It brings NumPy, which a process that only records does without.
        from raincheck.conformance.trace.columns import ends_of

        origins: dict[tuple[Address, int], list[tuple[Address, int]]] = {}
        for channel, each in self._compared.items():
            sender, receiver = ends_of(channel)
            for index, sent, _ in each.origins.tolist():
                origins.setdefault((receiver, index), []).append((sender, sent))
        return HappensBefore(origins)

    def noted(self, topic: str) -> Iterator[tuple[Address, Statement]]:
        """Yield the notes of all members on a topic."""
        for who in self.reports:
            for each in self.noted_by(who, topic):
                yield who, each

    def noted_by(self, who: Address, topic: str) -> list[Statement]:
        """Return a member's notes on a topic, in order."""
        return self._topics[who].get(topic, [])

    @cached_property
    def _topics(self) -> dict[Address, dict[str, list[Statement]]]:
        found: dict[Address, dict[str, list[Statement]]] = {}
        for who, report in self.reports.items():
            topics = found[who] = {}
            for each in report.noted:
                topics.setdefault(each.topic, []).append(each)
        return found

    def spans(self, topic: str) -> Iterator[Span]:
        """Yield the spans of all members' notes on a topic.

        The last one of a member that was killed is left out: nobody knows how long it was there.
        """
        for who in self.reports:
            notes = self.noted_by(who, topic)
            for place, each in enumerate(notes):
                last = place == len(notes) - 1
                if not (last and who in self.crashed):
                    yield Span(
                        who, each.index, None if last else notes[place + 1].index, each.value
                    )

    def before(self, who: Address, index: int | None, other: Address, later: int) -> bool:
        """Whether the one event happened before the other; what never was did not."""
        return index is not None and self.order.before(who, index, other, later)

    def heard(self, who: Address, other: Address, at: int) -> bool:
        """Whether a member knew of another one's event by the end of its file, and so was there."""
        return self.before(other, at, who, self.reports[who].events)

    def at_once(self, one: Span, other: Span) -> bool:
        """Whether there is a consistent cut with both."""
        return not (
            self.before(one.who, one.end, other.who, other.start)
            or self.before(other.who, other.end, one.who, one.start)
        )

    def pairs(self, topic: str) -> list[tuple[Span, Span]]:
        """Return the pairs of two members' spans that are in one consistent cut, each in both
        orders; of notes that are null there are none.
        """
        found = self._pairs.get(topic)
        if found is None:
            lives = [life.noted() for life in self._lives(topic).values()]
            found = self._pairs[topic] = [
                (one, other)
                for mine in lives
                for one, known in zip(mine.spans, mine.known, strict=True)
                for life in lives
                if life is not mine and life.last > known.get(life.who, -1)
                for other in life.beside(one, known.get(life.who, -1))
            ]
        return found

    def beside(self, one: Span, topic: str, who: Address) -> Sequence[Span]:
        """Return that member's spans on a topic that are at once with a span."""
        life = self._lives(topic).get(who)
        if life is None:
            return ()
        known = one.start if who == one.who else self.order.known(one.who, one.start).get(who, -1)
        return life.beside(one, known)

    def _lives(self, topic: str) -> Mapping[Address, _Life]:
        """Return each member's spans on a topic."""
        found = self._by_member.get(topic)
        if found is None:
            found = self._by_member[topic] = {
                who: _life(who, [(span, self.order.known(who, span.start)) for span in spans])
                for who, spans in groupby(self.spans(topic), attrgetter("who"))
            }
        return found


class _Life(NamedTuple):
    """A member's spans on a topic, in order."""

    who: Address
    spans: Sequence[Span]
    ends: Sequence[float]
    known: Sequence[Mapping[Address, int]]
    """The last event of each other member that it knew of when the span began."""
    last: float
    """The end of the last one."""

    def noted(self) -> _Life:
        """Return those that are not null."""
        pairs = zip(self.spans, self.known, strict=True)
        return _life(self.who, [each for each in pairs if each[0].value is not None])

    def beside(self, one: Span, known: int) -> list[Span]:
        """Return the spans at once with one that began when its member knew of that event here:
        they had not ended by then, and began before anything was known here of that one's end.
        """
        found = []
        end, mine = _end(one), one.who == self.who
        for place in range(bisect_right(self.ends, known), len(self.spans)):
            other = self.spans[place]
            if (other.start if mine else self.known[place].get(one.who, -1)) >= end:
                break
            found.append(other)
        return found


def _life(who: Address, spans: Sequence[tuple[Span, Mapping[Address, int]]]) -> _Life:
    ends = [_end(span) for span, _ in spans]
    known = [known for _, known in spans]
    return _Life(who, [span for span, _ in spans], ends, known, ends[-1] if ends else -1)


def _end(span: Span) -> float:
    return inf if span.end is None else span.end


def broken(one: Span | Address, index: int, recorded: Any, other: str) -> dict[str, Any]:
    """Return the witness: the member and event, what is recorded there, and what contradicts it."""
    node, life = one.who if isinstance(one, Span) else one
    made = {"member": f"{node}.{life}", "event": index, "recorded": recorded, "but": other}
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(made))
    return found


def event(who: Any, index: int) -> str:
    """Return the name of a member's event in findings."""
    return f"{name(who)}, event {index}"


def name(who: Any) -> str:
    """Return a member's name in findings."""
    return f"{who[0]}.{who[1]}"
