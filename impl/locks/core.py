"""LOCKS: who holds which name, and who waits for it, over the token of a ring.

The twin of `spec/Locks.tla`: one handler per action, with the action's name in snake_case and its
guard first. `handle` takes an event of `locks/events.py` and returns the effects. A handler whose
guard is false raises NotEnabled and changes nothing.

Every member has a table, which follows from the posts on the token in their order. The member with
the token compares the table with what its application wants, and posts the difference as the last
post that there is, so it knows at once what comes of it. A table is good for one epoch. The first
post of the next one says which it follows; whoever has not read that post, or does not know the
epoch before, has no good table, holds nothing, and asks until a table is laid down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address
from raincheck.impl.raincore.events import ZERO, Epoch

from .events import (
    Arrive,
    Depart,
    Drop,
    Effect,
    Event,
    Fence,
    Held,
    Lost,
    Post,
    Request,
    Table,
    Ticket,
    Want,
    Wish,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The rules, by the spec's constants. Only tests undo any of them."""

    chained: bool = True
    begins_own: bool = True
    names_parent: bool = True
    all_ask: bool = True
    reads_on: bool = True
    loses_off_chain: bool = True
    sessions: bool = True
    ends_earlier: bool = True
    ends_gone: bool = True
    epoch_in_fence: bool = True
    epoch_when_told: bool = True
    in_order: bool = True


