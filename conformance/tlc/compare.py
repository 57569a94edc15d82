"""Compare two state graphs, and find the shortest path to a difference.

Graphs are equal if they have the same variables, the same initial states, the same states with all
variables, and the same (source, action, target) steps. Arguments of actions are not compared: TLC
does not print them, and a step's effect shows them. Everything here is a pure function of the two
graphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from raincheck.model.machine.tlavalue import format, identical
from raincheck.model.machine.values import Value

from .stategraph import Interner, StateGraph, Values

Named: TypeAlias = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference, on a shortest path from an initial state that both graphs have."""

    kind: str  # variables, initial, missing step, other effect, other name, duplicate, unreachable
    has_it: str  # the name of the graph that has it
    lacks_it: str
    start: Named  # the initial state of the path; {} if the difference is there already
    path: tuple[tuple[str, Named], ...]  # the steps that both take: action, state after it
    action: str  # the action that differs; "" if none does
    state: Named  # the state in which `has_it` is then
    variables: dict[str, tuple[Value, Value]]  # those that differ: in `has_it`, in `lacks_it`
    other: str  # `lacks_it`'s name for the step, where only the name differs

    @property
    def sentence(self) -> str:
        """Return the difference in one sentence."""
        many = "s" if len(self.path) > 1 else ""
        after = f"after {len(self.path)} step{many}, " if self.path else "at the start, "
        match self.kind:
            case "variables":
                return f"only {self.has_it} has the variables {', '.join(self.variables)}"
            case "initial":
                return f"only {self.has_it} has an initial state"
            case "duplicate":
                return f"two states of {self.has_it} have the same variables"
            case "unreachable":
                return f"only {self.has_it} has a state that no path leads to"
            case "other name":
                return f"{after}{self.has_it} calls {self.action} what is {self.other} in the other"
            case "other effect":
                names = ", ".join(self.variables)
                return f"{after}{self.action} leaves {names} different in {self.lacks_it}"
        return f"{after}only {self.has_it} can take {self.action}"

    def text(self) -> str:
        """Return the difference for people: the sentence, the path, the values."""
        lines = [f"{self.sentence[0].upper()}{self.sentence[1:]}."]
        if self.start:
            lines += ["The shortest path there:", *_changes("initial state", {}, self.start)]
        before = self.start
        for action, state in self.path:
            lines += _changes(action, before, state)
            before = state
        if self.state:
            title = f"{self.action or 'state'} (only in {self.has_it})"
            lines += _changes(title, before if self.action else {}, self.state)
        values = {} if self.kind == "variables" else self.variables
        for name, (has, lacks) in values.items():
            lines.append(f"  {name} differs:")
            lines += [f"    {self.has_it}: {format(has)}", f"    {self.lacks_it}: {format(lacks)}"]
        return "\n".join(lines)


def _changes(title: str, before: Named, after: Named) -> list[str]:
    changed = [
        f"    {name} = {format(value)}"
        for name, value in after.items()
        if name not in before or not identical(before[name], value)
    ]
    return [f"  {title}", *(changed or ["    (nothing changes)"])]


def compare(left: StateGraph, right: StateGraph, last: int | None = None) -> Difference | None:
    """Return the first difference between the graphs, None if they are equal.

    With `last`, the left graph is a part: its states with larger numbers have not taken their steps
    yet, and `last` has perhaps not taken all. The right graph may go on from there.
    """
    if left.variables != right.variables:
        return _variables(left, right)
    return _Comparison(left, right, last).difference()


def _variables(left: StateGraph, right: StateGraph) -> Difference:
    has, lacks = (left, right) if set(left.variables) - set(right.variables) else (right, left)
    extra = sorted(set(has.variables) - set(lacks.variables))
    return Difference(
        "variables", has.name, lacks.name, {}, (), "", {}, dict.fromkeys(extra, ((), ())), ""
    )


Step: TypeAlias = tuple[str, int]


