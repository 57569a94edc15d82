"""Probes: inputs worth offering to a node, taken from a model's graph or mixed from its fields.

If the model's handler refuses an input, the core must refuse it too and keep its state. Each false
conjunct of a guard is counted, so that a conjunct that was never tried shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from random import Random
from typing import Any, Final

from raincheck.conformance.bindings.binding import Binding, Core
from raincheck.conformance.bindings.conversion import ShapeError
from raincheck.model.machine.composed import Move
from raincheck.model.machine.machine import Accepted, Refused

FEW: Final = 6
"""The number of inputs of each action that are offered to a node in each of its local states."""
CHANGES: Final = "refuses, but changes its state"


class Probes:
    """The inputs of one instance by action, and the result of offering them."""

    def __init__(self, binding: Binding, rules: Any, moves: Iterable[Move[Any]]) -> None:
        """Learn from every move which inputs there are, once an input is needed."""
        self.binding, self.rules = binding, rules
        self.refused: Counter[str] = Counter()
        """How often each conjunct of a guard was false, by its text."""
        self._moves = moves
        self._probed: set[tuple[Any, ...]] = set()

    @cached_property
    def by_action(self) -> dict[str, dict[Any, None]]:
        """The inputs, in the order in which the moves show them."""
        binding, found = self.binding, dict[str, dict[Any, None]]()
        for action, kind in binding.inputs.items():
            # An input without fields is known even where nothing leads to it.
            if not kind._fields and action not in binding.unhandled and action in binding.events:
                found[action] = {kind(): None}
        for move in self._moves:
            if move.node is not None and move.action not in binding.unhandled:
                found.setdefault(move.action, {})[move.event] = None
        return found

    @cached_property
    def _lists(self) -> dict[str, list[Any]]:
        return {action: list(known) for action, known in self.by_action.items()}

    @cached_property
    def _fields(self) -> dict[tuple[str, int], list[Any]]:
        """The values of each field of an input, by its action and place."""
        values: dict[tuple[str, int], dict[Any, None]] = {}
        for action, events in self.by_action.items():
            for event in events:
                for place, value in enumerate(event):
                    values.setdefault((action, place), {})[value] = None
        return {key: list(known) for key, known in values.items()}

    def afresh(self) -> Probes:
        """Return the same inputs, none of them offered yet."""
        _ = self._fields  # learned before, since the moves may be read only once
        made = copy(self)
        made.refused, made._probed = Counter(), set()
        return made

    def answer(self, local: Any, event: Any) -> Accepted[Any, Any] | Refused:
        """Return the model's answer, and count the false conjuncts."""
        answer = self.binding.handlers[type(event).__name__](self.rules, local, event)
        if isinstance(answer, Refused):
            for conjunct in answer.conjuncts:
                self.refused[conjunct.text] += 1
        return answer

    def due(self, node: str, local: Any, arriving: tuple[Any, ...] = ()) -> bool:
        """Tell whether the node is to be offered inputs now: it is once in each local state.

        `arriving` are the network's messages for the node in that state.
        """
        known = len(self._probed)
        self._probed.add((node, local, arriving))
        return len(self._probed) > known

    def offer(self, local: Any, core: Core, arriving: tuple[Any, ...] = ()) -> str:
        """Offer the inputs that must be refused when they are due; return what is wrong, or ""."""
        # The draw depends on the number of states so far: over all states every input has its turn.
        random = Random(len(self._probed))
        binding, refused = self.binding, []
        for event in (*self._some(random), *binding.offered(self.rules, local), *arriving):
            if not binding.assumes(self.rules, local, event):
                continue
            try:
                answer = self.answer(local, event)
            except Exception as error:  # noqa: BLE001 - traces ask handlers about anything
                raised = f"{type(error).__name__}: {error}"
                return f"is asked what the model cannot answer: {event!r}: {raised}"
            if isinstance(answer, Refused):
                if mistake := _taken(binding, core, event):
                    false = "; ".join(conjunct.text for conjunct in answer.conjuncts)
                    return f"{mistake}: {event!r}: {false}"
                refused.append(event)
        # Reading the core's state costs as much as an offer: it is read once, after all of them.
        return "" if not refused or _keeps(binding, core, local) else self._changing(core, refused)

    def _changing(self, core: Core, refused: Sequence[Any]) -> str:
        """Return which of the inputs changes the core's state, seen by offering them once more."""
        with suppress(ShapeError):
            for event in refused:
                before = self.binding.core_local(core)
                _taken(self.binding, core, event)
                if self.binding.core_local(core) != before:
                    return f"{CHANGES}: {event!r}"
        return f"{CHANGES}, offered one of {', '.join(map(repr, refused))}"

    def _some(self, random: Random) -> Iterator[Any]:
        for events in self._lists.values():
            yield from events if len(events) <= FEW else random.sample(events, FEW)

    def draw(self, random: Random) -> Any:
        """Return an input: one of the graph's, or one whose fields are drawn one by one."""
        action = random.choice(list(self._lists))
        event = random.choice(self._lists[action])
        if random.random() < 0.5:
            return event
        fields = (random.choice(self._fields[action, place]) for place in range(len(event)))
        return type(event)(*fields)


def refuses(binding: Binding, core: Core, local: Any, event: Any) -> str:
    """Return "" if the core refuses the input and keeps its state, else what it does instead."""
    return _taken(binding, core, event) or ("" if _keeps(binding, core, local) else CHANGES)


def _taken(binding: Binding, core: Core, event: Any) -> str:
    """Return "" if the core refuses the input, else what it does instead."""
    try:
        core.handle(binding.core_event(event))
    except binding.refusal:
        return ""
    except Exception as error:  # noqa: BLE001 - whatever a damaged core raises is a finding
        return f"raises {type(error).__name__}: {error}"
    return "accepts what its guard forbids"


def _keeps(binding: Binding, core: Core, local: Any) -> bool:
    """Tell whether the core is in that state."""
    try:
        return bool(binding.compared(binding.core_local(core)) == binding.compared(local))
    except ShapeError:
        return False
