"""The reports of a stack to its shell: datagrams to send, and events for the application."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, TypeAlias

from raincheck.impl.flush.events import Block, LatchOpened, Unblock
from raincheck.impl.messages import Address, Batch, Endpoint, View, ViewId
from raincheck.impl.state_transfer.events import Begun, EndState, Failed, GetState, HandUp

from .calls import Replies
from .departures import Departure


class Outgoing(NamedTuple):
    """One datagram to transmit.

    `multicast` tells the transport that all of `to` get the same bytes and that it may use a
    group address. `to` is empty for a broadcast to whoever listens (discovery).
    """

    data: bytes
    to: tuple[Endpoint, ...]
    multicast: bool = False


class ViewInstalled(NamedTuple):
    """The member has installed a view; what is delivered from now on is delivered in it.

    `departures`: the members of the view before that are not in this one, and why.
    """

    view: View
    departures: tuple[Departure, ...] = ()


class PrimaryChange(NamedTuple):
    """Whether a view is primary; it stands in front of the view's first message.

    Between a view and this nothing is known yet, and nothing is delivered.
    """

    view: View
    primary: bool
    number: int
    """The number of the last primary view that its members know of, this one if it is primary."""
    history: ViewId | None
    """The identity of the history of primary views that it belongs to: the id of the view that has
    founded it, another one after an operator's `found=True`. None if there is none yet."""
    why: str = ""
    """Why it is not primary."""


class Left(NamedTuple):
    """The member is out of the group for good; `reason` is empty after its own leave().

    `final`: its application or a defect is at fault, so another incarnation would fare no better;
    `cause` is the error, if it was one. `alone`: it has founded a group that nobody has joined.
    """

    reason: str = ""
    final: bool = False
    cause: BaseException | None = None
    alone: bool = False


class Stopped(NamedTuple):
    """The group stops as with `Block`, but the application did not ask to be blocked."""


class Dropped(NamedTuple):
    """`times` datagrams were dropped for this reason since the last such report."""

    reason: str
    sender: Endpoint
    detail: str
    times: int


class Suspected(NamedTuple):
    """A member is suspected: it was silent for too long, or `why`."""

    member: Address
    why: str = "silent for too long"


class Requested(NamedTuple):
    """A member calls; `unicast`: some members, else all, in their order."""

    sender: Address
    view: int
    number: int
    payload: bytes
    unicast: bool


class CallOver(NamedTuple):
    """This member's call is over."""

    number: int
    replies: Replies


class OtherGroup(NamedTuple):
    """There is another group of the same name, which cannot give way."""

    view: View
    endpoint: Endpoint


Report: TypeAlias = (
    Batch
    | ViewInstalled
    | PrimaryChange
    | Requested
    | CallOver
    | Left
    | Dropped
    | Suspected
    | OtherGroup
    | Block
    | Stopped
    | Unblock
    | LatchOpened
    | GetState
    | EndState
    | Begun
    | HandUp
    | Failed
)
"""What `Stack.poll_reports` returns, in the order in which it happened."""


class Pace:
    """Limits the reports of equal incidents to one for each pause, with their number."""

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._last: dict[str, float] = {}
        self._unreported: Counter[str] = Counter()

    def count(self, reason: str, now: float) -> int:
        """Count an incident; return how many to report now, 0 for no report."""
        self._unreported[reason] += 1
        if now - self._last.get(reason, float("-inf")) < self._pause:
            return 0
        self._last[reason] = now
        return self._unreported.pop(reason)
