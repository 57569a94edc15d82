"""The records that the model's handlers leave for one node's events, whoever else takes part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from raincheck.conformance.bindings.binding import FIFO, Binding
from raincheck.conformance.bindings.conversion import ShapeError, fields_of, shaped
from raincheck.impl.recording.canonical import plain
from raincheck.model.machine.machine import Refused

from .files import Record


def derived_of(
    binding: Binding, rules: Any, header: Record, events: Iterable[Record]
) -> list[Record] | None:
    """Return the events' records as the model has them; None if it refuses one of the events.

    Taken from the records given: the actions, the arguments, what the environment changed, and
    whose messages came.
    """
    try:
        return [*_Node(binding, rules, header).records(events)]
    except (ShapeError, LookupError, TypeError, ValueError, AttributeError, AssertionError):
        return None  # the model has no such event


class _Node:
    def __init__(self, binding: Binding, rules: Any, header: Record) -> None:
        self.binding, self.rules = binding, rules
        self.who = [header["node"], header["incarnation"]]
        defaults = getattr(binding.local, "_field_defaults", {})
        unknown = {name: defaults.get(name) for name in binding.uncompared}
        self.local = shaped(unknown | header["initial"], binding.local)
        self.sent: dict[str, int] = {}
        self.received: dict[str, int] = {}

    def records(self, events: Iterable[Record]) -> Iterator[Record]:
        """Yield the record of each event; raise ValueError where one is refused."""
        kinds = fields_of(self.binding.local)
        for index, record in enumerate(events, 1):
            given = {k: shaped(v, kinds[k]) for k, v in record.get("given", {}).items()}
            local = self.local._replace(**given)
            event = shaped(record["args"], self.binding.inputs[record["action"]])
            answer = self.binding.handlers[record["action"]](self.rules, local, event)
            if isinstance(answer, Refused):
                raise ValueError(f"event {index} is refused")
            before, self.local = local._asdict(), answer.local
            says = [
                [type(output).__name__, plain(output)]
                for output in answer.outputs
                if type(output).__name__ in self.binding.told
            ]
            yield record | {
                "index": index,
                "args": {k: plain(v) for k, v in event._asdict().items()},
                "received": self._received(record),
                "sent": [*self._sent(answer.outputs)],
                "changed": {
                    name: plain(value)
                    for name, value in self.local._asdict().items()
                    if name not in self.binding.uncompared and plain(value) != plain(before[name])
                },
                **({"told": says} if says else {}),
            }

    def _sent(self, outputs: Iterable[Any]) -> Iterator[Record]:
        for output in outputs:
            name = type(output).__name__
            if name not in self.binding.channels:
                continue
            content = {k: plain(v) for k, v in output._asdict().items() if k != "to"}
            for end in ends_in(plain(output.to)):
                called = self._id(name, [*self.who, *end], content.values(), self.sent)
                yield {"id": called, "to": end, "message": name, "content": content}

    def _received(self, record: Record) -> Any:
        for name, kind in self.binding.channels.items():
            if self.binding.arrival(name) == record["action"]:
                if kind != FIFO:
                    return record["received"]
                ends = [*record["received"][1:3], *self.who]
                return self._id(name, ends, (), self.received)
        return None

    def _id(
        self, name: str, ends: list[Any], fields: Iterable[Any], counts: dict[str, int]
    ) -> list[Any]:
        channel = self.binding.channels[name]
        if channel != FIFO:
            return [name, *ends, *(each for each in fields if not isinstance(each, list))]
        key = repr(ends)
        counts[key] = counts.get(key, 0) + 1
        return [channel, *ends, counts[key]]


def ends_in(to: Any) -> list[Any]:
    """Return the addresses in a message's `to`: one, or several."""
    if isinstance(to, str):
        return [[to, 0]]
    if len(to) == 2 and isinstance(to[0], str) and isinstance(to[1], int):
        return [to]
    return [each for one in to for each in ends_in(one)]
