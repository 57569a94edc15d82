"""The kinds of raw damage, and what they share."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

from .files import Files, Record

Damage: TypeAlias = Callable[[Random, Files], bool]
"""Changes the files in place and returns whether it could."""


class Kind(NamedTuple):
    """A kind of damage."""

    name: str
    damage: Damage
    lost: bool
    """Whether it only takes something away, so that the run is incomplete."""


KINDS: Final[dict[str, Kind]] = {}
"""The kinds whose modules are imported, by name; `raw.py` imports all."""


def kind(*, lost: bool = False) -> Callable[[Damage], Damage]:
    """Make a function a kind of damage with its name."""

    def known(damage: Damage) -> Damage:
        name = damage.__name__.replace("_", " ").strip()
        KINDS[name] = Kind(name, damage, lost)
        return damage

    return known


def altered(random: Random, value: Any) -> Any:
    """Return another value of the same type, with one part changed."""
    match value:
        case bool():
            return not value
        case int():
            return value + random.choice((1, 2, 7))
        case str():
            return f"{value}x"
        case None:
            return 1
        case list() if value and random.random() < 0.8:
            place = random.randrange(len(value))
            return [*value[:place], altered(random, value[place]), *value[place + 1 :]]
        case list():
            return [*value, value[-1]] if value else [1]
        case dict() if value:
            name = random.choice(sorted(value))
            return value | {name: altered(random, value[name])}
    return {"mood": 1}


def file_in(random: Random, files: Files) -> str:
    """Return the name of some node's file."""
    return random.choice(files.nodes())


def event_in(random: Random, files: Files) -> tuple[str, int, Record]:
    """Return some event, with its file and its place there."""
    return random.choice([*files.events()])


def counted_anew(files: Files, name: str) -> bool:
    """Number the events anew, so that the file looks whole."""
    index = 0
    for record in files.records[name]:
        if record.get("kind") == "event":
            index += 1
            record["index"] = index
        elif record.get("kind") == "footer":
            record["index"] = index
    return True
