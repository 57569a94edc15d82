"""A member's way out: it sends what it has, stops sequencing, drains, stops, and says goodbye."""

from __future__ import annotations

from collections.abc import Callable

from raincheck.impl.sequencer.events import Leave, Stop

from .goodbye import Goodbye
from .group import Group
from .passing import Drain


class Departure:
    """Leaves in good order, one step after another, once it was `asked`."""

    def __init__(self, group: Group, goodbye: Goodbye, out: Callable[[str], None]) -> None:
        self.asked = False
        self._group = group
        self._goodbye = goodbye
        self._out = out

    def step(self, now: float, unsent: int) -> None:
        """Go as far as possible; `unsent` messages have still to be handed to the layers."""
        group, membership = self._group, self._group.membership
        if membership.status == "joining":
            self._out("")
        elif membership.status == "member" and not unsent:
            group.down(Leave(), now)
            membership.become("leaving")
            while group.advance(now):
                pass
        if membership.status == "leaving":
            group.down(Drain(), now)
            if group.drained:
                group.down(Stop(), now)
                membership.become("stopped")
                if membership.others:
                    self._goodbye.start(membership.others, now)
                else:
                    self._out("")
