"""Calls: which members a call asks, and what has become of it at each of them. Pure.

A call of some members asks those that it names; a call of all asks the members of the view in which
it is delivered, which every one of them delivers at the same place in the order of all. It is over
when each of these has answered, has said why it does not, or has left the view.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from raincheck.impl.errors import CallFailed
from raincheck.impl.messages import Address

UNEXPECTED = "reply to no call of this member"
NOT_ASKED = "reply to a call of others"
OTHER_VIEW = "reply to a call from another view than the call's"
TWICE = "second reply to one call"

MOST_REASON = 10_000
"""The most bytes of a reason why a call is not answered; more is cut off."""


@dataclass(slots=True)
class Replies:
    """What has come of a call, for each member that it asked."""

    answers: dict[Address, bytes] = field(default_factory=dict)
    """The answers, in the order in which they came."""
    failed: dict[Address, str] = field(default_factory=dict)
    """The members that took the call and did not answer it, each with the reason it gave."""
    left: tuple[Address, ...] = ()
    """The members that left the view, or were excluded, before their answers were here.

    So did those that took a call of all in a view that ended, with its order, before any member
    that stays had the call: what they answered comes from an order that nobody else has.
    """
    late: tuple[Address, ...] = ()
    """The members whose answers were not here in time."""

    @property
    def complete(self) -> bool:
        """Whether all members that were asked have answered."""
        return not (self.failed or self.left or self.late)

    def one(self) -> bytes:
        """Return the only answer of a call of one member; raise CallFailed if there is none."""
        if self.complete and len(self.answers) == 1:
            return next(iter(self.answers.values()))
        raise CallFailed(str(self))

    def __str__(self) -> str:
        said = [f"answered: {_names(self.answers)}" if self.answers else "nobody has answered"]
        said += [f"{member} has failed: {reason}" for member, reason in self.failed.items()]
        said += [f"left: {_names(self.left)}"] if self.left else []
        said += [f"too late: {_names(self.late)}"] if self.late else []
        return "; ".join(said)


@dataclass(slots=True)
class _Call:
    """A call that is not over.

    `waiting` is None until a call of all is delivered here, in `view`. Others may have it sooner,
    so that their replies are here before it is known whom it asks, and in which view.
    """

    waiting: dict[Address, None] | None
    replies: Replies = field(default_factory=Replies)
    view: int | None = None
    early: dict[Address, int] = field(default_factory=dict)
    """The views from which members have replied before the call was delivered here."""

    def take(self, sender: Address, view: int, content: bytes, *, failed: bool) -> None:
        """Take a reply."""
        if self.waiting is None:
            self.early[sender] = view
        else:
            del self.waiting[sender]
        if failed:
            self.replies.failed[sender] = content[:MOST_REASON].decode(errors="replace")
        else:
            self.replies.answers[sender] = content

    def delivered(self, view: int, members: Iterable[Address]) -> None:
        """Note a call of all that is delivered here: what came from other views is void."""
        replies = self.replies
        for member, its in self.early.items():
            if its != view:
                replies.answers.pop(member, None)
                replies.failed.pop(member, None)
                replies.left += (member,)
        here = {*replies.answers, *replies.failed}
        self.view = view
        self.waiting = {member: None for member in members if member not in here}


class Calls:
    """The calls of one member that are under way."""

    def __init__(self) -> None:
        self._last = 0
        self._open: dict[int, _Call] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, number: int) -> bool:
        """Whether that call is under way."""
        return number in self._open

    def begin(self, asked: Iterable[Address] | None) -> int:
        """Begin a call of these members, or of all; return its number."""
        self._last += 1
        self._open[self._last] = _Call(None if asked is None else dict.fromkeys(asked))
        return self._last

    def delivered(self, number: int, view: int, members: Iterable[Address]) -> list[int]:
        """Note that a call of all is delivered, in that view of these members."""
        call = self._open.get(number)
        if call is not None and call.waiting is None:
            call.delivered(view, members)
        return self._over([number])

    def replied(
        self, sender: Address, number: int, view: int, failed: bool, content: bytes
    ) -> tuple[str, list[int]]:
        """Take a reply to a call that the sender was asked in that view.

        Return what is wrong with it, and the calls that are over with it.

        Nothing is wrong with one that is late.
        """
        if not 0 < number <= self._last:
            return UNEXPECTED, []
        call = self._open.get(number)
        if call is None:
            return "", []
        if sender in call.replies.answers or sender in call.replies.failed:
            return TWICE, []
        if call.waiting is not None and sender not in call.waiting:
            return ("" if sender in call.replies.left else NOT_ASKED), []
        if call.view not in (None, view):
            return OTHER_VIEW, []
        call.take(sender, view, content, failed=failed)
        return "", self._over([number])

    def install(self, members: Collection[Address]) -> list[int]:
        """Note a view: members that are not in it will not answer; return the calls that are over.

        A call of all that is not delivered yet is delivered in this view or a later one.
        """
        for call in self._open.values():
            for member in list(call.waiting or ()):
                if member not in members:
                    assert call.waiting is not None
                    del call.waiting[member]
                    call.replies.left += (member,)
        return self._over(list(self._open))

    def end(self, number: int, members: Iterable[Address]) -> Replies:
        """End a call now: who has not answered is late; `members`, if nobody is asked yet."""
        call = self._open.pop(number)
        if call.waiting is None:  # in the newest view that any member has it in, as far as is known
            call.delivered(max(call.early.values(), default=0), members)
        replies = call.replies
        replies.late = tuple(m for m in call.waiting or () if m not in replies.left)
        return replies

    def take(self, number: int) -> Replies:
        """Return what has come of a call that is over, and forget it."""
        return self._open.pop(number).replies

    def _over(self, numbers: Iterable[int]) -> list[int]:
        found = [(number, self._open.get(number)) for number in numbers]
        return [number for number, call in found if call is not None and call.waiting == {}]


def _names(members: Iterable[Address]) -> str:
    return " ".join(map(str, members))
