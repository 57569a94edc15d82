"""Requests to join the ring: which of them are taken, and what the others are answered.

A request has shown, by a cookie, that it comes from where it says (`door.py`). Its sender is a
guest, which may do nothing but ask, until a member's token names it.

A later life of a name replaces an earlier one. At the same endpoint it does so at once: the earlier
process has released it. From elsewhere only where the earlier one is silent when asked for a
while, so that nobody loses its place to a process that takes its name.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, NamedTuple, TypeVar

from raincheck.impl.messages import Address, Endpoint

from .config import RingConfig
from .door import Admit
from .frames import NAME_TAKEN, NOT_ADMITTED
from .transport_peers import Peer, Peers

MAX_REQUEST = 2048
"""The most bytes of a request to join."""
MAX_GUESTS = 64
"""The most guests at one time."""
GUEST_IDLE = 60.0
"""Seconds after which a silent guest makes room for another one."""
_STALE = 5  # `give_up`s after which an unanswered question is asked anew

_MINUTE = 60.0
_OF_ALL = 10  # as many times the guests of one endpoint may there be of all
_PAUSES = 15  # `starving`s within which a process that still wants to join asks again

M = TypeVar("M")


class Verdict(NamedTuple):
    """What becomes of a request that is not taken."""

    reason: str
    """Under which it is counted."""
    detail: str = ""
    answer: int = 0
    """The reason that its sender is given; 0: it is not answered."""
    ask: Endpoint | None = None
    """Where to ask whether the name is still in use."""


class Guests(Generic[M]):
    """Decides about requests from endpoints that are not known."""

    def __init__(self, config: RingConfig, peers: Peers[M], admit: Admit | None) -> None:
        self._config = config
        self._peers = peers
        self._admit = admit
        self._lately: deque[tuple[float, Endpoint]] = deque()  # guests of the last minute

    def refusal(self, sender: Address, endpoint: Endpoint, now: float) -> Verdict | None:
        """Return why this process may not ask from there; None: it may, and is a guest."""
        known = self._peers.by_name.get(sender.node)
        if known is not None and known.address == sender and known.endpoint != endpoint:
            return Verdict("stranger", f"{sender} is elsewhere")
        if self._admit is not None:
            try:
                admitted = self._admit(sender, endpoint)
            except Exception as problem:  # noqa: BLE001 (the application's defect ends no member)
                return Verdict("not_admitted", f"{sender}: admit() raised {problem!r}")
            if not admitted:
                return Verdict("not_admitted", str(sender), NOT_ADMITTED)
        if known is not None and known.endpoint != endpoint and not known.failed:
            contested = self._contested(known, now)
            if contested is not None:
                return contested
        if not self._room(sender, endpoint, now):
            return Verdict("too_many_guests", str(sender))
        if self._too_often(endpoint, now):
            return Verdict("join_delayed", f"{sender}: too many joins a minute")
        return None

    def _too_often(self, endpoint: Endpoint, now: float) -> bool:
        """Count a guest, unless there were too many in the last minute: then it waits."""
        lately, most = self._lately, self._config.joins_per_minute
        while lately and now - lately[0][0] >= _MINUTE:
            lately.popleft()
        here = sum(place == endpoint for _, place in lately)
        if here >= most or len(lately) >= _OF_ALL * most:
            return True
        lately.append((now, endpoint))
        return False

    def _contested(self, known: Peer[M], now: float) -> Verdict | None:
        """Return why a later life from elsewhere does not replace this one, None if it does."""
        detail = f"{known.address} has the name"
        if known.guest or known.endpoint is None:
            idle = now - known.heard > _PAUSES * self._config.starving
            return None if idle else Verdict("name_taken", detail)
        if known.heard >= known.asked > float("-inf"):
            known.asked = float("-inf")
            return Verdict("name_taken", detail, NAME_TAKEN)
        silent = now - known.asked
        give_up = self._config.give_up
        if give_up <= silent <= _STALE * give_up:
            return None
        if silent > _STALE * give_up:
            known.asked = now
        return Verdict("name_taken", detail, ask=known.endpoint)

    def _room(self, sender: Address, endpoint: Endpoint, now: float) -> bool:
        """Make room for one more guest, of which an endpoint has one; return whether there is."""
        guests = self._peers.guests()
        for guest in guests:
            if now - guest.heard > GUEST_IDLE and not guest.under_way:
                self._peers.forget(guest)
        guests = self._peers.guests()
        others = [each for each in guests if each.address.node != sender.node]
        return len(others) < MAX_GUESTS and all(each.endpoint != endpoint for each in others)
