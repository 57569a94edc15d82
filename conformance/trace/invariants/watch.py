"""The evaluation of a protocol's invariants over one file, along with its fold."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from functools import cache
from operator import is_not
from typing import Any, TypeAlias

import msgspec

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import fields_of
from raincheck.conformance.trace.columns import Digest
from raincheck.conformance.trace.layers.speaks import Statement

from .asked import NEVER, Invariants, Notes, OfState, OfStep, Tested

Step: TypeAlias = Callable[["Watch", int, Any, Any, Any, tuple[Any, ...]], None]
"""(watch, index, state before, input, state after, outputs)."""


Due: TypeAlias = tuple[list[tuple[int, Any, Any]], list[Notes]]


class Plan:
    """The evaluations that a protocol's invariants ask for, by variable and by action."""

    def __init__(self, invariants: Invariants, local: type[Any]) -> None:
        places = {name: place for place, name in enumerate(fields_of(local))}
        self.invariants = invariants
        self.names: list[str] = []
        """Of each part that is evaluated in a file: its invariant, and its number in it."""
        self.states: list[tuple[tuple[int, ...], int, OfState]] = []
        self.notes = [
            (tuple(places[name] for name in names), notes) for names, notes in invariants.changes
        ]
        self.due = cache(self._due)
        self._of_steps: dict[str, list[tuple[int, OfStep]]] = {}
        for name, parts in invariants.of.items():
            for number, part in enumerate(parts):
                if isinstance(part, OfState):
                    reads = tuple(places[each] for each in part.reads)
                    self.states.append((reads, len(self.names), part))
                elif isinstance(part, OfStep):
                    for action in part.actions:
                        self._of_steps.setdefault(action, []).append((len(self.names), part))
                else:
                    continue
                self.names.append(f"{name} {number}")

    def _due(self, changed: tuple[bool, ...]) -> Due:
        """Return what is evaluated, and noted, where these variables have changed."""
        return (
            [
                (number, part.asked, part.holds)
                for places, number, part in self.states
                if any(changed[place] for place in places)
            ],
            [notes for places, notes in self.notes if any(changed[place] for place in places)],
        )

    def step(self, action: str) -> Step | None:
        """Return what is evaluated at each step of that action."""
        parts = self._of_steps.get(action, ())
        says = self.invariants.says.get(action)
        numbers = self.invariants.numbers.get(action)
        if not parts and says is None and numbers is None:
            return None

        def step(
            watch: Watch, index: int, before: Any, event: Any, after: Any, outputs: Any
        ) -> None:
            for place, part in parts:
                watch.count(place, index, part.holds(before, event, after, outputs))
            if says is not None:
                watch.note(index, says(before, event, after, outputs))
            if numbers is not None:
                watch.number(numbers(before, event, after, outputs))

        return step


@cache
def plan_of(binding: Binding) -> Plan | None:
    """Return what is evaluated in each file of that protocol; None if nothing."""
    return None if binding.invariants is None else Plan(binding.invariants, binding.local)


class Watch:
    """The evaluation over one file."""

    __slots__ = ("_digest", "_plan", "_rules", "_tested", "noted", "sequences")

    def __init__(self, plan: Plan, rules: Any, digest: Digest) -> None:
        self._plan, self._rules, self._digest = plan, rules, digest
        self._tested = [Tested() for _ in plan.names]
        self.noted: list[Statement] = []
        self.sequences: dict[str, array[int]] = {}

    def begin(self, local: Any) -> None:
        """Evaluate the first state."""
        for _, place, part in self._plan.states:
            if part.asked(None, local):
                self.count(place, 0, part.holds(self._rules, None, local))
        for _, notes in self._plan.notes:
            self.note(0, notes(None, local))

    def changed(self, index: int, before: Any, after: Any) -> None:
        """Evaluate what speaks of the variables that an event has changed."""
        states, all_notes = self._plan.due(tuple(map(is_not, before, after)))
        focus = self._plan.invariants.focus
        seen = after if focus is None else focus(before, after)
        for number, asked, holds in states:
            if asked(before, seen):
                tested = self._tested[number]
                tested.count += 1
                if not holds(self._rules, before, seen) and tested.broken == NEVER:
                    tested.broken = index
        for notes in all_notes:
            self.note(index, notes(before, after))

    def take(self, action: str, index: int, step: tuple[Any, Any, Any, tuple[Any, ...]]) -> None:
        """Evaluate a step that was judged in full."""
        before, _, after, _ = step
        if after is not before:
            self.changed(index, before, after)
        asks = self._plan.step(action)
        if asks is not None:
            asks(self, index, *step)

    def count(self, number: int, index: int, holds: bool | None) -> None:
        """Count an evaluation."""
        if holds is not None:
            tested = self._tested[number]
            tested.count += 1
            if not holds and tested.broken == NEVER:
                tested.broken = index

    def note(self, index: int, said: Iterable[tuple[str, Any]]) -> None:
        """Keep notes."""
        for topic, value in said:
            self.noted.append(Statement(topic, index, value))

    def number(self, said: Iterable[tuple[str, Any]]) -> None:
        """Keep the digests of values."""
        for name, value in said:
            rows = self.sequences.get(name)
            if rows is None:
                rows = self.sequences[name] = array("q")
            rows.append(self._digest(msgspec.json.encode(value)))

    def end(self, local: Any) -> None:
        """Note what the last state says."""
        if self._plan.invariants.ends is not None:
            self.note(0, self._plan.invariants.ends(local))

    @property
    def tested(self) -> dict[str, Tested]:
        """The parts that were evaluated, by invariant and number."""
        pairs = zip(self._plan.names, self._tested, strict=True)
        return {name: tested for name, tested in pairs if tested.count}
