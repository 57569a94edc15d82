"""A token ring in characters: its members in a circle, with texts above and below each.

The ring goes round a rectangle, clockwise: along the upper row, down, back along the lower row. It
draws both the figures and the live picture.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

GAP: Final = 3
"""Blanks between a member's text and the next member."""
INDENT: Final = 6
"""The column where a member's text begins; its line to the next one down runs left of it."""
_LINE: Final = 2


@dataclass(frozen=True, slots=True)
class Place:
    """One member of the ring: its name, a line on top of it, lines at its side."""

    name: str
    top: str = ""
    side: tuple[str, ...] = ()
    sign: str = " "
    """One character before the name, such as "●" for the holder of the token."""

    @property
    def node(self) -> str:
        """Return the member as it is drawn."""
        return f"({self.sign}{self.name} )"

    @property
    def width(self) -> int:
        """Return the number of characters that it needs."""
        texts = max(map(len, (self.top, *self.side)), default=0)
        return max(len(self.node), INDENT + texts)


def ring_lines(places: Sequence[Place]) -> list[str]:
    """Draw the ring; the token goes from each place to the next, and from the last to the first."""
    if not places:
        return []
    upper = list(places) if len(places) < 3 else list(places[: (len(places) + 1) // 2])
    lower = list(reversed(places[len(upper) :]))
    starts = _starts(upper, lower)
    right = starts[len(upper) - 1] + _LINE
    canvas: list[list[str]] = []
    _row(canvas, upper, starts, 0)
    _passes(canvas, upper, starts, 1, "─", "▶")
    if len(places) == 1:
        return _finished(canvas)
    below = len(canvas)
    _vertical(canvas, starts[0] + _LINE, 2, below, "▲", first=True)
    if not lower:
        _vertical(canvas, right, 2, below, "│")
        _put(canvas, below, _LINE, "╰" + "─" * (right - _LINE - 1) + "╯")
        return _finished(canvas)
    _row(canvas, lower, starts, below)
    _passes(canvas, lower, starts, below + 1, "─", "◀")
    _vertical(canvas, _LINE, below, below + 1, "│")
    if len(lower) == len(upper):
        _vertical(canvas, right, 2, below + 1, "▼")
    else:  # round the corner into the last of the lower row
        _vertical(canvas, right, 2, below + 1, "│")
        end = starts[len(lower) - 1] + len(lower[-1].node)
        _put(canvas, below + 1, end, "◀" + "─" * (right - end - 1) + "╯")
    return _finished(canvas)


def _starts(upper: Sequence[Place], lower: Sequence[Place]) -> list[int]:
    """Return the column of each place; places above each other begin in the same one."""
    starts = [0]
    for at, place in enumerate(upper):
        under = lower[at].width if at < len(lower) else 0
        starts.append(starts[-1] + max(place.width, under, INDENT) + GAP)
    return starts


def _row(canvas: list[list[str]], row: Sequence[Place], starts: list[int], y: int) -> None:
    for place, x in zip(row, starts, strict=False):
        _put(canvas, y, x + INDENT, place.top)
        _put(canvas, y + 1, x, place.node)
        for number, line in enumerate(place.side):
            _put(canvas, y + 2 + number, x + INDENT, line)
    _put(canvas, max(len(canvas), y + 3) - 1, 0, " ")


def _passes(
    canvas: list[list[str]], row: Sequence[Place], starts: list[int], y: int, line: str, head: str
) -> None:
    """Draw the arrows along a row."""
    for at, place in enumerate(row[:-1]):
        begin, end = starts[at] + len(place.node), starts[at + 1]
        body = line * (end - begin - 1)
        _put(canvas, y, begin, body + head if head == "▶" else head + body)


def _vertical(
    canvas: list[list[str]], x: int, begin: int, end: int, head: str, *, first: bool = False
) -> None:
    """Draw a line down a column, with its arrow head at the first row or at the last."""
    for y in range(begin, end):
        at_head = y == (begin if first else end - 1)
        _put(canvas, y, x, head if at_head else "│")


def _put(canvas: list[list[str]], y: int, x: int, text: str) -> None:
    if not text:
        return
    while len(canvas) <= y:
        canvas.append([])
    line = canvas[y]
    line.extend(" " * (x + len(text) - len(line)))
    line[x : x + len(text)] = text


def _finished(canvas: list[list[str]]) -> list[str]:
    lines = ["".join(line).rstrip() for line in canvas]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines
