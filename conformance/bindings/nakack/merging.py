"""The points of a trace at which NAKACK's invariants are evaluated, in groups that merge.

Views of two groups have the same numbers: here a view is its number and its members. Who goes on
together is who goes on from one view to one and the same next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from raincheck.conformance.trace.invariants.asked import OfMembers
from raincheck.conformance.trace.invariants.moments import Asking, Moments, broken, name
from raincheck.conformance.trace.layers.speaks import Said
from raincheck.conformance.trace.records import Address
from raincheck.model.nakack.handlers import Local, running

from .invariants import INVARIANTS


def _view(me: Local) -> list[Any]:
    return [me.view, [list(member) for member in me.members]]


def _places(me: Local, members: tuple[Any, ...]) -> list[Any]:
    return [[list(who), each.delivered] for who, each in me.stream if who in members]


def _left(before: Local | None, after: Local) -> Said:
    """The place in each member's stream up to which it was delivered when the view was left."""
    if before is not None and running(before) and running(after) and before.view != after.view:
        yield "left", [_view(before), _view(after), _places(before, before.members)]


def _joins(_before: Local, event: Any, after: Local, _outputs: Any) -> Said:
    yield "joined", [_view(after), [[list(who), at] for who, at in event.digest]]


def _merges(_before: Local, _event: Any, after: Local, _outputs: Any) -> Said:
    yield "merged", [_view(after), _places(after, after.members)]


def _alike(notes: Iterator[tuple[str, Address, int, Any]]) -> Asking:
    """Those of one name are the same at all members."""
    known: dict[str, tuple[Address, Any]] = {}
    count = 0
    for called, who, index, places in notes:
        other, same = known.setdefault(called, (who, places))
        if other == who:
            continue
        count += len(places)
        if same != places:
            return Asking(count, broken(who, index, places, f"{name(other)}: {same}"))
    return Asking(count)


def survivors_delivered_the_same(moments: Moments) -> Asking:
    """All who go on together have delivered each of the view's streams to one place."""
    return _alike(
        (
            (str(note.value[:2]), who, note.index, note.value[2])
            for who, note in moments.noted("left")
        ),
    )


def merged_at_the_cuts(moments: Moments) -> Asking:
    """In a merged view all read each stream on from one place, its own sender among them."""
    return _alike(
        (
            (str(note.value[0]), who, note.index, note.value[1])
            for who, note in moments.noted("merged")
        ),
    )


def joined_at_the_cut(moments: Moments) -> Asking:
    """A joiner reads on where those who went on to its view had delivered each stream."""
    left = {str(note.value[1]): (who, note.value[2]) for who, note in moments.noted("left")}
    count = 0
    for who, note in moments.noted("joined"):
        view, digest = note.value
        if str(view) not in left:
            continue
        other, places = left[str(view)]
        expected = {name(source): at for source, at in places}
        told = {name(source): at for source, at in digest if name(source) in expected}
        count += len(told)
        if any(at != expected[source] for source, at in told.items()):
            return Asking(count, broken(who, note.index, told, f"{name(other)}: {expected}"))
    return Asking(count)


def _of_one_group(invariant: str, place: int) -> Any:
    return INVARIANTS.of[invariant][place]


MERGING: Final = replace(
    INVARIANTS,
    of={
        **INVARIANTS.of,
        "Contiguous": (
            _of_one_group("Contiguous", 0),
            replace(_of_one_group("Contiguous", 1), judge=joined_at_the_cut),
            OfMembers(
                judge=merged_at_the_cuts,
                how="in a merged view all read each stream on from one place, where its own "
                "sender stands",
            ),
        ),
        "Agreement": (replace(_of_one_group("Agreement", 0), judge=survivors_delivered_the_same),),
    },
    changes=((("view",), _left),),
    says={"Join": _joins, "Merge": _merges},
)
