"""The named locks of one member, without tasks: LOCKS' core, and what waits for the token.

A request waits here until the token comes; then it is handed to the core, if the table still fits
onto a token with it, and the core says what is to be posted. The engine puts that onto the token as
the first batch of the visit. So a request that is taken back before has never been seen by anybody,
and one that only tries is handed over only if nothing is in its way: then it is granted at once.

A member that finds itself without a good table holds nothing, and asks again for what it waits for,
as if it had never asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from raincheck.impl.errors import LocksFull
from raincheck.impl.locks.core import Locks
from raincheck.impl.locks.events import (
    Arrive,
    Depart,
    Drop,
    Effect,
    Fence,
    Held,
    Lost,
    Mode,
    Post,
    Table,
    Want,
)
from raincheck.impl.locks.events import Request as Line
from raincheck.impl.messages import Address
from raincheck.impl.raincore.events import Epoch

from .config import RingConfig
from .posts import size_of, written
from .reports import LockGone, LockGranted, LockReport, LockTaken

SLACK: Final = 1024
"""Bytes of the token's mail that are left to posts while nobody has a named lock."""


_IN_THE_WAY: Final[dict[Mode, tuple[Mode, ...]]] = {"write": ("write", "read"), "read": ("write",)}
"""The requests behind which one of a mode has to wait, held or not."""


class _Request(NamedTuple):
    name: str
    mode: Mode
    tries: bool
    size: int


