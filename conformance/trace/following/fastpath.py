"""The usual records of a trace, judged many at once: typed by the binding, bytes by bytes.

Nearly every record of a good trace is written as the recorder writes it, and is what the model
does. Such records are accepted here, without their contents ever becoming trees: the handlers are
folded over a block of records, with `args` as their inputs, and then what they have answered is
encoded and compared with the bytes that stand in the records. The first record that is not accepted
ends that, and changes nothing. It is judged in full (`in_full.py`): it may be written otherwise, or
it may be wrong. So nothing is refused here, and no complaint stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import compress, count
from operator import attrgetter, is_not
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Raw

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.trace.columns import Columns, Digest
from raincheck.conformance.trace.invariants.watch import Watch
from raincheck.conformance.trace.layers.speaks import Heard
from raincheck.conformance.trace.step import Step
from raincheck.model.machine.machine import Accepted

from .fastends import FastEnds
from .forms import Forms
from .writing import alike, encode, encode_as_is

_lines: Final = msgspec.json.Encoder().encode_lines
_lines_in_order: Final = msgspec.json.Encoder(order="deterministic").encode_lines
_CHANGED: Final = attrgetter("changed")
_TOLD: Final = attrgetter("told")
_UNCHANGED: Final[Any] = {}

Same: TypeAlias = Callable[[Any, Raw], bool]
"""Whether a value is what stands in a record."""


class _Known(NamedTuple):
    """What is needed to take the records of an action."""

    action: str
    make: Callable[[Any], Any]
    """Makes the handler's input out of a record's `args`."""
    handler: Callable[[Any, Any, Any], Any]


class FastPath:
    """Takes the usual records of one file after another, all with the same rules."""

    def __init__(self, binding: Binding, forms: Forms, rules: Any, digest: Digest) -> None:
        self.binding, self.rules = binding, rules
        self._known = {
            kind: _Known(action.name, action.make, binding.traced_handler(action.name))
            for kind, action in forms.actions.items()
            if action.known
        }
        self._variables = forms.variables
        self._tells = frozenset(each for each in binding.outputs if each.__name__ in binding.told)
        self._ends = FastEnds(binding, forms, digest)
        self._heard = Heard(None)
        self._watch: Watch | None = None

    def begin(
        self,
        me: tuple[str, int],
        columns: Columns,
        heard: Heard,
        watch: Watch | None,
        *,
        merges: bool = False,
    ) -> None:
        """Begin with another file, of a group that `merges` or not."""
        self._ends.begin(me, columns, merges=merges)
        self._heard, self._watch = heard, watch

    def take(self, records: Sequence[Any], local: Any, last: int) -> list[Step]:
        """Take the first of these records, which come after event `last` and this local state,
        and return their steps: of as many records as are usual.
        """
        steps = self._answered(records, local, last)
        changes = self._changes(steps)
        good = _same(changes, list(map(_CHANGED, records)), _lines, _is_changed)
        if self._tells:
            told = [self._told(step.outputs) for step in steps[:good]]
            good = _same(told, list(map(_TOLD, records)), _lines_in_order, _is_told)
        del steps[self._ends.take(records, steps[:good]) :]
        self._note(steps, changes)
        return steps

    def _answered(self, records: Sequence[Any], local: Any, last: int) -> list[Step]:
        """Fold the handlers over the records, up to the first that they do not accept."""
        steps: list[Step] = []
        known, rules = self._known, self.rules
        new, keep = tuple.__new__, steps.append
        quiet: dict[Any, Any] = {}
        """The answers of the present state that leave it as it is: handlers are pure."""
        with suppress(Exception):  # it is found out where the record is judged in full
            for record in records:
                rule = known.get(record.__class__)
                if rule is None or record.index != last + 1 or record.given is not UNSET:
                    break
                action, make, handler = rule
                event = make(record.args)
                answer = quiet.get((action, event)) if quiet else None
                if answer is None:
                    answer = handler(rules, local, event)
                    if answer.__class__ is not Accepted:
                        break
                    if answer[0] is local:
                        quiet[action, event] = answer
                    elif quiet:
                        quiet.clear()
                after, outputs = answer
                last += 1
                keep(new(Step, (action, last, local, event, after, outputs)))
                local = after
        return steps

    def _changes(self, steps: Sequence[Step]) -> list[Any]:
        """The variables that each step has changed, as a record has them."""
        parts = self.binding.parts
        make = self._changed if parts is None else parts
        made: list[Any] = []
        with suppress(Exception):  # as above
            for _, _, before, _, after, _ in steps:
                made.append(_UNCHANGED if after is before else make(before, after))
        return made

    def _changed(self, local: Any, after: Any) -> dict[str, Any]:
        shown, found = self._variables, {}
        for place in compress(count(), map(is_not, local, after)):
            value, variable = after[place], shown.get(place)
            if variable is not None and local[place] != value:
                name, show = variable
                found[name] = value if show is None else show(value)
        return found

    def _told(self, outputs: tuple[Any, ...]) -> list[tuple[str, Any]]:
        """The indications to the layer above, as a record has them."""
        tells = self._tells
        return [(each.__class__.__name__, each) for each in outputs if each.__class__ in tells]

    def _note(self, steps: Sequence[Step], changes: Sequence[Any]) -> None:
        """Note what was taken."""
        heard = self._heard
        if heard.tracking:
            for step, made in zip(steps, changes, strict=False):
                if made:
                    heard.track(step.at, made)
        heard.take(steps)
        if self._watch is not None:
            self._watch.take(steps)


def _same(
    made: list[Any], recorded: list[Raw], write: Callable[[list[Any]], bytes], same: Same
) -> int:
    """Return how many of these values, from the first on, are what stands in the records; of the
    records there may be more.
    """
    with suppress(Exception):  # what cannot be written is not what stands there
        # No text in JSON contains a newline: if all are the same together, then so is each.
        if write(made) == b"".join([b"%b\n" % each for each in recorded[: len(made)]]):
            return len(made)
    place = 0
    with suppress(Exception):
        for value, there in zip(made, recorded, strict=False):
            if not same(value, there):
                break
            place += 1
    return place


def _is_changed(made: Any, recorded: Raw) -> bool:
    changed = bytes(recorded)
    return encode_as_is(made) == changed or (len(made) > 1 and alike(made, changed))


def _is_told(made: Any, recorded: Raw) -> bool:
    return encode(made) == bytes(recorded)
