"""The headers of all datagrams, as msgspec structs: arrays that begin with a tag and the source.

Law of this file: types and bounds only. Whatever has a payload area after its header names the
number of payloads in `size`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

from msgspec import Meta, Struct

from raincheck.impl.merge2.events import MergeId
from raincheck.impl.messages import Address, Count, Digest, Table, View, ViewId

from .merge_bodies import MergeBody, Side
from .state_bodies import StateBody

Positive: TypeAlias = Annotated[int, Meta(ge=1, le=1 << 60)]
Host: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Port: TypeAlias = Annotated[int, Meta(ge=0, le=65_535)]
Lane: TypeAlias = Annotated[int, Meta(ge=0, le=3)]
Gaps: TypeAlias = Annotated[tuple[tuple[Positive, Positive], ...], Meta(max_length=64)]
"""Missing seqnos, as (first, last)."""
Ranges: TypeAlias = Annotated[tuple[tuple[Positive, Positive], ...], Meta(max_length=4096)]
"""Messages, as (first, last)."""
Vector: TypeAlias = tuple[Count, ...]
"""A number for each member of a view, in its order."""
REASON_LENGTH = 120
Reason: TypeAlias = Annotated[str, Meta(max_length=REASON_LENGTH)]
Merges: TypeAlias = Annotated[str, Meta(max_length=140)]

CONTROL: Lane = 0
"""UNICAST's lane for the membership; its messages are passed up at once."""
FORWARDS: Lane = 1
"""UNICAST's lane for FORWARD, or TOTAL_REQUEST; pulled while the coordinator's window is open."""
STATE: Lane = 2
"""UNICAST's lane for state transfer, whose chunks have credit of their own."""
MESSAGES: Lane = 3
"""UNICAST's lane for the application's unicasts; pulled while the application takes messages."""
LANES: tuple[Lane, ...] = (CONTROL, FORWARDS, STATE, MESSAGES)
PULLED: tuple[Lane, ...] = (FORWARDS, MESSAGES)
"""The lanes whose messages wait until they are asked for."""

# ------------------------------------------------------------------ bodies that UNICAST carries


class ForwardBody(Struct, frozen=True, array_like=True, tag="F", gc=False):
    """FORWARD; its payload area follows the header."""

    first: Positive
    size: Positive
    view: ViewId
    position: Positive
    clock: Count


class RequestBody(Struct, frozen=True, array_like=True, tag="TR", gc=False):
    """TOTAL_REQUEST, in the lane of FORWARDs; its payload area follows the header.

    `number` is the bundle's among its sender's, `tag` its place among those of view `view`.
    """

    first: Positive
    size: Positive
    view: ViewId
    number: Positive
    tag: Positive


class CumSeqAckBody(Struct, frozen=True, array_like=True, tag="TA", gc=False):
    """TOTAL_CUM_SEQ_ACK: all ids of view `view` up to `id` are delivered here."""

    view: ViewId
    id: Positive


class MessageBody(Struct, frozen=True, array_like=True, tag="M", gc=False):
    """The application's unicasts, so many of them; their payload area follows the header."""

    size: Positive


class PlacedView(NamedTuple):
    """A view and its members' endpoints, in the same order; of a merged one, its sides too."""

    view: View
    endpoints: tuple[tuple[Host, Port], ...]
    merge: MergeId | None = None
    sides: tuple[Side, ...] = ()


class JoinRspBody(Struct, frozen=True, array_like=True, tag="J", gc=False):
    """JOIN_RSP: SEQUENCER's table and digest, and NAKACK's digest `bundles`, of one cut."""

    placed: PlacedView
    table: Table
    digest: Digest
    bundles: Digest
    clock: Count


class Fetch(NamedTuple):
    """The stream of `sender` up to `at` belongs to the old view; `holder` has it."""

    sender: Address
    at: Count
    holder: Address


class Fid(NamedTuple):
    """A flush: attempt `attempt` of that requester, begun when it was in view `view`."""

    view: Count
    requester: Address
    attempt: Positive


class StartFlush(Struct, frozen=True, array_like=True, tag="S", gc=False):
    """START_FLUSH: block(), and say what you have; who is not a participant is gone."""

    fid: Fid
    participants: tuple[Address, ...]