class LockDesk:
    """What one member wants of named locks, and what becomes of it."""

    def __init__(
        self,
        me: Address,
        config: RingConfig,
        counters: Counter[str],
        *,
        session: int,
        epoch: Epoch | None,
        founds: bool,
    ) -> None:
        """`session` and the others are those of the core."""
        self.session = session
        self._config = config
        self._counters = counters
        self._core = Locks(me, session, epoch=epoch, founds=founds)
        self.on_session: Callable[[Locks], None] = lambda _core: None
        """Called with the core of another session that is begun here."""
        self._waiting: dict[int, _Request] = {}  # not handed to the core, in the order of asking
        self._posted: dict[int, tuple[int, _Request]] = {}  # the core's number of each other one
        self._last = 0
        self._leftover = False  # the table has lines of this member that it does not want
        self._full = False  # what waits does not fit into the table that was here last
        self._sized: tuple[Table, int] = ((), 0)
        self._reports: list[LockReport] = []

    # ------------------------------------------------------------------ the application

    def want(self, name: str, mode: Mode, *, tries: bool) -> int:
        """Ask for a lock with the next token; return the request's number.

        `tries`: only if it is granted at once then, because no other request is in its way. Raises
        LocksFull.
        """
        size = size_of(Line(self._core.me, 0, 0, name, mode))
        most = self._config.locks
        there = self._size + sum(each.size for each in self._waiting.values())
        if there + size > most:
            lines = len(self._core.table) + len(self._waiting)
            raise LocksFull(
                name,
                f"with it the {lines} requests of the whole ring would take more than the {most} "
                f"bytes that a token has for them; hold fewer locks at once, give them shorter "
                f"names, or raise max_datagram",
            )
        self._last += 1
        self._waiting[self._last] = _Request(name, mode, tries, size)
        self._full = False
        return self._last

    def drop(self, number: int) -> None:
        """Give a lock back, or wait for it no longer; no effect for a request that has ended."""
        if self._waiting.pop(number, None) is not None:
            return
        request, _ = self._posted.pop(number, (0, None))
        if request:
            self._core.handle(Drop(request))
            self._leftover = True

    def give_up(self) -> None:
        """Drop everything."""
        self._waiting.clear()
        for number in list(self._posted):
            self.drop(number)

    @property
    def core(self) -> Locks:
        """LOCKS' core: that of this session."""
        return self._core

    @property
    def pending(self) -> bool:
        """Whether there is something to say with the next token."""
        return self._leftover or (bool(self._waiting) and not self._full)

    @property
    def quiet(self) -> bool:
        """Whether nobody has or wants a lock, and the table is good: a visit changes nothing then.

        Most visits are of this kind, and cost nothing.
        """
        core = self._core
        if core.wishes or core.table or core.askers or self._waiting:
            return False
        return core.begun is None and core.base is not None and core.base == core.epoch

    @property
    def reserve(self) -> int:
        """Bytes of the token's mail that are left to posts."""
        return SLACK + self._size

    @property
    def table(self) -> Table:
        """Who held and who waited when the token was here last, as far as this member knows."""
        return self._core.table

    def holder(self, name: str) -> Address | None:
        """Return who held that name when the token was here last, as far as this member knows."""
        lines = self._core.table
        return next((each.member for each in lines if each.name == name and each.fence), None)

    def leader(self, name: str) -> tuple[Address, Fence] | None:
        """Return who held that name to write then, and the fence of its request."""
        first = next((each for each in self._core.table if each.name == name), None)
        if first is None or first.fence is None or first.mode == "read":
            return None
        return first.member, first.fence

    def queue(self, name: str) -> tuple[Address, ...]:
        """Return who waited for it then, in order."""
        lines = self._core.table
        return tuple([each.member for each in lines if each.name == name and not each.fence])

    # ------------------------------------------------------------------ the token

    def arrive(self, epoch: Epoch, news: list[Post]) -> None:
        """Take note of a token of that epoch that is here, with posts that are new."""
        if not news and epoch == self._core.epoch and self.quiet:
            return
        self._tell(self._core.handle(Arrive(epoch, tuple(news))))
        if news:
            self._full = False
        if self._core.base is None:
            self._take_back()
        self._look_for_leftovers()

    def depart(self, place: int, members: frozenset[Address], read: int, room: int) -> bytes | None:
        """Return what is to be posted at that place, if anything, before the token goes on.

        `read` is the place up to which the member has read, perhaps on a token that was lost. A
        post that does not fit into so many bytes waits for the next visit. One that begins an epoch
        cannot: then this member begins anew, as after a crash.
        """
        core, event = self._core, Depart(place, members, read)
        if core.epoch is None:
            return None
        if self._waiting and core.good:
            self._hand_over(room)
        post = core.to_post(event)
        said = written(post) if post is not None else None
        if post is not None and said is not None and len(said) > room:
            self._counters["posts_delayed"] += 1
            if post.parent is not None:
                self._begin_anew(core.epoch)
            self._take_back()
            return None
        self._tell(core.handle(event))
        self._leftover = False
        return said

    def poll_reports(self) -> list[LockReport]:
        """Return the reports, once."""
        reports, self._reports = self._reports, []
        return reports

    # ------------------------------------------------------------------ inside

    @property
    def _size(self) -> int:
        """Bytes of the table."""
        table, size = self._sized
        if table is not self._core.table:
            table = self._core.table
            size = sum(map(size_of, table))
            self._sized = table, size
        return size

    def _hand_over(self, room: int) -> None:
        """Hand the core the requests that fit, in their order."""
        core = self._core
        wanted = {each.request for each in core.wishes}
        # A line that goes with this very post is in nobody's way.
        taken = {(line.name, line.mode) for line in core.table if not self._is_left(line, wanted)}
        free = min(self._config.locks - self._size, room)
        for number, asked in list(self._waiting.items()):
            if asked.tries and any((asked.name, mode) in taken for mode in _IN_THE_WAY[asked.mode]):
                del self._waiting[number]
                self._reports.append(LockTaken(number))
                continue
            free -= asked.size
            if free < 0:
                self._full = True
                return
            del self._waiting[number]
            taken.add((asked.name, asked.mode))
            core.handle(Want(asked.name, asked.mode))
            self._posted[number] = core.requests, asked

    def _take_back(self) -> None:
        """Let requests wait again that are not in the table."""
        core = self._core
        there = {each.request for each in core.table if each[:2] == (core.me, core.session)}
        again = {n: each for n, (request, each) in self._posted.items() if request not in there}
        for number in again:
            request, _ = self._posted.pop(number)
            core.handle(Drop(request))
        self._waiting = {**again, **self._waiting}

    def _look_for_leftovers(self) -> None:
        core = self._core
        wanted = {each.request for each in core.wishes}
        self._leftover = core.good and any(self._is_left(line, wanted) for line in core.table)

    def _is_left(self, line: Line, wanted: set[int]) -> bool:
        """Tell whether a line is this member's, and none of what it wants."""
        core = self._core
        mine = line.member == core.me
        return mine and (line.session != core.session or line.request not in wanted)

    def _begin_anew(self, epoch: Epoch) -> None:
        held = {each.request for each in self._core.held}
        lost = [n for n, (request, _) in self._posted.items() if request in held]
        waits = {n: each for n, (_, each) in self._posted.items() if n not in lost}
        self._reports += map(LockGone, lost)
        self._waiting = {**waits, **self._waiting}
        self._posted.clear()
        self.session += 1
        self._core = Locks(self._core.me, self.session, epoch=epoch)
        self.on_session(self._core)

    def _tell(self, effects: list[Effect]) -> None:
        told = [each for each in effects if not isinstance(each, Post)]
        if not told:
            return
        numbers = {request: number for number, (request, _) in self._posted.items()}
        for effect in told:
            number = numbers[effect.request]
            match effect:
                case Held():
                    self._reports.append(LockGranted(number, effect.fence))
                case Lost():
                    del self._posted[number]
                    self._reports.append(LockGone(number))
