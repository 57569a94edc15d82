"""The inputs and outputs of a member's handlers of Raincore.

There is one input per action; a message that arrives is one field of its input. Outputs are
messages, each with the member it is for (`to`, the figures' dest), and indications.
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
    """The epoch of a token: the n-th, claimed by that member. Epochs compare in this order."""

    n: int
    by: Address


ZERO: Final = Epoch(0, NOBODY)
"""The epoch of the founders' token, and of every token in the text."""

Number: TypeAlias = tuple[Epoch, int]
"""The number of a token: its epoch, and within it the sequence number."""


class Settled(NamedTuple):
    """A list known to have been held by all its members, and its index (`at`) in the history.

    Index 0 is the founders' configuration, which is no view.
    """

    at: int
    nodelist: Nodelist


class Mail(NamedTuple):
    """A multicast on the token: its ordinal among all, and its number at its sender."""

    ordinal: int
    origin: Address
    k: int


# ------------------------------------------------------------------ messages


@state
class Token(NamedTuple):
    """The token (Fig. 6).

    The fields from `settled` to `seen` belong to the repairs, the last three to mail. `before` was
    settled before `settled`; `pending` holds the lists proposed since `settled`, `seen` the members
    that have held this list in this epoch.
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
        """Return the token's epoch and sequence number."""
        return self.epoch, self.seq


NOTHING: Final = Settled(0, ())

NO_TOKEN: Final = Token(NOBODY, NOBODY, ZERO, 0, (), 0, NOTHING, NOTHING, (), frozenset())
"""The copy of a joiner that has never held a token."""


@state
class Call911(NamedTuple):
    """A 911 (Fig. 7). `epoch` and `seq` are those of the originator's copy of the token.

    `phase` "ask" is the text's 911; "claim" asks for promises to take no token of an epoch before
    `claim`. In a NO, `promised` is the vetoer's own promise.
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
        """Return the number of the originator's copy."""
        return self.epoch, self.seq


Message: TypeAlias = Token | Call911

# ------------------------------------------------------------------ inputs


class Initialise(NamedTuple):
    """Event 1: a process starts, as a "founder" of the ring or as a "joiner"."""

    role: str
    founders: Nodelist
    contacts: tuple[Address, ...]


class ReceiveToken(NamedTuple):
    """Event 2: the token arrives."""

    token: Token


class Receive911(NamedTuple):
    """Event 3: a 911 arrives."""

    call: Call911


class TokenUndelivered(NamedTuple):
    """Event 4: the Transport Manager gives up delivering this token."""

    token: Token


class Undelivered911(NamedTuple):
    """Event 5: the Transport Manager gives up delivering this 911."""

    call: Call911


class EatingTimeout(NamedTuple):
    """Event 6: the eating timer fires."""


class HungryTimeout(NamedTuple):
    """Event 7: the hungry timer fires."""


class StarvingTimeout(NamedTuple):
    """Event 8: the starving timer fires."""


class Gap(NamedTuple):
    """The member goes on, and knows that it has stood still for a while."""


class TokenDelivered(NamedTuple):
    """The Transport Manager knows that a leaver's last token has arrived."""


class Multicast(NamedTuple):
    """The application multicasts a message."""


class Wanted(NamedTuple):
    """The member hears that another one of its list wants the token."""

    by: Address


class Leave(NamedTuple):
    """The application wants to leave the ring."""


class Crash(NamedTuple):
    """The process crashes."""


class Recover(NamedTuple):
    """The process comes back with its state."""


class Forget(NamedTuple):
    """The state of a crashed process is lost."""


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
        Gap,
        TokenDelivered,
        Multicast,
        Wanted,
        Leave,
        Crash,
        Recover,
        Forget,
    )
}

# ------------------------------------------------------------------ indications


class Eats(NamedTuple):
    """The member begins to hold the token, whose number is the fence of its actions meanwhile."""

    epoch: Epoch
    seq: int


class Committed(NamedTuple):
    """The member has that view, which is never NULL, at that index of its history."""

    at: int
    nodelist: Nodelist


class Deliver(NamedTuple):
    """Deliver the k-th multicast of that member."""

    origin: Address
    k: int


class Timer(NamedTuple):
    """(Re)start the timer "eating", "hungry" or "starving"; the others stop."""

    kind: str


Output: TypeAlias = Message | Eats | Committed | Deliver | Timer

ARRIVES: Mapping[str, str] = {"Token": "ReceiveToken", "Call911": "Receive911"}
"""The action by which each message arrives."""

FAILS: Mapping[str, str] = {"Token": "TokenUndelivered", "Call911": "Undelivered911"}
"""The action by which each message is reported undelivered."""
