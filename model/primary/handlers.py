"""PRIMARY: the twin of `spec/Primary.tla`, one function per handler of a member.

The law of this file: a handler sees one member's local state and one input. Its guard comes first
in the spec's words, followed by the effect of the spec's action on this member. The spec has the
rules P1 to P6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from raincheck.model.machine.composed import handlers_of
from raincheck.model.machine.machine import Accepted, Refused, refusal, state
from raincheck.model.machine.runs import Address

from .events import (
    INPUTS,
    Attempt,
    Decide,
    Form,
    Info,
    InstallView,
    Output,
    Session,
    Sessions,
    SetVotes,
    ViewId,
)

NO_VIEW = ViewId(0, Address("", 0))


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that are switched on, and P1's number; the names are the spec's constants."""

    found_needs: str = "all"
    last_primary: bool = True
    two_rounds: bool = True
    remembers: bool = True
    from_formed: bool = True
    resolves: bool = True
    tie: str = "lowest"
    lives: bool = True
    recorded_votes: bool = True
    expected: int = 3


@state
class Local(NamedTuple):
    """A member's local state. `found`: this life was started with found=True."""

    me: Address
    votes: int = 1
    found: bool = False
    view: ViewId = NO_VIEW
    members: frozenset[Address] = frozenset()
    stage: str = "none"
    last: Session | None = None
    attempts: Sessions = frozenset()


Answer: TypeAlias = Accepted[Local, Output] | Refused


# ------------------------------------------------------------------ the decision


def latest(sessions: Iterable[Session]) -> Session | None:
    """Return the last of these primary views."""
    return max(sessions, key=lambda each: (each.number, each.view), default=None)


def number(sessions: Iterable[Session]) -> int:
    """Return the number of the last of these primary views, or 0."""
    found = latest(sessions)
    return found.number if found else 0


def has_majority(
    votes: Iterable[tuple[Address, int]], there: Collection[Address], tie: str = "lowest"
) -> bool:
    """Tell whether these addresses have a majority of the votes (P3, P4)."""
    counted = dict(votes)
    got = sum(count for address, count in counted.items() if address in there)
    all_ = sum(counted.values())
    if 2 * got != all_:
        return 2 * got > all_
    return tie == "half" or (tie == "lowest" and min(counted) in there)


class Asked(NamedTuple):
    """All members' INFOs, and what follows from them: all members decide the same."""

    rules: Rules
    infos: tuple[Info, ...]

    @property
    def there(self) -> frozenset[Address]:
        """Return the members that have told."""
        return frozenset(info.sender for info in self.infos)

    @property
    def votes(self) -> tuple[tuple[Address, int], ...]:
        """Return the members' votes, by address."""
        return tuple(sorted((info.sender, info.votes) for info in self.infos))

    @property
    def known(self) -> Sessions:
        """Return the primary views that are known to be the last ones."""
        return frozenset(info.last for info in self.infos if info.last)

    @property
    def attempted(self) -> Sessions:
        """Return everything that a member remembers to have attempted."""
        return frozenset().union(*(info.attempts for info in self.infos))

    def refuted(self, session: Session) -> bool:
        """Tell whether nobody has formed it, and nobody will (P6)."""
        of = [info for info in self.infos if info.sender in session.members]
        before = [info for info in of if number(_one(info.last)) < session.number]
        if any(session not in info.attempts for info in before):
            return True
        return len(of) == len(session.votes) and before == of

    @property
    def open(self) -> Sessions:
        """Return what was attempted since the last primary view, and may have been formed (P5)."""
        newest = number(self.known)
        return frozenset(
            session
            for session in self.attempted
            if session.number > newest and not (self.rules.resolves and self.refuted(session))
        )

    @property
    def base(self) -> Sessions:
        """Return the primary views of which a majority is needed."""
        return _one(latest(self.known)) | (self.open if self.rules.remembers else frozenset())

    def counts(self, session: Session) -> bool:
        """Tell whether the members have a majority of it, as the rules count it."""
        there, counted = self.there, session.votes
        if not self.rules.recorded_votes:
            now = dict(self.votes)
            counted = tuple((address, now.get(address, was)) for address, was in counted)
        if not self.rules.lives:
            nodes = {address.node for address in there}
            there = frozenset(each for each in session.members if each.node in nodes)
        return has_majority(counted, there, self.rules.tie)

    @property
    def continues(self) -> bool:
        """Tell whether the view goes on from the last primary view (P3 to P5)."""
        base = self.base
        if self.rules.from_formed and not self.known:
            return False
        return bool(base) and all(map(self.counts, base))

    @property
    def total(self) -> int:
        """Return how many votes the members have."""
        return sum(info.votes for info in self.infos)

    @property
    def said(self) -> bool:
        """Tell whether an operator has said to a member that a new history is to begin."""
        return any(info.found for info in self.infos)

    @property
    def founds(self) -> bool:
        """Tell whether the view may begin a history (P2)."""
        total, expected = self.total, self.rules.expected
        if total > expected:
            return False
        majority = 2 * total > expected
        enough = {"all": total == expected, "majority": majority, "nothing": True}
        return (not self.known and enough[self.rules.found_needs]) or (self.said and majority)

    def session(self, view: ViewId) -> Session:
        """Return the primary view that this view can become."""
        from_base = latest(self.base) if self.continues else None
        history = from_base.history if from_base else view
        return Session(1 + number(self.known | self.attempted), view, history, self.votes)


