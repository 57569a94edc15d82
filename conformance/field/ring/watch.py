"""The live picture of a token ring (`raincheck run raincore --watch`).

`Watch` draws the ring on a terminal; elsewhere it prints the events as plain lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

from raincheck.conformance.report.ringtext import Place, ring_lines

from .status import Event, Status, Story, number_text, views_text

if TYPE_CHECKING:
    from raincheck.conformance.ui import Ui

__all__ = ["Event", "Status", "Story", "Watch", "picture"]

DRAW_EVERY: Final = 0.1
"""Seconds between two pictures."""
TELL_EVERY: Final = 15.0
"""Seconds between two lines about the ring as a whole if there is no terminal."""
_RINGS: Final = 3
"""The number of rings that are drawn; a partition makes two."""

STYLES: Final[Mapping[str, str]] = {
    r"\(●[^)]*\)|^●|\beating\b": "bold green",
    r"\bagreement\b": "green",
    r"\breserve\b": "yellow",
    r"\bchaos\b|\bstarving\b": "red",
    r"\bdown\b|\bleft\b": "dim",
}
"""The styles of the picture's words."""


def picture(story: Story) -> str:
    """Return the picture: the ring, a line for each member, and the last events."""
    lines = [story.summary(), ""]
    for ring in story.rings()[:_RINGS]:
        lines += [*ring_lines([_place(story, name) for name in ring]), ""]
    if outside := [f"{each.node} ({each.token_state})" for each in story.outside()]:
        lines += [f"not on the ring: {', '.join(outside)}", ""]
    rows = [["", "member", "token", "view state", "number", "locks", "messages", "views"]]
    rows += [_cells(story, status) for _, status in sorted(story.members.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, "", *map(str, story.recent)]).rstrip() + "\n"


def _place(story: Story, name: str) -> Place:
    status = story.members.get(name)
    if status is None or status.up != "up":
        return Place(name, "left" if status is not None and status.up == "left" else "down")
    starving = status.token_state == "starving"
    return Place(name, "starving" if starving else status.view_state, sign=story.sign(status))


def _cells(story: Story, status: Status) -> list[str]:
    if status.up != "up":
        return ["", status.node, status.up, "", "", "", "", views_text(status)]
    return [
        story.sign(status),
        status.node,
        status.token_state,
        status.view_state,
        number_text(status),
        str(status.locks),
        str(status.messages),
        views_text(status),
    ]


class Watch:
    """Shows a ring while it runs: `update` it with statuses, and report the harness's acts.

    On a terminal the picture is redrawn in one place; elsewhere events are printed as lines, with a
    summary now and then.
    """

    def __init__(self, ui: Ui, clock: Callable[[], float] = time.monotonic) -> None:
        self.story = Story()
        self._ui = ui
        self._clock = clock
        self._stack = ExitStack()
        self._draw: Callable[[str], None] | None = None
        self._drawn = self._said = clock()

    def __enter__(self) -> Self:
        self._draw = self._stack.enter_context(self._ui.canvas(STYLES))
        return self

    def __exit__(self, *_problem: object) -> None:
        """Leave the last picture, or the last summary, on the screen."""
        try:
            self._show(last=True)
        finally:
            self._draw = None
            self._stack.close()

    def update(self, status: Status) -> None:
        """Take in a member's status."""
        for event in self.story.update(status):
            self._tell(event)
        self._show()

    def act(self, at: float, text: str) -> None:
        """Note an act of the harness on the ring, such as a fault."""
        self._tell(self.story.note(at, text))
        self._show()

    def _tell(self, event: Event) -> None:
        if self._draw is None:
            self._ui.say(str(event))

    def _show(self, *, last: bool = False) -> None:
        now = self._clock()
        if self._draw is not None:
            if last or now - self._drawn >= DRAW_EVERY:
                self._drawn = now
                self._draw(picture(self.story))
        elif last or now - self._said >= TELL_EVERY:
            self._said = now
            self._ui.say(self.story.summary())
