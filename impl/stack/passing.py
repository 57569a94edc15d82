"""The events that pass between the layers of a stack, beside those of their protocols.

up       Found, Joined, Install     a view, from the bottom: whoever is below knows it first
         Mail                       a message of UNICAST's lanes CONTROL and STATE
         Ending                     connections end: what waits there can be taken once more
         Discarded                  messages that are in the state which this member will get
         Skipped                    SEQUENCER to CALLS: this member's messages that others have
         Deliver                    messages for the application, in the order of all
         Suspect, Trust of GMS      FAILURE DETECTION to GMS
         Suspend, Resume, Suspect   GMS to FLUSH; and to all: a member is gone
         Arrived                    NAKACK to PBCAST: a multicast has arrived
         Fetched                    NAKACK has what FLUSH wanted to be fetched
         Transfer                   GMS lets the state be transferred now
         AtCut                      GMS to MERGE2: the side is suspended, at its cut
         SideInstalled              GMS to MERGE2: all of the side have the merged view
down     Found, Joined, Install     to the bottom, where they turn round
         Freeze, FetchStreams       FLUSH to NAKACK
         Purge, Heard               STABLE, or PBCAST, to NAKACK
         Retransmit                 PBCAST to NAKACK: send what is kept of these
         Quiet                      FLUSH takes part in no flush, or does again
         Suspended, Unanswered      FLUSH to GMS
         SendJoinRsp                SEQUENCER to GMS: what a joiner has to know of it
         Wanted, Transferred        STATE TRANSFER to GMS
         Merging, InstallMerged     MERGE2 to GMS: suspend the side, or resume; install a view
         ToAll, ToMember            CALLS to FRAG and to the application's unicasts
         Leave, Drain, Stop         the application leaves: say no more; ask for the last
                                    acknowledgements; be out
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from raincheck.impl.messages import Address, Digest, Frame, Payloads, Run, Table
from raincheck.impl.pbcast.events import Numbers
from raincheck.impl.wire.headers import (
    Body,
    DataHeader,
    Fetch,
    JoinRspBody,
    PlacedView,
)

from .departures import Departure


class Found(NamedTuple):
    """Install a founder's first view."""

    placed: PlacedView


class Joined(NamedTuple):
    """JOIN_RSP: install a joiner's first view. `state`: it asked for the state with its JOIN."""

    source: Address
    rsp: JoinRspBody
    state: bool


class Install(NamedTuple):
    """Install the next view.

    `wanting`: the joiners that want the state, at the leader. `departures`: who is no longer a
    member, and why.
    """

    placed: PlacedView
    wanting: tuple[Address, ...] = ()
    departures: tuple[Departure, ...] = ()


class Mail(NamedTuple):
    """A message of UNICAST, from a member or a process that claims to be one."""

    source: Address
    body: Body


class Ending(NamedTuple):
    """The connections with these members end: what waits of them has to be pulled now."""

    members: tuple[Address, ...]


class Discarded(NamedTuple):
    """Messages that are not for the application: they are in the state that it will get."""

    messages: Run
    view: int
    payloads: Payloads


class Skipped(NamedTuple):
    """This member's messages that the side which prevails in a merge has delivered already."""

    payloads: Payloads


class Bundle(NamedTuple):
    """A multicast: its header, its payloads, and the datagram for retransmission."""

    header: DataHeader
    payloads: Payloads
    raw: bytes


class Arrived(NamedTuple):
    """Bundle `seqno` of the source's stream is here, for the first time."""

    source: Address
    seqno: int


class Retransmit(NamedTuple):
    """Send a member these bundles, by source, as far as they are kept."""

    to: Address
    wanted: Numbers


class Fetched(NamedTuple):
    """All of these have been fetched."""

    fetches: tuple[Fetch, ...]


class Quiet(NamedTuple):
    """Whether this member neither takes part in a flush nor leads one."""

    quiet: bool


class Unanswered(NamedTuple):
    """Participants that have delayed a flush for too long, and with what."""

    members: Mapping[Address, str]


class Transfer(NamedTuple):
    """The group is flushed: transfer the state to those that want it."""


class Wanted(NamedTuple):
    """Whether a member waits for the group to be flushed, to get the state."""

    wanted: bool


class Transferred(NamedTuple):
    """The state transfers are over."""


class Merging(NamedTuple):
    """Whether the side is to be suspended for a merge; if not, it is to go on."""

    wanted: bool


class InstallMerged(NamedTuple):
    """The side is to hold this merged view ready, and to install it."""

    placed: PlacedView


class AtCut(NamedTuple):
    """The side is suspended: who is there, and what SEQUENCER tells a joiner at this place."""

    members: tuple[Address, ...]
    table: Table = ()
    digest: Digest = Digest()
    clock: int = 0


class SideInstalled(NamedTuple):
    """All of the side have installed the merged view."""


class ToAll(NamedTuple):
    """Multicast this frame, in the order of all."""

    frame: Frame


class ToMember(NamedTuple):
    """Send this frame to a member."""

    to: Address
    frame: Frame


class Drain(NamedTuple):
    """This member has sent its last message: ask for the acknowledgements."""


class Digests(NamedTuple):
    """Return up to where each stream is delivered, and received without a gap."""

    delivered: Digest
    received: Digest
