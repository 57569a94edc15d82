"""What goes into a member's handlers of Raincore, and what comes out of them.

One input per action; a message that arrives is one field of its input. Outputs are messages, each
with the member that it is for (`to`, the figures' dest), and indications.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from raincheck.model.machine.machine import state
from raincheck.model.machine.runs import Address

Nodelist: TypeAlias = tuple[Address, ...]
"""Members in the order of the ring. As a view, the empty one is NULL."""

NOBODY: Final = Address("", 0)


class Epoch(NamedTuple):
    """Whose token it is: the n-th, claimed by that member. Compared in this order."""

    n: int
    by: Address


ZERO: Final = Epoch(0, NOBODY)
"""The epoch of the founders' token, and of every token as the text has it."""

Number: TypeAlias = tuple[Epoch, int]
"""The number of a token: its epoch, and within it the sequence number."""


class Settled(NamedTuple):
    """A list that all its members are known to have held, and its index in the history (`at`).

    Index 0 is the founders' configuration, which is no view.
    """

    at: int
    nodelist: Nodelist


class Mail(NamedTuple):
    """A multicast on the token: its place in the order of all, and that it is its sender's k-th."""

    ordinal: int
    origin: Address
    k: int


# ------------------------------------------------------------------ messages


@state
class Token(NamedTuple):
    """The token (Fig. 6). From `settled` to `seen` the repairs'; the last three are mail's.

    `before` was settled before `settled`; `pending` has the lists proposed since `settled`, `seen`
    who has held this list in this epoch.
    """

    to: Address
    current: Address
    epoch: Epoch
    seq: int
    nodelist: Nodelist
    global_view_number: int
    settled: Settled
    before: Settled
    pending: tuple[Nodelist, ...]
    seen: frozenset[Address]
    mail: tuple[Mail, ...] = ()
    acks: tuple[tuple[Address, int], ...] = ()  # by member, in order
    top: int = 0  # the highest ordinal ever on this token

    @property
    def number(self) -> Number:
        """Its epoch and sequence number."""
        return self.epoch, self.seq


NOTHING: Final = Settled(0, ())

NO_TOKEN: Final = Token(NOBODY, NOBODY, ZERO, 0, (), 0, NOTHING, NOTHING, (), frozenset())
"""The copy of a joiner that has never held a token."""


@state
class Call911(NamedTuple):
    """A 911 (Fig. 7). Epoch and seq are of the originator's copy of the token.

    `phase` "ask" is the text's 911; "claim" asks for promises to take no token of an epoch before
    `claim`. `promised`, in a NO: the vetoer's own promise.
    """

    to: Address
    orig: Address
    current: Address
    nodelist: Nodelist
    epoch: Epoch
    seq: int
    status: str = "yes"
    attempt: int = 0
    phase: str = "ask"
    claim: Epoch = ZERO
    granted: frozenset[Address] = frozenset()
    promised: Epoch = ZERO

    @property
    def number(self) -> Number:
        """The number of the originator's copy."""
        return self.epoch, self.seq


Message: TypeAlias = Token | Call911

# ------------------------------------------------------------------ inputs


class Initialise(NamedTuple):
    """Event 1: a process starts, as a "founder" of the ring or as a "joiner"."""

    role: str
    founders: Nodelist
    contacts: tuple[Address, ...]


class ReceiveToken(NamedTuple):
    """Event 2."""

    token: Token


class Receive911(NamedTuple):
    """Event 3."""

    call: Call911


class TokenUndelivered(NamedTuple):
    """Event 4: the Transport Manager gives this token up."""

    token: Token


class Undelivered911(NamedTuple):
    """Event 5."""

    call: Call911


class EatingTimeout(NamedTuple):
    """Event 6."""


class HungryTimeout(NamedTuple):
    """Event 7."""


class StarvingTimeout(NamedTuple):
    """Event 8."""


class TokenDelivered(NamedTuple):
    """The Transport Manager knows that a leaver's last token has arrived."""


class Multicast(NamedTuple):
    """The application has a message for all."""


class Leave(NamedTuple):
    """The application wants to leave the ring."""


class Crash(NamedTuple):
    """The process stops."""


class Recover(NamedTuple):
    """It comes back with its state."""


class Forget(NamedTuple):
    """Its state is lost while it is down."""


INPUTS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        Initialise,
        ReceiveToken,
        Receive911,
        TokenUndelivered,
        Undelivered911,
        EatingTimeout,
        HungryTimeout,
        StarvingTimeout,
        TokenDelivered,
        Multicast,
        Leave,
        Crash,
        Recover,
        Forget,
    )
}

# ------------------------------------------------------------------ indications


class Eats(NamedTuple):
    """It begins to hold the token; the number is the fence of what it does meanwhile."""

    epoch: Epoch
    seq: int


class Committed(NamedTuple):
    """That view is at that index of its history (never NULL)."""

    at: int
    nodelist: Nodelist


class Deliver(NamedTuple):
    """The k-th multicast of that member."""

    origin: Address
    k: int


class Timer(NamedTuple):
    """(Re)start the timer "eating", "hungry" or "starving"; the others stop."""

    kind: str


Output: TypeAlias = Message | Eats | Committed | Deliver | Timer

ARRIVES: Mapping[str, str] = {"Token": "ReceiveToken", "Call911": "Receive911"}
"""By which action each message arrives."""

FAILS: Mapping[str, str] = {"Token": "TokenUndelivered", "Call911": "Undelivered911"}
"""By which action each message is reported undelivered."""
