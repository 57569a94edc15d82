"""A token ring as SVG: the nodes on a circle, their views on top, their history at their side.

Every node keeps its place, whatever the order of the ring: the arrows show the token's way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import asin, cos, hypot, pi, sin
from typing import Final

_RADIUS: Final = 190
_NODE: Final = 24
_ROW: Final = 17
_SIDE: Final = 250
"""Room for texts left and right of the circle."""

STYLE: Final = """
.ring { font: 14px system-ui, sans-serif; max-width: 100%; height: auto }
.ring text { fill: currentColor; paint-order: stroke; stroke: Canvas; stroke-width: 5px }
.ring .node { fill: none; stroke: currentColor; stroke-width: 1.5 }
.ring .off { stroke-opacity: .4; stroke-dasharray: 3 4 }
.ring .cross { stroke: #cf222e; stroke-width: 3 }
.ring .name { font-weight: 600; text-anchor: middle; stroke: none }
.ring .way { stroke: #0969da; stroke-width: 1.5; fill: none } .ring .head { fill: #0969da }
.ring .top { font-weight: 600 } .ring .a { fill: #1a7f37 } .ring .r { fill: #9a6700 }
.ring .c { fill: #cf222e }
.ring .wrong { text-decoration: underline wavy #cf222e; font-weight: 600 }
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a node's history: its text, its style classes, and its tooltip."""

    text: str
    style: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    """One node: its name, its views, its history, and whether it is on the ring."""

    name: str
    top: Line
    side: tuple[Line, ...] = ()


def ring_svg(spots: Sequence[Spot], way: Sequence[str], title: str) -> str:
    """Draw the nodes clockwise from the top; the token goes from each of `way` to the next."""
    tall = max((len(spot.side) for spot in spots), default=0) * _ROW
    width = 2 * (_RADIUS + _NODE + _SIDE)
    above = max(tall, 40) + 30
    height = above + 2 * _RADIUS + _NODE + max(tall, 40) + 20
    places = {
        spot.name: _on_circle(width / 2, above + _RADIUS, number, len(spots))
        for number, spot in enumerate(spots)
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ring" viewBox="0 0 {width} {height:.0f}" '
        f'width="{width}" height="{height:.0f}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
    ]
    names = [spot.name for spot in spots]
    parts += _ways([name for name in way if name in places], names, places)
    for number, spot in enumerate(spots):
        parts += _spot(spot, places[spot.name], number / len(spots), spot.name in way)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _on_circle(x: float, y: float, number: int, of: int) -> tuple[float, float]:
    turn = 2 * pi * number / of
    return x + _RADIUS * sin(turn), y - _RADIUS * cos(turn)


def _ways(
    way: Sequence[str], names: Sequence[str], places: dict[str, tuple[float, float]]
) -> list[str]:
    parts: list[str] = []
    if len(way) < 2:
        return parts
    for source, target in zip(way, (*way[1:], way[0]), strict=True):
        step = (names.index(target) - names.index(source)) % len(names)
        bend = 0 if len(names) < 3 or step not in (1, len(names) - 1) else 1 if step == 1 else -1
        parts += _arrow(places[source], places[target], bend)
    return parts


def _arrow(start: tuple[float, float], end: tuple[float, float], bend: int) -> list[str]:
    """Return an arrow from circle to circle: along the ring's own circle, or straight across."""
    (x1, y1), (x2, y2) = start, end
    long = hypot(x2 - x1, y2 - y1) or 1.0
    # The direction at both ends; on a circle it turns by the angle between them.
    turn = 0.0 if bend == 0 else _half_angle(long) * bend
    dx, dy = (x2 - x1) / long, (y2 - y1) / long
    out = dx * cos(turn) + dy * sin(turn), dy * cos(turn) - dx * sin(turn)
    into = dx * cos(turn) - dy * sin(turn), dy * cos(turn) + dx * sin(turn)
    a, b = x1 + out[0] * (_NODE + 3), y1 + out[1] * (_NODE + 3)
    tip_x, tip_y = x2 - into[0] * (_NODE + 3), y2 - into[1] * (_NODE + 3)
    end_x, end_y = tip_x - into[0] * 11, tip_y - into[1] * 11
    path = (
        f"L{end_x:.1f} {end_y:.1f}"
        if bend == 0
        else f"A{_RADIUS} {_RADIUS} 0 0 {1 if bend == 1 else 0} {end_x:.1f} {end_y:.1f}"
    )
    side = into[1] * 5, -into[0] * 5
    return [
        f'<path class="way" d="M{a:.1f} {b:.1f} {path}"/>',
        f'<path class="head" d="M{tip_x:.1f} {tip_y:.1f} L{end_x + side[0]:.1f} '
        f'{end_y + side[1]:.1f} L{end_x - side[0]:.1f} {end_y - side[1]:.1f} Z"/>',
    ]


def _half_angle(chord: float) -> float:
    """Return half the angle that a chord of the ring's circle subtends at its centre."""
    return asin(min(1.0, chord / 2 / _RADIUS))


def _spot(spot: Spot, place: tuple[float, float], turn: float, on: bool) -> list[str]:
    x, y = place
    parts = [f'<circle class="node{"" if on else " off"}" cx="{x:.1f}" cy="{y:.1f}" r="{_NODE}"/>']
    if not on:
        ends = ((x - d, y - 9, x + d, y + 9) for d in (9, -9))
        parts += [
            f'<line class="cross" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
            for x1, y1, x2, y2 in ends
        ]
    parts.append(f'<text class="name" x="{x:.1f}" y="{y + 5:.1f}">{escape(spot.name)}</text>')
    upper, lower = turn < 0.01, abs(turn - 0.5) < 0.01
    if upper or lower:
        parts.append(_text(spot.top, x, y - _NODE - (14 if upper else 24), "middle", "top"))
    left = turn > 0.51
    beside = x + (_NODE + 12 if not upper else _NODE + 70) * (-1 if left else 1)
    begin = y - _ROW * (len(spot.side) - 1) if upper else y + _NODE + 10
    if not upper and not lower:
        begin = y - _ROW * len(spot.side) / 2 + 5
        parts.append(_text(spot.top, beside, begin - _ROW - 3, "end" if left else "start", "top"))
    for number, line in enumerate(spot.side):
        parts.append(_text(line, beside, begin + _ROW * number, "end" if left else "start"))
    return parts


def _text(line: Line, x: float, y: float, anchor: str, style: str = "") -> str:
    note = f"<title>{escape(line.note)}</title>" if line.note else ""
    classes = " ".join(filter(None, (style, line.style)))
    return (
        f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{note}{escape(line.text)}</text>"
    )
