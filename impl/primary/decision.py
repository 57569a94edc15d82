"""The decision whether a view can become primary: a function of all its members' INFOs.

All members have the same INFOs, so all decide the same. The rules P1 to P6 are those of
`spec/Primary.tla`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from raincheck.impl.messages import Address, ViewId

from .events import Info, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The rules, by the spec's constants. Only tests take any of them back."""

    found_needs: str = "all"
    """What the first primary view needs: "all" votes, a "majority", or "nothing"."""
    last_primary: bool = True
    """The majority is one of the last primary view, not of the first one."""
    two_rounds: bool = True
    """A view is attempted by all its members before it is primary."""
    remembers: bool = True
    """A majority of what was attempted is needed, too."""
    from_formed: bool = True
    """A history goes on only from a primary view that a member knows as formed."""
    resolves: bool = True
    """An attempt that nobody has formed is forgotten."""
    tie: str = "lowest"
    """Half of the votes is enough with the "lowest" address, for any "half", or for "none"."""
    lives: bool = True
    """A process that has come back does not count for its earlier life."""
    recorded_votes: bool = True
    """The votes of a primary view are those of its time."""


MOST = 32
"""A member that keeps so many attempts attempts nothing more until it knows of one what became of
it: what is kept, and told in each view, is bounded."""


class Decision(NamedTuple):
    """What follows from the INFOs of a view."""

    session: Session | None
    """The primary view that the view can become; None if it cannot."""
    last: Session | None
    """The last primary view that a member knows of."""
    open: frozenset[Session]
    """What was attempted since, and may have been formed."""


def decide(view: ViewId, infos: Collection[Info], expected: int, repairs: Repairs) -> Decision:
    """Decide whether the view can become primary; `expected` is the number of all votes."""
    last = latest(info.last for info in infos if info.last)
    attempted = frozenset[Session]().union(*(info.attempts for info in infos))
    since = frozenset(
        each
        for each in attempted
        if each.number > _number(last) and not (repairs.resolves and _refuted(each, infos))
    )
    base = {last} if last else set()
    if repairs.remembers:
        base |= since
    from_formed = last is not None or not repairs.from_formed
    continues = from_formed and bool(base) and all(_counts(each, infos, repairs) for each in base)
    full = any(len(info.attempts & since) >= MOST for info in infos)
    if full or not (continues or _founds(infos, last, expected, repairs)):
        return Decision(None, last, since)
    newest = latest(base) if continues else None
    known = [*attempted, *([last] if last else ())]
    session = Session(
        1 + max(map(_number, known), default=0),
        view,
        newest.history if newest else view,
        tuple(sorted((info.sender, info.votes) for info in infos)),
    )
    return Decision(session, last, since)


def latest(sessions: Iterable[Session]) -> Session | None:
    """Return the last of these primary views."""
    return max(sessions, key=lambda each: (each.number, each.view), default=None)


def has_majority(
    votes: Iterable[tuple[Address, int]], there: Collection[Address], tie: str = "lowest"
) -> bool:
    """Whether those that are there have a majority of the votes (P3, P4)."""
    counted = dict(votes)
    got = sum(count for address, count in counted.items() if address in there)
    total = sum(counted.values())
    if 2 * got != total:
        return 2 * got > total
    return tie == "half" or (tie == "lowest" and min(counted) in there)


def _number(session: Session | None) -> int:
    return session.number if session else 0


def _refuted(session: Session, infos: Collection[Info]) -> bool:
    """Whether nobody has formed it and nobody will: whoever is here has left its view (P6)."""
    members = {address for address, _ in session.votes}
    of = [info for info in infos if info.sender in members]
    before = [info for info in of if _number(info.last) < session.number]
    if any(session not in info.attempts for info in before):
        return True
    return len(before) == len(members)


def _counts(session: Session, infos: Collection[Info], repairs: Repairs) -> bool:
    there = {info.sender for info in infos}
    votes = dict(session.votes)
    if not repairs.recorded_votes:
        votes |= {info.sender: info.votes for info in infos if info.sender in votes}
    if not repairs.lives:
        nodes = {address.node for address in there}
        there = {address for address in votes if address.node in nodes}
    return has_majority(votes.items(), there, repairs.tie)


def _founds(infos: Collection[Info], last: Session | None, expected: int, repairs: Repairs) -> bool:
    """Whether the view may begin a history (P2)."""
    total = sum(info.votes for info in infos)
    if total > expected:
        return False
    majority = 2 * total > expected
    if majority and any(info.found for info in infos):
        return True
    enough = {"all": total == expected, "majority": majority, "nothing": True}
    return last is None and enough[repairs.found_needs]
