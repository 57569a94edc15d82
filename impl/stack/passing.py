"""The events that pass between the layers of a stack, beside those of their protocols.

up       Found, Joined, Install     a view, from the bottom: whoever is below knows it first
         Mail                       a message of UNICAST's lanes CONTROL and STATE
         Waits                      a message of another lane waits to be taken (`pull`)
         Deliver                    messages for the application, in the order of all
         Suspect, Trust of GMS      FAILURE DETECTION to GMS
         Suspend, Resume, Suspect   GMS to FLUSH; and to all: a member is gone
         Fetched                    NAKACK has what FLUSH wanted to be fetched
         Transfer                   GMS lets the state be transferred now
down     Found, Joined, Install     to the bottom, where they turn round
         Freeze, FetchStreams       FLUSH to NAKACK
         Purge, Heard               STABLE to NAKACK
         Quiet                      FLUSH takes part in no flush, or does again
         Suspended, Unanswered      FLUSH to GMS
         SendJoinRsp                SEQUENCER to GMS: what a joiner has to know of it
         Wanted, Transferred        STATE TRANSFER to GMS
         Leave, Drain, Stop         the application leaves: say no more; ask for the last
                                    acknowledgements; be out
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from raincheck.impl.messages import Address, Digest, Payloads
from raincheck.impl.wire.headers import (
    Body,
    DataHeader,
    Fetch,
    JoinRspBody,
    Lane,
    PlacedView,
)


class Found(NamedTuple):
    """Be in a founder's first view."""

    placed: PlacedView


class Joined(NamedTuple):
    """JOIN_RSP: be in a first view. `state`: this process asked for the state with the join."""

    source: Address
    rsp: JoinRspBody
    state: bool


class Install(NamedTuple):
    """The next view; these of its joiners want the state, if this member led the change."""

    placed: PlacedView
    wanting: tuple[Address, ...] = ()


class Mail(NamedTuple):
    """A message of a member, or of somebody who says so."""

    source: Address
    body: Body


class Waits(NamedTuple):
    """Something waits to be taken of that lane."""

    lane: Lane


class Bundle(NamedTuple):
    """A multicast: its header, its contents, and the datagram to send again."""

    header: DataHeader
    payloads: Payloads
    raw: bytes


class Fetched(NamedTuple):
    """All of that is here."""

    fetches: tuple[Fetch, ...]


class Quiet(NamedTuple):
    """This member takes part in no flush, and runs none; or it does."""

    quiet: bool


class Unanswered(NamedTuple):
    """Participants that let a flush wait for too long, and with what."""

    members: Mapping[Address, str]


class Transfer(NamedTuple):
    """The group stands still: let those get the state who want it."""


class Wanted(NamedTuple):
    """Whether somebody waits for the group to stand still, to get the state."""

    wanted: bool


class Transferred(NamedTuple):
    """Nobody is waited for any more."""


class Drain(NamedTuple):
    """This member says no more: do not wait until acknowledgements come by themselves."""


class Digests(NamedTuple):
    """How far each member's stream is delivered, and received without a gap."""

    delivered: Digest
    received: Digest
