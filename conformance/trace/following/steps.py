"""One step of the model beside what was recorded of it: every difference, by name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, zip_longest
from typing import Any

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import ShapeError, fields_of, plain, shaped
from raincheck.conformance.trace.findings import Difference
from raincheck.conformance.trace.records import Address, Event
from raincheck.impl.recording.canonical import in_order
from raincheck.model.machine.machine import Accepted

from .ends import json_text


def differences(
    binding: Binding, before: Any, record: Event, answer: Accepted[Any, Any]
) -> list[Difference]:
    """Return all in which the record differs from what the model answers in that state."""
    return [
        *_changes(binding, record, before, answer.local),
        *_messages(binding, record, answer.outputs),
        *_indications(binding, record, answer.outputs),
    ]


def _changes(binding: Binding, record: Event, before: Any, after: Any) -> Iterator[Difference]:
    if binding.parts is not None:
        parts = binding.parts(before, after)
        made = {name: plain(value) for name, value in parts.items()}
        for name in sorted(made.keys() | record.changed.keys()):
            expected, found = made.get(name, "unchanged"), record.changed.get(name, "unchanged")
            if expected != found:
                yield Difference(name, expected, found)
        return
    known = fields_of(binding.local)
    for name in record.changed:
        if name not in known or name in binding.uncompared:
            yield Difference(name, None, record.changed[name])
    for name, wanted in known.items():
        if name in binding.uncompared:
            continue
        old, new = getattr(before, name), getattr(after, name)
        if name in record.changed:
            try:
                recorded = shaped(record.changed[name], wanted)
            except ShapeError:
                yield Difference(name, plain(new), record.changed[name])
                continue
            if recorded != new:
                yield Difference(name, plain(new), record.changed[name])
        elif old != new:
            yield Difference(name, plain(new), "unchanged")


def _messages(binding: Binding, record: Event, outputs: tuple[Any, ...]) -> Iterator[Difference]:
    expected = _by_receiver(
        [
            (type(made).__name__, plain(to), _content(made), made, to)
            for output in outputs
            for made, to in _parcels(binding, output)
        ]
    )
    recorded = _by_receiver([(each.message, each.to, each.content) for each in record.sent])
    for place in range(max(len(expected), len(recorded))):
        name = f"sent[{place + 1}]"
        if place >= len(recorded):
            yield Difference(name, list(expected[place][:3]), None)
        elif place >= len(expected):
            yield Difference(name, None, list(recorded[place]))
        elif not _same(expected[place][3:], recorded[place]):
            yield Difference(name, list(expected[place][:3]), list(recorded[place]))


def _indications(binding: Binding, record: Event, outputs: tuple[Any, ...]) -> Iterator[Difference]:
    """Compare the indications to the layer above."""
    made = [(type(each).__name__, plain(each)) for each in outputs]
    expected = [each for each in made if each[0] in binding.told]
    pairs = enumerate(zip_longest(expected, record.told), 1)
    for place, (model, recorded) in pairs:
        if model != recorded:
            yield Difference(f"told[{place}]", model, recorded)


def _same(output: tuple[Any, ...], recorded: tuple[str, Address, dict[str, Any]]) -> bool:
    made, to = output
    message, receiver, content = recorded
    kind = type(made)
    if message != kind.__name__ or plain(to) not in (receiver[0], list(receiver)):
        return False
    kinds = fields_of(kind)
    if content.keys() != kinds.keys() - {"to"}:
        return False
    try:
        return all(shaped(content[n], kinds[n]) == getattr(made, n) for n in content)
    except ShapeError:
        return False


def _by_receiver(sent: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The same with the copies of one message sorted: to whom it goes first does not matter."""
    found: list[tuple[Any, ...]] = []
    for _, copies in groupby(sent, lambda each: (each[0], json_text(each[2]))):
        found += sorted(copies, key=lambda each: in_order(each[1]))
    return found


def _content(output: Any) -> dict[str, Any]:
    return {name: plain(value) for name, value in output._asdict().items() if name != "to"}


def _parcels(binding: Binding, output: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a network message once for each of its receivers, with the receiver."""
    if type(output).__name__ not in binding.channels:
        return
    to = output.to
    alone = isinstance(to, str) or hasattr(to, "_fields")
    for each in [to] if alone else sorted(to):
        yield output, binding.end_of(each)
