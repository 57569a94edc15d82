"""The reports of a ring's member to its application, beside `Dropped` and `Left` of the stack."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from raincheck.impl.errors import MessageTooLarge, RaincheckError
from raincheck.impl.locks.events import Fence
from raincheck.impl.messages import Address, Endpoint, Payloads
from raincheck.impl.raincore.events import Eats, Nodelist
from raincheck.impl.stack.reports import Dropped, Left


class PassedOn(NamedTuple):
    """The member holds the token no more; a lock that the application had is lost."""


class Committed(NamedTuple):
    """The member commits a view of these members at that index of the history."""

    at: int
    members: Nodelist


class StateChanged(NamedTuple):
    """The view state has changed, or the member begins or ceases to starve (Fig. 11).

    `Eats` and `PassedOn` report the turns between eating and being hungry.
    """

    view_state: str
    token_state: str


class Delivered(NamedTuple):
    """The next batch of multicasts in the total order.

    `first` is the sender's own number of the first message; `view`, the last view committed here.
    """

    origin: Address
    k: int
    first: int
    view: int
    payloads: Payloads


class LockGranted(NamedTuple):
    """A request for a named lock holds it."""

    request: int
    fence: Fence


class LockGone(NamedTuple):
    """A request does not hold its named lock any more: the ring has gone on without it."""

    request: int


class LockTaken(NamedTuple):
    """A request that only tries has ended: somebody else holds the lock, or waits for it."""

    request: int


class LockRefused(NamedTuple):
    """A request of a client has ended: the ring has no room for it."""

    request: int
    problem: Exception


LockReport: TypeAlias = LockGranted | LockGone | LockTaken | LockRefused


class NotAdmitted(NamedTuple):
    """A member does not let this process into the ring."""

    member: Address
    endpoint: Endpoint


class NameTaken(NamedTuple):
    """A process that wants to join has the name of a member."""

    member: Address
    endpoint: Endpoint


RingReport: TypeAlias = (
    Eats
    | PassedOn
    | StateChanged
    | Committed
    | Delivered
    | LockReport
    | NameTaken
    | NotAdmitted
    | Left
    | Dropped
)
"""The reports that `RingNode.poll_reports` returns, in order."""


class TooLargeForToken(MessageTooLarge):
    """A message does not fit onto the token, which carries no fragments."""

    def __init__(self, size: int, most: int, max_datagram: int) -> None:
        RaincheckError.__init__(
            self,
            f"a message of {size} bytes does not fit onto the token: at most {most} bytes; "
            f"raise max_datagram ({max_datagram}), or split the message",
        )
