"""A barrier over named locks: members go on when so many of them are there.

Who comes takes a read lock, which all have together; so the ring's table has a line for each, with
a fence. When the table has as many lines as there are parties, the barrier is open for these: up to
the fence of the last of them. Each that sees so takes a second read lock, with that fence in its
name, and goes on when it still has that after a whole round of the token. By then all other members
have seen this mark, and those that it lets through take it too. So none of them waits on, whoever
crashes meanwhile. Those that come later have greater fences, and wait for others.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple

from raincheck.impl.arguments import TIMEOUT, check_call
from raincheck.impl.errors import LockMisused, LocksFull, NotMember, WaitTimeout
from raincheck.impl.locks.events import Fence, Mode
from raincheck.impl.raincore.events import Epoch
from raincheck.impl.ring.fence import LockLost
from raincheck.impl.ring.reports import LockGranted, LockReport

from .lock_requests import LockRequests

_READ: Mode = "read"
_BARRIER = "barrier "
_OPENED = "opened "


class Place(NamedTuple):
    """A place in the ring's order of posts, as fences have it."""

    epoch: int
    place: int
    turn: int


@dataclass(slots=True, eq=False)
class _Party:
    """One that waits at a barrier."""

    name: str
    parties: int
    done: asyncio.Future[None]
    at: Place | None = None
    """Where it has come."""
    opened: Place | None = None
    """Up to where the barrier is open, if this one may go on."""
    marked: Epoch | None = None
    """The epoch in which it has had its mark, with a visit of the token."""
    requests: list[int] = field(default_factory=list)


class Barriers:
    """Those of one member that wait at barriers."""

    def __init__(self, requests: LockRequests) -> None:
        self._requests = requests
        self._waiting: dict[_Party, None] = {}
        self._ended: str | None = None

    async def wait(self, name: str, parties: int, timeout: float | None) -> None:
        """Wait until so many are there, and this one may go on."""
        self._requests.check_loop()
        if self._ended is not None:
            raise NotMember(self._ended)
        if self._requests.keeps_token():
            raise LockMisused(
                f"this task keeps the ring's token, and barrier {name!r} needs the token to open; "
                f"end that lock first"
            )
        party = _Party(name, parties, asyncio.get_running_loop().create_future())
        self._waiting[party] = None
        try:
            self._want(party, f"{_BARRIER}{name}")
            async with asyncio.timeout(timeout):
                await party.done
        except TimeoutError:
            assert timeout is not None
            there = self.there(name)
            short = f"{max(parties - len(there), 0)} of {parties} parties to come to {name!r}"
            whom = [f"{short}; there are {' '.join(there) or 'none'}", *self._requests.missing()]
            what = f"{self._requests.address}: waiting at barrier {name!r}"
            raise WaitTimeout(what, timeout, whom) from None
        finally:
            self._waiting.pop(party, None)
            for request in party.requests:
                self._requests.drop(request)

    def there(self, name: str) -> list[str]:
        """Return who waits, as far as this member knows."""
        opened = max(self._marks(name), default=None)
        lines = [
            line for line in self._requests.table if line.name == f"{_BARRIER}{name}" and line.fence
        ]
        return [
            str(line.member)
            for line in lines
            if opened is None or (line.fence is not None and _place(line.fence) > opened)
        ]

    def look(self) -> None:
        """Look whether the table opens a barrier to one that waits."""
        for party in list(self._waiting):
            if party.at is None or party.opened is not None or party.done.done():
                continue
            party.opened = self._opened(party.name, party.parties, party.at)
            if party.opened is not None:
                self._want(party, _mark(party.name, party.opened))

    def end(self, why: str) -> None:
        """Let nobody wait any more: the member leaves, or has stopped. The first reason stands."""
        if self._ended is not None:
            return
        self._ended = why
        for party in self._waiting:
            _fail(party, NotMember(why))

    # ------------------------------------------------------------------ inside

    def _want(self, party: _Party, name: str) -> None:
        """Take a lock to read; nobody writes under these names, so it comes with the token."""
        try:
            request = self._requests.want(name, _READ, lambda report: self._told(party, report))
        except (LocksFull, NotMember) as problem:
            _fail(party, problem)
        else:
            party.requests.append(request)

    def _told(self, party: _Party, report: LockReport) -> None:
        if not isinstance(report, LockGranted):
            _fail(
                party,
                LockLost(
                    f"{self._requests.address} has lost its place at barrier {party.name!r}: the "
                    f"ring has gone on without this member, and the others may have gone on with "
                    f"that place"
                ),
            )
        elif party.at is None:
            party.at = self._place_of(report.fence)
        elif party.opened is not None and not party.done.done():
            self._marked(party, report.fence.epoch)

    def _marked(self, party: _Party, epoch: Epoch) -> None:
        """Go on if the mark has been on the token for a round; otherwise wait for the next one."""
        settled = self._requests.settled
        if settled and party.marked == epoch:
            party.done.set_result(None)
            return
        party.marked = epoch if settled else None
        assert party.opened is not None
        if len(party.requests) > 2:
            self._requests.drop(party.requests.pop())
        self._want(party, _mark(party.name, party.opened))

    def _opened(self, name: str, parties: int, at: Place) -> Place | None:
        """Return up to where the barrier is open, if one that has come at this place may go on."""
        marks = self._marks(name)
        if any(at <= mark for mark in marks):
            return min(mark for mark in marks if at <= mark)
        before = max(marks, default=None)
        lines = (line for line in self._requests.table if line.name == f"{_BARRIER}{name}")
        places = sorted(_place(line.fence) for line in lines if line.fence is not None)
        came = [each for each in places if before is None or each > before]
        last = came[parties - 1] if len(came) >= parties else None
        return last if last is not None and at <= last else None

    def _place_of(self, fence: Fence) -> Place:
        """Return where who was told this fence stands in the table.

        Only the epoch may differ: the table has that of the post, and a fence that of the telling.
        """
        lines = (line.fence for line in self._requests.table if line.fence is not None)
        return next((_place(each) for each in lines if each[1:] == fence[1:]), _place(fence))

    def _marks(self, name: str) -> list[Place]:
        """Return up to where the barrier has been opened, by the marks that there are."""
        names = [line.name for line in self._requests.table if line.mode == _READ]
        found = (_marked_by(each, name) for each in names)
        return [mark for mark in found if mark is not None]


