"""What one member's trace of Raincore says of its promises: what it held, committed, delivered.

Law of this file: it sees one file's records alone, as they were recorded, whether or not they are
what the model does. It judges nothing; `ringpromises.py` compares members.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

Address: TypeAlias = tuple[str, int]
Fence: TypeAlias = tuple[int, str, int, int]
"""A token's number: its epoch (a number, and by whom), and its sequence number."""

CRASHED = "crashed"
OPEN = "open"


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
    """A view that is at an index of the history."""

    place: int
    members: tuple[Address, ...]
    index: int
    at: float | None = None


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


class Entry(msgspec.Struct, array_like=True):
    """What is at an index of the history in the end; no members for NULL."""

    place: int
    members: tuple[Address, ...]


class RingSeen(msgspec.Struct, kw_only=True):
    """All that one file says."""

    locks: list[Lock] = []
    eaten: list[Eaten] = []
    commits: list[Commit] = []
    delivered: list[Delivered] = []
    states: list[State] = []
    history: list[Entry] = []
    """Its history in the end, from index 1."""
    said: int = 0
    """How many multicasts it has sent."""
    last_at: float | None = None


class RingObserver:
    """Follows the local states of one member, as recorded."""

    def __init__(self, initial: Any) -> None:
        self.seen = RingSeen()
        self._states: set[tuple[str, str]] = set()
        self._lock: Lock | None = None
        self._eats: Fence | None = None
        self._local = initial
        self._note(None, initial, 0, None)

    def take(self, after: Any, record: Any) -> None:
        """An event has led to this state; the record says which one, when, and what was told."""
        before, self._local = self._local, after
        self._note(before, after, record.index, record.at)
        for name, fields in record.told:
            if name == "Deliver":
                (node, incarnation), k = fields
                self.seen.delivered.append(
                    Delivered((node, incarnation), k, record.index, record.at)
                )

    def done(self) -> RingSeen:
        """All that was seen."""
        seen = self.seen
        history = enumerate(self._local.global_view, 1)
        seen.history = [Entry(place, _list(view)) for place, view in history]
        return seen

    def _note(self, before: Any, after: Any, index: int, at: float | None) -> None:
        seen = self.seen
        if at is not None:
            seen.last_at = at
        self._commits(before, after, index, at)
        seen.said = max(seen.said, after.said)
        up = after.up == "up"
        if up:
            pair = (after.token_state, after.view_state)
            if pair not in self._states:
                self._states.add(pair)
                seen.states.append(State(*pair, index, at))
        eats = up and after.token_state == "eating"
        self._holds(after, eats, index, at, crashed=not up)

    def _commits(self, before: Any, after: Any, index: int, at: float | None) -> None:
        if before is not None and after.global_view == before.global_view:
            return
        known = before.global_view if before is not None else ()
        for place, view in enumerate(after.global_view, 1):
            same = place <= len(known) and known[place - 1] == view
            if view and not same:
                self.seen.commits.append(Commit(place, _list(view), index, at))

    def _holds(
        self, after: Any, eats: bool, index: int, at: float | None, *, crashed: bool
    ) -> None:
        fence = _fence(after.last_token) if eats else None
        if fence is not None and fence != self._eats:
            self.seen.eaten.append(Eaten(fence, index, at))
        self._eats = fence
        locked = fence is not None and after.view_state != "chaos"
        if fence is not None and locked and self._lock is None:
            self._lock = Lock(fence, index, at=at)
            self.seen.locks.append(self._lock)
        elif not locked and self._lock is not None:
            self._lock.end, self._lock.how = index, CRASHED if crashed else ""
            self._lock = None


def _fence(token: Any) -> Fence:
    return (token.epoch.n, token.epoch.by.node, token.epoch.by.incarnation, token.seq)


def _who(address: Any) -> Address:
    return (address.node, address.incarnation)


def _list(members: Any) -> tuple[Address, ...]:
    return tuple(_who(each) for each in members)