class FlushCompleted(Struct, frozen=True, array_like=True, tag="C", gc=False):
    """FLUSH_COMPLETED: blocked, with `digest`; the membership adds the last views installed."""

    fid: Fid
    digest: Digest
    piggyback: tuple[PlacedView, ...] = ()


class Reconcile(Struct, frozen=True, array_like=True, tag="W", gc=False):
    """RECONCILE: get what you lack of these."""

    fid: Fid
    fetches: tuple[Fetch, ...]


class ReconcileOk(Struct, frozen=True, array_like=True, tag="O", gc=False):
    """RECONCILED: all that I lacked is here."""

    fid: Fid


class StopFlush(Struct, frozen=True, array_like=True, tag="T", gc=False):
    """STOP_FLUSH: unblock()."""

    fid: Fid


class NewViewBody(Struct, frozen=True, array_like=True, tag="GV", gc=False):
    """NEW_VIEW: hold this view ready. `departures`: who is no longer in it, and why."""

    placed: PlacedView
    departures: tuple[tuple[Address, Reason], ...] = ()


class ViewAckBody(Struct, frozen=True, array_like=True, tag="GA", gc=False):
    """VIEW_ACK: view `counter` is held ready here."""

    counter: Positive


class InstallBody(Struct, frozen=True, array_like=True, tag="GI", gc=False):
    """INSTALL: all survivors hold view `counter`; install it."""

    counter: Positive


class NotJoinedBody(Struct, frozen=True, array_like=True, tag="GN", gc=False):
    """NOT_JOINED: of view `counter` I am told to be a member, but I have had no JOIN_RSP.

    `state`: this process wants the group's state.
    """

    counter: Positive
    state: bool


GmsBody: TypeAlias = NewViewBody | ViewAckBody | InstallBody | NotJoinedBody
FlushBody: TypeAlias = StartFlush | FlushCompleted | Reconcile | ReconcileOk | StopFlush
TotalBody: TypeAlias = RequestBody | CumSeqAckBody
Body: TypeAlias = (
    ForwardBody | TotalBody | MessageBody | JoinRspBody | StateBody | FlushBody | GmsBody
)

# ------------------------------------------------------------------ headers


class UnicastHeader(Struct, frozen=True, array_like=True, tag="U", gc=False):
    """UNICAST: datagram `seqno` of a connection, on one of its lanes."""

    source: Address
    to: Address
    lane: Lane
    connection: Positive
    seqno: Positive
    body: Body


class UnicastAck(Struct, frozen=True, array_like=True, tag="A", gc=False):
    """All up to `seqno` has arrived, up to `consumed` it was passed up; `missing` has not."""

    source: Address
    to: Address
    lane: Lane
    connection: Positive
    seqno: Count
    consumed: Count
    missing: Gaps


class DataHeader(Struct, frozen=True, array_like=True, tag="D", gc=False):
    """NAKACK: bundle `seqno` of the source's stream: a DATA, or unordered messages of the source.

    Of the latter `first` and `position` are 0: SEQUENCER numbers them not. Of a TOTAL_BCAST
    `position` is the id, and `clock` the bundle's number among its sender's.
    """

    source: Address
    seqno: Positive
    sender: Address
    first: Count
    size: Positive
    view: ViewId
    position: Count
    clock: Count


class ReceivedUpTo(Struct, frozen=True, array_like=True, tag="K", gc=False):
    """Safe delivery: the source has the first `place` messages of its coordinator's stream."""

    source: Address
    view: ViewId
    place: Positive
    clock: Count


class SafeUpTo(Struct, frozen=True, array_like=True, tag="V", gc=False):
    """Safe delivery: all of the view have the first `place` messages of the source's stream."""

    source: Address
    view: ViewId
    place: Positive
    clock: Count


class Nak(Struct, frozen=True, array_like=True, tag="N", gc=False):
    """Request for retransmission of these bundles of the stream of `sender`."""

    source: Address
    sender: Address
    missing: Gaps


class Alive(Struct, frozen=True, array_like=True, tag="H", gc=False):
    """A sign of life, an announcement and an acknowledgement.

    View `view` is installed. The source's own stream goes up to `highest`; `asking` is whether it
    waits for an acknowledgement. `delivered` is how far it has delivered the receivers' streams.
    """

    source: Address
    view: ViewId
    highest: Count
    asking: bool
    delivered: Digest


