"""The picture of `sequence` as SVG and as one page that needs no network and prints well."""

from html import escape
from typing import Final

from .sequence import ABSENT_AFTER, PRESENT_AFTER, Diagram, Event, Message, as_steps, senders

_LANE: Final = 130
_ROW: Final = 34
_TOP: Final = 48
_LEFT: Final = 70
_TEXT: Final = 560

STYLE: Final = """
.seq { font: 13px system-ui, sans-serif; max-width: 100%; height: auto }
.seq .life { stroke: currentColor; stroke-opacity: .55 }
.seq .gone { stroke: currentColor; stroke-opacity: .3; stroke-dasharray: 2 5 }
.seq .arrow { stroke: #0969da; stroke-width: 1.5; fill: none }
.seq .lost { stroke: #9a6700; stroke-width: 1.5; stroke-dasharray: 4 3; fill: none }
.seq .head { fill: #0969da } .seq .dot { fill: currentColor }
.seq .crash { stroke: #cf222e; stroke-width: 3 } .seq .view { fill: #8250df }
.seq .band { stroke: #8250df; stroke-opacity: .5; stroke-dasharray: 6 4 }
.seq text { fill: currentColor } .seq .name { font-weight: 600; text-anchor: middle }
.seq .number { fill-opacity: .6; text-anchor: end } .seq .label { font-size: 11px; fill: #0969da }
.seq .label.lost { fill: #9a6700; stroke: none }
"""

_PAGE: Final = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
pre { overflow-x: auto; background: #8881; padding: .7rem; font-size: .85rem }
@media print { body { margin: 0; max-width: none } }
"""


def as_svg(diagram: Diagram) -> str:
    """Return the picture as one SVG element; arrows go from the sending to the receiving."""
    width = _LEFT + _LANE * len(diagram.members) + _TEXT
    height = _TOP + _ROW * (len(diagram.events) + 1)
    rows = {id(event): row for row, event in enumerate(diagram.events)}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="seq" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        f"<title>{escape(diagram.title)}</title><style>{STYLE}</style>",
    ]
    parts += _lifelines(diagram, height)
    parts += _arrows(diagram, rows)
    for row, event in enumerate(diagram.events):
        parts += _event(diagram, event, row, width)
    return "\n".join([*parts, "</svg>"]) + "\n"


def as_page(diagram: Diagram) -> str:
    """Return an HTML page with the facts, the picture and every variable that changes."""
    facts = "".join(f"<p>{escape(fact)}</p>\n" for fact in diagram.facts)
    ending = "".join(f"<p>{escape(sentence)}</p>\n" for sentence in diagram.ending)
    title = escape(diagram.title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_PAGE}</style></head>\n<body>\n<h1>{title}</h1>\n{facts}{as_svg(diagram)}"
        f"{ending}<h2>Step by step</h2>\n<pre>{escape(as_steps(diagram))}</pre>\n</body></html>\n"
    )


def _x(diagram: Diagram, member: str) -> int:
    return _LEFT + _LANE * diagram.members.index(member) + _LANE // 2


def _y(row: int) -> int:
    return _TOP + _ROW * row + _ROW // 2


def _lifelines(diagram: Diagram, height: int) -> list[str]:
    parts = []
    for member in diagram.members:
        x, there, start = _x(diagram, member), member not in diagram.absent, _TOP - 12
        parts.append(f'<text class="name" x="{x}" y="{_TOP - 20}">{escape(member)}</text>')
        for row, event in enumerate(diagram.events):
            if event.node != member or event.mark not in ABSENT_AFTER | PRESENT_AFTER:
                continue
            parts.append(_line(x, start, x, _y(row), "life" if there else "gone"))
            there, start = event.mark in PRESENT_AFTER, _y(row)
        parts.append(_line(x, start, x, height - 6, "life" if there else "gone"))
    return parts


def _arrows(diagram: Diagram, rows: dict[int, int]) -> list[str]:
    sent = senders(diagram)
    parts: list[str] = []
    arrived = set()
    for event in diagram.events:
        if event.received is None or event.node not in diagram.members:
            continue
        arrived.add(event.received.id)
        source = sent.get(event.received.id)
        if source is None or source.node not in diagram.members or source.node == event.node:
            continue
        start = _x(diagram, source.node), _y(rows[id(source)])
        end = _x(diagram, event.node), _y(rows[id(event)])
        parts += _arrow(start, end, event.received.label)
    for event in diagram.events:
        for message in event.sent:
            if message.id not in arrived and event.node in diagram.members:
                parts += _lost(diagram, event, message, rows[id(event)])
    return parts


def _arrow(start: tuple[int, int], end: tuple[int, int], label: str) -> list[str]:
    (x1, y1), (x2, y2) = start, end
    side = 1 if x2 > x1 else -1
    tip, base = x2 - 7 * side, x2 - 16 * side
    middle_x, middle_y = (x1 + x2) // 2, (y1 + y2) // 2 - 4
    return [
        _line(x1, y1, base, y2, "arrow"),
        f'<path class="head" d="M{tip} {y2} L{base} {y2 - 5} L{base} {y2 + 5} Z"/>',
        f'<text class="label" x="{middle_x}" y="{middle_y}" text-anchor="middle">'
        f"{escape(label)}</text>",
    ]


def _lost(diagram: Diagram, event: Event, message: Message, row: int) -> list[str]:
    """Return a stub towards the receiver, for a message that nobody received in this story."""
    x, y = _x(diagram, event.node), _y(row)
    ahead = message.to not in diagram.members or _x(diagram, message.to) >= x
    side = 1 if ahead else -1
    end = x + 44 * side
    anchor = "start" if ahead else "end"
    return [
        _line(x, y, end, y + 10, "lost"),
        f'<text class="label lost" x="{end + 4 * side}" y="{y + 14}" text-anchor="{anchor}">'
        f"{escape(message.label)}</text>",
    ]


def _event(diagram: Diagram, event: Event, row: int, width: int) -> list[str]:
    y = _y(row)
    parts = [f'<text class="number" x="{_LEFT - 30}" y="{y + 4}">{event.number}</text>']
    right = _LEFT + _LANE * len(diagram.members) + 12
    if event.node in diagram.members:
        x = _x(diagram, event.node)
        if event.mark == "crash":
            parts += [_line(x - 7, y - 7, x + 7, y + 7, "crash")]
            parts += [_line(x - 7, y + 7, x + 7, y - 7, "crash")]
        elif event.mark == "view":
            parts.append(f'<path class="view" d="M{x} {y - 7} l7 7 l-7 7 l-7 -7 Z"/>')
        else:
            parts.append(f'<circle class="dot" cx="{x}" cy="{y}" r="4.5"/>')
    else:
        parts.append(_line(_LEFT - 20, y, right - 16, y, "band"))
    said = f"{event.action}: {event.text}" if event.text else event.action
    room = (width - right) // 6
    shown = said if len(said) <= room else said[: room - 1] + "…"
    parts.append(
        f'<text x="{right}" y="{y + 4}"><title>{escape(said)}</title>{escape(shown)}</text>'
    )
    return parts


def _line(x1: int, y1: int, x2: int, y2: int, style: str) -> str:
    return f'<line class="{style}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'
