"""The evaluation of a protocol's invariants over one file, along with its fold.

The fold hands over its steps, and `settle` evaluates a block of them at once: by the variables that
they have changed, so that what is looked up per step is looked up per block.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import is_not, itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import fields_of
from raincheck.conformance.trace.columns import Digest
from raincheck.conformance.trace.layers.speaks import Says, Statement
from raincheck.conformance.trace.step import Step

from .asked import NEVER, Invariants, Notes, OfState, OfStep, Tested

ENOUGH: Final = 1024
"""Steps that are kept before they are evaluated."""


class OfAction(NamedTuple):
    """What is evaluated at each step of an action."""

    parts: tuple[tuple[int, OfStep], ...]
    says: Says | None
    numbers: Says | None


class Due(NamedTuple):
    """What is evaluated, and noted, where certain variables have changed."""

    parts: list[tuple[int, OfState]]
    notes: list[Notes]


Note: TypeAlias = tuple[int, str, Any]
"""(index, topic, value)."""


class Plan:
    """The evaluations that a protocol's invariants ask for, by variable and by action."""

    def __init__(self, invariants: Invariants, local: type[Any]) -> None:
        self.invariants = invariants
        self.names: list[str] = []
        """Of each part that is evaluated in a file: its invariant, and its number in it."""
        self.states: list[tuple[int, OfState]] = []
        of_steps: dict[str, list[tuple[int, OfStep]]] = {}
        for name, parts in invariants.of.items():
            for number, part in enumerate(parts):
                if isinstance(part, OfState):
                    self.states.append((len(self.names), part))
                elif isinstance(part, OfStep):
                    for action in part.actions:
                        of_steps.setdefault(action, []).append((len(self.names), part))
                else:
                    continue
                self.names.append(f"{name} {number}")
        says, numbers = invariants.says, invariants.numbers
        self.actions: Mapping[str, OfAction] = {
            action: OfAction(tuple(of_steps.get(action, ())), says.get(action), numbers.get(action))
            for action in of_steps.keys() | says.keys() | numbers.keys()
        }
        """By action, what is evaluated at its steps."""
        read = {each for _, part in self.states for each in part.reads}
        read |= {each for names, _ in invariants.changes for each in names}
        known = list(fields_of(local))
        self._read = sorted(read, key=known.index)
        self.values = _picking([known.index(each) for each in self._read])
        """(state) -> the variables that something speaks of."""
        self.changes = bool(read)
        """Whether anything speaks of a variable."""
        self.due = cache(self._due)

    def _due(self, changed: tuple[bool, ...]) -> Due:
        """Return what is evaluated, and noted, where these variables have changed."""
        names = {name for name, is_new in zip(self._read, changed, strict=True) if is_new}
        return Due(
            [(number, part) for number, part in self.states if not names.isdisjoint(part.reads)],
            [note for of, note in self.invariants.changes if not names.isdisjoint(of)],
        )


