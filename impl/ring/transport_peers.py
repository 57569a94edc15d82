"""The Transport Manager's peers: its knowledge of them, and its reports on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from raincheck.impl.messages import Address, Count, Endpoint
from raincheck.impl.stack.timers import Backoff

from .config import RingConfig
from .frames import WINDOW, Mask

MAX_PEERS = 1024
"""The most peers that are remembered; the earliest are forgotten."""
_MASK = (1 << WINDOW) - 1

M = TypeVar("M")
B = TypeVar("B")


class Acknowledged(NamedTuple, Generic[M]):
    """The message has arrived."""

    to: Address
    message: M


class Undelivered(NamedTuple, Generic[M]):
    """The message was given up; it may have arrived all the same."""

    to: Address
    message: M


class Arrived(NamedTuple, Generic[B]):
    """A message has arrived, for the first time."""

    source: Address
    body: B
    guest: bool = False
    """Whether it is of a process that asks to join."""


class Found(NamedTuple):
    """A member has answered HELLO; its token is of that epoch."""

    member: Address
    endpoint: Endpoint
    epoch: int


class Refused(NamedTuple):
    """A member does not let this joiner in; `taken`: because that life has its name."""

    by: Address
    endpoint: Endpoint
    taken: Address | None


class Replaced(NamedTuple):
    """A later life has taken this member's name."""

    by: Address


class Wants(NamedTuple):
    """A peer says that it wants the token."""

    member: Address


Notice: TypeAlias = (
    Acknowledged[M] | Undelivered[M] | Arrived[B] | Found | Refused | Replaced | Wants
)
"""The Transport Manager's notices to its user, in order."""


class Kept(NamedTuple):
    """The numbers that the same life needs after a restart to detect duplicates."""

    floor: Count = 0
    peers: tuple[tuple[Address, Endpoint | None, Count, Count, Mask], ...] = ()
    """Of each peer: its endpoint, the last number sent, the highest received, and the mask."""


class Sent(Generic[M]):
    """A message that is not acknowledged yet."""

    __slots__ = ("first", "frame", "give_up", "message", "tries")

    def __init__(self, message: M, frame: bytes, now: float, give_up: float) -> None:
        self.message = message
        self.frame = frame
        self.first = now
        self.give_up = now + give_up
        self.tries = 1


class Peer(Generic[M]):
    """The latest life of a node, as far as it is known here."""

    __slots__ = (
        "address",
        "asked",
        "closed",
        "cookie",
        "endpoint",
        "failed",
        "guest",
        "heard",
        "highest",
        "mask",
        "sent",
        "timer",
        "under_way",
    )

    def __init__(self, address: Address, endpoint: Endpoint | None, timer: Backoff) -> None:
        self.address = address
        self.endpoint = endpoint
        self.timer = timer
        self.sent = 0  # the number of the last message to it
        self.under_way: dict[int, Sent[M]] = {}
        self.failed = False  # a message was given up, and the peer not heard since
        self.closed = False  # it has said that it takes no more messages, and not been heard since
        self.guest = False  # it has asked to join, and is on no list that is known
        self.cookie = 0  # what it gave to show it from where it is sent to
        self.heard = float("-inf")  # when the last datagram of it came
        self.asked = float("-inf")  # when it was first asked whether it still has its name
        self.highest = 0  # the highest number that arrived from it
        self.mask = 0  # bit i: number highest - i has arrived

    def has(self, number: int) -> bool | None:
        """Return whether that message has arrived; None if it is too old to tell."""
        behind = self.highest - number
        if behind >= WINDOW:
            return None
        return behind >= 0 and bool(self.mask >> behind & 1)

    def take(self, number: int) -> None:
        """Note that that message has arrived."""
        behind = self.highest - number
        if behind < 0:
            self.mask = (self.mask << min(-behind, WINDOW) | 1) & _MASK
            self.highest = number
        else:
            self.mask |= 1 << behind


