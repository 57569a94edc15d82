"""A member's way out: it sends what it has, stops sequencing, drains, stops, and says goodbye."""

from __future__ import annotations

from collections.abc import Callable

from raincheck.impl.sequencer.events import Leave, Stop

from .goodbye import Goodbye
from .group import Group


class Departure:
    """Leaves in good order, one step after another, once it was `asked`."""

    def __init__(self, group: Group, goodbye: Goodbye, out: Callable[[str], None]) -> None:
        self.asked = False
        self._group = group
        self._goodbye = goodbye
        self._out = out

    def step(self, now: float, unsent: int) -> None:
        """Go as far as possible; `unsent` messages have still to be handed to SEQUENCER."""
        group, sequencer = self._group, self._group.sequencer
        if sequencer.status == "joining":
            self._out("")
        elif sequencer.status == "member" and not unsent:
            sequencer.handle(Leave())
            group.ordering.draining = True
            while group.advance(now):
                pass
        if sequencer.status == "leaving" and not sequencer.forward_table:
            group.ask_for_acknowledgements(now)
        if group.drained:
            sequencer.handle(Stop(drained=True))
            group.stopped()
            others = [member for member in group.last_members if member != group.me]
            if others:
                self._goodbye.start(others, now)
            else:
                self._out("")
