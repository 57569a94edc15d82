"""The points of a trace at which PRIMARY's invariants are evaluated.

A member notes what it attempts and what it forms, with the members' votes. What other members have
done by then, the notes of all together say.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from raincheck.conformance.trace.invariants.asked import Invariants, OfMembers, OfState, Unshown
from raincheck.conformance.trace.invariants.moments import Asking, Moments, broken, name
from raincheck.conformance.trace.layers.speaks import Said
from raincheck.conformance.trace.records import Address
from raincheck.model.primary.events import Session
from raincheck.model.primary.handlers import attempt_of
from raincheck.model.primary.promises import well_formed

_TRIED, _FORMED = "tried", "formed"

_View: TypeAlias = tuple[int, tuple[str, int]]


def _session(session: Session) -> list[Any]:
    number, view, history, votes = session
    return [number, _id(view), _id(history), [list(address) for address, _ in votes]]


def _id(view: Any) -> list[Any]:
    return [view.counter, list(view.coordinator)]


def _decides(_before: Any, _event: Any, after: Any, _outputs: Any) -> Said:
    if after.stage == "attempting":
        yield _TRIED, _session(attempt_of(after))


def _forms(_before: Any, _event: Any, after: Any, _outputs: Any) -> Said:
    if after.last is not None:
        yield _FORMED, _session(after.last)


class _Noted(NamedTuple):
    """A primary view that a member has attempted or formed, by which event."""

    who: Address
    event: int
    number: int
    view: _View
    history: _View
    members: frozenset[Address]

    @property
    def identity(self) -> tuple[_View, int]:
        """Return what no two primary views have in common."""
        return self.history, self.number


def _noted(moments: Moments, topic: str) -> list[_Noted]:
    return [
        _Noted(
            who,
            each.index,
            each.value[0],
            _read(each.value[1]),
            _read(each.value[2]),
            frozenset((node, life) for node, life in each.value[3]),
        )
        for who, each in moments.noted(topic)
    ]


def _read(value: Any) -> _View:
    counter, (node, life) = value
    return counter, (node, life)


def _wrong(each: _Noted, but: str) -> dict[str, Any]:
    said = {"number": each.number, "view": each.view[0]}
    return broken(each.who, each.event, said, but)


def one_at_a_number(moments: Moments) -> Asking:
    """Whoever forms a primary view of a number forms the same one."""
    first: dict[tuple[_View, int], _Noted] = {}
    formed = _noted(moments, _FORMED)
    for each in formed:
        other = first.setdefault(each.identity, each)
        if (other.view, other.members) != (each.view, each.members):
            return Asking(len(formed), _wrong(each, f"{name(other.who)} has formed another view"))
    return Asking(len(formed))


def in_one_chain(moments: Moments) -> Asking:
    """Each primary view of a history has a member in common with the one before."""
    histories: dict[_View, dict[int, _Noted]] = {}
    for each in _noted(moments, _FORMED):
        histories.setdefault(each.history, {})[each.number] = each
    count = 0
    for chain in histories.values():
        numbers = sorted(chain)
        for before, number in pairwise(numbers):
            count += 1
            if not chain[before].members & chain[number].members:
                but = f"nobody of number {before} is in it"
                return Asking(count, _wrong(chain[number], but))
    return Asking(count)


def recorded_by_all(moments: Moments) -> Asking:
    """Whoever forms a primary view does so after all its members have attempted it."""
    tried = {(each.who, each.identity, each.view) for each in _noted(moments, _TRIED)}
    formed = _noted(moments, _FORMED)
    for each in formed:
        for member in sorted(each.members & moments.reports.keys()):
            if (member, each.identity, each.view) not in tried:
                but = f"{name(member)} has not attempted it"
                return Asking(len(formed), _wrong(each, but))
    return Asking(len(formed))


INVARIANTS: Final = Invariants(
    says={"Decide": _decides, "Form": _forms},
    of={
        "TypeOK": (
            OfState(
                reads=("view", "members", "stage", "last", "attempts"),
                alone=well_formed,
                asked=lambda _, me: me.stage != "none",
                how="a stage fits what is remembered; what is attempted is newer than what is last",
            ),
        ),
        "OneAtANumber": (
            OfMembers(judge=one_at_a_number, how="what the members have formed, by their files"),
        ),
        "OneChain": (
            OfMembers(judge=in_one_chain, how="what was formed in a history, by numbers"),
        ),
        "OneActive": (
            Unshown(
                why="views are GMS's messages, and PRIMARY's do not order two views without a "
                "member in common; OneAtANumber and OneChain ask what it rests on"
            ),
        ),
        "OneHistory": (
            Unshown(
                why="two histories that no message connects could have been one after the other; "
                "their identities are in the records"
            ),
        ),
        "Recorded": (
            OfMembers(
                judge=recorded_by_all,
                how="what is formed, beside the attempts of those members whose files are there",
            ),
        ),
        "GoesOn": (
            Unshown(why="the decision is a function of the INFOs: following the model asks it"),
        ),
    },
)
