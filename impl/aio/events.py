"""The events that `Channel.events` gives between the messages, in the order of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from raincheck.impl.arguments import STRING, check_call
from raincheck.impl.errors import RaincheckError
from raincheck.impl.messages import Address, MergeView, Message, View
from raincheck.impl.stack.calls import MOST_REASON
from raincheck.impl.stack.departures import LEFT
from raincheck.impl.stack.reports import PrimaryChange, Requested, ViewInstalled

from .payloads import Payload, as_bytes


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
        if isinstance(self.view, MergeView):
            news.append(f"merged of {' and '.join(map(str, self.view.subgroups))}")
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


class Request:
    """A call of a member, which waits for `reply` or `refuse`."""

    __slots__ = ("_answer", "payload", "sender", "unicast", "view")

    def __init__(self, requested: Requested, answer: Callable[[bytes, bool], None]) -> None:
        self.sender: Address = requested.sender
        """Who calls."""
        self.payload: bytes = requested.payload
        self.view: int = requested.view
        """The counter of the view in which it is delivered."""
        self.unicast: bool = requested.unicast
        """Whether some members are asked, and not all of them in the order of all."""
        self._answer: Callable[[bytes, bool], None] | None = answer

    def reply(self, payload: Payload) -> None:
        """Answer; raises RaincheckError if this call was answered before, and MessageTooLarge or
        ArgumentError."""
        self._once(as_bytes(payload), failed=False)

    def refuse(self, reason: str) -> None:
        """Say why there is no answer; raises RaincheckError if this call was answered before."""
        check_call("reason", reason, STRING)
        self._once(reason.encode(errors="replace")[:MOST_REASON], failed=True)

    @property
    def answered(self) -> bool:
        """Whether `reply` or `refuse` was called."""
        return self._answer is None

    def _once(self, payload: bytes, *, failed: bool) -> None:
        if self._answer is None:
            raise RaincheckError(f"the call of {self.sender} is answered already")
        self._answer(payload, failed)
        self._answer = None

    def __repr__(self) -> str:
        return f"<Request of {self.sender}, {len(self.payload)} bytes, in view {self.view}>"


Event: TypeAlias = ViewChange | PrimaryChange | Blocked | Unblocked | Excluded | Request
MessageOrEvent: TypeAlias = Message | Event


def view_change(report: ViewInstalled) -> ViewChange:
    """Return the event of a view that the stack has installed."""
    left = tuple(member for member, why in report.departures if why == LEFT)
    excluded = tuple((member, why) for member, why in report.departures if why != LEFT)
    return ViewChange(report.view, left, excluded)
