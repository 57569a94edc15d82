"""The points of a trace at which TOTAL's invariants are evaluated.

A member notes what it delivers, with view and id, and the views that it installs. A broadcast is
no message of a trace, since it is for all; what the members have delivered is compared by ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from raincheck.conformance.trace.invariants.asked import (
    Followed,
    Invariants,
    OfMembers,
    OfState,
    OfStep,
    Unshown,
)
from raincheck.conformance.trace.invariants.moments import Asking, Moments, broken, name
from raincheck.conformance.trace.layers.speaks import Said
from raincheck.conformance.trace.records import Address
from raincheck.model.total.events import Deliver
from raincheck.model.total.handlers import Local
from raincheck.model.total.promises import well_formed

_DELIVERED, _INSTALLED = "delivered", "installed"
_DELIVERING: Final = ("Send", "ReceiveRequest", "ReceiveBcast", "InstallView")

_Message: TypeAlias = tuple[Address, int]


def _delivers(_before: Local, _event: Any, _after: Local, outputs: tuple[Any, ...]) -> Said:
    for output in outputs:
        if isinstance(output, Deliver):
            sender, seqno = output.message
            yield _DELIVERED, [[*sender], seqno, output.view, output.id]


def _installs(before: Local, event: Any, after: Local, outputs: tuple[Any, ...]) -> Said:
    yield _INSTALLED, event.view
    yield from _delivers(before, event, after, outputs)


def _in_its_view(
    _before: Local, _event: Any, after: Local, outputs: tuple[Any, ...]
) -> bool | None:
    views = [output.view for output in outputs if isinstance(output, Deliver)]
    if not views:
        return None
    return set(views) == {after.view} and after.me in after.members


class _Delivery(NamedTuple):
    """A delivery: the message, its view and id, by which member and event."""

    message: _Message
    view: int
    id: int
    who: Address
    event: int


def _deliveries(moments: Moments, who: Address) -> Iterator[_Delivery]:
    for each in moments.noted_by(who, _DELIVERED):
        (node, life), seqno, view, id_ = each.value
        yield _Delivery(((node, life), seqno), view, id_, who, each.index)


def _wrong(each: _Delivery, but: str) -> dict[str, Any]:
    (sender, seqno), view, id_, who, event = each
    said = {"sender": name(sender), "seqno": seqno, "view": view, "id": id_}
    return broken(who, event, said, but)


def unique_ids(moments: Moments) -> Asking:
    """Nobody has delivered another message under the id of a view."""
    first: dict[tuple[int, int], _Delivery] = {}
    count = 0
    for who in moments.reports:
        for each in _deliveries(moments, who):
            other = first.setdefault((each.view, each.id), each)
            count += other is not each
            if other.message != each.message:
                return Asking(count, _wrong(each, f"{name(other.who)} has another message there"))
    return Asking(count)


def in_one_order(moments: Moments) -> Asking:
    """Two members that have not crashed have delivered two messages in the same order."""
    count = 0
    orders: list[tuple[Address, dict[_Message, int]]] = []
    for who in moments.reports:
        if who in moments.crashed:
            continue
        mine = [*_deliveries(moments, who)]
        for other, places in orders:
            common = [each for each in mine if each.message in places]
            count += max(len(common) - 1, 0)
            for before, each in pairwise(common):
                if places[before.message] > places[each.message]:
                    but = f"{name(other)} has delivered it before what this one had before it"
                    return Asking(count, _wrong(each, but))
        orders.append((who, {each.message: at for at, each in reversed([*enumerate(mine)])}))
    return Asking(count)


def a_prefix(moments: Moments) -> Asking:
    """Of two members in a view, one has delivered a prefix of the other's messages."""
    longest: dict[int, list[_Delivery]] = {}
    count = 0
    for who in moments.reports:
        views: dict[int, list[_Delivery]] = {}
        for each in _deliveries(moments, who):
            views.setdefault(each.view, []).append(each)
        for view, mine in views.items():
            other = longest.setdefault(view, mine)
            if other is mine:
                continue
            count += 1
            for one, two in zip(mine, other, strict=False):
                if one.message != two.message:
                    return Asking(count, _wrong(one, f"{name(two.who)} has another one there"))
            if len(mine) > len(other):
                longest[view] = mine
    return Asking(count)


