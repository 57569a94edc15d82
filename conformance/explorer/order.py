"""The events of a run's files in one order that may have been."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from .watching import Seen


class Record(msgspec.Struct, tag_field="kind", tag="event", kw_only=True):
    """What an event of any protocol has, whatever the form of its records."""

    node: str
    incarnation: int
    index: int
    action: str
    args: dict[str, Any] = {}
    received: list[Any] | None = None
    sent: list[dict[str, Any]] = []
    changed: dict[str, Any] = {}
    clock: int | None = None
    at: float | None = None


class Event(NamedTuple):
    """An event of a file as it is recorded, and the member's state before and after it."""

    who: str
    record: Record
    path: str
    line: int
    before: Any
    after: Any
    seen: Seen


def in_order(files: Mapping[str, Sequence[Event]]) -> tuple[list[Event], dict[int, int]]:
    """Return all events in one order, and by place the place of the step that sent what arrives.

    The order keeps each file's, has one life of a node end before the next one begins, and has a
    message sent before it is received; beyond that it follows the recorded clocks or times.
    """
    before = _lives(files)
    done = {who for who, events in files.items() if not events}
    senders = {key for events in files.values() for event in events for key in _sent(event)}
    sent: dict[str, int] = {}
    ordered: list[Event] = []
    sources: dict[int, int] = {}
    heap = [(*_time(events[0]), who, 0) for who, events in files.items() if events]
    heapify(heap)
    waiting: list[tuple[Any, ...]] = []
    while heap or waiting:
        if not heap:  # a circle, or a sender that comes later in its own file
            waiting.sort()
            heap.append(waiting.pop(0))
            forced = True
        else:
            forced = False
        item = heappop(heap)
        *_, who, at = item
        event = files[who][at]
        received = _key(event.record.received)
        early = received in senders and received not in sent
        if not forced and (early or before.get(who, who) not in {who, *done}):
            waiting.append(item)
            continue
        if received in sent:
            sources[len(ordered)] = sent[received]
        new = [key for key in _sent(event) if key not in sent]
        sent.update(dict.fromkeys(new, len(ordered)))
        ordered.append(event)
        if at + 1 < len(files[who]):
            heappush(heap, (*_time(files[who][at + 1]), who, at + 1))
        else:
            done.add(who)
        if new or who in done:
            for each in waiting:
                heappush(heap, each)
            waiting.clear()
    return ordered, sources


def _lives(files: Mapping[str, Sequence[Event]]) -> dict[str, str]:
    """Return the file of the life before, of each that is not its node's first."""
    lives = sorted(
        (e[0].record.node, e[0].record.incarnation, who) for who, e in files.items() if e
    )
    return {who: last for (node, _, last), (same, _, who) in pairwise(lives) if node == same}


def _time(event: Event) -> tuple[float, int]:
    record = event.record
    return float(record.clock or record.at or 0), record.index


def _sent(event: Event) -> Iterator[str]:
    for each in event.record.sent:
        if "id" in each:
            yield _key(each["id"])


def _key(message: Any) -> str:
    return "" if message is None else msgspec.json.encode(message).decode()