class AreYouAlive(Struct, frozen=True, array_like=True, tag="Y", gc=False):
    """You have been silent for long: give a sign of life."""

    source: Address
    to: Address


class StableDigest(Struct, frozen=True, array_like=True, tag="S", gc=False):
    """STABLE: how far the source has delivered, and received, the streams of view `view`."""

    source: Address
    view: ViewId
    delivered: Digest
    received: Digest


class Stability(Struct, frozen=True, array_like=True, tag="Z", gc=False):
    """STABLE: all members of view `view` have delivered what `digest` covers."""

    source: Address
    view: ViewId
    digest: Digest


class GossipCopy(Struct, frozen=True, array_like=True, tag="P", gc=False):
    """PBCAST: a copy of gossip `number` of a member of view `view`.

    Members are their places in the view: `origin`, and the bits of `seen`, the lowest first. The
    vectors have a number for each: what the origin had delivered, the lowest of what those who have
    seen the gossip had, and what the source has.
    """

    source: Address
    view: ViewId
    origin: Count
    number: Positive
    seen: Annotated[bytes, Meta(max_length=8192)]
    digest: Vector
    lowest: Vector
    has: Vector


class GossipRequest(Struct, frozen=True, array_like=True, tag="R", gc=False):
    """PBCAST: send these messages of view `view`, by the places of their senders in it."""

    source: Address
    view: ViewId
    wanted: tuple[tuple[Count, Ranges], ...]


class JoinReq(Struct, frozen=True, array_like=True, tag="Q", gc=False):
    """Please admit me; to others who are joining: I am a candidate too.

    `stack` is what a member's stack has to have in common with the others'; `state` asks for the
    group's state as well. `cookie` is what the leader has last given to this process: a request
    that was under way for long, or is sent again by somebody else, does not have it. The answer
    has `question` back, so that only who is asked can answer.
    """

    source: Address
    stack: Annotated[str, Meta(max_length=300)]
    state: bool
    cookie: Count
    question: Count


class GroupQuestion(Struct, frozen=True, array_like=True, tag="W", gc=False):
    """A member asks: are you in another group of this name? With `cookie` as in JoinReq.

    The first answer is a JoinHint with a cookie, the second one Excluded.
    """

    source: Address
    cookie: Count
    question: Count


class JoinHint(Struct, frozen=True, array_like=True, tag="C", gc=False):
    """Ask the leader, who is found here; port 0: I am the leader, ask with this cookie."""

    source: Address
    host: Host
    port: Port
    cookie: Count
    question: Count


class JoinRefused(Struct, frozen=True, array_like=True, tag="X", gc=False):
    """The answer to a JoinReq that is refused."""

    source: Address
    to: Address
    reason: Annotated[str, Meta(max_length=800)]
    question: Count


class Excluded(Struct, frozen=True, array_like=True, tag="E", gc=False):
    """You are not a member of my view.

    `merges`: what my group does when it meets another one (`StackConfig.merging`); whoever
    coordinates it is found at `host` and `port`, or is the source if the port is 0.
    """

    source: Address
    to: Address
    view: View
    merges: Merges = "leave"
    host: Host = "here"
    port: Port = 0


class MergeMessage(Struct, frozen=True, array_like=True, tag="G", gc=False):
    """MERGE2: from one coordinator to another one, of another group of this name.

    `cookie` is what the receiver has last given to the source, `question` what its answer has back,
    as in JoinReq; `merges` is as in Excluded.
    """

    source: Address
    to: Address
    cookie: Count
    question: Count
    merges: Merges
    body: MergeBody


class Leaving(Struct, frozen=True, array_like=True, tag="L", gc=False):
    """I have stopped; take me out of the view."""

    source: Address


Sized: TypeAlias = DataHeader | ForwardBody | RequestBody | MessageBody
"""What has a payload area: a header, or the body of one of UNICAST."""

Header: TypeAlias = (
    UnicastHeader
    | UnicastAck
    | DataHeader
    | ReceivedUpTo
    | SafeUpTo
    | Nak
    | Alive
    | AreYouAlive
    | StableDigest
    | Stability
    | GossipCopy
    | GossipRequest
    | JoinReq
    | GroupQuestion
    | JoinHint
    | JoinRefused
    | Excluded
    | MergeMessage
    | Leaving
)
