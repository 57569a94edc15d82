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

from raincheck.conformance.trace.step import Step

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
    tallies: Mapping[str, Callable[[Any, Any], tuple[Any, ...]]] = field(default_factory=dict)
    """By action: (input, state after) -> what is counted: a topic, the view's number, and maybe a
    member."""
    tracks: str = ""
    """The name, in `Binding.parts`, of the streams that changed: `[member, [delivered, arrived,
    …]]` each, or None in place of the numbers of one that is gone."""
    agrees: tuple[Agreement, ...] = ()
    """With what other protocols say."""


class Heard:
    """The statements of one file."""

    __slots__ = ("_counts", "_speaks", "said", "tracks")

    def __init__(self, speaks: Speaks | None) -> None:
        self._speaks = speaks or Speaks()
        self.said: list[Statement] = []
        self._counts: dict[tuple[Any, ...], int] = {}
        self.tracks: dict[Any, array[int]] = {}

    @property
    def tracking(self) -> bool:
        """Whether streams are tracked."""
        return bool(self._speaks.tracks)

    def begin(self, local: Any) -> None:
        """Note what the first state says."""
        self.say(0, self._speaks.begins(local))

    def say(self, index: int, said: Said) -> None:
        """Note what an event says."""
        for topic, value in said:
            self.said.append(Statement(topic, index, value))

    def count(self, what: tuple[Any, ...]) -> None:
        """Count an event."""
        self._counts[what] = self._counts.get(what, 0) + 1

    def track(self, index: int, parts: Mapping[str, Any]) -> None:
        """Note the numbers of the streams that an event has changed."""
        tracks = self.tracks
        for name, numbers in parts.get(self._speaks.tracks, ()):
            if numbers is None:
                continue
            delivered, arrived = numbers[0], numbers[1]
            name = tuple(name)
            rows = tracks.get(name)
            if rows is None:
                rows = tracks[name] = array("q")
            elif rows[-1] == arrived and rows[-2] == delivered:
                continue
            rows.extend((index, delivered, arrived))

    def take(self, steps: Iterable[Step]) -> None:
        """Note what these steps say."""
        says, tallies = self._speaks.says, self._speaks.tallies
        if not says and not tallies:
            return
        for action, index, before, event, after, outputs in steps:
            if action in says:
                self.say(index, says[action](before, event, after, outputs))
            if action in tallies:
                self.count(tallies[action](event, after))

    @property
    def tally(self) -> dict[str, int]:
        """What was counted, in words."""
        return {
            " ".join(each if isinstance(each, str) else _text(each) for each in what): count
            for what, count in self._counts.items()
        }

    def packed(self) -> dict[str, bytes]:
        """Return the tracks as they travel; a stream is named by its member's address."""
        return {_text(who): rows.tobytes() for who, rows in self.tracks.items()}


def _text(value: Any) -> str:
    """Return a number, or a member's address, as text."""
    return str(value) if isinstance(value, int) else f"{value[0]}.{value[1]}"


def view(
    number: int | None, members: Iterable[Any] | None, *, ranked: bool = True, by: Any = None
) -> Any:
    """Return a view as statements have it; what a layer does not know of it is None.

    `ranked`: the members are in the view's order, and not in that of their addresses. `by`: who
    decided it, where the layer knows; with the number that is its whole id.
    """
    who = None if members is None else [list(member) for member in members]
    return [number, who, ranked] if by is None else [number, who, ranked, list(by)]
