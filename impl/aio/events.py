"""The events that `Channel.events` gives between the messages, in the order of all."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.impl.messages import Address, Message, View
from raincheck.impl.stack.departures import LEFT
from raincheck.impl.stack.reports import ViewInstalled


class ViewChange(NamedTuple):
    """A new view; the messages behind it are delivered in it."""

    view: View
    left: tuple[Address, ...] = ()
    """The members of the view before that have left in good order."""
    excluded: tuple[tuple[Address, str], ...] = ()
    """The members of the view before that were taken out, each with the reason."""

    @property
    def joined(self) -> tuple[Address, ...]:
        """The members that are new."""
        return self.view.joiners

    def __str__(self) -> str:
        news = [f"{member} joined" for member in self.joined]
        news += [f"{member} left" for member in self.left]
        news += [f"{member} was excluded: {why}" for member, why in self.excluded]
        return f"{self.view}{': ' if news else ''}{'; '.join(news)}"


class Blocked(NamedTuple):
    """The group stops for a view change or a state transfer: what is sent now waits.

    Messages that were sent before may still come.
    """


class Unblocked(NamedTuple):
    """The group goes on."""


class Excluded(NamedTuple):
    """The group has excluded this member, which joins again as another incarnation (`rejoin`)."""

    reason: str


Event: TypeAlias = ViewChange | Blocked | Unblocked | Excluded
MessageOrEvent: TypeAlias = Message | Event


def view_change(report: ViewInstalled) -> ViewChange:
    """Return the event of a view that the stack has installed."""
    left = tuple(member for member, why in report.departures if why == LEFT)
    excluded = tuple((member, why) for member, why in report.departures if why != LEFT)
    return ViewChange(report.view, left, excluded)