class Barrier:
    """Members wait for each other; made by `Ring.barrier`, with the names of `asyncio.Barrier`.

    Nobody goes on before `parties` are there at the same time. Where one goes on, all that the
    barrier has been opened for do, also if others of them crash meanwhile. One that crashes, is
    given up by the others or stops waiting is not counted any more, unless the barrier has been
    opened by then. Those in excess wait for others to come. It may be used again and again.
    """

    def __init__(self, barriers: Barriers, name: str, parties: int) -> None:
        """Use `Ring.barrier` instead."""
        self.name = name
        self.parties = parties
        self._barriers = barriers

    async def wait(self, timeout: float | None = None) -> None:
        """Wait until all parties are there.

        Raises WaitTimeout, naming who is there; LockLost if the ring has gone on without this
        member, so that nobody knows whether the others have gone on with it; LocksFull, and
        NotMember for a member that leaves. To be cancelled is as to crash.
        """
        check_call("timeout", timeout, TIMEOUT)
        await self._barriers.wait(self.name, self.parties, timeout)

    @property
    def n_waiting(self) -> int:
        """How many wait, as this member knew when it had the token last."""
        return len(self._barriers.there(self.name))

    async def __aenter__(self) -> None:
        """Wait until all parties are there."""
        await self.wait()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Do nothing: a barrier is for entering."""

    def __repr__(self) -> str:
        return f"<barrier {self.name!r} of {self.parties}, {self.n_waiting} wait>"


def _mark(name: str, opened: Place) -> str:
    """Return the name of the lock that those have for whom a barrier is open up to this place."""
    return f"{_OPENED}{opened.epoch}.{opened.place}.{opened.turn} {name}"


def _marked_by(lock: str, name: str) -> Place | None:
    """Return the place of a mark of this barrier; None for another lock."""
    if not lock.startswith(_OPENED):
        return None
    place, _, of = lock.removeprefix(_OPENED).partition(" ")
    numbers = place.split(".")
    if of != name or len(numbers) != len(Place._fields) or not all(map(str.isdecimal, numbers)):
        return None
    return Place(*map(int, numbers))


def _place(fence: Fence) -> Place:
    return Place(fence.epoch.n, fence.place, fence.turn)


def _fail(party: _Party, problem: Exception) -> None:
    if not party.done.done():
        party.done.set_exception(problem)
