"""A protocol's `Binding` as the description for its recorder (`impl/recording/described.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from raincheck.impl.messages import Address
from raincheck.impl.recording.canonical import plain
from raincheck.impl.recording.described import Parcel, UsualForm
from raincheck.impl.recording.writer import Record

from .binding import Binding
from .conversion import fields_of, named, shaped

_LASTING = (tuple, str, int, frozenset, bytes, type(None))


@dataclass(frozen=True, slots=True)
class FromBinding(UsualForm):
    """Describes records in the model's names, whatever the implementation's names are."""

    binding: Binding
    _known: dict[str, tuple[Any, Any]] = field(default_factory=dict, repr=False, compare=False)
    """The last value of each variable and its record: most stay the same between two events."""
    _numbers: Record = field(default_factory=dict, repr=False, compare=False)
    """Where records have numbers: the variables that are recorded whole, and under "" the entries.
    """

    @property
    def protocol(self) -> str:
        """The protocol's name."""
        return self.binding.protocol

    def variables(self, core: Any) -> Record:
        """Return the core's state as the model's."""
        binding = self.binding
        self.parts(core, None, ())
        if binding.local_of is not None:
            local = binding.local_of(core)
            found = {name: plain(value) for name, value in local._asdict().items()}
            return {name: found[name] for name in found if name not in binding.uncompared}
        return {
            name: self._variable(name, getattr(core, name), wanted)
            for name, wanted in fields_of(binding.local).items()
            if name not in binding.uncompared
        }

    def parts(self, core: Any, event: Any, _effects: Sequence[Any]) -> Record | None:
        """Return the numbers that the event has changed, where records have numbers."""
        numbers, known = self.binding.numbers, self._numbers
        if numbers is None:
            return None
        found = {k: v for k, v in numbers.whole(core).items() if known.get(k) != v}
        known |= found
        entries: dict[Any, dict[str, Any]] = known.setdefault("", {})
        touched = None if event is None else numbers.touched(core, event)
        keys = {*entries, *numbers.keys(core)} if touched is None else touched
        for key in sorted(keys):
            before, now = entries.get(key, {}), numbers.of(core, key)
            entries[key] = now
            for name, value in now.items():
                if value != before.get(name):
                    found.setdefault(name, []).append([numbers.named(key), value])
        return found

    def given(self, core: Any) -> Record:
        """Return the variables that the environment may change."""
        wanted = fields_of(self.binding.local)
        return {
            name: self._variable(name, getattr(core, name), wanted[name])
            for name in sorted(self.binding.given)
        }

    def _variable(self, name: str, value: Any, wanted: Any) -> Any:
        known = self._known.get(name)
        # An immutable value that is the same object is unchanged.
        if known is not None and known[0] is value and isinstance(value, _LASTING):
            return known[1]
        made = plain(shaped(value, wanted))
        self._known[name] = (value, made)
        return made

    def args(self, event: Any, _effects: Sequence[Any]) -> Record:
        """Return the event as the model's input."""
        return {name: plain(value) for name, value in self._input(event)._asdict().items()}

    def sent(self, effect: Any) -> Iterable[Parcel]:
        """Return the messages of the effect."""
        outputs = self._outputs(effect)
        for output in outputs:
            name = type(output).__name__
            if name in self.binding.channels:
                fields = output._asdict()
                to = fields.pop("to")
                if len(outputs) == 1:  # the model's may lack the incarnation
                    to = self.binding.end_of(getattr(effect, "to", to))
                content = {field: plain(value) for field, value in fields.items()}
                for each in _addresses(to):
                    yield Parcel(name, each, content, self.binding.channels[name])

    def indications(self, effect: Any) -> Iterable[tuple[str, Any]]:
        """Return the indication of the effect to the layer above, by the output's name."""
        for output in self._outputs(effect) if self.binding.told else ():
            if (name := type(output).__name__) in self.binding.told:
                yield name, plain(output)

    def arrived(self, event: Any) -> Parcel | None:
        """Return the message that arrives by this event."""
        action = type(event).__name__
        for name, channel in self.binding.channels.items():
            if self.binding.arrival(name) == action:
                kind = next(each for each in self.binding.outputs if each.__name__ == name)
                made = self.binding.as_sent(name, self._input(event))
                fields = made._asdict()
                content = {f: plain(fields[f]) for f in kind._fields if f != "to" and f in fields}
                sent = self.binding.as_sent(name, event)
                (sender,) = _addresses(self.binding.end_of(getattr(sent, self.binding.sent_by)))
                return Parcel(name, sender, content, channel)
        return None

    def _outputs(self, effect: Any) -> tuple[Any, ...]:
        known = self._known.get("an effect")
        if known is None or known[0] is not effect:
            known = self._known["an effect"] = (effect, self.binding.model_outputs([effect]))
        outputs: tuple[Any, ...] = known[1]
        return outputs

    def _input(self, event: Any) -> Any:
        known = self._known.get("an event")
        if known is None or known[0] is not event:
            known = self._known["an event"] = (event, self._model_input(event))
        return known[1]

    def _model_input(self, event: Any) -> Any:
        if self.binding.input_of is not None:
            return self.binding.input_of(event)
        wanted = self.binding.traced_input(type(event).__name__)
        assert wanted is not None, event
        # A field that the model lacks, such as one that another layer adds, cannot be checked.
        fields = {k: v for k, v in named(event).items() if k in fields_of(wanted)}
        return shaped(fields, wanted)


def _addresses(to: Any) -> list[Address]:
    if isinstance(to, str):
        return [Address(to, 0)]
    if isinstance(to, tuple) and len(to) == 2 and isinstance(to[0], str) and type(to[1]) is int:
        return [Address(*to)]
    return [each for one in to for each in _addresses(one)]
