"""The points of a trace at which FRAG's invariants are evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from raincheck.conformance.trace.invariants.asked import (
    Invariants,
    OfMembers,
    OfState,
    OfStep,
)
from raincheck.conformance.trace.invariants.moments import Asking, Moments, broken, name
from raincheck.conformance.trace.layers.speaks import Said
from raincheck.conformance.trace.records import Address
from raincheck.model.frag.events import Deliver, GivenUp, ReceiveFragment
from raincheck.model.frag.handlers import Local
from raincheck.model.frag.promises import well_formed

_DELIVERED, _GIVEN_UP, _INSTALLED = "delivered", "given up", "installed"


def _delivers(before: Local, _event: Any, _after: Local, outputs: tuple[Any, ...]) -> Said:
    for output in outputs:
        if isinstance(output, Deliver):
            yield _DELIVERED, [list(output.sender), output.number, before.view]


def _gives_up(before: Local, _event: Any, _after: Local, outputs: tuple[Any, ...]) -> Said:
    for output in outputs:
        if isinstance(output, GivenUp):
            yield _GIVEN_UP, [list(before.me), output.number]


def _installs(_before: Local, event: Any, _after: Local, _outputs: tuple[Any, ...]) -> Said:
    yield _INSTALLED, [event.view, [list(member) for member in event.members]]


def _begins(before: Local | None, after: Local) -> Said:
    if before is None and after.view:
        yield _INSTALLED, [after.view, [list(member) for member in after.members]]


def _last_of_its_epoch(
    before: Local, event: ReceiveFragment, _after: Local, outputs: tuple[Any, ...]
) -> bool | None:
    if Deliver not in map(type, outputs):
        return None
    here = dict(dict(before.kept).get(event.sender, ())).get(event.number)
    complete = event.parts == 1 if here is None else tuple(here) == (event.part, event.parts)
    return complete and event.part + 1 == event.parts and event.epoch == before.epoch


def _of_members(me: Local) -> bool:
    return all(sender in me.members for sender, _ in me.kept)


class _Delivery(NamedTuple):
    """A message delivered: its sender and number, the view, and the event."""

    message: tuple[Address, int]
    view: int
    event: int


def _deliveries(moments: Moments, who: Address) -> Iterator[_Delivery]:
    for each in moments.noted_by(who, _DELIVERED):
        (node, life), number, view = each.value
        yield _Delivery(((node, life), number), view, each.index)


def _in_view(moments: Moments, who: Address) -> dict[int, list[_Delivery]]:
    found: dict[int, list[_Delivery]] = {}
    for each in _deliveries(moments, who):
        found.setdefault(each.view, []).append(each)
    return found


def _wrong(who: Address, delivery: _Delivery, but: str) -> dict[str, Any]:
    (sender, number), view, index = delivery
    said = {"sender": name(sender), "message": number, "view": view}
    return broken(who, index, said, but)


def delivered_once(moments: Moments) -> Asking:
    """No member delivers a message twice."""
    count = 0
    for who in moments.reports:
        seen: dict[tuple[Address, int], int] = {}
        for each in _deliveries(moments, who):
            count += 1
            if each.message in seen:
                but = f"it has delivered it by its event {seen[each.message]}"
                return Asking(count, _wrong(who, each, but))
            seen[each.message] = each.event
    return Asking(count)


def delivered_in_one_view(moments: Moments) -> Asking:
    """Two members that have both installed the next view deliver a message in the same view."""
    views: dict[tuple[Address, int], tuple[int, Address]] = {}
    count = 0
    for who in moments.reports:
        last = _last_view(moments, who)
        for each in _deliveries(moments, who):
            if each.view >= last and who in moments.crashed:
                continue  # nobody else has to have seen what it delivered last
            if each.message not in views:
                views[each.message] = each.view, who
                continue
            count += 1
            view, other = views[each.message]
            if view != each.view:
                but = f"{name(other)} has delivered it in view {view}"
                return Asking(count, _wrong(who, each, but))
    return Asking(count)


def _last_view(moments: Moments, who: Address) -> int:
    return max((each.value[0] for each in moments.noted_by(who, _INSTALLED)), default=0)


def delivered_in_one_order(moments: Moments) -> Asking:
    """Members deliver the same in a view, in the same order, as far as they have come."""
    return _compared(moments, whole=False)


def delivered_alike(moments: Moments) -> Asking:
    """Members that go on from a view have delivered the same messages in it."""
    return _compared(moments, whole=True)


def _compared(moments: Moments, *, whole: bool) -> Asking:
    """Compare the deliveries of each view with those of the member that has most of them.

    `whole`: of the members that have left the view behind them, which must have all.
    """
    count = 0
    for view, members in _by_view(moments, whole=whole).items():
        other, most = max(members.items(), key=lambda each: len(each[1]))
        for who, mine in members.items():
            if who == other:
                continue
            count += bool(most)
            place = next(
                (i for i, each in enumerate(mine) if each.message != most[i].message), len(mine)
            )
            if place < len(mine) or (whole and len(mine) < len(most)):
                but = f"{name(who)} has not delivered it at its place {place + 1} in view {view}"
                return Asking(count, _wrong(other, most[place], but))
    return Asking(count)


def _by_view(moments: Moments, *, whole: bool) -> dict[int, dict[Address, list[_Delivery]]]:
    """Return the deliveries of each view, by the members that had installed it."""
    found: dict[int, dict[Address, list[_Delivery]]] = {}
    for who in moments.reports:
        views, last = _in_view(moments, who), _last_view(moments, who)
        for installed in moments.noted_by(who, _INSTALLED):
            view = installed.value[0]
            if view < last or not whole:
                found.setdefault(view, {})[who] = views.get(view, [])
    return found


def given_up_for_good(moments: Moments) -> Asking:
    """Nobody delivers what its sender has given up."""
    given_up = {
        ((each.value[0][0], each.value[0][1]), each.value[1]): each.index
        for _, each in moments.noted(_GIVEN_UP)
    }
    for who in moments.reports:
        for each in _deliveries(moments, who):
            if each.message in given_up:
                but = f"its sender has given it up by its event {given_up[each.message]}"
                return Asking(len(given_up), _wrong(who, each, but))
    return Asking(len(given_up))


INVARIANTS: Final = Invariants(
    changes=((("view",), _begins),),
    says={
        "ReceiveFragment": _delivers,
        "GiveUp": _gives_up,
        "InstallView": _installs,
    },
    of={
        "TypeOK": (
            OfState(
                reads=("view", "members", "epoch", "sending", "kept"),
                alone=well_formed,
                asked=lambda _, me: me.view > 0,
                how="a member is in its view, and of no message more is sent or kept than it has",
            ),
        ),
        "Whole": (
            OfStep(
                actions=("ReceiveFragment",),
                holds=_last_of_its_epoch,
                how="a message is delivered with its last fragment, behind all others of the epoch",
            ),
        ),
        "NoDuplicates": (OfMembers(judge=delivered_once, how="the deliveries of each file"),),
        "OneView": (
            OfMembers(
                judge=delivered_in_one_view,
                how="the views in which the members deliver each message, but what a killed one "
                "delivered last",
            ),
        ),
        "TotalOrder": (
            OfMembers(
                judge=delivered_in_one_order,
                how="the deliveries of each view, beside those of the member with the most",
            ),
        ),
        "SameMessages": (
            OfMembers(
                judge=delivered_alike,
                how="the deliveries of each view, among the members that have installed another",
            ),
        ),
        "GivenUpIsGone": (
            OfMembers(judge=given_up_for_good, how="what is given up, beside all deliveries"),
        ),
        "Bounded": (
            OfState(
                reads=("kept", "members"),
                alone=_of_members,
                asked=lambda _, me: bool(me.kept),
                how="whose fragments are kept; how many is the guard of each step",
            ),
        ),
    },
)