def _one(session: Session | None) -> Sessions:
    return frozenset() if session is None else frozenset((session,))


# ------------------------------------------------------------------ the handlers


def install_view(_rules: Rules, me: Local, event: InstallView) -> Answer:
    """The member tells what it remembers in its new view."""
    view, members = event
    told = Info(me.me, view, me.votes, me.found, me.last, me.attempts)
    return Accepted(me._replace(view=view, members=members, stage="asking"), (told,))


def decide(rules: Rules, me: Local, event: Decide) -> Answer:
    """All have told: the view is attempted (P5), or is not primary."""
    asked = Asked(rules, event.infos)
    refused = refusal(
        (me.stage == "asking", 'stage[n] = "asking"', {"stage": me.stage}),
        (asked.there == me.members, 'AllHave(n, "INFO")', {"from": asked.there}),
    )
    if refused:
        return refused
    last = latest(asked.known)
    if not rules.last_primary and me.last:
        last = me.last
    mine = me.attempts & asked.open
    if not (asked.continues or asked.founds):
        return Accepted(me._replace(stage="refused", last=last, attempts=mine))
    session = asked.session(me.view)
    if not rules.two_rounds:
        return Accepted(me._replace(stage="primary", last=session, attempts=frozenset()))
    local = me._replace(stage="attempting", last=last, attempts=mine | {session})
    return Accepted(local, (Attempt(me.me, me.view),))


def form(rules: Rules, me: Local, event: Form) -> Answer:
    """All have attempted it: the view is primary (P5)."""
    refused = refusal(
        (me.stage == "attempting", 'stage[n] = "attempting"', {"stage": me.stage}),
        (event.attempted == me.members, 'AllHave(n, "ATTEMPT")', {"from": event.attempted}),
    )
    if refused:
        return refused
    session = attempt_of(me)
    last = session if rules.last_primary or me.last is None else me.last
    return Accepted(me._replace(stage="primary", last=last, attempts=frozenset()))


def attempt_of(me: Local) -> Session:
    """Return the primary view that a member has attempted in its present view."""
    return next(session for session in me.attempts if session.view == me.view)


def set_votes(_rules: Rules, me: Local, event: SetVotes) -> Answer:
    """The member has other votes, which count from its next view on (P1)."""
    refused = refusal((event.votes != me.votes, "votes[n] # k", {"k": event.votes}))
    return refused or Accepted(me._replace(votes=event.votes))


HANDLERS = handlers_of(INPUTS, globals())
