"""Moments of several members: which of their states were there at once, as messages leave possible.

A consistent cut has, with each event, whatever happened before it. Two spans of two members'
states are in one such cut if neither had ended before the other began.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
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
        return [each for each in self.reports[who].noted if each.topic == topic]

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
