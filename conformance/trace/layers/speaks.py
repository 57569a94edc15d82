"""The parts of a protocol's records that other layers' records speak of as well.

A view is installed in all layers of a member, NAKACK forgets what STABLE calls stable, a digest is
of NAKACK's streams. `Binding.speaks` declares what a protocol's events say of such things, and with
what other protocols say it must agree. A *statement* has a topic and a value, plain as in JSON.
What is said by most events is only counted (`tallies`), and what is a table of growing numbers is
kept as rows (`tracks`), of 24 bytes each.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

if TYPE_CHECKING:
    from .agreements import Agreement

VIEW = "view"
"""The topic of installed views; each value is a `view`."""
TRACK_ROW = 3
"""Numbers in a row of a track: the event's index, what is delivered, and what has arrived."""


class Statement(msgspec.Struct, frozen=True, array_like=True):
    """Something that the event of that index says; index 0 is the state in which a file begins."""

    topic: str
    index: int
    value: Any


Said: TypeAlias = Iterable[tuple[str, Any]]
"""Topics and values."""
Says: TypeAlias = Callable[[Any, Any, Any, tuple[Any, ...]], Said]
"""(state before, input, state after, outputs) -> what the event says."""


def _nothing(_local: Any) -> Said:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaks:
    """The things that a protocol's records say and other layers' records may say otherwise."""

    begins: Callable[[Any], Said] = _nothing
    """What the state says in which a file begins."""
    says: Mapping[str, Says] = field(default_factory=dict)
    """By action."""
    tallies: Mapping[str, Callable[[Any, Any], str]] = field(default_factory=dict)
    """By action: (input, state after) -> what is counted."""
    tracks: Callable[[Mapping[str, Any]], Iterable[tuple[Any, int, int]]] | None = None
    """What `Binding.parts` says has changed -> name, delivered, arrived of each stream in it."""
    agrees: tuple[Agreement, ...] = ()
    """With what other protocols say."""


class Heard:
    """The statements of one file."""

    __slots__ = ("_speaks", "said", "tally", "tracks")

    def __init__(self, speaks: Speaks | None) -> None:
        self._speaks = speaks or Speaks()
        self.said: list[Statement] = []
        self.tally: dict[str, int] = {}
        self.tracks: dict[Any, array[int]] = {}

    def begin(self, local: Any) -> None:
        """Note what the first state says."""
        self.say(0, self._speaks.begins(local))

    def say(self, index: int, said: Said) -> None:
        """Note what an event says."""
        self.said += [Statement(topic, index, value) for topic, value in said]

    def count(self, what: str) -> None:
        """Count an event."""
        self.tally[what] = self.tally.get(what, 0) + 1

    def track(self, index: int, parts: Mapping[str, Any]) -> None:
        """Note the numbers of the streams that an event has changed."""
        tracks, changed = self.tracks, self._speaks.tracks
        if changed is None:
            return
        for name, delivered, arrived in changed(parts):
            rows = tracks.get(name)
            if rows is None:
                rows = tracks[name] = array("q")
            elif rows[-1] == arrived and rows[-2] == delivered:
                continue
            rows.extend((index, delivered, arrived))

    def take(self, action: str, index: int, step: tuple[Any, Any, Any, tuple[Any, ...]]) -> None:
        """Note what an event says that was judged in full."""
        _, event, after, _ = step
        if action in self._speaks.says:
            self.say(index, self._speaks.says[action](*step))
        if action in self._speaks.tallies:
            self.count(self._speaks.tallies[action](event, after))

    def packed(self) -> dict[str, bytes]:
        """Return the tracks as they travel; a stream is named by its member's address."""
        return {f"{who[0]}.{who[1]}": rows.tobytes() for who, rows in self.tracks.items()}


def view(number: int | None, members: Iterable[Any] | None, *, ranked: bool = True) -> Any:
    """Return a view as statements have it; what a layer does not know of it is None.

    `ranked`: the members are in the view's order, and not in that of their addresses.
    """
    return [number, None if members is None else [list(member) for member in members], ranked]
