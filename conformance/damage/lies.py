"""Locally consistent damage: one lie in a file, and the rest of the file as the model has it then.

Each record of such a file follows from the one before. What gives the lie away is in other files.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, TypeAlias

from raincheck.conformance.bindings.binding import Binding
from raincheck.model.machine.composed import Composed

from .derived import derived_of
from .files import Files, Record
from .kinds import altered

Lie: TypeAlias = Callable[[Random, Record, list[Record]], bool]
TRIES: Final = 12
"""The number of attempts at a lie until the model takes the rest of the file."""


def another_argument(random: Random, _header: Record, events: list[Record]) -> bool:
    """An event had another argument."""
    some = [event for event in events if event["args"]]
    if some:
        event = random.choice(some)
        event["args"] = altered(random, event["args"])
    return bool(some)


def an_event_left_out(random: Random, _header: Record, events: list[Record]) -> bool:
    """An event did not happen."""
    if events:
        del events[random.randrange(len(events))]
    return bool(events)


def an_event_repeated(random: Random, _header: Record, events: list[Record]) -> bool:
    """An event happened twice."""
    if events:
        events.insert(random.randrange(len(events)), dict(random.choice(events)))
    return bool(events)


def events_reordered(random: Random, _header: Record, events: list[Record]) -> bool:
    """An event happened earlier or later."""
    if len(events) > 1:
        event = events.pop(random.randrange(len(events)))
        events.insert(random.randrange(len(events) + 1), event)
    return len(events) > 1


def another_first_view(random: Random, header: Record, _events: list[Record]) -> bool:
    """A member began in another view."""
    initial = header["initial"]
    names = [
        name for name in ("view", "members") if isinstance(initial, dict) and initial.get(name)
    ]
    if names:
        name = random.choice(names)
        value = initial[name]
        if name == "members" and random.random() < 0.5:
            other = [each for each in value if each is not random.choice(value)]
        else:
            other = altered(random, value)
        header["initial"] = initial | {name: other}
    return bool(names)


LIES: Final[dict[str, Lie]] = {
    f"{lie.__name__.replace('_', ' ')}, and what follows": lie
    for lie in (
        another_argument,
        an_event_left_out,
        an_event_repeated,
        events_reordered,
        another_first_view,
    )
}


class Liar:
    """Tells lies in the files of one instance."""

    def __init__(self, binding: Binding, system: Composed[Any, Any]) -> None:
        self.binding, self.system = binding, system

    def tell(self, random: Random, files: Files, lie: Lie) -> bool:
        """Change one file, and return whether a lie was found that the model goes on from."""
        for _ in range(TRIES):
            name = random.choice(files.nodes())
            header, *rest = [dict(record) for record in files.records[name]]
            events = [record for record in rest if record["kind"] == "event"]
            ends = [record for record in rest if record["kind"] != "event"]
            if not lie(random, header, events):
                continue
            derived = derived_of(self.binding, self.system.rules, header, events)
            if derived is None:
                continue
            for end in ends:
                end["index"] = len(derived)
            made = [header, *derived, *ends]
            if made != files.records[name]:
                files.records[name] = made
                return True
        return False