class _Comparison:
    """Both graphs over one numbering of states: equal states have the same number."""

    def __init__(self, left: StateGraph, right: StateGraph, last: int | None = None) -> None:
        self.sides = (left, right)
        self.last = len(left.graph) if last is None else last
        self.part = last is not None
        self.states: list[Values] = []
        # Per side: the number of each of its states, and back (-1: the side lacks the state).
        self.number: tuple[list[int], list[int]] = ([], [])
        self.duplicate: tuple[StateGraph, int] | None = None
        self.came: dict[int, Step | None] = {}
        # Identical values become one object each: states then compare fast, and TRUE is not 1.
        intern = Interner()
        codes: dict[int, int] = {}  # from the id of a value, alive in its graph, to its object's
        numbers: dict[tuple[int, ...], int] = {}
        for side, mine in zip(self.sides, self.number, strict=True):
            for values in side.graph.states:
                for value in values:
                    if id(value) not in codes:
                        codes[id(value)] = id(intern(value))
                key = tuple([codes[id(value)] for value in values])
                number = numbers.setdefault(key, len(self.states))
                if number == len(self.states):
                    self.states.append(values)
                mine.append(number)
            if self.duplicate is None and len(set(mine)) < len(mine):
                twice = next(n for n, times in Counter(mine).items() if times > 1)
                self.duplicate = side, twice
        self.own = tuple([-1] * len(self.states) for _ in self.sides)
        for back, mine in zip(self.own, self.number, strict=True):
            for at, number in enumerate(mine):
                back[number] = at
        self.actions = tuple([label.action for label in side.graph.labels] for side in self.sides)

    def difference(self) -> Difference | None:
        """Search breadth first for the first state whose initial mark or steps differ."""
        left, right = self.sides
        if self.duplicate is not None:
            side, number = self.duplicate
            return self.made("duplicate", side, left if side is right else right, None, "", number)
        first = [
            {mine[at] for at in side.graph.initial}
            for side, mine in zip(self.sides, self.number, strict=True)
        ]
        for one, other in ((0, 1), (1, 0)):
            if only := sorted(first[one] - first[other]):
                nearest = self.nearest(only[0], first[other] - first[one] or first[other])
                sides = self.sides[one], self.sides[other]
                return self.made("initial", *sides, None, "", only[0], nearest)
        self.came = dict.fromkeys(sorted(first[0]))
        queue = list(self.came)
        for number in queue:
            if (at := self.own[0][number]) > self.last:
                continue
            steps = self.steps(0, number)
            others = self.steps(1, number)
            if at == self.last:
                others &= steps
            if steps != others:
                return self.at(number, steps - others, others - steps)
            for action, target in sorted(steps):
                if target not in self.came:
                    self.came[target] = action, number
                    queue.append(target)
        return self.unreachable()

    def steps(self, side: int, number: int) -> set[Step]:
        actions, numbers = self.actions[side], self.number[side]
        out = self.sides[side].graph.out(self.own[side][number])
        return {(actions[label], numbers[target]) for label, target in out}

    def at(self, number: int, only_left: set[Step], only_right: set[Step]) -> Difference:
        """Describe what differs in a state, as narrowly as possible."""
        left, right = self.sides
        for action, target in sorted(only_left):
            for name, same in sorted(only_right):
                if same == target:
                    return self.made("other name", left, right, number, action, target, other=name)
        for action, target in sorted(only_left):
            targets = {other for name, other in only_right if name == action}
            if targets:
                nearest = self.nearest(target, targets)
                return self.made("other effect", left, right, number, action, target, nearest)
        has, lacks = (left, right) if only_left else (right, left)
        action, target = min(only_left or only_right)
        return self.made("missing step", has, lacks, number, action, target)

    def unreachable(self) -> Difference | None:
        left, right = self.sides
        for number in range(len(self.states)):
            if number not in self.came and not (self.part and self.own[0][number] < 0):
                has, lacks = (left, right) if self.own[0][number] >= 0 else (right, left)
                return self.made("unreachable", has, lacks, None, "", number)
        return None

    def nearest(self, number: int, others: Iterable[int]) -> int | None:
        """Return the state that differs in the fewest variables."""
        return min(sorted(others), key=lambda o: len(self.differing(number, o)), default=None)

    def differing(self, one: int, other: int) -> dict[str, tuple[Value, Value]]:
        pairs = zip(self.sides[0].variables, self.states[one], self.states[other], strict=True)
        return {name: (a, b) for name, a, b in pairs if not identical(a, b)}

    def named(self, number: int) -> Named:
        return dict(zip(self.sides[0].variables, self.states[number], strict=True))

    def made(
        self,
        kind: str,
        has: StateGraph,
        lacks: StateGraph,
        at: int | None,
        action: str,
        number: int,
        nearest: int | None = None,
        other: str = "",
    ) -> Difference:
        path: list[tuple[str, Named]] = []
        while at is not None and (before := self.came[at]) is not None:
            path.append((before[0], self.named(at)))
            at = before[1]
        start = {} if at is None else self.named(at)
        variables = {} if nearest is None else self.differing(number, nearest)
        return Difference(
            kind,
            has.name,
            lacks.name,
            start,
            tuple(reversed(path)),
            action,
            self.named(number),
            variables,
            other,
        )
