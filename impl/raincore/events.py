"""Raincore's messages, events and effects.

An event is one action of `spec/Raincore.tla`. The effects of one event are to be carried out in the
order of the list, before the next event is handled. A message whose `to` is oneself is looped back:
it comes in again as an event.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from raincheck.impl.messages import Address, Count

LIMIT: Final = (1 << 53) - 2
"""No number of a token or a 911 may be greater; whoever counts on has room for one step more.

At a million passes in each second a ring gets there in 285 years. Every number up to here is exact
where numbers are floating-point, as in JSON.
"""

Nodelist: TypeAlias = tuple[Address, ...]
"""Members in the order of the ring. As a view, the empty one is NULL."""

NOBODY: Final = Address("", 0)


class Epoch(NamedTuple):
    """The epoch of a token: its number, and the member that claimed it. Compared in this order."""

    n: Count
    by: Address


ZERO: Final = Epoch(0, NOBODY)
"""The epoch of the founders' token, and of every token as the text has it."""

Number: TypeAlias = tuple[Epoch, int]
"""The number of a token: its epoch, and within it the sequence number."""


class Settled(NamedTuple):
    """A list that all its members are known to have held, and its index in the history (`at`).

    Index 0 is the founders' configuration, which is no view.
    """

    at: Count
    nodelist: Nodelist


class Mail(NamedTuple):
    """A multicast on the token: its place in the order of all, and that it is its sender's k-th."""

    ordinal: Count
    origin: Address
    k: Count


# ------------------------------------------------------------------ messages


class Token(NamedTuple):
    """The token (Fig. 6). `settled`, `pending` and `seen` are the repairs'; the last three, mail.

    `before` is what was settled before `settled`, of which everybody on that list was told.
    `pending` has the lists proposed since, `seen` who has held this list in this epoch.
    """

    to: Address
    current: Address  # on the wire: who sent it
    epoch: Epoch
    seq: Count
    nodelist: Nodelist
    global_view_number: Count
    settled: Settled
    before: Settled
    pending: tuple[Nodelist, ...]
    seen: frozenset[Address]
    mail: tuple[Mail, ...] = ()
    acks: tuple[tuple[Address, Count], ...] = ()  # by member, in order
    top: Count = 0  # the highest ordinal ever on this token

    @property
    def number(self) -> Number:
        """The token's epoch and sequence number."""
        return self.epoch, self.seq


NOTHING: Final = Settled(0, ())

NO_TOKEN: Final = Token(NOBODY, NOBODY, ZERO, 0, (), 0, NOTHING, NOTHING, (), frozenset())
"""The copy of a joiner that has never held a token."""


class Call911(NamedTuple):
    """A 911 (Fig. 7). Epoch and seq are of the originator's copy of the token.

    `phase` "ask" is the text's 911; "claim" asks for promises to take no token of an epoch before
    `claim`. `promised`, in a NO: the vetoer's own promise.
    """

    to: Address
    orig: Address
    current: Address  # on the wire: who sent it
    nodelist: Nodelist  # the list that it goes round
    epoch: Epoch
    seq: Count
    status: str = "yes"
    attempt: Count = 0
    phase: str = "ask"
    claim: Epoch = ZERO
    granted: frozenset[Address] = frozenset()
    promised: Epoch = ZERO

    @property
    def number(self) -> Number:
        """The number of the originator's copy."""
        return self.epoch, self.seq


Message: TypeAlias = Token | Call911

# ------------------------------------------------------------------ events


class Initialise(NamedTuple):
    """Event 1: a process starts, as a "founder" of the ring or as a "joiner"."""

    role: str
    founders: Nodelist
    contacts: tuple[Address, ...]


class ReceiveToken(NamedTuple):
    """Event 2: the token arrives."""

    token: Token


class Receive911(NamedTuple):
    """Event 3: a 911 arrives, perhaps the own one."""

    call: Call911


class TokenUndelivered(NamedTuple):
    """Event 4: the Transport Manager gives up a token that this member sent."""

    token: Token


class Undelivered911(NamedTuple):
    """Event 5: the Transport Manager gives up a 911 that this member sent."""

    call: Call911


class EatingTimeout(NamedTuple):
    """Event 6: the token goes on."""


class HungryTimeout(NamedTuple):
    """Event 7: the token has not come for so long that it may be lost."""


class StarvingTimeout(NamedTuple):
    """Event 8: no answer to the 911, or a NO."""


class Gap(NamedTuple):
    """This member has stood still for so long that the others may have given it up."""


class TokenDelivered(NamedTuple):
    """The Transport Manager knows that a leaver's last token has arrived."""


class Multicast(NamedTuple):
    """The application has a message for all; who runs the core keeps its payload."""


class Wanted(NamedTuple):
    """Another member of the list wants the token, as its datagram or the token says."""

    by: Address


class Leave(NamedTuple):
    """The application wants to leave the ring."""


class Recover(NamedTuple):
    """The process comes back with the state that it had."""


Event: TypeAlias = (
    Initialise
    | ReceiveToken
    | Receive911
    | TokenUndelivered
    | Undelivered911
    | EatingTimeout
    | HungryTimeout
    | StarvingTimeout
    | Gap
    | TokenDelivered
    | Multicast
    | Wanted
    | Leave
    | Recover
)

# ------------------------------------------------------------------ effects


class Eats(NamedTuple):
    """It begins to hold the token; the number is the fence of what it does meanwhile.

    The lock is granted only where `Raincore.locked` says so: not while the view state is chaos.
    """

    epoch: Epoch
    seq: int


class Committed(NamedTuple):
    """That view is at that index of its history (never NULL)."""

    at: int
    nodelist: Nodelist


class Deliver(NamedTuple):
    """The k-th multicast of that member is next in the order of all."""

    origin: Address
    k: int


class Timer(NamedTuple):
    """(Re)start the timer "eating", "hungry" or "starving"; the others stop."""

    kind: str


Effect: TypeAlias = Message | Eats | Committed | Deliver | Timer


def arrival(message: Message) -> Event:
    """Return the event that a message is at its receiver."""
    return ReceiveToken(message) if isinstance(message, Token) else Receive911(message)


def failure(message: Message) -> Event:
    """Return the event at its sender that a message was given up."""
    return TokenUndelivered(message) if isinstance(message, Token) else Undelivered911(message)