class Locks:
    """The state of one process; the attributes have the names of the spec's variables."""

    def __init__(
        self,
        me: Address,
        session: int,
        *,
        epoch: Epoch | None = None,
        founds: bool = False,
        repairs: Repairs | None = None,
    ) -> None:
        """`session` differs between the processes of a member; `epoch` is that of its copy of the
        token; `founds`: the ring is new, so that the empty table is good for this epoch."""
        self.me = me
        self.session = session
        self.repairs = repairs or Repairs()
        self.epoch = epoch
        self.begun: Epoch | None = None
        self.base = epoch if founds else None
        self.table: Table = ()
        self.askers: frozenset[Address] = frozenset()
        self.wishes: tuple[Wish, ...] = ()
        self.held: frozenset[Held] = frozenset()
        self.requests = 0
        self._handlers: dict[type[Any], Callable[[Any], list[Effect]]] = {
            Arrive: self._arrive,
            Depart: self._depart,
            Want: self._want,
            Drop: self._drop,
        }

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    @property
    def good(self) -> bool:
        """Whether its table is good for the epoch of the last token, or the one that it begins."""
        if self.base is None:
            return False
        return self.base == self.epoch or (self.begun is not None and self.base == self.begun)

    # ------------------------------------------------------------------ the handlers

    def _arrive(self, event: Arrive) -> list[Effect]:
        """Read what is new; a table that does not lead to this epoch is given up."""
        if event.epoch != self.epoch:
            if event.epoch.by == self.me:
                self.begun = self.epoch
            elif self.repairs.begins_own:
                self.begun = None  # what it made was lost before it could say so
            self.epoch = event.epoch
            self.askers = frozenset()
        for post in event.news:
            self._read(post)
        if self.base is not None and not self.repairs.chained:
            self.base = self.epoch
        elif not self.good:
            self.base = None
            self.table = ()
        return self._tell()

    def _depart(self, event: Depart) -> list[Effect]:
        """Post what there is to say."""
        post = self.to_post(event)
        if post is None:
            return self._tell()
        self._read(post)
        self.begun = None
        return [post, *self._tell()]

    def _want(self, event: Want) -> list[Effect]:
        """Ask for the lock when the token is here next."""
        self.requests += 1
        self.wishes = (*self.wishes, Wish(self.requests, event.name, event.mode))
        return []

    def _drop(self, event: Drop) -> list[Effect]:
        """Take the request back when the token is here next."""
        request = event.request
        if all(wish.request != request for wish in self.wishes):
            words = "\\E w \\in Range(wishes[n]) : w.request = request"
            raise NotEnabled("Drop", {words: request})
        self.wishes = tuple(wish for wish in self.wishes if wish.request != request)
        self.held = frozenset(each for each in self.held if each.request != request)
        return []

    # ------------------------------------------------------------------ reading

    def _read(self, post: Post) -> None:
        if post.lays:
            self.base = post.epoch
            self.table = post.table
        else:
            self.base = self._good_behind(post)
        if post.epoch == self.epoch:
            if post.lays:
                self.askers = frozenset()
            elif post.asks:
                self.askers |= {post.by}
        self.table = () if self.base is None else self._changed(post)

    def _good_behind(self, post: Post) -> Epoch | None:
        if self.base is None or not self.repairs.chained:
            return None if self.base is None else post.epoch
        if post.parent is None:
            return self.base if self.base == post.epoch else None
        follows = self.base == post.parent or not self.repairs.names_parent
        return post.epoch if follows else None

    def _changed(self, post: Post) -> Table:
        """Return the table after a post: whoever has nobody in the way gets a fence."""
        stay = [line for line in self.table if line.ticket not in post.ended]
        lines = [*stay, *post.wanted]
        after: list[Request] = []
        epoch = post.epoch if self.repairs.epoch_in_fence else ZERO
        readers: set[str] = set()
        writers: set[str] = set()
        if not self.repairs.in_order:
            readers = {line.name for line in lines if line.mode == "read"}
            writers = {line.name for line in lines if line.mode == "write" and line.fence}
        for i, line in enumerate(lines, 1):
            blocked = line.name in writers or (line.name in readers and line.mode == "write")
            holds = line.fence is None and not blocked
            after.append(line._replace(fence=Fence(epoch, post.place, i)) if holds else line)
            if holds or self.repairs.in_order:
                (readers if line.mode == "read" else writers).add(line.name)
        return tuple(after)

    # ------------------------------------------------------------------ what to post

    def to_post(self, event: Depart) -> Post | None:
        """Return what `Depart` would post now, if anything; raises NotEnabled as it does."""
        if self.epoch is None:
            raise NotEnabled("Depart", {"epoch[n] # NoEpoch": self.epoch})
        post = self._post(self.epoch, event)
        says = post.parent is not None or post.asks or post.lays or post.ended or post.wanted
        return post if says else None

    @property
    def _shown(self) -> int:
        return self.session if self.repairs.sessions else 0

    def _post(self, epoch: Epoch, event: Depart) -> Post:
        good = self.good
        asked = not self.repairs.all_ask or event.members - {self.me} <= self.askers
        behind = event.place <= event.read and self.repairs.reads_on
        resets = not good and not behind and asked
        lays = resets or (good and bool(self.askers))
        there = {line.request for line in self._own_lines()}
        new = [wish for wish in self.wishes if wish.request not in there]
        return Post(
            self.me,
            epoch,
            event.place,
            self.begun,
            not good and not resets,
            lays,
            self.table if lays else (),
            self._over(event) if good else frozenset(),
            tuple(Request(self.me, self._shown, *wish) for wish in new) if good or resets else (),
        )

    def _over(self, event: Depart) -> frozenset[Ticket]:
        """Return the requests that nobody has any more."""
        wanted = {wish.request for wish in self.wishes}
        repairs = self.repairs

        def over(line: Request) -> bool:
            if repairs.ends_gone and line.member not in event.members:
                return True
            if line.member != self.me:
                return False
            mine = line.session == self._shown
            return line.request not in wanted if mine else repairs.ends_earlier

        return frozenset(line.ticket for line in self.table if over(line))

    # ------------------------------------------------------------------ what to tell

    def _own_lines(self) -> list[Request]:
        me, shown = self.me, self._shown
        return [line for line in self.table if line.member == me and line.session == shown]

    def _tell(self) -> list[Effect]:
        if not self.wishes:
            return []
        there = self._own_lines()
        kept = {line.request for line in there if line.fence is not None}
        lost = {each.request for each in self.held if self._is_lost(each, kept)}
        if lost:
            self.wishes = tuple(wish for wish in self.wishes if wish.request not in lost)
            self.held = frozenset(each for each in self.held if each.request not in lost)
        new: list[Held] = []
        if self.base is not None and self.base == self.epoch:
            untold = {wish.request for wish in self.wishes} - {each.request for each in self.held}
            for line in there:
                if line.request in untold and line.fence is not None:
                    fence = self._told_fence(line.fence)
                    new.append(Held(line.request, line.name, line.mode, fence))
            self.held |= frozenset(new)
        return [*map(Lost, sorted(lost)), *sorted(new)]

    def _told_fence(self, fence: Fence) -> Fence:
        """Return the fence to tell for that of the table: the epoch is that of now.

        That of the post may be an earlier one, and a fence of an epoch between them have been told
        and lost with its token.
        """
        if self.epoch is None or not (self.repairs.epoch_in_fence and self.repairs.epoch_when_told):
            return fence
        return fence._replace(epoch=self.epoch)

    def _is_lost(self, held: Held, kept: set[int]) -> bool:
        if self.base is None:
            return self.repairs.loses_off_chain
        return held.request not in kept
