"""The facts of one member's Raincore trace: what it held, committed and delivered.

Law of this file: it sees one file's records alone, as they were recorded, whether or not they are
what the model does. It judges nothing; `ringpromises.py` compares members.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any, TypeAlias

import msgspec

Address: TypeAlias = tuple[str, int]
Fence: TypeAlias = tuple[int, str, int, int]
"""A token's number: its epoch (a number, and by whom), and its sequence number."""

CRASHED = "crashed"
OPEN = "open"
TRUSTS = "agreement"


class Lock(msgspec.Struct, array_like=True):
    """A time in which a member might do what only one may do: EATING, and not in CHAOS."""

    first: Fence
    start: int
    """The event by which it began, and, 0 while it goes on, the one by which it ended."""
    end: int = 0
    how: str = OPEN
    """How it ended: open, crashed, or "" in good order."""
    at: float | None = None
    """Seconds since the run began, where the records say."""


class Commit(msgspec.Struct, array_like=True):
    """What an event put at an index of the history: a view, or NULL where there was one."""

    place: int
    members: tuple[Address, ...]
    """None for NULL."""
    index: int
    at: float | None = None


class Said(msgspec.Struct, array_like=True):
    """How many multicasts the member had sent from that event on."""

    count: int
    index: int


class Delivered(msgspec.Struct, array_like=True):
    """A multicast given to the application."""

    origin: Address
    k: int
    index: int
    at: float | None = None


class Eaten(msgspec.Struct, array_like=True):
    """A number at which the member held the token."""

    fence: Fence
    index: int
    at: float | None = None


class State(msgspec.Struct, array_like=True):
    """A pair of states in which the member was, and the first event that led there."""

    token: str
    view: str
    index: int
    at: float | None = None
    up: bool = True
    """Whether it was up then: who is down or has left keeps its states."""


class Agreed(msgspec.Struct, array_like=True):
    """A time in which the member was up, and agreed on this list."""

    members: tuple[Address, ...]
    start: int
    end: int = 0
    """0 while it goes on."""
    at: float | None = None


class RingSeen(msgspec.Struct, kw_only=True):
    """All that one file says."""

    locks: list[Lock] = []
    eaten: list[Eaten] = []
    commits: list[Commit] = []
    delivered: list[Delivered] = []
    states: list[State] = []
    said: list[Said] = []
    forgot: list[int] = []
    """The events by which it lost its state, and kept its name."""
    agreed: Agreed | None = None
    """The last time in which it agreed with the others."""
    up: str = ""
    """In the end."""
    last: int = 0
    """Its last event."""


class RingObserver:
    """Follows the local states of one member, as recorded."""

    def __init__(self, initial: Any) -> None:
        self.seen = RingSeen()
        self._states: set[tuple[str, str, bool]] = set()
        self._lock: Lock | None = None
        self._eats: Fence | None = None
        self._local = initial
        self._note(None, initial, 0, None)

    def take(self, after: Any, index: int, at: float | None, outputs: Iterable[Any]) -> None:
        """That event has led to this state, then, and put this out."""
        before, self._local = self._local, after
        self._note(before, after, index, at)
        for each in outputs:
            if each.__class__.__name__ == "Deliver":
                self.seen.delivered.append(Delivered(_who(each.origin), each.k, index, at))

    def done(self) -> RingSeen:
        """All that was seen."""
        return self.seen

    def _note(self, before: Any, after: Any, index: int, at: float | None) -> None:
        seen = self.seen
        seen.up, seen.last = after.up, index
        up = after.up == "up"
        if before is None or after.global_view is not before.global_view:
            self._commits(before, after, index, at)
        if after.said > (seen.said[-1].count if seen.said else 0):
            seen.said.append(Said(after.said, index))
        if before is not None and before.up != "new" and after.up == "new":
            seen.forgot.append(index)
        pair = (after.token_state, after.view_state, up)
        if pair not in self._states:
            self._states.add(pair)
            seen.states.append(State(after.token_state, after.view_state, index, at, up))
        agrees = up and after.view_state == TRUSTS
        self._agrees(after.last_token.nodelist if agrees else None, index, at)
        fence = _fence(after.last_token) if up and after.token_state == "eating" else None
        if fence is not None and fence != self._eats:
            seen.eaten.append(Eaten(fence, index, at))
        self._eats = fence
        locked = fence if after.view_state != "chaos" else None
        self._locks(locked, index, at, crashed=after.up == "down")

    def _commits(self, before: Any, after: Any, index: int, at: float | None) -> None:
        known = before.global_view if before is not None else ()
        if after.global_view == known:
            return
        entries = zip_longest(known, after.global_view, fillvalue=())
        for place, (old, new) in enumerate(entries, 1):
            if new != old:
                self.seen.commits.append(Commit(place, _list(new), index, at))

    def _agrees(self, members: Any, index: int, at: float | None) -> None:
        agreed = self.seen.agreed
        if agreed is not None and not agreed.end:
            if agreed.members == members:
                return
            agreed.end = index
        if members is not None:
            self.seen.agreed = Agreed(_list(members), index, at=at)

    def _locks(self, fence: Fence | None, index: int, at: float | None, *, crashed: bool) -> None:
        """Whether it has the lock now, and with which token; another epoch is another lock."""
        lock = self._lock
        if lock is not None:
            if fence is not None and fence[:3] == lock.first[:3]:
                return
            lock.end, lock.how = index, CRASHED if crashed else ""
            self._lock = None
        if fence is not None:
            self._lock = Lock(fence, index, at=at)
            self.seen.locks.append(self._lock)


def _fence(token: Any) -> Fence:
    return (token.epoch.n, token.epoch.by.node, token.epoch.by.incarnation, token.seq)


def _who(address: Any) -> Address:
    return (address.node, address.incarnation)


def _list(members: Any) -> tuple[Address, ...]:
    return tuple(_who(each) for each in members)
