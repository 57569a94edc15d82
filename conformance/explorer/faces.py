"""One step in all faces: its guard with values, what it changes, and which lines ran.

The step is taken by the model's handler and by the real core, both of them watched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType
from typing import Any

from raincheck.conformance.bindings.conversion import plain
from raincheck.conformance.replay.steps import written as argument
from raincheck.conformance.tlc.story import changes
from raincheck.conformance.trace.explaintrace import shown as in_json
from raincheck.model.machine.tlavalue import format as written
from raincheck.model.machine.values import Fcn, Value

from .document import FACES, SPEC, Change, Conjunct, Face, Place, Refused, Variable
from .places import Sources, faces_of, handlers_of, places_ran, spec_definitions
from .tlatext import acting, guard_of, values_in
from .watching import Asked, No, Seen

State = Mapping[str, Value]

_OWNER = ("node", "me", "address")
"""The names that models give the variable with the process's name or address."""


@dataclass
class Faces:
    """The faces of the actions of one specification, found when they are first asked for."""

    sources: Sources
    constants: State = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    """All places that were named so far."""
    found: dict[str, dict[str, Face]] = field(default_factory=dict)
    """By action."""

    def of(self, action: str) -> dict[str, Face]:
        """Return where the action is defined, by face."""
        if action not in self.found:
            self.found[action], places = faces_of(action, self.sources)
            self.places |= places
        return self.found[action]

    @cached_property
    def _acts(self) -> frozenset[str]:
        return acting(self.sources.known)

    def parameters(self, action: str) -> int | None:
        """Return of how many parameters the action is; None if nothing defines it."""
        found = spec_definitions(action, self.sources.known)
        return len(found[0].parameters) if found else None

    def guard(
        self,
        action: str,
        state: State,
        arguments: Sequence[str],
        asked: Iterable[Asked] = (),
        *,
        holds: bool | None = True,
    ) -> tuple[Conjunct, ...]:
        """Return the guard of a step: what the specification says and the model asked.

        `state` is the one before, and `arguments` name the members that the action is of. `holds`
        is of the conjuncts that the model did not ask: all of them do where the step was taken.
        """
        said: dict[str, Conjunct] = {}
        known = self.sources.known
        places = self.of(action)[SPEC].places
        for place, definition in zip(places, spec_definitions(action, known), strict=True):
            bound = dict(zip(definition.parameters, arguments, strict=False))
            for text, line in guard_of(definition, self._acts):
                values = values_in(text, {**self.constants, **state}, bound, known)
                said.setdefault(_bare(text), Conjunct(text, holds, values, place, line))
        for held, text, given in asked:
            own = tuple((name, in_json(plain(value))) for name, value in given.items())
            before = said.get(_bare(text), Conjunct(text, True))
            said[_bare(text)] = Conjunct(
                before.text, held, own or before.values, before.place, before.line
            )
        return tuple(said.values())

    def ran(self, action: str, seen: Seen) -> tuple[dict[str, tuple[int, ...]], list[str]]:
        """Return the lines that ran by place, and which places are none of the action's own."""
        lines: dict[str, tuple[int, ...]] = {}
        helpers: list[str] = []
        own = {each for face in FACES for each in self.of(action)[face].places}
        for code, place in places_ran(seen.ran).items():
            mine = self._within(place, own)
            lines[mine] = tuple(sorted({*lines.get(mine, ()), *seen.ran[code]}))
            if mine not in own and mine not in helpers:
                self.places[mine] = place
                helpers.append(mine)
        return lines, helpers

    def _within(self, place: Place, own: Iterable[str]) -> str:
        """Return the place of the action that has this one in it, or this one."""
        for each in own:
            other = self.places[each]
            low, high = other.line, other.line + len(other.lines)
            whole = place.line < high and low < place.line + len(place.lines)
            if other.path == place.path and whole:
                return each
        return place.id

    def refused(self, refusals: Iterable[No], actions: Iterable[str]) -> tuple[Refused, ...]:
        """Return who cannot take which action, and why, as far as the model was asked."""
        names = self._handlers(tuple(actions))
        found: dict[tuple[str, str], Refused] = {}
        for code, given, answer in refusals:
            if code in names:
                guard = tuple(
                    Conjunct(text, False, tuple((k, in_json(plain(v))) for k, v in values.items()))
                    for text, values in answer.conjuncts
                )
                made = Refused(names[code], owner(given.get("me")), guard)
                found[made.action, made.node] = made
        return tuple(found.values())

    def _handlers(self, actions: tuple[str, ...]) -> dict[CodeType, str]:
        system, binding = self.sources.system, self.sources.binding
        return {
            function.__code__: action
            for action in actions
            for function in handlers_of(action, system, binding)
        }


def owner(local: Any) -> str:
    """Return the node whose local state that is, "" if it does not say."""
    for name in _OWNER:
        value = getattr(local, name, None)
        if isinstance(value, tuple) and value:
            value = value[0]
        if isinstance(value, str):
            return value
    return ""


def call_of(action: str, arguments: Iterable[Any]) -> str:
    """Return the action with its arguments, as the specification writes them."""
    words = [written(each) if isinstance(each, tuple) else argument(each) for each in arguments]
    return f"{action}({', '.join(words)})" if words else action


def changed(before: State, after: State) -> tuple[Change, ...]:
    """Return what a step changes, entry by entry."""
    return tuple(Change(e.variable, e.before, e.after) for e in changes(before, after))


def variables_of(state: State) -> tuple[Variable, ...]:
    """Return the variables of a state, entry by entry where a variable has one per member."""
    found = []
    for name, value in sorted(state.items()):
        if isinstance(value, Fcn):
            entries = tuple((_key(key), written(each)) for key, each in value.items())
            found.append(Variable(name, entries=entries))
        else:
            found.append(Variable(name, written(value)))
    return tuple(found)


def _key(key: Value) -> str:
    return key if isinstance(key, str) else written(key)


def _bare(text: str) -> str:
    return "".join(text.split())
