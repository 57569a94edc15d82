"""The places where a trace's check asks each invariant of a specification.

`Binding.invariants` names every invariant of the protocol's specification, with the parts that a
trace's check evaluates: of one member's state, of one step, or of several members at moments that
messages leave possible. What a trace cannot show is named with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from raincheck.conformance.trace.layers.speaks import Said, Says
from raincheck.conformance.trace.step import Step

if TYPE_CHECKING:
    from .moments import Asking, Moments


NEVER = -1


class Tested(msgspec.Struct, array_like=True):
    """The number of times a part of an invariant was evaluated, and the first event to break it."""

    count: int = 0
    broken: int = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class OfState:
    """Evaluated on the first state of a file, and on each that an event has changed."""

    reads: tuple[str, ...]
    """The variables that it speaks of: it is evaluated where one of them has changed."""
    holds: Callable[[Any, Any, Any], bool] | None = None
    """(rules, state before, state after); before the first event there is no state before."""
    alone: Callable[[Any], bool] | None = None
    """In place of `holds`, if it speaks of the state after alone."""
    asked: Callable[[Any, Any], bool] | None = None
    """(state before, state after) -> whether it has something to say; None if it always has."""
    sweep: Callable[[Any, Any], int | None] | None = None
    """(rules, what `Invariants.gather` has gathered of several steps) -> on how many of them it was
    evaluated, if it holds of all; None if that is to be found out step by step."""
    how: str

    def evaluate(self, rules: Any, before: Any, after: Any) -> bool:
        """Whether it holds."""
        if self.alone is not None:
            return self.alone(after)
        assert self.holds is not None
        return self.holds(rules, before, after)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfStep:
    """Evaluated on each step of these actions."""

    actions: tuple[str, ...]
    holds: Callable[[Any, Any, Any, tuple[Any, ...]], bool | None]
    """(state before, input, state after, outputs); None if it has nothing to say."""
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfMembers:
    """Evaluated once all files of a run are read, on what they noted."""

    judge: Callable[[Moments], Asking]
    rests_on: Callable[[Moments], str] | None = None
    """Returns, in words, the assumption that it rests on and that the run breaks, or ""."""
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """One of the promises that are judged on the trace, under the same name."""

    how: str = "a promise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """Asked by conformance itself: each record must be the model's step, each message sent."""

    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unshown:
    """Not evaluated, for this reason."""

    why: str


Asked: TypeAlias = OfState | OfStep | OfMembers | Promised | Followed | Unshown
Notes: TypeAlias = Callable[[Any, Any], Said]
"""(state before or None, state after) -> the notes, whose values are kept as JSON writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariants:
    """All invariants of a specification, and the notes that those of several members need."""

    of: Mapping[str, tuple[Asked, ...]]
    """By the specification's name: the parts that are evaluated, or why none is."""
    focus: Callable[[Any, Any], Any] | None = None
    """(state before, state after) -> the state after with only those entries that have changed,
    which is what the parts are given then: their cost is that of a step, not of a state."""
    gather: Callable[[Sequence[Step]], Any] | None = None
    """Gathers the entries that several steps have changed, the same variables each, for `sweep`;
    None if these are to be looked at step by step."""
    changes: tuple[tuple[tuple[str, ...], Notes], ...] = ()
    """Notes on the first state, and wherever one of these variables has changed."""
    says: Mapping[str, Says] = field(default_factory=dict)
    """Notes on the steps of an action."""
    numbers: Mapping[str, Callable[[Any, Any, Any, tuple[Any, ...]], Said]] = field(
        default_factory=dict
    )
    """By action, values of which only digests are kept, in sequences by name."""
    ends: Callable[[Any], Said] | None = None
    """Notes on the last state."""