def agreed(moments: Moments) -> Asking:
    """All that have gone on from a view to the next one have delivered the same in it."""
    heard: dict[int, tuple[Address, set[_Message]]] = {}
    count = 0
    for who in moments.reports:
        installed = [each.value for each in moments.noted_by(who, _INSTALLED)]
        mine: dict[int, set[_Message]] = {}
        for each in _deliveries(moments, who):
            mine.setdefault(each.view, set()).add(each.message)
        for view in range(min([*installed, *mine], default=0), max(installed, default=0)):
            other, theirs = heard.setdefault(view, (who, mine.get(view, set())))
            if other == who:
                continue
            count += 1
            for message in sorted(theirs ^ mine.get(view, set())):
                sender, seqno = message
                said = {"sender": name(sender), "seqno": seqno, "view": view}
                but = f"only one of it and {name(other)} has delivered it there"
                return Asking(count, broken(who, 0, said, but))
    return Asking(count)


def delivered_once(moments: Moments) -> Asking:
    """No member delivers a message twice."""
    count = 0
    for who in moments.reports:
        seen: set[_Message] = set()
        for each in _deliveries(moments, who):
            count += 1
            if each.message in seen:
                return Asking(count, _wrong(each, "it has delivered it before"))
            seen.add(each.message)
    return Asking(count)


def _of_senders(moments: Moments, gaps: bool) -> Asking:
    count = 0
    for who in moments.reports:
        latest: dict[Address, int] = {}
        for each in _deliveries(moments, who):
            sender, seqno = each.message
            before = latest.get(sender)
            latest[sender] = seqno
            if before is None:
                continue
            count += 1
            if seqno <= before or (gaps and seqno != before + 1):
                return Asking(count, _wrong(each, f"the one before it of that sender is {before}"))
    return Asking(count)


def in_sending_order(moments: Moments) -> Asking:
    """Messages of one sender are delivered in the order in which it sent them."""
    return _of_senders(moments, gaps=False)


def without_gaps(moments: Moments) -> Asking:
    """... and none of them is left out."""
    return _of_senders(moments, gaps=True)


INVARIANTS: Final = Invariants(
    says={
        **dict.fromkeys(_DELIVERING, _delivers),
        "InstallView": _installs,
    },
    of={
        "TypeOK": (
            OfState(
                reads=("view", "members", "forward_table", "next_id", "expected", "queue"),
                alone=well_formed,
                asked=lambda _, me: me.view > 0,
                how="only the sequencer has a next id; what is queued is above the id expected",
            ),
        ),
        "TotalOrder": (
            OfMembers(judge=in_one_order, how="what the members have delivered, by their files"),
        ),
        "UniformTotalOrder": (
            Unshown(why="it is not promised: what only a crashed sequencer has is ordered anew"),
        ),
        "Prefix": (OfMembers(judge=a_prefix, how="what they have delivered in a view, by places"),),
        "Agreement": (
            OfMembers(
                judge=agreed, how="those that have installed a later view, beside each other"
            ),
        ),
        "UniformAgreement": (Unshown(why="it is not promised: the sequencer delivers at once"),),
        "Integrity": (OfMembers(judge=delivered_once, how="what each member has delivered"),),
        "NoCreation": (
            Followed(how="each request must have been sent; a sequencer takes those of its view"),
        ),
        "Fifo": (OfMembers(judge=in_sending_order, how="by the numbers of each sender"),),
        "GapFree": (OfMembers(judge=without_gaps, how="by the numbers of each sender"),),
        "InView": (
            OfStep(
                actions=_DELIVERING,
                holds=_in_its_view,
                how="a delivery has the view of its member, which is in it",
            ),
        ),
        "UniqueIds": (
            OfMembers(judge=unique_ids, how="what the members have delivered, by view and id"),
        ),
        "Recoverable": (
            Unshown(why="what a sequencer has at the moment at which another one misses it"),
        ),
        "FlushDelivers": (Unshown(why="it is not promised: what lies behind a gap is cleared"),),
    },
)