def _picking(places: Sequence[int]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what picks these places of a tuple, as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda local: tuple(local[place] for place in places)


@cache
def plan_of(binding: Binding) -> Plan | None:
    """Return what is evaluated in each file of that protocol; None if nothing."""
    return None if binding.invariants is None else Plan(binding.invariants, binding.local)


class Watch:
    """The evaluation over one file."""

    __slots__ = (
        "_digest",
        "_noted",
        "_plan",
        "_rules",
        "_sequences",
        "_steps",
        "_tested",
    )

    def __init__(self, plan: Plan, rules: Any, digest: Digest) -> None:
        self._plan, self._rules, self._digest = plan, rules, digest
        self._tested = [Tested() for _ in plan.names]
        self._steps: list[Step] = []
        self._noted: list[Statement] = []
        self._sequences: dict[str, array[int]] = {}

    def begin(self, local: Any) -> None:
        """Evaluate the first state."""
        for number, part in self._plan.states:
            if part.asked is None or part.asked(None, local):
                self._count(number, 0, part.evaluate(self._rules, None, local))
        self._note(
            [
                (0, *said)
                for _, notes in self._plan.invariants.changes
                for said in notes(None, local)
            ]
        )

    def take(self, steps: Iterable[Step]) -> None:
        """Take the next steps."""
        self._steps += steps
        if len(self._steps) >= ENOUGH:
            self.settle()

    def settle(self) -> None:
        """Evaluate the steps that were taken, and forget them."""
        if not self._steps:
            return
        steps, self._steps = self._steps, []
        notes: list[Note] = []
        if self._plan.changes:
            for changed, changes in self._by_variables(steps).items():
                due = self._plan.due(changed)
                if due.parts:
                    self._evaluate(due.parts, changes)
                for says in due.notes:
                    for _, index, before, _, after, _ in changes:
                        for topic, value in says(before, after):
                            notes.append((index, topic, value))
        if self._plan.actions:
            notes += self._evaluate_steps(steps)
        if notes:
            # What an event's changes say comes before what its action says.
            notes.sort(key=itemgetter(0))
            self._note(notes)

    def _by_variables(self, steps: Sequence[Step]) -> dict[tuple[bool, ...], list[Step]]:
        """Return the steps by which of the variables, of those that are read, they have changed."""
        found: dict[tuple[bool, ...], list[Step]] = {}
        values, local, read = self._plan.values, None, ()
        for step in steps:
            _, _, before, _, after, _ = step
            if after is before:
                continue
            if before is not local:
                read = values(before)
            old, read, local = read, values(after), after
            changed = tuple(map(is_not, old, read))
            group = found.get(changed)
            if group is None:
                found[changed] = [step]
            else:
                group.append(step)
        return found

    def _evaluate(self, parts: Sequence[tuple[int, OfState]], changes: Sequence[Step]) -> None:
        invariants, rules = self._plan.invariants, self._rules
        gathered = None if invariants.gather is None else invariants.gather(changes)
        focus = invariants.focus
        for number, part in parts:
            tested = self._tested[number]
            if gathered is not None and part.sweep is not None:
                count = part.sweep(rules, gathered)
                if count is not None:
                    tested.count += count
                    continue
            if focus is not None:
                changes = [step._replace(after=focus(step.before, step.after)) for step in changes]
                focus = None
            asked, alone, asking = part.asked, part.alone, changes
            if asked is not None:
                asking = [each for each in changes if asked(each.before, each.after)]
            tested.count += len(asking)
            if alone is not None and all(map(alone, [each.after for each in asking])):
                continue
            for _, index, before, _, after, _ in asking:
                if not part.evaluate(rules, before, after):
                    self._break(tested, index)
                    break

    def _evaluate_steps(self, steps: Iterable[Step]) -> list[Note]:
        """Evaluate what is asked of the steps of actions, and return what they say."""
        notes: list[Note] = []
        values: dict[str, list[Any]] = {}
        actions = self._plan.actions
        for action, index, before, event, after, outputs in steps:
            asks = actions.get(action)
            if asks is None:
                continue
            for number, part in asks.parts:
                holds = part.holds(before, event, after, outputs)
                if holds is not None:
                    self._count(number, index, holds)
            if asks.says is not None:
                for topic, value in asks.says(before, event, after, outputs):
                    notes.append((index, topic, value))
            if asks.numbers is not None:
                for name, value in asks.numbers(before, event, after, outputs):
                    values.setdefault(name, []).append(value)
        for name, each in values.items():
            rows = self._sequences.get(name)
            if rows is None:
                rows = self._sequences[name] = array("q")
            rows.extend(map(self._digest, map(msgspec.json.encode, each)))
        return notes

    def _count(self, number: int, index: int, holds: bool) -> None:
        """Count an evaluation."""
        tested = self._tested[number]
        tested.count += 1
        if not holds:
            self._break(tested, index)

    @staticmethod
    def _break(tested: Tested, index: int) -> None:
        """Keep the first event to break a part."""
        if tested.broken == NEVER or index < tested.broken:
            tested.broken = index

    def _note(self, notes: Sequence[Note]) -> None:
        """Keep notes."""
        self._noted += _statements(notes)

    @property
    def tested(self) -> dict[str, Tested]:
        """The parts that were evaluated, by invariant and number."""
        self.settle()
        pairs = zip(self._plan.names, self._tested, strict=True)
        return {name: tested for name, tested in pairs if tested.count}

    @property
    def noted(self) -> list[Statement]:
        """The notes."""
        self.settle()
        return self._noted

    def noted_at(self, local: Any) -> list[Statement]:
        """Return the notes, with what this state says, in which the file ends."""
        ends = self._plan.invariants.ends
        return self.noted + _statements([] if ends is None else [(0, *s) for s in ends(local)])

    @property
    def sequences(self) -> dict[str, array[int]]:
        """Digests of values, by name."""
        self.settle()
        return self._sequences


def _statements(notes: Sequence[Note]) -> list[Statement]:
    """Return notes with values as JSON has them."""
    indices, topics, values = zip(*notes, strict=True) if notes else ((), (), ())
    plain = msgspec.json.decode(msgspec.json.encode(values))
    return [*map(Statement, topics, indices, plain)]
