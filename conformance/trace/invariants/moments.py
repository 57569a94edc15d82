"""Moments of several members: which of their states were there at once, as messages leave possible.

A consistent cut has, with each event, whatever happened before it. Two spans of two members'
states are in one such cut if neither had ended before the other began.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import groupby, islice
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from raincheck.conformance.trace.causality import HappensBefore
from raincheck.conformance.trace.channels_compared import Compared
from raincheck.conformance.trace.columns import ends_of
from raincheck.conformance.trace.findings import FileReport
from raincheck.conformance.trace.layers.speaks import Statement
from raincheck.conformance.trace.records import Address


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

    @cached_property
    def order(self) -> HappensBefore[Address]:
        """The order of events: those that happened before others."""
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
            there = [span for span in self.spans(topic) if span.value is not None]
            found = self._pairs[topic] = list(self._at_once(there))
        return found

    def _at_once(self, there: list[Span]) -> Iterator[tuple[Span, Span]]:
        """Yield the pairs: of each other member those spans that follow one another."""
        of = {who: list(spans) for who, spans in groupby(there, key=attrgetter("who"))}
        ends = {who: [_end(span) for span in spans] for who, spans in of.items()}
        for one in there:
            known = self.order.known(one.who, one.start)
            for who, spans in of.items():
                if who == one.who:
                    continue
                # Those that had not ended before it began, and had begun before it ended.
                for other in islice(spans, bisect_right(ends[who], known.get(who, -1)), None):
                    if self.before(one.who, one.end, who, other.start):
                        break
                    yield one, other


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