class Peers(Generic[M]):
    """All peers by name, each with its latest life."""

    def __init__(self, config: RingConfig, ended: Callable[[Peer[M]], None]) -> None:
        """`ended` is called with a life that is over."""
        self.by_name: dict[str, Peer[M]] = {}
        """In the order in which they were last heard."""
        self.places = 0
        """Grows whenever a peer's endpoint changes."""
        self.changed = False
        """Whether `kept` has changed since this was set to False."""
        self._config = config
        self._ended = ended
        self._floor = 0  # no number above it has been used for a peer that is not known

    def __len__(self) -> int:
        return len(self.by_name)

    def get(self, address: Address) -> Peer[M] | None:
        """Return that life, if it is the latest one known."""
        peer = self.by_name.get(address.node)
        return peer if peer is not None and peer.address == address else None

    def endpoint_of(self, address: Address) -> Endpoint | None:
        """Return a member's endpoint, None if it is not known (any more)."""
        peer = self.get(address)
        return peer.endpoint if peer is not None else None

    def has_failed(self, address: Address) -> bool:
        """Return whether a message to it failed and it is silent since, or its life is over."""
        known = self.by_name.get(address.node)
        if known is None or known.address == address:
            return known is not None and known.failed
        return known.address.incarnation > address.incarnation

    def latest(self, address: Address) -> Peer[M]:
        """Return the peer; a life later than the one known replaces it, and begins with nothing."""
        known = self.by_name.get(address.node)
        if known is not None:
            if known.address.incarnation >= address.incarnation:
                return known
            self._ended(known)
        elif len(self) >= MAX_PEERS:
            idle = next((peer for peer in self.by_name.values() if not peer.under_way), None)
            if idle is not None:
                self.forget(idle)
        timer = Backoff(self._config.retransmit_after, self._config.retransmit_max)
        peer: Peer[M] = Peer(address, None, timer)
        peer.sent = self._floor
        self.by_name[address.node] = peer
        self.places += 1
        self.changed = True
        return peer

    def learn(self, address: Address, endpoint: Endpoint) -> None:
        """Learn a peer's endpoint from another member; what it has shown itself takes precedence.

        Only members are named by members: it is no guest any more.
        """
        peer = self.latest(address)
        if peer.address == address:
            peer.guest = False
            if peer.endpoint is None:
                self.place(peer, endpoint)

    def guests(self) -> list[Peer[M]]:
        """Return the peers that have asked to join."""
        return [peer for peer in self.by_name.values() if peer.guest]

    def admit(self, members: Iterable[Address]) -> None:
        """Take these for guests no more."""
        for member in members:
            if (peer := self.get(member)) is not None:
                peer.guest = False

    def only(self, members: Collection[Address]) -> None:
        """Take all peers but these for guests."""
        for peer in self.by_name.values():
            peer.guest = peer.address not in members

    def forget(self, peer: Peer[M]) -> None:
        """Forget a peer; if it comes again it gets numbers that it has not seen."""
        self._floor = max(self._floor, peer.sent)
        del self.by_name[peer.address.node]

    def place(self, peer: Peer[M], endpoint: Endpoint) -> None:
        """Set a peer's endpoint."""
        if peer.endpoint != endpoint:
            peer.endpoint = endpoint
            self.places += 1

    def heard(self, peer: Peer[M], endpoint: Endpoint, now: float) -> None:
        """Note a datagram of the peer from that endpoint."""
        peer.failed = peer.closed = False
        peer.heard = now
        self.place(peer, endpoint)
        node = peer.address.node
        if next(reversed(self.by_name)) != node:
            self.by_name[node] = self.by_name.pop(node)

    def kept(self) -> Kept:
        """Return what a restart of this life needs."""
        known = [(p.address, p.endpoint, p.sent, p.highest, p.mask) for p in self.by_name.values()]
        return Kept(self._floor, tuple(known))

    def restore(self, kept: Kept) -> None:
        """Restore the peers."""
        self._floor = kept.floor
        for address, endpoint, sent, highest, mask in kept.peers:
            peer = self.latest(address)
            peer.endpoint = endpoint
            peer.sent, peer.highest, peer.mask = sent, highest, mask
